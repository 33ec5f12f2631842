"""An account of a source's text that does not trust its reader.

A walk over the parsed objects, which knows JSON and no agent, collects every string that is text;
each must be found in what the reader made of the source, or stand at a place that the agent's
table declares as left out. What is neither is counted by its path of keys, never by content.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import Any, NamedTuple

import orjson

from memory_assets.models import Record
from memory_assets.transcripts.tags import find_enclosed
from memory_assets.transcripts.texts import KEYS_WITH_TEXT

MIN_LEAF = 40
"""Characters from which a string is text, whatever its key."""
MAX_HELD = 32 << 20
"""Bytes of one source that are held for comparing across its records. What is found in no record
of its own object beyond that is not compared."""
_SEARCHES = 20
"""So often all texts of a source are searched for a part of a line, and the first 32 MB more."""
MAX_PATHS = 60
"""Paths that are counted apart in one source, so that no file can make the account large."""
MAX_VERSIONS = 100
OTHER_PATHS = "(others)"
_SHORT = 16
"""A shorter line is found only as a line, because as a part of one it may be another's."""
_HEAD = 8
"""So many characters may stand before a text that a reader has without them ("Error: ")."""
_CUT = "\u2026"
_PROBES = 16
"""Lines that are looked for of a text that a reader has with other spaces or line numbers."""
_PROBE_CHARACTERS = 8
"""Characters of each of them."""
_MISSING_SHARE = 0.15
"""The share of them that may be missing."""
_MAX_KEYS = 200
"""A place with more keys is a map: its keys are data."""
_DEEPEST = 12
"""Steps of a path that are told apart."""
_MOST_NESTED = 3
"""How often a text may be JSON in a text."""
_KEY = re.compile(r"[A-Za-z][A-Za-z_-]{0,59}\d{0,2}")
_TAGGED = re.compile(r"<([a-z][a-z_-]{2,40})(?: [^<>]*)?>")
_JSON = "(json)"
_TAG = re.compile(r"</?[a-z][^<>]*>")
_DATA_KEYS = frozenset({"input", "arguments", "parameters", "inputSchema", _JSON})
"""Below these, what objects are like is data: only the first key is in a path."""


class LeftOut(NamedTuple):
    """A declared place whose text the reader leaves out: the beginning of its path of keys, where
    "*" is any one key and "<tag>" the text between such tags; and why. `opens`, `holds`: what a
    text there begins with, or has in it, where only such texts are left out. `dropped` instead of
    a path: the reader's reason for objects whose text it takes from another source."""

    path: str
    why: str
    opens: str = ""
    holds: str = ""
    dropped: str = ""


@dataclass
class Tally:
    """Bytes of text, and versions of the agent that wrote them."""

    bytes: int = 0
    versions: set[str] = field(default_factory=set)

    def add(self, size: int, versions: Iterable[str]) -> None:
        """Add text of these versions."""
        self.bytes += size
        for version in versions:
            if version and len(self.versions) < MAX_VERSIONS:
                self.versions.add(version)


@dataclass
class Balance:
    """Bytes of text (UTF-8): all, those left out by reason, and the unexplained by path. `beyond`
    were not compared, because the source is too large."""

    total: int = 0
    beyond: int = 0
    left_out: Counter[str] = field(default_factory=Counter)
    unexplained: dict[str, Tally] = field(default_factory=dict)

    def add(self, other: Balance) -> None:
        """Add the balance of another source."""
        self.total += other.total
        self.beyond += other.beyond
        self.left_out.update(other.left_out)
        for path, tally in other.unexplained.items():
            self.unexplained.setdefault(path, Tally()).add(tally.bytes, tally.versions)

    @property
    def missing(self) -> int:
        """Bytes in places that no reader knows."""
        return sum(tally.bytes for tally in self.unexplained.values())


class _Place:
    """A path of keys, and the rows of the table that may hold there or below."""

    __slots__ = ("_children", "_is_map", "_kinds", "_parent", "_rows", "_step", "data", "declared")

    def __init__(
        self, parent: _Place | None, step: str, rows: Iterable[tuple[LeftOut, int]], data: int
    ) -> None:
        self._parent, self._step, self.data = parent, step, data
        self._children: dict[str, _Place] = {}
        self._kinds: dict[str, _Place] = {}
        self._is_map = data > 1
        self.declared: tuple[LeftOut, ...] = parent.declared if parent else ()
        self._rows: list[tuple[LeftOut, int]] = []
        for row, number in rows:
            if number == len(_steps(row.path)):
                self.declared += (row,)
            else:
                self._rows.append((row, number))

    def below(self, key: str) -> _Place:
        """Return the place of a key."""
        child = self._children.get(key)
        if child is not None:
            return child
        if len(self._children) >= _MAX_KEYS or key[:1] == "<":
            key = "*"
        self._is_map = self._is_map or key == "*" or not _is_name(key)
        data = self.data + (self.data > 0 or key in _DATA_KEYS)
        return self._children.setdefault(key, self._next(key, data))

    def of_kind(self, kind: str) -> _Place:
        """Return the place of an object of this type."""
        if self.data:
            return self
        place = self._kinds.get(kind)
        if place is None:
            if len(self._kinds) >= _MAX_KEYS or not _is_name(kind):
                kind = "*"
            place = self._kinds.setdefault(kind, self._next(kind, 0))
        return place

    def tagged(self, tag: str) -> _Place | None:
        """Return the place of a text between tags, if a row names them."""
        name = f"<{tag}>"
        if not any(_steps(row.path)[depth] == name for row, depth in self._rows):
            return None
        place = self._children.get(name)
        return place or self._children.setdefault(name, self._next(name, self.data))

    def row_of(self, text: str) -> LeftOut | None:
        """Return the row that leaves a text here out."""
        opening = text.lstrip()
        return next(
            (row for row in self.declared if opening.startswith(row.opens) and row.holds in text),
            None,
        )

    def path(self) -> str:
        """Return the keys to here; "*" for those that may be data."""
        steps: list[str] = []
        place = self
        while place._parent is not None:
            own = place._step == _JSON or place._step[:1] == "<"
            steps.append(place._step if own or not place._parent._is_map else "*")
            place = place._parent
        return ".".join(reversed(steps))

    def _next(self, step: str, data: int) -> _Place:
        if self._depth() >= _DEEPEST:
            return self
        rows = [
            (row, depth + 1) for row, depth in self._rows if _steps(row.path)[depth] in (step, "*")
        ]
        return _Place(self, step, rows, data)

    def _depth(self) -> int:
        depth, place = 0, self
        while place._parent is not None:
            depth, place = depth + 1, place._parent
        return depth


@cache
def _steps(path: str) -> tuple[str, ...]:
    return tuple(path.split("."))


def _is_name(step: str) -> bool:
    """Return whether a step of a path is one of ours, or a key that is no data."""
    return step in ("*", _JSON) or _KEY.fullmatch(step) is not None


def place_name(name: str) -> str:
    """Return the name of a table or column; "*" for one that may be data."""
    return name if _is_name(name) or name[:1] == "(" else "*"


_Leaf = tuple[_Place, str]
"""A text and its place; no class of its own, because a transcript has a hundred thousand."""


class Account:
    """The account of one source: `compare` each parsed object with the records that the reader
    gave for it, `made` with those it gave at the end, then ask for the `balance`."""

    def __init__(self, rows: Iterable[LeftOut]) -> None:
        self._elsewhere = {row.dropped: row for row in rows if row.dropped}
        self._root = _Place(None, "", [(row, 0) for row in rows if not row.dropped], 0)
        self._balance = Balance()
        self._found: set[int] = set()
        """Hashes of texts that the reader took: of this process alone, never stored."""
        self._dropped: dict[int, LeftOut] = {}
        """Hashes of texts of dropped objects, which a later object may have again."""
        self._texts: list[str] = []
        self._pending: list[tuple[str, list[_Leaf], str]] = []
        self._held = 0
        self._budget = MAX_HELD

    def compare(
        self, parsed: Mapping[str, Any], records: Sequence[Record], *, dropped: str, version: str
    ) -> None:
        """Look for the text of an object in its records. `dropped` is the reader's reason where it
        gave none, `version` the agent's."""
        texts = self.made(records)
        balance, hashes = self._balance, self._found
        if dropped and (row := self._elsewhere.get(dropped)):
            size = 0
            for _, text in _leaves(parsed, self._root):
                size += _size(text)
                self._dropped.setdefault(hash(text), row)
            balance.total += size
            balance.left_out[row.why] += size
            return
        for leaf in _leaves(parsed, self._root):
            text = leaf[1]
            balance.total += _size(text)
            if hash(text) in hashes:
                continue
            if rest := self._unmatched_parts(leaf, texts):
                self._hold(leaf, rest, version)

    def drop(self, parsed: Mapping[str, Any], reason: str) -> None:
        """Note why there are no records of an object that was compared when its reader held it."""
        if row := self._elsewhere.get(reason):
            for _, text in _leaves(parsed, self._root):
                self._dropped.setdefault(hash(text), row)

    def unread(self, places: Mapping[str, int], version: str) -> None:
        """Count text that the reader never asked its store for, by place."""
        for path, size in places.items():
            self._balance.total += size
            self._add_unexplained(path, size, version)

    def made(self, records: Iterable[Record]) -> list[str]:
        """Note what the reader took, and return it."""
        texts: list[str] = []
        hashes = self._found
        for record in records:
            for text in (
                *(record.text, record.command, record.tool_name, record.cwd, record.git_branch),
                *(record.parent_uuid, record.tool_use_id, record.message_id, record.model),
                *(record.record_uuid, *record.paths),
            ):
                if text and (mark := hash(text)) not in hashes:
                    hashes.add(mark)
                    texts.append(text)
                elif text and text is record.text:
                    texts.append(text)
            if record.text and self._held < MAX_HELD:
                self._held += len(record.text)
                self._budget += _SEARCHES * len(record.text)
                self._texts.append(record.text)
        return texts

    def balance(self) -> Balance:
        """Return the balance, once all objects and records were compared."""
        balance, hashes = self._balance, self._found
        pending = [item for item in self._pending if hash(item[0]) not in hashes]
        pending.sort(key=lambda item: -len(item[0]))
        if pending:
            self._note_lines()
        for whole, rest, version in pending:
            if row := self._dropped.get(hash(whole)):
                balance.left_out[row.why] += _size(whole)
                continue
            if not self._missing(whole):
                continue
            for place, text in rest:
                missing = self._missing(text)
                if missing and self._held >= MAX_HELD:
                    balance.beyond += missing
                elif missing:
                    self._add_unexplained(place.path(), missing, version)
        self._pending.clear()
        self._texts.clear()
        return balance

    def _add_unexplained(self, path: str, size: int, version: str) -> None:
        paths = self._balance.unexplained
        path = path if path in paths or len(paths) < MAX_PATHS else OTHER_PATHS
        paths.setdefault(path, Tally()).add(size, (version,))

    def _note_lines(self) -> None:
        note = self._found.update
        for text in self._texts:
            lines = text.splitlines()
            note(map(hash, map(str.strip, lines)))
            if "\n+" in text or "\n-" in text or text[:1] in ("+", "-"):  # a patch
                note(hash(line[1:].strip()) for line in lines if line[:1] in ("+", "-"))
            if "<" in text:
                note(hash(_TAG.sub("", line).strip()) for line in lines if "<" in line)

    def _missing(self, text: str) -> int:
        """Return the bytes of the lines of a text that stand nowhere."""
        missing, hashes = 0, self._found
        for line in map(str.strip, text.splitlines()):
            mark = hash(line)
            if not line or mark in hashes:
                continue
            if self._stands_anywhere(line):
                hashes.add(mark)
            else:
                missing += _size(line) + 1
        return min(missing, _size(text))

    def _stands_anywhere(self, line: str) -> bool:
        """Return whether a line is part of any text that the reader took, or begins one if it was
        cut; without looking, once that has cost enough."""
        if self._budget < 0 or len(line) < _SHORT:
            return False
        cut = line.endswith(_CUT)
        opening = " ".join(line[:-1].split()) if cut else line
        escaped = _escaped(line)
        for text in self._texts:
            self._budget -= len(text)
            if self._budget < 0:
                return False
            if (
                line in text
                or (escaped != line and escaped in text)
                or (
                    cut
                    and opening[:_HEAD] in text
                    and " ".join(text[: 2 * len(line)].split()).startswith(opening)
                )
            ):
                return True
        return False

    def _unmatched_parts(self, leaf: _Leaf, texts: Sequence[str], depth: int = 0) -> list[_Leaf]:
        """Return the parts of a text that neither stand in the records of its object nor are left
        out: of JSON its strings, of a text with tags what they enclose, else the text."""
        place, text = leaf
        if hash(text) in self._found:
            return []
        if _stands_in(text, texts):
            self._found.add(hash(text))
            return []
        row = place.row_of(text) if place.declared else None
        if row := row or self._dropped.get(hash(text)):
            self._balance.left_out[row.why] += _size(text)
            return []
        parts = _parts(leaf) if depth < _MOST_NESTED else [leaf]
        if parts == [leaf]:
            return parts
        return [rest for part in parts for rest in self._unmatched_parts(part, texts, depth + 1)]

    def _hold(self, leaf: _Leaf, rest: list[_Leaf], version: str) -> None:
        """Look for a text again when all records are known: other objects may have it."""
        if self._held < MAX_HELD:
            self._held += len(leaf[1])
            self._pending.append((leaf[1], rest, version))
        else:
            self._balance.beyond += sum(_size(text) for _, text in rest)


def _leaves(value: Any, place: _Place) -> list[_Leaf]:
    """Return the strings of a parsed value that are text. List indexes are not in a path, the
    values of an object's `type`, `subtype` and `role` are."""
    leaves: list[_Leaf] = []
    stack: list[tuple[Any, _Place, bool]] = [(value, place, False)]
    while stack:
        value, place, named = stack.pop()
        if type(value) is dict:
            for says_what in ("type", "subtype", "role"):
                if type(kind := value.get(says_what)) is str:
                    place = place.of_kind(kind)
            for key, item in value.items():
                if type(item) is str:
                    if len(item) >= MIN_LEAF or (item and key in KEYS_WITH_TEXT):
                        leaves.append((place.below(key), item))
                elif item and (type(item) is dict or type(item) is list):
                    stack.append((item, place.below(key), key in KEYS_WITH_TEXT))
        elif type(value) is list:
            for item in value:
                if type(item) is str:
                    if len(item) >= MIN_LEAF or (item and named):
                        leaves.append((place, item))
                elif item and (type(item) is dict or type(item) is list):
                    stack.append((item, place, named))
    return leaves


def _parts(leaf: _Leaf) -> list[_Leaf]:
    """Return the strings of the JSON that a text is, or what its tags enclose and what stands
    around them; else the text itself."""
    place, text = leaf
    if text.lstrip()[:1] in ("{", "["):
        try:
            return _leaves(orjson.loads(text), place.below(_JSON))
        except orjson.JSONDecodeError:
            return [leaf]
    if "</" not in text:
        return [leaf]
    parts: list[_Leaf] = []
    at = 0
    for opening, end, after in find_enclosed(text, _TAGGED):
        inside = place.tagged(opening.group(1))
        around = text[at : opening.start()].strip()
        if inside is None and not around:
            inside = place
        if inside is not None:
            parts += [(place, around), (inside, text[opening.end() : end].strip())]
            at = after
    parts.append((place, text[at:].strip()))
    return [part for part in parts if part[1]] if at else [leaf]


def _stands_in(text: str, texts: Sequence[str]) -> bool:
    """Return whether one of the other texts has a text: as it is, escaped, or line by line."""
    if not texts:
        return False
    if any(text in other for other in texts):
        return True
    sought = text if len(text) < MIN_LEAF else text[_HEAD:]
    if sought is not text and any(sought in other for other in texts):
        return True
    if '"' in text or "\\" in text or "\n" in text:
        escaped = _escaped(sought)
        if any(escaped in other for other in texts):
            return True
    lines = [line for line in map(str.strip, text.splitlines()) if line]
    if len(lines) < 2:
        return False
    lines = [line for line in lines if len(line) >= _PROBE_CHARACTERS] or lines
    probes = lines[:: max(len(lines) // _PROBES, 1)]
    may_miss = len(probes) * _MISSING_SHARE
    for line in probes:
        if not any(line in other for other in texts):
            may_miss -= 1
            if may_miss < 0:
                return False
    return True


def _escaped(text: str) -> str:
    try:
        return orjson.dumps(text).decode()[1:-1]
    except orjson.JSONEncodeError:  # half a surrogate pair
        return text


def _size(text: str) -> int:
    return len(text) if text.isascii() else len(text.encode("utf-8", "surrogatepass"))
