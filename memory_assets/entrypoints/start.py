"""Where the console script begins: `memory status` at once, all else by `cli.py`."""

from __future__ import annotations

import sys


def main() -> None:
    """Run the command line."""
    if not (sys.argv[1:2] == ["status"] and set(sys.argv[2:]) <= {"--json"} and _quick_status()):
        from memory_assets.entrypoints.cli import main as run

        run()


def _quick_status() -> bool:
    """Print the status without loading the command line; False where that would not do:
    settings to be checked, a forgetting to be completed, anything that goes wrong."""
    from memory_assets.entrypoints.status_command import show_status
    from memory_assets.errors import MemoryAssetsError
    from memory_assets.overview import quick_where

    where = quick_where()
    if where is None or (where.data_dir / "forgotten.db").exists():
        return False
    try:
        show_status(where, as_json="--json" in sys.argv)
    except MemoryAssetsError:
        return False
    return True
