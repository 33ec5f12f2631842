"""What `memory context` prints, and that it never fails; without the command line's parser, because
an agent's session waits for it."""

from __future__ import annotations

import sys

from memory_assets.cli import rendering
from memory_assets.errors import safe_reason
from memory_assets.requests.agent_memory import ContextRequest
from memory_assets.settings import load_settings

_BUSY_SECONDS = 0.2
"""How long a lock of another process is awaited."""


def print_context(asked: ContextRequest, *, as_json: bool) -> None:
    """Print a context. If the memory cannot be read, print nothing, and why on standard error."""
    from memory_assets.serving.agent_memory import AgentMemory

    try:
        made = AgentMemory(load_settings(), busy_seconds=_BUSY_SECONDS).answer(asked)
    except Exception as error:  # noqa: BLE001 - no session may fail for want of a memory
        rendering.print_lines([f"no context: {safe_reason(error)}"], stderr=True)
        return
    if as_json:
        rendering.write_json(made)
    elif made["text"]:
        rendering.write_lines([made["text"]], sys.stdout)
