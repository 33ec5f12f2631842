"""Pi sessions of formats 1 to 3."""

from __future__ import annotations

import pytest

from memory_assets_tests.transcripts.conftest import Builders, PiLines, Read


@pytest.mark.parametrize("version", [1, 2, 3])
def test_a_conversation_reads_the_same_in_every_version(
    build: Builders, read: Read, version: int
) -> None:
    """Prompts, prose, calls and results are found with and without entry ids."""
    pi = build.pi(version=version)
    pi.header()
    pi.prompt("fix it")
    blocks = [
        {"type": "thinking", "thinking": "hm", "thinkingSignature": "AAAA"},
        {"type": "text", "text": "looking"},
        {"type": "toolCall", "id": "t1|blob==", "name": "read", "arguments": {"path": "a.py"}},
        {"type": "toolCall", "id": "t2", "name": "bash", "arguments": {"command": "make"}},
    ]
    pi.message("assistant", blocks, model="gpt-5-mini", stopReason="toolUse", responseId="r1")
    done = [{"type": "text", "text": "x = 1"}]
    pi.message("toolResult", done, toolCallId="t1|blob==", toolName="read", isError=False)
    pi.message("toolResult", done, toolCallId="t2", toolName="bash", isError=True)
    found = read(pi, f"2026-03-01T09-00-00-000Z_{build.session}.jsonl")
    assert found.said == ["fix it"]
    assert found.kinds == [
        "prompt",
        "thinking",
        "assistant_text",
        "tool_use",
        "tool_use",
        "tool_result",
        "tool_result",
    ]
    first, second = found.records[-2:]
    assert (first.tool_use_id, first.tool_name, first.paths) == ("t1", "read", ("a.py",))
    assert (second.command, second.is_error) == ("make", True)
    assert {record.session_id for record in found.records} == {build.session}
    assert found.records[1].model == "gpt-5-mini"
    assert found.records[1].message_id == "r1"
    assert found.report.agent_versions == {f"v{version}"}
    assert found.report.first_cwd == found.records[0].cwd == "/home/ada/engine"


def test_a_humans_shell_command_is_a_call_and_its_result(pi: PiLines, read: Read) -> None:
    """`!cmd` is kept as what ran and what it printed, and is no prompt."""
    pi.message("bashExecution", command="ls", output="a.py\n", exitCode=1, cancelled=False)
    call, result = read(pi).records
    assert (call.kind, call.role, call.command) == ("tool_use", "user", "ls")
    assert (result.kind, result.text, result.is_error) == ("tool_result", "a.py\n", True)


def test_summaries_titles_and_injected_texts_have_their_kinds(pi: PiLines, read: Read) -> None:
    """Compactions, branch summaries, names and extension messages are no one's words."""
    pi.entry("compaction", summary="# So far", tokensBefore=9, firstKeptEntryId="x")
    pi.entry("branch_summary", summary="Went astray")
    pi.entry("session_info", name="Setup script")
    pi.entry("session_info", name="Setup script")
    pi.entry("custom_message", content="be kind", customType="x")
    pi.message("custom", "and brief")
    pi.entry("custom", data={})
    pi.entry("model_change", modelId="m")
    found = read(pi)
    assert [(record.kind, record.subtype) for record in found.records] == [
        ("summary", "compact-summary"),
        ("summary", "branch-summary"),
        ("title", "session-name"),
        ("system", "injected"),
        ("system", "injected"),
    ]
    assert found.report.dropped == {"session-header": 1, "repeated": 1, "session-state": 2}


def test_errors_and_aborts_are_system_records(pi: PiLines, read: Read) -> None:
    """What the provider answered instead of a message is kept beside what it said."""
    pi.message("assistant", [], stopReason="error", errorMessage="429 slow down")
    part = [{"type": "text", "text": "I was"}]
    pi.message("assistant", part, stopReason="aborted", errorMessage="Request was aborted")
    assert [(record.subtype, record.is_error) for record in read(pi).records] == [
        ("api-error", True),
        ("", False),
        ("interrupt", False),
    ]


def test_an_entry_names_the_one_above_it(pi: PiLines, read: Read) -> None:
    """Two branches have the same one."""
    pi.prompt("one")
    pi.prompt("two, then undone")
    pi.entry("message", parentId="00000001", message={"role": "user", "content": "two"})
    first, second, third = read(pi).prompts
    assert second.parent_uuid == third.parent_uuid == first.record_uuid


@pytest.mark.parametrize("version", [1, 3])
def test_a_fork_keeps_ids_and_names_its_origin(build: Builders, read: Read, version: int) -> None:
    """Copied entries have the ids that they had, and are counted."""
    original = build.pi(version=version)
    original.header()
    original.prompt("one")
    fork = build.pi(version=version, lines=list(original.lines))
    origin = "/home/ada/.pi/agent/sessions/--x--/2026-03-01T09-00-00-000Z_abc-1.jsonl"
    field = "branchedFrom" if version == 1 else "parentSession"
    header = fork.header(**{field: origin})
    fork.lines = [fork.lines[-1], fork.lines[1]]
    assert header["timestamp"] > "2026-03-01T09:00:01"
    fork.prompt("two")
    first, forked = read(original), read(fork)
    assert forked.prompts[0].record_uuid == first.prompts[0].record_uuid
    assert forked.report.parent_session == "abc-1"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('<file name="/x/a.py">\nx = 1\n</file>\nexplain', "@/x/a.py\nexplain"),
        (
            '<skill name="brave" location="/s">\nlong\n</skill>\n\nsearch cats',
            "/skill:brave search cats",
        ),
        ("why <b>bold</b>?", "why <b>bold</b>?"),
    ],
)
def test_files_and_skills_put_into_a_prompt_are_named_only(
    pi: PiLines, read: Read, text: str, said: str
) -> None:
    """Pi puts in whole what the human only named."""
    pi.prompt(text)
    assert read(pi).said == [said]


def test_times_come_from_the_message_where_the_entry_has_none(pi: PiLines, read: Read) -> None:
    """message.timestamp is in Unix milliseconds."""
    message = {"role": "user", "content": "hi", "timestamp": 1763681581544}
    pi.entry("message", timestamp=None, message=message)
    [record] = read(pi).records
    assert record.timestamp and record.timestamp.isoformat() == "2025-11-20T23:33:01.544000+00:00"


def test_unknown_entries_and_roles_are_counted(pi: PiLines, read: Read) -> None:
    """New entry types, roles and blocks are left out and named."""
    pi.entry("telepathy")
    pi.message("oracle", "x")
    pi.message("assistant", [{"type": "new_block"}])
    assert read(pi).report.unknown_types == {
        "telepathy": 1,
        "message/oracle": 1,
        "assistant/new_block": 1,
    }


@pytest.mark.parametrize("version", [1, 3])
def test_an_entry_that_is_written_again_is_one(build: Builders, read: Read, version: int) -> None:
    """A copy of an entry has its id, so it is counted and no further record."""
    pi = build.pi(version=version)
    pi.header()
    typed = pi.prompt("use make -j")
    for _ in range(4):
        pi.add(**typed)
    pi.prompt("use make -j")
    found = read(pi)
    assert found.said == ["use make -j"] * 2
    assert len({record.record_uuid for record in found.prompts}) == 2
    assert found.report.dropped["duplicate-uuid"] == 4
