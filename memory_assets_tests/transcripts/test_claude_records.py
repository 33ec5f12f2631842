"""What each kind of Claude Code record becomes."""

from __future__ import annotations

from typing import Any
from uuid import UUID

from memory_assets_tests.transcripts.conftest import SESSION, Builders, ClaudeLines, Read, Write

PATH = "/home/ada/engine/a.py"


def test_the_envelope_is_carried_over(claude: ClaudeLines, read: Read) -> None:
    """Ids, time, place and version of a record are those of its envelope."""
    said = claude.user("hello")
    found = read(claude)
    [record] = found.records
    assert record.agent == "claude-code"
    assert (record.session_id, record.agent_id) == (claude.session, None)
    assert (record.record_uuid, record.parent_uuid) == (said["uuid"], None)
    assert record.timestamp and record.timestamp.isoformat() == "2026-03-01T09:00:00+00:00"
    assert (record.cwd, record.git_branch) == ("/home/ada/engine", "main")
    assert record.agent_version == "2.1.38"
    report = found.report
    assert (report.first_cwd, report.agent_versions) == ("/home/ada/engine", {"2.1.38"})
    assert report.first_timestamp == report.last_timestamp == record.timestamp
    assert report.parent_session is None


def test_blocks_of_one_api_message_share_its_id(claude: ClaudeLines, read: Read) -> None:
    """One message over several lines gives several records with one message_id."""
    claude.assistant({"type": "thinking", "thinking": "hm", "signature": "AAAA"}, message_id="m")
    claude.says("I will look", message_id="m")
    claude.assistant(
        {"type": "tool_use", "id": "t", "name": "Read", "input": {"file_path": PATH}},
        message_id="m",
    )
    found = read(claude)
    assert found.kinds == ["thinking", "assistant_text", "tool_use"]
    assert {record.message_id for record in found.records} == {"m"}
    assert {record.role for record in found.records} == {"assistant"}
    assert {record.model for record in found.records} == {"claude-sonnet-4-5"}
    assert not any("AAAA" in record.text for record in found.records)


def test_a_tool_call_is_readable(claude: ClaudeLines, read: Read) -> None:
    """A call's text is its parsed input; its command and files stand apart."""
    claude.calls("Bash", "t1", command="make\nmake test", description="Build", timeout=5)
    claude.calls("Edit", "t2", file_path=PATH, old_string='a "b"', new_string="c\nd", n=[1, {}])
    bash, edit = read(claude).records
    assert bash.text == "command:\nmake\nmake test\ndescription: Build\ntimeout: 5"
    assert (bash.tool_name, bash.tool_use_id, bash.command) == ("Bash", "t1", "make\nmake test")
    assert edit.text == f'file_path: {PATH}\nold_string: a "b"\nnew_string:\nc\nd\nn: [1,{{}}]'
    assert (edit.paths, edit.command) == ((PATH,), "")


def test_a_result_knows_its_call(claude: ClaudeLines, read: Read) -> None:
    """A result carries tool, files and command of the call that it answers."""
    claude.calls("Bash", "t1", command="make")
    claude.calls("Read", "t2", file_path=PATH)
    claude.result("t2", [{"type": "text", "text": "x = 1"}, {"type": "image", "source": {}}])
    claude.result("t1", "Exit code 2", is_error=True)
    _, _, contents, failed = read(claude).records
    assert (contents.tool_name, contents.paths, contents.is_error) == ("Read", (PATH,), False)
    assert contents.text == "x = 1\n[image]"
    assert (failed.tool_name, failed.command, failed.is_error) == ("Bash", "make", True)
    assert (failed.kind, failed.role) == ("tool_result", "tool")


def test_the_structured_copy_of_a_result_is_not_read(claude: ClaudeLines, read: Read) -> None:
    """toolUseResult repeats whole files; only the spawned agent's id is taken from it."""
    claude.calls("Task", "t", prompt="look")
    claude.result(
        "t", "found", toolUseResult={"agentId": "a1b2", "originalFile": "secret", "content": "x"}
    )
    _, result = read(claude).records
    assert (result.spawned_agent_id, result.text) == ("a1b2", "found")
    assert "secret" not in repr(result)


def test_a_synthetic_error_is_not_the_assistants_word(claude: ClaudeLines, read: Read) -> None:
    """Error texts that the CLI puts in the model's name are system records."""
    envelope = claude.envelope(type="assistant", isApiErrorMessage=True)
    content = [{"type": "text", "text": "API Error: 529 Overloaded"}]
    message = {"id": "m", "model": "<synthetic>", "content": content}
    claude.add(**(envelope | {"message": message}))
    [record] = read(claude).records
    assert (record.kind, record.subtype, record.is_error) == ("system", "api-error", True)


def test_titles_are_kept_when_they_change(claude: ClaudeLines, read: Read) -> None:
    """A title is repeated with every turn; only its changes are told."""
    for title in ("Fix build", "Fix build", "Fix tests"):
        claude.add(type="ai-title", aiTitle=title, sessionId=claude.session)
    claude.add(type="custom-title", customTitle="Mine", sessionId=claude.session)
    found = read(claude)
    titles = [(record.kind, record.subtype, record.text) for record in found.records]
    assert titles == [
        ("title", "ai-title", "Fix build"),
        ("title", "ai-title", "Fix tests"),
        ("title", "custom-title", "Mine"),
    ]
    assert found.report.dropped == {"repeated": 1}


def test_a_summary_record_points_at_another_sessions_leaf(claude: ClaudeLines, read: Read) -> None:
    """The title at a file's top names the record it describes."""
    claude.add(type="summary", summary="Parser rewrite", leafUuid="leaf-1")
    claude.add(type="summary", summary="Parser rewrite", leafUuid="leaf-1")
    found = read(claude)
    [record] = found.records
    assert (record.kind, record.subtype, record.parent_uuid) == (
        "summary",
        "leaf-summary",
        "leaf-1",
    )
    assert found.report.dropped == {"repeated": 1}


def test_what_says_something_is_kept_under_its_own_name(claude: ClaudeLines, read: Read) -> None:
    """Recaps, links and boundaries; built-in commands, which newer versions write as system
    records."""
    claude.system("away_summary", content="You fixed the build.")
    claude.add(type="pr-link", prUrl="https://example.org/pull/1", sessionId=claude.session)
    claude.system("compact_boundary", content="Conversation compacted")
    goal = "<command-name>/goal</command-name><command-args>be green</command-args>"
    claude.system("local_command", content=goal)
    claude.system("local_command", content="<local-command-stdout>ok</local-command-stdout>")
    found = read(claude)
    assert [(record.kind, record.subtype) for record in found.records] == [
        ("summary", "away-summary"),
        ("attachment", "pr-link"),
        ("system", "compact-boundary"),
        ("prompt", "command"),
        ("system", "local-command-output"),
    ]
    assert found.said == ["be green"]


def test_noise_is_dropped_by_reason(claude: ClaudeLines, read: Read) -> None:
    """Progress, snapshots, modes, notices and thoughts that are a signature are counted."""
    claude.add(**claude.envelope(type="progress", data={"type": "bash_progress"}))
    claude.add(type="file-history-snapshot", messageId="m", snapshot={})
    claude.add(type="permission-mode", permissionMode="plan", sessionId=claude.session)
    claude.system("turn_duration", durationMs=5)
    claude.attachment("task_reminder", content=[])
    claude.assistant({"type": "thinking", "thinking": "", "signature": "AAAA"})
    found = read(claude)
    assert found.records == []
    assert found.report.dropped == {
        "empty": 1,
        "progress": 1,
        "file-history": 1,
        "session-state": 1,
        "system-notice": 1,
        "attachment-notice": 1,
    }
    assert not found.report.unknown_types


def test_a_subagents_messages_are_read_from_progress_unless_its_file_has_them(
    claude: ClaudeLines, read: Read, write: Write
) -> None:
    """Versions 2.1.9 to 2.1.79 repeat them there. Nobody human speaks; a call and its result belong
    together; what is said twice is kept once; without a message it is progress as any other."""
    told: list[tuple[str, Any]] = [
        ("user", "Find where the flag is set."),
        (
            "assistant",
            [{"type": "tool_use", "id": "t1", "name": "Grep", "input": {"pattern": "x"}}],
        ),
        ("user", [{"type": "tool_result", "tool_use_id": "t1", "content": "setup.go:12"}]),
        ("assistant", [{"type": "text", "text": "It is set in setup.go."}]),
    ]
    claude.user("look for the flag")
    for number, (kind, content) in enumerate([*told, told[-1]]):
        message = {
            "type": kind,
            "uuid": str(UUID(int=900 + min(number, len(told) - 1))),
            "message": {"role": kind, "content": content, "id": f"msg_sub_{number}"},
        }
        data = {"type": "agent_progress", "agentId": "a4cae29", "message": message}
        claude.add(**claude.envelope(type="progress", data=data))
    claude.add(**claude.envelope(type="progress", data={"type": "agent_progress"}))
    found = read(claude)
    assert found.said == ["look for the flag"]
    inner = [record for record in found.records if record.is_sidechain]
    assert [(record.kind, record.tool_name) for record in inner] == [
        ("system", ""),
        ("tool_use", "Grep"),
        ("tool_result", "Grep"),
        ("assistant_text", ""),
    ]
    assert inner[-1].text == "It is set in setup.go." and inner[0].subtype == "agent-prompt"
    assert found.report.dropped == {"duplicate-uuid": 1, "progress": 1}
    transcript = write(claude, f"{SESSION}.jsonl")
    own = transcript.with_suffix("") / "subagents" / "agent-a4cae29.jsonl"
    own.parent.mkdir(parents=True)
    own.touch()
    assert not [record for record in read(claude).records if record.is_sidechain]


def test_unknown_types_are_counted_by_name(claude: ClaudeLines, read: Read) -> None:
    """What no rule knows is left out and named, unless its name could be anything."""
    claude.add(type="telepathy", sessionId=claude.session)
    claude.add(type="my secret: hunter2!", sessionId=claude.session)
    claude.system("new_subtype")
    claude.attachment("new_attachment")
    claude.assistant({"type": "new_block"})
    claude.queue("new_operation")
    claude.add(sessionId=claude.session)
    claude.user("after")
    found = read(claude)
    assert found.said == ["after"]
    assert found.report.unknown_types == {
        "telepathy": 1,
        "(not a name)": 1,
        "system/new_subtype": 1,
        "attachment/new_attachment": 1,
        "assistant/new_block": 1,
        "queue-operation/new_operation": 1,
        "(none)": 1,
    }


def test_a_history_written_again_is_read_once(claude: ClaudeLines, read: Read) -> None:
    """Records whose uuid was seen in the file are duplicates."""
    claude.user("hello")
    claude.says("hi")
    claude.lines += list(claude.lines)
    found = read(claude)
    assert found.kinds == ["prompt", "assistant_text"]
    assert found.report.dropped == {"duplicate-uuid": 2}


def test_a_fork_names_its_origin_and_keeps_uuids(
    claude: ClaudeLines, read: Read, build: Builders
) -> None:
    """Copied records have another session's id; their uuids are those of the original."""
    claude.session = "ffffffff-0000-4000-8000-000000000000"
    copied = claude.user("from before")
    claude.session = build.session
    claude.user("and on")
    found = read(claude)
    assert found.report.parent_session == "ffffffff-0000-4000-8000-000000000000"
    assert found.prompts[0].record_uuid == copied["uuid"]
    assert found.prompts[0].session_id == build.session


def test_a_renamed_file_is_no_fork(claude: ClaudeLines, read: Read) -> None:
    """Where no record names the file's own session, nothing was copied."""
    claude.user("hello")
    found = read(claude, "renamed.jsonl")
    assert found.report.parent_session is None


def test_inline_sidechains_are_marked(claude: ClaudeLines, read: Read) -> None:
    """In 1.0.x a subagent's records stand in the main file."""
    claude.user("look around")
    claude.calls("Task", "t", prompt="explore")
    claude.user("explore", isSidechain=True)
    claude.says("exploring", isSidechain=True)
    found = read(claude)
    assert found.said == ["look around"]
    assert [record.is_sidechain for record in found.records] == [False, False, True, True]


def test_mangled_ids_stay_equal_and_id_like(claude: ClaudeLines, read: Read) -> None:
    """A redactor that hit a uuid leaves text there: copies still match, no text is passed on."""
    for _ in range(2):
        claude.user("hello", uuid="ffd0[REDACTED CARD]-4e13")
    found = read(claude)
    assert found.report.dropped == {"duplicate-uuid": 1}
    assert "REDACTED" not in found.records[0].record_uuid
