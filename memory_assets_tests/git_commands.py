"""Git as a test runs it: at a time of its own, with nobody's settings."""

from __future__ import annotations

import os
import subprocess
from datetime import datetime
from pathlib import Path

_KEEP_THE_AUTHOR = ("rebase", "cherry-pick")


def git(repository: Path, *arguments: str, at: datetime) -> str:
    """Run Git in a repository at a time, as Mara; return what it prints."""
    stamp = f"{int(at.timestamp())} +0000"
    environment = {
        "PATH": os.environ["PATH"],
        "HOME": str(repository.parent),
        "GIT_CONFIG_NOSYSTEM": "1",
        "GIT_COMMITTER_DATE": stamp,
    }
    for who in ("GIT_AUTHOR", "GIT_COMMITTER"):
        environment |= {f"{who}_NAME": "Mara", f"{who}_EMAIL": "mara@example.com"}
    if arguments[0] not in _KEEP_THE_AUTHOR:
        environment["GIT_AUTHOR_DATE"] = stamp
    command = ["git", *arguments]
    done = subprocess.run(
        command, cwd=repository, env=environment, capture_output=True, text=True, check=True
    )
    return done.stdout
