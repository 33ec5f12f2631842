"""The command line's exit codes, a contract (docs/contracts.md), and the errors that lead to
them: one line on stderr each."""

from __future__ import annotations

import sys
from collections.abc import Callable
from contextlib import closing, suppress

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
        _fail(_with_spoken_projects(str(error)), next(matching, ERROR))
    except click.ClickException as error:
        error.show()
        sys.exit(error.exit_code)
    except KeyboardInterrupt as stopped:
        _fail(str(stopped) or "Stopped.", INTERRUPTED, as_error=False)
    except Exception as error:  # noqa: BLE001 - a traceback's message may quote a transcript
        _fail(str(unexpected(error)), ERROR)


def _with_spoken_projects(message: str) -> str:
    """Return a message in whose commands projects have their spoken names."""
    if "--project=" not in message:
        return message
    from memory_assets.project_names import with_spoken_projects
    from memory_assets.settings import load_settings
    from memory_assets.stores.catalog.catalog import catalog_of

    with suppress(MemoryAssetsError), closing(catalog_of(load_settings().data_dir)) as catalog:
        return with_spoken_projects(message, catalog.spoken_projects())
    return message


def _fail(message: str, code: int, *, as_error: bool = True) -> None:
    from memory_assets.cli.printing import rendering

    rendering.print_lines([f"error {message}" if as_error else message], stderr=True)
    sys.exit(code)
