"""Where the third-party evaluation data is, and how its transcripts are laid out as one home.

The data is looked for in MEMORY_BENCH_DATA, else in ../shared/data beside the checkout.
"""

from __future__ import annotations

import os
import shutil
import sys
import tarfile
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parent.parent


def data_dir() -> Path:
    """Return the directory of the evaluation data, or end with a message that says where
    it was looked for."""
    directory = Path(os.environ.get("MEMORY_BENCH_DATA", REPOSITORY.parent / "shared" / "data"))
    if not directory.is_dir():
        sys.exit(f"no evaluation data in {directory}; set MEMORY_BENCH_DATA to where it is")
    return directory


def unpack(archive: str, into: Path) -> Path:
    """Unpack one archive of the evaluation data."""
    with tarfile.open(data_dir() / archive, "r:xz") as tar:
        tar.extractall(into, filter="data")
    return into


def merge_homes(unpacked: Path, into: Path) -> dict[str, str]:
    """Copy every repository's transcripts into one directory an agent, and return the
    environment variables that point `memory` at them."""
    layout = {
        "claude/projects": ("claude", "MEMORY_PROJECTS_DIR"),
        "codex": ("codex", "MEMORY_CODEX_DIR"),
        "pi": ("pi", "MEMORY_PI_DIR"),
    }
    environment = {}
    for inner, (name, variable) in layout.items():
        target = into / name
        for repository in sorted(unpacked.iterdir()):
            if (repository / inner).is_dir():
                shutil.copytree(repository / inner, target, dirs_exist_ok=True)
        environment[variable] = str(target)
    return environment
