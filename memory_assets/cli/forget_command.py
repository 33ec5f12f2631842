"""`memory forget`: list the selected sessions, ask, delete them, and report."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Any

from rich.console import Console

from memory_assets.cli import exit_codes, rendering
from memory_assets.paths import is_gone
from memory_assets.pipeline.removal import forget
from memory_assets.pipeline.removal.selection import Selection, SessionOnRecord, select
from memory_assets.pipeline.stage.components import Components
from memory_assets.recall.ids import parse_id
from memory_assets.requests.times import parse_time
from memory_assets.settings import Settings
from memory_assets.stores.lake.schemas import REDACTED_RECORDS, TURN_CHUNKS

_LISTED = 20


def forget_sessions(
    settings: Settings,
    *,
    session: str | None,
    project: str | None,
    containing_tag: str | None,
    before: str | None,
    confirmed: bool,
    dry_run: bool,
    as_json: bool,
) -> int:
    """Forget the selected sessions if that is confirmed, and return the exit code.

    Raises:
        ConfigurationError: the selection is empty or contradictory.
        NotFound: no session matches.
        StoreBusy, StoreError: nothing was deleted, or only a part; the next command completes it.
    """
    components = Components(settings)
    selection = Selection(
        session=parse_id(session).session_id if session is not None else None,
        project=project,
        tag=containing_tag,
        before=parse_time(before) if before is not None else None,
    )
    found = select(components, selection)
    console = rendering.open_console(stderr=as_json)
    answer: dict[str, Any] = {"sessions": [_as_json(each) for each in found], "forgotten": False}
    if not as_json:
        _print_selection(found, console)
    if not (confirmed or dry_run):
        confirmed = _asked(console, as_json)
    if dry_run or not confirmed:
        if as_json:
            rendering.print_json(answer)
        return exit_codes.FINE if dry_run else exit_codes.USAGE
    _require_idle(settings, found)
    with console.status("forgetting") as status:
        report = forget.forget(
            components, found, erase_traces=_traces(settings), progress=status.update
        )
    answer.update(forgotten=True, removed=report.to_dict(), stays=_what_stays(settings, found))
    if as_json:
        rendering.print_json(answer)
    else:
        _print_report(report, answer["stays"], console)
    return exit_codes.FINE


def complete_forgetting(settings: Settings) -> None:
    """Complete a forgetting that was interrupted."""
    components = Components(settings)
    console = rendering.open_console(stderr=True)
    console.print("Completing a forgetting that was interrupted.")
    with console.status("forgetting") as status:
        forget.complete(components, erase_traces=_traces(settings), progress=status.update)


def _traces(settings: Settings) -> forget.EraseTraces:
    def erase(names: forget.Names) -> int:
        if not _has_instance(settings):
            return 0
        from memory_assets.cli.dagster_traces import erase_traces

        return erase_traces(settings, names)

    return erase


def _require_idle(settings: Settings, found: Sequence[SessionOnRecord]) -> None:
    if _has_instance(settings):
        from memory_assets.cli.dagster_traces import require_idle

        require_idle(settings, {each.project for each in found})


def _has_instance(settings: Settings) -> bool:
    """Return True if Dagster has ever run here, without importing it (2 s)."""
    return (settings.dagster_dir / "history").is_dir()


def _asked(console: Console, as_json: bool) -> bool:
    """Ask on a terminal and return True for "yes"; without a terminal return False."""
    if as_json or not (sys.stdin.isatty() and console.is_terminal):
        rendering.open_console(stderr=True).print("Nothing was removed. Add --yes to remove it.")
        return False
    answer = console.input("Remove all this for good? Type yes: ")
    if answer.strip().lower() != "yes":
        console.print("Nothing was removed.")
        return False
    return True


def _as_json(session: SessionOnRecord) -> dict[str, Any]:
    return {
        "project": session.project,
        "session_id": session.session_id,
        "agent": session.agent,
        "title": session.title,
        "last_record_at": session.last_at.isoformat() if session.last_at else None,
        "rows": session.rows,
        "files": [str(path) for path in session.files],
    }


def _print_selection(found: Sequence[SessionOnRecord], console: Console) -> None:
    rows = sum(sum(each.rows.values()) for each in found)
    console.print(f"To be forgotten: {_counted(len(found), 'session')}, {rows} rows.")
    for each in found[:_LISTED]:
        when = f"{each.last_at:%Y-%m-%d %H:%M}" if each.last_at else "no date"
        records = each.rows.get(REDACTED_RECORDS.name, 0)
        chunks = each.rows.get(TURN_CHUNKS.name, 0)
        console.print(
            f"  [cyan]{rendering.escaped(each.session_id)}[/cyan]  {when}  "
            f"{rendering.escaped(each.project)}  {records} records, {chunks} chunks  "
            f"{rendering.escaped(each.title[:60])}"
        )
    if len(found) > _LISTED:
        console.print(f"  ... and {len(found) - _LISTED} more (--json lists all)")


def _what_stays(settings: Settings, found: Sequence[SessionOnRecord]) -> dict[str, Any]:
    files = sorted({str(path) for each in found for path in each.files if not is_gone(path)})
    return {"agents_files": files, "chroma_server": settings.chroma_url}


def _print_report(report: forget.ForgetReport, stays: dict[str, Any], console: Console) -> None:
    seconds = sum(report.seconds.values())
    console.print(
        f"Forgotten: {_counted(report.sessions, 'session')} ({report.lake_files} files of the "
        f"lake, {report.collection_rows} rows of Chroma, {report.catalog_rows} of the "
        f"catalogue, {_counted(report.runs, 'Dagster run')}) in {seconds:.1f} s."
    )
    files = stays["agents_files"]
    if files:
        console.print(
            f"The agents' own files were not deleted: {_counted(len(files), 'file')}, "
            "which will not be ingested again:"
        )
        for path in files[:_LISTED]:
            console.print(f"  {rendering.escaped(path)}")
        if len(files) > _LISTED:
            console.print(f"  ... and {len(files) - _LISTED} more (--json lists all)")
    if stays["chroma_server"]:
        console.print(
            f"The rows were deleted from {rendering.escaped(stays['chroma_server'])}; the files of "
            "that server may still contain them."
        )
    console.print("Backups and snapshots of the disk may still contain them: docs/forgetting.md.")


def _counted(number: int, noun: str) -> str:
    return f"{number} {noun}{'s' * (number != 1)}"
