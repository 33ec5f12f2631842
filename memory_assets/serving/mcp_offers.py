"""What the MCP server offers beside its tools: prompts that a person picks as slash commands, and
the sessions as resources, which a person adds to a conversation."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING

import mcp_types as types
from mcp.shared.exceptions import MCPError

from memory_assets.errors import MemoryAssetsError, NotFound, unexpected
from memory_assets.paths import PLUGIN_DIR
from memory_assets.requests.questions import SessionRequest, SessionsRequest
from memory_assets.serving.answer_lines import clock, project_name
from memory_assets.serving.visible_text import snippet, visible

if TYPE_CHECKING:
    from memory_assets.serving.opened import OpenedMemory

_SCHEME = "memory://session/"
_LISTED = 50
_TITLE = 100

TEMPLATES = types.ListResourceTemplatesResult(
    resource_templates=[
        types.ResourceTemplate(
            name="session",
            title="Session",
            uri_template=f"{_SCHEME}{{id}}",
            description="What was asked and done in a session, by its id or the beginning of it.",
            mime_type="text/plain",
        )
    ]
)


@dataclass(frozen=True)
class _Prompt:
    """A prompt: the text of a slash command of the plugin, in which `$ARGUMENTS` stands for the
    argument; one whose hint is in brackets can be left out."""

    description: str
    argument: str
    required: bool
    text: str


@cache
def _prompts() -> dict[str, _Prompt]:
    """Return the prompts by name: the plugin's slash commands."""
    by_name = {}
    for path in sorted((PLUGIN_DIR / "commands").glob("*.md")):
        _, head, text = path.read_text("utf-8").split("---\n", 2)
        said = dict(line.split(": ", 1) for line in head.strip().splitlines())
        hint = said["argument-hint"].strip('"')
        by_name[path.stem] = _Prompt(
            said["description"], hint.strip("[]"), not hint.startswith("["), text.strip()
        )
    return by_name


def prompts() -> types.ListPromptsResult:
    """Return the prompts that a client can show."""
    return types.ListPromptsResult(
        prompts=[
            types.Prompt(
                name=name,
                description=offer.description,
                arguments=[types.PromptArgument(name=offer.argument, required=offer.required)],
            )
            for name, offer in _prompts().items()
        ]
    )


def prompt(name: str, arguments: Mapping[str, str]) -> types.GetPromptResult:
    """Return the text of a prompt.

    Raises:
        MCPError: there is no such prompt, or its argument is missing.
    """
    asked = _prompts().get(name)
    if asked is None:
        there_are = ", ".join(_prompts())
        raise MCPError(types.INVALID_PARAMS, visible(f"no prompt {name}; there are: {there_are}"))
    given = arguments.get(asked.argument, "").strip()
    if not given and asked.required:
        raise MCPError(types.INVALID_PARAMS, f"{asked.argument}: is missing")
    text = asked.text.replace("$ARGUMENTS", visible(given) or "none")
    message = types.PromptMessage(role="user", content=types.TextContent(type="text", text=text))
    return types.GetPromptResult(description=asked.description, messages=[message])


def resources(opened: OpenedMemory) -> types.ListResourcesResult:
    """Return the newest sessions as resources; none before there is a memory."""
    try:
        sessions = opened.get().ask(SessionsRequest(n=_LISTED))["sessions"]
    except MemoryAssetsError:
        sessions = []
    return types.ListResourcesResult(
        resources=[
            types.Resource(
                name=visible(session["short_id"]),
                title=snippet(session["title"], _TITLE) or visible(session["short_id"]),
                uri=f"{_SCHEME}{session['session_id']}",
                description=visible(
                    f"{session['agent']}, {clock(session['ended_at'])}, {project_name(session)}"
                ),
                mime_type="text/plain",
            )
            for session in sessions
        ]
    )


def resource(opened: OpenedMemory, uri: str) -> types.ReadResourceResult:
    """Return what was done in the session that an address names, as `summarize_session` tells it,
    in its frame.

    Raises:
        MCPError: no session is there.
    """
    from memory_assets.serving.tool_answers import answer_tool

    try:
        if not uri.startswith(_SCHEME):
            raise NotFound(f"no resource {uri}; sessions are {_SCHEME}ID")
        asked = SessionRequest(uri.removeprefix(_SCHEME))
        _, text = answer_tool(opened.get(), "summarize_session", asked)
    except MemoryAssetsError as error:
        raise MCPError(types.INVALID_PARAMS, visible(str(error))) from None
    except Exception as error:  # noqa: BLE001 - a traceback's message may quote a transcript
        raise MCPError(types.INTERNAL_ERROR, visible(str(unexpected(error)))) from None
    return types.ReadResourceResult(
        contents=[types.TextResourceContents(uri=uri, mime_type="text/plain", text=text)]
    )
