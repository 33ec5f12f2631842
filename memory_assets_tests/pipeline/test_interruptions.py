"""A run may end anywhere and things may be lost: the next run completes it and makes it good, and
nothing shows that it happened."""

from __future__ import annotations

import errno
import os
import shutil
import signal
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from filelock import FileLock

from benchmarks.crash_child import HashEmbedder
from memory_assets.chunking import chunk_turn
from memory_assets.errors import DamagedFile, StoreError
from memory_assets.pipeline.checks import verify
from memory_assets.pipeline.indexes.keywords import keywords_path
from memory_assets.pipeline.plan.lost_tables import forget_lost_rows, without_records
from memory_assets.pipeline.stage.components import Components
from memory_assets.pipeline.tables import turn_chunks as chunk
from memory_assets.redaction import RedactionSettings, load_redactor
from memory_assets.stores.catalog.products import Products
from memory_assets.stores.catalog.schema import Product
from memory_assets.stores.chroma import server as chroma_server
from memory_assets.stores.chroma.collections import ChromaCollection
from memory_assets.stores.keyword_index import files as keyword_files
from memory_assets.stores.lake import partition
from memory_assets.stores.lake.lake import LakeBatch
from memory_assets.stores.lake.schemas import REDACTED_RECORDS, TABLES, TURN_CHUNKS
from memory_assets.stores.lake.segments import SEGMENT, SegmentCache
from memory_assets_tests.kills import Killed, killed_after, killed_at
from memory_assets_tests.own_files import own_file
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


def test_three_kills_in_a_row_leave_no_trace(fresh: SampleMemory, finished: SampleMemory) -> None:
    """In the lake, in Chroma, whose server is killed with it, and in the catalogue; then a run to
    the end. The full form, with kills of the whole command, is `benchmarks/crash_safety.py`."""

    def run() -> None:
        fresh.reopen(embedder=HashEmbedder())  # a fork cannot use the threads of the model
        fresh.run()

    for owner, step, after in (
        (LakeBatch, "publish", 2),
        (ChromaCollection, "upsert", 1),
        (Products, "put", 60),
    ):
        fresh.close()
        assert killed_at(owner, step, after, run) == -signal.SIGKILL
        endpoint = chroma_server.running(fresh.data_dir)
        if owner is ChromaCollection:
            assert endpoint is not None
            os.kill(endpoint.pid, signal.SIGKILL)
    run()
    calm, killed = finished.lake_state(), fresh.lake_state()
    tables = {name for name in calm if not name.endswith("_embeddings")}
    assert [name for name in tables if calm[name] != killed[name]] == []
    fresh.assert_collections_equal_the_lake()
    assert fresh.behind() == []


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


def test_a_session_that_cannot_be_chunked_does_not_stop_its_project(
    memory: SampleMemory, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is held back at that stage, with the kind of error and not its text; the others
    go on, and it comes in when the code is mended."""

    def fails_for_one(turn: Any, tokens: Any, **more: Any) -> Any:
        if turn.session_id == memory.flaky:
            raise KeyError("text of the transcript")
        return chunk_turn(turn, tokens, **more)

    monkeypatch.setattr(chunk, "chunk_turn", fails_for_one)
    for session in (memory.flaky, memory.fork):
        memory.append(session, "one more thing", "done")
    shown: list[tuple[str, str, int, int]] = []
    memory.components.progress = lambda *place: shown.append(place)
    memory.run(projects=[memory.harbor])
    of_chunks = [place for _, table, *place in shown if table == "turn_chunks"]
    assert of_chunks == [[number, len(of_chunks)] for number in range(len(of_chunks))] != []
    held = memory.components.catalog.quarantine.entries()
    assert {(entry.session_id, entry.stage) for entry in held} == {(memory.flaky, "turn_chunks")}
    assert "pipeline/tables/turn_chunks.py" in held[0].reason and "text of" not in held[0].reason
    assert memory.behind() == []
    memory.components.catalog.products.forget_project(memory.harbor)
    monkeypatch.undo()
    memory.run(projects=[memory.harbor])
    assert memory.components.catalog.quarantine.entries() == []
    memory.assert_collections_equal_the_lake()


def test_sessions_whose_files_are_gone_follow_new_rules(wordy: SampleMemory) -> None:
    """Their records are redacted again where they lie, and nothing else of them changes."""
    path = wordy.path(wordy.flaky)
    before = len(wordy.rows("redacted_records", wordy.harbor))
    path.unlink()
    wordy.run(projects=[wordy.harbor])
    stricter = load_redactor(RedactionSettings(max_file_bytes=64), bytes(32))
    wordy.reopen(redactor=stricter)
    wordy.run()
    rows = wordy.rows("redacted_records", wordy.harbor)
    assert {row["ruleset_version"] for row in rows} == {stricter.ruleset_version}
    assert len(rows) == before
    assert wordy.behind() == []
    assert verify.rows_conserved(wordy.components, wordy.harbor).passed


def test_tables_that_are_gone_from_the_lake_are_made_again(memory: SampleMemory) -> None:
    """The lake as a whole, a table of a project, or a file of one whose directory stays; what is
    indexed has the same rows."""
    before, lake = memory.lake_state(), memory.data_dir / "lake"
    for lost in ("", f"turn_chunks/project={memory.harbor}", "redacted_records", "observations"):
        assert memory.behind() == []
        if lost in ("", f"turn_chunks/project={memory.harbor}"):
            shutil.rmtree(lake / lost)
        else:
            min((lake / lost / f"project={memory.harbor}").glob("*.parquet")).unlink()
        assert memory.harbor in [work.project for work in memory.behind()]
        memory.run()
        assert memory.lake_state() == before
        memory.assert_collections_equal_the_lake()
    assert memory.behind() == []


def test_a_session_whose_records_and_transcript_are_gone_is_held_back(wordy: SampleMemory) -> None:
    """It says so, and its turns can still be found; all others are made again, and it when the
    directory is back."""
    rows = wordy.components.catalog.products.of_project("turn_chunks", wordy.harbor)
    wordy.path(wordy.flaky).unlink()
    wordy.run()
    before, lake = wordy.lake_state(), wordy.data_dir / "lake"
    lake.rename(wordy.root / "backup")
    assert wordy.behind()
    wordy.run()
    kept = without_records(wordy.components, wordy.harbor)  # as `--full` does
    wordy.components.catalog.products.forget_project(wordy.harbor, but=kept)
    wordy.run()
    (held,) = wordy.components.catalog.quarantine.entries(wordy.harbor)
    assert (held.session_id, held.stage) == (wordy.flaky, "redacted_records")
    assert "its records are gone" in held.reason and "backup" in held.remedy
    with closing(keyword_files.open_for_reading(keywords_path(wordy.components))) as index:
        found = index.ids_of("sessions", wordy.harbor, [wordy.flaky, wordy.fork])
    assert {name: len(ids) for name, ids in found.items()} == {
        name: rows[name].rows for name in found
    }
    assert wordy.behind() == []
    shutil.copytree(wordy.root / "backup", lake, dirs_exist_ok=True)
    assert wordy.behind()
    wordy.run()
    assert wordy.components.catalog.quarantine.entries(wordy.harbor) == []
    assert wordy.lake_state() == before
    assert wordy.behind() == []


def test_a_plan_waits_for_no_writer_that_has_just_begun(
    wordy: SampleMemory, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whatever the moment: what is lost is known by the next plan."""
    shutil.rmtree(wordy.data_dir / "lake" / "turn_chunks" / f"project={wordy.harbor}")
    wordy.reopen(lock_timeout_seconds=0.1)
    writer = FileLock(wordy.components.lake.lock_path(wordy.harbor))
    lock = Components.project_lock

    def after_the_writer(components: Components, project: str, *given: Any) -> Any:
        if project == wordy.harbor:
            writer.acquire()
        return lock(components, project, *given)

    products = wordy.components.catalog.products
    with monkeypatch.context() as patch:
        patch.setattr(Components, "project_lock", after_the_writer)
        forget_lost_rows(wordy.components, {wordy.harbor})
    assert products.of_project("turn_chunks", wordy.harbor)
    writer.release(force=True)
    forget_lost_rows(wordy.components, {wordy.harbor})
    assert products.of_project("turn_chunks", wordy.harbor) == {}


def _file_for_each_session(memory: SampleMemory) -> int:
    """Store every session as former versions did, and return the number of files."""
    lake = memory.components.lake
    return len(
        {
            own_file(lake, TABLES[table], project, session_id)
            for table, project, session_id in memory.stamps()
        }
    )


def _files(memory: SampleMemory) -> list[Path]:
    return sorted((memory.data_dir / "lake").rglob("*.parquet"))


def test_a_lake_with_a_file_for_each_session_is_packed_whatever_kills_it(
    wordy: SampleMemory, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Ended ten times meanwhile; the rows and what passed its checks are the same, and nothing
    is made again."""
    assert _file_for_each_session(wordy) == len(_files(wordy))
    state, stamps = wordy.lake_state(), wordy.stamps()
    monkeypatch.setattr(partition, "_MOST_SMALL_FILES", 0)
    for kill in range(10):
        with pytest.raises(Killed), killed_after(3 * kill):
            wordy.run()
        wordy.reopen()
        assert wordy.lake_state() == state
        assert wordy.stamps() == stamps
    assert all(report.unchanged for report in wordy.run().values())
    assert (wordy.lake_state(), wordy.stamps()) == (state, stamps)
    without_vectors = [path for path in _files(wordy) if "_embeddings" not in str(path)]
    assert all(SEGMENT.fullmatch(path.name) for path in without_vectors)
    assert len(without_vectors) == len({path.parent for path in without_vectors})
    assert wordy.behind() == []


def test_what_passed_its_checks_is_not_checked_again_when_it_is_packed(
    wordy: SampleMemory, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its rows are the same wherever they are."""
    components, project = wordy.components, wordy.harbor
    _file_for_each_session(wordy)
    assert _scanned(wordy) > 2
    assert _scanned(wordy) == 0
    monkeypatch.setattr(partition, "_MOST_SMALL_FILES", 1)
    wordy.run()
    packed = components.lake.file(REDACTED_RECORDS, project, wordy.flaky)
    assert packed is not None and SEGMENT.fullmatch(packed.name)
    assert _scanned(wordy) == 0


def _scanned(memory: SampleMemory) -> int:
    verdict = verify.no_secrets_remain(memory.components, memory.harbor, REDACTED_RECORDS)
    return int(verdict.counts["files_scanned"])


def test_a_damaged_segment_is_made_again_once_it_is_moved_away(
    wordy: SampleMemory, tmp_path: Path
) -> None:
    """As its error says."""
    project = wordy.harbor
    state = wordy.lake_state()
    segment = wordy.components.lake.file(REDACTED_RECORDS, project, wordy.flaky)
    assert segment is not None
    segment.write_bytes(b"PAR1 torn")
    with pytest.raises(DamagedFile, match=f"memory ingest --full --project={project}"):
        wordy.lake_state()
    shutil.move(segment, tmp_path / "away")
    wordy.components.catalog.products.forget_project(project)
    wordy.run(projects=[project])
    assert wordy.lake_state() == state
    assert wordy.behind() == []


def test_a_file_that_may_not_be_read_does_not_stop_the_plan(
    wordy: SampleMemory, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nor does one that cannot be moved: nothing counts as lost, and whoever reads it says why."""
    forbidden = wordy.components.lake.file(REDACTED_RECORDS, wordy.harbor, wordy.flaky)
    real = SegmentCache.segment

    def segment(cache: SegmentCache, path: Path, identity: Any) -> Any:
        if path == forbidden:
            raise PermissionError(errno.EACCES, "")
        return real(cache, path, identity)

    monkeypatch.setattr(SegmentCache, "segment", segment)
    before = wordy.components.catalog.products.of_project("redacted_records", wordy.harbor)
    wordy.reopen()
    forget_lost_rows(wordy.components, {wordy.harbor}, thoroughly=True)
    products = wordy.components.catalog.products
    assert products.of_project("redacted_records", wordy.harbor) == before
    with pytest.raises(StoreError, match="cannot read"):
        wordy.components.lake.sessions(REDACTED_RECORDS, wordy.harbor)


def test_sessions_known_from_the_lake_alone_are_not_all_made_at_once(wordy: SampleMemory) -> None:
    """Of whose records the catalogue never had the size: an ingest's processes take as many
    sessions as their results have room for, so they need one."""
    recorded = sum(product.bytes for product in _records(wordy))
    wordy.lose_the_catalogue()
    assert wordy.behind()
    assert recorded / 4 < sum(product.bytes for product in _records(wordy)) < 4 * recorded


def _records(memory: SampleMemory) -> list[Product]:
    return list(
        memory.components.catalog.products.of_project("redacted_records", memory.harbor).values()
    )
