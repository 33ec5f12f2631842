"""Own answers are recognised by their mark, however they were asked for and wrapped."""

from __future__ import annotations

import json

import pytest

from memory_assets.chunking.recalled import as_said, asks_memory, is_recalled
from memory_assets.redacted_text import seal
from memory_assets.serving.visible_text import Frame
from memory_assets_tests.redacted_sessions import redacted

ANSWER = Frame().lines(["1. zanzibarquartz was the culprit", "2. so it was"])
PRETTY = json.dumps(Frame().payload({"hits": [{"text": "zanzibarquartz"}]}), indent=2)
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


@pytest.mark.parametrize("command", WAYS)
def test_a_command_that_runs_memory_anywhere_is_recognised(command: str) -> None:
    """Also where its output is cut before or after the mark."""
    assert asks_memory(redacted("tool", "tool_result", "2. so it was", command=seal(command)))


@pytest.mark.parametrize("command", OTHERS)
def test_a_command_that_only_says_so_is_not(command: str) -> None:
    """Its output is somebody's work."""
    assert not asks_memory(redacted("tool", "tool_result", "a line", command=seal(command)))


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
