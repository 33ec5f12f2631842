"""The search of bytes for values, in every form that software gives them.

Two kinds of values are looked for. *Canaries* are known to us: each of their forms (`spellings`,
and UTF-16) is searched for literally. *Known values* are known by keyed hash only: the bytes are
brought into plain form first, and the runs of token characters in them are hashed.
"""

from __future__ import annotations

import base64
import re
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate

import numpy as np
import numpy.typing as npt

from memory_assets.redaction.known_secrets import KnownValues
from memory_assets.redaction.spellings import spellings

MIN_CANARY_BYTES = 8
OVERLAP_BYTES = 65_536
"""Blocks of a stream must overlap by this much; what is longer is found in parts."""


def _class_of(members: bytes) -> npt.NDArray[np.bool_]:
    table = np.zeros(256, dtype=np.bool_)
    table[np.frombuffer(members, dtype=np.uint8)] = True
    return table


_TOKEN = _class_of(b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-")
_BASE64 = _class_of(b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-+/")
_BEFORE_ESCAPED = frozenset(b"\\%[;")
_ESCAPE = re.compile(
    rb"(?:\x1b|\\+(?:u001[bB]|x1[bB]|033|e))\[[0-9;?]{0,20}[A-Za-z]"
    rb"|\\+(?:u[0-9a-fA-F]{4}|x[0-9a-fA-F]{2}|[nrtbfv0\"'/])"
    rb"|%[0-9A-Fa-f]{2}"
)
_ESCAPE_BYTES = 32
_TOKEN_RUN = 16
_BASE64_RUN = 22
_WRAPPED_RUN = 40
_URL_SAFE = bytes.maketrans(b"-_", b"+/")
_GAP = base64.b64encode(b"\n\0\n")
_BASE64_DEPTH = 2
_PIECE = 8


@dataclass(frozen=True)
class Match:
    """The offset of a value in the bytes searched. `what` names the value and never contains it."""

    offset: int
    what: str
    form: str


class ValueSearch:
    """Looks for canaries (pairs of a name and a value) and for known values.

    Raises:
        ValueError: a canary has fewer than 8 bytes; the error names it.
    """

    def __init__(self, canaries: Iterable[tuple[str, str]], known: KnownValues) -> None:
        self._known = known
        self._forms: dict[bytes, list[tuple[bytes, str, str]]] = {}
        self._first = [np.zeros(65_536, dtype=np.bool_) for _ in range(_PIECE // 2)]
        for name, value in canaries:
            if len(value.encode("utf-8", "surrogatepass")) < MIN_CANARY_BYTES:
                raise ValueError(f"{name} has fewer than {MIN_CANARY_BYTES} bytes")
            for spelling, form in spellings(value).items():
                self._add(name, form, spelling.encode("utf-8", "surrogatepass"))
            for encoding in ("utf-16-le", "utf-16-be"):
                self._add(name, "utf-16", value.encode(encoding, "surrogatepass"))

    def _add(self, name: str, form: str, needle: bytes) -> None:
        known = self._forms.setdefault(needle[:_PIECE], [])
        if any(needle == other for other, _, _ in known):
            return
        known.append((needle, name, form))
        for at, table in enumerate(self._first):
            table[needle[2 * at] << 8 | needle[2 * at + 1]] = True

    def __bool__(self) -> bool:
        return bool(self._forms) or bool(self._known)

    def matches(self, data: bytes) -> list[Match]:
        """Return every match in `data`, by offset."""
        hits = set(self._plain(data)) | set(self._encoded(data, _BASE64_DEPTH))
        return sorted(hits, key=lambda match: (match.offset, match.what, match.form))

    def _encoded(self, data: bytes, depth: int) -> Iterator[Match]:
        """Yield the values in `data` that are encoded in base64, once or twice."""
        runs = _base64_runs(data)
        for skipped in range(4) if runs else ():
            starts, decoded = _decode(runs, skipped)
            matches = list(self._plain(decoded))
            if depth > 1:
                matches += self._encoded(decoded, depth - 1)
            for match in matches:
                at = runs[bisect_right(starts, match.offset) - 1][0]
                yield Match(at, match.what, "base64")

    def _plain(self, data: bytes) -> Iterator[Match]:
        """Yield the values in `data` in any form; of known values, but for base64."""
        yield from self._canaries(data)
        if self._known:
            yield from self._known_values(data)

    def _canaries(self, data: bytes) -> Iterator[Match]:
        if not self._forms or len(data) < _PIECE:
            return
        octets = np.frombuffer(data, dtype=np.uint8)
        pairs = octets[:-1].astype(np.uint16)
        pairs <<= 8
        pairs |= octets[1:]
        places = np.flatnonzero(self._first[0][pairs[: len(data) - _PIECE + 1]])
        for at, table in enumerate(self._first[1:], start=1):
            places = places[table[pairs[places + 2 * at]]]
        for place in places.tolist():
            for needle, name, form in self._forms.get(data[place : place + _PIECE], ()):
                if data.startswith(needle, place):
                    yield Match(place, name, form)

    def _known_values(self, data: bytes) -> Iterator[Match]:
        what = "known value"
        for at, _, _ in self._known.forgotten.hits(data):
            yield Match(at, what, "plain")
        octets = np.frombuffer(data, dtype=np.uint8)
        for start, end in _runs(_TOKEN[octets], _TOKEN_RUN):
            run = data[start:end]
            for at in self._known.hits(run):
                yield Match(start + at, what, "plain")
            if start and data[start - 1] in _BEFORE_ESCAPED:
                before = min(start, _ESCAPE_BYTES)
                bare = _ESCAPE.sub(
                    lambda escape: b" " * len(escape.group()), data[start - before : end]
                )
                for at in self._known.hits(bare):
                    yield Match(start - before + at, what, "escaped")
        for start, run in _wide_runs(octets):
            if next(self._known.hits(run), None) is not None:
                yield Match(start, what, "utf-16")


def _runs(members: npt.NDArray[np.bool_], at_least: int) -> list[tuple[int, int]]:
    """Return the stretches of True of at least this length, as (start, end)."""
    edges = np.flatnonzero(members[1:] != members[:-1]) + 1
    bounds = np.concatenate(([0], edges, [len(members)]))
    starts, ends = bounds[:-1], bounds[1:]
    kept = (ends - starts >= at_least) & (members[starts] if len(members) else False)
    return list(zip(starts[kept].tolist(), ends[kept].tolist(), strict=True))


def _wide_runs(octets: npt.NDArray[np.uint8]) -> Iterator[tuple[int, bytes]]:
    """Yield runs of token characters that alternate with NUL bytes: (offset, characters)."""
    if len(octets) < 2 * _TOKEN_RUN:
        return
    wide = _TOKEN[octets[:-1]] & (octets[1:] == 0)
    for phase in range(2):
        for start, end in _runs(wide[phase::2], _TOKEN_RUN - 1):
            first = phase + 2 * start
            run = octets[first : phase + 2 * end + 1 : 2].tobytes()
            yield first, run
            yield first, run[: end - start]


def _base64_runs(data: bytes) -> list[tuple[int, bytes]]:
    """Return what reads like base64, as (offset, text); wrapped lines are joined."""
    runs: list[tuple[int, bytes]] = []
    last_end = -10
    last_length = 0
    for start, end in _runs(_BASE64[np.frombuffer(data, dtype=np.uint8)], _BASE64_RUN):
        gap = data[last_end:start] if start - last_end <= 2 else None
        text = data[start:end]
        if last_length >= _WRAPPED_RUN and gap in (b"\n", b"\r\n", b"\\"):
            offset, head = runs[-1]
            runs[-1] = (offset, head + (text[1:] if gap == b"\\" else text))
        else:
            runs.append((start, text))
        last_end, last_length = end, end - start
    return [(offset, text.translate(_URL_SAFE)) for offset, text in runs]


def _decode(runs: Sequence[tuple[int, bytes]], skipped: int) -> tuple[list[int], bytes]:
    """Return the runs decoded from their character `skipped` on, all in one with gaps
    between them, and where each starts in it."""
    texts = [text[skipped : skipped + (len(text) - skipped) // 4 * 4] for _, text in runs]
    lengths = (len(text) * 3 // 4 + 3 for text in texts[:-1])
    return list(accumulate(lengths, initial=0)), base64.b64decode(_GAP.join(texts))
