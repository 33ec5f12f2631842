"""What this memory answered is known when it comes back, by its mark, however it was asked for and
wrapped; what only looks so is kept."""

from __future__ import annotations

import json
from typing import Any

import pytest

from memory_assets.chunking.recalled import as_said, is_recalled, without_recalled
from memory_assets.redacted_text import FRAME_CLOSING, FRAME_OPENING, seal
from memory_assets.serving.visible_text import Frame
from memory_assets_tests.redacted_sessions import redacted
from memory_assets_tests.sweep import sweep

NONCE = "0123456789abcdef"
FRAMED = f"{FRAME_OPENING} {NONCE}> data\nLanterns are lit at dusk.\n{FRAME_CLOSING} {NONCE}>"
WITHOUT_NUMBER = f"{FRAME_OPENING}> data\nLanterns are lit at dusk.\n{FRAME_CLOSING}>"


WAYS = (
    "source .venv/bin/activate && memory search x",
    "export A=b; memory search x",
    "for q in a b; do memory search $q; done",
    "(memory search x)",
    "timeout 20 memory search x",
    "sudo -u me memory show y",
    "time memory search x | tail -3",
    "env A=b memory timeline x",
    "cd a && cd b && memory search x",
    "echo x | xargs -n 1 memory search",
    "uvx memory search x",
    "memory cross-query x --collection y",
    "bash -lc 'memory search x'",
    "\n/opt/x/.venv/bin/memory search x",
    "if memory status; then make; fi",
)
"""Ways to ask of which 18 in 22 were not recognised, where even the mark may be cut off."""
OTHERS = (
    "grep -rn 'memory search' docs",
    "git commit -m 'Let memory search take words'",
    "make memory show",
    "cat notes/memory search.txt",
    "free; echo in-memory search",
)


class _Record:
    """The fields that decide."""

    def __init__(self, text: str = "done", **given: Any) -> None:
        self.kind = given.get("kind", "tool_result")
        self.text = seal(text)
        self.tool_name = seal(given.get("tool_name", "Bash"))
        self.command = seal(given.get("command", ""))


@sweep(
    "record",
    [
        _Record(FRAMED),
        _Record(WITHOUT_NUMBER),
        _Record('{"frame":"' + FRAMED + '"}', tool_name="mcp__anything__recall"),
        _Record(tool_name="mcp__memory__recall"),
        _Record(tool_name="mcp__memory-assets__get"),
        _Record(tool_name="mcp__plugin_memory_memory__ask"),
        _Record(tool_name="memory_assets__timeline"),
        *(_Record("2. so it was", command=command) for command in WAYS),
        _Record(command="memory search 'why did it fail'"),
        _Record(command=".venv/bin/memory show session::x::turn::1 --json"),
        _Record(command="cd ~/app && MEMORY_DATA_DIR=/d uv run memory timeline 2d | head"),
    ],
)
def test_our_own_answers_are_known(record: Any) -> None:
    """By the frame, by the tool's name, by the command."""
    assert is_recalled(record)


@sweep(
    "record",
    [
        _Record("a file that mentions the frame\n" * 40 + FRAMED),
        _Record(FRAMED, kind="assistant_text"),
        _Record(tool_name="mcp__memory__create_entities"),
        _Record(tool_name="mcp__github__get"),
        *(_Record(command=command) for command in OTHERS),
        _Record(command="memory ingest"),
        _Record(command="free -m; cat memory show"),
    ],
)
def test_other_peoples_work_is_not_taken_for_ours(record: Any) -> None:
    """Other tools, other commands, and texts that merely mention us."""
    assert not is_recalled(record)


def test_frames_are_cut_out_of_what_somebody_says() -> None:
    """What stands around them stays; a lone frame, or one that never ends, stays too."""
    assert without_recalled(seal(f"Look:\n{FRAMED}\nSo it was.")) == "Look:\nSo it was."
    assert without_recalled(seal(FRAMED)) == FRAMED
    assert without_recalled(seal(f"Look:\n{WITHOUT_NUMBER}\nSo it was.")) == "Look:\nSo it was."
    cut_off = f"Look: {FRAME_OPENING}> data without an end"
    assert without_recalled(seal(cut_off)) == cut_off


ANSWER = Frame().lines(["1. zanzibarquartz was the culprit", "2. so it was"])
PRETTY = json.dumps(Frame().payload({"hits": [{"text": "zanzibarquartz"}]}), indent=2)


@pytest.mark.parametrize("answer", [ANSWER, PRETTY, ANSWER.split("\n2.")[0]], ids=range(3))
@pytest.mark.parametrize("command", ["./ask.sh", "python -c 'import m'", "curl -s localhost:1/x"])
def test_a_marked_answer_is_recognised_whoever_printed_it(answer: str, command: str) -> None:
    """In lines, in JSON, and without its end."""
    assert is_recalled(redacted("tool", "tool_result", answer, command=seal(command)))


def test_answers_are_cut_out_of_longer_output() -> None:
    """What a script printed before, between and after them stays."""
    build = "compiling\n" * 100
    text = f"{build}{ANSWER}\nlinking\n{PRETTY}\ndone"
    (kept,) = as_said([redacted("tool", "tool_result", text, command=seal("make"))])
    assert "zanzibarquartz" not in kept.text
    assert all(word in kept.text for word in ("compiling", "linking", "done"))
