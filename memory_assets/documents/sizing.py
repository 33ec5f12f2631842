"""Cuts to chunks of the wanted size: headers joined, small neighbours merged, long ones split.

Where a run of small chunks or of lines is divided is decided by the content at the
place, not by what precedes it, so that an insertion changes the chunks near it only.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import groupby, pairwise
from zlib import crc32

from memory_assets.documents.document import Cut, Section, Source

OVERLAP = 50
"""Tokens that a passage of a long chunk repeats of the one before it."""

_MAX_HEADING = 160
_INDENT = re.compile(r"[ \t]*")


@dataclass(frozen=True)
class Size:
    """The tokens of a chunk: `low` is aimed at by merging, `high` is kept by splitting."""

    low: int
    high: int


@dataclass(frozen=True)
class _Span:
    """A chunk to be: its range, and the cut that it begins with."""

    start: int
    end: int
    cut: Cut
    size: int


def fitted(source: Source, cuts: Iterable[Cut], size: Size) -> list[Section]:
    """Return the chunks of a file, in its order. Together they hold every line that is not
    blank, except skipped and left out ranges."""
    spans = _join_headers(source, _spans(source, list(cuts), size), size)
    merged: list[_Span] = []
    for _, run in groupby(spans, key=lambda span: span.cut.group):
        merged += _merge_small(source, run, size)
    merged = _join_slight(source, merged, size)
    return [section for span in merged for section in _sections(source, span, size)]


def passages(
    source: Source, start: int, end: int, size: Size, edges: Sequence[int] = ()
) -> list[tuple[int, int]]:
    """Return ranges of at most `size.high` tokens, each beginning with up to `OVERLAP` tokens
    of the one before it. Places in `edges` are preferred for cuts, then what follows blank
    lines, then the least indented lines."""
    body = max(size.high - OVERLAP - 2, 1)
    places = _places(source, start, end, body)
    best = set(edges)
    ranks = [_rank(source.text, place, best) for place in places]
    sizes = [source.size(*pair) - 2 for pair in pairwise([*places, end])]
    bodies = []
    first = 0
    for last in _divide(sizes, ranks, body // 2, body):
        bodies.append((places[first], places[last] if last < len(places) else end))
        first = last
    return [
        (begin if begin == start else _overlap_start(source, start, begin), finish)
        for begin, finish in bodies
    ]


def _spans(source: Source, cuts: Sequence[Cut], size: Size) -> Iterator[_Span]:
    """Yield what stands between the cuts, without what is blank. Text before the first cut is
    the first chunk's."""
    starts = [0, *(cut.start for cut in cuts[1:]), len(source.text)]
    for cut, (start, end) in zip(cuts, pairwise(starts), strict=True):
        start, end = source.trimmed(start, end)
        if start == end:
            continue
        if not (cut.context or cut.left_out):
            yield _Span(start, end, cut, source.size(start, end))
            continue
        own = _size(source, [(start, end)], cut)
        context = _context_that_fits(source, cut, max(size.high - own, size.high // 4))
        total = own + _size(source, context, cut)
        yield _Span(start, end, replace(cut, context=context), total)


def _size(source: Source, ranges: Iterable[tuple[int, int]], cut: Cut) -> int:
    """Return the tokens of ranges without what the cut leaves out."""
    kept = (passage for part in ranges for passage in _leave_out(*part, cut.left_out))
    return sum(source.size(*part) for part in kept)


def _context_that_fits(source: Source, cut: Cut, room: int) -> tuple[tuple[int, int], ...]:
    """Return the context that a chunk has room for."""
    fitting = []
    for part in cut.context:
        if (needed := _size(source, [part], cut)) <= room:
            fitting.append(part)
            room -= needed
    return tuple(fitting)


def _join_headers(source: Source, spans: Iterable[_Span], size: Size) -> list[_Span]:
    """Put each header on the chunk after it, if both fit into one."""
    joined: list[_Span] = []
    for span in spans:
        if joined and joined[-1].cut.joins_next:
            header = joined[-1]
            total = source.size(header.start, span.end)
            if total <= size.high:
                cut = replace(span.cut, heading=_heading([header.cut, span.cut]))
                joined[-1] = _Span(header.start, span.end, cut, total)
                continue
        joined.append(span)
    return joined


def _merge_small(source: Source, run: Iterable[_Span], size: Size) -> list[_Span]:
    """Merge neighbours of one group that are smaller than `size.low`."""
    merged: list[_Span] = []
    for small, several in groupby(
        run, key=lambda span: bool(span.cut.group) and span.size < size.low
    ):
        spans = list(several)
        if not small:
            merged += spans
            continue
        first = 0
        hashes = [
            (crc32(source.text[span.start : span.end].encode(errors="replace")),) for span in spans
        ]
        sizes = [span.size for span in spans]
        for last in _divide(sizes, hashes, size.low, min(2 * size.low, size.high)):
            merged.append(_as_one_span(source, spans[first:last]))
            first = last
    return merged


def _join_slight(source: Source, spans: Sequence[_Span], size: Size) -> list[_Span]:
    """Put what says little by itself, a heading or a key among longer chunks, on the chunk after
    it, the last on the one before it."""
    kept: list[_Span] = []
    slight: _Span | None = None
    for span in spans:
        joined = span
        if slight is not None and _joins(slight, span, size):
            joined = _join_pair(source, slight, span, span.cut)
        elif slight is not None:
            kept.append(slight)
        slight = joined if _is_slight(source, joined, size) else None
        if slight is None:
            kept.append(joined)
    if slight is not None and kept and _joins(slight, kept[-1], size):
        last = kept.pop()
        slight = _join_pair(source, last, slight, last.cut)
    return [*kept, slight] if slight is not None else kept


def _is_slight(source: Source, span: _Span, size: Size) -> bool:
    """Return whether a chunk is a key below the wanted size, or hardly more than a heading. A named
    entry of a list, which is a key without a group, stays alone."""
    if not _may_join(span.cut):
        return False
    if span.cut.chunk_type == "key":
        return bool(span.cut.group) and span.size < size.low
    one_line = "\n" not in source.text[span.start : span.end].strip()
    return span.size < size.low // 4 and (one_line or bool(span.cut.group))


def _joins(slight: _Span, neighbour: _Span, size: Size) -> bool:
    """Return whether a slight chunk may go with a neighbour: one of its group, or, if it is but a
    line or so, an entry of a list."""
    if not _may_join(neighbour.cut):
        return False
    same_group = slight.cut.group == neighbour.cut.group
    return same_group or (not neighbour.cut.group and slight.size < size.low // 4)


def _may_join(cut: Cut) -> bool:
    """Return whether a chunk may go with its neighbour: no operation, schema, channel or method."""
    return cut.chunk_type in ("section", "key") and not cut.context and not cut.left_out


def _join_pair(source: Source, first: _Span, second: _Span, cut: Cut) -> _Span:
    """Return two neighbours as one chunk of the kind of `cut`, which is either's."""
    heading = _heading([first.cut, second.cut])
    edges = (*first.cut.edges, second.start, *second.cut.edges)
    total = source.size(first.start, second.end)
    return _Span(first.start, second.end, replace(cut, heading=heading, edges=edges), total)


def _as_one_span(source: Source, spans: Sequence[_Span]) -> _Span:
    if len(spans) == 1:
        return spans[0]
    start, end = spans[0].start, spans[-1].end
    kinds = [span.cut.chunk_type for span in spans]
    cut = replace(
        spans[0].cut,
        chunk_type=next((kind for kind in kinds if kind != "section"), "section"),
        heading=_heading([span.cut for span in spans]),
        edges=tuple(span.start for span in spans[1:]),
        left_out=tuple(part for span in spans for part in span.cut.left_out),
    )
    return _Span(start, end, cut, source.size(start, end))


def _heading(cuts: Sequence[Cut]) -> str:
    """Return the headings of several cuts as one; a header's only if it names a definition."""
    named = [cut for cut in cuts if not cut.joins_next or cut.chunk_type == "definition"]
    named = named or [cuts[-1]]
    headings = list(dict.fromkeys(cut.heading for cut in named))
    prefix = headings[0][: headings[0].find(": ") + 2] if ": " in headings[0] else "\n"
    headings[1:] = [heading.removeprefix(prefix) for heading in headings[1:]]
    heading = " / ".join(headings)
    return heading if len(heading) <= _MAX_HEADING else f"{headings[0]} / … / {headings[-1]}"


def _divide(
    sizes: Sequence[int], ranks: Sequence[tuple[int, ...]], low: int, high: int
) -> Iterator[int]:
    """Yield the ends (indices, the last is the length) of groups whose sizes add up to `low`
    to `high`. Of the possible ends the one before the item of the least rank is taken."""
    first = 0
    rest = sum(sizes)
    while first < len(sizes):
        if rest <= high:
            yield len(sizes)
            return
        total = sizes[first]
        last = first + 1
        ends = [last]
        while last < len(sizes) and total + sizes[last] <= high:
            total += sizes[last]
            last += 1
            if total >= low:
                ends.append(last)
        if len(ends) > 1 and sizes[first] < low:
            del ends[0]
        end = min(ends, key=lambda place: ranks[place]) if len(ends) > 1 else ends[0]
        yield end
        rest -= sum(sizes[first:end])
        first = end


def _places(source: Source, start: int, end: int, body: int) -> list[int]:
    """Return where a range may be cut: before its lines, and within those that are too long."""
    first, last = source.line(start), source.line(end - 1)
    lines = [start, *source.line_starts[first + 1 : last + 1], end]
    places: list[int] = []
    for begin, finish in pairwise(lines):
        places.append(begin)
        if source.size(begin, finish) - 2 > body:
            places += source.within(begin, finish, max(body // 8, 1))
    return places


def _rank(text: str, place: int, edges: set[int]) -> tuple[int, ...]:
    """Return how well a chunk begins at a place, less being better; ties fall by content."""
    line_end = text.find("\n", place, place + 200)
    line = text[place : line_end if line_end >= 0 else place + 200]
    indent = _INDENT.match(line)
    width = indent.end() if indent else 0
    after_blank = not text[max(0, place - 4) : place].replace("\r", "").endswith("\n\n")
    in_word = text[max(0, place - 1) : place + 1].isalnum() and 0 < place < len(text)
    return (place not in edges, in_word, after_blank, width, crc32(line.encode(errors="replace")))


def _overlap_start(source: Source, start: int, begin: int) -> int:
    """Return where a passage begins with its overlap: at a line's start if one is near."""
    back = max(start, source.back(begin, OVERLAP))
    line = source.line(back) + (source.line_start(back) < back)
    if line < len(source.line_starts) and source.line_starts[line] < begin:
        return source.line_starts[line]
    return back


def _sections(source: Source, span: _Span, size: Size) -> Iterator[Section]:
    cut = span.cut
    kind = cut.chunk_type
    ranges = [(span.start, span.end)]
    if span.size > size.high:
        kind = "window" if kind == "full_file" else kind
        room = Size(size.low, size.high - _size(source, cut.context, cut))
        ranges = passages(source, span.start, span.end, room, cut.edges)
    for number, own in enumerate(ranges):
        parts = [*(cut.context if number == 0 else ()), own]
        kept = [passage for part in parts for passage in _leave_out(*part, cut.left_out)]
        yield from _section(source, replace(cut, chunk_type=kind), kept)


def _leave_out(
    start: int, end: int, left_out: Sequence[tuple[int, int]]
) -> Iterator[tuple[int, int]]:
    """Yield a range in parts, without those left out."""
    for begin, finish in left_out:
        if start < begin < end:
            yield start, begin
        start = max(start, min(finish, end)) if begin < end else start
    if start < end:
        yield start, end


def _section(source: Source, cut: Cut, ranges: Iterable[tuple[int, int]]) -> Iterator[Section]:
    """Yield the chunk of these ranges, or nothing if they are blank."""
    trimmed = sorted(source.trimmed(*part) for part in ranges)
    parts = [(start, end) for start, end in trimmed if start < end]
    if not parts:
        return
    yield Section(
        chunk_type=cut.chunk_type,
        heading=cut.heading[:_MAX_HEADING],
        line_start=source.line(parts[0][0]) + 1,
        line_end=source.line(max(end for _, end in parts) - 1) + 1,
        text="\n".join(source.text[start:end] for start, end in parts),
        context=f"{cut.title[:_MAX_HEADING]}: {cut.heading[:_MAX_HEADING]}" if cut.title else "",
    )
