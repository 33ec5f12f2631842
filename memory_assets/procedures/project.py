"""What the sessions of one project show together."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from memory_assets.procedures.commit_style import Committed, commit_style, committed
from memory_assets.procedures.lasting import Lasting
from memory_assets.procedures.procedures import procedures, tools
from memory_assets.procedures.together import Changed, changed, kept_up, together
from memory_assets.procedures.traps import traps
from memory_assets.procedures.uses import Use, uses
from memory_assets.session_analysis import SessionTurns


@dataclass(frozen=True)
class Findings:
    """What one session shows."""

    uses: tuple[Use, ...]
    changed: tuple[Changed, ...]
    commits: tuple[Committed, ...]


def findings(session: SessionTurns) -> Findings:
    """Return what a session shows."""
    return Findings(tuple(uses(session)), tuple(changed(session)), tuple(committed(session)))


def lasting_of(sessions: Iterable[Findings]) -> list[Lasting]:
    """Return what the sessions of a project show together, the surest first."""
    found = list(sessions)
    every_use = [use for each in found for use in each.uses]
    changes = [one for each in found for one in each.changed]
    lasting = [
        *procedures(every_use),
        *traps(every_use),
        *tools(every_use),
        *together(changes),
        *kept_up(changes),
        *commit_style([one for each in found for one in each.commits]),
    ]
    return sorted(lasting, key=lambda each: (-each.confidence, each.topic))
