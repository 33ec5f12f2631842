"""Cut Markdown and AsciiDoc at second-level headings, decision records at the sections of MADR."""

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
_DECISION_NAME = re.compile(r"(?:adr|decision|dec|dr|ad)[-_ #]*\d+\b.*", re.I)
"""A heading that names a decision, where one file has several."""
_DELIMITER = re.compile(r"-{4,}|\.{4,}|={4,}|\+{4,}|/{4,}|_{4,}|\*{4,}|\|={3,}|```.*")
_ASCIIDOC = re.compile(
    rf"^(?P<fence>{_DELIMITER.pattern})[ \t]*\r?$|"
    r"^(?P<level>={1,6}|\#{1,6})[ \t]+(?P<text>\S.*?)[ \t]*\r?$|"
    r"^(?P<above>\w.*?)[ \t]*\r?\n(?P<line>=+|-+|~+|\^+|\++)[ \t]*\r?$",
    re.MULTILINE,
)
"""What delimits a block, and a heading, with marks or with a line below that is as long:
docs.asciidoctor.org/asciidoc/latest/blocks/delimited and .../sections/titles-and-levels."""
_LINES = "=-~^+"
"""What the line below a heading is made of, by level."""
_LONG = 400
"""Tokens of a section above which those below it are chunks of their own: the embedder reads 256 of
a passage, which says nothing of the heading that stands before another one."""
_MAX_ABOVE = 60
"""Characters of a heading before those below it."""
_DECISION_HEADER = re.compile(r"status|date|deciders?|decision[- ]makers|authors?|tags", re.I)


@cache
def _parser() -> MarkdownIt:
    """Return a parser of blocks; what is within a paragraph is not looked at."""
    return MarkdownIt("commonmark").enable("table").disable("inline")


def markdown(source: Source) -> Iterator[Cut]:
    """Cut at each second-level heading, and at first-level ones but the title; of a long section at
    those below it, too."""
    return _cuts(source, is_decision=False)


def decision_record(source: Source) -> Iterator[Cut]:
    """Cut at each section of a decision, its consequences being one of their own. Title and
    status stay on the first."""
    return _cuts(source, is_decision=True)


def asciidoc(source: Source) -> Iterator[Cut]:
    """Cut AsciiDoc at headings down to the third level, but the title."""
    front = _front_matter(source.text)
    headings: list[tuple[int, int, str]] = []
    fence = ""
    for match in _ASCIIDOC.finditer(source.text, front):
        line, level = match["line"] or "", len(match["level"] or "")
        if line and not fence and abs(len(line) - len(match["above"])) < 2:
            level = _LINES.index(line[0]) + 1
        mark = (match["fence"] or line).strip()
        if level and not fence:
            text = match["text"] or match["above"]
            headings.append((match.start(), level - (level == 3), text))
        elif _DELIMITER.fullmatch(mark):
            fence = "" if mark == fence else fence or mark
    return _cuts_at(source, front, headings, headings, is_decision=False)


def _cuts(source: Source, *, is_decision: bool) -> Iterator[Cut]:
    front = _front_matter(source.text)
    blocks = _blocks(source, front)
    headings = [block for block in blocks if block[1]]
    return _cuts_at(source, front, blocks, headings, is_decision=is_decision)


def _cuts_at(
    source: Source,
    front: int,
    blocks: list[tuple[int, int, str]],
    headings: list[tuple[int, int, str]],
    *,
    is_decision: bool,
) -> Iterator[Cut]:
    """Yield the cuts of a text whose blocks and headings are (offset, level, text)."""
    title = next((text for _, level, text in headings[:1] if level == 1), "")
    records = _several_decisions(headings)
    headings = headings[1 if title and headings[0] not in records else 0 :]
    places = [
        (start, level, text)
        for start, level, text in headings
        if level <= 2
        or (is_decision and level == 3 and _DECISION_SUBSECTION.fullmatch(text))
        or (records and level == records[0][1] + 1)
    ]
    edges = tuple(start for start, _, _ in blocks)
    first = places[0][0] if places else len(source.text)
    below = list(_below(source, headings, front, first, ""))
    stem = PurePosixPath(source.path).stem
    heading = "Preamble" if places or below else title or stem
    named = title or (stem if places or below else "")
    only_front_matter = not source.text[front:first].strip()
    joins = bool(places) and (is_decision or only_front_matter)
    group = "" if is_decision else "sections"
    yield Cut(0, "section", heading, group, joins, edges=edges, title=named)
    yield from (Cut(*cut, group or "preamble", edges=edges, title=named) for cut in below)
    ends = [*(start for start, _, _ in places[1:]), len(source.text)]
    for (start, level, text), end in zip(places, ends, strict=False):
        is_record = (start, level, text) in records
        named = text if is_record else named
        below = list(_below(source, headings, start, end, f"{text[:_MAX_ABOVE]}: "))
        is_bare = bool(below) and "\n" not in source.text[start : below[0][0]].strip()
        is_head = is_decision and _DECISION_HEADER.fullmatch(text) is not None
        own_group = f"sections {named}" if records and group else group
        joins = is_record or is_head or is_bare
        yield Cut(start, "section", text, own_group, joins, edges=edges, title=named)
        yield from (Cut(*cut, own_group or text, edges=edges, title=named) for cut in below)


def _below(
    source: Source, headings: list[tuple[int, int, str]], start: int, end: int, above: str
) -> Iterator[tuple[int, str, str]]:
    """Yield the sections of the next level within a long one, and those within long ones of these,
    as (offset, type of chunk, heading), the heading after what stands above it."""
    if source.size(start, end) <= _LONG:
        return
    within = [heading for heading in headings if start < heading[0] < end]
    level = min((level for _, level, _ in within), default=0)
    places = [(start, text) for start, depth, text in within if depth == level]
    ends = [*(start for start, _ in places[1:]), end]
    for (begin, text), finish in zip(places, ends, strict=False):
        yield begin, "section", above + text
        yield from _below(source, headings, begin, finish, f"{above}{text[:_MAX_ABOVE]}: ")


def _several_decisions(headings: list[tuple[int, int, str]]) -> list[tuple[int, int, str]]:
    """Return the headings of a file's decisions if it holds more than one."""
    named = [
        heading for heading in headings if heading[1] <= 2 and _DECISION_NAME.fullmatch(heading[2])
    ]
    level = max((level for _, level, _ in named), default=0)
    records = [heading for heading in named if heading[1] == level]
    return records if len(records) > 1 else []


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
