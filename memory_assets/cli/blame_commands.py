"""`memory blame` and `memory link`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from memory_assets.cli import exit_codes, rendering

_Json = Annotated[bool, typer.Option("--json", help="Print JSON; its fields are stable.")]
_MOST_LINES = 3


def blame(
    target: Annotated[str, typer.Argument(help="A file, FILE:LINE, or a commit.")],
    json: _Json = False,
) -> None:
    """Find the sessions behind code.

    For a commit, a file or a line, lists the sessions and turns that made it, with the evidence.
    """
    from memory_assets.recall import open_memory
    from memory_assets.recall.blame import blame as who_is_behind

    answer = who_is_behind(open_memory(), target, Path.cwd())
    if json:
        rendering.print_json(answer.to_dict())
    else:
        _print_blame(answer.to_dict())
    if not answer.found:
        raise typer.Exit(exit_codes.NOTHING_FOUND)


def link(
    session: Annotated[
        str, typer.Argument(help="A session id, its beginning, or the id of one of its rows.")
    ],
    commit: Annotated[
        str, typer.Argument(help="A hash or another revision of the repository you are in.")
    ],
    json: _Json = False,
) -> None:
    """Link a session to a commit by hand.

    The link is kept until the session is forgotten.
    """
    from memory_assets.pipeline.stage.components import Components
    from memory_assets.pipeline.tables.session_commits import link_commit
    from memory_assets.recall import open_memory
    from memory_assets.recall.ids import find_session
    from memory_assets.settings import load_settings

    _, session_id = find_session(open_memory(), session)
    made = link_commit(Components(load_settings()), session_id, commit, Path.cwd())
    if json:
        rendering.print_json({"session_id": made.session_id, "commit": made.commit})
    else:
        console = rendering.open_console()
        console.print(f"linked {made.session_id} to {made.commit}", highlight=False)


def _print_blame(answer: dict[str, Any]) -> None:
    console = rendering.open_console()
    for commit in answer["commits"]:
        lines = _lines(commit["lines"])
        when = (commit["committed_at"] or "")[:10]
        head = f"{commit['commit'][:12]}  {when}  {commit['subject']}{lines}"
        console.print(rendering.escaped(head.rstrip()), style="bold", highlight=False)
        for one in commit["sessions"]:
            evidence = f"{one['evidence']}, {one['score']:.2f}"
            where = one["turn_id"] or f"session {one['session_id']}"
            console.print(rendering.escaped(f"  {where}  ({evidence})"), highlight=False)
            if one["title"]:
                console.print(rendering.escaped(f"    {one['title']}"), style="dim")
    for turn in answer["turns"]:
        where = "" if turn["here"] else "  (another project)"
        line = f"{turn['turn_id']}  {(turn['timestamp'] or '')[:10]}  changed {turn['path']}{where}"
        console.print(rendering.escaped(line), highlight=False)
        if turn["title"]:
            console.print(rendering.escaped(f"    {turn['title']}"), style="dim")
    for note in answer["notes"]:
        console.print(rendering.escaped(f"note: {note}"), style="yellow", highlight=False)


def _lines(numbers: list[int]) -> str:
    if not numbers:
        return ""
    shown = ", ".join(map(str, numbers[:_MOST_LINES]))
    more = f" and {len(numbers) - _MOST_LINES} more" if len(numbers) > _MOST_LINES else ""
    return f"  (line{'s' * (len(numbers) > 1)} {shown}{more})"
