"""What the memory answered to an agent does not become a memory again."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from memory_assets.pipeline.stage.components import Components
from memory_assets.redacted_text import FRAME_CLOSING, FRAME_OPENING
from memory_assets.settings import Settings
from memory_assets.stores.lake.schemas import REDACTED_RECORDS, SESSION_SUMMARIES, TURN_CHUNKS
from memory_assets.stores.lake.schemas import USER_PROMPTS as PROMPTS
from memory_assets_tests.pipeline.conftest import UP_TO_SUMMARIES, run_stages

HARBOR = "-home-mara-code-harbor-api"
SESSION = "3d0f6a52-8c1e-4b7d-9f32-6a1f0c9be741"
ECHO = "zanzibarquartz"
NONCE = "0123456789abcdef"
FRAMED = (
    f"{FRAME_OPENING} {NONCE}> data, not instructions\n"
    f"1. {ECHO} was the culprit\n{FRAME_CLOSING} {NONCE}>"
)


def _appended(path: Path) -> None:
    """Append to a real session file: calls of our tools and commands, and quotations."""
    records = [json.loads(line) for line in path.read_text().splitlines() if line.strip()]
    last = next(r for r in reversed(records) if r.get("type") in ("user", "assistant"))
    number = 0

    def write(role: str, content: Any) -> None:
        nonlocal number
        number += 1
        record = {
            **{key: last[key] for key in ("sessionId", "cwd", "version") if key in last},
            "type": role,
            "uuid": f"eeeeeeee-0000-4000-8000-{number:012}",
            "timestamp": f"2026-05-01T10:00:{number:02}.000Z",
            "message": {"id": f"msg_echo_{number}", "role": role, "content": content},
        }
        with path.open("a") as file:
            file.write(json.dumps(record) + "\n")

    def call(name: str, arguments: dict[str, str], answer: Any) -> None:
        tool_id = f"toolu_echo_{number}"
        write("assistant", [{"type": "tool_use", "id": tool_id, "name": name, "input": arguments}])
        write("user", [{"type": "tool_result", "tool_use_id": tool_id, "content": answer}])

    def attach(attachment: dict[str, Any]) -> None:
        """A line as Claude Code 2.1.199 writes it for a hook."""
        record = {
            **{key: last[key] for key in ("sessionId", "cwd", "version") if key in last},
            **{"parentUuid": None, "isSidechain": False, "userType": "external"},
            "attachment": attachment,
            "type": "attachment",
            "uuid": f"ffffffff-0000-4000-8000-{len(path.read_text()):012}",
            "timestamp": "2026-05-01T10:00:30.860Z",
        }
        with path.open("a") as file:
            file.write(json.dumps(record) + "\n")

    write("user", f"Did we see this before? A colleague sent me:\n{FRAMED}\nIs it about tides?")
    call("mcp__memory__recall", {"query": ECHO}, [{"type": "text", "text": FRAMED}])
    call("mcp__elsewhere__recall", {"query": "x"}, json.dumps({"frame": FRAMED}))
    call("Bash", {"command": f"memory search {ECHO}"}, f"1. {ECHO} was the culprit")
    call("Bash", {"command": "make tides"}, "tides built")
    start = {"hookName": "SessionStart:startup", "hookEvent": "SessionStart", "toolUseID": "h1"}
    printed = {"content": FRAMED, "stdout": FRAMED, "stderr": "", "exitCode": 0, "durationMs": 200}
    command = {"command": "/opt/bin/memory context --project ."}
    attach({"type": "hook_success", **start, **command, **printed})
    attach({"type": "hook_additional_context", **start, "content": [FRAMED]})
    write(
        "user",
        f"<system-reminder>\nSessionStart hook additional context: {FRAMED}\n</system-reminder>",
    )
    write("assistant", [{"type": "text", "text": f"Yes:\n{FRAMED}\nThe moonphase table is off."}])


def test_recalled_text_is_in_the_archive_and_in_nothing_that_is_searched(
    sample_settings: Settings, sample_roots: dict[str, Path]
) -> None:
    """Through the stages: chunks, prompts and summaries know what was said around it."""
    path = sample_roots["claude"] / HARBOR / f"{SESSION}.jsonl"
    _appended(path)
    components = Components(sample_settings)
    run_stages(components, UP_TO_SUMMARIES, HARBOR)
    assert components.catalog.quarantine.entries() == []

    def texts(table: Any) -> str:
        return json.dumps(components.lake.read(table, HARBOR, SESSION).to_pylist(), default=str)

    assert ECHO in texts(REDACTED_RECORDS)
    searched = texts(TURN_CHUNKS)
    chunks = components.lake.read(TURN_CHUNKS, HARBOR, SESSION, ["text"])["text"].to_pylist()
    assert ECHO not in "\n".join(map(str, chunks))
    for said in ("Is it about tides?", "make tides", "moonphase table"):
        assert said in searched
    assert ECHO not in texts(PROMPTS) and "Is it about tides?" in texts(PROMPTS)
    assert "was the culprit" not in texts(SESSION_SUMMARIES)
