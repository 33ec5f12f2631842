"""What cannot be read or redacted is held back, alone, and comes in when it can be."""

from __future__ import annotations

import json
import os
import re
import sqlite3
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from memory_assets import __version__
from memory_assets.errors import RedactionFailed
from memory_assets.models import Record
from memory_assets.pipeline.checks.verify import audit_matches_records
from memory_assets.pipeline.scan import raw_sessions as scan
from memory_assets.pipeline.stage.components import Components
from memory_assets.pipeline.stage.quarantine import hold_sessions
from memory_assets.recall import open_memory
from memory_assets.redaction import RecordRedaction, Redactor, SessionRedactor
from memory_assets.requests.search import SearchRequest
from memory_assets.serving.tool_answers import answer_tool
from memory_assets.settings import load_settings
from memory_assets.stores.lake.schemas import REDACTED_RECORDS, TURN_CHUNKS
from memory_assets.transcripts import READER_VERSIONS, read_session
from memory_assets_tests.command_line import run_here
from memory_assets_tests.pipeline.bytes_at_rest import found_words
from memory_assets_tests.pipeline.conftest import UP_TO_SUMMARIES, SampleMemory
from memory_assets_tests.transcript_files import claude_line, write_lines

LAKE_STAGES = (*UP_TO_SUMMARIES, "turn_embeddings")
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


def test_a_session_that_cannot_be_redacted_is_held_back_alone(
    memory: SampleMemory, failing: FailingRedactor
) -> None:
    """What it had stays, and nothing new of it is in the lake, the catalogue or a temporary file;
    the other changed session goes on. The reason says where our code failed, and quotes nothing."""
    memory.append(memory.fork, "an unrelated question", "an unrelated answer")
    stamps = memory.stamps()
    report = memory.run(LAKE_STAGES)["redacted_records", memory.harbor]
    assert (report.changed, report.quarantined, failing.failures) == (1, 1, 1)
    changed = {key for key, each in memory.stamps().items() if stamps.get(key) != each}
    assert {session_id for _, _, session_id in changed} == {memory.fork}
    assert "unrelated question" in repr(memory.rows("user_prompts", memory.harbor))
    (held,) = memory.components.catalog.quarantine.entries()
    assert (held.session_id, held.stage) == (memory.flaky, "redacted_records")
    place = r"pipeline/redact/\w+\.py, line \d+"
    assert re.fullmatch(rf"a fault of memory_assets in {place} \(ValueError\)", held.reason)
    memory.close()
    assert found_words(memory.data_dir, {MARK}) == {}
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


def test_what_another_version_failed_at_is_tried_again(
    memory: SampleMemory, failing: FailingRedactor
) -> None:
    """Its fault may be mended: nobody need know of `--full`."""
    memory.run(LAKE_STAGES)
    catalog = memory.components.catalog
    (held,) = catalog.quarantine.entries()
    assert held.failed_version == __version__
    catalog.quarantine.hold(replace(held, failed_version="0.3.9"))
    assert "to redact" in repr(memory.behind())


def test_a_session_held_back_is_tried_again_when_the_rules_change(
    memory: SampleMemory, failing: FailingRedactor
) -> None:
    """Before that neither by the plan nor by a run: the same file and rules would fail the same
    way."""
    memory.run(LAKE_STAGES)
    assert "to redact" not in repr(memory.behind())
    memory.run(LAKE_STAGES)
    assert failing.failures == 1
    assert memory.reports["redacted_records", memory.harbor].quarantined == 1
    repaired = FailingRedactor(failing._inner, "nobody", ValueError)
    repaired.ruleset_version = "newer"
    memory.reopen(redactor=repaired)
    assert memory.behind()
    memory.run(LAKE_STAGES)
    assert memory.components.catalog.quarantine.entries() == []
    assert MARK in repr(memory.rows("user_prompts", memory.harbor))


def test_a_session_leaves_quarantine_when_its_file_changes(
    memory: SampleMemory, failing: FailingRedactor
) -> None:
    """Where it goes back to what is on record, there is nothing left to hold back; new content is
    tried, and all of it is there when that works."""
    path = memory.path(memory.flaky)
    grown = path.read_text()
    before = "".join(line + "\n" for line in grown.splitlines() if MARK not in line)
    for content, changed in ((before, 0), (grown.replace(MARK, "piano"), 1)):
        path.write_text(grown)
        memory.run(LAKE_STAGES)
        assert len(memory.components.catalog.quarantine.entries()) == 1
        path.write_text(content)
        memory.run(LAKE_STAGES)
        assert memory.components.catalog.quarantine.entries() == []
        assert memory.reports["redacted_records", memory.harbor].changed == changed
    assert "the piano is out of tune" in repr(memory.rows("user_prompts", memory.harbor))


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


def test_a_file_is_read_though_one_as_old_of_its_session_cannot_be(
    fresh: SampleMemory, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As after a backup was put back. A limit lets one be read at a time."""
    (helper,) = fresh.transcripts.rglob("subagents/*.jsonl")
    own = helper.parents[1].with_suffix(".jsonl")
    for path in fresh.transcripts.rglob("*.jsonl"):
        os.utime(path, (1_600_000_000, 1_700_000_000 if path in (own, helper) else 1_600_000_000))
    tried: list[Path] = []

    def failing(path: Path, **rest: Any) -> Any:
        tried.append(path)
        if len(tried) == 1:
            raise ValueError("an error of the reader")
        return read_session(path, **rest)

    monkeypatch.setattr(scan, "read_session", failing)
    for _ in range(2):
        scan.scan_project(fresh.components, fresh.harbor, limit=1)
    assert set(tried) == {own, helper}


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
    assert found_words(memory.data_dir, {fake_token}) == {}


PROJECT = "-home-ada-tides"
QUIET, LOUD = "11111111", "22222222"
ALARM = 'curl -H "apikey: blue-harbor-9" http://localhost:8000/tides'
"""A value that looks like words, which the redactor leaves, in a header that the scanner knows."""
EXAMPLES = (
    'curl -H "x-api-key: YOUR_API_KEY" https://api.example.com/tides',
    'curl -H "Authorization: Bearer dev-secret" http://localhost:8000/tides',
    "psql postgres://user:password@localhost:5432/tides",
)
RULE = "betterleaks.curl-auth-header"


@pytest.fixture
def home(tmp_path: Path) -> dict[str, str]:
    """The settings of a memory with one project, in which one of two sessions has an alarm."""
    project = tmp_path / "projects" / PROJECT
    for name, *said in (
        (QUIET, "Which quay is dry?", f"The northern one. {' or '.join(EXAMPLES)}"),
        (LOUD, "How do I ask for the tides?", f"Run `{ALARM}` at the quay."),
    ):
        lines = [claude_line(name, at, text, "/home/ada/tides") for at, text in enumerate(said)]
        write_lines(project / f"{name}.jsonl", lines)
    return {
        "MEMORY_DATA_DIR": str(tmp_path / "data"),
        "MEMORY_PROJECTS_DIR": str(tmp_path / "projects"),
        "MEMORY_AGENTS": "claude-code",
        "MEMORY_EMBEDDER": "none",
    }


def found(home: dict[str, str]) -> set[str]:
    """The sessions that a search finds."""
    hits = json.loads(run_here(home, "search", "quay", "tides", "--json").stdout)["hits"]
    return {hit["id"].split("::")[1] for hit in hits}


def test_an_alarm_holds_back_its_session_alone(home: dict[str, str]) -> None:
    """Examples are none. The rest of the project is found; records and audit of the session stay,
    nothing is made of it, and status, verify and search say so. The next ingest takes it in when
    its rule is ignored."""
    done = run_here(home, "ingest", "--json")
    report = json.loads(done.stdout)
    assert (done.returncode, report["checks_failed"]) == (0, [])
    assert found(home) == {QUIET}
    stages = report["status"]["stages"]
    assert (stages["redacted_records"]["sessions"], stages["turn_chunks"]["sessions"]) == (2, 1)
    (entry,) = report["status"]["quarantined"]
    assert (entry["session_id"], RULE in entry["reason"]) == (LOUD, True)
    assert "MEMORY_SCANNER_IGNORED_RULES" in entry["remedy"]
    again = json.loads(run_here(home, "ingest", "--json").stdout)
    assert (again["projects"], again["work"]) == (0, [])
    verified = json.loads(run_here(home, "verify", "--json").stdout)
    failed = {
        (each["subject"], each["check"])
        for each in verified["checks"]
        if not (each["passed"] or each["warning"])
    }
    assert failed == {("redacted_records", "independent_scanner_finds_nothing")}
    home["MEMORY_SCANNER_IGNORED_RULES"] = RULE
    report = json.loads(run_here(home, "ingest", "--json").stdout)
    assert (report["projects"], report["status"]["quarantined"]) == (1, [])
    assert found(home) == {QUIET, LOUD}


def test_it_is_forgotten_like_others(home: dict[str, str]) -> None:
    """With the reason for which it was held back; nothing is left to be told of it."""
    run_here(home, "ingest")
    assert run_here(home, "forget", LOUD, "--yes").returncode == 0
    report = json.loads(run_here(home, "ingest", "--json").stdout)
    assert report["status"]["quarantined"] == []
    assert report["status"]["stages"]["redacted_records"]["sessions"] == 1


def test_its_audit_is_still_compared_with_its_records(home: dict[str, str], tmp_path: Path) -> None:
    """Only what is not made of it is not looked for."""
    run_here(home, "ingest")
    components = Components(load_settings(data_dir=tmp_path / "data", embedder="none"))
    assert audit_matches_records(components, PROJECT).passed
    lake = components.lake
    (first, *rest) = lake.read_rows(REDACTED_RECORDS, PROJECT, LOUD)
    lake.write(REDACTED_RECORDS, PROJECT, LOUD, [replace(first, redactions=1), *rest])
    assert not audit_matches_records(components, PROJECT).passed
    components.catalog.close()


def test_rows_made_of_a_session_that_is_held_back_are_removed(wordy: SampleMemory) -> None:
    """From the table in which something was found at once, from all else by the next run."""
    wordy.run(projects=[wordy.harbor])
    hold_sessions(wordy.components, wordy.harbor, TURN_CHUNKS, {wordy.flaky: "an alarm"})
    lake = wordy.components.lake
    assert wordy.flaky not in lake.sessions(TURN_CHUNKS, wordy.harbor)
    assert wordy.harbor in {work.project for work in wordy.behind()}
    wordy.run(projects=[wordy.harbor])
    sessions = {row["session_id"] for row in wordy.rows("session_summaries", wordy.harbor)}
    assert sessions and wordy.flaky not in sessions
    assert wordy.flaky in lake.sessions(REDACTED_RECORDS, wordy.harbor)
    assert wordy.harbor not in {work.project for work in wordy.behind()}
    wordy.append(wordy.flaky, "and now?", "Now it is another session.")
    wordy.run(projects=[wordy.harbor])
    assert wordy.flaky in lake.sessions(TURN_CHUNKS, wordy.harbor)


def test_a_search_says_that_sessions_of_a_blocked_project_are_not_found(
    home: dict[str, str], tmp_path: Path
) -> None:
    """On the terminal, in JSON and to an agent."""
    run_here(home, "ingest")
    with sqlite3.connect(tmp_path / "data" / "catalog.db") as catalog:
        catalog.execute("DELETE FROM products WHERE stage = 'turn_chunks'")
        catalog.execute("DELETE FROM quarantine")
    said = run_here(home, "search", "quay")
    assert "2 sessions cannot be found yet" in said.stdout + said.stderr
    covered = json.loads(run_here(home, "search", "quay", "--json").stdout)["coverage"]
    assert (covered["waiting"], covered["complete"]) == (2, False)
    memory = open_memory(load_settings(data_dir=tmp_path / "data", embedder="none"))
    _, told = answer_tool(memory, "recall", SearchRequest(query="quay"))
    assert "Incomplete: 2 sessions cannot be found yet" in told


@pytest.mark.parametrize("command", ["show", "audit", "summarize", "timeline"])
def test_its_ids_say_why_there_is_nothing_to_show(home: dict[str, str], command: str) -> None:
    """With the remedy, and where its records are; the beginning of its id names it, too."""
    run_here(home, "ingest")
    for any_id in (f"session::{LOUD}::turn::0", f"prompt::{LOUD}::0", LOUD, LOUD[:7]):
        said = run_here(home, command, any_id)
        assert said.returncode == 3
        told = " ".join(said.stderr.split())
        assert f"of session {LOUD}: held back at checks" in told and RULE in told
        assert "MEMORY_SCANNER_IGNORED_RULES" in told
    records = json.loads(run_here(home, "show", LOUD, "--records", "--json").stdout)
    assert (records["rows"], len(records["records"])) == ([], 2)


def test_ids_of_what_is_not_made_yet_name_the_command(home: dict[str, str], tmp_path: Path) -> None:
    """An ingest was stopped when the records were in the lake."""
    run_here(home, "ingest")
    components = Components(load_settings(data_dir=tmp_path / "data", embedder="none"))
    components.catalog.products.drop(TURN_CHUNKS.name, PROJECT, QUIET)
    components.lake.delete(TURN_CHUNKS, PROJECT, QUIET)
    components.catalog.close()
    said = run_here(home, "show", f"session::{QUIET}::turn::0")
    assert "not made yet; run `memory ingest`" in " ".join(said.stderr.split())
    assert "not made yet" not in run_here(home, "show", f"session::{LOUD}::turn::7").stderr
