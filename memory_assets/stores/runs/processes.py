"""The process of a run, as a tag of the run names it."""

from __future__ import annotations

import os
import socket
from pathlib import Path

PROCESS_TAG = "memory/process"


def this_process() -> str:
    """Return the tag value that identifies this process: host, process id and start time,
    because process ids are reused."""
    return f"{socket.gethostname()}:{os.getpid()}:{_started_at(os.getpid())}"


def is_alive(process: str) -> bool:
    """Whether the process of a tag value is alive; one on another host counts as such."""
    host, pid, *when = process.split(":")
    if host != socket.gethostname():
        return True
    try:
        os.kill(int(pid), 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return when in ([], [""]) or when == [_started_at(int(pid))]


def _started_at(pid: int) -> str:
    """Return the start time of a process in ticks since boot, or "" if the system has no /proc.
    Field 22 of proc_pid_stat(5), the 20th after the name in parentheses."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""
    return stat.rpartition(")")[2].split()[19]
