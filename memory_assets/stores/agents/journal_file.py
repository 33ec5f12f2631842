"""The file of the journal of what agents wrote: its tables, and how it is opened."""

from __future__ import annotations

import sqlite3
from pathlib import Path

from memory_assets.stores.files.sqlite import connect, connect_read_only

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
"""`changed` numbers the writes, so that a conversation's greatest says whether it changed."""
_EXISTS = "SELECT 1 FROM sqlite_master WHERE name = 'cut_turns'"


def open_journal(path: Path, seconds: float) -> sqlite3.Connection:
    """Return a connection to the journal; where its directory cannot be written, read-only, as it
    is."""
    if (reading := connect_read_only(path, seconds)) is not None:
        return reading
    connection = connect(path, seconds=seconds)
    if connection.execute(_EXISTS).fetchone() is None:
        connection.execute("PRAGMA journal_mode=WAL")
        connection.executescript(f"BEGIN IMMEDIATE; {_SCHEMA} COMMIT;")
    connection.execute("PRAGMA synchronous=FULL")
    return connection
