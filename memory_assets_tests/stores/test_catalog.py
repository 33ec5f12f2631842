"""The catalogue remembers what was read and made, alone and among several users."""

from __future__ import annotations

import json
import sqlite3
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from threading import Event
from typing import Any

import pytest

from memory_assets.errors import StoreBusy, StoreError, StoreMismatch
from memory_assets.stores.catalog.catalog import Catalog
from memory_assets.stores.catalog.facts import SourceFacts
from memory_assets.stores.catalog.known_secrets import Redaction
from memory_assets.stores.catalog.products import remove_sessions
from memory_assets.stores.catalog.schema import SCHEMA
from memory_assets.stores.files.sqlite import compact, sqlite_errors, transaction
from memory_assets.stores.stores import Stores, opened_once
from memory_assets_tests.stores.conftest import HELD, PRODUCT, SOURCE


def test_sources_come_in_a_fixed_order_and_by_project(catalog: Catalog) -> None:
    """Whatever the order they were put in; a session's main file before its subagents."""
    rows = [
        replace(SOURCE, project=project, session_id=session, agent_id=agent_id)
        for project, session, agent_id in (
            ("q", "a", ""),
            ("p", "b", "x"),
            ("p", "b", ""),
            ("p", "a", ""),
        )
    ]
    for row in rows:
        catalog.sources.put(row)
    keys = [(row.project, row.session_id, row.agent_id) for row in catalog.sources.rows()]
    assert keys == [("p", "a", ""), ("p", "b", ""), ("p", "b", "x"), ("q", "a", "")]
    assert {row.project for row in catalog.sources.rows("p")} == {"p"}
    assert catalog.sources.rows("nobody") == []


def test_a_family_is_the_project_and_whoever_starts_with_the_same_record(catalog: Catalog) -> None:
    """Main files only, with their record ids; strangers of other projects stay out."""
    rows = {
        "mine": SOURCE,
        "subagent": replace(SOURCE, agent_id="x"),
        "fork elsewhere": replace(SOURCE, project="q", session_id="fork"),
        "mine, other start": replace(SOURCE, session_id="s2", family=8),
        "stranger": replace(SOURCE, project="q", session_id="other", family=9),
        "no records": replace(SOURCE, project="q", session_id="empty", family=None),
    }
    for row in rows.values():
        catalog.sources.put(row)
    family = {(row.project, row.session_id): row for row in catalog.sources.families_of("p")}
    assert family.keys() == {("p", "s"), ("p", "s2"), ("q", "fork")}
    assert family["p", "s"].records == SOURCE.records


def test_a_session_leaves_quarantine_at_the_stage_that_made_it(catalog: Catalog) -> None:
    """Its entry at another stage, and other sessions, stay held back."""
    for entry in (HELD, replace(HELD, stage="raw_sessions"), replace(HELD, session_id="t")):
        catalog.quarantine.hold(entry)
    catalog.quarantine.hold(replace(HELD, reason="another reason"))
    assert len(catalog.quarantine.entries("p")) == 3
    catalog.products.put(PRODUCT)
    left = {(entry.session_id, entry.stage) for entry in catalog.quarantine.entries()}
    assert left == {("s", "raw_sessions"), ("t", "redacted_records")}
    assert all(entry.since for entry in catalog.quarantine.entries())
    assert catalog.quarantine.entries("q") == []


def test_forgetting_a_projects_work_forgets_its_quarantine_too(catalog: Catalog) -> None:
    """Another project's products, and all sources, stay."""
    catalog.sources.put(SOURCE)
    for project in ("p", "q"):
        catalog.products.put(replace(PRODUCT, project=project, stage="turn_chunks"))
    catalog.quarantine.hold(replace(HELD, session_id="t"))
    catalog.products.forget_project("p")
    assert catalog.products.of_stage("turn_chunks").keys() == {("q", "s")}
    assert catalog.quarantine.entries() == []
    assert len(catalog.sources.rows()) == 1


def test_the_newest_sessions_are_those_with_the_newest_records(catalog: Catalog) -> None:
    """Files without a time come last."""
    times = {"old": "2026-01-01T00:00:00+00:00", "new": "2026-02-01T00:00:00+00:00", "none": None}
    for session_id, time in times.items():
        facts = SourceFacts(last_timestamp=time)
        catalog.sources.put(replace(SOURCE, session_id=session_id, facts=facts))
    assert catalog.sources.newest_sessions(3) == [("p", "new"), ("p", "old"), ("p", "none")]
    assert catalog.sources.newest_sessions(1) == [("p", "new")]


def test_the_project_of_a_session_that_moved_is_where_its_turns_are(catalog: Catalog) -> None:
    """Of two projects with a file of that name, the one whose copy was counted."""
    for project, turns in (("a", 0), ("b", 3), ("c", 0)):
        catalog.products.put(replace(PRODUCT, stage="turn_chunks", project=project, rows=turns))
    assert catalog.products.project_of("s") == "b"


def test_a_writer_in_another_process_is_waited_for_and_then_named(tmp_path: Path) -> None:
    """Reading goes on beside it; writing gives StoreBusy after the patience asked for."""
    catalog = Catalog(tmp_path / "catalog.db", busy_seconds=0.2)
    catalog.sources.put(SOURCE)
    code = (
        "import sqlite3, sys; c = sqlite3.connect(sys.argv[1], isolation_level=None);"
        "c.execute('BEGIN IMMEDIATE'); print('locked', flush=True); sys.stdin.read()"
    )
    holder = subprocess.Popen(
        [sys.executable, "-c", code, str(catalog.path)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    try:
        assert holder.stdout is not None and holder.stdout.readline() == "locked\n"
        assert len(catalog.sources.rows()) == 1
        with pytest.raises(StoreBusy, match="locked by another process"):
            catalog.sources.put(SOURCE)
    finally:
        holder.communicate()
    catalog.sources.put(replace(SOURCE, size=1))
    assert catalog.sources.rows()[0].size == 1
    catalog.close()


def test_a_file_that_is_no_database_is_an_error_with_the_remedy(tmp_path: Path) -> None:
    """Damage is told apart from a busy database."""
    path = tmp_path / "catalog.db"
    path.write_bytes(b"this is not a database" * 100)
    with pytest.raises(StoreError, match="move it away and run `memory ingest`") as raised:
        Catalog(path)
    assert not isinstance(raised.value, StoreBusy)
    assert path.read_bytes().startswith(b"this is not")


def test_a_directory_that_cannot_hold_it_is_an_error(tmp_path: Path) -> None:
    """The message names the file."""
    (tmp_path / "file").touch()
    with pytest.raises(StoreError, match=r"catalog\.db"):
        Catalog(tmp_path / "file" / "catalog.db")


def test_threads_share_a_catalogue(catalog: Catalog) -> None:
    """Eight threads write and read through one connection; nothing is lost."""

    def work(number: int) -> int:
        for step in range(20):
            catalog.sources.put(replace(SOURCE, session_id=f"{number}-{step}"))
            catalog.products.put(replace(PRODUCT, session_id=f"{number}-{step}"))
        return len(catalog.products.of_stage("redacted_records"))

    with ThreadPoolExecutor(8) as pool:
        seen = list(pool.map(work, range(8)))
    assert (
        max(seen)
        == len(catalog.sources.rows())
        == len(catalog.products.of_stage("redacted_records"))
        == 160
    )


def test_a_catalogue_of_the_first_version_is_refused(tmp_path: Path) -> None:
    """It has unkeyed hashes of what was said; the error says what to do, and it stays as it is."""
    path = tmp_path / "catalog.db"
    with closing(sqlite3.connect(path)) as old:
        old.execute("CREATE TABLE sources (agent, project, session_id, agent_id, path, family)")
    for _ in range(2):
        with pytest.raises(StoreMismatch, match=r"version 0\.1\.0.*Move the data directory away"):
            Catalog(path)
    with closing(sqlite3.connect(path)) as old:
        assert old.execute("PRAGMA user_version").fetchone() == (0,)


def test_what_earlier_versions_said_of_held_back_sessions_is_understood(tmp_path: Path) -> None:
    """A fault of a version that did not note itself is tried again, as it may be mended since; lost
    records are known by the reason."""
    path = tmp_path / "catalog.db"
    fault = "it is tried again when its file, the rules or the code change; `memory ingest --full`"
    gone = "its records are gone from the lake, and its transcript is deleted or was cut down; more"
    with closing(sqlite3.connect(path)) as old, old:
        old.executescript(SCHEMA)
        for session_id, reason, remedy in (
            ("fault", "why", fault),
            ("damaged", "its records are damaged", "restore it"),
            ("gone", gone, "restore it"),
        ):
            entry = "p", session_id, "redacted_records", "in", reason, "2026-01-01", remedy
            old.execute("INSERT INTO quarantine VALUES (?, ?, ?, ?, ?, ?, ?)", entry)
    entries = Catalog(path).quarantine.entries()
    assert [(entry.session_id, entry.records_lost) for entry in entries] == [
        ("damaged", False),
        ("gone", True),
    ]
    assert all(entry.failed_version == "" for entry in entries)


def test_a_catalogue_of_a_later_version_is_refused(tmp_path: Path) -> None:
    """It would be misread; the error says what to do."""
    path = tmp_path / "catalog.db"
    Catalog(path).close()
    with sqlite3.connect(path) as newer:
        newer.execute("PRAGMA user_version = 999")
    newer.close()
    with pytest.raises(StoreMismatch, match="newer version"):
        Catalog(path)


def test_a_full_disk_is_no_reason_to_move_a_file_away(tmp_path: Path) -> None:
    """The error says what to do for a file that is whole."""
    path = tmp_path / "full.db"
    with closing(sqlite3.connect(path)) as database:
        database.execute("PRAGMA max_page_count = 2")
        full = pytest.raises(StoreError, match="the disk is full")
        with full as raised, sqlite_errors(path, "Move it away."):
            database.execute("CREATE TABLE a (text)")
            database.execute("CREATE TABLE b (text)")
    assert "Move it away" not in str(raised.value)


AUDIT = replace(PRODUCT, stage="redaction_audit", output_hash="audit")
HASH, OTHER = b"h" * 16, b"o" * 16


def test_a_value_is_known_once_by_hash_and_rule(catalog: Catalog) -> None:
    """Finding it again adds nothing; numbers only grow."""
    assert catalog.known_secrets.add("s", {HASH: "github-token"}) == 1
    assert catalog.known_secrets.add("t", {HASH: "other-rule", OTHER: "npm-token"}) == 1
    assert catalog.known_secrets.rules() == {HASH: "github-token", OTHER: "npm-token"}
    assert catalog.known_secrets.hashes() == {HASH, OTHER}
    assert catalog.known_secrets.hashes("npm-token") == {OTHER}
    first, second = catalog.known_secrets.since(0)
    assert first.number < second.number
    assert catalog.known_secrets.since(first.number) == [second]


def test_a_value_that_came_in_between_is_still_to_be_looked_for(catalog: Catalog) -> None:
    """Another process found it while the session was being redacted without it."""
    catalog.known_secrets.add("elsewhere", {OTHER: "npm-token"})
    catalog.redactions.put(Redaction(PRODUCT, AUDIT, 0, {HASH: "github-token"}))
    (session,) = catalog.known_secrets.unchecked_sessions()
    assert session.through == 0


def test_a_mark_stays_until_the_session_is_redacted_again(catalog: Catalog) -> None:
    """A later search that finds nothing new does not take it away."""
    catalog.redactions.put(Redaction(PRODUCT, AUDIT, 0, {}))
    catalog.known_secrets.add("elsewhere", {HASH: "github-token"})
    (session,) = catalog.known_secrets.unchecked_sessions()
    catalog.known_secrets.note_checked(session, 1, holds=True)
    catalog.known_secrets.note_checked(session, 2, holds=False)
    assert catalog.known_secrets.affected_sessions("p") == {("p", "s"): 2}
    assert catalog.known_secrets.affected_sessions("q") == {}
    catalog.redactions.put(Redaction(PRODUCT, AUDIT, 1, {}))
    assert catalog.known_secrets.affected_sessions() == {}


def test_a_session_that_is_no_more_holds_nothing(catalog: Catalog) -> None:
    """Neither marked nor to be searched once its product is dropped."""
    catalog.redactions.put(Redaction(PRODUCT, AUDIT, 0, {}))
    catalog.known_secrets.add("elsewhere", {HASH: "github-token"})
    (session,) = catalog.known_secrets.unchecked_sessions()
    catalog.known_secrets.note_checked(session, 1, holds=True)
    catalog.products.drop("redacted_records", "p", "s")
    assert catalog.known_secrets.affected_sessions() == {}
    assert catalog.known_secrets.unchecked_sessions() == []


def test_both_products_of_a_redaction_are_noted_or_neither(catalog: Catalog) -> None:
    """One transaction, which also releases the session from quarantine."""
    catalog.quarantine.hold(HELD)
    with pytest.raises(TypeError):
        unfit = replace(AUDIT, facts={"rules": object()})  # type: ignore[typeddict-item]
        catalog.redactions.put(Redaction(PRODUCT, unfit, 0, {}))
    assert catalog.products.of_session("p", "s") == {}
    assert catalog.quarantine.entries("p")
    catalog.redactions.put(Redaction(PRODUCT, AUDIT, 0, {}))
    assert catalog.products.of_session("p", "s").keys() == {"redacted_records", "redaction_audit"}
    assert catalog.quarantine.entries("p") == []


UUID = "3d0f6a52-8c1e-4b7d-9f32-6a1f0c9be741"


@pytest.fixture
def database(tmp_path: Path) -> Path:
    """A catalogue, still with its log, with rows of two sessions in tables of its own and in
    others, and facts on the second one that name the first."""
    path = tmp_path / "some.db"
    Catalog(path).close()
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute("CREATE TABLE a (project TEXT, session_id TEXT, text TEXT)")
        for session in (UUID, "other"):
            values = ("p", session, f"text of {session} " * 50)
            connection.executemany("INSERT INTO a VALUES (?,?,?)", [values] * 100)
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


def _facts(connection: sqlite3.Connection, table: str) -> Any:
    ((facts,),) = connection.execute(f"SELECT facts FROM {table}").fetchall()
    return json.loads(facts)


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


def test_a_commit_that_fails_undoes_nothing_of_another_process(tmp_path: Path) -> None:
    """What that writes while the failed one is replaced in the log stays."""
    with closing(sqlite3.connect(tmp_path / "a.db", isolation_level=None)) as other:
        other.execute("PRAGMA journal_mode = WAL")

        class Failing(sqlite3.Connection):
            def execute(self, sql: str, *given: Any) -> sqlite3.Cursor:
                if sql == "COMMIT":
                    raise sqlite3.OperationalError("disk I/O error")
                if "= " in sql:
                    other.execute("PRAGMA user_version = 7")
                return super().execute(sql, *given)

        connection = sqlite3.connect(tmp_path / "a.db", isolation_level=None, factory=Failing)
        with closing(connection) as failing, pytest.raises(sqlite3.Error), transaction(failing):
            failing.execute("CREATE TABLE a (b)")
        assert other.execute("PRAGMA user_version").fetchone() == (7,)


def test_one_memory_does_not_wait_for_another_to_open(tmp_path: Path) -> None:
    """As where a server has several, of which one is busy."""
    opens, may_open = Event(), Event()

    class Waiting(Stores):
        @opened_once
        def catalog(self) -> Catalog:
            opens.set()
            assert may_open.wait(60)
            return Catalog(self.data_dir / "catalog.db")

    given: dict[str, Any] = {"vector_backend": "none", "vectors_url": None, "vectors_key": None}
    one, other = (
        Waiting(tmp_path / name, **given, chroma_idle_seconds=1.0) for name in ("one", "other")
    )
    with ThreadPoolExecutor(2) as threads:
        first = threads.submit(lambda: one.catalog)
        assert opens.wait(60)
        opens.clear()
        second = threads.submit(lambda: other.catalog)
        both_open = opens.wait(5)
        may_open.set()
        assert both_open
    assert first.result().path != second.result().path
