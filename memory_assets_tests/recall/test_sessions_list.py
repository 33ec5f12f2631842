"""`memory sessions`, `memory usage` and `memory export`: the list of sessions, what they took, and
the list for other programs."""

from __future__ import annotations

import csv
import json
import re
from datetime import datetime, timedelta
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from starlette.testclient import TestClient

from memory_assets.cli import exit_codes
from memory_assets.paths import project_slug
from memory_assets.recall import Memory
from memory_assets.recall.sessions.listing import list_sessions, newest_sessions
from memory_assets.recall.sessions.recent_work import recent_work
from memory_assets.recall.sessions.usage import session_usage, usage, usage_by_turn
from memory_assets.requests.questions import ExportRequest, SessionsRequest, UsageRequest
from memory_assets.serving.answer_lines import (
    distinct_project_names,
    sessions_notes,
    short_count,
    usage_lines,
    usage_notes,
)
from memory_assets.serving.exports import COLUMNS, export_pieces, sessions_csv
from memory_assets.serving.pages.site import build_site
from memory_assets.serving.views import AgentText, sessions_view
from memory_assets.stores.lake.schemas import SESSION_SUMMARIES
from memory_assets_tests.command_line import run_here
from memory_assets_tests.recall.conftest import HARBOR, LONG, Asked
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


def test_lines_fit_and_say_what_to_type_next(asked: Asked) -> None:
    """Two lines a session, then how many more there are, and commands with a short id."""
    answer = list_sessions(asked.memory, SessionsRequest(n=2))
    lines = list(sessions_view(AgentText(asked.memory), answer))
    assert len(lines) == 4
    for each, head, facts in zip(answer["sessions"], lines[::2], lines[1::2], strict=True):
        assert head == f"{each['short_id']}  {each['title']}"
        assert (
            facts.strip().startswith("ended ") and (each["models"] or [each["agent"]])[0] in facts
        )
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
        answer = {"sessions": [listed], "ingest": ingest}
        assert said in next(sessions_view(AgentText(memory), answer))


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
    assert listed["title"] in "".join(recent_work(memory, [project_slug(KILN)]))


def test_each_way_to_add_up_gives_the_same_whole(asked: Asked) -> None:
    """Groups leave nothing out and count nothing twice."""
    rows = asked.rows("session_usage")
    tokens = sum(row["input_tokens"] + row["output_tokens"] for row in rows)
    assert tokens > 0
    for by in ("model", "project", "agent", "session", "day"):
        answer = usage(asked.memory, UsageRequest(by=by))
        for name in ("tokens", "seconds", "answers", "dollars"):
            of_groups = sum(each[name] for each in answer["groups"])
            assert of_groups == pytest.approx(answer[name], abs=0.01), (by, name)
        assert answer["input_tokens"] + answer["output_tokens"] == tokens


def test_filters_leave_out_other_turns(asked: Asked) -> None:
    """By project, agent and the time at which a turn began."""
    of_harbor = usage(asked.memory, UsageRequest(by="project", project="harbor-api"))
    assert [each["project"] for each in of_harbor["groups"]] == [HARBOR]
    of_codex = usage(asked.memory, UsageRequest(by="agent", agent="codex"))
    assert [each["name"] for each in of_codex["groups"]] == ["codex"]
    later = datetime.fromisoformat("2026-05-01T00:00:00+00:00")
    before = usage(asked.memory, UsageRequest(until=later))["tokens"]
    after = usage(asked.memory, UsageRequest(since=later))["tokens"]
    assert before and after and before + after == usage(asked.memory, UsageRequest())["tokens"]


def test_a_session_says_what_it_took(asked: Asked) -> None:
    """In the list of sessions, by turn, and beside the others with its title."""
    listed = asked.memory.ask(SessionsRequest(n=1_000))["sessions"]
    for each in listed:
        own = session_usage(asked.memory.lake, each["project"], each["session_id"])
        assert each["usage"] == own
        turns = usage_by_turn(asked.memory.lake, each["project"], each["session_id"])
        assert sum(of["tokens"] for of in turns.values()) == own["tokens"]
    assert any(each["usage"]["tokens"] for each in listed)
    titles = {each["session_id"]: each["title"] for each in listed if each["title"]}
    by_session = usage(asked.memory, UsageRequest(by="session"))
    named = {each["name"]: each["title"] for each in by_session["groups"] if each["title"]}
    assert named and named.items() <= titles.items()
    assert any(next(iter(named.values())) in line for line in usage_lines(by_session))


def test_models_without_a_price_are_named(asked: Asked) -> None:
    """A sum of which a part is unknown is marked, and never given as the whole."""
    answer = usage(asked.memory, UsageRequest())
    answer = {**answer, "unpriced": {"house-model": 5}}
    assert any("house-model" in line for line in usage_notes(answer))
    assert "+" in list(usage_lines(answer))[-1] or "?" in list(usage_lines(answer))[-1]


@pytest.mark.parametrize(
    ("count", "text"),
    [(0, "0"), (999, "999"), (1_000, "1 k"), (12_345, "12.3 k"), (741_882_912, "742 M")],
)
def test_counts_are_shortened_to_three_digits(count: int, text: str) -> None:
    """People compare sizes; JSON has all digits."""
    assert short_count(count) == text


def test_projects_of_one_name_are_told_apart_by_their_directories() -> None:
    """Those alone: a name that nobody else has needs none."""
    roots = ("~/desk/cli", "~/play/cli", "~/mill")
    rows = [{"project": root.replace("/", "-"), "project_root": root} for root in roots]
    assert distinct_project_names(rows) == ["cli  ~/desk/cli", "cli  ~/play/cli", "mill"]


def test_a_list_has_each_session_once(asked: Asked) -> None:
    """As CSV and JSON, the newest first, with what it took; as `memory sessions` lists them."""
    listed = asked.memory.ask(SessionsRequest(n=1_000))["sessions"]
    rows = list(
        csv.DictReader(StringIO("".join(export_pieces(asked.memory, SessionsRequest(), "csv"))))
    )
    assert [row["session_id"] for row in rows] == [each["session_id"] for each in listed]
    assert tuple(rows[0]) == COLUMNS
    assert rows[0]["tokens"] == str(listed[0]["usage"]["tokens"])
    told = json.loads("".join(export_pieces(asked.memory, SessionsRequest(), "json")))
    assert told == json.loads(json.dumps(listed))


def test_no_cell_is_a_formula() -> None:
    """Titles and branches are text of transcripts; a number stays one. Nor is what a spreadsheet
    takes for a cell where its country separates them by semicolons."""
    session: dict[str, Any] = dict.fromkeys(COLUMNS, "") | {"usage": {}, "turns": -1}
    session |= {"title": "=cmd|' /C calc'!A0", "git_branch": "@SUM(1)"}
    session |= {"files_modified": ["+1", "b"]}
    (row,) = csv.DictReader(StringIO(sessions_csv([session])))
    assert row["title"] == "'=cmd|' /C calc'!A0" and row["git_branch"] == "'@SUM(1)"
    assert row["turns"] == "-1" and row["files_modified"] == "'+1; b"
    for title in ("a;=1", " =1", "＝1", "\n=1", "\ufeff=1"):
        lines = sessions_csv([session | {"title": title}])
        rows = csv.reader(StringIO(lines), delimiter=";")
        assert not any(cell.lstrip().startswith(("=", "＝")) for row in rows for cell in row)


def test_a_project_is_one_file(asked: Asked) -> None:
    """Of HTML, which runs nothing and leads nowhere in the memory, or of Markdown: every session of
    it with every prompt."""
    of_project = SessionsRequest(project=HARBOR, n=1_000)
    sessions = asked.memory.ask(of_project)["sessions"]
    page = "".join(export_pieces(asked.memory, of_project, "html"))
    text = "".join(export_pieces(asked.memory, of_project, "markdown"))
    assert page.count("<h1") == len(re.findall(r"(?m)^# ", text)) == len(sessions) > 1
    assert (
        "default-src &#39;none&#39;" in page and "<script" not in page and 'href="/page' not in page
    )
    ids = re.findall(r' id="([^"]+-turn-\d+)"', page)
    assert len(ids) == len(set(ids)) > len(sessions)
    for each in sessions:
        assert each["session_id"] in text


def test_one_session_is_exported_by_its_id(asked: Asked) -> None:
    """By a beginning that no other one has, in any form."""
    one = ExportRequest(session=LONG[:8]).sessions
    (row,) = csv.DictReader(StringIO("".join(export_pieces(asked.memory, one, "csv"))))
    assert row["session_id"] == LONG
    assert "".join(export_pieces(asked.memory, one, "markdown")).count("\n# ") <= 1


def test_a_request_that_fails_leaves_the_file_as_it_was(asked: Asked, tmp_path: Path) -> None:
    """A session that is not in memory, also with --force; a format that the file's name denies."""
    environment = {"MEMORY_DATA_DIR": str(asked.settings.data_dir)}
    target = tmp_path / "sessions.html"
    for given, said in (
        (("no-such-session", "--format", "html"), "no session"),
        (("--project", "harbor-api"), "--format html"),
    ):
        refused = run_here(environment, "export", *given, "--output", str(target))
        assert refused.returncode != exit_codes.FINE and said in refused.stderr
        assert not target.exists()
    target.write_text("what is there")
    again = ("export", "no-such-session", "--format", "html", "--output", str(target), "--force")
    assert run_here(environment, *again).returncode != exit_codes.FINE
    assert target.read_text() == "what is there"


def test_a_file_is_written_once(asked: Asked, tmp_path: Path) -> None:
    """Over one that exists only with --force; without --output it is printed. The page saves the
    same."""
    environment = {"MEMORY_DATA_DIR": str(asked.settings.data_dir)}
    target = tmp_path / "sessions.csv"
    given = ("export", "--project", "harbor-api", "--output", str(target))
    assert run_here(environment, *given).returncode == exit_codes.FINE
    refused = run_here(environment, *given)
    assert refused.returncode == exit_codes.USAGE and "exists" in refused.stderr
    printed = run_here(environment, "export", "--project", "harbor-api")
    assert printed.stdout.replace("\r\n", "\n") == target.read_text()
    client = TestClient(build_site(asked.settings), base_url="http://127.0.0.1:8765")
    saved = client.get("/page/sessions/file?format=csv&project=harbor-api")
    assert saved.text.replace("\r\n", "\n") == target.read_text()
    assert 'filename="sessions.csv"' in saved.headers["content-disposition"]
    assert (
        "/page/sessions/file?format=html&amp;project="
        in client.get("/page/project/harbor-api").text
    )
