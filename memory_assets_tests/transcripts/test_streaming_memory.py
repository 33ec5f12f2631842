"""Reading holds one line at a time, whatever the size of the file."""

from __future__ import annotations

import json
import tracemalloc
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from memory_assets.transcripts import ReadReport, read_session
from memory_assets_tests.transcripts.conftest import ClaudeLines, CodexLines, PiLines

MEGABYTE = 1 << 20


def fill(path: Path, lines: list[bytes], size: int) -> None:
    """Write copies of `lines`, with fresh ids, until the file has `size` bytes."""
    written = number = 0
    with path.open("wb") as file:
        while written < size:
            for line in lines:
                number += 1
                written += file.write(line.replace(b"@@@@@@@@", b"%08d" % number) + b"\n")


def peak_of_reading(path: Path) -> tuple[int, ReadReport]:
    """Return the most bytes that were allocated at once while reading, and the report."""
    report = ReadReport()
    tracemalloc.start()
    for _ in read_session(path, report=report):
        pass
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    return peak, report


def claude_lines(claude: ClaudeLines) -> list[bytes]:
    """Return lines of a Claude Code session that can be repeated."""
    claude.user("run it")
    claude.calls("Bash", "toolu_@@@@@@@@", command="make")
    claude.result("toolu_@@@@@@@@", "x" * 4_000)
    claude.says("done")
    for number, line in enumerate(claude.lines):
        record = json.loads(line) | {"uuid": f"@@@@@@@@-{number}"}
        claude.lines[number] = json.dumps(record, separators=(",", ":")).encode()
    return claude.lines


def codex_lines(codex: CodexLines) -> list[bytes]:
    """Return lines of a Codex rollout that can be repeated."""
    codex.lines[0] = codex.lines[0].replace(b'"originator"', b'"spare":"@@@@@@@@","originator"')
    codex.prompt("run it @@@@@@@@")
    codex.item("function_call", name="shell", call_id="call_@@@@@@@@", arguments="{}")
    codex.item("function_call_output", call_id="call_@@@@@@@@", output="x" * 4_000)
    codex.says("done @@@@@@@@")
    return codex.lines


def pi_lines(pi: PiLines) -> list[bytes]:
    """Return lines of a Pi session that can be repeated."""
    pi.prompt("run it")
    call = {"type": "toolCall", "id": "t@@@@@@@@", "name": "bash", "arguments": {"command": "x"}}
    pi.message("assistant", [call])
    pi.message("toolResult", [{"type": "text", "text": "x" * 4_000}], toolCallId="t@@@@@@@@")
    for number, line in enumerate(pi.lines):
        entry = json.loads(line)
        own = {} if entry["type"] == "session" else {"id": f"{number}@@@@@@@@"}
        pi.lines[number] = json.dumps(entry | own, separators=(",", ":")).encode()
    return pi.lines


@pytest.mark.parametrize(
    ("builder", "lines_of", "size"),
    [
        ("claude", claude_lines, 24),
        pytest.param("codex", codex_lines, 12, marks=pytest.mark.long),
        pytest.param("pi", pi_lines, 12, marks=pytest.mark.long),
    ],
)
def test_memory_does_not_follow_the_size_of_the_file(
    request: pytest.FixtureRequest,
    tmp_path: Path,
    builder: str,
    lines_of: Callable[[Any], list[bytes]],
    size: int,
) -> None:
    """Of 12 and 24 MB, a few are held: blocks of one megabyte, and a mark for each record."""
    path = tmp_path / "long.jsonl"
    fill(path, lines_of(request.getfixturevalue(builder)), size * MEGABYTE)
    peak, report = peak_of_reading(path)
    assert report.conserved
    assert report.bytes_read >= size * MEGABYTE
    assert report.kept > 300 * size
    assert peak < 8 * MEGABYTE


def test_a_line_over_the_cap_is_never_held(tmp_path: Path) -> None:
    """A line of 150 MB is passed over in blocks, and what follows it is read."""
    path = tmp_path / "wide.jsonl"
    good = b'{"type":"user","uuid":"1","sessionId":"s","message":{"content":"hello"}}\n'
    with path.open("wb") as file:
        file.write(good)
        file.write(b'{"type":"user","x":"')
        for _ in range(150):
            file.write(b"x" * MEGABYTE)
        file.write(b'"}\n' + good.replace(b'"1"', b'"2"'))
    peak, report = peak_of_reading(path)
    assert report.prompts == 2
    assert [bad.line_number for bad in report.bad_lines] == [2]
    assert peak < 72 * MEGABYTE
