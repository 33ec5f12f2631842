"""What one record gives away is gone from all of them, yesterday's sessions included, and the audit
says what went where."""

from __future__ import annotations

import json
from collections import Counter
from typing import Any

import pytest

from memory_assets.pipeline.checks import verify
from memory_assets.pipeline.redact import known_secrets as recheck
from memory_assets.pipeline.redact import session_redaction
from memory_assets.status.ledger_sources import source_of
from memory_assets.stores.catalog.known_secrets import KnownSecrets
from memory_assets.stores.lake.partition import Partition
from memory_assets.stores.lake.schemas import REDACTED_RECORDS, REDACTION_AUDIT
from memory_assets.transcripts import read_session
from memory_assets_tests.kills import killed_at
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
    wordy: SampleMemory, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Records, audit and counts, to the last."""
    catalog = wordy.components.catalog
    before, facts = wordy.lake_state(), catalog.products.of_stage(REDACTED_RECORDS.name)
    monkeypatch.setattr(session_redaction, "HELD_BYTES", 0)
    for project in wordy.projects():
        catalog.products.forget_project(project)
    wordy.run()
    assert wordy.lake_state() == before
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
    wordy: SampleMemory, lost: str
) -> None:
    """The audit's file names the records that it is of; without such a file the session is
    redacted again."""
    catalog, lake = wordy.components.catalog, wordy.components.lake
    key = next(
        k for k, made in catalog.products.of_stage(REDACTION_AUDIT.name).items() if made.rows
    )
    if lost == "missing":
        lake.delete(REDACTION_AUDIT, *key)
    else:
        rows = lake.read_rows(REDACTION_AUDIT, *key)
        _, footer = lake.read_footer(REDACTION_AUDIT, *key)
        lake.write(REDACTION_AUDIT, *key, rows[:-1], footer={**footer, "records_hash": "other"})
    wordy.lose_the_catalogue()
    wordy.behind()
    wordy.run(["raw_sessions"])
    reasons = {work.project: work.reason for work in wordy.behind()}
    assert reasons[key[0]] == "1 session to redact"
    wordy.run()
    assert verify.audit_matches_records(wordy.components, key[0]).passed


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


FOUND_TODAY = "qW3" + "eRt6Yu8Io1Pa5Sd7Fg9Hj2"
"""A value that no rule knows by its looks."""
LANTERN = "-home-mara-code-lantern"


def _yesterday_and_today(memory: SampleMemory) -> None:
    """A session that held the value bare, and, a run later, one of another project that
    gives it away."""
    memory.append(
        memory.flaky, f"what is {FOUND_TODAY} for?", f"I have not met {FOUND_TODAY} before."
    )
    memory.run(projects=[memory.harbor])
    assert FOUND_TODAY in repr(memory.rows(REDACTED_RECORDS.name, memory.harbor))
    _give_away_elsewhere(memory)


def _give_away_elsewhere(memory: SampleMemory) -> None:
    """A session of another project has the value where it is a secret."""
    other = next(
        row.session_id
        for row in memory.components.catalog.sources.rows()
        if row.project != memory.harbor and row.agent == "claude-code" and not row.agent_id
    )
    memory.append(other, f"export PAYMENTS_API_KEY={FOUND_TODAY}", "Done.")
    memory.run()


def test_yesterdays_session_is_marked_and_redacted_again(memory: SampleMemory) -> None:
    """Found in one project, it goes from another one's records, chunks and collections,
    under the same digits."""
    _yesterday_and_today(memory)
    assert recheck.is_due(memory.components)
    report = recheck.mark_affected(memory.components)
    assert (report.affected_sessions, report.holding) == (1, 1)
    (work,) = memory.behind()
    assert (work.project, work.reason) == (memory.harbor, "1 session holds a secret found since")
    memory.run(projects=[memory.harbor])
    assert FOUND_TODAY not in repr(memory.lake_state())
    assert memory.behind() == []
    memory.assert_collections_equal_the_lake()
    tags = {
        row["tag"].rpartition(":")[2]: row["session_id"]
        for row in memory.rows("redaction_audit")
        if row["length"] == len(FOUND_TODAY)
    }
    assert memory.flaky in tags.values()


def test_a_search_that_found_nothing_is_not_made_twice(memory: SampleMemory) -> None:
    """Each session is searched once for a value; then the catalogue alone says so."""
    recheck.mark_affected(memory.components)
    assert not recheck.is_due(memory.components)
    again = recheck.mark_affected(memory.components)
    assert (again.searched, again.values, again.affected_sessions) == (0, 0, 0)
    assert memory.behind() == []


def test_a_session_is_redacted_with_what_those_collected_before_it_gave_away(
    fresh: SampleMemory,
) -> None:
    """Though their rows are written together, and their secrets noted after that."""
    first, second = sorted((fresh.flaky, fresh.fork))
    fresh.append(first, f"export PAYMENTS_API_KEY={FOUND_TODAY}", "Done.")
    fresh.append(second, f"what is {FOUND_TODAY} for?", f"I have not met {FOUND_TODAY} before.")
    fresh.run(REDACT, [fresh.harbor])
    assert FOUND_TODAY not in repr(fresh.rows(REDACTED_RECORDS.name))


def test_records_that_change_during_a_search_are_searched_again(memory: SampleMemory) -> None:
    """The mark is of the records that were read, and of no others."""
    memory.components.catalog.known_secrets.add("elsewhere", {b"k" * 16: "some-rule"})
    session = next(
        found
        for found in memory.components.catalog.known_secrets.unchecked_sessions()
        if found.session_id == memory.flaky
    )
    memory.append(memory.flaky, "a new question", "a new answer")
    memory.components.catalog.known_secrets.add("elsewhere", {b"l" * 16: "some-rule"})
    memory.run(REDACT, [memory.harbor])
    memory.components.catalog.known_secrets.add("elsewhere", {b"m" * 16: "some-rule"})
    memory.components.catalog.known_secrets.note_checked(session, 10_000, holds=True)
    left = {
        found.session_id for found in memory.components.catalog.known_secrets.unchecked_sessions()
    }
    assert memory.flaky in left
    assert memory.components.catalog.known_secrets.affected_sessions() == {}


def test_the_mark_is_in_the_fingerprint_of_the_work(memory: SampleMemory) -> None:
    """A run key counts for ever: another search that finds something asks for another run."""
    before = memory.behind
    assert before() == []
    session = _as_unchecked(memory)
    memory.components.catalog.known_secrets.note_checked(session, 1, holds=True)
    (first,) = memory.behind()
    memory.components.catalog.known_secrets.note_checked(session, 2, holds=True)
    (second,) = memory.behind()
    assert first.fingerprint != second.fingerprint


def _as_unchecked(memory: SampleMemory) -> Any:
    memory.components.catalog.known_secrets.add("elsewhere", {b"n" * 16: "some-rule"})
    return next(
        found
        for found in memory.components.catalog.known_secrets.unchecked_sessions()
        if found.session_id == memory.flaky
    )


def test_what_is_known_outlives_the_catalogue(wordy: SampleMemory) -> None:
    """The audit files carry the keyed hashes; values are known again when they are adopted,
    and nothing of them is plaintext. A process that is killed meanwhile adopts nothing."""
    known = wordy.components.catalog.known_secrets.rules()
    assert known
    wordy.lose_the_catalogue()
    wordy.close()
    assert killed_at(KnownSecrets, "add", 1, lambda: wordy.reopen() and wordy.behind()) < 0
    wordy.reopen()
    assert wordy.behind()
    assert wordy.components.catalog.known_secrets.rules().keys() == known.keys()


def test_a_known_value_goes_from_a_vanished_session_too(wordy: SampleMemory) -> None:
    """Its source is gone; its records are redacted again where they lie."""
    wordy.append(wordy.flaky, f"what is {FOUND_TODAY} for?", "I do not know.")
    wordy.run(projects=[wordy.harbor])
    wordy.path(wordy.flaky).unlink()
    _give_away_elsewhere(wordy)
    recheck.mark_affected(wordy.components)
    wordy.run()
    assert FOUND_TODAY not in repr(wordy.lake_state())
    assert wordy.behind() == []
