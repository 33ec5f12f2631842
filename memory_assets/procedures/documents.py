"""Documents that the sessions of a project read again and again."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime

from memory_assets.procedures.lasting import Lasting, shown_by
from memory_assets.session_analysis import SessionTurns
from memory_assets.session_analysis.files import touched

_FEWEST_SESSIONS = 3
_SHARE = 1 / 3
_MOST_LISTED = 4
_DOCUMENT = re.compile(r"\.(?:md|mdx|rst|txt|adoc|pdf)$", re.IGNORECASE)
_LOADED = re.compile(
    r"(?:^|/)(?:README|CLAUDE|AGENTS|GEMINI|MEMORY|SKILL|CHANGELOG|LICENSE)(?:[.-][\w.-]*)?$"
    r"|^~/\.|/\.claude/|/\.codex/|^/tmp/|^/private/|^/var/|requirements[\w-]*\.txt$",
    re.IGNORECASE,
)
"""What agents read without being told, or what is theirs."""


@dataclass(frozen=True, slots=True)
class Read:
    """A document that a turn read."""

    path: str
    session_id: str
    turn_id: str
    at: datetime | None


def documents_read(session: SessionTurns) -> Iterator[Read]:
    """Yield the documents that each turn of a session read."""
    for turn in session.turns:
        for path in touched(session, turn.records).read:
            name = str(path).replace("\\", "/")
            if _DOCUMENT.search(name) and not _LOADED.search(name):
                at = turn.records[0].timestamp if turn.records else None
                yield Read(name, session.session_id, turn.id, at)


def documents(reads: Sequence[Read], sessions: int) -> list[Lasting]:
    """Return the documents that a third of so many sessions read, and three at least; none where
    there are none."""
    by_path: dict[str, list[Read]] = defaultdict(list)
    for read in reads:
        by_path[read.path].append(read)
    counts = {path: len({read.session_id for read in of}) for path, of in by_path.items()}
    least = max(_FEWEST_SESSIONS, sessions * _SHARE)
    often = sorted(
        (path for path in counts if counts[path] >= least), key=lambda p: (-counts[p], p)
    )
    if not often:
        return []
    best = often[:_MOST_LISTED]
    listed = ", ".join(f"`{path}`" for path in best)
    text = f"Documents that sessions of this project read before they work: {listed}."
    return [shown_by("documents", text, [read for path in best for read in by_path[path]])]
