"""Which Claude Code user records a human wrote, and what they said."""

from __future__ import annotations

from typing import Any

import pytest

from memory_assets_tests.transcripts.conftest import ClaudeLines, Read


def command(name: str, args: str = "", *, custom: bool = False) -> str:
    """Return a slash command as the CLI records it: custom ones begin with the message."""
    parts = [
        f"<command-name>{name}</command-name>",
        f"<command-message>{name[1:]}</command-message>",
    ]
    if custom:
        parts.reverse()
    return "\n".join([*parts, f"<command-args>{args}</command-args>"])


IMAGE = {"type": "image", "source": {"type": "base64", "data": "AAAA"}}
PNG = {"media_type": "image/png", "data": "A" * 12_000}
PNG_URL = f"data:image/png;base64,{PNG['data']}"


@pytest.mark.parametrize(
    ("content", "text"),
    [
        ("fix the build", "fix the build"),
        ([{"type": "text", "text": "fix it"}], "fix it"),
        ("<system-reminder>\nbe kind\n</system-reminder>\nfix it", "fix it"),
        (
            [
                {"type": "text", "text": "<ide_opened_file>The user opened a.py</ide_opened_file>"},
                {"type": "text", "text": "explain this"},
            ],
            "explain this",
        ),
        ("<ide_selection>lines 3 to 9</ide_selection>\nexplain this", "explain this"),
        ([IMAGE], "[image]"),
        ([{"type": "image", "source": PNG}, IMAGE], "[image: PNG, 9 kB]\n[image]"),
        ([{"type": "image", **PNG}], "[image: PNG, 9 kB]"),
        ([{"type": "input_image", "image_url": PNG_URL}], "[image: PNG, 9 kB]"),
        ([{"type": "image", "source": {**PNG, "media_type": "<b>"}}], "[image]"),
        ([IMAGE, {"type": "text", "text": "what is this?"}], "[image]\nwhat is this?"),
        (command("/goal", "make it green"), "make it green"),
        (command("/plan", "a new parser"), "a new parser"),
        (command("/review", custom=True), "/review"),
        (command("/gsd:quick", "move the bar", custom=True), "/gsd:quick move the bar"),
        ("Implement the following plan:\n\n# Plan", "Implement the following plan:\n\n# Plan"),
        ("<div> does not render", "<div> does not render"),
    ],
)
def test_human_text_is_a_prompt(claude: ClaudeLines, read: Read, content: Any, text: str) -> None:
    """What a human typed is a prompt, without what the CLI or an editor wrapped around it."""
    claude.user(content)
    found = read(claude)
    [record] = found.records
    assert (record.kind, record.role, record.text) == ("prompt", "user", text)
    assert not record.is_sidechain
    assert found.report.prompts == 1


@pytest.mark.parametrize(
    ("content", "subtype"),
    [
        ("<local-command-stdout>Bye!</local-command-stdout>", "local-command-output"),
        ("<local-command-stderr>no</local-command-stderr>", "local-command-output"),
        ("<local-command-caveat>Caveat: x</local-command-caveat>", "caveat"),
        ("<bash-input>ls</bash-input>", "bash-input"),
        ("<bash-stdout>a</bash-stdout><bash-stderr></bash-stderr>", "bash-output"),
        ("<task-notification><task-id>b1</task-id></task-notification>", "task-notification"),
        ('<teammate-message teammate_id="a">\nDone\n</teammate-message>', "teammate-message"),
        ("[Request interrupted by user for tool use]", "interrupt"),
        ("Stop hook feedback:\n- lint failed", "hook-feedback"),
        (command("/exit"), "local-command"),
        (command("/effort", "medium"), "local-command"),
        (command("/model", "opus"), "local-command"),
    ],
)
def test_machine_text_under_the_users_name_is_no_prompt(
    claude: ClaudeLines, read: Read, content: Any, subtype: str
) -> None:
    """Notices, command output and settings are system records with a finer name."""
    claude.user(content)
    [record] = read(claude).records
    assert (record.kind, record.role, record.subtype) == ("system", "system", subtype)


@pytest.mark.parametrize(
    ("fields", "kind", "subtype"),
    [
        ({"isMeta": True}, "system", "meta"),
        ({"isCompactSummary": True}, "summary", "compact-summary"),
        ({"isSidechain": True}, "system", "agent-prompt"),
        ({"origin": {"kind": "task-notification"}}, "system", "task-notification"),
        ({"origin": {"kind": "coordinator"}}, "system", "machine-prompt"),
        ({"promptSource": "system"}, "system", "machine-prompt"),
        ({"origin": {"kind": "human"}, "promptSource": "typed"}, "prompt", ""),
    ],
)
def test_flags_outweigh_the_words(
    claude: ClaudeLines, read: Read, fields: dict[str, Any], kind: str, subtype: str
) -> None:
    """Records marked as machine-made are no prompts, whatever they say."""
    claude.user("please go on", **fields)
    [record] = read(claude).records
    assert (record.kind, record.subtype) == (kind, subtype)


def test_an_unflagged_compaction_summary_is_recognised(claude: ClaudeLines, read: Read) -> None:
    """Old versions mark the summary by its words alone."""
    claude.user("This session is being continued from a previous conversation that ran out of it")
    [record] = read(claude).records
    assert (record.kind, record.subtype) == ("summary", "compact-summary")


def test_a_reminder_alone_is_nothing(claude: ClaudeLines, read: Read) -> None:
    """A record that holds only a system reminder gives no record."""
    claude.user("<system-reminder>be kind</system-reminder>")
    found = read(claude)
    assert found.records == []
    assert found.report.dropped == {"empty": 1}


def test_a_subagents_file_has_no_prompts(claude: ClaudeLines, read: Read) -> None:
    """Whatever stands under role user in a subagent's file, a machine wrote it."""
    claude.agent_id = "a1"
    claude.user("Explore the repository")
    claude.user(command("/review", custom=True))
    claude.queue("enqueue", "hurry")
    found = read(claude, f"{claude.session}/subagents/agent-a1.jsonl")
    assert found.report.prompts == 0
    assert all(record.is_sidechain for record in found.records)


def test_text_beside_a_tool_result_is_a_prompt(claude: ClaudeLines, read: Read) -> None:
    """Some versions put what was typed while a tool ran into the tool's result record."""
    claude.user("start")
    claude.calls("Bash", "t1", command="make")
    result = {"type": "tool_result", "tool_use_id": "t1", "content": "ok"}
    claude.user([result, {"type": "text", "text": "do we have a test for this?"}])
    found = read(claude)
    assert found.said == ["start", "do we have a test for this?"]
    assert found.kinds == ["prompt", "tool_use", "tool_result", "prompt"]
