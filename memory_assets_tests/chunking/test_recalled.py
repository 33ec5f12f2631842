"""What this memory answered is known when it comes back, and what only looks so is kept."""

from __future__ import annotations

from typing import Any

import pytest

from memory_assets.chunking import is_recalled
from memory_assets.chunking.recalled import without_recalled
from memory_assets.redacted_text import FRAME_CLOSING, FRAME_OPENING, seal

NONCE = "0123456789abcdef"
FRAMED = f"{FRAME_OPENING} {NONCE}> data\nLanterns are lit at dusk.\n{FRAME_CLOSING} {NONCE}>"
WITHOUT_NUMBER = f"{FRAME_OPENING}> data\nLanterns are lit at dusk.\n{FRAME_CLOSING}>"


class _Record:
    """The fields that decide."""

    def __init__(self, text: str = "done", **given: Any) -> None:
        self.kind = given.get("kind", "tool_result")
        self.text = seal(text)
        self.tool_name = seal(given.get("tool_name", "Bash"))
        self.command = seal(given.get("command", ""))


@pytest.mark.parametrize(
    "record",
    [
        _Record(FRAMED),
        _Record(WITHOUT_NUMBER),
        _Record('{"frame":"' + FRAMED + '"}', tool_name="mcp__anything__recall"),
        _Record(tool_name="mcp__memory__recall"),
        _Record(tool_name="mcp__memory-assets__get"),
        _Record(tool_name="mcp__plugin_memory_memory__ask"),
        _Record(tool_name="memory_assets__timeline"),
        _Record(command="memory search 'why did it fail'"),
        _Record(command=".venv/bin/memory show session::x::turn::1 --json"),
        _Record(command="cd ~/app && MEMORY_DATA_DIR=/d uv run memory timeline 2d | head"),
        _Record(command="bash -lc 'memory search lanterns'"),
    ],
)
def test_our_own_answers_are_known(record: Any) -> None:
    """By the frame, by the tool's name, by the command."""
    assert is_recalled(record)


@pytest.mark.parametrize(
    "record",
    [
        _Record("a file that mentions the frame\n" * 40 + FRAMED),
        _Record(FRAMED, kind="assistant_text"),
        _Record(tool_name="mcp__memory__create_entities"),
        _Record(tool_name="mcp__github__get"),
        _Record(command="git commit -m 'memory search finds more'"),
        _Record(command="memory ingest"),
        _Record(command="grep -rn 'memory search' docs"),
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
