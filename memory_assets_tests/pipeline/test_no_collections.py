"""VECTOR_BACKEND=none: an ingest makes vectors, and no collections."""

from __future__ import annotations

from memory_assets.pipeline.checks.checks import verify_project
from memory_assets.pipeline.ingest.passes import PASSES, Task, run_task
from memory_assets.recall.memory import Memory
from memory_assets_tests.pipeline.conftest import INDEXES, SampleMemory


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
