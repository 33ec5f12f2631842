"""The entry point of the console script. Plain `memory status`, `search` and `mcp` skip
`cli.py`, whose imports take longer than these commands."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path

from memory_assets.private_files import create_private_files, take_from_others


def main() -> None:
    """Run the command line."""
    create_private_files()
    command, given = sys.argv[1:2], sys.argv[2:]
    if command == ["status"] and set(given) <= {"--json"} and _quick_status():
        return
    if command == ["search"] and _quick_search(given):
        return
    if command == ["mcp"] and not given and _quick_mcp():
        return
    from memory_assets.cli.cli import main as run

    run()


def _quick_status() -> bool:
    """Print the status without typer. Return False if `cli.py` has to do it: settings need
    validation, a forgetting was interrupted, or an error occurred."""
    from memory_assets.cli.status_command import show_status
    from memory_assets.errors import MemoryAssetsError
    from memory_assets.status import quick_where

    where = quick_where()
    if where is None or _needs_completion(where.data_dir):
        return False
    try:
        show_status(where, as_json="--json" in sys.argv)
    except MemoryAssetsError:
        return False
    return True


def _quick_search(given: Sequence[str]) -> bool:
    """Search without typer. Return False if `cli.py` has to do it."""
    from memory_assets.cli import rendering
    from memory_assets.cli.failures import run_told
    from memory_assets.cli.search_command import plain_arguments, search_plainly
    from memory_assets.status import quick_where

    asked, where = plain_arguments(given), quick_where()
    if asked is None or where is None or _needs_completion(where.data_dir):
        return False
    rendering.show_notices()
    run_told(lambda: sys.exit(search_plainly(asked)))
    return True


def _quick_mcp() -> bool:
    """Serve MCP without typer. Return False if `cli.py` has to do it."""
    from memory_assets.cli.failures import run_told
    from memory_assets.cli.mcp_stdio import serve_stdio
    from memory_assets.status.reader_settings import quick_settings

    settings = quick_settings()
    if settings is None or _needs_completion(settings.data_dir):
        return False
    run_told(lambda: serve_stdio(settings))
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
