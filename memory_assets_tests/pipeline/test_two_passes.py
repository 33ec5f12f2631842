"""What one record gives away is gone from all of them, and the audit says what went where."""

from __future__ import annotations

import json
from collections import Counter
from typing import Any

import pytest

from memory_assets.pipeline.checks import verify
from memory_assets.pipeline.redact import session_redaction
from memory_assets.status.remembered import source_of
from memory_assets.stores.lake.partition import Partition
from memory_assets.stores.lake.schemas import REDACTED_RECORDS, REDACTION_AUDIT
from memory_assets.transcripts import read_session
from memory_assets_tests.pipeline.conftest import SampleMemory

REDACT = ("raw_sessions", "redacted_records")
BARE = "mQ7" + "vTz4Rk9Wb2Xn6Jd8Lp3Hs5"
"""A value that no rule knows by its looks."""


class Crash(Exception):
    """The process died here."""


def _audit(memory: SampleMemory, session_id: str) -> list[dict[str, Any]]:
    return [row for row in memory.rows(REDACTION_AUDIT.name) if row["session_id"] == session_id]


def _texts(memory: SampleMemory, session_id: str) -> str:
    rows = [r for r in memory.rows(REDACTED_RECORDS.name) if r["session_id"] == session_id]
    return "\n".join(repr((row["text"], row["command"], row["paths"])) for row in rows)


def test_what_the_last_record_gives_away_is_gone_from_the_first(memory: SampleMemory) -> None:
    """The value stands bare at first, and only later does an assignment tell what it is."""
    memory.append(memory.flaky, f"what is {BARE} for?", "I do not know.")
    memory.append(memory.flaky, f"it is in the file: API_SECRET_KEY={BARE}", "Thanks.")
    memory.run(REDACT, [memory.harbor])
    assert BARE not in _texts(memory, memory.flaky)
    assert verify.audit_matches_records(memory.components, memory.harbor).passed


def test_what_a_subagent_gives_away_is_gone_from_its_session(memory: SampleMemory) -> None:
    """All files of a session are redacted as one."""
    memory.append(memory.flaky, f"what is {BARE} for?", "I do not know.")
    (subagent,) = memory.path(memory.flaky).with_suffix("").rglob("agent-*.jsonl")
    lines = subagent.read_text().splitlines()
    last = json.loads(lines[-1])
    last |= {"uuid": "0" * 32, "parentUuid": None}
    last["message"] = {"role": "user", "content": f"export API_SECRET_KEY={BARE}"}
    last["type"] = "user"
    subagent.write_text("\n".join([*lines, json.dumps(last)]) + "\n")
    memory.run(REDACT, [memory.harbor])
    assert BARE not in _texts(memory, memory.flaky)


def test_a_session_too_large_to_hold_is_read_twice_and_comes_out_the_same(
    memory: SampleMemory, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Records, audit and counts, to the last."""
    catalog = memory.components.catalog
    before, facts = memory.lake_state(), catalog.products.of_stage(REDACTED_RECORDS.name)
    monkeypatch.setattr(session_redaction, "HELD_BYTES", 0)
    for project in memory.projects():
        catalog.products.forget_project(project)
    memory.run()
    assert memory.lake_state() == before
    after = catalog.products.of_stage(REDACTED_RECORDS.name)
    assert {key: made.facts for key, made in after.items()} == {
        key: made.facts for key, made in facts.items()
    }


def test_the_audit_tells_where_each_redaction_was(memory: SampleMemory) -> None:
    """Putting the tags where the audit says, in the source as it is read, gives the record:
    offsets, fields and tags are those of the source."""
    checked = 0
    redacted = {
        (row["session_id"], row["agent_id"], row["seq"]): row
        for row in memory.rows(REDACTED_RECORDS.name)
    }
    entries: dict[tuple[Any, ...], list[dict[str, Any]]] = {}
    for row in memory.rows(REDACTION_AUDIT.name):
        key = (row["session_id"], row["agent_id"], row["seq"], row["field"])
        entries.setdefault(key, []).append(row)
    for source in memory.components.catalog.sources.rows():
        for record in read_session(source_of(source).path, source=source_of(source)):
            for field in ("text", "command"):
                of_record = (record.session_id, record.agent_id, record.seq)
                if (*of_record, field) not in entries:
                    continue
                value = getattr(record, field)
                for entry in sorted(entries[(*of_record, field)], key=lambda row: -row["start"]):
                    assert entry["length"] == entry["end"] - entry["start"]
                    value = value[: entry["start"]] + entry["tag"] + value[entry["end"] :]
                home = value.replace("/home/mara", "~").replace("/Users/jonas", "~")
                assert redacted[of_record][field] in (value, home)
                checked += 1
    assert checked > 5


def test_the_audit_has_an_entry_for_each_redaction_counted(memory: SampleMemory) -> None:
    """In every project; a missing or an extra entry fails the check."""
    for project in memory.projects():
        verdict = verify.audit_matches_records(memory.components, project)
        assert verdict.passed
    assert verdict.counts["entries"] == len(memory.rows(REDACTION_AUDIT.name, project))
    session = next(row["session_id"] for row in memory.rows(REDACTION_AUDIT.name, memory.harbor))
    memory.components.lake.delete(REDACTION_AUDIT, memory.harbor, session)
    verdict = verify.audit_matches_records(memory.components, memory.harbor)
    assert not verdict.passed
    assert verdict.counts["sessions"] == session


def test_a_run_that_ends_between_the_two_files_is_completed(
    memory: SampleMemory, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Records of today beside an audit of yesterday: the session counts as not done."""
    memory.append(memory.flaky, "export DB_PASSWORD=hunter2hunter2", "ok")
    real = Partition.publish

    def dies(partition: Partition, *args: Any) -> Any:
        if REDACTION_AUDIT.name in str(partition.directory):
            raise Crash
        return real(partition, *args)

    monkeypatch.setattr(Partition, "publish", dies)
    with pytest.raises(Crash):
        memory.run(REDACT, [memory.harbor])
    monkeypatch.undo()
    assert not verify.audit_matches_records(memory.components, memory.harbor).passed
    assert [work.reason for work in memory.behind()] == ["1 session to redact"]
    memory.run(REDACT, [memory.harbor])
    assert verify.audit_matches_records(memory.components, memory.harbor).passed


@pytest.mark.parametrize("lost", ["missing", "stale"])
def test_a_lost_catalogue_believes_no_audit_of_other_records(
    memory: SampleMemory, lost: str
) -> None:
    """The audit's file names the records that it is of; without such a file the session is
    redacted again."""
    catalog, lake = memory.components.catalog, memory.components.lake
    key = next(
        k for k, made in catalog.products.of_stage(REDACTION_AUDIT.name).items() if made.rows
    )
    if lost == "missing":
        lake.delete(REDACTION_AUDIT, *key)
    else:
        rows = lake.read_rows(REDACTION_AUDIT, *key)
        _, footer = lake.read_footer(REDACTION_AUDIT, *key)
        lake.write(REDACTION_AUDIT, *key, rows[:-1], footer={**footer, "records_hash": "other"})
    memory.lose_the_catalogue()
    memory.behind()
    memory.run(["raw_sessions"])
    reasons = {work.project: work.reason for work in memory.behind()}
    assert reasons[key[0]] == "1 session to redact"
    memory.run()
    assert verify.audit_matches_records(memory.components, key[0]).passed


def test_a_vanished_session_without_an_audit_gets_one_from_its_tags(memory: SampleMemory) -> None:
    """It was redacted by a version that kept none, and its source is gone: each tag is an
    entry, without offsets."""
    lake = memory.components.lake
    tags = Counter(row["tag"] for row in _audit(memory, memory.flaky))
    assert tags
    memory.path(memory.flaky).unlink()
    lake.delete(REDACTION_AUDIT, memory.harbor, memory.flaky)
    memory.components.catalog.products.forget_project(memory.harbor)
    memory.run(REDACT, [memory.harbor])
    made = [row for row in _audit(memory, memory.flaky) if row["start"] is None]
    assert made
    assert {row["tag"] for row in made} <= set(tags)
    assert verify.audit_matches_records(memory.components, memory.harbor).passed
