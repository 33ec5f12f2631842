"""The trail of a memory: an entry for each change, without the memory's text."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Change = Literal["stored", "renewed", "merged", "archived", "promoted"]


@dataclass(frozen=True, slots=True)
class TrailEntry:
    """A change of a memory. `at` is in Unix seconds; `who` is chat, tool, import or upkeep; `of` is
    what it comes from: the conversation, turns, or the ids of other memories and wordings; `why`
    holds no text of a memory."""

    memory_id: str
    at: float
    what: Change
    who: str
    of: tuple[str, ...] = ()
    why: str = ""
