"""Who wrote what stands under the user's name: the record's own word first, then the frames that
agents use, in one place for all agents."""

from __future__ import annotations

import base64
import re
from collections.abc import Callable
from typing import Any

import pytest

from memory_assets.transcripts.authorship import (
    PERSON,
    classify_text,
    text_in_tag,
    whole_tag,
    without_reminders,
)
from memory_assets.transcripts.claude import prompts
from memory_assets.transcripts.readers import cline, specstory
from memory_assets.transcripts.readers.pi import prompt_text
from memory_assets.transcripts.tags import find_enclosed, replace_enclosed
from memory_assets_tests.proportion import in_proportion
from memory_assets_tests.sweep import sweep
from memory_assets_tests.transcripts.conftest import (
    SESSION,
    ClaudeLines,
    CodexLines,
    PiLines,
    Read,
    WhatWasRead,
)

HUMAN = {"origin": {"kind": "human"}, "promptSource": "typed"}
PEER = (
    '<cross-session-message from="uds:/run/user/1000/cc-socks/11.sock" from-name="backend 2">\n'
    "The price table is finished; please use column net_cents.\n</cross-session-message>"
)
SIDE = (
    "<system-reminder>This is a side question from the user. You must answer this question "
    "directly in a single response.\n</system-reminder>\n\n"
)


def told(found: WhatWasRead) -> list[tuple[str, str, str]]:
    """Kind, subtype and text of each record."""
    return [(record.kind, record.subtype, record.text) for record in found.records]


@pytest.mark.parametrize(
    ("origin", "subtype"),
    [
        ({"origin": {"kind": "peer", "name": "backend 2"}, "isMeta": True}, "peer-message"),
        ({"origin": {"kind": "task-notification"}}, "task-notification"),
        ({"origin": {"kind": "teammate"}}, "teammate-message"),
        ({"origin": {"kind": "channel"}, "promptSource": "system"}, "channel-message"),
        ({"origin": {"kind": "scheduled"}}, "scheduled-prompt"),
        ({"promptSource": "loop"}, "scheduled-prompt"),
        ({"promptSource": "system"}, "machine-prompt"),
        ({"origin": {"kind": "coordinator"}}, "machine-prompt"),
        ({"isMeta": True}, "meta"),
        ({"isSidechain": True}, "agent-prompt"),
    ],
)
def test_a_record_that_says_a_machine_wrote_it_is_believed(
    claude: ClaudeLines, read: Read, origin: dict[str, Any], subtype: str
) -> None:
    """Whatever its words, it is no prompt, and is called what it is."""
    claude.user("please go on with the invoices", **origin)
    [record] = read(claude).records
    assert (record.kind, record.role, record.subtype) == ("system", "system", subtype)


def test_an_origin_that_is_not_known_is_a_machines_and_counted(
    claude: ClaudeLines, read: Read
) -> None:
    """A new kind of origin is no person's, and is told on the day it comes."""
    claude.user("sensor says 40 degrees", origin={"kind": "greenhouse"})
    claude.user("water the plants", promptSource="typed")
    claude.user("and the trees", promptSource="telepathy")
    found = read(claude)
    assert found.said == ["water the plants", "and the trees"]
    assert found.report.unknown_types == {"origin/greenhouse": 1, "promptSource/telepathy": 1}


@pytest.mark.parametrize(
    "text",
    [
        "<robot-report>\nAll is well.\n</robot-report>",
        "<status level='3'>ok</status>\n\n<hint>look below</hint>",
        "<job_result><part>1</part><job_result>2</job_result></job_result>",
        "<wakeup>\n<div>it is <b>late</b></div>\n</wakeup>",
    ],
)
@pytest.mark.parametrize("agent", ["claude", "codex", "pi"])
def test_an_unknown_tag_around_a_whole_text_is_a_machines(
    claude: ClaudeLines, codex: CodexLines, pi: PiLines, read: Read, agent: str, text: str
) -> None:
    """For every agent; it is kept as what it is, and counted. But a record that says a person
    typed it is believed."""
    claude.user(text)
    claude.user(text, **HUMAN)
    codex.prompt(text)
    pi.prompt(text)
    found = read({"claude": claude, "codex": codex, "pi": pi}[agent])
    assert told(found)[0] == ("system", "unknown-tag", text)
    assert sum(found.report.unknown_types.values()) == 1
    assert [name.partition("/")[0] for name in found.report.unknown_types] == ["tag"]
    assert found.said == ([text] if agent == "claude" else [])


@sweep(
    "text",
    [
        "<div class='x'>this is not centred</div>",
        "<svg><path d='M0'/></svg>",
        "<robot-report> is what the tag should be called",
        "Look: <robot-report>x</robot-report>",
        "<robot-report>x</robot-report> is wrong, see <robot-report>y</robot-report>",
        "<Button>Save</Button>",
        "a < b and c > d",
        "<robot-report>never closed",
        "</closed>",
    ],
)
def test_text_beside_tags_and_html_are_a_persons(text: str) -> None:
    """People quote markup, and write about tags."""
    assert classify_text(text).kind == "prompt"
    assert whole_tag(text) == ""


def test_a_long_text_of_tags_is_judged_in_one_pass() -> None:
    """Nested or unclosed, it takes time in proportion to its length."""
    assert whole_tag("<a1>" * 50_000) == ""
    assert whole_tag("<a1>" * 50_000 + "</a1>" * 50_000) == "a1"
    assert text_in_tag("<a1>" * 50_000 + "x") == "<a1>" * 50_000 + "x"
    assert text_in_tag("Look:\n<a1 b='c'>\nx\n</a1>") == "x"


def test_a_peers_message_is_told_once_where_it_came(claude: ClaudeLines, read: Read) -> None:
    """Through the queue and as a record with flags, in a frame whose attributes differ."""
    hop = PEER.replace(" from-name", ' hop-chain="aa11,bb22" from-name').replace("net", "gross")
    claude.user("Build the invoice page", **HUMAN)
    claude.says("I start with the template.")
    claude.queue("enqueue", PEER)
    claude.queue("dequeue")
    claude.user(
        f"Another Claude session sent a message:\n{PEER}",
        isMeta=True,
        origin={"kind": "peer"},
        promptSource="system",
    )
    claude.says("Thanks, net_cents it is.")
    claude.queue("enqueue", hop)
    claude.queue("remove")
    plain = hop.replace(' hop-chain="aa11,bb22"', "")
    claude.attachment(
        "queued_command",
        prompt=plain,
        commandMode="prompt",
        origin={"kind": "peer", "name": "backend 2"},
        isMeta=True,
    )
    claude.says("Noted, gross_cents too.")
    found = read(claude)
    assert found.said == ["Build the invoice page"]
    assert [(record.kind, record.subtype) for record in found.records] == [
        ("prompt", ""),
        ("assistant_text", ""),
        ("system", "peer-message"),
        ("assistant_text", ""),
        ("system", "peer-message"),
        ("assistant_text", ""),
    ]


@pytest.mark.parametrize(
    ("queued", "sent", "flags"),
    [
        ("check the nightly build", "check the nightly build", {"origin": {"kind": "scheduled"}}),
        ("deploy is done", "deploy is done", {"promptSource": "system"}),
        (
            "<teammate-message id='7'>done</teammate-message>",
            "<teammate-message>done</teammate-message>",
            {"origin": {"kind": "teammate"}},
        ),
        (
            "<channel source='chat'>lunch?</channel>",
            "<channel source='chat' id='4'>lunch?</channel>",
            {"origin": {"kind": "channel"}, "isMeta": True},
        ),
    ],
)
@pytest.mark.parametrize("way", ["dequeue", "remove", "nothing"])
def test_what_a_machine_queued_is_no_prompt_though_the_queue_says_nothing(
    claude: ClaudeLines, read: Read, queued: str, sent: str, flags: dict[str, Any], way: str
) -> None:
    """The record that follows says who wrote it; it is told once, whatever the queue did."""
    claude.user("start", **HUMAN)
    claude.queue("enqueue", queued)
    if way != "nothing":
        claude.queue(way)
    claude.user(sent, **flags)
    claude.says("seen")
    found = read(claude)
    assert found.said == ["start"]
    assert found.kinds == ["prompt", "system", "assistant_text"]
    assert found.records[1].text == sent


def test_a_notice_that_only_the_queue_has_is_told_in_its_place(
    claude: ClaudeLines, read: Read
) -> None:
    """Older versions write no other record of a notice that went into the running turn."""
    notice = "<task-notification>\n<task-id>b1</task-id>\n</task-notification>"
    claude.user("start")
    claude.queue("enqueue", notice)
    claude.queue("remove")
    claude.says("the build is done")
    claude.says("so I go on")
    assert told(read(claude))[1] == ("system", "task-notification", notice)


def test_a_note_for_the_memory_file_is_kept_without_its_tag(
    claude: ClaudeLines, read: Read
) -> None:
    """`# note` is the person's own, but no prompt to the agent."""
    claude.user("<user-memory-input>always run the weft tests</user-memory-input>")
    assert told(read(claude)) == [("system", "memory-input", "always run the weft tests")]


@pytest.mark.parametrize(
    ("notice", "label"),
    [
        ("Unknown skill: vscode", "skill"),
        ("Unknown skill: /vscode", "skill"),
        ("Unknown slash command: vscode", "slash command"),
        ("Unknown command: vscode", "command"),
    ],
)
def test_what_was_typed_behind_an_unknown_command_is_a_prompt(
    claude: ClaudeLines, read: Read, notice: str, label: str
) -> None:
    """The notice is the CLI's, the arguments are the person's."""
    said = "says the quarterly report must leave out the Lisbon branch"
    claude.user(notice)
    claude.system("informational", content=f"Args from unknown {label}: {said}", level="info")
    claude.user("Look at the report again")
    found = read(claude)
    assert found.said == [f"/vscode {said}", "Look at the report again"]
    assert told(found)[0] == ("system", "local-command-output", notice)


def test_a_sentence_about_an_unknown_skill_is_a_persons(claude: ClaudeLines, read: Read) -> None:
    """Only the whole notice is one."""
    claude.user("Unknown skill: vscode is what it says, why?")
    claude.system("informational", content="Remote Control disconnected", level="info")
    assert read(claude).said == ["Unknown skill: vscode is what it says, why?"]


def _base64(text: str) -> str:
    return base64.b64encode(text.encode()).decode()


FAROESE = "The kiosk prints a receipt in Faroese."


@pytest.mark.parametrize(
    "source",
    [
        {"type": "text", "media_type": "text/plain", "data": FAROESE},
        {"type": "content", "content": [{"type": "text", "text": FAROESE}]},
        {"type": "content", "content": FAROESE},
        {"type": "base64", "media_type": "text/markdown", "data": _base64(FAROESE)},
    ],
)
@pytest.mark.parametrize("way", ["user", "queued", "beside a result"])
def test_an_attached_document_is_kept_with_its_title(
    claude: ClaudeLines, read: Read, source: dict[str, Any], way: str
) -> None:
    """Title and text, behind the prompt that it came with, which has the typed words alone."""
    document = {"type": "document", "source": source, "title": "requirements.md"}
    content = [document, {"type": "text", "text": "build this"}]
    if way == "user":
        claude.user(content, **HUMAN)
    elif way == "queued":
        claude.attachment("queued_command", prompt=content, commandMode="prompt")
    else:
        claude.calls("Bash", "t1", command="make")
        claude.user([{"type": "tool_result", "tool_use_id": "t1", "content": "ok"}, *content])
    found = read(claude)
    assert found.said == ["build this"]
    [attached] = [record for record in found.records if record.kind == "attachment"]
    assert (attached.role, attached.subtype) == ("user", "document")
    assert attached.text == f"requirements.md\n\n{FAROESE}"
    assert attached.seq == found.prompts[0].seq + 1


def test_several_attached_documents_are_kept(claude: ClaudeLines, read: Read) -> None:
    """Before and behind the words that were typed with them."""
    first, second = (
        {"type": "document", "title": title, "source": {"type": "text", "data": FAROESE}}
        for title in ("one.md", "two.md")
    )
    claude.user([first, {"type": "text", "text": "sum up"}, second])
    found = read(claude)
    assert found.said == ["sum up"]
    assert found.kinds == ["prompt", "attachment", "attachment"]


def test_a_document_without_a_text_stays_a_mark(claude: ClaudeLines, read: Read) -> None:
    """A PDF's bytes are no words; the prompt says that there was one. One that came alone is a
    prompt, too."""
    pdf = {"type": "document", "source": {"type": "base64", "media_type": "application/pdf"}}
    text = {"type": "document", "source": {"type": "text", "data": "a list"}}
    claude.user([pdf, {"type": "text", "text": "sum it up"}])
    claude.user([text])
    assert read(claude).said == ["[document]\nsum it up", "[document]"]


def _main(claude: ClaudeLines) -> None:
    claude.user("Rename the database tables")
    claude.says("I rename them now.")


@pytest.mark.parametrize(
    "question",
    [
        f"{SIDE}what was the name of the old customers table?",
        "<system-reminder>Answer the side question below, do nothing else.</system-reminder>\n"
        "what was the name of the old customers table?",
        [
            {"type": "text", "text": SIDE},
            {"type": "text", "text": "what was the name of the old customers table?"},
        ],
        "what was the name of the old customers table?",
    ],
)
def test_a_side_question_is_the_persons_and_its_copied_talk_is_dropped(
    read: Read, question: Any
) -> None:
    """`/btw`: the agent's file begins with the main conversation; question and answer are new."""
    claude = ClaudeLines(sidechain=True, agent_id="aside_question-00aa")
    _main(claude)
    claude.user(question)
    claude.says("It was tbl_kunden.")
    name = f"{SESSION}/subagents/agent-aside_question-00aa.jsonl"
    found = read(claude, name)
    assert told(found) == [
        ("prompt", "side-question", "what was the name of the old customers table?"),
        ("assistant_text", "", "It was tbl_kunden."),
    ]
    assert found.report.dropped == {"copied-history": 2}


@pytest.mark.parametrize(
    "text", ["Warmup", "warmup", "Warmup.", [{"type": "text", "text": "Warmup"}]]
)
def test_an_agent_that_only_warmed_up_did_nothing(read: Read, text: Any) -> None:
    """Neither the word nor the greeting is kept; work that follows is."""
    claude = ClaudeLines(sidechain=True, agent_id="a0000001")
    claude.user(text)
    claude.says("Hello! I'm ready to help you explore the codebase.")
    name = f"{SESSION}/subagents/agent-a0000001.jsonl"
    found = read(claude, name)
    assert found.records == [] and found.report.dropped == {"warm-up": 2}
    claude.user("List the tables")
    claude.says("There are three.")
    assert read(claude, name).kinds == ["system", "assistant_text"]


def test_a_person_may_say_warmup(claude: ClaudeLines, read: Read) -> None:
    """In a conversation of a person's it is a word like any other."""
    claude.user("Warmup")
    assert read(claude).said == ["Warmup"]


PLAN = (
    "Implement the following plan:\n\n# Move the tool inventory to SQLite\n\n1. Create schema.sql"
)
SOURCE = (
    "\n\nIf you need specific details from before exiting plan mode (like exact code snippets), "
    "read the full transcript at: /home/mira/.claude/projects/-home-mira-shed/33333333.jsonl"
)


@pytest.mark.parametrize(
    ("text", "fields"),
    [
        (PLAN, {}),
        (PLAN, {"planContent": "# Move the tool inventory", **HUMAN}),
        (PLAN + SOURCE, HUMAN),
        (PLAN.replace("\n", "\r\n"), {"planContent": "# Move the tool inventory"}),
        ("A previous agent produced the plan below to accomplish the task.\n\n# Labels", {}),
    ],
)
def test_a_plan_that_was_handed_over_begins_a_turn_but_was_not_typed(
    claude: ClaudeLines, read: Read, text: str, fields: dict[str, Any]
) -> None:
    """It is called a plan, and names the transcript of the session that made it."""
    claude.user(text, **fields)
    [record] = read(claude).prompts
    assert (record.subtype, record.text) == ("plan", text)
    named = ("/home/mira/.claude/projects/-home-mira-shed/33333333.jsonl",)
    assert record.paths == (named if text.endswith(SOURCE) else ())


def test_a_plan_that_a_person_wrote_is_theirs(claude: ClaudeLines, read: Read) -> None:
    """A record says that it was typed, and no agent's plan is named."""
    claude.user("Implement the following plan: first tests, then code", **HUMAN)
    [record] = read(claude).prompts
    assert record.subtype == ""
    assert classify_text("Implement the following plan: tests", PERSON).subtype == ""


def test_codex_hands_over_plans_too(codex: CodexLines, read: Read) -> None:
    """In words of its own."""
    codex.prompt("A previous agent produced the plan below. Implement it.\n\n# Label queue")
    assert [record.subtype for record in read(codex).prompts] == ["plan"]


@pytest.mark.parametrize(
    ("fields", "subtype"),
    [
        ({"entrypoint": "sdk-cli"}, "program"),
        ({"entrypoint": "sdk-ts"}, "program"),
        ({"entrypoint": "sdk-py"}, "program"),
        ({"promptSource": "sdk"}, "program"),
        ({"cwd": "/home/ada/.claude-mem/observer-sessions"}, "program"),
        ({"cwd": r"C:\Users\ada\.claude-mem\observer-sessions"}, "program"),
        ({"entrypoint": "cli"}, ""),
        ({"entrypoint": "claude-vscode"}, ""),
        ({"entrypoint": "claude-desktop"}, ""),
        ({"entrypoint": "sdk-ts", "origin": {"kind": "human"}}, ""),
        ({"entrypoint": "sdk-cli", "promptSource": "typed"}, ""),
    ],
)
def test_what_a_program_asks_is_marked(
    claude: ClaudeLines, read: Read, fields: dict[str, Any], subtype: str
) -> None:
    """It begins a turn, and nobody typed it, a plan that it handed over included; a person at a
    program's door is a person."""
    claude.user("summarise the repository", **fields)
    claude.user(f"{PLAN}, {fields}", **fields, planContent="# Move the tool inventory")
    claude.user(
        "<command-message>review</command-message><command-name>/review</command-name>", **fields
    )
    found = [record.subtype for record in read(claude).prompts]
    assert found == [subtype, subtype or "plan", subtype or "command"]


@pytest.mark.parametrize("delivered", [True, False])
def test_a_programs_queue_is_the_programs(claude: ClaudeLines, read: Read, delivered: bool) -> None:
    """Libraries enqueue every prompt without flags; it is told once, and as the program's."""
    claude.user("begin", promptSource="sdk", entrypoint="sdk-ts")
    claude.queue("enqueue", "Hello memory agent")
    claude.queue("dequeue")
    if delivered:
        claude.user("Hello memory agent", promptSource="sdk", entrypoint="sdk-ts")
    claude.says("<observation/>", entrypoint="sdk-ts")
    assert [record.subtype for record in read(claude).prompts] == ["program", "program"]


@pytest.mark.parametrize(
    "text",
    [
        "You are a helpful assistant. You will be presented with a user prompt, and your job is to "
        "provide a short title for a task.\n\nUser prompt:\nwhy is checkout slow?",
        "Hello memory agent, you are continuing to observe the primary Claude session.",
        "Observe.\n<observed_from_primary_session>\n<user_request>why?</user_request>\n"
        "</observed_from_primary_session>",
        "You are a Claude-Mem, a specialized observer tool.",
    ],
)
@pytest.mark.parametrize("agent", ["claude", "codex"])
def test_known_programs_are_known_by_their_words(
    claude: ClaudeLines, codex: CodexLines, read: Read, agent: str, text: str
) -> None:
    """From before records said so."""
    if agent == "claude":
        claude.user(text)
    else:
        codex.prompt(text)
    found = read(claude if agent == "claude" else codex)
    assert [record.subtype for record in found.prompts] == ["program"]


@pytest.mark.parametrize("again", [1, 2, 3])
def test_a_prompt_that_was_taken_back_is_marked(
    claude: ClaudeLines, read: Read, again: int
) -> None:
    """The person went back and wrote another in its place: a note before that one names the one
    that it replaces. Both are kept."""
    claude.user("start")
    answer = claude.says("ready")["uuid"]
    typed = [claude.user("rewrite it in COBOL")["uuid"]]
    claude.says("DIVISION")
    for number in range(again):
        claude.parent = answer
        typed.append(claude.user(f"rewrite it in Rust {number}")["uuid"])
    claude.says("fn main")
    claude.user("and test it")
    found = read(claude)
    assert len(found.said) == again + 3
    notes = [record.text for record in found.records if record.subtype == "rollback"]
    assert notes == [f"rewound to before the prompt {uuid}" for uuid in typed[:-1]]
    marked = [at for at, record in enumerate(found.records) if record.subtype == "rollback"]
    assert all(found.records[at + 1].text.startswith("rewrite it in Rust") for at in marked)


def test_a_branch_that_repeats_each_message_tells_it_once(claude: ClaudeLines, read: Read) -> None:
    """`/branch` writes copies with and without `forkedFrom`, under the same ids."""
    first = claude.user("Plot it as steps")
    again = claude.says("plot.py uses plt.stairs now.")
    for record in (first, again):
        claude.add(**record, forkedFrom={"sessionId": "other", "messageUuid": record["uuid"]})
        claude.add(**record)
    claude.user("Try a logarithmic axis instead")
    found = read(claude)
    assert found.said == ["Plot it as steps", "Try a logarithmic axis instead"]
    assert found.report.dropped == {"duplicate-uuid": 4}


_OPENING = re.compile(r"<(a|b)(?: [^<>]*)?>")


def test_what_tags_enclose_is_replaced_and_the_rest_stays() -> None:
    """Each opening ends at its own closing tag; one without such a tag is text."""
    text = "<b>1 <a x>2<b>3</b></a>  4 <b>5</b> 6 <a>"
    held = [text[begin.end() : end] for begin, end, _ in find_enclosed(text, _OPENING)]
    assert held == ["1 <a x>2<b>3", "5"]
    assert replace_enclosed(text, _OPENING, lambda begin: begin[1].upper()) == "B</a>  4 B 6 <a>"


@sweep(
    "step, opening",
    [
        (prompt_text, '<file name="a">'),
        (prompt_text, '<skill name="a">'),
        (prompt_text, '<skill name=""'),
        (lambda text: replace_enclosed(text, cline._INSERTED, lambda _: ""), "<file_content "),
        (without_reminders, "<system-reminder></a>"),
        (prompts._command_line, "<command-name>"),
        (lambda text: list(specstory._fences(text)), "```a\n"),
    ],
)
def test_openings_that_nothing_closes_take_time_in_proportion(
    step: Callable[[str], object], opening: str
) -> None:
    """None of them reads on to the end of the text in search of its end."""
    assert in_proportion(lambda size: step(opening * (size // len(opening))), 50_000)
