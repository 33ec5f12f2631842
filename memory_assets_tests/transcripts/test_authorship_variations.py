"""Whose words, by variations that somebody wrote who had not seen the code: one table for all
agents of what is typed and what is kept otherwise."""

from __future__ import annotations

from typing import Any

import pytest

from memory_assets.models import PLAN
from memory_assets_tests.transcripts.conftest import ClaudeLines, CodexLines, PiLines, Read

HUMAN: dict[str, Any] = {"origin": {"kind": "human"}, "promptSource": "typed"}
CHANNEL = '<channel source="signal" chat_id="9" user="mo">\nThe cellar pump runs\n</channel>'
PEER = (
    '<cross-session-message from="pipe:\\\\.\\pipe\\cc-22" from-name="lathe">\n'
    "Use thread nine\n</cross-session-message>"
)
IDE = "<ide_selection>the lines 3 to 9</ide_selection>\n"
TAIL = "\n\nIf you need details from before exiting plan mode, read the full transcript at: "


def document(title: str, **source: Any) -> dict[str, Any]:
    """Return an attached document."""
    return {"type": "document", "title": title, "source": source}


@pytest.mark.parametrize(
    ("content", "fields", "said", "kept"),
    [
        ("<config>\n<port>81</port>\n</config>", HUMAN, True, ""),
        ('<workspace-digest seq="4">\nthree files\n</workspace-digest>', {}, False, "unknown-tag"),
        ("Job 77 is done", {"origin": {"kind": "relay"}, "promptSource": "system"}, False,
         "machine-prompt"),
        ("Go on where you left off", {"isMeta": True}, False, "meta"),
        ('<teammate-message teammate_id="slater">\nThe slates\n</teammate-message>', {}, False,
         "teammate-message"),
        (CHANNEL, {"isMeta": True, "origin": {"kind": "channel"}}, False, "channel-message"),
        ('<scheduled-task name="gauge">\nRead the gauge\n</scheduled-task>', {}, False,
         "unknown-tag"),
        ("Check the oven", {"origin": {"kind": "scheduled"}, "promptSource": "loop"}, False,
         "scheduled-prompt"),
        ("<bash-stdout>three trunks</bash-stdout>", {}, False, "bash-output"),
        ("<user-memory-input>Bees dislike wool</user-memory-input>", {}, False, "memory-input"),
        (PEER, {"isMeta": True, "origin": {"kind": "peer"}}, False, "peer-message"),
        ("Implement the following plan:\r\n\r\n# Plan: A window", {"planContent": "# Plan"}, False,
         PLAN),
        (f"Implement the following plan:\n\n# Oak boards{TAIL}/home/ola/p.jsonl", {}, False, PLAN),
        ("Label issue 4411", {"entrypoint": "sdk-py", "promptSource": "sdk"}, False, "program"),
        ("Through an editor", {"entrypoint": "sdk-ts", **HUMAN}, True, ""),
        (f"{IDE}Why is the rudder stiff?", HUMAN, "Why is the rudder stiff?", ""),
    ],
)  # fmt: skip
def test_a_text_of_claude_code_is_a_persons_or_not(
    claude: ClaudeLines, read: Read, content: str, fields: Any, said: bool | str, kept: str
) -> None:
    """`said` is whether it is a prompt, or the part of it that is; else it is kept as `kept`."""
    claude.user("Hang the door", **HUMAN)
    claude.says("Done.")
    claude.user(content, **fields)
    claude.says("Noted.")
    found = read(claude)
    (record,) = found.records[2:-1]
    if said:
        assert (record.kind, record.subtype) == ("prompt", "")
        assert record.text == (content if said is True else said)
    else:
        assert (record.subtype, record.text.strip() in content) == (kept, True)


def test_attached_documents_are_kept(claude: ClaudeLines, read: Read) -> None:
    """Title and text, beside the prompt: two behind it, and one whose text is in blocks."""
    tide = document("tide.txt", type="text", data="Skagen 0.9")
    rings = document("rings.md", type="content", content=[{"type": "text", "text": "12 m apart"}])
    for blocks in ([tide, rings], [rings, {"type": "text", "text": "check it"}, tide]):
        claude.user([{"type": "text", "text": "sum up"}, *blocks], **HUMAN)
    found = read(claude)
    assert found.said == ["sum up", "sum up\ncheck it"]
    kept = "".join(record.text for record in found.records if record.kind == "attachment")
    assert [kept.count(text) for text in ("tide.txt", "Skagen 0.9", "rings.md", "12 m")] == [2] * 4


@pytest.mark.parametrize(
    ("notice", "arguments"),
    [
        ("Unknown skill: sailmend", "Args from unknown skill: the jib needs grommets"),
        ("Unknown command: /bilge", "Args from unknown command: the jib needs grommets"),
        ("Unknown slash command: rig", "Args from unknown slash command: the jib needs grommets"),
    ],
)
def test_what_was_typed_behind_an_unknown_command_is_a_prompt(
    claude: ClaudeLines, read: Read, notice: str, arguments: str
) -> None:
    """And the notice is none."""
    claude.user(notice)
    claude.system("informational", content=arguments, level="info")
    (said,) = read(claude).said
    assert said.endswith("the jib needs grommets")
    assert "Unknown" not in said


REQUEST = "why does the winch slip?"
HEADING = "## My request for Codex:"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (f"# Context from my IDE:\r\n\r\n## Active file: a.c\r\n\r\n{HEADING}\r\n{REQUEST}\r\n",
         REQUEST),
        (f'## Prior conversation with Codex:\n{{"text":"{HEADING}\\nold"}}\n\n{HEADING}\n{REQUEST}',
         REQUEST),
        (f"# Selected text:\nint a;\n\n# My request for Codex\n{REQUEST}\n\n## Details\n3 kN",
         f"{REQUEST}\n\n## Details\n3 kN"),
        (f"# Files mentioned by the user:\r\n\r\n## a.c: C:\\w\\a.c\r\n\r\n{HEADING}\r\n{REQUEST}",
         REQUEST),
        ("<turn_digest>\nfour files were read\n</turn_digest>", ""),
        ("You are a helpful assistant. You will be presented with a user prompt, and your job is "
         "to provide a short title for a task.\nIn German.\n\nrename the ledger", ""),
        ("A previous agent produced the plan below to accomplish the user's task. Implement the "
         "plan in a fresh context.\n\n# Gutter swap", ""),
    ],
    ids=["CRLF", "quoted above", "one mark", "files", "tag", "title", "plan"],
)  # fmt: skip
def test_a_text_of_codex_is_a_persons_or_not(
    codex: CodexLines, read: Read, text: str, said: str
) -> None:
    """`said` is the part that is, "" where none is."""
    codex.prompt(text)
    codex.says("Yes.")
    found = read(codex)
    assert [one.text for one in found.prompts if not one.subtype] == ([said] if said else [])


def test_dead_branches_and_unknown_tags_of_pi(pi: PiLines, read: Read) -> None:
    """Two branches that were left are marked, the one that stayed is not."""
    pi.prompt("<host_note>\nnine percent\n</host_note>")
    pi.prompt("Which paint?")
    fork = f"{len(pi.lines) - 1:08x}"
    for text in ("Take teal", "Rub it off", "Take grey"):
        message = {"role": "user", "content": [{"type": "text", "text": text}]}
        pi.entry("message", parentId=fork, message=message)
    records = [(one.text, one.kind, one.subtype) for one in read(pi).records]
    assert records[1:] == [
        ("Which paint?", "prompt", ""),
        ("Take teal", "prompt", "abandoned"),
        ("Rub it off", "prompt", "abandoned"),
        ("Take grey", "prompt", ""),
    ]
    assert records[0][1] == "system"
