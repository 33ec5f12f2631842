"""`memory context`, which an agent's session waits for, and which never fails."""

from __future__ import annotations

import gc
import sys

from memory_assets.cli.commands import takes
from memory_assets.cli.prepare import prepare
from memory_assets.cli.printing import rendering
from memory_assets.errors import safe_reason
from memory_assets.requests.agent_memory import ContextRequest
from memory_assets.settings import load_settings

_BUSY_SECONDS = 0.2
"""How long a lock of another process is awaited."""


@takes(ContextRequest, "memory context --project .")
def context(asked: ContextRequest, as_json: bool) -> None:
    """Print what an agent should know.

    Memories, the last sessions of the project, and the last turns of a conversation, within a
    budget of tokens, framed as data. For the hook of a new session: if the memory cannot be read it
    prints nothing, says why on standard error, and exits with 0. MEMORY_CONTEXT=off turns it off.
    """
    gc.disable()  # what is imported stays
    try:
        from memory_assets.serving.agent_memory import AgentMemory

        settings = load_settings()
        prepare(settings)
        told = AgentMemory(settings, busy_seconds=_BUSY_SECONDS, ends=True).answer(asked)
    except Exception as error:  # noqa: BLE001 - no session may fail for want of a memory
        rendering.print_lines([f"no context: {safe_reason(error)}"], stderr=True)
        return
    finally:
        gc.enable()
    if as_json:
        rendering.write_json(told)
    elif told["text"] and asked.hook:
        said = {"hookEventName": "SessionStart", "additionalContext": told["text"]}
        rendering.write_json({"hookSpecificOutput": said})
    elif told["text"] and sys.stdout.isatty():  # a person needs no frame
        layout = rendering.layout_of_output(colours=True)
        lines = told["text"].split("\n")[1:-1]
        rendering.write_lines((part for line in lines for part in layout.wrapped(line)), sys.stdout)
    elif told["text"]:
        rendering.write_lines([told["text"]], sys.stdout)
    elif sys.stdout.isatty():  # an agent's hook gets nothing, a person a word
        nothing = "Nothing to tell: no session of this directory is in memory; try --project NAME."
        rendering.print_lines([nothing], stderr=True)
