"""A run may end anywhere: the next one completes it, and nothing shows that it happened."""

from __future__ import annotations

import shutil
from typing import Any

import pytest

from memory_assets.pipeline.checks import verify
from memory_assets.stores.lake.schemas import TURN_CHUNKS
from memory_assets_tests.pipeline.conftest import BEFORE_CHROMA, SampleMemory
from memory_assets_tests.pipeline.conftest import STAGES as RUN_OF

STAGES = tuple(RUN_OF)
ONE_OF_EACH = tuple(
    stage
    for stage in STAGES
    if stage not in ("prompt_embeddings", "summary_embeddings")
    and stage not in ("prompt_collection", "summary_collection")
    and stage not in ("observation_embeddings", "observation_collection")
)
"""Without those that are another stage's code over another table."""
WRITTEN_APART = tuple(
    stage
    for stage in ONE_OF_EACH
    if stage not in ("user_prompts", "observations", "retrieved_documents")
)
"""Without those whose rows are written and noted by another one's code."""
_HALVES = [slice(0, None, 2), pytest.param(slice(1, None, 2), marks=pytest.mark.long)]


class Crash(BaseException):
    """What ends a process; no handler of ours catches it."""


def _assert_same_as_made_at_once(memory: SampleMemory, fresh: SampleMemory) -> None:
    for path in memory.transcripts.rglob("*.jsonl"):
        target = fresh.transcripts / path.relative_to(memory.transcripts)
        target.write_bytes(path.read_bytes())
    fresh.run(BEFORE_CHROMA)
    assert memory.lake_state() == fresh.lake_state()
    memory.assert_collections_equal_the_lake()


@pytest.mark.parametrize("which", _HALVES)
def test_a_run_that_ends_between_two_stages_is_completed_by_the_next(
    memory: SampleMemory, fresh: SampleMemory, which: slice
) -> None:
    """Before each stage in turn: the plan names the project until all stages are done, and
    the result is what one run would have made."""
    for done in map(STAGES.index, ONE_OF_EACH[which]):
        memory.append(
            memory.flaky, f"question number {done}", f"The root cause is clock number {done}."
        )
        memory.run(STAGES[:done], [memory.harbor])
        memory.reopen()
        assert [work.project for work in memory.behind()] == [memory.harbor], done
        memory.run(STAGES, [memory.harbor])
        assert memory.behind() == [], done
    _assert_same_as_made_at_once(memory, fresh)


@pytest.mark.parametrize("which", _HALVES)
def test_a_run_that_ends_within_a_stage_is_completed_by_the_next(
    memory: SampleMemory, monkeypatch: pytest.MonkeyPatch, which: slice
) -> None:
    """In each stage in turn, after its rows were written and before that was noted."""
    for number, stage in enumerate(WRITTEN_APART[which]):
        memory.append(
            memory.flaky, f"question number {number}", f"The root cause is clock number {number}."
        )
        memory.run(STAGES[: STAGES.index(stage)], [memory.harbor])

        def crash(*_: object, **__: object) -> None:
            raise Crash

        with monkeypatch.context() as patch:
            catalog = memory.components.catalog
            for part in (catalog.products, catalog.redactions, catalog.sources):
                patch.setattr(part, "put", crash)
            with pytest.raises(Crash):
                memory.run([stage], [memory.harbor])
        memory.reopen()
        assert [work.project for work in memory.behind()] == [memory.harbor], stage
        memory.run(STAGES, [memory.harbor])
        assert memory.behind() == [], stage
        assert f"question number {number}" in repr(memory.rows("user_prompts", memory.harbor))
    memory.assert_collections_equal_the_lake()


def test_the_time_of_first_writing_survives_an_interruption(
    memory: SampleMemory, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A passage that was written, but not noted, keeps the moment it was written at."""

    def when() -> dict[str, Any]:
        table = memory.components.lake.read(
            TURN_CHUNKS, memory.harbor, memory.flaky, ["id", "ingested_at"]
        )
        return {row["id"]: row["ingested_at"] for row in table.to_pylist()}

    def crash(*_: object, **__: object) -> None:
        raise Crash

    memory.append(memory.flaky, "a new question", "a new answer")
    memory.run(STAGES[:2], [memory.harbor])
    with monkeypatch.context() as patch:
        patch.setattr(memory.components.catalog.products, "put", crash)
        with pytest.raises(Crash):
            memory.run(["turn_chunks"], [memory.harbor])
    written = when()
    memory.reopen()
    memory.run(STAGES[:3], [memory.harbor])
    assert when() == written


@pytest.mark.parametrize(
    "planned",
    [True, pytest.param(False, marks=pytest.mark.long)],
    ids=["by the plan", "by a run alone"],
)
def test_without_the_catalogue_everything_is_read_again(
    memory: SampleMemory, planned: bool
) -> None:
    """It is disposable: the lake ends the same, vectors and times are taken from it, and
    nothing is embedded twice."""
    before = memory.lake_state()
    memory.lose_the_catalogue()
    if planned:
        assert len(memory.behind()) == 3
    reports = memory.run()
    assert memory.lake_state() == before
    assert {report.details.get("texts_embedded", 0) for report in reports.values()} == {0}
    memory.assert_collections_equal_the_lake()
    assert memory.behind() == []


def test_without_the_catalogue_vanished_sessions_are_still_there(memory: SampleMemory) -> None:
    """What the lake holds of files that were deleted long ago is taken from it, down to
    the rows in Chroma, which is lost as well; the first turn of the fork stays with the
    original, though only the fork can still be read."""
    before = memory.lake_state()
    for path in (memory.path(memory.flaky), *memory.transcripts.rglob("*019d8c14*.jsonl")):
        path.unlink()
    shutil.rmtree(memory.transcripts / "claude" / "projects" / memory.harbor / memory.flaky)
    memory.run(["raw_sessions"])
    memory.lose_the_catalogue()
    shutil.rmtree(memory.components.chroma_dir)
    projects = {row["project"] for row in before["turn_chunks"]}
    assert {work.project for work in memory.behind()} == projects
    memory.run()
    assert memory.lake_state() == before
    memory.assert_collections_equal_the_lake()
    assert memory.behind() == []
    agents = memory.components.catalog.sources.counts_by("agent")
    assert {name: facts["sessions"] for name, facts in agents.items()} == {
        "claude-code": 6,
        "codex": 2,
        "pi": 1,
    }


def test_without_the_catalogue_a_vanished_subagent_is_still_there(memory: SampleMemory) -> None:
    """Its session is on disk and goes on; what the subagent did is only in the lake."""
    before = memory.rows("redacted_records", memory.harbor)
    shutil.rmtree(memory.path(memory.flaky).with_suffix(""))
    memory.lose_the_catalogue()
    memory.behind()
    memory.append(memory.flaky, "a new question", "a new answer")
    memory.run(STAGES[:3], [memory.harbor])
    after = memory.rows("redacted_records", memory.harbor)
    assert len(after) == len(before) + 2
    assert {repr(row) for row in before} <= {repr(row) for row in after}
    assert verify.rows_conserved(memory.components, memory.harbor).passed
