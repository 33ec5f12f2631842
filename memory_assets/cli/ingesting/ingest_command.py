"""`memory ingest`: look at the directories, make the plan, run it with a progress bar, print the
report."""

from __future__ import annotations

import gc
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from itertools import starmap
from pathlib import Path
from threading import Thread
from typing import TYPE_CHECKING, Any

from rich.console import Console

from memory_assets.agents import AGENTS
from memory_assets.cli import INTERRUPTED, exit_codes
from memory_assets.cli.ingesting.report import print_report
from memory_assets.cli.printing import rendering
from memory_assets.errors import NotFound, RedactionUnavailable, StoreError
from memory_assets.paths import Roots, is_sample, roots_in_words
from memory_assets.pipeline.indexes import collections as index
from memory_assets.pipeline.plan import plan
from memory_assets.pipeline.plan.lost_tables import forget_lost_rows, without_records
from memory_assets.pipeline.plan.plan import (
    partitions_with_agent_memory,
    plan_agent_memory,
    plan_outdated,
    plan_unchecked,
)
from memory_assets.pipeline.redact import known_secrets as recheck
from memory_assets.pipeline.scan import on_disk
from memory_assets.pipeline.scan.on_disk import TranscriptsOnDisk
from memory_assets.pipeline.stage.components import Components, components_of
from memory_assets.recall.names import resolve_projects
from memory_assets.serving.agent_memory import AgentMemory
from memory_assets.settings import Settings
from memory_assets.status.status import status as status_of
from memory_assets.status.words import can_be_helped, counted, found_so_far
from memory_assets.stores.files.shared import require_own, require_writable
from memory_assets.stores.workspaces import is_workspace
from memory_assets.transcripts import Source

if TYPE_CHECKING:
    from memory_assets.pipeline.ingest.passes import Outcome, Pass

_SETTINGS = {"claude-code": "projects_dir", "codex": "codex_dir", "pi": "pi_dir"}
"""The settings of agents that have one of their own."""
_MOST_SEARCHES = 3


def require_transcripts(
    roots: Roots, transcripts: TranscriptsOnDisk, sessions_on_record: bool
) -> None:
    """Return if there is something to ingest, or sessions on record to bring up to date; also if no
    agent's directory is there, since the memory has sessions then.

    Raises:
        NotFound: no root holds a transcript, and nothing is on record.
    """
    nothing = not (
        transcripts.sources or transcripts.forgotten or transcripts.unlisted or transcripts.excluded
    )
    if nothing and not sessions_on_record and roots:
        raise NotFound(" ".join(starmap(_no_transcripts, roots.items())))


def empty_directories(settings: Settings, transcripts: TranscriptsOnDisk) -> Iterator[str]:
    """Yield a line for each directory that a setting names and that holds no transcripts."""
    if transcripts.forgotten:
        return  # forgotten sessions are counted by project, not by agent
    agents = {source.agent for sources in transcripts.sources.values() for source in sources}
    agents |= {unlisted.agent for unlisted in transcripts.unlisted}
    agents |= {excluded.agent for excluded in transcripts.excluded}
    for agent, paths in settings.transcript_roots().items():
        named = f"{agent}=" in "".join(settings.roots)
        if agent in _SETTINGS:
            named = named or getattr(settings, _SETTINGS[agent]) is not None
        if agent not in agents and named:
            yield _no_transcripts(agent, paths)


def _no_transcripts(agent: str, paths: Sequence[Path]) -> str:
    layout = AGENTS[agent].layout
    variable = f"MEMORY_{_SETTINGS.get(agent, 'roots').upper()}"
    places = " and ".join(map(str, paths))
    holds = "holds" if len(paths) == 1 else "hold"
    return f"{places} {holds} no transcripts of {agent}: expected {layout} there ({variable})."


def ingest_once(
    settings: Settings,
    *,
    limit: int | None,
    projects: Sequence[str],
    full: bool,
    as_json: bool,
) -> int:
    """Bring the memory up to date, report, and return the exit code: 1 if a project failed or
    something is held back that the user can do something about, 4 if a check failed, 130 after
    Ctrl-C, of which standard error has one line."""
    with suppress(StoreError):  # a journal that is damaged is replaced by the ingest
        AgentMemory(settings).send_waiting()
    try:
        if settings.shard is None:
            return _ingest_once(settings, limit, projects, full, as_json)
        from memory_assets.cli import shard_commands  # whose parser takes .1 s to import

        shard_commands.pull_before(settings)
        outcome = _ingest_once(settings, limit, projects, full, as_json)
        shard_commands.push_after(settings)
        return outcome
    except KeyboardInterrupt:
        progress = found_so_far(status_of(settings))
        line = f"Stopped. {progress} The next `memory ingest` goes on."
        rendering.print_lines([line], stderr=True)
        return INTERRUPTED


def _ingest_once(
    settings: Settings, limit: int | None, projects: Sequence[str], full: bool, as_json: bool
) -> int:
    console = rendering.open_console(stderr=as_json)
    started = time.perf_counter()
    require_own(settings.data_dir)
    require_writable(settings.data_dir, "An ingest writes all that it makes there.")
    components = components_of(settings)
    roots = on_disk.require_directories(components)
    reading = f"Reading {rendering.escaped(roots_in_words(roots))}"
    console.print(reading if roots else on_disk.NO_DIRECTORY)
    if is_sample(roots):
        console.print("No transcripts found: ingesting the sample sessions instead.")
    transcripts = on_disk.look_for_sources(components)
    sources = transcripts.sources
    by_agent = transcripts.by_agent()
    if len(by_agent) > 1:
        console.print(f"Found {rendering.escaped(', '.join(by_agent))}.")
    indexed = any(map(is_workspace, components.catalog.projects()))
    is_first = not components.catalog.sources.rows()
    on_record = bool(
        components.catalog.sources.rows() or partitions_with_agent_memory(components) or indexed
    )
    require_transcripts(roots, transcripts, on_record)
    for line in empty_directories(settings, transcripts):
        console.print(f"[yellow]warning[/yellow] {rendering.escaped(line)}")
    _print_left_out(transcripts, console)
    projects = [
        name
        for project in projects
        for name in resolve_projects(components.catalog, project, sources)
    ]
    if full:
        _forget_work(components, projects)
    lost = index.forget_lost_store(components)
    if lost:
        console.print(f"{lost}: rebuilding the collections from the lake, without embedding.")
    works = [
        work for work in plan.plan(components, sources) if not projects or work.project in projects
    ]
    others = components.catalog.projects().difference(work.project for work in works)
    works += plan_unchecked(
        components, sources, (other for other in others if not projects or other in projects)
    )
    report: dict[str, Any] = {"projects": 0, "failed": {}, "checks_failed": [], "warnings": []}
    gc.enable()
    if works:
        Thread(target=_load_redactor, args=(components,), daemon=True).start()
        report = _run_plans(settings, works, limit, sources, console)
    works += _redact_affected_again(settings, components, report, sources, console)
    works += _index_other_partitions(settings, components, projects, report)
    report["seconds"] = round(time.perf_counter() - started, 2)
    report["work"] = [vars(work) for work in works]
    current = print_report(components, report, console, as_json=as_json, is_first=is_first)
    if report["failed"]:
        return exit_codes.ERROR
    if report["checks_failed"]:
        return exit_codes.CHECK_FAILED
    return exit_codes.ERROR if can_be_helped(current) else exit_codes.FINE


def _print_left_out(transcripts: TranscriptsOnDisk, console: Console) -> None:
    if transcripts.forgotten:
        forgotten = counted(transcripts.forgotten.total(), "forgotten session")
        console.print(f"{forgotten} skipped.")
    if transcripts.excluded:
        excluded = counted(len(transcripts.excluded), "transcript")
        console.print(f"{excluded} not read, as MEMORY_EXCLUDE or a forgetting says.")


def _load_redactor(components: Components) -> None:
    """Load the redactor while others are imported: its patterns are compiled once a machine, which
    takes seconds, and the worker processes wait for that. Ctrl-C does not."""
    with suppress(RedactionUnavailable):  # raised again when it is needed
        components.redactor.redact("ready")


def _forget_work(components: Components, projects: Sequence[str]) -> None:
    """Mark every stage of the projects (all if none is given) as not done, but for sessions that
    cannot be made again; delete what an older table brought back of forgotten ones."""
    everything = (
        *components.catalog.sources.counts_by("project"),
        *partitions_with_agent_memory(components),
    )
    forget_lost_rows(components, set(projects or everything), thoroughly=True)
    for project in projects or everything:
        kept_sessions = without_records(components, project)
        components.catalog.products.forget_project(project, but=kept_sessions)


def _redact_affected_again(
    settings: Settings,
    components: Components,
    report: dict[str, Any],
    sources: Mapping[str, Sequence[Source]],
    console: Console,
) -> list[plan.ProjectPlan]:
    """Search stored sessions for secrets found since they were redacted, redact affected ones
    again, and replace their projects' entries in `report`. Returns the plans that were run.
    Redacting again may find further secrets, so this is repeated a few times."""
    redone: list[plan.ProjectPlan] = []
    for number in range(_MOST_SEARCHES):
        due = recheck.is_due(components)
        if due:
            from memory_assets.cli.ingesting.ingest import search_for_known_secrets

            failure = search_for_known_secrets(settings)
            if failure is not None:
                report["failed"]["known_secrets"] = failure
                break
        works = plan.plan_affected(components)
        if not works or (number and not due):
            break
        redone += works
        _replace_entries(report, _run_plans(settings, works, 0, sources, console), works)
    return redone


def _index_other_partitions(
    settings: Settings,
    components: Components,
    projects: Sequence[str],
    report: dict[str, Any],
) -> list[plan.ProjectPlan]:
    """Bring what agents wrote, and what is on record of workspaces, up to date, of these projects'
    partitions or of all, and add what came of it to `report`. Returns the plans that were run. What
    the independent scanner reports is taken out by another run."""
    done: list[plan.ProjectPlan] = []
    for _ in range(_MOST_SEARCHES):
        tried = {work.fingerprint for work in done}
        works = [
            work
            for work in (*plan_agent_memory(components), *plan_outdated(components))
            if work.fingerprint not in tried and (not projects or work.project in projects)
        ]
        for work in works:
            from memory_assets.cli.ingesting.ingest import index_partition

            _replace_entries(report, vars(index_partition(settings, work)), [work])
        done += works
        if not works:
            break
    return done


def _replace_entries(
    report: dict[str, Any], later: dict[str, Any], works: Sequence[plan.ProjectPlan]
) -> None:
    """Replace the entries of some projects in a report by those of a later run."""
    for work in works:
        report["failed"].pop(work.project, None)
        for name in ("checks_failed", "warnings"):
            report[name] = [
                entry for entry in report[name] if not entry.startswith(f"{work.project}: ")
            ]
    report["failed"].update(later["failed"])
    for name in ("checks_failed", "warnings"):
        report[name] += later[name]
    report["projects"] += later["projects"]


def _run_plans(
    settings: Settings,
    works: Sequence[plan.ProjectPlan],
    limit: int | None,
    sources: Mapping[str, Sequence[Source]],
    console: Console,
) -> dict[str, Any]:
    """Run the projects, whose transcripts are in `sources`, say from when on they can be searched,
    and return the result."""
    gc.disable()
    from memory_assets.cli.ingesting.ingest import run_plans
    from memory_assets.cli.ingesting.ingest_progress import progress_line
    from memory_assets.pipeline.ingest.passes import WORDS, Pass

    gc.freeze()  # modules stay: a full collection need not look through them
    gc.enable()
    started = time.perf_counter()
    seconds: dict[str, float] = {}
    components, projects = components_of(settings), [work.project for work in works]
    with progress_line(components, sources, projects, console) as (note, advance):

        def show(event: Outcome | Pass) -> None:
            if isinstance(event, Pass):
                seconds[event.name] = round(time.perf_counter() - started, 2)
                if event is WORDS and seconds[event.name] > rendering.WORTH_SAYING_SECONDS:
                    console.print(
                        f"Searchable by words after {seconds[event.name]:.0f} s. Summaries and "
                        "search by meaning come next; stop when you like, `memory ingest` goes on."
                    )
            note(event)

        result = run_plans(
            settings, works, limit=limit, walked=sources, progress=show, advance=advance
        )
    return {**vars(result), "seconds_until": seconds}
