"""Directories are walked once, files parsed once, and stages that read the same sessions one after
the other share what was read."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest

from memory_assets.pipeline.redact import redacted_records as redact
from memory_assets.pipeline.scan import on_disk
from memory_assets.pipeline.scan import raw_sessions as scan
from memory_assets.status import found_sources
from memory_assets.stores.lake.schemas import REDACTED_RECORDS, Table
from memory_assets.transcripts import discover
from memory_assets_tests.pipeline.conftest import SampleMemory
from memory_assets_tests.pipeline.forgetting import forget_sessions

READING = (
    *("turn_chunks", "user_prompts", "session_summaries", "observations", "session_commits"),
    *("retrieved_documents", "session_usage"),
)
MADE = ("raw_sessions", "redacted_records")


@pytest.fixture
def reads(memory: SampleMemory, monkeypatch: pytest.MonkeyPatch) -> Counter[str]:
    """Count how often each session's records are read from the lake."""
    counted: Counter[str] = Counter()
    lake = memory.components.lake
    read = lake.read

    def counting(table: Table, project: str, session_id: str, *rest: Any, **named: Any) -> Any:
        counted[session_id] += table is REDACTED_RECORDS
        return read(table, project, session_id, *rest, **named)

    monkeypatch.setattr(lake, "read", counting)
    return counted


def test_each_session_is_read_once_for_all_stages(
    memory: SampleMemory, reads: Counter[str]
) -> None:
    """Even where every stage makes every session again; another project's come instead."""
    for stage in READING:
        for product in memory.components.catalog.products.of_project(stage, memory.harbor).values():
            memory.components.catalog.products.drop(stage, memory.harbor, product.session_id)
    memory.run(READING, [memory.harbor])
    assert reads and set(reads.values()) == {1}
    other = next(project for project in memory.projects() if project != memory.harbor)
    memory.components.sessions.session(_records(memory, other)[0])
    memory.components.sessions.session(_records(memory, memory.harbor)[0])
    assert reads[_records(memory, memory.harbor)[0].session_id] == 2


def test_a_session_that_changed_is_read_again(memory: SampleMemory, reads: Counter[str]) -> None:
    """What is kept is known by the hash of what was written."""
    sessions = memory.components.sessions
    before = sessions.records(_flaky(memory))
    memory.append(memory.flaky, "and the zanzibar clock?", "It has no summer time.")
    memory.run(MADE, [memory.harbor])
    after = sessions.records(_flaky(memory))
    assert len(after) == len(before) + 2
    assert "It has no summer time." in {record.text for record in after}


def test_errors_at_the_end_of_long_output_are_kept_as_a_session_grows(
    memory: SampleMemory, reads: Counter[str]
) -> None:
    """Records have the head and the tail of an output; the rest is not read for it once more."""
    output = "compiling\n" * 2_000 + "ld: cannot find -lzanzibar"
    call = {"type": "tool_use", "id": "toolu_1", "name": "Bash", "input": {"command": "make"}}
    for said in (("build it", [call], [_result(output)]), ("and now?", "It is built.")):
        memory.append(memory.flaky, *said)
        memory.run(MADE, [memory.harbor])
        reads.clear()
        memory.run(("turn_chunks",), [memory.harbor])
        assert reads[memory.flaky] <= 2
        kept = [line for row in memory.rows("turn_chunks") for line in row["error_lines"]]
        assert kept.count("ld: cannot find -lzanzibar") == 1


def test_a_commit_behind_a_long_test_run_is_found(wordy: SampleMemory) -> None:
    """The stages look at the tail of an output, too; what lies between is left out, in whole
    lines."""
    output = (
        "ok 12 harbor opens\n" * 3_000 + "[main 0a1b2c3] Move the zanzibar clock\n 1 file changed"
    )
    call = {"type": "tool_use", "id": "toolu_1", "name": "Bash"}
    commit = {"command": "make test && git commit -am 'Move the zanzibar clock'"}
    wordy.append(wordy.flaky, "commit it", [call | {"input": commit}], [_result(output)])
    wordy.run(("raw_sessions", "redacted_records", "session_summaries"), [wordy.harbor])
    (summary,) = (
        row for row in wordy.rows("session_summaries") if row["session_id"] == wordy.flaky
    )
    assert "0a1b2c3 Move the zanzibar clock" in summary["commits"]
    for row in wordy.components.sessions.records(_flaky(wordy)):
        assert row.kind != "tool_result" or len(row.text) < 13_000


def _result(output: str) -> dict[str, str]:
    return {"type": "tool_result", "tool_use_id": "toolu_1", "content": output}


def _records(memory: SampleMemory, project: str) -> list[Any]:
    return list(
        memory.components.catalog.products.of_project(REDACTED_RECORDS.name, project).values()
    )


def _flaky(memory: SampleMemory) -> Any:
    return next(one for one in _records(memory, memory.harbor) if one.session_id == memory.flaky)


def test_scanned_records_give_the_same_rows_as_files_read_again(
    fresh: SampleMemory,
) -> None:
    """Records and audit are equal."""
    tables = ("redacted_records", "redaction_audit")
    for project in fresh.projects():
        scan.scan_project(fresh.components, project)
        redact.redact_project(fresh.components, project)
    scanned = {table: fresh.rows(table) for table in tables}
    for project in fresh.projects():
        for session_id in fresh.components.catalog.products.of_project(redact.STAGE, project):
            fresh.components.catalog.products.drop(redact.STAGE, project, session_id)
        redact.redact_project(fresh.components, project)
    assert {table: fresh.rows(table) for table in tables} == scanned


def test_what_is_redacted_is_what_was_scanned(fresh: SampleMemory) -> None:
    """A file that is cut short in between is not read again; the next scan finds it changed."""
    scan.scan_project(fresh.components, fresh.harbor)
    path = fresh.path(fresh.flaky)
    path.write_bytes(path.read_bytes()[:100])
    assert redact.redact_project(fresh.components, fresh.harbor).quarantined == 0
    assert any(row["session_id"] == fresh.flaky for row in fresh.rows("redacted_records"))
    assert scan.scan_project(fresh.components, fresh.harbor).changed == 1


def test_no_record_is_kept_after_redaction(fresh: SampleMemory) -> None:
    """Records are unredacted: once redacted, they are no longer in memory."""
    scan.scan_project(fresh.components, fresh.harbor)
    redact.redact_project(fresh.components, fresh.harbor)
    rows = fresh.components.catalog.sources.rows(fresh.harbor)
    assert not any(fresh.components.read_records.take(row) for row in rows)


TOLD = ("and the zanzibar clock?", "It has no summer time.")


def test_all_projects_are_scanned_after_one_walk(
    memory: SampleMemory, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each finds its own; without the walk each scan walks by itself."""
    walks: list[object] = []

    def counted(*given: Any) -> Any:
        walks.append(given)
        return discover(*given)

    projects = memory.projects()
    monkeypatch.setattr(found_sources, "discover", counted)
    alone = [scan.scan_project(memory.components, project).rows for project in projects]
    walked = on_disk.walk_once(memory.components)
    together = [
        scan.scan_project(memory.components, project, walked=walked[project]).rows
        for project in projects
    ]
    assert together == alone
    assert len(walks) == len(projects) + 1 > 2


def test_a_file_that_grew_since_the_walk_is_read_to_its_end(memory: SampleMemory) -> None:
    """The ledger then knows it as it is now: nothing is behind."""
    walked = on_disk.walk_once(memory.components)[memory.harbor]
    memory.append(memory.flaky, *TOLD)
    assert scan.scan_project(memory.components, memory.harbor, walked=walked).changed == 1
    assert scan.scan_project(memory.components, memory.harbor).changed == 0


def test_a_file_that_vanished_since_the_walk_is_gone(memory: SampleMemory) -> None:
    """It is not held back as one that cannot be read."""
    walked = on_disk.walk_once(memory.components)[memory.harbor]
    memory.path(memory.flaky).unlink()
    report = scan.scan_project(memory.components, memory.harbor, walked=walked)
    assert (report.details["newly_gone"], report.quarantined) == (1, 0)


def test_a_session_forgotten_since_the_walk_is_left_out(memory: SampleMemory) -> None:
    """Tombstones are looked at for each project."""
    walked = on_disk.walk_once(memory.components)[memory.harbor]
    forget_sessions(memory, session=memory.flaky)
    memory.append(memory.flaky, *TOLD)
    report = scan.scan_project(memory.components, memory.harbor, walked=walked)
    assert (report.details["forgotten"], report.changed) == (1, 0)
