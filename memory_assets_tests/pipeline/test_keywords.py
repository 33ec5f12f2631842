"""The keyword index holds exactly the lake's rows, whatever happens to either."""

from __future__ import annotations

import signal
import sqlite3
from collections.abc import Collection
from contextlib import closing

import numpy as np
import pytest

from memory_assets.errors import StoreError
from memory_assets.pipeline.checks.verify import keywords_match
from memory_assets.pipeline.indexes import keywords
from memory_assets.pipeline.indexes.indexed_tables import SESSIONS_INDEX
from memory_assets.pipeline.ingest.passes import PASSES, Task, failed_asset, run_task
from memory_assets.recall import open_memory
from memory_assets.stores.catalog.products import Products
from memory_assets.stores.keyword_index.files import open_for_reading
from memory_assets.stores.keyword_index.index import KeywordIndex
from memory_assets.stores.lake.schemas import TURN_CHUNKS
from memory_assets_tests.kills import killed_at
from memory_assets_tests.pipeline.conftest import BEFORE_CHROMA, INDEXES, STAGES, SampleMemory
from memory_assets_tests.sweep import sweep


def _all_match(memory: SampleMemory) -> bool:
    return all(keywords_match(memory.components, project).passed for project in memory.projects())


def test_every_row_of_every_kind_is_in_the_index(finished: SampleMemory) -> None:
    """By ids; a second run finds nothing to do."""
    for project in finished.projects():
        verdict = keywords_match(finished.components, project)
        assert verdict.passed and not keywords.keywords_reason(finished.components, project)
        assert keywords.index_keywords(finished.components, project).unchanged


def test_a_row_removed_behind_the_back_of_the_index_is_found(memory: SampleMemory) -> None:
    """By `memory verify`."""
    components, project = memory.components, memory.harbor
    assert _all_match(memory)
    with closing(sqlite3.connect(keywords.keywords_path(components))) as file, file:
        gone = "SELECT MIN(block) FROM blocks WHERE kind = 'sessions' AND project = ?"
        file.execute(f"DELETE FROM rows WHERE row = 64 * ({gone})", (project,))
    components.catalog.products.drop_notes(project)  # as `memory verify` begins
    for _ in range(2):  # what differs is not noted as passed
        verdict = keywords_match(components, project)
        differing = [verdict.counts[f"sessions_{what}"] for what in ("missing", "extra", "changed")]
        assert not verdict.passed and differing == [1, 0, 1]


@sweep(
    "change",
    [
        "rows SET text = 'x' || substr(text, 2) WHERE row = 64 *",
        "rows SET text = CAST(X'ff41' AS TEXT) WHERE row = 64 *",
        "rows SET metadata = replace(metadata, '20', '21') WHERE row = 64 *",
        "blocks SET columns = CAST(zeroblob(length(columns)) AS BLOB) WHERE block =",
        "vectors SET data = CAST(zeroblob(length(data)) AS BLOB) WHERE block =",
    ],
)
def test_rows_that_are_not_as_they_were_written_are_found_and_made_again(
    memory: SampleMemory, change: str
) -> None:
    """SQLite has no checksums: `memory verify` tells, and `memory ingest --full` mends it. No
    error quotes a text that cannot be decoded."""
    components, project = memory.components, memory.harbor
    path = keywords.keywords_path(components)
    with closing(sqlite3.connect(path)) as file:
        before = _texts(file)
    with closing(sqlite3.connect(path)) as file, file:
        any_block = "SELECT MIN(block) FROM blocks WHERE kind = 'sessions' AND project = ?"
        assert file.execute(f"UPDATE {change} ({any_block})", (project,)).rowcount == 1
    components.catalog.products.drop_notes(project)
    verdict = keywords_match(components, project)
    assert not verdict.passed and verdict.counts["sessions_changed"] == 1
    with closing(open_for_reading(path)) as index:
        try:
            texts = index.rows([(block.block, 0) for block in index.blocks("sessions")])
        except StoreError as error:
            assert "a text is damaged" in str(error) and "A" not in str(error).split("damaged")[1]
        else:
            assert texts
    components.catalog.products.forget_project(project)
    memory.run(projects=[project])
    assert keywords_match(components, project).passed
    with closing(sqlite3.connect(path)) as file:
        assert _texts(file) == before


def _texts(file: sqlite3.Connection) -> list[tuple[str, str, str]]:
    return file.execute("SELECT id, text, metadata FROM rows ORDER BY id, text").fetchall()


def test_a_lost_index_is_noticed_and_made_again(memory: SampleMemory) -> None:
    """With one stat of the plan, by another incarnation."""
    keywords.keywords_path(memory.components).unlink()
    assert not _all_match(memory)
    assert any("keyword_index" in work.reason for work in memory.behind())
    for project in memory.projects():
        keywords.index_keywords(memory.components, project)
    assert _all_match(memory) and memory.behind() == []


def test_other_terms_make_the_index_again(
    memory: SampleMemory, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As a version that splits text otherwise; ids stay, and nothing else is behind."""
    assert memory.behind() == []
    monkeypatch.setattr(keywords, "TERMS_VERSION", "next")
    assert {work.reason for work in memory.behind()} == {"keyword_index behind turn_chunks"}
    for project in memory.projects():
        assert keywords.index_keywords(memory.components, project).rows_written
    assert _all_match(memory) and memory.behind() == []


def test_one_appended_turn_rewrites_the_end_of_one_session(
    memory: SampleMemory, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Other sessions are not touched, nor read, nor compared with the lake again."""
    compared: set[str] = set()
    ids_of = KeywordIndex.ids_of

    def noted(
        index: KeywordIndex, kind: str, project: str, sessions: Collection[str]
    ) -> dict[str, set[str]]:
        compared.update(sessions)
        return ids_of(index, kind, project, sessions)

    assert _all_match(memory)
    monkeypatch.setattr(KeywordIndex, "ids_of", noted)
    memory.append(memory.flaky, "is the harbour light on?", "Yes, since dusk.")
    memory.run()
    report = memory.reports[keywords.STAGE, memory.harbor]
    assert report.changed == 1
    assert 0 < report.rows_written < report.rows
    assert _all_match(memory) and compared == {memory.flaky}


def test_a_row_that_changed_gets_the_vector_of_its_new_text(memory: SampleMemory) -> None:
    """Words are indexed before the new text is embedded: until then the row has no vector, and
    then its own, not that of the text that had its id before."""
    memory.append(memory.flaky, "is the harbour light on?", "Yes, the lamp burns since dusk.")
    for part in PASSES:
        outcomes = list(run_task(memory.components, Task(memory.harbor, part.assets)))
        assert not any(failed_asset(outcome) for outcome in outcomes)
    query = "lamp of the harbour"
    wanted = memory.components.embedder.embed([query])[0]
    rows = memory.rows("summary_embeddings")
    scores = {row["id"]: float(np.asarray(row["vector"], np.float32) @ wanted) for row in rows}
    hits = open_memory(memory.settings).search(query, kinds="summaries", mode="semantic").hits
    assert len(hits) == len(scores) > 1
    assert {hit.id: hit.score for hit in hits} == pytest.approx(scores, abs=1e-3)


def test_killed_while_it_lets_go_of_a_session_that_comes_back_it_indexes_it(
    wordy: SampleMemory,
) -> None:
    """As where a file was deleted and is put back: its rows are made again just as they were."""
    project, products = wordy.harbor, wordy.components.catalog.products
    product = products.of_project(TURN_CHUNKS.name, project)[wordy.fork]
    products.drop(TURN_CHUNKS.name, project, wordy.fork)
    wordy.close()
    ended = killed_at(Products, "drop", 0, lambda: keywords.index_keywords(wordy.reopen(), project))
    assert ended == -signal.SIGKILL
    wordy.reopen().catalog.products.put(product)
    assert keywords.keywords_reason(wordy.components, project)
    keywords.index_keywords(wordy.components, project)
    wordy.components.catalog.products.drop_notes(project)
    assert _all_match(wordy)


@pytest.mark.parametrize("stage", [keywords.STAGE, SESSIONS_INDEX.stage])
def test_killed_before_its_rows_are_noted_it_indexes_those_that_come_back(
    memory: SampleMemory, stage: str
) -> None:
    """A file is edited, and edited back: as many rows under the same ids, with the former texts."""
    path = memory.path(memory.flaky)
    said = path.read_bytes()
    assert b"datetime" in said
    path.write_bytes(said.replace(b"datetime", b"daytimes"))
    memory.run(BEFORE_CHROMA, [memory.harbor])
    memory.close()
    ended = killed_at(Products, "put", 0, lambda: STAGES[stage](memory.reopen(), memory.harbor))
    assert ended == -signal.SIGKILL
    path.write_bytes(said)
    memory.reopen()
    memory.run()
    memory.assert_collections_equal_the_lake()
    in_lake = {row["id"]: row["text"] for of in INDEXES for row in memory.rows(of.table.name)}
    with closing(sqlite3.connect(memory.data_dir / "keywords.db")) as index:
        assert dict(index.execute("SELECT id, text FROM rows")) == in_lake
