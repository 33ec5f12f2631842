"""The command by which Git's hooks, editors and agents start this installation's `memory`, and
writing the files that contain it."""

from __future__ import annotations

import shutil
import sys
from pathlib import Path
from shlex import quote

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
    environment = {"MEMORY_DATA_DIR": str(settings.data_dir)} if own else {}
    return {**environment, "MEMORY_TENANT": settings.tenant} if settings.tenant else environment


def shell_command(settings: Settings, wrapped_in: str = "") -> str:
    """Return the words by which a shell starts this installation's `memory` in this environment,
    after `wrapped_in` ("nohup ", for example)."""
    assignments = "".join(f"{name}={quote(value)} " for name, value in variables(settings).items())
    return f"{assignments}{wrapped_in}{quote(memory_program())}"


def replace_file(path: Path, content: bytes, mode: int = 0o644) -> None:
    """Replace a file of another program in one step, where a link leads to, and keep its mode; a
    new one has `mode`, because others than its owner may have to read it.

    Without content the file goes. Where a link leads to one, as from a home directory to a
    repository of settings, link and file stay, the file without entries: nobody but their owner
    knows what else reads it."""
    if not content:
        if not path.is_symlink():
            path.unlink(missing_ok=True)
            return
        if not path.exists():
            return
        content = b"{}\n" if path.suffix == ".json" else b"#!/bin/sh\n"
    path = path.resolve()
    if not path.parent.is_dir():
        for directory in reversed([parent for parent in path.parents if not parent.is_dir()]):
            directory.mkdir()
            directory.chmod(0o755)
    staging = path.with_name(f"{path.name}.memory")
    staging.write_bytes(content)
    staging.chmod(path.stat().st_mode if path.exists() else mode)
    staging.replace(path)
