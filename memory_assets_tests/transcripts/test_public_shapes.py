"""Shapes that no sample had, and that public repositories of these agents' users showed."""

from __future__ import annotations

import json
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from memory_assets.transcripts import Account, ReadReport, discover, read_session
from memory_assets.transcripts.registry import readers_by_agent
from memory_assets.transcripts.times import parse_time
from memory_assets_tests.sweep import sweep
from memory_assets_tests.transcript_files import source_of
from memory_assets_tests.transcripts.agent_databases import Cursor, OpenCode, insert
from memory_assets_tests.transcripts.conftest import PiLines, Read
from memory_assets_tests.transcripts.other_agents import content_of

_ANSWER = (
    "I will add a retry.\n\n> A quotation\n\n#### Steps\n\nFirst `retry.py`.\n\nThen the tests."
)


def _typed(text: str, end: str = "\n") -> str:
    return "".join(f"#### {line}  {end}" for line in text.split("\n")) + end


_TRIES = "> The API provider has rate limited you.  \n> Retrying in 0.2 seconds...  \n\n"
_PASTED = "First `retry.py`.\n\nThen the tests.\nWhy both?"
_HANDED_OVER = (
    f"{_typed('Retry the upload.')}{_TRIES}{_ANSWER}\n\n> Tokens: 1k sent, 1k received.  \n\n"
    f"{_typed(_ANSWER)}Done.\n\n{_typed('Thanks.')}"
)
_THOUGHTS = (
    "<think>\nA retry?\n</think>\n\n",
    "A retry?\n</think>\n\n",
    "--------------\n► **THINKING**\n\nA retry?\n\n------------\n► **ANSWER**\n\n",
)
_MENTIONED = "The parser stops at `</think>` and shows the rest."
_MARKED = (
    'Find the "AI" comments below (marked with █) in the code files.\n'
    "They contain your instructions.\n\npier.py:\n█# AI! Count the boats."
)


@sweep(
    "text, prompts, others",
    [
        # A plan that is handed to the editing model is nobody's prompt, also where the answer has
        # lines like the program's, and the program says something before.
        (_HANDED_OVER, ["Retry the upload.", "Thanks."], {"machine-prompt": [_ANSWER]}),
        (
            _HANDED_OVER.replace("\n", "\r\n"),
            ["Retry the upload.", "Thanks."],
            {"machine-prompt": [_ANSWER]},
        ),
        # A command and what the program repeats of it are one prompt; one without is as typed.
        *(
            (
                _typed(f"/{name} why two?") + _typed("why two?") + "So.\n\n" + _typed(f"/{name} x"),
                ["why two?", f"/{name} x"],
                {},
            )
            for name in ("ask", "architect", "code")
        ),
        # Editors and old versions leave no blanks behind a line.
        (
            "#### Retry.\n\nSee foo #### bar  \n\n#### Yes\n\nYes\n\n#### Yes\n\nDone.\n",
            ["Retry.", "Yes", "Yes"],
            {},
        ),
        # A person may paste a part of an answer.
        (f"{_typed('Retry.')}{_ANSWER}\n\n{_typed(_PASTED)}", ["Retry.", _PASTED], {}),
        # What a model thought is no part of its answer, nor of the plan that is handed on.
        *(
            (
                f"{_typed('Retry.')}{thought}{_ANSWER}\n\n{_typed(_ANSWER)}Done.\n",
                ["Retry."],
                {"machine-prompt": [_ANSWER], "thinking": ["A retry?"]},
            )
            for thought in _THOUGHTS
        ),
        # Only a line that is one ends a thought.
        (f"{_typed('Where?')}{_MENTIONED}\n", ["Where?"], {"assistant_text": [_MENTIONED]}),
        # Answers to the program's questions, empty lines, and what it asks where a comment says so.
        (_typed("Add file to the chat? (Y)es/(N)o/(S)kip all [Yes]: all") + "Yes.\n", [], {}),
        (_typed("<blank>") + "Yes.\n", [], {}),
        (_typed(_MARKED) + "Yes.\n", ["pier.py:\n█# AI! Count the boats."], {}),
    ],
)
def test_a_person_typed_what_aider_did_not(
    tmp_path: Path, text: str, prompts: list[str], others: dict[str, list[str]]
) -> None:
    """`others` are texts by subtype or kind."""
    path = tmp_path / ".aider.chat.history.md"
    path.write_text(f"\n# aider chat started at 2026-01-15 13:21:22\n\n{text}", newline="")
    [source] = discover({"aider": (tmp_path,)})
    records = list(read_session(path, source=source))
    assert [each.text for each in records if each.kind == "prompt"] == prompts
    for name, texts in others.items():
        assert [each.text for each in records if name in (each.subtype, each.kind)] == texts


@pytest.mark.parametrize(
    ("kind", "told"),
    [
        ("task_progress", "system"),
        ("error_retry", "system"),
        ("hook_status", "system"),
        ("plan_completion_result", "assistant_text"),
        ("subtask_result", "tool_result"),
        ("command_permission_denied", "system"),
    ],
)
def test_rows_of_clines_screen_are_known(tmp_path: Path, kind: str, told: str) -> None:
    """As its extension names them, with the hash of a checkpoint beside a call."""
    path = tmp_path / "tasks" / "1753600000000" / "ui_messages.json"
    path.parent.mkdir(parents=True)
    begun = {"ts": 1, "type": "say", "say": "task", "text": "Add a retry to the upload."}
    row = {"ts": 2, "type": "say", "say": kind, "text": f"{kind}: a retry for each upload"}
    hashed = {**row, "ts": 3, "lastCheckpointHash": "8a" * 20}
    path.write_text(json.dumps([begun, row, hashed]))
    account = Account(readers_by_agent("cline")[0].left_out)
    report = ReadReport(account=account)
    records = list(read_session(path, source=source_of(path, "cline"), report=report))
    assert {record.kind for record in records if record.text == row["text"]} == {told}
    assert report.unknown_types == {}
    assert account.balance().unexplained == {}


@pytest.mark.parametrize(
    "title", ["New session - 2026-07-30T14:04:55.689Z", "New Chat", "Untitled Session", "New Agent"]
)
def test_what_a_program_calls_a_session_without_a_name_is_no_title(
    tmp_path: Path, title: str
) -> None:
    """It is on record as what it is."""
    store = OpenCode(tmp_path)
    with closing(store.open()) as database:
        database.execute("UPDATE session SET title = ?", (title,))
        database.commit()
    store.say("Retry the upload.", "Done.")
    [source] = discover({"opencode": (tmp_path,)})
    records = list(read_session(source.path, source=source))
    assert [each.kind for each in records if each.text == title] == ["system"]


def test_opencodes_log_of_changes_repeats_what_is_read(tmp_path: Path) -> None:
    """Its tables of 2026 are known, but for those of prompts that wait, which nobody has seen."""
    store = OpenCode(tmp_path)
    data = json.dumps({"part": {"type": "text", "text": "a text of forty letters or more, again"}})
    with closing(store.open()) as database:
        database.execute("CREATE TABLE event(id text, seq integer, type text, data text)")
        database.execute("CREATE TABLE session_input(id text, prompt text)")
        insert(database, "event", id="evt_1", seq=1, type="message.part.updated.1", data=data)
        insert(database, "session_input", id="inp_1", prompt="a prompt that waits" * 3)
        database.commit()
    store.say("Retry the upload.", "Done.")
    [source] = discover({"opencode": (tmp_path,)})
    report = ReadReport(account=Account(readers_by_agent("opencode")[0].left_out))
    list(read_session(source.path, source=source, report=report))
    assert report.account is not None
    assert set(report.account.balance().unexplained) == {"session_input.prompt"}


@pytest.mark.parametrize("value", [78249.69999999553, 8830804.6, 135478, "84511", 1])
def test_a_time_since_a_window_opened_is_no_date(value: object) -> None:
    """Cursor counts `clientStartTime` so since 2025; milliseconds of 1970 are no session's."""
    assert parse_time(value) is None


def test_a_bubble_of_cursors_has_the_time_at_which_it_was_sent(tmp_path: Path) -> None:
    """Where it began is counted from the start of the editor."""
    store = Cursor(tmp_path)
    store.say("Retry the upload.", "Done.")
    sent = 1_757_730_155_487
    with closing(store.open()) as database:
        [(key, value)] = database.execute(
            "SELECT key, value FROM cursorDiskKV WHERE value LIKE '%Done.%'"
        ).fetchall()
        timing = {"clientStartTime": 78249.7, "clientRpcSendTime": sent}
        insert(database, "cursorDiskKV", key=key, value=json.loads(value) | {"timingInfo": timing})
        database.commit()
    [source] = discover({"cursor": (tmp_path,)})
    [answer] = (
        each for each in read_session(source.path, source=source) if each.kind == "assistant_text"
    )
    assert answer.timestamp == datetime.fromtimestamp(sent / 1000, UTC)


def test_a_task_that_copilot_completes_ends_with_its_report(tmp_path: Path) -> None:
    """The report stands in an event of its own; a call's arguments may be a text of JSON, of which
    no NUL comes through."""
    given = '{"filePath": "/pier/a.py", "note": "\\u0000"}'
    asked = {"toolCallId": "t1", "name": "read_file", "arguments": given}
    events = [
        {"type": "session.start", "data": {"sessionId": "s1", "copilotVersion": "1.0.74"}},
        {"type": "user.message", "data": {"content": "Add a retry."}},
        {"type": "assistant.message", "data": {"content": "", "toolRequests": [asked]}},
        {"type": "session.task_complete", "data": {"summary": "The retry is in `a.py`."}},
    ]
    path = tmp_path / "session-state" / "s1" / "events.jsonl"
    path.parent.mkdir(parents=True)
    path.write_bytes(content_of([{**each, "id": str(at)} for at, each in enumerate(events)]))
    records = list(read_session(path, source=source_of(path, "copilot-cli")))
    assert records[-1].text == "The retry is in `a.py`."
    assert records[-1].kind == "assistant_text"
    [call] = (each for each in records if each.kind == "tool_use")
    assert (call.paths, "\0" in call.text) == (("/pier/a.py",), False)


@pytest.mark.parametrize(
    "answer", ["The retry is in `a.py`.", "The retry is in `a.py`.\n", "Look."]
)
def test_a_report_that_copilot_repeats_is_told_once(tmp_path: Path, answer: str) -> None:
    """Where its last message said the same; another text is told, and the same of a later task."""
    report = "The retry is in `a.py`."
    events: list[dict[str, Any]] = [{"type": "session.start", "data": {"sessionId": "s1"}}]
    for said in (answer, "And now?"):
        events += [
            {"type": "user.message", "data": {"content": "Add a retry."}},
            {"type": "assistant.message", "data": {"content": said}},
            {"type": "assistant.message", "data": {"content": ""}},
            {"type": "session.task_complete", "data": {"summary": report}},
        ]
    path = tmp_path / "session-state" / "s1" / "events.jsonl"
    path.parent.mkdir(parents=True)
    path.write_bytes(content_of([{**each, "id": str(at)} for at, each in enumerate(events)]))
    records = read_session(path, source=source_of(path, "copilot-cli"))
    told = [each.text.strip() for each in records if each.kind == "assistant_text"]
    expected = [report] if answer.strip() == report else [answer, report]
    assert told == [*expected, "And now?", report]


def test_a_session_of_copilot_in_a_window_has_the_directory_of_the_window(tmp_path: Path) -> None:
    """VS Code keeps the same events beside its own, and they name none."""
    window = tmp_path / "0a1b2c3d4e5f60718293a4b5c6d7e8f9"
    path = window / "GitHub.copilot-chat" / "transcripts" / "s1.jsonl"
    path.parent.mkdir(parents=True)
    (window / "workspace.json").write_text('{"folder": "file:///home/mira/pier%20two"}')
    events = [
        {"type": "session.start", "id": "1", "data": {"sessionId": "s1"}},
        {"type": "user.message", "id": "2", "data": {"content": "Add a retry."}},
    ]
    path.write_bytes(content_of(events))
    [source] = discover({"copilot-cli": (path.parent,)})
    assert (source.directory, source.project) == ("/home/mira/pier two", "-home-mira-pier-two")
    [prompt] = (each for each in read_session(path, source=source) if each.kind == "prompt")
    assert prompt.cwd == "/home/mira/pier two"


def test_what_an_extension_of_pis_says_beside_its_result_is_kept(pi: PiLines, read: Read) -> None:
    """Such as the reports of subagents, under whatever key, but no copy of an edit."""
    report = "Roles are files of Markdown below the settings."
    details = {
        "result": {"results": {"explore": {"summary": report, "status": "succeeded"}}},
        "patch": "--- a.py\n+++ a.py\n@@ -1 +1 @@\n-x = 1\n+x = 2",
    }
    pi.prompt("look around")
    done = [{"type": "text", "text": "1 of 1 tasks complete"}]
    pi.message("toolResult", done, toolCallId="t1", toolName="spawn", details=details)
    [result] = (each for each in read(pi).records if each.kind == "tool_result")
    assert result.text == f"1 of 1 tasks complete\n{report}"


def test_exports_of_opencode_are_found_in_directories_of_projects(tmp_path: Path) -> None:
    """Below the directory that a person names."""
    info = {"id": "ses_1", "directory": "/pier", "title": "A retry", "version": "1.2.16"}
    path = tmp_path / "pier" / "sessions" / "ses_1.json"
    path.parent.mkdir(parents=True)
    asked = {"id": "msg_1", "role": "user", "time": {"created": 1_757_730_155_487}}
    parts = [{"id": "prt_1", "type": "text", "text": "Add a retry."}]
    path.write_text(json.dumps({"info": info, "messages": [{"info": asked, "parts": parts}]}))
    assert [each.path for each in discover({"opencode": (tmp_path,)})] == [path]
