"""The console script `memory`. Parsing and printing only.

Exit codes: 0 fine, 1 error, 2 usage, 3 found nothing, 4 a check failed. Dagster is imported by
the commands that need it (`dev`, `retain`, `forget`), never by the others.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Annotated

import typer

from memory_assets import __version__
from memory_assets.cli import (
    action_commands,
    ask_commands,
    costs_command,
    memory_commands,
    removal_commands,
    server_commands,
    shard_commands,
)
from memory_assets.cli.earlier_names import RequestCommand
from memory_assets.cli.exit_codes import run_reporting_errors
from memory_assets.cli.ingesting import index_command
from memory_assets.cli.installing import agent_plugin, git_hooks, init_workspace, uninstall
from memory_assets.cli.prepare import prepare
from memory_assets.cli.printing.rendering import print_lines
from memory_assets.cli.request_options import Json, Projects, with_options
from memory_assets.errors import ConfigurationError, NotFound
from memory_assets.private_files import create_private_files
from memory_assets.settings import Settings, load_settings
from memory_assets.status import counted

app = typer.Typer(
    name="memory",
    help="Search what your coding agents did before.",
    rich_markup_mode="markdown",
    pretty_exceptions_enable=False,
)


_NO_MEMORY = (
    ("memory ingest", "take in your coding agents' sessions"),
    ("memory doctor", "what is found here, and what is missing"),
)
_MEMORY = (
    ("memory search why did it fail", "by words and meaning"),
    ('memory search --exact "error: ..."', "a line, in tool output, too"),
    ("memory sessions --project .", "what was done in this directory"),
    ("memory resume --last", "go on with the last session"),
    ("memory open", "the page, in your browser"),
    ("memory ingest", "take in what is new"),
)


def main() -> None:
    """Run the command line; errors of ours become one line and an exit code."""
    create_private_files()
    run_reporting_errors(_run_app)


def _run_app() -> None:
    try:
        app()
    except SystemExit as ended:  # typer makes one of an interrupt, without a word
        interrupt = getattr(ended.__context__, "__cause__", None)
        raise interrupt if isinstance(interrupt, KeyboardInterrupt) else ended from None


@app.callback(invoke_without_command=True)
def _root(
    context: typer.Context,
    version: Annotated[bool, typer.Option("--version", help="Print the version.")] = False,
) -> None:
    if version:
        typer.echo(__version__)
        raise typer.Exit
    prepare(load_settings())
    if context.invoked_subcommand is None:
        print_lines(_what_to_type(load_settings()))


def _what_to_type(settings: Settings) -> Iterator[str]:
    """Yield lines for somebody who does not know what to type."""
    yield "memory: search what your coding agents did before."
    yield ""
    sessions = _sessions(settings)
    if sessions:
        yield f"{counted(sessions, 'session')} in memory. Type:"
    else:
        yield "Nothing is in memory yet. Type:"
    yield ""
    for command, meaning in _MEMORY if sessions else _NO_MEMORY:
        yield f"  {command:<36}{meaning}"
    yield ""
    yield "memory --help lists all commands; memory search --help, the options of one."


def _sessions(settings: Settings) -> int:
    """Return the number of sessions in memory."""
    from memory_assets.recall import open_memory
    from memory_assets.stores.catalog.session_counts import counted_sessions

    try:
        return len(counted_sessions(open_memory(settings).catalog))
    except NotFound:
        return 0


def ingest(
    once: Annotated[
        bool, typer.Option("--once", help="Ingest what changed, then stop (the default).")
    ] = True,
    watch: Annotated[
        bool, typer.Option("--watch", help="Keep running and ingest changes until Ctrl-C.")
    ] = False,
    limit: Annotated[
        int | None, typer.Option(min=1, help="Ingest at most this many new or changed files.")
    ] = None,
    projects_dir: Annotated[
        list[Path] | None,
        typer.Option(help="Read only this projects directory of Claude Code; repeatable."),
    ] = None,
    project: Projects = None,
    agent: Annotated[
        list[str] | None,
        typer.Option(help="Only this agent; `--agent=-gemini`: all but this. Repeatable."),
    ] = None,
    full: Annotated[
        bool, typer.Option("--full", help="Rebuild everything, even if unchanged.")
    ] = False,
    json: Json = False,
) -> None:
    """Ingest new and changed transcripts.

    Finds the transcripts of Claude Code, Codex, Copilot, Cursor, Gemini and other agents in their
    places (docs/agents.md), redacts them and updates all tables and indexes. Without changes it
    does nothing.
    """
    settings = load_settings(
        projects_dir=projects_dir or None, agents=tuple(agent) if agent else None
    )
    if watch:
        if limit is not None or project or full or json:
            raise ConfigurationError(
                "--watch cannot be combined with --limit, --project, --full or --json"
            )
        from memory_assets.cli.ingesting.watch_command import watch_directories

        raise typer.Exit(watch_directories(settings))
    from memory_assets.cli.ingesting.ingest_command import ingest_once

    outcome = ingest_once(settings, limit=limit, projects=project or [], full=full, as_json=json)
    raise typer.Exit(outcome)


def status(json: Json = False) -> None:
    """Show what is in memory.

    Prints counts, coverage and freshness, and for each session that is held back the cause and
    what to do.
    """
    from memory_assets.cli.status_command import show_status

    show_status(load_settings(), as_json=json)


def doctor(json: Json = False) -> None:
    """Check this installation.

    Prints what is found, what is missing, and what to do about it.
    """
    from memory_assets.cli.doctor_command import show_diagnosis

    raise typer.Exit(show_diagnosis(load_settings(), as_json=json))


def verify(
    deep: Annotated[
        bool, typer.Option("--deep", help="Also search every byte on disk for known secrets.")
    ] = False,
    project: Projects = None,
    canary_file: Annotated[
        Path | None,
        typer.Option(help="With --deep: a file of values that must not be found, one a line."),
    ] = None,
    json: Json = False,
) -> None:
    """Check all data against the transcripts.

    Runs every check without Dagster and reads the transcripts again: rows that are missing, rows
    that differ, and secrets that were not redacted are reported with exit code 4.
    """
    from memory_assets.cli.verify_command import verify_memory

    raise typer.Exit(
        verify_memory(
            load_settings(),
            projects=project or [],
            deep=deep,
            canary_file=canary_file,
            as_json=json,
        )
    )


_COMMANDS: dict[str, tuple[Callable[..., None], ...]] = {
    "Ingest and maintain": (
        ingest,
        index_command.index,
        init_workspace.init_workspace,
        git_hooks.install_hooks,
        agent_plugin.plugin,
        ask_commands.link,
        ask_commands.unlink,
        server_commands.rebuild,
        memory_commands.remember,
        memory_commands.upkeep,
        memory_commands.pin,
        memory_commands.hide,
        removal_commands.retain,
        removal_commands.forget,
        shard_commands.push,
        shard_commands.pull,
        shard_commands.sync,
        uninstall.uninstall,
    ),
    "Ask": (
        ask_commands.search,
        ask_commands.show,
        ask_commands.sessions,
        ask_commands.usage,
        ask_commands.timeline,
        ask_commands.summarize,
        ask_commands.blame,
        ask_commands.cross_query,
        action_commands.how,
        action_commands.friction,
        action_commands.resume,
        action_commands.restore,
        action_commands.export,
        memory_commands.memories,
        memory_commands.context,
    ),
    "Check": (
        status,
        index_command.workspaces,
        ask_commands.audit,
        verify,
        doctor,
        costs_command.costs,
    ),
    "Run": (
        server_commands.mcp,
        server_commands.serve,
        server_commands.open,
        server_commands.dev,
        server_commands.chroma,
    ),
}
"""The commands by the groups in which `memory --help` lists them."""

EXAMPLES = {
    "ingest": "memory ingest --project . --agent=-gemini",
    "index": "memory index ~/code/app",
    "init-workspace": "memory init-workspace ~/code/app",
    "install-hooks": "memory install-hooks ~/code/app",
    "link": "memory link 3d0f6a52 HEAD",
    "unlink": "memory unlink 3d0f6a52 1a2b3c4",
    "remember": "memory remember Deploys need the VPN. --project .",
    "pin": "memory pin 3d0f6a52:2 the fix is here",
    "hide": "memory hide 3d0f6a52",
    "retain": "memory retain --dry-run",
    "forget": "memory forget --project app --before 90d --dry-run",
    "pull": "memory pull s3://company/team",
    "search": "memory search why did the upload time out --project . --since 'last monday'",
    "show": "memory show 3d0f6a52:1 --records",
    "sessions": "memory sessions --project . --since yesterday",
    "usage": "memory usage --by project --since 'last week'",
    "timeline": "memory timeline yesterday --project .",
    "summarize": "memory summarize 3d0f6a52",
    "blame": "memory blame src/app.py:40",
    "cross-query": "memory cross-query why are uploads slow --project .",
    "how": "memory how git push --project .",
    "friction": "memory friction --project . -n 5",
    "resume": "memory resume --last --run",
    "restore": "memory restore src/app.py --at yesterday",
    "export": "memory export --project . --format html --output sessions.html",
    "memories": "memory memories --project . --sort confidence",
    "context": "memory context --project .",
    "status": "memory status --json",
    "audit": "memory audit 3d0f6a52:1",
    "verify": "memory verify --deep --project .",
    "mcp": "memory mcp --write",
}
"""An example of each command, which its help ends with; of the others it is their name."""

for _group, _functions in _COMMANDS.items():
    for _function in _functions:
        _name = _function.__name__.replace("_", "-")
        _example = f"Example: `{EXAMPLES.get(_name, f'memory {_name}')}`"
        app.command(rich_help_panel=_group, cls=RequestCommand, epilog=_example)(
            with_options(_function)
        )
