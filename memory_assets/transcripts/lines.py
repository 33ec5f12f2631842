"""Read the JSON objects of a JSONL file, streaming, with byte offsets, despite broken lines; and
tell which of its entries are on abandoned branches, for agents that keep a tree in one file.

Lines end at b"\\n" only: U+2028 occurs raw inside strings. Lines are broken by kills, power
loss, concurrent writers and tools that rewrote the file; each broken line is reported and
the rest of the file is read:

- records glued on one line for want of a newline: all are recovered;
- NUL runs: text outside of them is recovered if it parses;
- junk before or after an object: the object is recovered;
- invalid UTF-8, invalid JSON, JSON that is not an object: skipped;
- lines over the cap: skipped without being held in memory;
- a half-written last line: left pending, unless it is a whole object already.

Strings handed on hold neither NUL characters nor lone surrogates: both become U+FFFD.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import orjson

from memory_assets.transcripts.base import ReadReport
from memory_assets.transcripts.content import FileContent
from memory_assets.transcripts.fields import storable, text_field
from memory_assets.transcripts.ids import text_hash

HEAD_BYTES = 1 << 16
MAX_LINE_BYTES = 64 << 20
MAX_DEPTH = 200
"""A record that nests deeper is left out and reported: what reads it later recurses, and the stack
is limited."""

JsonObject = dict[str, Any]
Located = tuple[int, int, JsonObject]
"""(byte_start, byte_end, object)."""

MAX_ATTEMPTS = 64
"""Positions in one broken line where decoding is tried again."""

_BROKEN = object()
_DECODER = json.JSONDecoder()
_RECORD_OPENING = re.compile(
    r'(?<![:,\[])\{"(?:type|uuid|parentUuid|logicalParentUuid|isSidechain|sessionId|leafUuid|messageId'
    r'|timestamp|id)"\s*:'
)


def read_head(path: Path, size: int = HEAD_BYTES) -> bytes:
    """Return the first `size` bytes of `path`; raise `TranscriptError` if it can't be read."""
    with closing(FileContent(path).text(size)) as blocks:
        return next(blocks, b"")[:size]


def head_objects(head: bytes) -> Iterator[JsonObject]:
    """Yield the objects of those lines of `head` that parse, and what can be recovered from the
    others; the cut-off last one rarely gives any."""
    *lines, last = head.split(b"\n")
    for line in lines:
        value = _load(line)
        if value is _BROKEN and line.strip():
            yield from (recovered for _, _, recovered in _recover(line, 0)[0])
        elif isinstance(value, dict):
            yield value
    if isinstance(value := _load(last), dict):
        yield value


def first_object(head: bytes, predicate: Callable[[JsonObject], bool]) -> JsonObject:
    """Return the first of the objects of a head that is `predicate`; an empty one if none is."""
    return next(filter(predicate, head_objects(head)), {})


def read_objects(path: Path, report: ReadReport, *, end: int | None = None) -> Iterator[Located]:
    """Yield (byte_start, byte_end, object) for each JSON object of `path`, in file order.

    Offsets are those of the unpacked text. Counts lines, bytes and objects in `report` and lists
    bad lines there. Holds at most one line of `MAX_LINE_BYTES` and one block. Reads up to byte
    `end`, or all.
    Raises `TranscriptError` if the file cannot be opened or read.
    """
    yield from objects_in(FileContent(path).text(end), report)


def objects_in(blocks: Iterable[bytes], report: ReadReport) -> Iterator[Located]:
    """Yield the objects of lines, as `read_objects` does, from the blocks that hold them."""
    for begin, line, complete in _lines(blocks, report):
        for located in _objects_of_line(line, begin, report, complete):
            report.records += 1
            yield located


def _lines(blocks: Iterable[bytes], report: ReadReport) -> Iterator[tuple[int, bytes, bool]]:
    """Yield (offset, line without newline, whether the newline was there).

    Lines over the cap are reported here and left out.
    """
    parts: list[bytes] = []
    cap = MAX_LINE_BYTES
    held = offset = 0
    for block in blocks:
        report.bytes_read += len(block)
        pieces = block.split(b"\n")
        last = pieces.pop()
        for piece in pieces:
            report.lines += 1
            length = held + len(piece)
            if length > cap:
                report.bad_line_count += 1
            else:
                yield offset, b"".join((*parts, piece)) if parts else piece, True
            offset += length + 1
            report.complete_offset = offset
            parts.clear()
            held = 0
        held += len(last)
        if held > cap:
            parts.clear()
        elif last:
            parts.append(last)
    if 0 < held <= cap:
        yield offset, b"".join(parts), False
    elif held:
        report.pending_bytes = held


def _load(line: bytes) -> Any:
    try:
        return orjson.loads(line)
    except orjson.JSONDecodeError:
        return _BROKEN


def _objects_of_line(
    line: bytes, start: int, report: ReadReport, complete: bool
) -> Iterable[Located]:
    """Return the objects of a line, one if it is clean, and count the line as bad if it is not."""
    value, end = _load(line), start + len(line)
    is_object = isinstance(value, dict)
    if not complete:
        if not is_object:
            report.pending_bytes = len(line)
            return ()
        # A whole object whose newline is still to come, or was never written.
        report.lines += 1
        report.complete_offset = end
    if value is _BROKEN:
        objects, is_bad = _recover(line, start)
        report.bad_line_count += is_bad
        return objects
    if not is_object or (_may_exceed_depth(line) and exceeds_depth(value, MAX_DEPTH)):
        report.bad_line_count += 1
        return ()
    return ((start, end, storable(value) if b"\\u0000" in line else value),)


def _recover(line: bytes, start: int) -> tuple[list[Located], bool]:
    """Return the objects in `line`, and whether it is bad; a blank one is not."""
    is_bad = b"\0" in line
    located: list[Located] = []
    position = 0
    for piece in line.split(b"\0"):
        if piece.strip():
            objects, has_trouble = _decode_all(piece, start + position)
            located += objects
            is_bad = is_bad or has_trouble
        position += len(piece) + 1
    return located, is_bad


def _decode_all(piece: bytes, start: int) -> tuple[list[Located], bool]:
    """Decode objects one after another; after a broken one, only one that ends the line.

    An object in the midst of broken text is part of a record and not one itself, but a
    record written into another's torn line runs up to the newline, and seldom begins
    where a nested object could.
    """
    try:
        text = piece.decode().rstrip()
    except UnicodeDecodeError:
        return [], True
    objects: list[Located] = []
    junk = broken = False
    position = attempts = 0
    while position < len(text):
        opening = _RECORD_OPENING.search(text, position) if broken else None
        begin = (opening.start() if opening else -1) if broken else text.find("{", position)
        junk = junk or bool(text[position : begin if begin >= 0 else len(text)].strip())
        if begin < 0 or attempts >= MAX_ATTEMPTS:
            break
        try:
            value, end = _DECODER.raw_decode(text, begin)
        except RecursionError:
            return objects, True
        except ValueError:
            broken = True
            position, attempts = begin + 1, attempts + 1
            continue
        if broken and end < len(text):
            position, attempts = begin + 1, attempts + 1
            continue
        if exceeds_depth(value, MAX_DEPTH):
            return objects, True
        first = start + len(text[:begin].encode())
        objects.append((first, first + len(text[begin:end].encode()), storable(value)))
        position = end
    return objects, junk or broken or len(objects) != 1


def _may_exceed_depth(line: bytes) -> bool:
    """Return False if a line has too few brackets to nest so deep; much quicker than looking."""
    return line.count(b"{") + line.count(b"[") > MAX_DEPTH


def exceeds_depth(value: Any, limit: int) -> bool:
    """Return whether `value` nests more than `limit` levels; recursion-free."""
    level = [value]
    for _ in range(limit):
        level = [
            child
            for item in level
            if isinstance(item, dict | list)
            for child in (item.values() if isinstance(item, dict) else item)
        ]
        if not level:
            return False
    return True


def abandoned_entries(
    path: Path, end: int | None = None, *, own: str = "id", above: str = "parentId"
) -> frozenset[int]:
    """Return the hashes of the ids of the entries on abandoned branches, of the first `end` bytes.

    Whoever goes back to an earlier entry and says something else begins a new branch, and the old
    one stays in the file. The last entry is the end of the current branch; what is not above it in
    the tree was abandoned. If an entry above the last one is missing, nothing before the gap counts
    as abandoned.

    `own` and `above` are the fields of an entry's id and of the id of the one above it. A session's
    header, of type "session", is no entry.

    Raises:
        TranscriptError: the file cannot be read.
    """
    parents: dict[int, int] = {}
    children: dict[int, int] = {}
    last = 0
    for _, _, entry in read_objects(path, ReadReport(), end=end):
        if entry_id := text_field(entry, own):
            if entry.get("type") == "session":
                continue
            last = text_hash(entry_id)
            parent_id = text_field(entry, above)
            parents[last] = text_hash(parent_id) if parent_id else 0
            children[parents[last]] = children.get(parents[last], 0) + 1
    if all(number == 1 for number in children.values()):
        return frozenset()
    current_branch: set[int] = set()
    entry_hash = last
    while entry_hash in parents and entry_hash not in current_branch:
        current_branch.add(entry_hash)
        entry_hash = parents[entry_hash]
    abandoned = [entry for entry in parents if entry not in current_branch]
    if entry_hash and entry_hash not in parents:  # the entry above is not in the file
        order = {entry: place for place, entry in enumerate(parents)}
        first = min(order[entry] for entry in current_branch)
        abandoned = [entry for entry in abandoned if order[entry] > first]
    return frozenset(abandoned)
