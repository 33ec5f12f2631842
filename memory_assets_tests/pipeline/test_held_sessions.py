"""What the independent scanner finds, and the redactor cannot take out, holds back its session."""

from __future__ import annotations

import json
import sqlite3
from dataclasses import replace
from pathlib import Path

import pytest

from memory_assets.pipeline.checks.verify import audit_matches_records
from memory_assets.pipeline.stage.components import Components
from memory_assets.pipeline.stage.held_sessions import hold_sessions
from memory_assets.recall import open_memory
from memory_assets.requests.search import SearchRequest
from memory_assets.serving.tool_answers import answer_tool
from memory_assets.settings import load_settings
from memory_assets.status.status import coverage
from memory_assets.status.words import in_words
from memory_assets.stores.lake.schemas import REDACTED_RECORDS, TURN_CHUNKS
from memory_assets_tests.command_line import run_here
from memory_assets_tests.pipeline.conftest import SampleMemory

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


def said(session: str, *texts: str) -> str:
    """A transcript of Claude Code with prompts and answers in turns."""
    lines = [
        {
            "type": "assistant" if number % 2 else "user",
            "uuid": f"{session}-{number}",
            "parentUuid": None,
            "isSidechain": False,
            "sessionId": session,
            "timestamp": f"2026-05-04T09:0{number}:00.000Z",
            "cwd": "/home/ada/tides",
            "version": "2.1.129",
            "message": {
                "role": "assistant" if number % 2 else "user",
                "content": [{"type": "text", "text": text}],
                "id": f"{session}-{number}",
            },
        }
        for number, text in enumerate(texts)
    ]
    return "".join(f"{json.dumps(line)}\n" for line in lines)


@pytest.fixture
def home(tmp_path: Path) -> dict[str, str]:
    """The settings of a memory with one project, in which one of two sessions has an alarm."""
    project = tmp_path / "projects" / PROJECT
    project.mkdir(parents=True)
    quiet = said(QUIET, "Which quay is dry?", f"The northern one. {' or '.join(EXAMPLES)}")
    (project / f"{QUIET}.jsonl").write_text(quiet)
    loud = said(LOUD, "How do I ask for the tides?", f"Run `{ALARM}` at the quay.")
    (project / f"{LOUD}.jsonl").write_text(loud)
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
    nothing is made of it, and status, verify and search say so."""
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


def test_it_is_taken_in_when_its_rule_is_ignored(home: dict[str, str]) -> None:
    """By the next ingest."""
    run_here(home, "ingest")
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


def test_sessions_of_which_nothing_was_made_are_said_not_to_be_found() -> None:
    """After a check that blocks, or an ingest that was stopped."""
    stages = {"redacted_records": {"sessions": 3}, "turn_chunks": {"sessions": 1, "rows": 4}}
    stages["sessions_keywords"] = {"rows": 4}
    covered = coverage(stages, quarantined=0, vectors=False)
    lines = list(in_words(covered))
    assert [everything for everything, _ in lines] == [False]
    assert lines[0][1].startswith("2 sessions cannot be found yet")


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
