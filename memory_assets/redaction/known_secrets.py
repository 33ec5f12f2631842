"""Recognise secrets by keyed hash alone, without storing them.

The hash is that of the longest run of token characters in the value, because runs can be cut out of
any text or bytes without knowing the value. Only a value that cannot be guessed has one: its run
has at least 16 characters, mixes digits and letters, and does not read as words, as the name of a
class next to "token" does. Texts that the owner had removed have hashes of another form
(`forgotten_texts.py`); both kinds are searched for together.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property
from hashlib import blake2b

from memory_assets.errors import RedactionUnavailable
from memory_assets.redaction.engine.token_runs import MASK
from memory_assets.redaction.forgotten_texts import HASH_BYTES, ForgottenTexts
from memory_assets.redaction.rules.judging import values
from memory_assets.redaction.rules.judging.written import reads_as_words
from memory_assets.word_lists import word_set

_RUN = re.compile(r"[A-Za-z0-9_\-]{16,}")
_DIGIT = re.compile(rb"[0-9]")
_LETTER = re.compile(rb"[A-Za-z]")
_ESCAPED = re.compile(
    rb"(?<=\\)(?:[nrtbf]|u[0-9A-Fa-f]{4})|(?<=%)[0-9A-Fa-f]{2}|(?<=[\[;])\d{1,3}m"
)
"""What an escape sequence before a run adds to its front: `\\nVALUE`, `%3DVALUE`."""
_LENGTH_BYTES = 2
_MAC_BYTES = 14
_LONGEST_RUN = 65_535
"""Characters; longer runs have this length in their hash."""

_CHOSEN_BY_PEOPLE = word_set(
    "assigned-password url-password command-password curl-user password-hash"
)


def is_guessable(rule: str, value: str) -> bool:
    """Return True if `value`, found by `rule`, could be guessed: it has no long machine-made run,
    or is in the place of a password and not clearly generated. It is tagged per session."""
    run = _longest_run(value)
    if not _is_machine_made(run.encode()) or reads_as_words(run):
        return True
    return rule in _CHOSEN_BY_PEOPLE and not (len(run) >= 20 and values.is_random(run))


def value_hash(value: str, key: bytes) -> bytes | None:
    """Return the keyed hash of `value` as a known secret, or None if the value could be guessed."""
    run = _longest_run(value)
    if not _is_machine_made(run.encode()) or reads_as_words(run):
        return None
    return _keyed_hash(run.encode(), key)


def _longest_run(value: str) -> str:
    return max(_RUN.findall(value), key=len, default="")


def _is_machine_made(run: bytes) -> bool:
    return _DIGIT.search(run) is not None and _LETTER.search(run) is not None


def _keyed_hash(run: bytes, key: bytes) -> bytes:
    """Return the run's length, which rules out most runs without hashing them, and its MAC."""
    mac = blake2b(run, key=key, digest_size=_MAC_BYTES, person=b"known-values").digest()
    return min(len(run), _LONGEST_RUN).to_bytes(_LENGTH_BYTES, "big") + mac


@dataclass(frozen=True)
class KnownValues:
    """A set of keyed hashes, and the search for values with these hashes."""

    key: bytes = field(repr=False)
    hashes: frozenset[bytes] = frozenset()

    @cached_property
    def forgotten(self) -> ForgottenTexts:
        """The hashed texts that the owner had removed."""
        return ForgottenTexts(
            self.key, [hash_ for hash_ in self.hashes if len(hash_) == HASH_BYTES]
        )

    @cached_property
    def _lengths(self) -> frozenset[int]:
        """The lengths of the hashed runs, in characters.

        Raises:
            RedactionUnavailable: a length is 0, which no hash of a secret has.
        """
        lengths = frozenset(
            int.from_bytes(hash_[:_LENGTH_BYTES], "big")
            for hash_ in self.hashes
            if len(hash_) != HASH_BYTES
        )
        if 0 in lengths:  # every position of a text would be one, without end
            raise RedactionUnavailable(
                "a hash of a known secret is damaged; move catalog.db in the data directory away "
                "and run `memory ingest`: the lake is adopted"
            )
        return lengths

    def __bool__(self) -> bool:
        return bool(self.hashes)

    def spans(self, text: str) -> Iterator[tuple[int, int]]:
        """Yield the ranges of `text` that are known secrets, in order, without forgotten texts."""
        if self._lengths:
            yield from self._find_runs(text.encode("ascii", "replace"))

    def are_in(self, text: str) -> bool:
        """Return True if `text` has a known secret or a forgotten text."""
        if next(self.spans(text), None) is not None:
            return True
        return next(self.forgotten.spans(text), None) is not None

    def hits(self, data: bytes) -> Iterator[int]:
        """Yield the offsets of known secrets in `data`, without forgotten texts."""
        if self._lengths:
            yield from (start for start, _ in self._find_runs(data))

    def _find_runs(self, data: bytes) -> Iterator[tuple[int, int]]:
        """Yield the ranges of the runs of token characters that are known secrets."""
        mask = data.translate(MASK)
        shortest_run = b"\1" * min(self._lengths)
        start = mask.find(shortest_run)
        while start >= 0:
            end = mask.find(b"\0", start + len(shortest_run))
            end = len(data) if end < 0 else end
            for begin in self._possible_starts(data, start):
                if min(end - begin, _LONGEST_RUN) in self._lengths and self._is_known(
                    data[begin:end]
                ):
                    yield begin, end
                    break
            start = mask.find(shortest_run, end)

    def _possible_starts(self, data: bytes, start: int) -> Iterator[int]:
        """Yield the start of a run, then the position after an escape sequence that begins it."""
        yield start
        if start and data[start - 1] in b"\\%[;":
            escaped = _ESCAPED.match(data, start)
            if escaped is not None:
                yield escaped.end()

    def _is_known(self, run: bytes) -> bool:
        """Return True if a run is a known secret and not a name in code, which earlier versions
        hashed, too."""
        return (
            _is_machine_made(run)
            and _keyed_hash(run, self.key) in self.hashes
            and not reads_as_words(run.decode())
        )
