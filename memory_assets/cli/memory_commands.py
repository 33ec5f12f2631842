"""`memory remember`, `memories`, `upkeep`, for agents; `pin`, `hide`, `forget`, `retain`, for
people. The last two import `removal` when they run, because that takes a second."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from memory_assets.cli import exit_codes
from memory_assets.cli.asking import print_view
from memory_assets.cli.commands import JSON, command, flag, request_command
from memory_assets.cli.printing import rendering
from memory_assets.recall.names import short_form
from memory_assets.requests.agent_memory import (
    HideRequest,
    MemoriesRequest,
    PinRequest,
    RememberRequest,
)
from memory_assets.requests.questions import ForgetRequest
from memory_assets.serving.agent_memory import AgentMemory
from memory_assets.serving.views import memories_view
from memory_assets.settings import load_settings
from memory_assets.stores.files.shared import require_own, require_writable

if TYPE_CHECKING:
    from memory_assets.pipeline.agent_memory.upkeep import UpkeepReport


@request_command(RememberRequest, "memory remember Deploys need the VPN. --project .")
def remember(request: RememberRequest, as_json: bool) -> None:
    """Store a memory for agents.

    The text is redacted. It is refused if its confidence is too low or too many were stored just
    now; a memory that is there is renewed. `memory context` shows it at once, and `memory search
    --in memory` finds it by its words; by meaning after an ingest.
    """
    written = AgentMemory(load_settings()).answer(request)
    rendering.print_answer(written, as_json, _written_lines(written))
    if written["outcome"] == "refused":
        sys.exit(exit_codes.ERROR)


@request_command(PinRequest, "memory pin 3d0f6a52:2 the fix is here")
def pin(request: PinRequest, as_json: bool) -> None:
    """Pin a session or a turn.

    With a note, if one is given; once more replaces it. Pins are listed by `memory sessions
    --pinned`, told in contexts, searched with --in memory, and forgotten with their session.
    """
    if request.text == "-":
        request = replace(request, text=sys.stdin.read())
    pinned = AgentMemory(load_settings()).answer(request)
    shown_id = short_form(pinned["id"])
    pinned_line = f"pinned {shown_id}: {pinned['text']}"
    lines = [pinned_line if pinned["pinned"] else f"{shown_id} is not pinned any more"]
    rendering.print_answer(pinned, as_json, lines)


@request_command(HideRequest, "memory hide 3d0f6a52")
def hide(request: HideRequest, as_json: bool) -> None:
    """Keep a session out of lists and searches.

    It stays in memory, and whoever names it, or asks for --hidden, sees it. What must not stay is
    forgotten instead.
    """
    hidden = AgentMemory(load_settings()).answer(request)
    state = "hidden" if hidden["hidden"] else "shown again"
    rendering.print_answer(hidden, as_json, [f"{hidden['session_id']} is {state}"])


@request_command(MemoriesRequest, "memory memories --project . --sort confidence")
def memories(request: MemoriesRequest, as_json: bool) -> None:
    """List what agents remember.

    The newest first, each with the id that `memory forget` takes.
    """
    from memory_assets.recall import Memory

    settings = load_settings()
    listing = AgentMemory(settings).answer(request)
    if as_json:
        rendering.print_recalled(listing, as_json, ())
    else:
        print_view(memories_view, Memory(settings), listing, full=True)
    if not listing["memories"]:
        sys.exit(exit_codes.NOTHING_FOUND)


@request_command(ForgetRequest, "memory forget --project app --before 90d --dry-run")
def forget(request: ForgetRequest, as_json: bool) -> None:
    """Delete sessions, documents of workspaces, or memories of agents for good.

    What is deleted matches all options that are given. It is not ingested again, unless it is a
    workspace whose directory `memory index` is given. The files on disk are not deleted.
    """
    from memory_assets.cli import removal

    removal.forget(request, as_json)


@command("memory retain --dry-run")
@flag("--dry-run", help="Only list the sessions that are old enough.")
@JSON
def retain(dry_run: bool, json: bool) -> None:
    """Cut old sessions down now.

    Sessions, and conversations that agents wrote, older than MEMORY_RETENTION keep only what the
    user said and summaries. Dagster's daemon does this every night. The agents' own transcript
    files are not deleted.
    """
    from memory_assets.cli import removal

    removal.retain(dry_run=dry_run, as_json=json)


@command()
@flag("--promote", help="Promote, too, as with MEMORY_PROMOTE=on.")
@JSON
def upkeep(promote: bool, json: bool) -> None:
    """Archive, merge and promote memories.

    Archives memories that have faded (MEMORY_HALF_LIFE) and merges those that say the same. With
    MEMORY_PROMOTE=on it makes memories of what users said, and sessions show, to last. Nothing is
    deleted. Dagster's daemon does this every night.
    """
    from memory_assets.pipeline.agent_memory.upkeep import keep_up
    from memory_assets.pipeline.stage.components import Components

    settings = load_settings(promote="on" if promote else None)
    require_own(settings.data_dir)
    require_writable(settings.data_dir, "Upkeep writes there.")
    AgentMemory(settings).send_waiting()
    report = keep_up(Components(settings))
    rendering.print_answer(report.to_dict(), json, [_upkeep_line(report, settings.promote == "on")])


def _upkeep_line(report: UpkeepReport, promotes: bool) -> str:
    promoted = (
        f"{report.promoted} promoted of what users said, "
        f"{report.promoted_from_sessions} of what sessions show"
    )
    return (
        f"Archived, because faded: {report.faded}; merged: {report.merged}; "
        f"{promoted if promotes else 'none promoted (MEMORY_PROMOTE is off)'}. On record: "
        f"{report.memories}, of which archived: {report.memories_archived}."
    )


def _written_lines(written: Mapping[str, Any]) -> Iterator[str]:
    reason = f": {written['reason']}" if written["reason"] else ""
    yield f"{written['outcome']} {written['memory_id']}".rstrip() + reason
    if written["outcome"] == "waits":
        yield "  It is stored by the next `memory remember`, `upkeep` or `ingest` that can."
    for other, why in zip(written["contradicts"], written["differences"], strict=True):
        yield f"  says otherwise than {other}, which stays: {why}"
