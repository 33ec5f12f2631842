"""The console script `memory`: its commands, and what comes before each. Parsing is click's.

Exit codes: 0 fine, 1 error, 2 usage, 3 found nothing, 4 a check failed. Dagster is imported by
the commands that need it (`dev`, `retain`, `forget`), never by the others.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from functools import partial
from importlib import import_module

import click

from memory_assets import __version__
from memory_assets.cli.commands import flag
from memory_assets.cli.completion import complete
from memory_assets.cli.exit_codes import run_reporting_errors
from memory_assets.cli.prepare import prepare
from memory_assets.cli.printing.rendering import print_lines
from memory_assets.errors import MemoryAssetsError, NotFound
from memory_assets.private_files import create_private_files, keep_temporary_files
from memory_assets.settings import Settings, load_settings

_GROUPS = {
    "Ingest and maintain": {
        "ingest": "maintenance_commands",
        "index": "ingesting.index_command",
        "init-workspace": "installing.init_workspace",
        "install-hooks": "installing.git_hooks",
        "plugin": "installing.agent_plugin",
        "link": "ask_commands",
        "unlink": "ask_commands",
        "rebuild": "server_commands",
        "remember": "memory_commands",
        "upkeep": "memory_commands",
        "pin": "memory_commands",
        "hide": "memory_commands",
        "retain": "memory_commands",
        "forget": "memory_commands",
        "push": "shard_commands",
        "pull": "shard_commands",
        "sync": "shard_commands",
        "uninstall": "installing.uninstall",
    },
    "Ask": {
        "search": "ask_commands",
        "show": "ask_commands",
        "sessions": "ask_commands",
        "usage": "ask_commands",
        "timeline": "ask_commands",
        "summarize": "ask_commands",
        "blame": "ask_commands",
        "cross-query": "ask_commands",
        "how": "action_commands",
        "friction": "action_commands",
        "resume": "action_commands",
        "restore": "action_commands",
        "export": "action_commands",
        "memories": "memory_commands",
        "context": "context_command",
    },
    "Check": {
        "status": "status_command",
        "workspaces": "ingesting.index_command",
        "audit": "ask_commands",
        "verify": "maintenance_commands",
        "doctor": "maintenance_commands",
        "costs": "status_command",
    },
    "Run": {
        "mcp": "server_commands",
        "serve": "server_commands",
        "open": "server_commands",
        "dev": "server_commands",
        "chroma": "server_commands",
    },
}
"""The commands with their modules, by the groups in which `memory --help` lists them."""
_MODULES = {name: module for names in _GROUPS.values() for name, module in names.items()}
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


class _Commands(click.Group):
    """Commands whose modules are imported when they are needed: all of them take .2 s of CPU."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the names of the commands."""
        return list(_MODULES)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Return a command; None if there is none of this name."""
        return _imported(cmd_name) if cmd_name in _MODULES else None

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Return the command that words begin with, with its name and the other words.

        Raises:
            click.NoSuchCommand: there is none; names those that are spelled alike.
        """
        try:
            return super().resolve_command(ctx, args)
        except click.NoSuchCommand as error:  # which knows no command that is not imported
            name = error.command_name
            raise click.NoSuchCommand(name, possibilities=_MODULES, ctx=ctx) from None

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the commands, by their groups."""
        width = max(map(len, _MODULES))
        for group, names in _GROUPS.items():
            helps = {name: str(_imported(name).help).partition("\n")[0] for name in names}
            with formatter.section(group):
                formatter.write_dl([(name.ljust(width), text) for name, text in helps.items()])


def _imported(name: str) -> click.Command:
    module = import_module(f"memory_assets.cli.{_MODULES[name]}")
    command: click.Command = getattr(module, name.replace("-", "_"))
    return command


_completion = partial(flag, callback=complete, expose_value=False)


@click.group(cls=_Commands, invoke_without_command=True)
@click.version_option(__version__, message="%(version)s", help="Print the version.")
@_completion("--install-completion", help="Install completion for the current shell.")
@_completion("--show-completion", help="Show what completes in the current shell, to copy it.")
@click.pass_context
def memory(ctx: click.Context) -> None:
    """Search what your coding agents did before."""
    if ctx.invoked_subcommand == "context":  # prepares by itself: it may not fail
        return
    settings = load_settings()
    prepare(settings)
    if ctx.invoked_subcommand is None:
        print_lines(_what_to_type(settings))


def main() -> None:
    """Run the command line; an error becomes one line and an exit code."""
    create_private_files()
    with suppress(MemoryAssetsError):  # a wrong setting is told by what needs it
        keep_temporary_files(load_settings().data_dir)
    run_reporting_errors(_run)


def _run() -> None:
    try:
        memory.main(prog_name="memory", standalone_mode=False)
    except click.Abort as aborted:  # which is what click makes of an interrupt
        raise aborted.__cause__ or aborted from None


def _what_to_type(settings: Settings) -> Iterator[str]:
    """Yield lines for somebody who does not know what to type."""
    from memory_assets.status.words import counted

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
