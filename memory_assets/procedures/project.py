"""What the sessions of one project show together."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

from memory_assets.procedures.commit_style import Committed, commit_style, committed
from memory_assets.procedures.documents import Read, documents, documents_read
from memory_assets.procedures.lasting import Lasting
from memory_assets.procedures.procedures import procedures, tools
from memory_assets.procedures.together import Changed, changed, kept_up, together
from memory_assets.procedures.traps import traps
from memory_assets.procedures.uses import Use, uses
from memory_assets.session_analysis import SessionTurns

_HOME = re.compile(r"|~|/root|(?:[A-Za-z]:|/[A-Za-z])?[\\/](?:home|Users)[\\/][^\\/]+")


@dataclass(frozen=True)
class Findings:
    """What one session shows."""

    uses: tuple[Use, ...]
    changed: tuple[Changed, ...]
    commits: tuple[Committed, ...]
    reads: tuple[Read, ...]


def findings(session: SessionTurns) -> Findings | None:
    """Return what a session shows, None if it ran in a home directory, which is no project."""
    if _HOME.fullmatch(str(session.project_root).rstrip("/\\")):
        return None
    return Findings(
        tuple(uses(session)),
        tuple(changed(session)),
        tuple(committed(session)),
        tuple(documents_read(session)),
    )


def lasting_of(sessions: Iterable[Findings]) -> list[Lasting]:
    """Return what the sessions of a project show together, the surest first."""
    found = list(sessions)
    every_use = [use for each in found for use in each.uses]
    changes = [one for each in found for one in each.changed]
    reads = [one for each in found for one in each.reads]
    lasting = [
        *procedures(every_use),
        *traps(every_use),
        *tools(every_use),
        *together(changes),
        *kept_up(changes),
        *commit_style([one for each in found for one in each.commits]),
        *documents(reads, len({one.session_id for one in reads})),
    ]
    return sorted(lasting, key=lambda each: (-each.confidence, each.topic))
