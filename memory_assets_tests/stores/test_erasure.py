"""Erasing from SQLite files: what was deleted is in no byte of them."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from memory_assets.errors import StoreBusy, StoreError
from memory_assets.stores import erasure
from memory_assets.stores.chroma import files as chroma_files
from memory_assets.stores.erasure import Names

UUID = "3d0f6a52-8c1e-4b7d-9f32-6a1f0c9be741"


def test_names_are_found_in_every_spelling() -> None:
    """As they are, in JSON, in JSON within JSON, percent-encoded, in bytes."""
    names = Names([UUID, "séance"], ["-home-mära-code"])
    for text in (
        f"x{UUID.upper()}y",
        '"s\\u00e9ance"',
        '\\"s\\\\u00e9ance\\"',
        "project=-home-m%C3%A4ra-code/x",
        "'-home-m\\u00e4ra-code'",
    ):
        assert names.are_in(text), text
        assert names.are_in(text.encode()), text
    assert not names.are_in(None)
    assert not names.are_in(3)
    assert not Names([])


def test_a_project_is_named_by_whole_words_only() -> None:
    """Another project may begin or end the same."""
    names = Names([], ["-home-mara"])
    assert names.are_in("/projects/-home-mara/x.jsonl")
    assert names.are_in("-home-mara:f:1")
    assert not names.are_in("-home-mara-code")
    assert not names.are_in("x-home-mara")


@pytest.fixture
def database(tmp_path: Path) -> Path:
    """A database in WAL mode with rows of two sessions, and one that mentions the first."""
    path = tmp_path / "some.db"
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute("PRAGMA journal_mode = WAL")
        connection.execute("CREATE TABLE a (project TEXT, session_id TEXT, text TEXT)")
        connection.execute(
            "CREATE TABLE b (number INTEGER PRIMARY KEY, seen_in TEXT, must TEXT NOT NULL)"
        )
        connection.execute("CREATE VIRTUAL TABLE words USING fts5(session_id UNINDEXED, text)")
        for session in (UUID, "other"):
            values = ("p", session, f"text of {session} " * 50)
            connection.executemany("INSERT INTO a VALUES (?,?,?)", [values] * 100)
            connection.execute("INSERT INTO words VALUES (?,?)", (session, f"word{session[:4]}"))
        connection.execute("INSERT INTO b VALUES (1, ?, 'kept')", (UUID,))
        connection.execute("INSERT INTO b VALUES (2, 'x', ?)", (f"because of {UUID}",))
    return path


def _bytes(path: Path) -> bytes:
    return b"".join(each.read_bytes() for each in path.parent.glob(f"{path.name}*"))


def test_deleted_sessions_are_in_no_byte(database: Path) -> None:
    """Rows, mentions, free pages, full-text pages and log; what is left is whole."""
    assert UUID.encode() in _bytes(database)
    assert erasure.delete_sessions(database, [("p", UUID)], []) == 102
    erasure.compact(database)
    assert UUID.encode() not in _bytes(database)
    assert b"word3d0f" not in _bytes(database)
    with closing(sqlite3.connect(database)) as connection:
        assert connection.execute("SELECT COUNT(*) FROM a").fetchone() == (100,)
        assert connection.execute("SELECT * FROM b").fetchall() == [(1, None, "kept")]
        found = connection.execute("SELECT session_id FROM words WHERE words MATCH 'wordothe'")
        assert found.fetchall() == [("other",)]
        assert connection.execute("PRAGMA integrity_check").fetchone() == ("ok",)


def test_a_log_that_a_reader_holds_is_not_called_cut(database: Path) -> None:
    """The error says that the file is in use."""
    with closing(sqlite3.connect(database)) as reader:
        reader.execute("BEGIN")
        reader.execute("SELECT * FROM a").fetchone()
        erasure.delete_sessions(database, [("p", UUID)], [])
        with pytest.raises(StoreBusy, match="completes the forgetting"):
            erasure.compact(database, seconds=0.2)


def test_hnsw_files_of_an_unknown_form_are_refused(tmp_path: Path) -> None:
    """Rather than overwritten, or taken for clean."""
    segment = "0" * 8 + "-0000-0000-0000-" + "0" * 12
    (tmp_path / segment).mkdir()
    for name in ("header.bin", "data_level0.bin", "length.bin"):
        (tmp_path / segment / name).write_bytes(b"\1" * 99)
    with closing(sqlite3.connect(tmp_path / chroma_files.DATABASE)) as connection, connection:
        connection.execute("CREATE TABLE collections (id TEXT)")
        connection.execute("CREATE TABLE segments (id TEXT)")
        connection.execute("CREATE TABLE embeddings_queue (topic TEXT)")
        connection.execute("INSERT INTO segments VALUES (?)", (segment,))
    with pytest.raises(StoreError, match="is not as chromadb"):
        chroma_files.sweep(tmp_path)
    assert (tmp_path / segment / "length.bin").read_bytes() == b"\1" * 99
