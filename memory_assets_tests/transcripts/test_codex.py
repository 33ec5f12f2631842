"""Codex rollouts, from bare items to the builds of 2026."""

from __future__ import annotations

import json
from typing import Any

import pytest

from memory_assets_tests.sweep import sweep
from memory_assets_tests.transcripts.conftest import Builders, CodexLines, Read

PATCH = (
    "*** Begin Patch\n*** Update File: a.py\n@@\n-x\n+y\n*** Add File: b/c.py\n+z\n*** End Patch"
)


def call(codex: CodexLines, name: str, call_id: str = "c1", **arguments: Any) -> None:
    """Add a function call, whose arguments are JSON in a string."""
    codex.item("function_call", name=name, call_id=call_id, arguments=json.dumps(arguments))


def output(
    codex: CodexLines, text: str, call_id: str = "c1", kind: str = "function_call_output"
) -> None:
    """Add the output of a call."""
    codex.item(kind, call_id=call_id, output=text)


def play(codex: CodexLines, steps: str) -> CodexLines:
    """Write a message for each step: `event` and `item` are a user's, `prompt` both, `shown` and
    `answer` an agent's, `says` both, `completed` the newer event."""
    for step in steps.split("; "):
        verb, _, text = step.partition(": ")
        content = [{"type": "text", "text": text}]
        if verb == "prompt":
            codex.prompt(text)
        elif verb == "says":
            codex.says(text)
        elif verb == "item":
            codex.user_item(text)
        elif verb == "answer":
            codex.item("message", role="assistant", content=content)
        elif verb == "completed":
            codex.event("item_completed", item={"type": "UserMessage", "content": content})
        else:
            kind = {"event": "user_message", "shown": "agent_message"}.get(verb, verb)
            codex.event(kind, message=text, info=None)
    return codex


@sweep(
    "steps, told",
    [
        # Of an event and its item one is kept, whoever spoke, in whichever order.
        (
            "prompt: fix; says: on it; says: done; prompt: fix; says: done",
            ["fix", "< on it", "< done", "fix", "< done"],
        ),
        ("event: fix; item: fix; answer: ok; token_count; shown: ok", ["fix", "< ok"]),
        # A prompt repeated before the agent answered is no double.
        ("prompt: go; turn_aborted; prompt: go", ["go", "go"]),
        # Plans and citations are wrapped in the item, which stays.
        ("prompt: plan; shown: The plan; answer: <p>The plan</p>", ["plan", "< <p>The plan</p>"]),
        # What only the UI was shown is not lost.
        ("prompt: hello; shown: hi; task_complete; prompt: and?", ["hello", "< hi", "and?"]),
        # Where no event is ever written, the items are the prompts.
        ("item: fix; answer: ok; item: thanks", ["fix", "< ok", "thanks"]),
        # From 2026-08 on `item_completed` has what the human said, with or without the older event.
        ("item: fix; completed: fix", ["fix"]),
        ("prompt: fix; completed: fix", ["fix"]),
    ],
)
def test_each_message_is_told_once(read: Read, steps: str, told: list[str]) -> None:
    """Whatever a build writes of it; `<` stands before what the agent said."""
    codex = CodexLines()
    codex.meta()
    found = read(play(codex, steps))
    marks = {"prompt": "", "assistant_text": "< "}
    assert [f"{marks[record.kind]}{record.text}" for record in found.records] == told
    assert not found.report.unknown_types


@pytest.mark.parametrize(
    ("text", "subtype"),
    [
        ("<environment_context>\n<cwd>/x</cwd>\n</environment_context>", "environment"),
        ("# AGENTS.md instructions for /x\n\n<INSTRUCTIONS>be good</INSTRUCTIONS>", "instructions"),
        ("<subagent_notification>{}</subagent_notification>", "task-notification"),
        ("<turn_aborted>\nThe user interrupted</turn_aborted>", "interrupt"),
        ("<skill>\n<name>x</name></skill>", "meta"),
        ("<some_new_context>x</some_new_context>", "unknown-tag"),
        ("The following is the Codex agent history whose request", "machine-prompt"),
    ],
)
def test_injected_items_are_no_prompts(
    codex: CodexLines, read: Read, text: str, subtype: str
) -> None:
    """The environment, instructions and notices stand under role user."""
    codex.user_item(text)
    codex.prompt("fix it")
    found = read(codex)
    assert found.said == ["fix it"]
    assert (found.records[0].kind, found.records[0].subtype) == ("system", subtype)


def test_a_delegated_prompt_is_no_humans(codex: CodexLines, read: Read) -> None:
    """A text that another thread submitted has an event, too."""
    codex.prompt("<codex_delegation>\n<input>do it</input>\n</codex_delegation>")
    found = read(codex)
    assert (found.report.prompts, found.records[0].subtype) == (0, "machine-prompt")


@pytest.mark.parametrize(
    "context",
    [
        "# Context from my IDE setup:\n\n## Open tabs\n- a.py",
        '## Prior conversation with Codex:\n{"text":"## My request for Codex:\\nold"}',
        "# Review findings:\n\n## Finding 1 (src/db.ts:49) [added]\n[P2] Loss detection",
        "## Code review guidelines:\n# Review guidelines:\n\nYou are acting as a reviewer.",
        "# Files mentioned by the user:\n\n## a.md\n## My request for Codex:\nan earlier one",
        "## Something that a later version puts there:\n- x",
    ],
)
@pytest.mark.parametrize("heading", ["## My request for Codex:", "# My request for Codex"])
def test_editor_context_is_cut_from_the_prompt(
    codex: CodexLines, read: Read, context: str, heading: str
) -> None:
    """Editors put it above a heading; the request is what stands below the last one."""
    text = f"{context}\n\n{heading}\nfix it\n"
    codex.prompt(text)
    codex.prompt(text.replace("\n", "\r\n"))
    assert read(codex).said == ["fix it", "fix it"]


@pytest.mark.parametrize("build", ["item and event", "item", "event"])
@pytest.mark.parametrize(
    "files",
    [
        ("/srv/a plan.md",),
        ("/srv/a plan.md", "C:\\v\\b.mp4", "/home/mira/\u65b0\u805e: \u7b2c1.txt"),
    ],
)
def test_files_that_a_person_named_in_an_editor_stand_beside_the_prompt(
    codex: CodexLines, read: Read, build: str, files: tuple[str, ...]
) -> None:
    """Whatever the build writes of a prompt. They are the person's, with their paths; headings of
    other context are not, and those of one prompt are not the next one's."""
    listed = "\n\n".join(f"## file {number}: {path}" for number, path in enumerate(files))
    heading = "## My request for Codex:"
    request = f"\n# Files mentioned by the user:\n\n{listed}\n\n{heading}\nfix it\n"
    other = f"# Context from my IDE setup:\n\n## c: d\n\n{heading}\nand this\n"
    for text in (request, other):
        if build != "event":
            codex.user_item(text)
        if build != "item":
            codex.event("user_message", message=text)
        codex.item("message", role="assistant", content=[{"type": "output_text", "text": text[:9]}])
    records = read(codex).records
    assert [record.text for record in records if record.kind == "prompt"] == ["fix it", "and this"]
    (beside,) = (record for record in records if record.kind == "attachment")
    assert beside.paths == files and listed in beside.text


@pytest.mark.parametrize(
    "text",
    [
        "why does it say\n## My request for Codex:\nabove it?",
        "# My plan\n\nsays 'My request for Codex:' somewhere",
        "# Context from my IDE setup:\n\n## My request for Codex:",
    ],
)
def test_what_a_person_wrote_is_not_cut(codex: CodexLines, read: Read, text: str) -> None:
    """The heading alone makes no context, and there must be something below it."""
    codex.prompt(text)
    assert read(codex).said == [text]


@pytest.mark.parametrize(
    "above",
    [
        "# AGENTS.md instructions for /x\n\n<INSTRUCTIONS>\nUse tabs.\n</INSTRUCTIONS>\n",
        "<user_instructions>\nUse tabs.\n</user_instructions>\n\n",
        "# AGENTS.md instructions\n\n<INSTRUCTIONS>a</INSTRUCTIONS>\n"
        "<environment_context><cwd>/x</cwd></environment_context>",
    ],
)
def test_the_preamble_is_no_prompt(codex: CodexLines, read: Read, above: str) -> None:
    """By itself it is Codex's; of one item with a prompt below, the prompt is the person's."""
    codex.user_item(above)
    codex.user_item(f"{above}fix it")
    codex.item("message", role="assistant", content=[{"type": "output_text", "text": "ok"}])
    assert read(codex).said == ["fix it"]


@pytest.mark.parametrize(
    "kind", ["thread_settings_applied", "mcp_startup_complete", "skills_update_available"]
)
def test_settings_of_a_thread_are_no_words(codex: CodexLines, read: Read, kind: str) -> None:
    """They are known, and dropped."""
    codex.event(kind, thread_settings={"model": "gpt-5.6", "cwd": "/x"})
    report = read(codex).report
    assert not report.unknown_types and report.dropped["session-state"] == 1


def test_an_image_alone_is_a_placeholder(codex: CodexLines, read: Read) -> None:
    """A prompt that is only an image says so."""
    codex.event("user_message", message="", images=["data:image/png;base64,AAAA"])
    assert read(codex).said == ["[image]"]


@pytest.mark.parametrize(
    ("name", "arguments", "command"),
    [
        ("exec_command", {"cmd": "make test", "workdir": "/x"}, "make test"),
        ("shell", {"command": ["bash", "-lc", "make test"]}, "make test"),
        ("shell", {"command": ["/bin/zsh", "-lc", "a | b"]}, "a | b"),
        ("shell", {"command": ["ls", "a b"]}, "ls 'a b'"),
        ("shell_command", {"command": "make test"}, "make test"),
        ("update_plan", {"plan": [{"step": "x"}]}, ""),
    ],
)
def test_the_command_is_found_in_every_shape(
    codex: CodexLines, read: Read, name: str, arguments: Any, command: str
) -> None:
    """Shell tools of all versions give the command that ran, and so do their results."""
    call(codex, name, **arguments)
    output(codex, "fine")
    made, given = read(codex).records
    assert (made.tool_name, made.command, given.command) == (name, command, command)
    assert (made.tool_use_id, given.tool_use_id) == ("c1", "c1")


def test_patches_name_their_files(codex: CodexLines, read: Read) -> None:
    """apply_patch as a custom tool, or through the shell, gives the files it touches."""
    codex.item("custom_tool_call", name="apply_patch", call_id="c1", input=PATCH)
    call(codex, "shell", "c2", command=["apply_patch", PATCH])
    custom, shell = read(codex).records
    assert custom.paths == shell.paths == ("a.py", "b/c.py")
    assert custom.text == PATCH


@pytest.mark.parametrize(
    ("text", "is_error"),
    [
        ("Chunk ID: 1\nWall time: 0.1 seconds\nProcess exited with code 0\nOutput:\n", False),
        ("Chunk ID: 1\nWall time: 0.1 seconds\nProcess exited with code 2\nOutput:\nno", True),
        ("Exit code: 1\nWall time: 1 seconds\nOutput:\nno", True),
        ('{"output":"no","metadata":{"exit_code":1,"duration_seconds":0.1}}', True),
        ('{"output":"ok","metadata":{"exit_code":0}}', False),
        ("Plan updated", False),
        ("apply_patch verification failed: no such line", True),
        ([{"type": "input_text", "text": "seen"}], False),
        ({"content": "no", "success": False}, True),
    ],
)
def test_failure_is_read_from_the_output(
    codex: CodexLines, read: Read, text: str, is_error: bool
) -> None:
    """Exit codes stand in the text, in JSON, or in a flag."""
    call(codex, "exec_command", cmd="make")
    output(codex, text)
    result = read(codex).records[1]
    assert result.is_error is is_error
    assert "metadata" not in result.text


def test_how_a_command_ended_is_told_as_text(codex: CodexLines, read: Read) -> None:
    """A script's output is a list with the JSON of it: exit code and output are what is read."""
    ended = (
        '{"chunk_id":"6e8cbb","wall_time_seconds":0,"exit_code":1,"output":"no\\nsuch \\"gate\\""}'
    )
    blocks = ["Script completed\nOutput:\n", ended]
    call(codex, "exec_command", cmd="make")
    listed = [{"type": "input_text", "text": text} for text in blocks]
    codex.item("custom_tool_call_output", call_id="c1", output=listed)
    result = read(codex).records[1]
    assert result.is_error
    assert result.text.endswith('Process exited with code 1\nOutput:\nno\nsuch "gate"')


def test_an_event_tells_of_a_failure_that_the_output_hides(codex: CodexLines, read: Read) -> None:
    """exec_command_end gives the exit code without doubling the output."""
    call(codex, "exec_command", cmd="make")
    codex.event("exec_command_end", call_id="c1", exit_code=2, aggregated_output="no")
    output(codex, "no")
    found = read(codex)
    assert found.kinds == ["tool_use", "tool_result"]
    assert found.records[1].is_error


def test_a_spawned_agent_is_named_by_its_calls_result(codex: CodexLines, read: Read) -> None:
    """The result of spawn_agent links to the subagent's rollout."""
    call(codex, "spawn_agent", agent_type="explorer", message="look")
    output(codex, '{"agent_id":"019d7d09-b449-7180-ae04-3b7cfb51b201","nickname":"Harvey"}')
    assert read(codex).records[1].spawned_agent_id == "019d7d09-b449-7180-ae04-3b7cfb51b201"


def test_a_web_search_is_a_call(codex: CodexLines, read: Read) -> None:
    """A search without output is still something the agent did."""
    codex.event("web_search_end", call_id="w", query="bitmap")
    codex.item("web_search_call", status="completed", action={"type": "search", "query": "bitmap"})
    [record] = read(codex).records
    assert (record.tool_name, record.text) == ("web_search", "type: search\nquery: bitmap")


def test_the_turn_says_where_and_with_which_model(codex: CodexLines, read: Read) -> None:
    """Directory, branch, version and model come from the lines around."""
    codex.line("turn_context", cwd="/home/ada/other", model="gpt-5.2-codex")
    codex.prompt("hello")
    [record] = read(codex).records
    assert (record.cwd, record.git_branch) == ("/home/ada/other", "main")
    assert (record.model, record.agent_version) == ("gpt-5.2-codex", "0.128.0")


def test_titles_rollbacks_reviews_and_errors_are_kept(codex: CodexLines, read: Read) -> None:
    """Events without a double that say something are records."""
    codex.event("thread_name_updated", thread_name="Add FAQ")
    codex.event("thread_name_updated", thread_name="Add FAQ")
    codex.event("thread_rolled_back", num_turns=2)
    codex.event("exited_review_mode", review_output={"overall_explanation": "Sound."})
    codex.event("error", message="stream disconnected")
    codex.line("compacted", message="We fixed it.", replacement_history=[{"role": "user"}])
    codex.line("compacted", message="", replacement_history=[])
    found = read(codex)
    assert [(record.kind, record.subtype, record.text) for record in found.records] == [
        ("title", "thread-name", "Add FAQ"),
        ("system", "rollback", "2 turns rolled back"),
        ("summary", "review", "Sound."),
        ("system", "api-error", "stream disconnected"),
        ("summary", "compact-summary", "We fixed it."),
    ]
    assert found.report.dropped["replacement-history"] == 1


def test_reasoning_is_thinking_when_it_has_words(codex: CodexLines, read: Read) -> None:
    """Encrypted reasoning is dropped; a summary is kept once, though an event doubles it."""
    codex.item("reasoning", summary=[], content=None, encrypted_content="gAAAA")
    codex.event("agent_reasoning", text="**Looking**")
    codex.item("reasoning", summary=[{"type": "summary_text", "text": "**Looking**"}])
    [record] = read(codex).records
    assert (record.kind, record.text) == ("thinking", "**Looking**")


def spawned(build: Builders, with_turn_ids: bool) -> CodexLines:
    """A subagent's rollout: its own meta, the parent's, the parent's history, its task."""
    parent, own = "019d7d08-46c9-7f73-affe-4e6ca9852d56", "019d7e36-577c-7d90-9f1c-a447ba2254b4"
    stamps = iter([f"2026-03-01T09:00:00.{number:03d}Z" for number in range(10)])

    class Spawned(CodexLines):
        """Its first lines are of one second."""

        def stamp(self) -> str:
            return next(stamps, "2026-03-01T09:00:05.000Z")

    codex = Spawned(thread=own)
    spawn = {"subagent": {"thread_spawn": {"parent_thread_id": parent}}}
    codex.meta(source=spawn, forked_from_id=parent, timestamp="2026-03-01T09:00:00.000Z")
    codex.meta(id=parent, timestamp="2026-03-01T08:00:00.000Z")
    old = {"turn_id": "019d7d08-5000-7000-8000-000000000000"} if with_turn_ids else {}
    new = {"turn_id": "019d7e36-5800-7000-8000-000000000000"} if with_turn_ids else {}
    codex.event("task_started", **old)
    codex.prompt("the human's words")
    codex.says("the parent's words")
    codex.event("task_started", **new)
    codex.line("turn_context", cwd="/home/ada/engine", **new)
    codex.prompt("review the diff")
    codex.says("sound")
    return codex


@pytest.mark.parametrize("with_turn_ids", [True, False])
def test_history_copied_from_the_parent_is_dropped(
    build: Builders, read: Read, with_turn_ids: bool
) -> None:
    """What a spawned agent inherited is not told again, and nothing in it is human."""
    codex = spawned(build, with_turn_ids)
    found = read(codex, f"rollout-2026-03-01T09-00-00-{codex.thread}.jsonl")
    assert [record.text for record in found.records] == ["review the diff", "sound"]
    assert found.records[0].subtype == "agent-prompt"
    assert {record.is_sidechain for record in found.records} == {True}
    assert {record.session_id for record in found.records} == {
        "019d7d08-46c9-7f73-affe-4e6ca9852d56"
    }
    assert {record.agent_id for record in found.records} == {codex.thread}
    assert found.report.dropped["copied-history"] > 0


def test_a_resumed_thread_repeats_its_meta(codex: CodexLines, read: Read) -> None:
    """A second meta with the same id is a resume: nothing is taken for copied."""
    codex.prompt("one")
    codex.meta()
    codex.prompt("two")
    found = read(codex)
    assert found.said == ["one", "two"]
    assert found.report.dropped["session-meta"] == 2


def test_the_oldest_bare_items_are_read(build: Builders, read: Read) -> None:
    """Before the wrapper existed, lines were the items themselves."""
    codex = build.codex()
    codex.add(id=codex.thread, timestamp="2025-05-01T10:00:00.000Z", instructions=None)
    codex.add(record_type="state")
    codex.add(type="message", role="user", content=[{"type": "input_text", "text": "hello"}])
    codex.add(type="message", role="assistant", content=[{"type": "output_text", "text": "hi"}])
    codex.add(type="function_call", name="shell", call_id="c1", arguments='{"command":["ls"]}')
    codex.add(type="function_call_output", call_id="c1", output="a.py")
    found = read(codex)
    assert found.kinds == ["prompt", "assistant_text", "tool_use", "tool_result"]
    assert not found.report.unknown_types


def test_derived_ids_are_stable_and_distinct(codex: CodexLines, read: Read) -> None:
    """Read twice, also when grown, each record keeps its id; no two share one."""
    codex.prompt("go")
    codex.says("ok")
    call(codex, "exec_command", cmd="ls")
    output(codex, "a.py")
    codex.prompt("go")
    before = [record.record_uuid for record in read(codex).records]
    codex.says("ok")
    after = [record.record_uuid for record in read(codex).records]
    assert after[: len(before)] == before
    assert len(set(after)) == len(after)


def test_every_state_of_a_growing_file_gives_the_same_prompts(
    codex: CodexLines, read: Read
) -> None:
    """Cut after any line, a file gives the first prompts of the whole."""
    codex.user_item("<environment_context>x</environment_context>")
    for text in ("one", "two", "two"):
        codex.prompt(text)
        codex.says("ok")
    whole = read(codex)
    content = codex.bytes().splitlines(keepends=True)
    for count in range(1, len(content) + 1):
        part = read(b"".join(content[:count]))
        assert part.said == whole.said[: len(part.said)]
        ids = [record.record_uuid for record in part.prompts]
        assert ids == [record.record_uuid for record in whole.prompts][: len(ids)]


def test_unknown_lines_are_counted_by_name(codex: CodexLines, read: Read) -> None:
    """New line, item and event types are left out and named."""
    codex.line("telepathy", x=1)
    codex.item("new_item")
    codex.event("new_event")
    codex.item("message", role="oracle", content=[])
    assert read(codex).report.unknown_types == {
        "telepathy": 1,
        "response_item/new_item": 1,
        "event_msg/new_event": 1,
        "response_item/message/role": 1,
    }
