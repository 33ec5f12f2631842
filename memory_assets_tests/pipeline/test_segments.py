"""Where the lake keeps a session is nothing that a stage or a check can tell."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from memory_assets.errors import DamagedFile
from memory_assets.pipeline.checks import verify
from memory_assets.stores.lake import partition
from memory_assets.stores.lake.schemas import REDACTED_RECORDS, TABLES
from memory_assets.stores.lake.segments import SEGMENT
from memory_assets_tests.kills import Killed, killed_after
from memory_assets_tests.own_files import own_file
from memory_assets_tests.pipeline.conftest import SampleMemory


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


def test_sessions_of_a_project_share_files(finished: SampleMemory) -> None:
    """One for each table that has rows."""
    sessions = finished.stamps().keys()
    assert len(_files(finished)) == len({(table, project) for table, project, _ in sessions})
    assert all(SEGMENT.fullmatch(path.name) for path in _files(finished))


def test_a_lake_with_a_file_for_each_session_is_packed_whatever_kills_it(
    wordy: SampleMemory, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Ended ten times meanwhile; the rows and what passed its checks are the same, and nothing
    is made again."""
    memory = wordy
    assert _file_for_each_session(memory) == len(_files(memory))
    state, stamps = memory.lake_state(), memory.stamps()
    monkeypatch.setattr(partition, "_MOST_SMALL_FILES", 0)
    for kill in range(10):
        with pytest.raises(Killed), killed_after(3 * kill):
            memory.run()
        memory.reopen()
        assert memory.lake_state() == state
        assert memory.stamps() == stamps
    assert all(report.unchanged for report in memory.run().values())
    assert (memory.lake_state(), memory.stamps()) == (state, stamps)
    without_vectors = [path for path in _files(memory) if "_embeddings" not in str(path)]
    assert all(SEGMENT.fullmatch(path.name) for path in without_vectors)
    assert len(without_vectors) == len({path.parent for path in without_vectors})
    assert memory.behind() == []


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
    memory, project = wordy, wordy.harbor
    state = memory.lake_state()
    segment = memory.components.lake.file(REDACTED_RECORDS, project, memory.flaky)
    assert segment is not None
    segment.write_bytes(b"PAR1 torn")
    with pytest.raises(DamagedFile, match=f"memory ingest --full --project={project}"):
        memory.lake_state()
    shutil.move(segment, tmp_path / "away")
    memory.components.catalog.products.forget_project(project)
    memory.run(projects=[project])
    assert memory.lake_state() == state
    assert memory.behind() == []
