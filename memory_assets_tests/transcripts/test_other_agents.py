"""The agents whose readers take one module each: what becomes of every shape, where their files
lie, and how they grow."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from memory_assets.models import ABANDONED, Record
from memory_assets.transcripts import Account, ReadReport, Source, discover, read_session
from memory_assets.transcripts.registry import reader_of
from memory_assets_tests.transcripts.other_agents import (
    CWD,
    LINES,
    PLACES,
    SESSION,
    content_of,
    put,
)

agents = pytest.mark.parametrize("agent", LINES)
PROJECT = "-home-ada-shop"


def found(root: Path, agent: str) -> list[Source]:
    """Return the sources of an agent below its directory."""
    return list(discover({agent: (root,)}))


def read(source: Source, report: ReadReport | None = None) -> list[Record]:
    """Return the records of a source."""
    return list(read_session(source.path, source=source, report=report))


def told(records: list[Record], *kinds: str) -> list[str]:
    """Return the texts of records of these kinds."""
    return [record.text for record in records if record.kind in kinds]


@agents
def test_a_session_is_found_where_its_agent_keeps_it(tmp_path: Path, agent: str) -> None:
    """With the project of its directory, however that is named."""
    path = put(tmp_path, agent)
    [source] = found(tmp_path, agent)
    assert (source.path, source.agent, source.agent_id) == (path, agent, None)
    assert (source.project, source.session_id) == (PROJECT, SESSION)


@agents
def test_all_text_of_a_session_is_explained(tmp_path: Path, agent: str) -> None:
    """It is on record, or the reader's table says why not."""
    put(tmp_path, agent)
    [source] = found(tmp_path, agent)
    account = Account(reader_of(source).left_out)
    read(source, ReadReport(account=account))
    assert account.balance().unexplained == {}


@pytest.mark.parametrize("other", LINES)
@agents
def test_no_text_of_another_agents_session_is_passed_over_in_silence(
    tmp_path: Path, agent: str, other: str
) -> None:
    """In the place of an agent its reader takes it, where both write alike; else the text is
    counted, or the file is one that no reader takes."""
    put(tmp_path, agent, LINES[other]())
    for source in found(tmp_path, agent):
        account = Account(reader_of(source).left_out)
        records = read(source, ReadReport(account=account))
        balance = account.balance()
        assert balance.total
        assert balance.unexplained or told(records, "prompt")


@agents
def test_a_session_that_grew_keeps_its_first_records(tmp_path: Path, agent: str) -> None:
    """Read after each line: what is said goes on being said, under the same ids."""
    lines = LINES[agent]()
    before: set[tuple[str, str]] = set()
    for number in range(1, len(lines) + 1):
        path = put(tmp_path, agent, lines[:number])
        [source] = found(tmp_path, agent) or [Source(agent, PROJECT, SESSION, None, path, 0, 0)]
        now = {(record.record_uuid, record.text) for record in read(source)}
        lost = {text for _, text in before - now}
        assert lost <= {"command: ls"}  # of a call that comes again with its result
        before = now


@agents
def test_a_torn_last_line_waits_for_the_rest(tmp_path: Path, agent: str) -> None:
    """A writer that is still at it is no damage."""
    path = put(tmp_path, agent)
    [whole] = found(tmp_path, agent)
    texts = [record.text for record in read(whole)]
    with path.open("ab") as file:
        file.write(b'{"type":"user.message","da')
    report = ReadReport()
    assert [record.text for record in read(whole, report)] == texts
    assert (report.bad_line_count, report.pending_bytes > 0) == (0, True)


@agents
def test_a_deleted_session_is_not_found(tmp_path: Path, agent: str) -> None:
    """And what stood beside it is no session."""
    put(tmp_path, agent).unlink()
    assert found(tmp_path, agent) == []


def test_copilot_events(tmp_path: Path) -> None:
    """Prompts of the person alone, each call once, and the title that stands beside them."""
    put(tmp_path, "copilot-cli")
    report = ReadReport()
    records = read(found(tmp_path, "copilot-cli")[0], report)
    assert told(records, "prompt") == ["Add a page"]
    assert told(records, "title") == ["A new page"]
    assert told(records, "thinking") == ["Edit it."]
    assert told(records, "assistant_text") == ["On it."]
    assert told(records, "summary") == ["A page was added."]
    calls = [record for record in records if record.kind == "tool_use"]
    assert [(one.tool_name, one.command) for one in calls] == [("edit", ""), ("bash", "make test")]
    assert calls[0].paths == (f"{CWD}/a.py",)
    results = [record for record in records if record.kind == "tool_result"]
    assert [(one.tool_name, one.text, one.is_error) for one in results] == [
        ("edit", "ok", False),
        ("bash", "exit 1", True),
    ]
    subtypes = {record.text: record.subtype for record in records if record.kind == "system"}
    assert subtypes["Use JSON."] == "meta"
    assert subtypes["Look around"] == "agent-prompt"
    assert subtypes["user initiated"] == "interrupt"
    spoken = next(record for record in records if record.kind == "assistant_text")
    assert (spoken.model, spoken.git_branch, spoken.cwd) == ("m-1", "main", CWD)
    assert (report.first_cwd, report.agent_versions) == (CWD, {"1.0.68"})


def test_copilots_directories_outweigh_its_old_files(tmp_path: Path) -> None:
    """Old releases kept a session in one file; the same session in a directory counts."""
    path = put(tmp_path, "copilot-cli")
    flat = tmp_path / "session-state" / f"{SESSION}.jsonl"
    flat.write_bytes(path.read_bytes())
    old = tmp_path / "history-session-state" / "session_0.jsonl"
    old.parent.mkdir()
    lines = LINES["copilot-cli"]()
    lines[0]["data"]["sessionId"] = "session_0"
    old.write_bytes(content_of(lines))
    assert [source.path for source in found(tmp_path, "copilot-cli")] == [path, old]
    path.unlink()
    assert [source.path for source in found(tmp_path, "copilot-cli")] == [flat, old]


def test_cursor_frames_what_was_typed(tmp_path: Path) -> None:
    """The rest of the turn is the program's; a turn without a frame that begins with another tag
    was not typed."""
    put(tmp_path, "cursor")
    [source] = found(tmp_path, "cursor")
    report = ReadReport()
    records = read(source, report)
    assert told(records, "prompt") == ["Add a test"]
    injected = [record.text for record in records if record.subtype == "injected"]
    assert injected == [
        "<user_info>\nlinux\n</user_info>",
        "<system_reminder>a file was opened</system_reminder>",
    ]
    calls = [(one.tool_name, one.command, one.paths) for one in records if one.kind == "tool_use"]
    assert calls == [("Write", "", (f"{CWD}/t.py",)), ("Shell", "pytest -q", ())]
    assert report.last_timestamp is not None
    assert report.last_timestamp.timestamp() == pytest.approx(source.mtime_ns / 1e9)


def test_cursors_subagents_belong_to_their_session(tmp_path: Path) -> None:
    """Nobody typed what they were asked."""
    path = put(tmp_path, "cursor")
    sub = path.parent / "subagents" / "sub-1.jsonl"
    sub.parent.mkdir()
    sub.write_bytes(path.read_bytes())
    ids = {(source.session_id, source.agent_id) for source in found(tmp_path, "cursor")}
    assert ids == {(SESSION, None), (SESSION, "sub-1")}
    [of_agent] = (one for one in found(tmp_path, "cursor") if one.agent_id)
    assert told(read(of_agent), "prompt") == []


def test_a_gemini_log_is_replayed(tmp_path: Path) -> None:
    """The last version of a message counts, what was taken back is marked, commands are no
    prompts."""
    put(tmp_path, "gemini")
    report = ReadReport()
    records = read(found(tmp_path, "gemini")[0], report)
    prompts = [(one.text, one.subtype) for one in records if one.kind == "prompt"]
    assert prompts == [("List the files", ""), ("Delete it", ABANDONED), ("Explain stock.py", "")]
    said = [(one.text, one.subtype) for one in records if one.kind == "assistant_text"]
    assert said == [("There is one.", ""), ("Deleted.", ABANDONED)]
    assert told(records, "thinking") == ["Listing\nUse ls"]
    assert told(records, "title") == ["Files of the shop"]
    assert told(records, "tool_use", "tool_result") == ["command: ls", "stock.py"]
    subtypes = {record.text: record.subtype for record in records if record.kind == "system"}
    assert subtypes["/stats"] == "local-command"
    assert report.dropped["superseded"] == 1
    assert report.first_cwd == CWD


def gemini_texts(tmp_path: Path, *lines: dict[str, Any]) -> list[tuple[str, str]]:
    """Return (text, subtype) of what a log says."""
    put(tmp_path, "gemini", [LINES["gemini"]()[0], *lines])
    return [(record.text, record.subtype) for record in read(found(tmp_path, "gemini")[0])]


def user(place: int, text: str) -> dict[str, Any]:
    """Return a user's message of Gemini CLI."""
    return {"id": f"m{place}", "type": "user", "content": [{"text": text}]}


def test_what_gemini_compressed_was_said(tmp_path: Path) -> None:
    """The program forgets it, the person did not take it back; a list of messages without such a
    summary takes back what it lacks."""
    summary = user(2, "<state_snapshot>one is done</state_snapshot>")
    assert gemini_texts(
        tmp_path, user(1, "part one"), {"$set": {"messages": [summary]}}, user(3, "part two")
    ) == [
        ("part one", ""),
        ("<state_snapshot>one is done</state_snapshot>", "compact-summary"),
        ("part two", ""),
    ]
    assert gemini_texts(
        tmp_path, user(1, "one"), user(2, "two"), {"$set": {"messages": [user(1, "one")]}}
    ) == [("one", ""), ("two", ABANDONED)]


def test_a_rewind_to_an_unknown_message_takes_all_back(tmp_path: Path) -> None:
    """As the program itself does it."""
    assert gemini_texts(tmp_path, user(1, "one"), {"$rewindTo": "?"}, user(2, "two")) == [
        ("one", ABANDONED),
        ("two", ""),
    ]


def test_a_gemini_project_is_known_by_its_name_or_hash(tmp_path: Path) -> None:
    """By the list of projects, or because the directory hashes to it; until then by the folder."""
    path = put(tmp_path, "gemini")
    path.parent.with_name(".project_root").unlink()
    [unknown] = found(tmp_path, "gemini")
    assert unknown.project == "shop"
    (tmp_path / "projects.json").write_text(json.dumps({"projects": {CWD: "shop"}}))
    [known] = found(tmp_path, "gemini")
    assert known.project == PROJECT
    assert {record.cwd for record in read(known)} == {CWD}
    digest = "a4ba9a1bdb03fd8b2a1b9a4c2d6dd4cb3b4dd7f5c4f2dba1d97b4a0b5ca7e3c1"
    hashed = path.parent.parent.with_name(digest)
    path.parent.parent.rename(hashed)
    [again] = found(tmp_path, "gemini")
    assert again.project == digest


def test_geminis_subagents_lie_in_the_directory_of_their_session(tmp_path: Path) -> None:
    """They are its agents, and nobody typed their prompts."""
    path = put(tmp_path, "gemini")
    sub = path.parent / SESSION / "sub-1.jsonl"
    sub.parent.mkdir()
    header = LINES["gemini"]()[0] | {"sessionId": "sub-1", "kind": "subagent"}
    sub.write_bytes(content_of([header, user(1, "Investigate")]))
    [of_agent] = (one for one in found(tmp_path, "gemini") if one.agent_id)
    assert (of_agent.session_id, of_agent.agent_id) == (SESSION, "sub-1")
    assert [(one.kind, one.subtype) for one in read(of_agent)] == [("system", "agent-prompt")]


def test_qwens_records(tmp_path: Path) -> None:
    """A person typed what its record says, and what came while the model was at work."""
    put(tmp_path, "qwen")
    report = ReadReport()
    records = read(found(tmp_path, "qwen")[0], report)
    assert told(records, "prompt") == ["Fix the list", "and sort it"]
    assert told(records, "title") == ["The list"]
    assert told(records, "thinking") == ["Read it first"]
    assert told(records, "assistant_text") == ["Editing."]
    [call] = (record for record in records if record.kind == "tool_use")
    [result] = (record for record in records if record.kind == "tool_result")
    assert (call.tool_name, call.paths, call.model) == ("edit", (f"{CWD}/a.py",), "q-1")
    assert (result.text, result.is_error, result.tool_use_id) == ("no such", True, "c1")
    assert report.parent_session == "p"


def test_a_branch_of_qwens_that_was_left_is_marked(tmp_path: Path) -> None:
    """The last record is the end of the branch that counts."""
    first, *_, last = LINES["qwen"]()
    other = {"type": "user", "message": {"role": "user", "parts": [{"text": "No, the table"}]}}
    left = last | {**other, "uuid": "b1", "parentUuid": first["uuid"]}
    now = last | {**other, "uuid": "b2", "parentUuid": first["uuid"]}
    put(tmp_path, "qwen", [first, left, now])
    prompts = read(found(tmp_path, "qwen")[0])
    assert [record.subtype for record in prompts] == ["", ABANDONED, ""]


def test_droids_entries(tmp_path: Path) -> None:
    """Reminders are not typed; the model stands beside the session."""
    put(tmp_path, "droid")
    records = read(found(tmp_path, "droid")[0])
    assert told(records, "prompt") == ["Sort the list"]
    assert told(records, "title") == ["Sortable list"]
    assert told(records, "summary") == ["Sorted."]
    [result] = (record for record in records if record.kind == "tool_result")
    assert (result.is_error, result.tool_name, result.paths) == (True, "Edit", (f"{CWD}/list.js",))
    assert {one.model for one in records if one.kind == "assistant_text"} == {"m-2"}


def test_a_session_that_droids_tool_began_is_a_subagents(tmp_path: Path) -> None:
    """Of the session that called it, if it is named."""
    header, asked, *_ = LINES["droid"]()
    title = "# Task Tool Invocation\n\nSubagent type: explore"
    put(tmp_path, "droid", [header | {"title": title, "callingSessionId": "caller"}, asked])
    [source] = found(tmp_path, "droid")
    assert (source.session_id, source.agent_id) == ("caller", SESSION)
    assert told(read(source), "prompt", "title") == []


def test_openclaws_copies_are_no_sessions(tmp_path: Path) -> None:
    """Nor are its workspace's files."""
    path = put(tmp_path, "openclaw")
    for name in (f"{SESSION}.checkpoint.1.jsonl", f"{SESSION}.reset.1.jsonl"):
        path.with_name(name).write_bytes(path.read_bytes())
    (tmp_path / "agents" / "main" / "notes.jsonl").write_bytes(path.read_bytes())
    [source] = found(tmp_path, "openclaw")
    assert told(read(source), "prompt") == ["Which port?"]


def test_a_session_of_the_desktop_has_the_users_folder_and_title(tmp_path: Path) -> None:
    """The directory that its records name is one of a virtual machine."""
    put(tmp_path, "cowork")
    report = ReadReport()
    records = read(found(tmp_path, "cowork")[0], report)
    assert told(records, "prompt") == ["Sort the receipts"]
    assert told(records, "title") == ["Receipts"]
    assert report.first_cwd == CWD
    assert report.first_timestamp is not None
    assert report.first_timestamp.isoformat() == "2026-06-01T08:00:00+00:00"


@pytest.mark.parametrize(
    ("agent", "tokens"),
    [
        ("copilot-cli", [(0, 40, 0, 0, 0), (600, 0, 300, 0, 0)]),
        ("gemini", [(50, 25, 50, 0, 0)]),
        ("qwen", [(550, 5, 50, 0, 0)]),
    ],
)
def test_tokens_are_those_of_each_answer(
    tmp_path: Path, agent: str, tokens: list[tuple[int, ...]]
) -> None:
    """What was cached is apart from what was given. Copilot says what it gave when it ends."""
    put(tmp_path, agent)
    records = read(found(tmp_path, agent)[0])
    assert [record.tokens for record in records if record.tokens] == tokens


@agents
def test_what_stands_beside_a_session_may_be_broken(tmp_path: Path, agent: str) -> None:
    """Or missing: the session is read all the same."""
    path = put(tmp_path, agent)
    for beside in [one for one in tmp_path.rglob("*") if one.is_file() and one != path]:
        beside.write_bytes(b"\xff{[")
    assert told(read(found(tmp_path, agent)[0]), "prompt")
    assert path == tmp_path / PLACES[agent]
