"""The command line's exit codes, a contract (docs/contracts.md), and the errors that lead to
them: one line on stderr each."""

from __future__ import annotations

import sys
from collections.abc import Callable

from memory_assets.errors import ConfigurationError, MemoryAssetsError, NotFound, unexpected

FINE, ERROR, USAGE, NOTHING_FOUND, CHECK_FAILED = range(5)


def run_reporting_errors(command: Callable[[], object]) -> None:
    """Run a command; print an exception as one line on stderr, which quotes no transcript, and exit
    with its code."""
    try:
        command()
    except MemoryAssetsError as error:
        codes = {ConfigurationError: USAGE, NotFound: NOTHING_FOUND}
        found = (code for kind, code in codes.items() if isinstance(error, kind))
        _fail(str(error), next(found, ERROR))
    except BrokenPipeError:
        sys.stderr.close()
        sys.exit(ERROR)
    except Exception as error:  # noqa: BLE001 - a traceback's message may quote a transcript
        _fail(str(unexpected(error)), ERROR)


def _fail(message: str, code: int) -> None:
    from memory_assets.cli.printing import rendering

    rendering.print_lines([f"error {message}"], stderr=True)
    sys.exit(code)
