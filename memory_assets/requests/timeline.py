"""Arguments of a timeline."""

from __future__ import annotations

from dataclasses import MISSING, dataclass
from typing import Literal, get_args

from memory_assets.requests.arguments import Arguments, argument
from memory_assets.requests.times import REACH, Reach, parse_reach

ItemKind = Literal["prompts", "turns", "observations", "commits", "summaries"]
ITEM_KINDS: tuple[ItemKind, ...] = get_args(ItemKind)


@dataclass(frozen=True)
class TimelineRequest(Arguments):
    """A request for what happened around `anchor`. `before` and `after` are counts of items (0-50)
    or lengths of time. `scope` is the anchor's project (the default), its session, or all projects
    (the default for a time without a project)."""

    anchor: str = argument(
        MISSING,
        "An id, a session, a commit, a file path or a time.",
        hint="id, session, commit, file path or time",
        names={"cli": "anchor"},
        min_length=1,
        max_length=1_000,
    )
    before: Reach = argument(
        10,
        "A number of items before the anchor (0-50), or a time: 30m, 2h, 3d.",
        hint="count (0-50) or 2h, 3d",
        wire=int | str,
        reads=parse_reach,
        max_length=8,
        pattern=REACH,
    )
    after: Reach = argument(
        10,
        "A number of items after the anchor (0-50), or a time: 30m, 2h, 3d.",
        wire=int | str,
        reads=parse_reach,
        max_length=8,
        pattern=REACH,
    )
    kinds: tuple[ItemKind, ...] | None = argument(
        None, "Only these kinds.", names={"cli": "--kind"}, min_length=1
    )
    scope: Literal["project", "session", "all"] | None = argument(
        None, "The anchor's session, its project, or all projects."
    )
    project: str | None = argument(None, "Only this project.", max_length=1_000)
    detail: Literal["index", "full"] = argument(
        "index", "Print whole texts instead of one line each.", flag=("full", "full")
    )
