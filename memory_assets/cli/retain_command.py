"""`memory retain`: apply MEMORY_RETENTION now, without waiting for the nightly job."""

from __future__ import annotations

from dataclasses import asdict
from typing import Annotated, Any

import typer
from rich.console import Console

from memory_assets.cli import exit_codes, rendering
from memory_assets.cli.request_options import Json
from memory_assets.errors import ConfigurationError, NotFound, StoreError
from memory_assets.settings import Settings, load_settings

_LISTED = 20


def retain(
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Only list the sessions that are old enough.")
    ] = False,
    json: Json = False,
) -> None:
    """Cut old sessions down now.

    Sessions older than MEMORY_RETENTION keep only their prompts and summaries. Dagster's daemon
    does this every night. The agents' own transcript files are not deleted.
    """
    from memory_assets.pipeline.removal import retention
    from memory_assets.pipeline.stage.components import Components
    from memory_assets.status.status import RETENTION_FILE

    settings = load_settings()
    components = Components(settings)
    if not components.exists:
        raise NotFound(f"there is no memory in {components.data_dir} yet; run `memory ingest`")
    begun = (components.data_dir / RETENTION_FILE).exists()
    if settings.retention is None and not begun:
        raise ConfigurationError(
            "MEMORY_RETENTION is not set, so everything is kept. Set it, for example to 365d"
        )
    console = rendering.open_console(stderr=json)
    due = retention.due(components)
    answer: dict[str, Any] = {"days": settings.retention, "waiting": due.waiting}
    answer["sessions"] = [
        {"project": each[0], "session_id": each[1]} for each in sorted(due.sessions)
    ]
    if dry_run:
        _print_due(answer, console, as_json=json)
        return
    components.catalog.close()
    with console.status("removing the records of old sessions"):
        answer |= _retained(settings)
    if json:
        rendering.print_json(answer)
    else:
        console.print(
            f"{answer['removed']['sessions_cut']} sessions were cut down to prompts and summary "
            f"({answer['removed']['records_removed']} records removed), "
            f"{answer['removed']['sessions_retained']} in all; {due.waiting} need `memory ingest` "
            "first. The agents' own files were not changed."
        )
    if answer["failed"]:
        raise typer.Exit(exit_codes.ERROR)


def _retained(settings: Settings) -> dict[str, Any]:
    """Apply the policy, run the projects it changed, and return the counts of both."""
    from memory_assets.cli.ingest import apply_retention, run_plans
    from memory_assets.pipeline.plan import plan
    from memory_assets.pipeline.scan import on_disk
    from memory_assets.pipeline.stage.components import Components

    failure, removed = apply_retention(settings)
    if failure is not None:
        raise StoreError(failure)
    components = Components(settings)
    touched = set(str(removed["projects"]).split(", "))
    outdated = plan.plan(components, on_disk.find_sources(components))
    works = [work for work in outdated if work.project in touched]
    components.catalog.close()
    return {"removed": removed, **asdict(run_plans(settings, works, limit=0))}


def _print_due(answer: dict[str, Any], console: Console, *, as_json: bool) -> None:
    if as_json:
        rendering.print_json(answer)
        return
    sessions = answer["sessions"]
    console.print(
        f"{len(sessions)} sessions ended more than {answer['days']} days ago and would keep only "
        f"their prompts and summary; {answer['waiting']} more need `memory ingest` first."
    )
    for each in sessions[:_LISTED]:
        console.print(
            f"  [cyan]{rendering.escaped(each['session_id'])}[/cyan]  "
            f"{rendering.escaped(each['project'])}"
        )
    if len(sessions) > _LISTED:
        console.print(f"  ... and {len(sessions) - _LISTED} more (--json lists all)")
