"""What cannot be read or redacted is held back, alone, and comes in when it can be."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from memory_assets.errors import RedactionFailed, TranscriptError
from memory_assets.models import Record
from memory_assets.pipeline.scan import raw_sessions as scan
from memory_assets.redaction import RecordRedaction, Redactor, SessionRedactor
from memory_assets.transcripts import READER_VERSIONS, read_session
from memory_assets_tests.pipeline.conftest import SampleMemory

LAKE_STAGES = (
    "raw_sessions",
    "redacted_records",
    "turn_chunks",
    "user_prompts",
    "session_summaries",
    "turn_embeddings",
)
MARK = "xylophone"
NEW_TURN = (f"the {MARK} is out of tune", f"I tuned the {MARK}.")


class FailingRedactor:
    """The real redactor, but for one session: there it raises on what holds the mark."""

    def __init__(self, inner: Redactor, session_id: str, error: type[Exception]) -> None:
        self._inner = inner
        self._session_id = session_id
        self._error = error
        self.ruleset_version = inner.ruleset_version
        self.failures = 0

    def __getattr__(self, name: str) -> Any:
        return getattr(self._inner, name)

    def session(self, session_id: str, known: frozenset[bytes] = frozenset()) -> Any:
        """The session's redactor; for the one session, one that raises."""
        inner = self._inner.session(session_id, known)
        return FailingSession(self, inner) if session_id == self._session_id else inner

    def fail(self, record: Record) -> None:
        """Raise an error that quotes the text."""
        self.failures += 1
        raise self._error(f"cannot redact {record.text}")


class FailingSession:
    """A session's redactor that raises on what holds the mark."""

    def __init__(self, redactor: FailingRedactor, inner: SessionRedactor) -> None:
        self._redactor = redactor
        self._inner = inner

    def __getattr__(self, name: str) -> Any:
        return getattr(self._inner, name)

    def redact_record(self, record: Record, **where: Any) -> RecordRedaction:
        """Redact, or raise."""
        if MARK in record.text:
            self._redactor.fail(record)
        return self._inner.redact_record(record, **where)


@pytest.fixture
def failing(memory: SampleMemory) -> FailingRedactor:
    """A redactor that fails on the flaky session's next turn, and the turn."""
    redactor = FailingRedactor(memory.components.redactor, memory.flaky, ValueError)
    memory.append(memory.flaky, *NEW_TURN)
    memory.reopen(redactor=redactor)
    return redactor


def _written_words(directory: Path) -> str:
    """Every byte of every file, and every string in every Parquet file."""
    words = []
    for path in directory.rglob("*"):
        if path.suffix == ".parquet":
            words.append(repr(pq.ParquetFile(path).read().to_pydict()))
        elif path.is_file():
            words.append(path.read_bytes().decode("latin-1"))
    return "\n".join(words)


def test_a_session_that_cannot_be_redacted_is_held_back_alone(
    memory: SampleMemory, failing: FailingRedactor
) -> None:
    """What it had stays; the other changed session goes on."""
    memory.append(memory.fork, "an unrelated question", "an unrelated answer")
    stamps = memory.stamps()
    report = memory.run(LAKE_STAGES)["redacted_records", memory.harbor]
    assert (report.changed, report.quarantined) == (1, 1)
    changed = {key for key, each in memory.stamps().items() if stamps.get(key) != each}
    assert {session_id for _, _, session_id in changed} == {memory.fork}
    assert "unrelated question" in repr(memory.rows("user_prompts", memory.harbor))


def test_nothing_of_a_session_that_failed_is_written(
    memory: SampleMemory, failing: FailingRedactor
) -> None:
    """Not in the lake, the catalogue or a temporary file; the reason says where our code failed,
    and quotes nothing."""
    memory.run(LAKE_STAGES)
    assert failing.failures == 1
    (held,) = memory.components.catalog.quarantine.entries()
    assert (held.session_id, held.stage) == (memory.flaky, "redacted_records")
    place = r"pipeline/redact/\w+\.py, line \d+"
    assert re.fullmatch(rf"a fault of memory_assets in {place} \(ValueError\)", held.reason)
    memory.close()
    assert MARK not in _written_words(memory.data_dir)
    assert not list(memory.data_dir.rglob("*.staging"))


def test_our_own_errors_keep_their_message(memory: SampleMemory) -> None:
    """The redactor's own errors name ids and rules only, and are shown."""
    memory.append(memory.flaky, *NEW_TURN)
    memory.reopen(
        redactor=FailingRedactor(memory.components.redactor, memory.flaky, RedactionFailed)
    )
    memory.run(LAKE_STAGES[:2])
    assert memory.components.catalog.quarantine.entries()[0].reason.startswith("cannot redact")


def test_a_new_session_that_fails_leaves_no_trace(memory: SampleMemory) -> None:
    """It has no file at any stage, and its project still gets its summary of the others."""
    new = memory.path(memory.flaky).with_name("aaaaaaaa-0000-4000-8000-000000000001.jsonl")
    new.touch()
    new.write_text(memory.path(memory.fork).read_text().splitlines()[1] + "\n")
    memory.append(new.stem, *NEW_TURN)
    memory.reopen(redactor=FailingRedactor(memory.components.redactor, new.stem, KeyError))
    memory.run(LAKE_STAGES)
    assert not [key for key in memory.stamps() if new.stem in key]
    assert memory.reports["session_summaries", memory.harbor].sessions == 4
    assert memory.components.catalog.quarantine.entries()[0].session_id == new.stem


def test_a_session_held_back_is_not_tried_again_until_something_changes(
    memory: SampleMemory, failing: FailingRedactor
) -> None:
    """Neither by the plan nor by a run: the same file and rules would fail the same way."""
    memory.run(LAKE_STAGES)
    assert "to redact" not in repr(memory.behind())
    memory.run(LAKE_STAGES)
    assert failing.failures == 1
    assert memory.reports["redacted_records", memory.harbor].quarantined == 1


def test_a_session_leaves_quarantine_when_its_file_changes(
    memory: SampleMemory, failing: FailingRedactor
) -> None:
    """The new content is tried; when it works, all of it is there."""
    memory.run(LAKE_STAGES)
    path = memory.path(memory.flaky)
    path.write_text(path.read_text().replace(MARK, "piano"))
    assert memory.behind()
    memory.run(LAKE_STAGES)
    assert memory.components.catalog.quarantine.entries() == []
    assert "the piano is out of tune" in repr(memory.rows("user_prompts", memory.harbor))


def test_a_session_leaves_quarantine_when_the_rules_change(
    memory: SampleMemory, failing: FailingRedactor
) -> None:
    """A newer redactor tries again, though the file is the same."""
    memory.run(LAKE_STAGES)
    repaired = FailingRedactor(failing._inner, "nobody", ValueError)
    repaired.ruleset_version = "newer"
    memory.reopen(redactor=repaired)
    assert memory.behind()
    memory.run(LAKE_STAGES)
    assert memory.components.catalog.quarantine.entries() == []
    assert MARK in repr(memory.rows("user_prompts", memory.harbor))


def test_a_session_that_is_as_it_was_leaves_quarantine(
    memory: SampleMemory, failing: FailingRedactor
) -> None:
    """The file goes back to what is on record: there is nothing left to hold back."""
    path = memory.path(memory.flaky)
    grown = path.read_text()
    memory.run(LAKE_STAGES)
    assert len(memory.components.catalog.quarantine.entries()) == 1
    path.write_text("".join(line + "\n" for line in grown.splitlines() if MARK not in line))
    memory.run(LAKE_STAGES)
    assert memory.components.catalog.quarantine.entries() == []
    assert memory.reports["redacted_records", memory.harbor].changed == 0


def test_a_file_that_cannot_be_read_is_held_back_until_it_can(
    memory: SampleMemory, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With its subagent's file: both wait, the plan asks again each time, as the failure may
    pass without any change of the files, and both come in."""

    def unreadable(path: Path, **rest: Any) -> Any:
        if memory.flaky in str(path):
            raise TranscriptError(f"cannot read {path.name}: Permission denied")
        return read_session(path, **rest)

    memory.append(memory.flaky, *NEW_TURN)
    for path in memory.transcripts.rglob("agent-*.jsonl"):
        path.touch()
    monkeypatch.setattr(scan, "read_session", unreadable)
    memory.run()
    (held,) = memory.components.catalog.quarantine.entries()
    assert (held.session_id, held.stage) == (memory.flaky, "raw_sessions")
    assert held.reason.endswith("Permission denied")
    assert memory.reports["raw_sessions", memory.harbor].quarantined == 1
    assert memory.reports["redacted_records", memory.harbor].unchanged
    (work,) = memory.behind()
    assert work.held_back and work.reason == "1 session held back, to be tried again"

    monkeypatch.setattr(scan, "read_session", read_session)
    memory.run()
    assert memory.components.catalog.quarantine.entries() == []
    assert memory.reports["raw_sessions", memory.harbor].changed == 2
    assert MARK in repr(memory.rows("user_prompts", memory.harbor))
    assert memory.behind() == []


def test_a_file_that_no_reading_can_take_in_waits_until_it_or_its_reader_changes(
    memory: SampleMemory, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The same bytes would fail in the same way: neither the plan nor a run tries them again."""
    tried: list[Path] = []

    def failing(path: Path, **rest: Any) -> Any:
        if memory.flaky in str(path):
            tried.append(path)
            raise ValueError("an error of the reader")
        return read_session(path, **rest)

    memory.append(memory.flaky, *NEW_TURN)
    monkeypatch.setattr(scan, "read_session", failing)
    memory.run(LAKE_STAGES[:1])
    (held,) = memory.components.catalog.quarantine.entries()
    assert "(ValueError)" in held.reason and not held.passing
    assert "--full" in held.remedy
    assert memory.behind() == []
    memory.run(LAKE_STAGES[:1])
    assert len(tried) == 1
    monkeypatch.setattr(scan, "READER_VERSIONS", {**READER_VERSIONS, "claude-code": "next"})
    assert memory.behind()


def test_a_secret_in_a_name_is_not_written_either(memory: SampleMemory, fake_token: str) -> None:
    """The agent's version, or a directory, may hold one: the ledger redacts it too."""
    path = memory.path(memory.flaky)
    path.write_text(
        path.read_text()
        .replace('"version":"2.1.129"', f'"version":"{fake_token}"')
        .replace(f'"sessionId":"{memory.flaky}"', f'"sessionId":"{fake_token}"')
        .replace("/home/mara/code/harbor-api", f"/home/mara/{fake_token}")
    )
    memory.run(LAKE_STAGES)
    memory.close()
    assert fake_token not in _written_words(memory.data_dir)
