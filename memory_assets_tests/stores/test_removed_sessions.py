"""Sessions removed from the catalogue: what was deleted is in no byte of its file."""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from memory_assets.errors import StoreBusy
from memory_assets.stores.catalog.catalog import Catalog
from memory_assets.stores.catalog.products import remove_sessions
from memory_assets.stores.files.sqlite import compact

UUID = "3d0f6a52-8c1e-4b7d-9f32-6a1f0c9be741"


@pytest.fixture
def database(tmp_path: Path) -> Path:
    """A catalogue, still with its log, with rows of two sessions in tables of its own and in
    others, and facts on the second one that name the first."""
    path = tmp_path / "some.db"
    Catalog(path).close()
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute("CREATE TABLE a (project TEXT, session_id TEXT, text TEXT)")
        connection.execute("CREATE VIRTUAL TABLE words USING fts5(session_id UNINDEXED, text)")
        for session in (UUID, "other"):
            values = ("p", session, f"text of {session} " * 50)
            connection.executemany("INSERT INTO a VALUES (?,?,?)", [values] * 100)
            connection.execute("INSERT INTO words VALUES (?,?)", (session, f"word{session[:4]}"))
        connection.execute("INSERT INTO known_values VALUES (1, x'00', 'rule', ?, 'then')", (UUID,))
        facts = {"copied_from": [["p", UUID], ["p", "third"]], "prompts": 3}
        connection.execute(
            "INSERT INTO products VALUES ('s', 'p', 'other', '', '', 0, 0, ?, '', '')",
            (json.dumps(facts),),
        )
        facts = {"named_session": UUID, "parent_session": UUID, "prompts": 3}
        connection.execute(
            "INSERT INTO sources (agent, project, session_id, agent_id, path, size, mtime_ns,"
            " fingerprint, reader_version, facts, record_ids)"
            " VALUES ('a', 'p', 'other', '', '', 0, 0, '', '', ?, x'')",
            (json.dumps(facts),),
        )
    return path


def _bytes(path: Path) -> bytes:
    return b"".join(each.read_bytes() for each in path.parent.glob(f"{path.name}*"))


def _facts(connection: sqlite3.Connection, table: str) -> Any:
    ((facts,),) = connection.execute(f"SELECT facts FROM {table}").fetchall()
    return json.loads(facts)


def test_removed_sessions_are_in_no_byte(database: Path) -> None:
    """Rows, mentions, free pages, full-text pages and log; what is left is whole."""
    assert UUID.encode() in _bytes(database)
    assert remove_sessions(database, [("p", UUID)], []) == 101
    compact(database)
    assert UUID.encode() not in _bytes(database)
    assert b"word3d0f" not in _bytes(database)
    with closing(sqlite3.connect(database)) as connection:
        assert connection.execute("SELECT COUNT(*) FROM a").fetchone() == (100,)
        found = connection.execute("SELECT session_id FROM words WHERE words MATCH 'wordothe'")
        assert found.fetchall() == [("other",)]
        assert connection.execute("PRAGMA integrity_check").fetchone() == ("ok",)


def test_rows_of_others_lose_the_mention_only(database: Path) -> None:
    """Who gave a secret away, where a fork branched off, which session a file names."""
    remove_sessions(database, [("p", UUID)], [])
    with closing(sqlite3.connect(database)) as connection:
        assert _facts(connection, "products") == {"copied_from": [["p", "third"]], "prompts": 3}
        assert _facts(connection, "sources") == {
            "named_session": None,
            "parent_session": None,
            "prompts": 3,
        }
        kept = connection.execute("SELECT rule, first_session FROM known_values").fetchall()
        assert kept == [("rule", None)]


def test_a_session_of_another_project_keeps_its_rows(database: Path) -> None:
    """Ids without a UUID may occur in two projects, and one may begin another."""
    remove_sessions(database, [("q", "other"), ("p", "oth")], ["q"])
    with closing(sqlite3.connect(database)) as connection:
        assert connection.execute("SELECT COUNT(*) FROM a").fetchone() == (200,)


def test_a_log_that_a_reader_holds_is_not_called_cut(database: Path) -> None:
    """The error says that the file is in use."""
    with closing(sqlite3.connect(database)) as reader:
        reader.execute("BEGIN")
        reader.execute("SELECT * FROM a").fetchone()
        remove_sessions(database, [("p", UUID)], [])
        with pytest.raises(StoreBusy, match="completes the forgetting"):
            compact(database, seconds=0.2)
