"""`memory forget` and `memory retain`: list the sessions concerned, ask for confirmation, remove,
and report."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from contextlib import ExitStack, suppress
from dataclasses import asdict
from functools import partial
from itertools import chain
from pathlib import Path
from typing import Any

from rich.console import Console

from memory_assets.cli import exit_codes
from memory_assets.cli.ingesting.ingest import (
    IngestResult,
    apply_retention,
    index_partition,
    run_plans,
)
from memory_assets.cli.ingesting.ingest_progress import progress_line
from memory_assets.cli.printing import rendering
from memory_assets.cli.run_traces import erase_traces, require_idle
from memory_assets.cli.shard_commands import push_forgotten
from memory_assets.errors import ConfigurationError, NotFound, StoreBusy, UnknownName
from memory_assets.install_key import load_install_key
from memory_assets.paths import is_gone
from memory_assets.pipeline.checks.deep_scan import deep_scan
from memory_assets.pipeline.plan import plan
from memory_assets.pipeline.plan.plan import plan_agent_memory, plan_outdated
from memory_assets.pipeline.removal import forget as forgetting
from memory_assets.pipeline.removal import retention
from memory_assets.pipeline.removal.forget import ForgetReport
from memory_assets.pipeline.removal.selection import Selection, SessionOnRecord, select
from memory_assets.pipeline.scan import on_disk
from memory_assets.pipeline.stage.components import Components
from memory_assets.project_names import spelled
from memory_assets.recall.names import parse_id, resolve_project
from memory_assets.redaction.known_secrets import KnownValues
from memory_assets.redaction.spellings import spellings
from memory_assets.requests.questions import ForgetRequest
from memory_assets.serving.agent_memory import AgentMemory
from memory_assets.serving.answer_lines import clock, first_lines
from memory_assets.serving.visible_text import snippet
from memory_assets.settings import Settings, load_settings
from memory_assets.status.status import RETENTION_FILE
from memory_assets.status.words import counted
from memory_assets.stores.agents.partitions import MEMORY_HEAD
from memory_assets.stores.agents.waiting import drop_waiting
from memory_assets.stores.files.shared import require_own, require_writable
from memory_assets.stores.shard.replicas import replicas_holding
from memory_assets.stores.stores import require_memory
from memory_assets.stores.tombstones import FILE_NAME, Tombstones, cutting
from memory_assets.stores.workspaces import Workspace

_TITLE = 40
_PLURALS = {
    "session": "sessions",
    "document": "documents",
    "conversation": "conversations",
    "memory": "memories",
}
_WHOLE = (
    "That id is of one {} of it: only whole sessions are forgotten, so all that is listed would go."
)


def forget(request: ForgetRequest, as_json: bool) -> None:
    """Forget what is asked for, or cut a text out of it."""
    settings = load_settings()
    text = _text_to_forget() if request.containing else None
    if not request.dry_run:
        require_own(settings.data_dir)
        require_writable(settings.data_dir, "Forgetting deletes there; --dry-run only lists.")
        AgentMemory(settings).send_waiting()  # or it would be stored when it is forgotten
    components = Components(settings)
    selection, part = _selection(components, request, text)
    sessions = _sessions_to_forget(settings, components, request, selection, text)
    console = rendering.open_console(stderr=as_json)
    rows = [_as_json(session) for session in sessions]
    if text:  # what is printed is kept by terminals, and by the transcript of an agent that asks
        rows = [_row_without_text(text, row) for row in rows]
    answer: dict[str, Any] = {"sessions": rows, "forgotten": False}
    if not as_json:
        spoken = components.catalog.spoken_projects()
        rendering.print_lines(_selection_lines(answer["sessions"], spoken, cut=request.cut))
        rendering.print_lines([_WHOLE.format(part)] if part else ())
    if request.dry_run or not (request.yes or _confirmed(console, as_json)):
        rendering.print_answer(answer, as_json, ["Nothing was removed."])
        sys.exit(exit_codes.FINE if request.dry_run else exit_codes.USAGE)
    require_idle(settings, {session.project for session in sessions})
    if text:
        _drop_waiting(settings, text)
    if request.cut and text:
        answer |= _cut_text(settings, components, text)
        rendering.print_answer(answer, as_json, _cut_lines(answer))
        push_forgotten(settings)
        if answer["failed"] or answer["stays"]["still_holding"] or answer["stays"]["unreadable"]:
            sys.exit(exit_codes.ERROR)
        return
    if request.exclude and selection.project is not None:
        _exclude(components, selection.project)
    with rendering.progress_bar(console) as bar:
        task = bar.add_task("forgetting", total=None)
        report = forgetting.forget(
            components,
            sessions,
            erase_traces=partial(erase_traces, settings),
            progress=lambda step: bar.update(task, description=rendering.escaped(step)),
            leaving=bool(request.workspace and request.file is None),
        )
    answer.update(
        forgotten=True, removed=report.to_dict(), stays=_remaining_traces(settings, sessions)
    )
    answer["stays"] |= _still_holding(settings, text) if text else {"still_holding": []}
    rendering.print_answer(
        answer, as_json, _removed_lines(answer["sessions"], report, answer["stays"])
    )
    push_forgotten(settings)


def _selection(
    components: Components, request: ForgetRequest, text: str | None
) -> tuple[Selection, str]:
    """Return the selection, and the kind of part of a session that its id names ("" if it names
    a whole session)."""
    session, part = _session_and_part(request.session)
    selection = Selection(
        session=session,
        project=_project(components, request.project)
        if request.workspace is None
        else Workspace(request.workspace, Path()).partition,
        directory=spelled(request.project) if request.project and "/" in request.project else None,
        file=request.file,
        tag=request.containing_tag,
        text=text,
        before=request.before,
        conversation=request.conversation,
    )
    return selection, part


def _sessions_to_forget(
    settings: Settings,
    components: Components,
    request: ForgetRequest,
    selection: Selection,
    text: str | None,
) -> list[SessionOnRecord]:
    """Return the sessions that meet a selection. The list is empty if only entries that wait to be
    stored held the text, or if it is noted by an interrupted cut.

    Raises:
        NotFound: no session meets the selection. If the text was its only condition, the message
            names the files that hold it.
    """
    try:
        return select(components, selection)
    except NotFound:
        if text is None:
            raise
        noted = request.cut and forgetting.is_noted(components, text)
        if noted or (request.yes and not request.dry_run and _drop_waiting(settings, text)):
            return []
        if selection != Selection(text=text):
            raise NotFound("no session that meets the other options holds the text") from None
        if files := _still_holding(settings, text)["still_holding"]:
            named = ", ".join(files)
            raise NotFound(f"no session holds the text, but files do: {named}") from None
        raise


def _text_to_forget() -> str:
    """Return the text that sessions must hold, without the end of its line: from standard input, or
    typed unseen. A command line would be kept by the shell, and by the agent's transcript.

    Raises:
        ConfigurationError: nothing was given.
    """
    if sys.stdin.isatty():
        from getpass import getpass

        try:
            typed = getpass("Text to forget (not shown): ")
        except EOFError:  # Ctrl-D, which leaves the cursor behind the question
            typed = ""
            rendering.print_lines([""], stderr=True)
    else:
        typed = sys.stdin.read()
    text = typed.rstrip("\r\n")
    if not text.strip():
        raise ConfigurationError("no text was given: pipe it to this command, or type it")
    return text


def _row_without_text(text: str, row: dict[str, Any]) -> dict[str, Any]:
    """Return what is listed of a session without the text, in whatever form it holds it."""
    forms = spellings(text)

    def shown(value: Any) -> Any:
        for spelling in forms if isinstance(value, str) else ():
            value = value.replace(spelling, "[...]")
        return [shown(item) for item in value] if isinstance(value, list) else value

    return {name: shown(value) for name, value in row.items()}


def _drop_waiting(settings: Settings, text: str) -> int:
    """Delete what waits for a memory and holds the text; say and return how much it was."""
    forms = spellings(text)

    def holds(value: Any) -> bool:
        if isinstance(value, str):
            return any(spelling in value for spelling in forms)
        return isinstance(value, Iterable) and any(map(holds, value))

    number = drop_waiting(settings.data_dir, lambda entry: holds(entry.values()))
    if number:
        held = f"{counted(number, 'line')} that waited to be stored held the text: deleted."
        rendering.print_lines([held], stderr=True)
    return number


def _still_holding(settings: Settings, text: str) -> dict[str, list[str]]:
    """Return the files of the memory in which the text, plain or encoded, still is (what other
    programs keep there, or the name of a file or project), and those that cannot be read."""
    roots = chain.from_iterable(settings.transcript_roots().values())
    result = deep_scan(
        [settings.data_dir], [("the text", text)], KnownValues(b""), excluded=[*roots]
    )
    holding = sorted({hit.path for hit in result.hits})
    return {"still_holding": holding, "unreadable": sorted(result.unreadable)}


def _exclude(components: Components, project: str) -> None:
    """Note that a project and its directories are never read again."""
    rows = components.catalog.sources.rows(project)
    forgetting.exclude(components, [project, *sorted({row.directory or project for row in rows})])


def _session_and_part(any_id: str | None) -> tuple[str | None, str]:
    """Return the session of an id (of an agent's memory its hash), and the kind of part of the
    session that the id names ("" if it names a whole session)."""
    if any_id is None or any_id.startswith(MEMORY_HEAD):
        return any_id and any_id.removeprefix(MEMORY_HEAD), ""
    parsed = parse_id(any_id)
    return parsed.session_id, "" if parsed.kind in ("session", "summary") else parsed.kind


def _project(components: Components, text: str | None) -> str | None:
    """Return the project that is meant; as it was given if the catalogue has none of that name,
    which may still be on disk."""
    with suppress(UnknownName):
        return text and resolve_project(components.catalog, text)
    return text


def complete_forgetting(settings: Settings) -> None:
    """Complete a forgetting that was interrupted, or that the data directory knew nothing of; what
    holds a text that was cut is redacted again. A cut that another process is at is left to it."""
    stones = Tombstones(settings.data_dir / FILE_NAME, load_install_key())
    with ExitStack() as only_one:
        cut = False
        if stones.texts_to_cut():
            with suppress(StoreBusy):
                only_one.enter_context(cutting(settings.data_dir, 0))
                cut = bool(stones.texts_to_cut())  # or it was completed meanwhile
        if not cut and not stones.has_sessions_to_forget():
            return
        components = Components(settings)
        console = rendering.open_console(stderr=True)
        console.print(
            "Completing a forgetting that was interrupted, or that was lost with a backup."
        )
        with console.status("forgetting") as status:
            forgetting.complete(
                components, erase_traces=partial(erase_traces, settings), progress=status.update
            )
        if cut:
            failed = _redact_again(settings, components, console).failed
            rendering.print_lines(_failed(failed), stderr=True)


def _confirmed(console: Console, as_json: bool) -> bool:
    """Ask on a terminal and return True for "yes"; without a terminal return False."""
    if as_json or not (sys.stdin.isatty() and console.is_terminal):
        rendering.print_lines(["Add --yes to remove it."], stderr=True)
        return False
    try:
        answer = console.input("Remove all this for good? Type yes: ")
    except EOFError:  # Ctrl-D, which leaves the cursor behind the question
        answer = ""
        console.print()
    return answer.strip().lower() == "yes"


def _as_json(session: SessionOnRecord) -> dict[str, Any]:
    return {
        "project": session.project,
        "session_id": session.session_id,
        "agent": session.agent,
        "kind": session.kind,
        "title": session.title,
        "last_record_at": session.last_at.isoformat() if session.last_at else None,
        "rows": session.rows,
        "files": [str(path) for path in session.files],
    }


def _selection_lines(
    sessions: Sequence[dict[str, Any]], spoken: Mapping[str, str], *, cut: bool
) -> Iterator[str]:
    rows = sum(sum(session["rows"].values()) for session in sessions)
    heading = "The text would be cut out of" if cut else "To be forgotten:"
    yield f"{heading} {_counts_in_words(sessions)}, {counted(rows, 'row')}."
    yield from first_lines(_session_lines(session, spoken) for session in sessions)


def _counts_in_words(sessions: Sequence[Mapping[str, Any]]) -> str:
    """Return how many sessions, conversations, memories and documents there are, as words."""
    numbers = Counter(session["kind"] for session in sessions)
    parts = [
        f"{numbers[kind]} {kind if numbers[kind] == 1 else several}"
        for kind, several in _PLURALS.items()
        if numbers[kind]
    ] or ["0 sessions"]
    return " and ".join(filter(None, (", ".join(parts[:-1]), parts[-1])))


def _session_lines(session: Mapping[str, Any], spoken: Mapping[str, str]) -> str:
    rows = session["rows"]
    project = session["project"]
    if (kind := session["kind"]) in ("conversation", "memory"):
        size = counted(rows.get("agent_history", 0), "turn") if kind == "conversation" else kind
    else:
        records = counted(rows.get("redacted_records", 0), "record")
        size = f"{records}, {counted(rows.get('turn_chunks', 0), 'chunk')}"
    start = f"  {session['session_id']}  {snippet(session['title'], _TITLE)}".rstrip()
    return (
        f"{start}\n    {clock(session['last_record_at'])}  {size}, {spoken.get(project, project)}"
    )


def _remaining_traces(settings: Settings, sessions: Sequence[SessionOnRecord]) -> dict[str, Any]:
    files = sorted(
        {str(path) for session in sessions for path in session.files if not is_gone(path)}
    )
    return {
        "agents_files": files,
        "chroma_server": settings.vectors_url,
        "shards": replicas_holding(settings.data_dir, [session.key for session in sessions]),
    }


def _cut_text(settings: Settings, components: Components, text: str) -> dict[str, Any]:
    """Take a text out of all that is kept, and return what was done and what stays."""
    with cutting(settings.data_dir, settings.lock_timeout_seconds):
        forgetting.note_text(components, text)
        done = _redact_again(settings, components, rendering.open_console(stderr=True))
    stays: dict[str, Any] = {"agents_files": [], "chroma_server": settings.vectors_url}
    return {
        "cut": not done.failed,
        "failed": done.failed,
        "stays": {**stays, **_still_holding(settings, text)},
    }


def _redact_again(settings: Settings, components: Components, console: Console) -> IngestResult:
    """Bring projects that hold a text that was cut up to date, so that no file has it any more. If
    one fails, the texts stay noted, and the next command tries again."""
    texts = forgetting.texts_to_cut(components)
    projects = forgetting.projects_to_redact(components)
    components.catalog.close()
    done = _update_projects(settings, projects, console, limit=None)
    with rendering.progress_bar(console) as bar:
        task = bar.add_task("rewriting files", total=None)
        forgetting.rewrite_stores(
            Components(settings),
            frozenset() if done.failed else texts,
            lambda step: bar.update(task, description=rendering.escaped(step)),
        )
    return done


def _cut_lines(answer: Mapping[str, Any]) -> Iterator[str]:
    if answer["cut"]:
        yield f"The text was cut out of {_counts_in_words(answer['sessions'])}, which stay."
    yield from _failed(answer["failed"])
    yield "The agents' own files were not changed; what is read of them is without it from now on."
    yield from _remaining_notes(answer["stays"])


def _failed(failed: Mapping[str, str]) -> Iterator[str]:
    if failed:
        yield "The text is not cut out of everything yet; the next command tries again."
    yield from (f"{name} failed: {reason}" for name, reason in failed.items())


def _removed_lines(
    sessions: Sequence[Mapping[str, Any]], report: ForgetReport, stays: dict[str, Any]
) -> Iterator[str]:
    yield (
        f"Forgotten: {_counts_in_words(sessions)} "
        f"({counted(report.lake_files, 'file')} of the lake, "
        f"{counted(report.collection_rows, 'row')} of the collections, "
        f"{report.catalog_rows} of the catalogue, "
        f"{counted(report.runs, 'Dagster run')}) in {sum(report.seconds.values()):.1f} s."
    )
    if files := stays["agents_files"]:
        yield (
            f"The agents' own files were not deleted: {counted(len(files), 'file')}, "
            "which will not be ingested again:"
        )
        yield from first_lines(f"  {path}" for path in files)
    yield from _remaining_notes(stays)


def _remaining_notes(stays: Mapping[str, Any]) -> Iterator[str]:
    if holding := stays["still_holding"]:
        yield f"The text is still in {counted(len(holding), 'file')} of the data directory:"
        yield from first_lines(f"  {path}" for path in holding)
    if unreadable := stays.get("unreadable"):
        number = counted(len(unreadable), "file")
        yield f"Whether the text is in {number} that cannot be read is not known:"
        yield from first_lines(f"  {path}" for path in unreadable)
    if shards := stays.get("shards"):
        yield (
            f"Also in what was pulled of {', '.join(shards)}: no search here shows it, and it goes "
            "when its owners forget it."
        )
    if stays["chroma_server"]:
        yield (
            f"The rows were deleted from {stays['chroma_server']}; the files of that server may "
            "still contain them."
        )
    yield "Backups and snapshots of the disk may still contain them: docs/forgetting.md."


def retain(*, dry_run: bool, as_json: bool) -> None:
    """Cut the sessions that are old enough down, or only list them."""
    settings = load_settings()
    require_memory(settings.data_dir)
    components = Components(settings)
    begun = (components.data_dir / RETENTION_FILE).exists()
    if settings.retention is None and not begun:
        raise ConfigurationError(
            "MEMORY_RETENTION is not set, so everything is kept. Set it, for example to 365d"
        )
    console = rendering.open_console(stderr=as_json)
    due = retention.due(components)
    answer: dict[str, Any] = {"days": settings.retention, "waiting": due.waiting}
    answer["sessions"] = [
        {"project": session[0], "session_id": session[1]} for session in sorted(due.sessions)
    ]
    if dry_run:
        lines = _due_lines(answer, components.catalog.spoken_projects())
        rendering.print_answer(answer, as_json, lines)
        return
    components.catalog.close()
    answer |= _apply_retention(settings, console)
    removed = answer["removed"]
    done = (
        f"{counted(removed['sessions_cut'], 'session')} cut down to prompts and summary "
        f"({counted(removed['records_removed'], 'record')} removed), "
        f"{removed['sessions_retained']} in all; {due.waiting} need `memory ingest` first. "
        "The agents' own files were not changed."
    )
    rendering.print_answer(answer, as_json, [done])
    if answer["failed"]:
        sys.exit(exit_codes.ERROR)


def _apply_retention(settings: Settings, console: Console) -> dict[str, Any]:
    """Apply the policy, run the projects it changed, and return the counts of both."""
    with rendering.progress_bar(console) as bar:
        bar.add_task("removing the records of old sessions", total=None)
        removed = apply_retention(settings)
    touched = set(str(removed["projects"]).split(", "))
    result = _update_projects(settings, touched, console, limit=0)
    return {"removed": removed, **asdict(result)}


def _update_projects(
    settings: Settings, projects: Set[str], console: Console, *, limit: int | None
) -> IngestResult:
    """Run what these projects, workspaces and agents' memories have to do; `limit` as in
    `run_plans`."""
    components = Components(settings)
    sources = on_disk.find_sources(components)
    works = [work for work in plan.plan(components, sources) if work.project in projects]
    names = [work.project for work in works]
    with progress_line(components, sources, names, console) as (note, advance):
        result = run_plans(settings, works, limit=limit, progress=note, advance=advance)
    components.catalog.close()
    components = Components(settings)
    for work in [*plan_agent_memory(components), *plan_outdated(components)]:
        if work.project in projects:
            result.include(index_partition(settings, work))
    return result


def _due_lines(answer: dict[str, Any], spoken: Mapping[str, str]) -> Iterator[str]:
    sessions = answer["sessions"]
    yield (
        f"{counted(len(sessions), 'session')} older than {counted(answer['days'], 'day')} "
        f"would keep only prompts and summary; {answer['waiting']} more need `memory ingest` first."
    )
    named = ((session["session_id"], session["project"]) for session in sessions)
    yield from first_lines(
        f"  {session}  {spoken.get(project, project)}" for session, project in named
    )
