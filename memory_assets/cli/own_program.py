"""How other programs (Git's hooks, editors, agents) start this installation's `memory`."""

from __future__ import annotations

import shutil
import sys
from pathlib import Path

from memory_assets.paths import DATA_DIR
from memory_assets.settings import Settings


def memory_program() -> str:
    """Return the absolute path of the console script beside this Python, or its name if it is
    installed elsewhere."""
    return shutil.which("memory", path=str(Path(sys.executable).parent)) or "memory"


def variables(settings: Settings) -> dict[str, str]:
    """Return the environment variables with which another program finds this memory: an editor's
    environment is not that of the shell."""
    own = settings.data_dir != DATA_DIR
    return {"MEMORY_DATA_DIR": str(settings.data_dir)} if own else {}
