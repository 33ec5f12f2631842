"""Markdown by its second-level headings; records of decisions by the sections of MADR."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache
from pathlib import PurePosixPath

from markdown_it import MarkdownIt

from memory_assets.documents.document import Cut, Source

_FRONT_MATTER = re.compile(
    r"(?P<fence>---|\+\+\+)[ \t]*\r?\n(?:.*\r?\n)*?(?P=fence)[ \t]*(?:\r?\n|\Z)"
)
_NOT_LINE_END = re.compile(r"[^\r\n]+")
_DECISION_SUBSECTION = re.compile(r"(?:(?:positive|negative) )?consequences|confirmation", re.I)
_DECISION_HEADER = re.compile(r"status|date|deciders?|decision[- ]makers|authors?|tags", re.I)


@cache
def _parser() -> MarkdownIt:
    """Return a parser of blocks; what is within a paragraph is not looked at."""
    return MarkdownIt("commonmark").enable("table").disable("inline")


def markdown(source: Source) -> Iterator[Cut]:
    """Cut at each second-level heading, and at first-level ones but the title."""
    return _cuts(source, is_decision=False)


def decision_record(source: Source) -> Iterator[Cut]:
    """Cut at each section of a decision, its consequences being one of their own. Title and
    status stay on the first."""
    return _cuts(source, is_decision=True)


def _cuts(source: Source, *, is_decision: bool) -> Iterator[Cut]:
    front = _front_matter(source.text)
    blocks = _blocks(source, front)
    headings = [block for block in blocks if block[1]]
    title = next((text for _, level, text in headings[:1] if level == 1), "")
    places = [
        (start, text)
        for start, level, text in headings[1 if title else 0 :]
        if level <= 2 or (is_decision and level == 3 and _DECISION_SUBSECTION.fullmatch(text))
    ]
    edges = tuple(start for start, _, _ in blocks)
    first = places[0][0] if places else len(source.text)
    stem = PurePosixPath(source.path).stem
    heading = "Preamble" if places else title or stem
    named = title or (stem if places else "")
    only_front_matter = not source.text[front:first].strip()
    joins = bool(places) and (is_decision or only_front_matter)
    group = "" if is_decision else "sections"
    yield Cut(0, "section", heading, group, joins, edges=edges, title=named)
    for start, text in places:
        joins = is_decision and _DECISION_HEADER.fullmatch(text) is not None
        yield Cut(start, "section", text, group, joins, edges=edges, title=named)


def _blocks(source: Source, front: int) -> list[tuple[int, int, str]]:
    """Return (offset, heading level or 0, heading text) of each outermost block."""
    blank = _NOT_LINE_END.sub("", source.text[:front])
    tokens = _parser().parse(blank + source.text[front:])
    blocks = []
    for number, token in enumerate(tokens):
        if token.level or token.map is None:
            continue
        level = int(token.tag[1]) if token.type == "heading_open" else 0
        text = tokens[number + 1].content.strip() if level else ""
        blocks.append((source.line_starts[token.map[0]], level, " ".join(text.split())))
    return blocks


def _front_matter(text: str) -> int:
    """Return where the front matter ends, 0 if there is none."""
    match = _FRONT_MATTER.match(text)
    return match.end() if match else 0
