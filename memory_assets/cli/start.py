"""The entry point of the console script. Plain `memory status`, `search` and `mcp` skip
`cli.py`, whose imports take longer than these commands."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from memory_assets.private_files import create_private_files, take_from_others

if TYPE_CHECKING:
    from memory_assets.status import ReaderSettings


def main() -> None:
    """Run the command line."""
    create_private_files()
    if _answered(sys.argv[1:2], sys.argv[2:]):
        return
    from memory_assets.cli.cli import main as run

    run()


def _answered(command: Sequence[str], given: Sequence[str]) -> bool:
    """Answer without typer. Return False if `cli.py` has to do it: arguments are not plain,
    settings need validation, or a forgetting was interrupted."""
    quick = {"status": _status, "search": _search, "mcp": _mcp}.get("".join(command))
    if quick is None:
        return False
    from memory_assets.status import quick_settings

    settings = quick_settings()
    if settings is None or _needs_completion(settings.data_dir):
        return False
    return quick(settings, given)


def _status(settings: ReaderSettings, given: Sequence[str]) -> bool:
    from memory_assets.cli.status_command import show_status
    from memory_assets.errors import MemoryAssetsError

    if not set(given) <= {"--json"}:
        return False
    try:
        show_status(settings, as_json="--json" in given)
    except MemoryAssetsError:
        return False
    return True


def _search(_: ReaderSettings, given: Sequence[str]) -> bool:
    from memory_assets.cli import rendering
    from memory_assets.cli.failures import run_reporting_errors
    from memory_assets.cli.search_command import plain_arguments, search_plainly

    asked = plain_arguments(given)
    if asked is None:
        return False
    rendering.show_notices()
    run_reporting_errors(lambda: sys.exit(search_plainly(asked)))
    return True


def _mcp(settings: ReaderSettings, given: Sequence[str]) -> bool:
    from memory_assets.cli.failures import run_reporting_errors
    from memory_assets.cli.mcp_stdio import serve_stdio

    if given:
        return False
    run_reporting_errors(lambda: serve_stdio(settings))
    return True


def _needs_completion(data_dir: Path) -> bool:
    """Correct file modes, then return True if an interrupted forgetting must be completed."""
    take_from_others(data_dir)
    path = data_dir / "forgotten.db"
    if not path.exists():
        return False
    from memory_assets.errors import MemoryAssetsError
    from memory_assets.stores.tombstones import unfinished

    try:
        return unfinished(path)
    except MemoryAssetsError:
        return True  # `cli.py` prints the error
