"""Each stage takes in what changed and nothing else, loses nothing on the way, and reads what it
needs once."""

from __future__ import annotations

import os
import shutil
from collections import Counter
from typing import Any

import pytest

from memory_assets.pipeline.redact import redacted_records as redact
from memory_assets.pipeline.scan import on_disk
from memory_assets.pipeline.scan import raw_sessions as scan
from memory_assets.stores.lake.schemas import REDACTED_RECORDS, TURN_CHUNKS, Table
from memory_assets_tests.pipeline.bytes_at_rest import forget_sessions
from memory_assets_tests.pipeline.conftest import BEFORE_CHROMA, EMBEDDINGS, NEW_TURN, SampleMemory


def _ingested_at(memory: SampleMemory) -> dict[str, Any]:
    table = memory.components.lake.read_partition(TURN_CHUNKS, memory.harbor, ["id", "ingested_at"])
    return {row["id"]: row["ingested_at"] for row in table.to_pylist()}


def test_the_ledger_counts_what_the_sample_holds(finished: SampleMemory, expected: Any) -> None:
    """Files, prompts, bad, glued, unknown and half-written lines, project by project."""
    assert {project for _, project in finished.reports} == expected["projects"].keys()
    for project, facts in expected["projects"].items():
        report = finished.reports["raw_sessions", project]
        sessions = facts["sessions"]
        assert report.sessions == len(sessions)
        assert report.rows == report.changed == sum(1 + s["subagents"] for s in sessions)
        assert report.details["prompts"] == sum(s["human_prompts"] for s in sessions)
        assert report.details["bad_lines"] == facts["bad_lines"] + facts["glued_lines"]
        assert report.details["unknown_records"] == facts["unknown_records"]
        assert (int(report.details["pending_bytes"]) > 0) == bool(facts["half_written_lines"])
        assert report.details["gone"] == report.quarantined == 0


def test_each_prompt_is_kept_once_and_each_copy_counted(
    finished: SampleMemory, expected: Any
) -> None:
    """Row conservation: records are kept or dropped for a reason, copies named apart."""
    for project, facts in expected["projects"].items():
        report = finished.reports["redacted_records", project]
        details = report.details
        dropped = sum(int(n) for name, n in details.items() if name.startswith("dropped_"))
        assert details["records"] == int(details["kept"]) + dropped
        assert details["prompts"] == facts["human_prompts"]
        assert int(details["redactions"]) > 0
        assert (int(details["copied_blocks"]) > 0) == any(
            s["copied_prompts"] for s in facts["sessions"]
        )
        kinds = [row["kind"] for row in finished.rows("redacted_records", project)]
        assert kinds.count("prompt") == facts["human_prompts"]
        assert len(kinds) == report.rows


def test_each_prompt_begins_one_turn_and_each_session_has_a_summary(
    finished: SampleMemory, expected: Any
) -> None:
    """Turns, prompts and summaries are as many as the generator says."""
    for project, facts in expected["projects"].items():
        reports = finished.reports
        assert reports["turn_chunks", project].details["turns"] == facts["human_prompts"]
        prompts = finished.rows("user_prompts", project)
        assert len({row["turn_id"] for row in prompts}) == facts["human_prompts"]
        sessions = {session["session_id"] for session in facts["sessions"]}
        assert {
            row["session_id"] for row in finished.rows("session_summaries", project)
        } == sessions
        assert reports["session_summaries", project].rows == len(sessions)


def test_a_subagents_work_belongs_to_its_parents_turn(finished: SampleMemory) -> None:
    """It is kept, as a side chain, and nobody takes its prompt for a human's."""
    records = finished.rows("redacted_records", finished.harbor)
    own = [row for row in records if row["agent_id"] == "b41c07e"]
    assert own
    assert {row["session_id"] for row in own} == {finished.flaky}
    assert all(row["is_sidechain"] and row["kind"] != "prompt" for row in own)


def test_two_agents_of_one_directory_share_a_project(finished: SampleMemory, expected: Any) -> None:
    """Each session keeps its agent; each agent has its collection."""
    for project, facts in expected["projects"].items():
        rows = finished.rows("turn_chunks", project)
        assert sorted({row["agent"] for row in rows}) == facts["agents"]
        names = finished.reports["session_collection", project].details["collections"]
        assert names == ", ".join(f"{agent}-sessions" for agent in facts["agents"])


def test_repeating_every_stage_changes_nothing(memory: SampleMemory) -> None:
    """No file is written again, nothing is embedded or upserted, and each report says so."""
    before, first = memory.lake_files(), memory.components.catalog.products.totals()
    for (stage, _), report in memory.run().items():
        assert report.unchanged, stage
        assert report.rows_written == 0
        assert report.details.get("texts_embedded", 0) == 0
    assert memory.lake_files() == before
    assert memory.components.catalog.products.totals() == first


def test_one_appended_turn_changes_one_session_at_every_stage(memory: SampleMemory) -> None:
    """Its new passages only are embedded; upserted are these and those of the turn before
    them, which might have gone on; what was there keeps its time."""
    before, stamps = _ingested_at(memory), memory.stamps()
    memory.append(memory.flaky, *NEW_TURN)
    for (stage, project), report in memory.run().items():
        assert report.changed == (1 if project == memory.harbor else 0), stage
    after = _ingested_at(memory)
    new = after.keys() - before.keys()
    assert {row_id for row_id, when in after.items() if before.get(row_id) == when} == set(before)
    assert {row_id.partition("::part")[0] for row_id in new} == {
        f"session::{memory.flaky}::turn::4"
    }
    embedded = memory.reports["turn_embeddings", memory.harbor].details
    assert embedded["texts_embedded"] == len(new)
    rows_written = memory.reports["session_collection", memory.harbor].rows_written
    assert rows_written == len(new)
    written = {key for key, each in memory.stamps().items() if stamps.get(key) != each}
    assert len(written) == 12
    assert {session_id for _, _, session_id in written} == {memory.flaky}
    memory.assert_collections_equal_the_lake()
    assert memory.behind() == []


def test_a_touched_file_costs_a_reading_and_nothing_else(memory: SampleMemory) -> None:
    """Same bytes, new mtime: the fingerprint is the same, so no stage after the first works."""
    memory.path(memory.flaky).touch()
    memory.run(BEFORE_CHROMA)
    assert memory.reports["raw_sessions", memory.harbor].changed == 1
    assert all(
        report.unchanged for (stage, _), report in memory.reports.items() if stage != "raw_sessions"
    )


def test_a_deleted_session_file_changes_nothing_downstream(memory: SampleMemory) -> None:
    """It is marked as gone, once; all that was made of it stays, and is made again from its records
    when all work is done again."""
    before, files = memory.lake_state(), memory.lake_files()
    path = memory.path(memory.flaky)
    path.unlink()
    shutil.rmtree(path.with_suffix(""))
    assert [work.reason for work in memory.behind()] == ["files vanished"]
    memory.run(projects=[memory.harbor])
    assert memory.reports["raw_sessions", memory.harbor].details["newly_gone"] == 2
    assert memory.reports["raw_sessions", memory.harbor].details["gone"] == 2
    assert all(report.unchanged for report in memory.reports.values())
    assert memory.lake_files() == files
    assert memory.lake_state() == before
    assert memory.behind() == []
    memory.components.catalog.products.forget_project(memory.harbor)
    memory.run(projects=[memory.harbor])
    assert memory.reports["raw_sessions", memory.harbor].details["newly_gone"] == 0
    assert memory.reports["redacted_records", memory.harbor].sessions == 4
    assert memory.lake_state() == before
    memory.assert_collections_equal_the_lake()
    assert memory.behind() == []


def test_a_deleted_subagents_file_loses_nothing_when_its_session_goes_on(
    memory: SampleMemory,
) -> None:
    """The session is written again: with the new turn, and with what the subagent did."""
    before = {repr(row) for row in memory.rows("redacted_records", memory.harbor)}
    shutil.rmtree(memory.path(memory.flaky).with_suffix(""))
    memory.append(memory.flaky, *NEW_TURN)
    memory.run(BEFORE_CHROMA, [memory.harbor])
    after = memory.rows("redacted_records", memory.harbor)
    new = sorted((row for row in after if repr(row) not in before), key=lambda row: row["seq"])
    assert [row["kind"] for row in new] == ["prompt", "tool_use", "tool_result", "assistant_text"]
    assert before == {repr(row) for row in after} - {repr(row) for row in new}
    facts = memory.components.catalog.products.of_project("redacted_records", memory.harbor)[
        memory.flaky
    ].facts
    assert facts["records"] == facts["kept"] + sum(facts["dropped"].values())
    assert facts["blocks"] == sum(row["session_id"] == memory.flaky for row in after)


def test_a_file_that_comes_back_is_read_again(memory: SampleMemory) -> None:
    """It is no longer gone, and no work follows from it when it is the same."""
    path = memory.path(memory.fork)
    kept = path.read_bytes()
    path.unlink()
    memory.run(["raw_sessions"])
    path.write_bytes(kept)
    memory.run(BEFORE_CHROMA)
    assert memory.reports["raw_sessions", memory.harbor].details["gone"] == 0
    assert memory.reports["redacted_records", memory.harbor].unchanged
    assert memory.behind() == []


def test_files_outside_the_directories_read_today_are_not_gone(
    memory: SampleMemory, tmp_path: Any
) -> None:
    """Pointing the settings elsewhere for once forgets nothing and plans nothing."""
    (tmp_path / "elsewhere").mkdir()
    memory.reopen(projects_dir=tmp_path / "elsewhere", codex_dir=None, pi_dir=None)
    assert memory.behind() == []
    memory.run(["raw_sessions", "redacted_records", "turn_chunks"])
    assert {report.details.get("gone", 0) for report in memory.reports.values()} == {0}
    assert all(report.unchanged for report in memory.reports.values())


def test_a_limit_takes_the_newest_files_first_and_goes_on_later(fresh: SampleMemory) -> None:
    """Each scan takes that many in, until all are."""
    by_age = sorted(fresh.transcripts.rglob("*harbor-api/**/*.jsonl"))
    for age, path in enumerate(by_age):
        os.utime(path, (1_700_000_000 - age, 1_700_000_000 - age))
    (codex,) = fresh.transcripts.rglob("*019dd3a0*.jsonl")
    os.utime(codex, (1_600_000_000, 1_600_000_000))
    oldest_last = [str(path) for path in (*by_age, codex)]
    for taken in (2, 4, 5, 5):
        scan.scan_project(fresh.components, fresh.harbor, limit=2)
        known = {row.path for row in fresh.components.catalog.sources.rows(fresh.harbor)}
        assert known == set(oldest_last[:taken])


def test_a_session_that_lost_its_rows_leaves_every_stage(memory: SampleMemory) -> None:
    """A file rewritten to nothing but sidecar records: no turn, no summary, no vector and
    no row in Chroma of it is left, and the other sessions stay."""
    path = memory.path(memory.fork)
    path.write_text(path.read_text().splitlines()[0] + "\n")
    memory.run(projects=[memory.harbor])
    for table in ("turn_chunks", "user_prompts", "session_summaries", *EMBEDDINGS):
        ids = {row["id"] for row in memory.rows(table)}
        assert ids
        assert not [row_id for row_id in ids if memory.fork in row_id]
    memory.assert_collections_equal_the_lake()
    assert memory.behind() == []


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


def test_scanned_records_give_the_same_rows_as_files_read_again(fresh: SampleMemory) -> None:
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
    assert not any(fresh.components.read_records.pop(row) for row in rows)


TOLD = ("and the zanzibar clock?", "It has no summer time.")


def test_files_that_changed_since_the_walk_are_taken_as_they_are(memory: SampleMemory) -> None:
    """One that grew is read to its end, so that nothing is behind; one that vanished is gone, and
    not held back; and tombstones are looked at for each project."""
    walked = on_disk.walk_once(memory.components)[memory.harbor]
    memory.append(memory.flaky, *TOLD)
    memory.path(memory.fork).unlink()
    report = scan.scan_project(memory.components, memory.harbor, walked=walked)
    assert (report.changed, report.details["newly_gone"], report.quarantined) == (1, 1, 0)
    assert scan.scan_project(memory.components, memory.harbor).changed == 0
    forget_sessions(memory, session=memory.flaky)
    memory.append(memory.flaky, *TOLD)
    report = scan.scan_project(memory.components, memory.harbor, walked=walked)
    assert (report.details["forgotten"], report.changed) == (1, 0)
