"""Checkpoints: where reading a file stopped, so that only its new lines need to be read.

A checkpoint contains no text: numbers, ids, and marks (`fields.mark`). If a reader still
needs a text (a queued prompt, the call that a result will answer, the working directory),
the checkpoint has its byte range in the file, and it is read again from there.
"""

from __future__ import annotations

import json
from collections.abc import Container, Mapping
from dataclasses import dataclass
from typing import Any

Extent = tuple[int, int]
"""(byte_start, byte_end) of a JSON object in its file."""


@dataclass(frozen=True)
class Checkpoint:
    """The state of reading after the last complete line, which ends at `offset`."""

    offset: int
    report: Mapping[str, Any]
    reader: Mapping[str, Any]

    def to_json(self) -> str:
        """Return it as JSON."""
        return json.dumps([self.offset, self.report, self.reader], separators=(",", ":"))

    @classmethod
    def from_json(cls, text: str) -> Checkpoint:
        """Return the checkpoint that `to_json` serialized."""
        return cls(*json.loads(text))


@dataclass(frozen=True)
class Resume:
    """The part of a file to read.

    `start` is the checkpoint of an earlier reading, `seen` the marks of the record ids that it
    yielded. `end` is a byte offset: lines written later are left for the next reading.
    """

    start: Checkpoint | None = None
    seen: Container[int] = frozenset()
    end: int | None = None


FROM_THE_START = Resume()
"""Read all of it."""
