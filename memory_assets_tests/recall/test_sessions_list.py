"""`memory sessions`: the list of sessions, newest first."""

from __future__ import annotations

import json
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from memory_assets.errors import ConfigurationError
from memory_assets.paths import project_of
from memory_assets.recall import Memory
from memory_assets.recall.sessions.listing import list_sessions, newest_sessions
from memory_assets.recall.sessions.recent_work import recent_work
from memory_assets.requests.questions import SessionsRequest
from memory_assets.serving.answer_lines import sessions_lines, sessions_notes
from memory_assets.stores.lake.schemas import SESSION_SUMMARIES
from memory_assets_tests.recall.conftest import HARBOR, Asked
from memory_assets_tests.recall.worked import Call, Worked

KILN = "/home/mara/code/kiln"


def test_every_session_with_turns_is_listed_the_last_first(asked: Asked) -> None:
    """By the time at which each ended, with what its summary says of it."""
    found = list_sessions(asked.memory, SessionsRequest(n=1_000))
    listed = {each["session_id"]: each for each in found["sessions"]}
    assert listed.keys() == {row["session_id"] for row in asked.rows("user_prompts")}
    assert found["total"] == len(found["sessions"])
    ends = [datetime.fromisoformat(each["ended_at"]) for each in found["sessions"]]
    assert ends == sorted(ends, reverse=True)
    for row in asked.rows("session_summaries"):
        each = listed[row["session_id"]]
        assert (each["title"], each["turns"]) == (row["title"], row["turns"])
        assert each["files_modified"] == list(row["files_modified"])
        assert row["session_id"].startswith(each["short_id"])


def _ids(memory: Memory, **filters: Any) -> set[str]:
    return {
        each["session_id"]
        for each in list_sessions(memory, SessionsRequest(n=1_000, **filters))["sessions"]
    }


def test_a_project_an_agent_and_a_file_are_filters(asked: Asked) -> None:
    """The file by the end of its path, or by its directory."""
    rows = asked.rows("session_summaries")
    assert _ids(asked.memory, project="harbor-api") >= {
        row["session_id"] for row in rows if row["project"] == HARBOR
    }
    codex = {row["session_id"] for row in rows if row["agent"] == "codex"}
    assert codex and _ids(asked.memory, agent="codex") == codex
    touched = {
        row["session_id"]
        for row in rows
        if any(path.endswith("days.py") for path in (*row["files_read"], *row["files_modified"]))
    }
    assert touched and _ids(asked.memory, file="days.py") == touched
    assert touched <= _ids(asked.memory, file="harbor/reports/")


def test_a_session_passes_a_time_that_it_was_going_on_in(asked: Asked) -> None:
    """`since` is compared with its end, `until` with its beginning."""
    row = max(asked.rows("session_summaries"), key=lambda row: row["duration_seconds"])
    session_id, second = row["session_id"], timedelta(seconds=1)
    inside = {"since": row["ended_at"] - second, "until": row["started_at"] + second}
    assert inside["since"] > inside["until"], "the longest session takes more than two seconds"
    for name, moment in inside.items():
        assert session_id in _ids(asked.memory, **{name: moment})
    assert session_id not in _ids(asked.memory, since=row["ended_at"] + second)
    assert session_id not in _ids(asked.memory, until=row["started_at"] - second)
    with pytest.raises(ConfigurationError, match="not before until"):
        SessionsRequest(since="2026-05-02", until="2026-05-01")  # type: ignore[arg-type]


def test_lines_fit_and_say_what_to_type_next(asked: Asked) -> None:
    """Two lines a session, then how many more there are, and commands with a short id."""
    answer = list_sessions(asked.memory, SessionsRequest(n=2))
    lines = list(sessions_lines(answer))
    assert len(lines) == 4
    for each, (head, title) in zip(
        answer["sessions"], zip(lines[::2], lines[1::2], strict=True), strict=True
    ):
        assert head.startswith(f"{each['short_id']}  ") and len(head) <= 80
        assert each["title"] in title and each["agent"] in title
    more, then = sessions_notes(answer)
    assert more.startswith(f"{answer['total'] - 2} older sessions")
    assert f"memory resume {answer['sessions'][0]['short_id']}" in then


def test_a_session_without_a_summary_is_listed_by_its_turns(tmp_path: Path) -> None:
    """So that what was too short for one is not lost from sight."""
    worked = Worked(tmp_path)
    session_id = worked.session("a", cwd=KILN)
    (transcript,) = tmp_path.rglob("*.jsonl")
    transcript.write_text(transcript.read_text().replace("Work on a.", "hi"))
    memory = worked.memory()
    assert memory.lake.read_partition(SESSION_SUMMARIES, "-home-mara-code-kiln").num_rows == 0
    (listed,) = list_sessions(memory, SessionsRequest())["sessions"]
    assert (listed["session_id"], listed["title"], listed["turns"]) == (session_id, "", 1)
    assert listed["agent"] == "claude-code" and listed["started_at"] == listed["ended_at"]
    for ingest, said in (("", "too little is said"), ("an ingest is under way", "no title yet")):
        assert said in "".join(sessions_lines({"sessions": [listed], "ingest": ingest}))


def test_sessions_of_programs_are_counted_and_listed_on_request(tmp_path: Path) -> None:
    """Those in which no person typed anything: an observer's, a review's."""
    worked = Worked(tmp_path)
    by_person = worked.session("a", cwd=KILN)
    of_program = worked.session("b", cwd=KILN, days=1)
    (transcript,) = tmp_path.rglob(f"{of_program}.jsonl")
    lines = map(json.loads, transcript.read_text().splitlines())
    marked = (json.dumps({**line, "entrypoint": "sdk-cli"}) for line in lines)
    transcript.write_text("\n".join(marked) + "\n")
    memory = worked.memory()
    usual = list_sessions(memory, SessionsRequest())
    assert [each["session_id"] for each in usual["sessions"]] == [by_person]
    assert usual["machine"] == 1
    assert [each["session_id"] for each in newest_sessions(memory, 5)[0]] == [by_person]
    assert "1 session of programs left out; --machine" in " ".join(sessions_notes(usual))
    assert _ids(memory, machine=True) == {by_person, of_program}


PLANNED = r"Implement the following plan:\n\n# Fire the kiln by its own clock\n\n1. Read the clock"


def test_a_session_that_a_handed_over_plan_began_is_a_persons(tmp_path: Path) -> None:
    """Somebody handed the plan over, so its session is listed, and the next one begins
    with it, though nobody typed a word."""
    worked = Worked(tmp_path)
    planned = worked.session("a", Call("Write", {"file_path": f"{KILN}/clock.py"}), cwd=KILN)
    (transcript,) = tmp_path.rglob("*.jsonl")
    transcript.write_text(transcript.read_text().replace("Work on a.", PLANNED))
    memory = worked.memory()
    (listed,) = list_sessions(memory, SessionsRequest())["sessions"]
    assert (listed["session_id"], listed["prompts"]) == (planned, 0)
    assert listed["title"] == "Fire the kiln by its own clock"
    assert [each["session_id"] for each in newest_sessions(memory, 5)[0]] == [planned]
    assert not {"request", "by_program"} & listed.keys(), "the answer's fields stay as they are"
    assert listed["title"] in "".join(recent_work(memory, [project_of(KILN)]))
