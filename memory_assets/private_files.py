"""Files that only their owner can read, 0700 for directories and 0600 for files; and what is not
written outside the data directory.

New files get these modes from the umask, which each of our processes sets when it starts and its
children inherit. Files that an earlier version left readable by others are corrected once; a
directory with mode 0700 costs one stat. Transcripts, projects, the sample sessions in the default
data directory, and other files that are not ours are never changed.
"""

from __future__ import annotations

import os
import stat
import sys
from contextlib import suppress
from fnmatch import fnmatch
from pathlib import Path

from memory_assets.paths import user_cache_dir, user_config_dir
from memory_assets.word_lists import words

_UMASK = 0o077
_DIRECTORY = 0o700
_OTHERS = 0o077
OURS = words(
    "agent_memory.db* catalog.db* chroma chroma.* claude-plugin dagster delta.json* delta.lock"
    " excluded.txt forgotten.db* forgotten.lock forgotten.cut.lock gateway_usage.db* hidden.*"
    " hooked_checkouts.* index.json* index.lock ingest.json* ingest.lock keywords.db* lake"
    " lineage.db* rebuild.lock retention.begun shard.json* shard.lock shards versions.json*"
    " watcher.json* watcher.lock workspaces.* workspaces-watcher.*"
)
"""Patterns of the names that this program gives in the data directory."""


def create_private_files() -> None:
    """Set the umask, so that this process and its children create files that only their owner can
    read; and let none of them leave a core file, which would hold the text that it had in memory.
    """
    os.umask(_UMASK)
    if os.name != "nt":
        import resource

        # Linux hands a core to a program that collects them (core_pattern) whatever the limit, but
        # for a limit of one byte, which is too little for a file, too: core(5), fs/coredump.c.
        _, hard = resource.getrlimit(resource.RLIMIT_CORE)
        limit = 1 if sys.platform == "linux" and hard != 0 else 0
        resource.setrlimit(resource.RLIMIT_CORE, (limit, limit))


def keep_temporary_files(data_dir: Path) -> None:
    """Let SQLite, in this process and its children, put temporary files into the data directory
    (https://www.sqlite.org/tempfiles.html), where else they would be in /var/tmp. A process that
    has imported sqlite3 before goes on as it began."""
    os.environ["SQLITE_TMPDIR"] = str(data_dir.absolute())


def create_once(path: Path, content: bytes) -> None:
    """Create a file that only its owner can read, unless there is one. It is whole before it gets
    its name: of several processes that create it at once, the first one wins."""
    import tempfile  # 10 ms, which most commands need not spend

    descriptor, staging = tempfile.mkstemp(dir=path.parent, prefix=f"{path.name}.")
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())  # else a power cut may leave the name without the content
        try:
            os.link(staging, path)
        except FileExistsError:
            pass
        except OSError:  # a file system without hard links
            Path(staging).replace(path)
    finally:
        Path(staging).unlink(missing_ok=True)


def take_from_others(data_dir: Path) -> None:
    """Make a memory, its cache and its configuration unreadable for others.

    The top of each directory is changed last, so that the next command repeats an interrupted
    change. Files that cannot be changed (another owner, a read-only disk) are skipped.
    """
    if _is_open(data_dir):
        with suppress(OSError):
            for path in data_dir.iterdir():
                if any(fnmatch(path.name, pattern) for pattern in OURS):
                    _close(path)
            data_dir.chmod(_DIRECTORY)
    for directory in (user_cache_dir(), user_config_dir()):
        if _is_open(directory):
            _close(directory)


def _is_open(directory: Path) -> bool:
    """Return True if others may enter a directory of this user; False on Windows, which has no such
    modes."""
    if os.name == "nt":
        return False
    try:
        status = directory.stat()
    except OSError:
        return False
    return bool(status.st_mode & _OTHERS) and status.st_uid == os.geteuid()


def _close(top: Path) -> None:
    """Remove the access of others from everything at and under a path, unless it is a link, which
    may lead to files that are not ours."""
    if top.is_symlink():
        return
    for directory, _, names in os.walk(top, topdown=False):
        for name in names:
            _take(Path(directory) / name)
        _take(Path(directory))
    _take(top)


def _take(path: Path) -> None:
    with suppress(OSError):
        mode = path.lstat().st_mode
        if not stat.S_ISLNK(mode) and mode & _OTHERS:
            path.chmod(stat.S_IMODE(mode) & ~_OTHERS)
