"""The file of the journal of what agents wrote, and its copy: opening, copying, and restoring them.

The copy is made before an export to the lake, so that it has all that the lake has. Opening a lost
journal restores the copy; `recover_damaged` replaces a damaged one by it.
"""

from __future__ import annotations

import logging
import os
import sqlite3
import time
from collections.abc import Callable
from contextlib import AbstractContextManager, closing, suppress
from datetime import UTC, datetime
from functools import partial
from pathlib import Path

from memory_assets.errors import StoreError
from memory_assets.stores.files.shared import is_writable, locked
from memory_assets.stores.files.sqlite import (
    IN_MEMORY,
    connect,
    connect_read_only,
    require_own,
    use_write_ahead_log,
)

_LOCK_SECONDS = 30.0
_LOG = logging.getLogger(__name__)
_SCHEMA = """
CREATE TABLE IF NOT EXISTS turns (
    message_id TEXT PRIMARY KEY, conversation_id TEXT NOT NULL, turn_index INTEGER NOT NULL,
    role TEXT NOT NULL, ts TEXT NOT NULL, text TEXT NOT NULL, channel TEXT NOT NULL,
    project TEXT NOT NULL, changed INTEGER NOT NULL, UNIQUE (conversation_id, turn_index)
);
CREATE INDEX IF NOT EXISTS turns_by_project ON turns (project, conversation_id, changed);
CREATE TABLE IF NOT EXISTS memories (
    memory_id TEXT PRIMARY KEY, text TEXT NOT NULL, type TEXT NOT NULL, confidence REAL NOT NULL,
    ts TEXT NOT NULL, stored_at REAL NOT NULL, conversation_id TEXT NOT NULL,
    at_turn INTEGER NOT NULL, project TEXT NOT NULL, entities TEXT NOT NULL, tags TEXT NOT NULL,
    source TEXT NOT NULL, also TEXT NOT NULL, contradicts TEXT NOT NULL,
    collection TEXT NOT NULL, changed INTEGER NOT NULL
);
CREATE INDEX IF NOT EXISTS memories_by_project ON memories (project, changed);
CREATE TABLE IF NOT EXISTS vectors (
    memory_id TEXT PRIMARY KEY, embedder_id TEXT NOT NULL, vector BLOB NOT NULL
);
CREATE TABLE IF NOT EXISTS archived (memory_id TEXT PRIMARY KEY, why TEXT NOT NULL);
CREATE TABLE IF NOT EXISTS trail (
    memory_id TEXT NOT NULL, at REAL NOT NULL, what TEXT NOT NULL, who TEXT NOT NULL,
    of TEXT NOT NULL, why TEXT NOT NULL
);
CREATE INDEX IF NOT EXISTS trail_by_memory ON trail (memory_id);
CREATE TABLE IF NOT EXISTS promoted (
    conversation_id TEXT PRIMARY KEY, turn_index INTEGER NOT NULL
);
CREATE TABLE IF NOT EXISTS promoted_sessions (
    project TEXT PRIMARY KEY, state TEXT NOT NULL
);
CREATE TABLE IF NOT EXISTS cut_turns (
    message_id TEXT PRIMARY KEY, conversation_id TEXT NOT NULL, turn_index INTEGER
);
CREATE INDEX IF NOT EXISTS cut_turns_by_place ON cut_turns (conversation_id, turn_index);
CREATE TABLE IF NOT EXISTS changes (number INTEGER NOT NULL);
INSERT INTO changes SELECT 0 WHERE NOT EXISTS (SELECT 1 FROM changes);
"""
"""`changed` is the number of the write, so that a conversation's greatest one tells its state."""
_CUTS_SCHEMA = """
CREATE {kind} TABLE IF NOT EXISTS cut_summaries (
    summary_id TEXT PRIMARY KEY, conversation_id TEXT NOT NULL, project TEXT NOT NULL,
    last_turn INTEGER NOT NULL, row TEXT NOT NULL
);
"""
_HAS_CUT_SUMMARIES = "SELECT 1 FROM sqlite_master WHERE name = 'cut_summaries'"


def open_journal(path: Path, seconds: float) -> sqlite3.Connection:
    """Return a connection to the journal, restored from its copy if it was lost. If its directory
    cannot be written: a read-only one to the journal, else to its copy, else to an empty one."""
    for file in (path, copy_of(path)):
        if (reading := connect_read_only(file, seconds)) is not None:
            if reading.execute(_HAS_CUT_SUMMARIES).fetchone() is None:  # of a version before
                reading.executescript(_CUTS_SCHEMA.format(kind="TEMP"))
            return reading
    if not is_writable(path.parent):
        empty = connect(IN_MEMORY)
        empty.executescript(f"{_SCHEMA}{_CUTS_SCHEMA.format(kind='')} PRAGMA query_only = 1;")
        return empty
    _restore_copy(path)
    require_journal(path)
    connection = connect(path, seconds=seconds)
    if connection.execute(_HAS_CUT_SUMMARIES).fetchone() is None:
        require_own(path, connection, _SCHEMA)
        use_write_ahead_log(connection, seconds)
        script = f"{_SCHEMA}{_CUTS_SCHEMA.format(kind='')}"
        connection.executescript(f"BEGIN IMMEDIATE; {script} COMMIT;")
    connection.execute("PRAGMA synchronous=FULL")
    return connection


def is_lost(path: Path) -> bool:
    """Whether there is no journal at a path: no file, or an empty one."""
    return not path.exists() or path.stat().st_size == 0


def require_journal(path: Path) -> None:
    """Refuse to begin a new journal while the lake has exports of a lost one, because exports of
    the new journal would replace them.

    Raises:
        StoreError: both are lost; the message says what to do.
    """
    if not is_lost(path) or copy_of(path).exists():
        return
    from memory_assets.stores.lake.lake import Lake  # pyarrow is most of the time of a call
    from memory_assets.stores.lake.schemas import AGENT_HISTORY, AGENT_MEMORY

    lake = Lake(path.parent / "lake")
    for table in (AGENT_HISTORY, AGENT_MEMORY):
        if any(lake.sessions(table, project) for project in lake.projects(table)):
            raise StoreError(
                f"{path} and its copy are lost, and the lake still has what was exported of them. "
                f"Put one of them back from a backup; to begin without what agents wrote, move "
                f"lake/{AGENT_HISTORY.name} and lake/{AGENT_MEMORY.name} out of {path.parent}"
            )


def copy_of(path: Path) -> Path:
    """Return the path of the copy of a journal."""
    return path.with_name(f"{path.name}.copy")


def copied_at(path: Path) -> float | None:
    """Return when the copy of a journal was made, in Unix seconds; None where there is none."""
    copy = copy_of(path)
    return copy.stat().st_mtime if copy.exists() else None


def make_copy(path: Path) -> None:
    """Replace the copy if the journal was written since. The caller holds the journal's write lock,
    so that rows which another process deletes are in no later copy."""
    log = path.with_name(f"{path.name}-wal")
    times = [file.stat().st_mtime for file in (path, log) if file.exists()]
    if times and (at := copied_at(path)) is not None and at > max(times):
        return

    def write(staging: Path) -> None:
        with closing(connect(path, mode="ro")) as connection:
            connection.execute("VACUUM INTO ?", (str(staging),))

    _replace(copy_of(path), write)


def remove_copies(path: Path) -> None:
    """Delete the copy of a journal, unfinished copies, and journals that were set aside."""
    for kind in ("copy", "staging", "broken-"):
        for file in path.parent.glob(f"{path.name}.{kind}*"):
            file.unlink(missing_ok=True)


def damage_of(path: Path) -> str:
    """Return what is wrong with the file of a journal, "" if nothing is or there is none. Being
    older than an intact copy is wrong, too: its last changes were in a damaged log, which SQLite
    ignores."""
    if not path.exists():
        return ""
    copied = _last_change(copy_of(path))  # first: the journal may be written meanwhile
    try:
        with closing(connect(path, mode="ro")) as connection:
            connection.text_factory = partial(str, encoding="utf-8", errors="replace")
            finding = str(connection.execute("PRAGMA integrity_check(1)").fetchone()[0])
    except sqlite3.OperationalError:  # locked, or not to be opened: whoever uses it says so
        return ""
    except sqlite3.DatabaseError as error:
        return str(error)
    if finding != "ok":
        return finding.replace("\n", " ")
    last = _last_change(path)
    is_older = last is not None and copied is not None and last < copied
    return "it lacks changes that its copy has" if is_older and not damage_of(copy_of(path)) else ""


def _last_change(path: Path) -> int | None:
    """Return the number of the last change of a journal or a copy; None if it cannot be read."""
    with (
        suppress(sqlite3.Error, TypeError, ValueError),
        closing(connect(path, mode="ro")) as connection,
    ):
        return int(connection.execute("SELECT number FROM changes").fetchone()[0])
    return None


def recover_damaged(path: Path) -> bool:
    """Replace a damaged journal by its copy, if there is one, with warnings, and return whether
    that was done. Later changes are only in the damaged file, which is kept under another name;
    processes that have it open must be started again."""
    if not damage_of(path) or not copy_of(path).exists():
        return False
    with _replacement_lock(path):
        if wrong := damage_of(path):
            moment = datetime.fromtimestamp(time.time(), UTC).strftime("%Y%m%dT%H%M%SZ")
            aside = path.with_name(f"{path.name}.broken-{moment}")
            for end in ("-wal", "-shm", ""):
                if (part := path.with_name(f"{path.name}{end}")).exists():
                    part.replace(aside.with_name(f"{aside.name}{end}"))
            _LOG.warning("%s is damaged (%s), and kept as %s", path, wrong, aside)
    _restore_copy(path)
    return True


def _restore_copy(path: Path) -> None:
    """Restore a lost journal from its copy, if there is one, with a warning."""
    copy = copy_of(path)
    if not is_lost(path) or not copy.exists():
        return

    def write(staging: Path) -> None:
        staging.write_bytes(copy.read_bytes())
        with closing(connect(staging, mode="rw")) as connection:
            use_write_ahead_log(connection)

    with _replacement_lock(path):
        if is_lost(path):
            for end in ("-wal", "-shm"):  # a log of the lost file would be applied to this one
                path.with_name(f"{path.name}{end}").unlink(missing_ok=True)
            _replace(path, write)
            _LOG.warning(
                "%s is begun again with its copy; what was written since is not in it", path
            )


def _replacement_lock(path: Path) -> AbstractContextManager[None]:
    busy = f"another process has been recovering {path} for {_LOCK_SECONDS:.0f} s; wait for it"
    return locked(path.with_name(f"{path.name}.lock"), _LOCK_SECONDS, busy)


def _replace(path: Path, write: Callable[[Path], None]) -> None:
    """Replace a file atomically by one that is readable by its owner only. One process may do so at
    a time."""
    staging = path.with_name(f"{path.name}.staging")
    staging.unlink(missing_ok=True)
    staging.touch(0o600)
    write(staging)
    with staging.open("r+b") as file:
        os.fsync(file.fileno())
    staging.replace(path)
