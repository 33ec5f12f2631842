"""`memory status`: the figures as JSON or in lines; `memory costs`: what was asked of endpoints of
models, and what it cost."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import asdict
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from memory_assets import __version__
from memory_assets.cli.commands import JSON, command
from memory_assets.cli.printing import rendering
from memory_assets.cli.printing.rendering import layout_of_output
from memory_assets.errors import BadTime
from memory_assets.project_names import with_spoken_projects
from memory_assets.requests.times import parse_time, spoken_time
from memory_assets.serving.answer_lines import LISTED, clock, distinct_project_names
from memory_assets.settings import load_settings
from memory_assets.status.status import status as status_of
from memory_assets.status.words import (
    chroma_notes,
    counted,
    duration_text,
    excluded_note,
    held_back,
    in_words,
    named_documents,
    sample_note,
    totals,
)
from memory_assets.stores.catalog.catalog import catalog_of
from memory_assets.stores.stores import require_memory
from memory_assets.stores.under_way import ingest_under_way

if TYPE_CHECKING:
    from memory_assets.stores.gateway_usage import Spent


@command("memory status --json")
@JSON
def status(json: bool) -> None:
    """Show what is in memory.

    Prints counts, coverage and freshness, and for each session that is held back the cause and
    what to do.
    """
    settings = load_settings()
    require_memory(settings.data_dir)
    current = status_of(settings)
    with closing(catalog_of(settings.data_dir)) as catalog:
        roots = catalog.sources.project_roots()
        spoken = catalog.spoken_projects()
    rendering.print_answer(current, json, _lines(current, roots, spoken))


def _lines(
    current: dict[str, Any], roots: Mapping[str, str], spoken: Mapping[str, str]
) -> Iterator[str]:
    """Yield the status in lines for a human."""
    yield from _facts(current, spoken)
    rows = list(_projects(current["projects"], roots))
    yield from layout_of_output().table(_HEAD, rows[:LISTED]) if rows else ()
    if more := len(rows[LISTED:]):
        yield f"... and {more} more (--json lists all)"
    yield from (f"held back: {line}" for line in held_back(current, spoken))


def _facts(current: dict[str, Any], spoken: Mapping[str, str]) -> Iterator[str]:
    yield f"Memory in {current['data_dir']}"
    yield totals(current)
    pending = current["freshness"]["pending_files"]
    if going_on := ingest_under_way(Path(current["data_dir"])):
        yield f"{str(going_on).capitalize()}."
    else:
        yield from (line for well, line in in_words(current["coverage"]) if not (well and pending))
    yield from _freshness(current["freshness"], len(current["unlisted"]))
    archive = current["archive"]
    if archive["sessions_source_gone"] or archive["sessions_retained"]:
        yield (
            f"Archive: {counted(archive['sessions_source_gone'], 'session')} whose file is gone, "
            f"{archive['sessions_prompts_only']} of them in prompts alone; "
            f"{archive['sessions_retained']} cut down to prompts and summary."
        )
    if archive["retention_unfinished"]:
        yield "Retention is running or was interrupted; `memory retain` completes it."
    yield from sample_note(current, spoken)
    yield from excluded_note(current)
    yield from _runs(current["runs"], spoken)
    yield from _watcher(current["watcher"], spoken)
    if follower := current["workspaces_watcher"]:
        yield f"Workspaces: watched by process {follower['pid']} since {clock(follower['since'])}."
    yield from named_documents(current["stages"].get("workspace_chunks", {}).get("by_name") or 0)
    chroma = current["chroma"]
    yield f"{chroma['store']}: {chroma['state']} {chroma['url'] or ''}".rstrip()
    yield from chroma_notes(current)
    yield "MB: " + ", ".join(
        f"{name} {size / 1e6:.1f}" for name, size in current["sizes"].items() if size
    )
    versions = current["versions"]
    if version := versions.get("memory_assets"):  # not before the first ingest has ended
        model = str(versions.get("embedder") or "no vectors").partition("/")[0]
        yield f"Version: {version}, {model} (--json lists all)"
        if version != __version__:
            yield (
                f"This program is version {__version__}: the next `memory ingest` redoes what it "
                "reads, redacts or cuts in another way."
            )


def _freshness(fresh: dict[str, Any], unlisted: int) -> Iterator[str]:
    pending = fresh["pending_files"]
    unread = f"{unlisted} files or directories cannot be read" if unlisted else "all ingested"
    behind = f"{pending} changed and not yet ingested, {duration_text(fresh['lag_seconds'])} behind"
    indexed_at = fresh["newest_indexed_at"]
    written_at = fresh["newest_source_at"]
    written = clock(written_at) if written_at else "never"
    indexed = f"newest indexed {clock(indexed_at)}" if indexed_at else "nothing indexed yet"
    yield (
        f"Files: {fresh['files']} on disk, {behind if pending else unread}; newest written "
        f"{written}, {indexed}."
    )


def _runs(runs: dict[str, Any], spoken: Mapping[str, str]) -> Iterator[str]:
    if last := runs.get("last"):
        project = spoken.get(last["project"], last["project"]) or "all projects"
        yield (
            f"Last run: {last['status'].lower()} {clock(last['ended_at'])}, "
            f"{project}, {duration_text(last['seconds'])}; "
            f"{runs['failed_in_7_days']} failed in 7 days, {runs['under_way']} running."
        )
    for run in runs.get("failed", ()):
        project = spoken.get(run["project"], run["project"]) or "several projects"
        yield f"failed: run {run['run_id'][:8]} of {project} at {clock(run['ended_at'])}"


def _watcher(state: dict[str, Any] | None, spoken: Mapping[str, str]) -> Iterator[str]:
    if state is None:
        yield "Watcher: none (`memory ingest --watch`)."
        return
    yield (
        f"Watcher: process {state['pid']} since {clock(state['since'])}, {state['mode']}, "
        f"{counted(state['runs'], 'run')}, {counted(state['waiting'], 'project')} waiting."
    )
    for directory, reason in state["notes"].items():
        yield f"  {directory} is polled: {reason}"
    for project, reason in state["failing"].items():
        yield f"  failing: {with_spoken_projects(f'{project}: {reason}', spoken)}"


_HEAD = ("sessions", "files", "prompts", "MB", "gone", "project")


def _projects(
    projects: Mapping[str, Mapping[str, int]], roots: Mapping[str, str]
) -> Iterator[tuple[object, ...]]:
    """Yield a row for each project, the one with most bytes first."""
    order = sorted(projects, key=lambda name: -projects[name]["bytes"])
    names = distinct_project_names(
        [{"project": name, "project_root": roots.get(name, "")} for name in order]
    )
    for key, name in zip(order, names, strict=True):
        project = projects[key]
        yield (
            *(project["sessions"], project["files"], project["prompts"]),
            *(f"{project['bytes'] / 1e6:.1f}", project["gone"], name),
        )


@command()
@click.option(
    "--since",
    default="7d",
    show_default=True,
    help="From this on: 7d, 12h, 2w, yesterday or a date; local time.",
)
@JSON
def costs(since: str, json: bool) -> None:
    """Show what models at endpoints cost.

    One line for each model and for who asked it: requests, tokens, time, and the cost that the
    endpoint says, as LiteLLM does, else that of the tokens (MEMORY_MODEL_PRICES). Empty unless
    MEMORY_EMBEDDER or MEMORY_SUMMARIZER names an endpoint.
    """
    from memory_assets.session_analysis.usage import dollars_of, with_prices
    from memory_assets.stores.gateway_usage import FILE_NAME, spent_since

    try:
        moment = parse_time(since)
    except BadTime as error:
        raise error.named("--since") from None
    settings = load_settings()
    priced = dollars_of(with_prices(settings.model_prices))
    spent = spent_since(settings.data_dir / FILE_NAME, moment.timestamp(), priced)
    answer = {"since": moment.isoformat(), "usage": [asdict(usage) for usage in spent]}
    rendering.print_answer(answer, json, _cost_lines(spent, moment))


def _cost_lines(spent: Sequence[Spent], since: datetime) -> Iterator[str]:
    if not spent:
        yield f"Nothing was asked of an endpoint since {spoken_time(since)}."
    for usage in spent:
        failed = f" ({usage.failed} failed)" if usage.failed else ""
        cost = "cost unknown" if usage.cost_usd is None else f"${usage.cost_usd:.4f}"
        yield (
            f"{usage.consumer}: {usage.model} at {usage.provider}: "
            f"{counted(usage.requests, 'request')}{failed}, "
            f"{counted(usage.input_tokens + usage.output_tokens, 'token')}, "
            f"{usage.mean_latency_ms} ms each, {cost}"
        )
