"""`memory index` and `memory workspaces`: documents and code of a workspace as memory."""

from __future__ import annotations

import sys
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from memory_assets.cli import exit_codes
from memory_assets.cli.commands import JSON, PATH, command, flag
from memory_assets.cli.printing import rendering
from memory_assets.errors import ConfigurationError, MemoryAssetsError, NotFound, safe_reason
from memory_assets.settings import Settings, load_settings
from memory_assets.status.words import counted, named_documents
from memory_assets.stores.workspaces import Workspace, Workspaces

if TYPE_CHECKING:
    from rich.console import Console

    from memory_assets.pipeline.stage.components import Components, Progress

_MOST_RUNS = 4
_MANY_FILES = 20_000
"""A directory with more files is indexed with `--yes` only."""


@command("memory index ~/code/app")
@click.argument(
    "root",
    type=PATH,
    required=False,
    help="The directory of a workspace; without it, all on record.",
)
@flag("--watch", help="Keep running and index changes until Ctrl-C.")
@click.option("--file", type=PATH, help="Look at this file only; it is in a workspace on record.")
@flag("--full", help="Make everything again, even if unchanged.")
@flag("--yes", help="Index a home directory, or over 20,000 files.")
@JSON
def index(
    root: Path | None, watch: bool, file: Path | None, full: bool, yes: bool, json: bool
) -> None:
    """Index the documents and code of a workspace.

    Finds the text files that Git does not ignore, redacts them, cuts them into sections,
    definitions and operations, and makes them searchable: `memory search --in workspace`.
    Without changes it does nothing. With --watch it follows all workspaces on record.
    """
    settings = load_settings()
    console = rendering.open_console(stderr=json)
    if watch and (full or json):
        raise ConfigurationError("--watch cannot be combined with --full or --json")
    if file is not None and (root is not None or watch or full):
        raise ConfigurationError("--file cannot be combined with a directory, --watch or --full")
    if file is not None:
        file = file.expanduser().parent.resolve() / file.name
        workspaces = [Workspaces(settings.data_dir).of_file(file)]
    else:
        workspaces = _selected_workspaces(settings, root, yes)
    if watch:
        from memory_assets.cli.ingesting.watch_command import watch_workspaces

        sys.exit(watch_workspaces(settings))
    report: dict[str, Any] = {"workspaces": []}
    for workspace in workspaces:
        try:
            report["workspaces"].append(_index_workspace(settings, workspace, file, full, console))
        except MemoryAssetsError as error:
            reason = safe_reason(error)
            report["workspaces"].append({"name": workspace.name, "failed": {"": reason}})
    if json:
        rendering.print_json(report)
    else:
        rendering.print_lines(line for row in report["workspaces"] for line in _lines(row))
    for row in report["workspaces"]:
        nothing_read = row.get("held_back") and not row["documents"]
        if row.get("failed") or nothing_read:
            sys.exit(exit_codes.ERROR)
    if any(row["checks_failed"] for row in report["workspaces"]):
        sys.exit(exit_codes.CHECK_FAILED)


@command()
@JSON
def workspaces(json: bool) -> None:
    """List the workspaces on record."""
    from memory_assets.status.workspaces import workspace_lines, workspaces_on_record

    on_record = workspaces_on_record(load_settings().data_dir)
    rendering.print_answer({"workspaces": on_record}, json, workspace_lines(on_record))
    if not on_record:
        raise NotFound("no workspace on record; run `memory index ROOT`")


def _selected_workspaces(settings: Settings, root: Path | None, yes: bool) -> list[Workspace]:
    """Return the workspace of a directory, or all of the settings and on record.

    Raises:
        ConfigurationError: there is none, or it should not be indexed as a whole.
    """
    registry = Workspaces(settings.data_dir)
    settings.data_dir.mkdir(parents=True, exist_ok=True)
    if root is None:
        for root_path in settings.workspaces:
            registry.add(Path(root_path))
        if registered := registry.all():
            return registered
        raise ConfigurationError("no workspace on record; name a directory: `memory index .`")
    workspace = registry.of_root(root)
    if workspace not in registry.all() and not yes:
        _require_a_workspace(settings, workspace)
    return [registry.add(root)]


def _require_a_workspace(settings: Settings, workspace: Workspace) -> None:
    """Walk a directory that is to be a workspace, once for all that follows.

    Raises:
        ConfigurationError: it is a home directory, or has very many files.
    """
    from memory_assets.pipeline.stage.components import components_of
    from memory_assets.pipeline.workspace.files import files_of

    root, components = workspace.root, components_of(settings)
    if root == Path.home() or root in Path.home().parents:
        raise ConfigurationError(
            f"{root} is or holds your home directory; add --yes if you mean it"
        )
    walk = files_of(components, workspace, most=_MANY_FILES + 1)
    if len(walk.files) > _MANY_FILES:
        raise ConfigurationError(
            f"{root} has more than {_MANY_FILES:,} files; leave some out in .memoryignore, or add "
            "--yes"
        )
    components.walks[root] = walk


def _index_workspace(
    settings: Settings, workspace: Workspace, file: Path | None, full: bool, console: Console
) -> dict[str, Any]:
    """Bring a workspace up to date, or one of its files; return what came of it. Its files are
    walked once."""
    from memory_assets.pipeline.stage.components import components_of
    from memory_assets.pipeline.workspace.files import one_file, one_walk

    started = time.perf_counter()
    components = components_of(settings)
    if full:
        components.catalog.products.forget_project(workspace.partition)
    if file is None:
        looked = one_walk(components, workspace)
    else:
        looked = one_file(components, workspace, file.relative_to(workspace.root).as_posix())
    with looked:
        done = _run_until_settled(components, workspace, console)
        contents = _workspace_contents(components, workspace)
    seconds = round(time.perf_counter() - started, 2)
    root = str(workspace.root)
    return {"name": workspace.name, "root": root, "seconds": seconds, **done, **contents}


def _run_until_settled(
    components: Components, workspace: Workspace, console: Console
) -> dict[str, Any]:
    """Run what the plan asks for, again for as long as that teaches secrets; return the result."""
    from memory_assets.cli.ingesting.ingest import IndexResult, index_workspace
    from memory_assets.pipeline.plan.plan import plan_workspace
    from memory_assets.pipeline.workspace.files import made_with

    work = plan_workspace(components, workspace)
    result, counts = IndexResult(), Counter[str]()
    due, tried = work, set[str]()
    while due is not None and due.fingerprint not in tried and len(tried) < _MOST_RUNS:
        tried.add(due.fingerprint)
        version = made_with(components)
        with _shown_progress(f"indexing {workspace.name}", console) as progress:
            result = index_workspace(components.settings, due, progress=progress)
        counts.update(result.counts)
        # What the independent scanner reported is known now, and taken out by the next run.
        learned = made_with(components) != version
        due = plan_workspace(components, workspace) if learned else None
    return {
        "work": work.reason if work is not None else "",
        "done": dict(counts),
        "failed": result.failed,
        "checks_failed": result.checks_failed,
        "places": sorted({place.partition(" row ")[0] for place in result.places}),
    }


@contextmanager
def _shown_progress(title: str, console: Console) -> Iterator[Progress]:
    """Yield what shows, while a block lasts, which table is made of how many documents, and says
    from when on they can be searched by words."""
    from memory_assets.stores.lake.schemas import WORKSPACE_EMBEDDINGS

    started = time.perf_counter()
    table, is_notice_due = "", False
    with rendering.progress_bar(console) as bar:
        task = bar.add_task(rendering.escaped(title), total=None)

        def show(_: str, name: str, number: int, count: int) -> None:
            nonlocal table, is_notice_due
            if name != table:
                table = name
                bar.reset(task, total=count, description=rendering.escaped(f"{title}: {name}"))
                seconds = time.perf_counter() - started
                if name == WORKSPACE_EMBEDDINGS.name and not is_notice_due:
                    is_notice_due = True
                    if seconds > rendering.WORTH_SAYING_SECONDS:
                        console.print(
                            f"Searchable by words after {seconds:.0f} s. Search by meaning comes "
                            "next; stop when you like, `memory index` goes on."
                        )
            bar.update(task, completed=number)

        yield show


def _workspace_contents(components: Components, workspace: Workspace) -> dict[str, Any]:
    """Return what is on record of a workspace, and what is left out and why."""
    from memory_assets.documents.domains import domains_of
    from memory_assets.pipeline.workspace.files import STAGE, files_of
    from memory_assets.stores.catalog.facts import count
    from memory_assets.stores.lake.schemas import WORKSPACE_CHUNKS

    products, files = components.catalog.products, files_of(components, workspace)
    documents = products.of_project(STAGE, workspace.partition).values()
    chunks = products.of_project(WORKSPACE_CHUNKS.name, workspace.partition).values()
    skipped = files.skipped.copy()
    skipped.update(filter(None, (document.facts.get("skipped") for document in documents)))
    held = components.catalog.quarantine.entries(workspace.partition)
    return {
        "documents": sum(document.rows for document in documents),
        "chunks": sum(count(chunk.facts, "chunks") for chunk in chunks),
        "by_name": sum(count(chunk.facts, "by_name") for chunk in chunks),
        "skipped": dict(sorted(skipped.items())),
        "domains_unread": domains_of(workspace.root, files.files)[1],
        "held_back": [
            {"file": entry.session_id, "reason": entry.reason, "remedy": entry.remedy}
            for entry in held
        ],
    }


def _lines(report: dict[str, Any]) -> Sequence[str]:
    """Return the report on a workspace in lines."""
    if "documents" not in report:
        return [f"{report['name']}: {reason}" for reason in report["failed"].values()]
    work = report["work"] or "nothing to do"
    lines = [
        f"{report['name']}: {counted(report['documents'], 'document')}, "
        f"{counted(report['chunks'], 'chunk')} ({work}; {report['seconds']} s)."
    ]
    if report["skipped"]:
        reasons = ", ".join(f"{number} {why}" for why, number in report["skipped"].items())
        lines.append(f"Left out: {reasons}.")
    lines += named_documents(report["by_name"])
    lines += [
        f"{path} cannot be parsed, so it names no domains." for path in report["domains_unread"]
    ]
    held: dict[str, dict[str, list[str]]] = {}
    for entry in report["held_back"]:
        held.setdefault(entry["remedy"], {}).setdefault(entry["reason"], []).append(entry["file"])
    for remedy, by_reason in sorted(held.items()):
        lines += [f"held back {', '.join(names)}: {reason}" for reason, names in by_reason.items()]
        lines.append(f"To do: {remedy}.")
    lines += [f"failed: {reason}" for reason in report["failed"].values()]
    lines += [
        f"check failed: {name}, so nothing new of this workspace can be found. Leave out in "
        f".memoryignore, then run this again: {', '.join(report['places'])}"
        for name in report["checks_failed"]
    ]
    return lines
