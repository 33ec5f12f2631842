"""Search for many literal strings at once, at a cost that hardly grows with their number."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Generic, TypeVar

import numpy as np
import numpy.typing as npt

Meaning = TypeVar("Meaning")

_GRAM = 4
_SLOTS = 1 << 16
_FIND_NS = 60.0
_FIND_NS_PER_CHARACTER = 0.4
_FILTER_NS = 60_000.0
_FILTER_NS_PER_CHARACTER = 6.0
"""The cost of searching for one literal, and of filtering for all of them."""


class Literals(Generic[Meaning]):
    """Literal strings of at least four characters, each with a value to return."""

    def __init__(self, meanings: Mapping[str, Meaning]) -> None:
        self._meanings = dict(meanings)
        self._by_gram: dict[int, list[tuple[int, str]]] = {}
        self._slots: npt.NDArray[np.bool_] | None = None

    def __repr__(self) -> str:
        return f"Literals({len(self._meanings)})"

    def find(self, text: str) -> Iterator[tuple[int, int, Meaning]]:
        """Yield (start, end, value) of every occurrence, in no particular order."""
        count, length = len(self._meanings), len(text)
        one_by_one = count * (_FIND_NS + _FIND_NS_PER_CHARACTER * length)
        if one_by_one <= _FILTER_NS + _FILTER_NS_PER_CHARACTER * length:
            yield from self._find_each(text)
        else:
            yield from self._find_all(text)

    def _find_each(self, text: str) -> Iterator[tuple[int, int, Meaning]]:
        for literal, meaning in self._meanings.items():
            position = text.find(literal)
            while position >= 0:
                yield position, position + len(literal), meaning
                position = text.find(literal, position + len(literal))

    def _find_all(self, text: str) -> Iterator[tuple[int, int, Meaning]]:
        """Look up every four characters of the text in an index of four characters of each
        literal."""
        slots = self._prepared()
        data = text.encode("ascii", "replace")
        for offset in range(min(_GRAM, len(data) - _GRAM + 1)):
            whole = (len(data) - offset) // _GRAM
            grams = np.frombuffer(data, dtype="<u4", count=whole, offset=offset)
            for place in np.flatnonzero(slots[_slot(grams)]).tolist():
                position = place * _GRAM + offset
                for lead, literal in self._by_gram.get(int(grams[place]), ()):
                    start = position - lead
                    if start >= 0 and text.startswith(literal, start):
                        yield start, start + len(literal), self._meanings[literal]

    def _prepared(self) -> npt.NDArray[np.bool_]:
        if self._slots is None:
            self._slots = np.zeros(_SLOTS, dtype=np.bool_)
            for literal in self._meanings:
                # the middle tells more than the beginning, which a vendor's tokens share
                lead = (len(literal) - _GRAM) // 2
                data = literal[lead : lead + _GRAM].encode("ascii", "replace")
                gram = int.from_bytes(data, "little")
                self._by_gram.setdefault(gram, []).append((lead, literal))
            grams = np.fromiter(self._by_gram, dtype=np.uint32)
            self._slots[_slot(grams)] = True
        return self._slots


def _slot(grams: npt.NDArray[np.uint32]) -> npt.NDArray[np.uint32]:
    """Return a well-mixed 16-bit number for each group (Knuth's multiplicative hash)."""
    return (grams * np.uint32(2_654_435_761)) >> np.uint32(16)
