"""What `memory context` prints, and that it never fails; without the command line's parser, because
an agent's session waits for it."""

from __future__ import annotations

import sys
from collections.abc import Callable

from memory_assets.cli.printing import rendering
from memory_assets.errors import safe_reason
from memory_assets.requests.agent_memory import ContextRequest
from memory_assets.settings import Settings, load_settings

_BUSY_SECONDS = 0.2
"""How long a lock of another process is awaited."""


def print_context(
    asked: ContextRequest,
    *,
    as_json: bool,
    prepare: Callable[[Settings], object] = lambda settings: None,
) -> None:
    """Print a context, after `prepare` has been called. If the memory or its settings cannot be
    read, print nothing, and why on standard error."""
    from memory_assets.serving.agent_memory import AgentMemory

    try:
        settings = load_settings()
        prepare(settings)
        context = AgentMemory(settings, busy_seconds=_BUSY_SECONDS, ends=True).answer(asked)
    except Exception as error:  # noqa: BLE001 - no session may fail for want of a memory
        rendering.print_lines([f"no context: {safe_reason(error)}"], stderr=True)
        return
    if as_json:
        rendering.write_json(context)
    elif context["text"] and asked.hook:
        said = {"hookEventName": "SessionStart", "additionalContext": context["text"]}
        rendering.write_json({"hookSpecificOutput": said})
    elif context["text"] and sys.stdout.isatty():  # a person needs no frame
        from memory_assets.cli.printing.rendering import layout_of_output

        layout = layout_of_output(colours=True)
        told = context["text"].split("\n")[1:-1]
        rendering.write_lines((part for line in told for part in layout.wrapped(line)), sys.stdout)
    elif context["text"]:
        rendering.write_lines([context["text"]], sys.stdout)
    elif sys.stdout.isatty():  # an agent's hook gets nothing, a person a word
        nothing = "Nothing to tell: no session of this directory is in memory; try --project NAME."
        rendering.print_lines([nothing], stderr=True)
