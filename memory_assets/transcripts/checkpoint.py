"""Where the reading of a file stopped, so that it can go on there when the file has grown.

A checkpoint holds no text: numbers, ids, and marks (`fields.mark`). Where a reader still
holds a text (a queued prompt, the call that a result will answer, the working directory)
the checkpoint says where it stands in the file, and it is read from there again.
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
        """Return what `to_json` was called on."""
        return cls(*json.loads(text))


@dataclass(frozen=True)
class Resume:
    """What part of a file to read.

    `start` is where an earlier reading stopped, and `seen` the marks of the record ids that
    it met; `end` bounds what is read, so that what is written meanwhile waits.
    """

    start: Checkpoint | None = None
    seen: Container[int] = frozenset()
    end: int | None = None


FROM_THE_START = Resume()
"""Read all of it."""
