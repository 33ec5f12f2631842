"""Which Claude Code user records a human wrote and what they said; prompts typed while it works,
which may stand in the queue's records alone."""

from __future__ import annotations

from typing import Any

import pytest

from memory_assets_tests.sweep import sweep
from memory_assets_tests.transcripts.conftest import ClaudeLines, Read, Write


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
    ("text", "fields"),
    [
        ("please go on", {"isCompactSummary": True}),
        ("This session is being continued from a previous conversation that ran out of it", {}),
    ],
)
def test_a_compaction_summary_is_recognised(
    claude: ClaudeLines, read: Read, text: str, fields: dict[str, Any]
) -> None:
    """By its flag, whatever it says; old versions mark it by its words alone."""
    claude.user(text, **fields)
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


TASK = '{"task_id":"b1","tool_use_id":"toolu_1","description":"Build"}'


def working(claude: ClaudeLines) -> None:
    """Begin a turn in which a tool is running."""
    claude.user("start")
    claude.calls("Bash", "t1", command="make")


def test_a_removed_prompt_stands_where_the_agent_takes_it(claude: ClaudeLines, read: Read) -> None:
    """A text that went into the running turn comes before the agent's next message."""
    working(claude)
    enqueued = claude.queue("enqueue", "use make -j")
    claude.queue("remove")
    claude.result("t1", "ok")
    claude.says("using -j")
    found = read(claude)
    assert found.kinds == ["prompt", "tool_use", "tool_result", "prompt", "assistant_text"]
    record = found.prompts[1]
    assert (record.text, record.subtype) == ("use make -j", "queued")
    assert record.timestamp is not None
    assert record.timestamp.isoformat(timespec="milliseconds")[:23] == enqueued["timestamp"][:23]


def test_an_agents_message_in_flight_does_not_release_it(claude: ClaudeLines, read: Read) -> None:
    """Further lines of the API message that was being written are not the answer."""
    claude.user("start")
    claude.says("thinking aloud", message_id="m1")
    claude.queue("enqueue", "wait")
    claude.queue("remove")
    claude.assistant({"type": "tool_use", "id": "t1", "name": "Bash", "input": {}}, message_id="m1")
    claude.result("t1", "ok")
    claude.says("waiting", message_id="m2")
    assert read(claude).kinds == [
        "prompt",
        "assistant_text",
        "tool_use",
        "tool_result",
        "prompt",
        "assistant_text",
    ]


def play(steps: str) -> ClaudeLines:
    """Return a transcript in which a tool is running and these things happen, one after another:
    what the human does (`types`, `queues`, `takes back`), what becomes of the queue (`remove`,
    `dequeue`, `attaches`), and `tool`, `result` and `says` of the agent."""
    claude = ClaudeLines()
    working(claude)
    for step in steps.split("; "):
        verb, _, text = step.partition(": ")
        if verb == "types":
            claude.user(text)
        elif verb == "attaches":
            claude.attachment("queued_command", prompt=text, commandMode="prompt")
        elif verb == "tool":
            claude.calls("Bash", "t2", command="ls")
        elif verb == "result":
            claude.result("t1", "ok")
        elif verb == "says":
            claude.says("as you say")
        else:
            operation = {"queues": "enqueue", "takes back": "popAll"}.get(verb, verb)
            claude.queue(operation, text or None)
    return claude


@sweep(
    "steps, said, dropped",
    [
        # A text sent after the turn ended is told by its record, several by their one record.
        ("queues: test; dequeue; types: test", "test", 1),
        ("queues: one; queues: two; dequeue; dequeue; types: one\ntwo", "one\ntwo", 2),
        # Programs enqueue every prompt.
        (
            "queues: one; dequeue; types: one; says; queues: two; dequeue; types: two; says; "
            "queues: one; dequeue; types: one; says",
            "one|two|one",
            3,
        ),
        # From 2.1.101 on an attachment is the queued prompt, also late, where tools run in
        # parallel, or alone.
        ("queues: again; remove; result; attaches: again; says", "again", 1),
        ("queues: again; remove; tool; result; attaches: again", "again", 1),
        ("attaches: again", "again", 0),
        # The same text typed again, once the agent has answered, is another prompt.
        ("queues: stop it; remove; result; says; types: stop it", "stop it|stop it", 0),
        # What the human pulled back into the editor was never said.
        ("queues: there?; takes back: there?; types: still there?", "still there?", 0),
        # A removal means the human's text, though a machine's was queued before it.
        (f"queues: {TASK}; queues: why?; remove; says; remove", "why?", 0),
        # A record that names its text takes that one, also one that was never queued.
        (
            "queues: first; queues: second; remove: second; remove: of another file; says; "
            "dequeue: first; types: first",
            "second|of another file|first",
            1,
        ),
        # What the agent has not taken yet is told last.
        ("queues: later; queues: sooner; remove; result", "later|sooner", 0),
        # Older versions write operations without a queue.
        ("dequeue; remove; takes back: x; types: hello", "hello", 0),
    ],
)
def test_what_was_queued_is_told_once(read: Read, steps: str, said: str, dropped: int) -> None:
    """Whatever the queue does with it, and whichever other record has it."""
    found = read(play(steps))
    assert found.said == ["start", *said.split("|")]
    assert found.report.dropped["queued-duplicate"] == dropped


def test_what_has_a_record_of_its_own_is_that_record(read: Read) -> None:
    """With its id, or its place in the tree; what was taken back is counted."""
    sent = play("queues: test; dequeue")
    record = sent.user("test")
    assert read(sent).prompts[1].record_uuid == record["uuid"]
    attached = play("queues: again; remove; result; attaches: again; says")
    assert read(attached).prompts[1].parent_uuid is not None
    back = read(play("queues: there?; takes back: there?; types: still there?"))
    assert back.report.dropped["queued-withdrawn"] == 2


def test_machine_texts_in_the_queue_are_no_prompts(claude: ClaudeLines, read: Read) -> None:
    """Task notices in both shapes are told as such wherever they end; bare commands to the CLI are
    dropped."""
    working(claude)
    for text in (TASK, "<task-notification>b1</task-notification>", "/exit"):
        claude.queue("enqueue", text)
        claude.queue("remove")
        claude.queue("enqueue", text)
    claude.says("done")
    found = read(claude)
    assert found.said == ["start"]
    assert found.report.dropped["queued-machine-text"] == 2
    told = [record.subtype for record in found.records if record.kind == "system"]
    assert told == ["task-notification"] * 4


def test_every_state_of_a_growing_file_gives_the_same_prompts(
    claude: ClaudeLines, write: Write, read: Read
) -> None:
    """Cut after any line, a file gives the prompts of the whole in the same order, except
    for those that were still in the queue."""
    working(claude)
    claude.queue("enqueue", "A")
    claude.queue("remove")
    claude.result("t1", "ok")
    claude.says("on it")
    claude.queue("enqueue", "B")
    claude.queue("dequeue")
    claude.user("B")
    claude.says("done")
    claude.attachment("queued_command", prompt="C", commandMode="prompt")
    claude.says("C, too")
    whole = read(claude).said
    assert whole == ["start", "A", "B", "C"]
    content = claude.bytes().splitlines(keepends=True)
    for count in range(1, len(content) + 1):
        said = read(b"".join(content[:count])).said
        assert said == whole[: len(said)]


def test_a_queued_prompt_that_is_written_again_is_one(claude: ClaudeLines, read: Read) -> None:
    """Same text, same time: copies of one record, however the queue lets go of them. So no two
    prompts have one id, in any state of a growing file."""
    working(claude)
    typed = claude.queue("enqueue", "use make -j")
    for _ in range(4):
        claude.add(**typed)
    claude.queue("remove")
    claude.queue("remove")
    claude.result("t1", "ok")
    claude.says("using -j")
    claude.queue("remove")
    claude.says("still")
    found = read(claude)
    assert found.said == ["start", "use make -j"]
    assert found.report.dropped["queued-duplicate"] == 4
    content = claude.bytes().splitlines(keepends=True)
    for count in range(2, len(content) + 1):
        ids = [record.record_uuid for record in read(b"".join(content[:count])).prompts]
        assert len(ids) == len(set(ids))
