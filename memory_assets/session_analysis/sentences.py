"""Markdown, as agents write it, to plain sentences.

Code fences, tables, rules and comments fall away; headings become the context of the
sentences below them; emphasis, code marks and link targets are taken off.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache

from memory_assets.redacted_text import RedactedText, join
from memory_assets.session_analysis.phrases import EMPTY

_FENCE = re.compile(r"\s*(```+|~~~+)")
_HEADING = re.compile(r"\s{0,3}(#{1,6})\s+|\s*\*\*[^*]{1,80}?(:\*\*|\*\*:?)\s*$")
_ITEM = re.compile(r"\s*(?:[-*+•✅✓✔☑❌✗✘→▸►●○]️?|\d{1,2}[.)])\s+(?:\[[ xX]\]\s+)?")
_NOT_PROSE = re.compile(
    r"\s*(?:\|.*|[-=_*─━═~\s`]{3,}|`?★.*|<!--.*|<(?!redacted)/?[a-z][\w-]*(?:\s[^>]*)?>\s*)$"
)
_DEBRIS = re.compile(
    r"!?\[(?P<label>[^\]\n]*)\]\((?:[^()\s]|\([^()\s]*\))*\)"
    r"|[│┃┆╎▌▏✅✓✔☑❌✗✘️]|\*\*|`+|~~"
    r"|(?<![\w*])\*(?P<soft>\w[^*\n]*?)\*(?![\w*])"
)
_LEADING = re.compile(r"\A(?:[^\w\"'(<\[/.$@¿¡]+|\d{1,2}[.)]\s+(?=\S))+")
_BOUNDARY = re.compile(r"[.!?…][\"')\]]*(?=\s)|[。！？]")
_ABBREVIATION = re.compile(
    r"(?:^|[\s(])(?:e\.g|i\.e|etc|vs|approx|cf|resp|incl|Mr|Mrs|Dr|St|(?-i:[A-Z]))\.$|^\d{1,2}\.$",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class Sentence:
    """One sentence or list item; `heading` is the one above it, `lead` its list's lead-in.

    `before` is the previous sentence of its paragraph.
    """

    text: RedactedText
    heading: RedactedText = EMPTY
    lead: RedactedText = EMPTY
    item: bool = False
    before: RedactedText = EMPTY


@dataclass(slots=True)
class _Block:
    lines: list[RedactedText]
    heading: RedactedText
    lead: RedactedText
    item: bool


@lru_cache(maxsize=1_000)
def sentences(text: RedactedText) -> tuple[Sentence, ...]:
    """Return the sentences of a Markdown text in order, without its markup.

    The sentences of recent texts are cached, because several callers read each session.
    """
    found: list[Sentence] = []
    for block in _blocks(text):
        plain = plain_text(join(" ", block.lines))
        before = EMPTY
        for sentence in split(plain):
            found.append(Sentence(sentence, block.heading, block.lead, block.item, before))
            before = sentence
    return tuple(found)


def plain_text(text: RedactedText) -> RedactedText:
    """Return one paragraph without emphasis, code marks, link targets and leading symbols."""
    plain = text.sub(_DEBRIS, r"\g<label>\g<soft>").squeezed()
    return plain.sub(_LEADING, "")


def split(plain: RedactedText) -> Iterator[RedactedText]:
    """Yield the sentences of one paragraph of plain text."""
    at = 0
    for boundary in _BOUNDARY.finditer(plain):
        end = boundary.end()
        if _ABBREVIATION.search(plain[max(at, end - 12) : end].lstrip()):
            continue
        if plain.endswith(("...", "…"), 0, end) and plain[end : end + 2].strip().islower():
            continue
        yield from _trimmed(plain.cut(at, end))
        at = end
    yield from _trimmed(plain.cut(at))


def _trimmed(text: RedactedText) -> Iterator[RedactedText]:
    if trimmed := text.trimmed().sub(_LEADING, ""):
        yield trimmed


def _blocks(text: RedactedText) -> Iterator[_Block]:
    heading = lead = EMPTY
    open_block: _Block | None = None
    fence = ""
    for line in text.lines():
        mark = _FENCE.match(line)
        if mark or fence:
            if open_block:
                yield open_block
                open_block = None
            fence = _fence_after(fence, mark)
            continue
        title = _HEADING.match(line)
        if title or not line.strip() or _NOT_PROSE.match(line):
            if open_block:
                lead = _lead_in(open_block, lead)
                yield open_block
                open_block = None
            if title:
                heading, lead = plain_text(line), EMPTY
            continue
        item = _ITEM.match(line)
        if item:
            if open_block:
                lead = _lead_in(open_block, lead)
                yield open_block
            open_block = _Block([line.cut(item.end())], heading, lead, item=True)
        elif open_block:
            open_block.lines.append(line)
        else:
            open_block = _Block([line], heading, EMPTY, item=False)
            lead = EMPTY
    if open_block:
        yield open_block


def _fence_after(fence: str, mark: re.Match[str] | None) -> str:
    if mark is None:
        return fence
    if not fence:
        return mark.group(1)
    return "" if mark.group(1).startswith(fence) else fence


def _lead_in(block: _Block, lead: RedactedText) -> RedactedText:
    """A paragraph that ends in a colon introduces the list below it."""
    if block.item:
        return lead
    last = block.lines[-1]
    return plain_text(last) if last.rstrip().endswith(":") else EMPTY
