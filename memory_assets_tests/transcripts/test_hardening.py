"""Nothing that a file can hold stops a reader or upsets its accounts."""

from __future__ import annotations

import copy
import json
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from memory_assets.transcripts import READERS, ReadReport, Source, read_session
from memory_assets.transcripts.lines import read_objects
from memory_assets.transcripts.reader import Reader
from memory_assets_tests.transcript_files import source_of
from memory_assets_tests.transcripts.conftest import Builders, Write
from memory_assets_tests.transcripts.other_agents import LINES

FUZZ = settings(
    max_examples=25,
    deadline=None,
    derandomize=True,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture],
)

FILE = "rollout-s.jsonl"


def reads_lines(reader: Reader) -> bool:
    """Return whether a file of lines is read as it is. Stores that are rendered are damaged as such
    in `test_agent_stores_fuzzed`."""
    return not reader.renders(Source(reader.agent, "p", "s", None, Path(FILE), 0, 0))


LINE_READERS = [reader for reader in READERS if reads_lines(reader)]
readers = pytest.mark.parametrize("reader", LINE_READERS, ids=lambda reader: reader.agent)


def claude_specimens(lines: Any) -> None:
    """Write a record of every shape that the Claude Code reader has a rule for."""
    lines.user("start")
    lines.user([{"type": "text", "text": "see"}, {"type": "image", "source": {}}])
    lines.user("<command-name>/goal</command-name><command-args>be green</command-args>")
    blocks = [{"type": "thinking", "thinking": "hm"}, {"type": "text", "text": "so"}]
    lines.assistant(*blocks, {"type": "web_search_tool_result", "tool_use_id": "w", "content": []})
    lines.calls("Edit", "t1", file_path="a.py", edits=[{"old": "x"}], command="make")
    lines.queue("enqueue", "hurry")
    lines.queue("remove")
    lines.result("t1", [{"type": "text", "text": "ok"}], toolUseResult={"agentId": "a1"})
    lines.queue("enqueue", "and then")
    lines.queue("dequeue")
    lines.queue("popAll", "x")
    lines.attachment("queued_command", prompt="now", commandMode="prompt", origin={"kind": "human"})
    lines.attachment("file", filename="a.py", content={"file": {}})
    lines.attachment("plan_file_reference", planContent="# Plan", planFilePath="p.md")
    lines.system("away_summary", content="You did it.")
    lines.system("local_command", content="<command-name>/x</command-name>")
    lines.add(type="summary", summary="Title", leafUuid="leaf")
    lines.add(type="ai-title", aiTitle="Title", sessionId="s")
    lines.add(type="pr-link", prUrl="https://example.org/1", sessionId="s")
    lines.user("forked", forkedFrom={"sessionId": "f"})


def codex_specimens(lines: Any) -> None:
    """Write a line of every shape that the Codex reader has a rule for."""
    spawn = {"subagent": {"thread_spawn": {"parent_thread_id": "p"}}}
    lines.meta(source=spawn, forked_from_id="p")
    lines.meta(id="p")
    lines.event("task_started", turn_id="019d7e37-0000-7000-8000-000000000000")
    lines.line("turn_context", cwd="/x", model="m")
    lines.prompt("start")
    lines.says("so")
    lines.item("reasoning", summary=[{"type": "summary_text", "text": "hm"}], content=[])
    arguments = json.dumps({"command": ["bash", "-lc", "x"], "path": "a.py"})
    lines.item("function_call", name="shell", call_id="c1", arguments=arguments)
    lines.event("exec_command_end", call_id="c1", exit_code=1)
    output = json.dumps({"output": "no", "metadata": {"exit_code": 1}})
    lines.item("function_call_output", call_id="c1", output=output)
    lines.item("function_call", name="spawn_agent", call_id="c2", arguments="{}")
    lines.item("function_call_output", call_id="c2", output='{"agent_id":"a"}')
    lines.item("custom_tool_call", name="apply_patch", call_id="c3", input="*** Add File: a\n+x")
    lines.item("custom_tool_call_output", call_id="c3", output=[{"text": "ok"}])
    lines.item("local_shell_call", call_id="c4", action={"command": ["ls"]})
    lines.item("web_search_call", action={"query": "q"})
    lines.item("agent_message", content=[{"type": "input_text", "text": "task"}])
    lines.event("agent_reasoning", text="hm")
    lines.event("item_completed", item={"type": "UserMessage", "content": [{"text": "x"}]})
    lines.event("thread_name_updated", thread_name="Title")
    lines.event("thread_rolled_back", num_turns=1)
    lines.event("exited_review_mode", review_output={"overall_explanation": "Sound."})
    lines.line("compacted", message="So far")
    lines.add(type="message", role="user", content=[{"type": "input_text", "text": "bare"}])


def pi_specimens(lines: Any) -> None:
    """Write an entry of every shape that the Pi reader has a rule for."""
    lines.header(parentSession="/x/2026_abc.jsonl")
    lines.prompt("start")
    call = {"type": "toolCall", "id": "t|x", "name": "bash", "arguments": {"command": "x"}}
    blocks = [{"type": "thinking", "thinking": "hm"}, {"type": "text", "text": "so"}, call]
    lines.message("assistant", blocks, model="m", errorMessage="no", stopReason="error")
    lines.message("toolResult", [{"type": "text", "text": "x"}], toolCallId="t", isError=True)
    lines.message("bashExecution", command="ls", output="a", exitCode=1)
    lines.message("compactionSummary", summary="So far")
    lines.entry("compaction", summary="So far")
    lines.entry("branch_summary", summary="Astray")
    lines.entry("custom_message", content="x")
    lines.entry("session_info", name="Title")


def goose_specimens() -> list[dict[str, Any]]:
    """Return a line of every shape that the Goose reader has a rule for in a file."""
    call = {"status": "success", "value": {"name": "shell", "arguments": {"command": "make"}}}
    done = {"status": "success", "value": {"content": [{"type": "text", "text": "ok"}]}}
    said: list[dict[str, Any]] = [
        {"type": "thinking", "thinking": "hm", "signature": "x"},
        {"type": "redactedThinking", "data": "x"},
        {"type": "text", "text": "so"},
        {"type": "toolRequest", "id": "t1", "toolCall": call},
        {"type": "frontendToolRequest", "id": "t2", "toolCall": call},
        {"type": "toolConfirmationRequest", "id": "t1", "toolName": "shell"},
        {"type": "systemNotification", "msg": "Compacted."},
    ]
    answers: list[dict[str, Any]] = [
        {"type": "toolResponse", "id": "t1", "toolResult": done},
        {"type": "toolResponse", "id": "t2", "toolResult": {"status": "error", "error": "no"}},
    ]
    typed: list[dict[str, Any]] = [{"type": "text", "text": "start"}, {"type": "image", "data": ""}]
    hidden = {"userVisible": False}
    at = 1_780_300_800
    return [
        {"working_dir": "/x", "description": "Title", "message_count": 4},
        {"id": "m1", "role": "user", "created": at, "content": typed},
        {"id": "m2", "role": "assistant", "created": at + 1, "content": said},
        {"id": "m3", "role": "user", "created": at + 2, "content": answers},
        {"role": "user", "created": at + 3, "content": typed, "metadata": hidden},
    ]


def specimens(agent: str, build: Any) -> list[dict[str, Any]]:
    """Return the specimens of one agent as parsed objects."""
    if agent in LINES:
        return LINES[agent]()
    if agent == "goose":
        return goose_specimens()
    name, fill = {
        "claude-code": ("claude", claude_specimens),
        "codex": ("codex", codex_specimens),
        "pi": ("pi", pi_specimens),
    }[agent]
    lines = getattr(build, name)()
    fill(lines)
    return [json.loads(line) for line in lines.lines]


def places(value: Any) -> Iterator[tuple[Any, Any]]:
    """Yield (container, key) of everything inside `value`."""
    items = value.items() if isinstance(value, dict) else enumerate(value)
    for key, item in list(items):
        yield value, key
        if isinstance(item, dict | list):
            yield from places(item)


def check(reader: Any, content: bytes, agent_id: str | None) -> ReadReport:
    """Read `content` with `reader` and check accounts, numbering and texts."""
    with TemporaryDirectory() as folder:
        path = Path(folder, FILE)
        path.write_bytes(content)
        report = ReadReport()
        source = Source(reader.agent, "p", "s", agent_id, path, len(content), 0)
        records = list(reader.read(source, report))
        reader.identify(path, content)
        assert len(list(reader.discover(Path(folder), lambda *_: None))) <= 1
    assert report.records == report.kept + report.dropped.total()
    assert report.bytes_read == len(content)
    assert [record.seq for record in records] == list(range(report.blocks))
    assert report.prompts == sum(record.kind == "prompt" for record in records)
    for record in records:
        assert 0 <= record.byte_start < record.byte_end <= len(content)
        for text in (record.text, record.tool_name, record.command, record.cwd, *record.paths):
            assert "\0" not in text
            text.encode()
        assert agent_id is None or (record.is_sidechain and record.kind != "prompt")
    return report


def lines_of(records: list[Any]) -> bytes:
    """Return objects as JSONL."""
    return b"".join(json.dumps(record).encode() + b"\n" for record in records)


@readers
def test_the_specimens_are_all_known(reader: Reader, build: Builders) -> None:
    """The records that the fuzzing starts from are whole and understood."""
    report = check(reader, lines_of(specimens(reader.agent, build)), None)
    assert report.unknown_types == {}
    assert report.bad_line_count == 0


WRONG: tuple[Any, ...] = (None, True, -1, 1e300, "x", [], {}, [[]], [{"type": []}], {"type": {}})


@readers
def test_no_single_wrong_value_stops_a_reader(reader: Reader, build: Builders) -> None:
    """Each value of each specimen, replaced in turn by one of every JSON type."""
    original = specimens(reader.agent, build)
    for index in range(len(list(places(original)))):
        variants: list[Any] = []
        for wrong in WRONG:
            records = copy.deepcopy(original)
            container, key = list(places(records))[index]
            container[key] = wrong
            top = (
                next(i for i, record in enumerate(records) if record != original[i])
                if (records != original)
                else 0
            )
            variants.append(records[top])
        check(reader, lines_of(variants), "a1" if index % 2 else None)


@readers
@FUZZ
@given(
    damage=st.lists(
        st.tuples(st.floats(0, 1), st.binary(max_size=6), st.integers(0, 300)), max_size=6
    )
)
def test_damaged_files_are_read_or_counted(reader: Reader, build: Builders, damage: Any) -> None:
    """A file with bytes cut out and others put in, anywhere."""
    content = lines_of(specimens(reader.agent, build))
    for place, put, cut in damage:
        at = int(place * len(content))
        content = content[:at] + put + content[at + cut :]
    check(reader, content, None)


@FUZZ
@given(blocks=st.lists(st.sampled_from((b"\n", b'{"id": 1}', b"[]")) | st.binary(max_size=30)))
def test_lines_account_for_every_line(tmp_path: Path, blocks: list[bytes]) -> None:
    """Whatever the bytes, the number of lines is that of the newlines."""
    content = b"".join(blocks)
    path = tmp_path / "s.jsonl"
    path.write_bytes(content)
    report = ReadReport()
    found = list(read_objects(path, report))
    unfinished = not content.endswith(b"\n") and content != b"" and not report.pending_bytes
    assert report.lines == content.count(b"\n") + unfinished
    assert report.records == len(found)


def test_many_distinct_types_do_not_grow_the_report(write: Write) -> None:
    """A hostile file cannot fill memory through the report's counters."""
    names = ("".join(chr(97 + int(digit)) for digit in str(number)) for number in range(3_000))
    lines = [{"type": f"t{name}", "sessionId": name, "version": name} for name in names]
    report = ReadReport()
    path = write(lines_of(lines))
    assert list(read_session(path, source=source_of(path), report=report)) == []
    assert len(report.unknown_types) <= 501
    assert len(report.own_session_ids) <= 501
    assert len(report.agent_versions) <= 500
    assert report.unknown_types.total() == 3_000
