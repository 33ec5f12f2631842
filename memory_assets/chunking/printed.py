"""Error lines and identifiers of a turn, which people paste into searches.

They are not part of a passage's text, as tool output mixed with prose makes retrieval worse
(benchmarks/notes/retrieval.md). The keyword index has fields of their own for them, for exact and
nearly exact matches.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping

from memory_assets.chunking.digest import LOOKUPS, TELLING, TELLING_WORDS, unique
from memory_assets.keywords import IDENTIFIER
from memory_assets.models import RedactedRecord
from memory_assets.redacted_text import RedactedText

MAX_LINES = 400
MAX_LINE = 240
MAX_IDENTIFIERS = 400
_SHORTEST = 12
_LINE = re.compile(r"\S[^\r\n]*")

Whole = Mapping[tuple[str | None, int], RedactedText]
"""Complete outputs, by subagent and `seq` of records that have only the beginning."""


def error_lines(records: Iterable[RedactedRecord], whole: Whole) -> tuple[RedactedText, ...]:
    """Return the different lines of tool output that look like errors, whether or not the call
    failed. The contents of files that a successful call read are left out."""
    lines = (
        text.cut(start, end)
        for record in records
        if record.kind == "tool_result" and (record.is_error or not _shows_file(record))
        for text in [whole.get((record.agent_id, record.seq), record.text)]
        for start, end in _telling_lines(text)
        if end - start >= _SHORTEST
    )
    return unique(lines, MAX_LINES, MAX_LINE)


def _telling_lines(text: str) -> list[tuple[int, int]]:
    """Return start and end of the lines that `TELLING` matches, without leading white space.

    Searching for each word is faster than the case-insensitive regular expression, which took most
    of the time of a stage.
    """
    lowered = text.lower().replace("\r", "\n")
    if len(lowered) != len(text):  # letters whose lower case is longer
        return [line.span() for line in _LINE.finditer(text) if TELLING.search(text, *line.span())]
    spans = set()
    for word in TELLING_WORDS:
        at = lowered.find(word)
        while at >= 0:
            begin = lowered.rfind("\n", 0, at) + 1
            end = lowered.find("\n", at)
            end = len(lowered) if end < 0 else end
            spans.add((end - len(lowered[begin:end].lstrip()), end))
            at = lowered.find(word, end)
    return sorted(spans)


def identifiers(
    records: Iterable[RedactedRecord], lines: Iterable[RedactedText]
) -> tuple[RedactedText, ...]:
    """Return the different identifiers in the inputs of a turn's calls, with edits and scripts, and
    in its error lines."""
    return unique(_identifiers(records, lines), MAX_IDENTIFIERS)


def _identifiers(
    records: Iterable[RedactedRecord], lines: Iterable[RedactedText]
) -> Iterator[RedactedText]:
    texts = list(lines)
    texts += [r.text for r in records if r.kind == "tool_use" and r.tool_name not in LOOKUPS]
    seen: set[str] = set()
    for text in texts:
        for match in IDENTIFIER.finditer(text):
            if match[0] not in seen:
                seen.add(match[0])
                yield text.cut(*match.span())


def _shows_file(record: RedactedRecord) -> bool:
    return record.tool_name in LOOKUPS or bool(record.paths and not record.command)
