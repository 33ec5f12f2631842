"""The command line's exit codes, a contract (docs/contracts.md), and the errors that lead to
them: one line on stderr each."""

from __future__ import annotations

import sys
from collections.abc import Callable

import click

from memory_assets.cli import INTERRUPTED
from memory_assets.errors import ConfigurationError, MemoryAssetsError, NotFound, unexpected

FINE = 0
ERROR = 1
USAGE = 2
NOTHING_FOUND = 3
CHECK_FAILED = 4


def run_reporting_errors(command: Callable[[], object]) -> None:
    """Run a command; print an exception as one line on stderr, which quotes no transcript, and exit
    with its code. An interrupt (Ctrl-C) prints its own message, or "Stopped."."""
    try:
        command()
    except MemoryAssetsError as error:
        codes = {ConfigurationError: USAGE, NotFound: NOTHING_FOUND}
        matching = (code for kind, code in codes.items() if isinstance(error, kind))
        _fail(_told(error), next(matching, ERROR))
    except click.ClickException as error:
        message = error.format_message()
        context = getattr(error, "ctx", None)
        see = f" See `{context.command_path} --help`." if context is not None else ""
        end = "" if message.endswith((".", "?", "?)")) else "."
        _fail(f"{message[:1].lower()}{message[1:]}{end}{see}", error.exit_code)
    except KeyboardInterrupt as stopped:
        _fail(str(stopped) or "Stopped.", INTERRUPTED, as_error=False)
    except Exception as error:  # noqa: BLE001 - a traceback's message may quote a transcript
        _fail(str(unexpected(error)), ERROR)


def _told(error: MemoryAssetsError) -> str:
    from memory_assets.settings import load_settings
    from memory_assets.status.words import told_error

    try:
        return told_error(error, load_settings().data_dir)
    except ConfigurationError:  # a wrong setting, which may be the error itself
        return str(error)


def _fail(message: str, code: int, *, as_error: bool = True) -> None:
    from memory_assets.cli.printing import rendering

    rendering.print_lines([f"error {message}" if as_error else message], stderr=True)
    sys.exit(code)
