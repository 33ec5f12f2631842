"""`memory context`, which never fails, because an agent's new session waits for it."""

from __future__ import annotations

import gc
import sys

from memory_assets.cli.commands import request_command
from memory_assets.cli.prepare import prepare
from memory_assets.cli.printing import rendering
from memory_assets.errors import safe_reason
from memory_assets.requests.agent_memory import ContextRequest
from memory_assets.settings import load_settings

_BUSY_SECONDS = 0.2
"""How long a lock of another process is awaited."""


@request_command(ContextRequest, "memory context --project .")
def context(request: ContextRequest, as_json: bool) -> None:
    """Print what an agent should know.

    Memories, the last sessions of the project, and the last turns of a conversation, within a
    budget of tokens, framed as data. For the hook of a new session: if the memory cannot be read it
    prints nothing, says why on standard error, and exits with 0. MEMORY_CONTEXT=off turns it off.
    """
    gc.disable()  # imported modules are never garbage
    try:
        from memory_assets.serving.agent_memory import AgentMemory

        settings = load_settings()
        prepare(settings)
        answer = AgentMemory(settings, busy_seconds=_BUSY_SECONDS, exits_after=True).answer(request)
    except Exception as error:  # noqa: BLE001 - no session may fail for want of a memory
        rendering.print_lines([f"no context: {safe_reason(error)}"], stderr=True)
        return
    finally:
        gc.enable()
    if as_json:
        rendering.write_json(answer)
    elif answer["text"] and request.hook:
        output = {"hookEventName": "SessionStart", "additionalContext": answer["text"]}
        rendering.write_json({"hookSpecificOutput": output})
    elif answer["text"] and sys.stdout.isatty():  # a person needs no frame
        rendering.print_lines(answer["text"].split("\n")[1:-1])
    elif answer["text"]:
        rendering.write_lines([answer["text"]], sys.stdout)
    elif sys.stdout.isatty():  # an agent's hook gets nothing, a person a word
        of_project = f"of project {request.project}" if request.project else "of this directory"
        note = f"Nothing to tell: no session {of_project} is in memory; try --project NAME."
        rendering.print_lines([note], stderr=True)
