"""A memory of the version before keeps all that it had, under keyed ids.

`data/unkeyed_memory.tar.xz` is such a memory, of the transcripts that `guessable.py` writes,
as commit a9417fa left it: one session was forgotten and one cut down to its prompts, and the
files of four are gone. Paths in its catalogue begin with `<root>`; its key is that of the
fixtures.
"""

from __future__ import annotations

import re
import sqlite3
import tarfile
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from memory_assets.errors import StoreError
from memory_assets.pipeline.ownership.project_sessions import session_files
from memory_assets.record_identity import RecordIdentity
from memory_assets.search_kinds import SEARCH_KINDS
from memory_assets.stores.chroma import server as chroma_server
from memory_assets.stores.lake.lake import Lake
from memory_assets.stores.lake.schemas import TABLES
from memory_assets.stores.tombstones import FILE_NAME, Tombstones
from memory_assets.transcripts import Source, discover
from memory_assets_tests.pipeline.conftest import SampleMemory
from memory_assets_tests.pipeline.guessable import (
    CLAUDE,
    FORGOTTEN,
    FORK,
    FORK_OF_FORGOTTEN,
    GONE,
    LOST,
    OLD,
    ORIGINAL,
    Transcripts,
    write_transcripts,
)
from memory_assets_tests.pipeline.guesses import Needles, confirmed, guesses

ARCHIVE = Path(__file__).parent / "data" / "unkeyed_memory.tar.xz"
ID_COLUMNS = (
    "record_uuid",
    "parent_uuid",
    "prompt_uuid",
    "tool_use_id",
    "message_id",
    "spawned_agent_id",
)
RETENTION = {"retention": 1}
"""Days: sessions that were cut down stay so, others are not asked about here."""
_TAGGED = re.compile(r"<redacted:[^>]*>[!.]?")
_MADE_OF_IDS = {"ruleset_version", "engine_version", "chunker_version", "attribution_version"}
_MADE_AGAIN = {
    *("vector", "embedder_id", "end", "length", "fingerprint", "content_hash"),
    *("error_lines", "identifiers", "summarizer_id"),
}
"""Columns that change, or that it lacked: that version embedded with products of floats, and left
the sign after a password."""


@pytest.fixture
def unkeyed(tmp_path: Path, engines: dict[str, Any]) -> Iterator[SampleMemory]:
    """The memory of the version before, and what is left of its transcripts."""
    root = tmp_path / "unkeyed"
    with tarfile.open(ARCHIVE, "r:xz") as archive:
        archive.extractall(root, filter="data")
    with closing(sqlite3.connect(root / "data" / "catalog.db")) as catalog:
        catalog.execute(
            "UPDATE sources SET path = replace(path, '<root>/agents', ?)",
            (str(root / "transcripts"),),
        )
        catalog.commit()
    memory = SampleMemory(root, engines, given=RETENTION)
    yield memory
    chroma_server.stop(memory.data_dir)
    memory.close()


@pytest.fixture(scope="module")
def transcripts(tmp_path_factory: pytest.TempPathFactory) -> Transcripts:
    """All that the transcripts said, those that are gone too."""
    return write_transcripts(tmp_path_factory.mktemp("said"))


@pytest.fixture(scope="module")
def needles(transcripts: Transcripts) -> Needles:
    """Every hash of every right guess."""
    roots = {"claude-code": "claude/projects", "codex": "codex", "pi": "pi"}
    sources: list[Source] = list(
        discover({agent: transcripts.root / place for agent, place in roots.items()})
    )
    return Needles(guesses(sources, transcripts.sentences))


def _rows(memory: SampleMemory, identity: Callable[[str], str] = str) -> dict[str, list[Any]]:
    """The lake's rows, with other ids of records if wanted, and without versions."""
    lake = memory.components.lake
    found: dict[str, list[Any]] = {}
    for name, table in TABLES.items():
        names = [
            column
            for column in table.schema.names
            if column not in table.written_columns | _MADE_OF_IDS | _MADE_AGAIN
        ]
        rows = [
            row
            for project in lake.projects(table)
            for row in lake.read_partition(table, project, names).to_pylist()
        ]
        for row in rows:
            row.update((each, _without_tags(said)) for each, said in row.items())
            row.update((each, identity(row[each])) for each in ID_COLUMNS if row.get(each))
        found[name] = sorted(rows, key=repr)
    return found


def _without_tags(value: Any) -> Any:
    """Return a value with its tags as if all rules found as much: rules that were added since find
    the sign after a password, too."""
    if isinstance(value, list):
        return [_without_tags(each) for each in value]
    return _TAGGED.sub("<redacted>", value) if isinstance(value, str) else value


def _derived(memory: SampleMemory) -> set[str]:
    rows = (row for rows in _rows(memory).values() for row in rows)
    ids = {row[name] for row in rows for name in ID_COLUMNS if row.get(name)}
    return {each for each in ids if each.startswith("x-")}


def _assert_as_before(memory: SampleMemory, before: dict[str, list[Any]]) -> None:
    after = _rows(memory)
    for name, rows in before.items():
        assert after[name] == rows, name
    tables = [kind.embeddings for kind in SEARCH_KINDS.values()]
    embedders = {row["embedder_id"] for table in tables for row in memory.rows(table)}
    assert embedders == {memory.engines["embedder"].embedder_id}
    assert _derived(memory) == set()
    assert memory.behind() == []
    assert memory.components.catalog.identities.state() == "keyed"
    assert memory.components.catalog.quarantine.entries() == []


def test_all_stays_and_no_unkeyed_hash_does(unkeyed: SampleMemory, needles: Needles) -> None:
    """Rows of every table are the same but for the ids that are keyed now, in sessions whose
    files are gone too; what was forgotten or let go of does not come back; forks go on giving
    way; and no byte of the data directory is a hash of a right guess any more."""
    memory = unkeyed
    assert len(confirmed(memory.data_dir, needles)) > 10
    assert len(_derived(memory)) > 50
    identity = memory.components.identity
    before = _rows(memory, identity.stored)
    memory.run()
    _assert_as_before(memory, before)
    sessions = {row["session_id"] for row in memory.rows("turn_chunks")}
    assert FORGOTTEN not in sessions
    assert {ORIGINAL, FORK, GONE, FORK_OF_FORGOTTEN} <= sessions
    of_fork = {each.session_id: each for each in session_files(memory.components, CLAUDE)}
    assert of_fork[FORK].copied_from == ((CLAUDE, ORIGINAL),)
    assert len(of_fork[FORK].copied) == len(of_fork[FORK_OF_FORGOTTEN].copied) > 5
    assert of_fork[OLD].retained is not None
    memory.assert_collections_equal_the_lake()
    memory.components.catalog.close()
    chroma_server.stop(memory.data_dir)
    assert confirmed(memory.data_dir, needles) == {}


def test_an_interrupted_keying_is_gone_on_with(
    unkeyed: SampleMemory, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In the catalogue it happens whole or not at all; of the lake, what is left is done by
    the next ingest. Nothing is lost on the way."""
    memory = unkeyed
    before = _rows(memory, RecordIdentity(bytes(range(32))).stored)
    with monkeypatch.context() as failing:
        failing.setattr(RecordIdentity, "family_of_mark", lambda self, marked: 1 // 0)
        with pytest.raises(StoreError):
            memory.reopen(**RETENTION).catalog.identities.state()
    with closing(sqlite3.connect(memory.data_dir / "catalog.db")) as catalog:
        assert catalog.execute("SELECT state FROM identities").fetchone() == ("unkeyed",)
        assert catalog.execute("SELECT COUNT(*) FROM record_ids").fetchone()[0] > 5
        assert catalog.execute("SELECT COUNT(*) FROM source_records").fetchone() == (0,)
    replace_ids, done = Lake.replace_ids, 0

    def killed(lake: Lake, *given: Any) -> None:
        nonlocal done
        done += 1
        if done % 9 == 0:
            raise KeyboardInterrupt
        replace_ids(lake, *given)

    interrupted = 0
    with monkeypatch.context() as failing:
        failing.setattr(Lake, "replace_ids", killed)
        for _ in range(3):
            memory.reopen(**RETENTION)
            with pytest.raises(KeyboardInterrupt):
                memory.behind()
            interrupted += 1
            assert memory.components.catalog.identities.state() == "lake"
            assert _derived(memory)
    memory.reopen(**RETENTION)
    memory.run()
    _assert_as_before(memory, before)


@pytest.mark.long
def test_a_lake_whose_catalogue_is_lost_is_keyed_when_it_is_adopted(
    unkeyed: SampleMemory, needles: Needles
) -> None:
    """The lake says nothing of the catalogue that it lost: its ids are looked through; forks
    of forgotten and of gone sessions stay away."""
    memory = unkeyed
    before = _rows(memory, memory.components.identity.stored)
    memory.close()
    for path in memory.data_dir.glob("catalog.db*"):
        path.unlink()
    memory.reopen(**RETENTION)
    assert memory.behind()
    memory.run()
    _assert_as_before(memory, before)
    assert LOST in {row["session_id"] for row in memory.rows("user_prompts")}
    memory.components.catalog.close()
    chroma_server.stop(memory.data_dir)
    assert confirmed(memory.data_dir / "lake", needles) == {}


def test_opening_it_keys_the_catalogue_before_anything_is_read(unkeyed: SampleMemory) -> None:
    """So `memory forget` on it, before any ingest, notes tombstones that count later; states
    of reading are gone, and an older version that still runs finds no table to write to."""
    memory = unkeyed
    catalog = memory.components.catalog
    assert catalog.identities.state() == "lake"
    tombstone_store = Tombstones(memory.data_dir / FILE_NAME, memory.components.install_key)
    families = {
        row.family for row in memory.components.catalog.sources.rows() if row.family is not None
    }
    assert tombstone_store.families() <= {tombstone_store.family_key(family) for family in families}
    with closing(sqlite3.connect(memory.data_dir / "catalog.db")) as database:
        tables = {row[0] for row in database.execute("SELECT name FROM sqlite_master")}
        assert "record_ids" not in tables
