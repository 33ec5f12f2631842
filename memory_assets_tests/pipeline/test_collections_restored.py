"""Collections that lost rows, or all of them, are made whole from the lake."""

from __future__ import annotations

import shutil

import numpy as np
import pytest

from memory_assets.errors import NotFound
from memory_assets.pipeline.checks.checks import verify_project
from memory_assets.pipeline.indexes import collections as index
from memory_assets.pipeline.indexes import indexed_tables
from memory_assets.pipeline.indexes.collections import rebuild
from memory_assets.pipeline.ingest.passes import PASSES, Task, run_task
from memory_assets.pipeline.removal.forget import forget_vectors
from memory_assets.recall.cross_query.document_sources import document_source
from memory_assets.recall.memory import Memory
from memory_assets.redacted_text import seal
from memory_assets.requests.search import CrossQueryRequest
from memory_assets.stores.chroma import server as chroma_server
from memory_assets.stores.vector_store import Metadata
from memory_assets_tests.pipeline.conftest import COLLECTIONS, INDEXES, NEW_TURN, SampleMemory


def test_collections_are_rebuilt_from_the_lake_without_embedding(memory: SampleMemory) -> None:
    """Chroma's directory was removed: the plan says so, no text is embedded again, and the
    collections are what they were."""
    shutil.rmtree(memory.data_dir / "chroma")
    assert {work.project for work in memory.behind()} == set(memory.projects())
    files = memory.lake_files()
    reports = memory.run()
    for (stage, _), report in reports.items():
        assert report.details.get("texts_embedded", 0) == 0
        assert report.unchanged == (stage not in COLLECTIONS)
    assert memory.lake_files() == files
    memory.assert_collections_equal_the_lake()
    assert memory.behind() == []


def test_another_store_is_filled_from_the_lake_without_embedding(memory: SampleMemory) -> None:
    """From Chroma to qdrant: the plan says so, and the rows are the lake's; what is rebuilt or
    forgotten there is so. Back again, nothing is embedded either."""
    qdrant = {"vector_backend": "qdrant", "qdrant_url": str(memory.root / "qdrant")}
    for given in (qdrant, {}):
        memory.reopen(**given)
        assert {work.project for work in memory.behind()} == set(memory.projects())
        for report in memory.run().values():
            assert report.details.get("texts_embedded", 0) == 0
        memory.assert_collections_equal_the_lake()
        assert memory.behind() == []
        if given:
            before = memory.components.vectors.get("claude-code-sessions").incarnation
            assert {each.left_out for each in rebuild(memory.components)} == {0}
            assert memory.components.vectors.get("claude-code-sessions").incarnation != before
            memory.assert_collections_equal_the_lake()
            assert memory.behind() == []
            (project, session_id), *_ = memory.components.catalog.products.of_stage(
                "redacted_records"
            )
            of_it = indexed_tables.rows_of_session(project, session_id)
            said: list[str] = []
            assert forget_vectors(memory.components, {(project, session_id)}, progress=said.append)
            for name in memory.components.vectors.names():
                assert not memory.components.vectors.get(name).ids(of_it)
            assert not any("Chroma" in step for step in said)
            with pytest.raises(NotFound, match="asked for our collections only"):
                document_source(
                    Memory(memory.components.settings),
                    CrossQueryRequest("lighthouse", collection="others"),
                )


def test_collections_removed_under_a_running_server_are_rebuilt(memory: SampleMemory) -> None:
    """The server that still has the files open does not get the new rows."""
    server = chroma_server.ensure_running(memory.data_dir, 60.0)
    shutil.rmtree(memory.data_dir / "chroma")
    assert index.forget_lost_store(memory.components) == "Chroma's files are gone"
    assert index.forget_lost_store(memory.components) == ""
    assert chroma_server.running(memory.data_dir) is None
    memory.run()
    assert chroma_server.ensure_running(memory.data_dir, 60.0).pid != server.pid
    memory.assert_collections_equal_the_lake()


def test_one_collection_that_was_dropped_comes_back_whole(memory: SampleMemory) -> None:
    """The next change in a project brings its three sessions there back, not just the
    changed one; the other projects show as behind until they are run."""
    memory.components.vectors.drop("claude-code-sessions")
    memory.append(memory.flaky, *NEW_TURN)
    report = memory.run(projects=[memory.harbor])["session_collection", memory.harbor]
    assert report.changed == 3
    behind = [work.project for work in memory.behind()]
    assert behind == ["-Users-jonas-work-tidepool-web"]
    memory.run()
    memory.assert_collections_equal_the_lake()
    assert memory.behind() == []


def test_rows_that_do_not_belong_are_removed_when_their_session_changes(
    memory: SampleMemory,
) -> None:
    """By set difference with the lake, not by remembering what was written."""
    collection = memory.components.vectors.get("claude-code-sessions")
    (vector, *_) = memory.rows("turn_embeddings", memory.harbor)
    planted = f"session::{memory.flaky}::turn::99"
    metadata: Metadata = {
        "project": memory.harbor,
        "session_id": memory.flaky,
        "row_hash": "planted",
    }
    collection.upsert(
        [planted], np.array([vector["vector"]], np.float32), [seal("planted")], [metadata]
    )
    memory.append(memory.flaky, *NEW_TURN)
    memory.run(projects=[memory.harbor])
    assert planted not in collection.ids({"session_id": memory.flaky})
    memory.assert_collections_equal_the_lake()


def ingest(memory: SampleMemory) -> None:
    """Take in the project of the sample as `memory ingest` does."""
    for part in PASSES:
        assert list(run_task(memory.components, Task(memory.harbor, part.assets)))


def test_an_ingest_makes_vectors_and_no_collections(memory: SampleMemory) -> None:
    """A turn is added after Chroma's directory was left: it is embedded and found by meaning, the
    plan is empty, every check passes, and the collections are as they were."""
    before = {
        of.stage: memory.components.catalog.products.of_project(of.stage, memory.harbor)
        for of in INDEXES
    }
    memory.append(memory.flaky, "Please tell the lighthouse keeper that supper is ready.")
    memory.reopen(vector_backend="none")
    ingest(memory)
    assert memory.behind() == []
    catalog = memory.components.catalog
    assert before == {
        of.stage: catalog.products.of_project(of.stage, memory.harbor) for of in INDEXES
    }
    failed = [
        made for made in verify_project(memory.components, memory.harbor) if not made.verdict.passed
    ]
    assert failed == []
    answer = Memory(memory.settings).search("who looks after the beacon", mode="semantic", n=1)
    assert "lighthouse" in str(answer.hits[0].text) and answer.reason is None


def test_collections_are_filled_again_when_they_are_wanted(memory: SampleMemory) -> None:
    """What was taken in without them is written into them by the next ingest."""
    memory.append(memory.flaky, "Please tell the lighthouse keeper that supper is ready.")
    memory.reopen(vector_backend="none")
    ingest(memory)
    memory.reopen(vector_backend="chromadb")
    assert {work.reason for work in memory.behind()} == {"session_collection behind turn_chunks"}
    ingest(memory)
    memory.assert_collections_equal_the_lake()
