"""What agents wrote themselves: memories, and the conversations that they come from."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from starlette.requests import Request
from starlette.responses import Response

from memory_assets.requests.agent_memory import MemoriesRequest
from memory_assets.serving.pages.form import fields, given_arguments, refused
from memory_assets.serving.pages.rendering import lineage_url, page

if TYPE_CHECKING:
    from memory_assets.recall import Memory


def memories_page(memory: Memory, request: Request) -> Response:
    """Return the memories of agents, to be filtered by type, conversation and project."""
    from memory_assets.recall.agent_rows import memories

    given = given_arguments(request.query_params)
    shown = _shown(memory, [])
    with refused(shown):
        shown |= _shown(memory, memories(memory, MemoriesRequest.given("http", given)))
    shown["fields"] = fields(MemoriesRequest, request.query_params)
    shown["filtered"] = [f"{name} {value}" for name, value in given.items()]
    return page(request, "memories.html", **shown)


def memory_page(memory: Memory, request: Request) -> Response:
    """Return one memory."""
    from memory_assets.recall.agent_rows import memory_of

    shown = _shown(memory, [memory_of(memory, request.path_params["id"])])
    return page(request, "memories.html", fields=[], problem="", **shown)


def conversation_page(memory: Memory, request: Request) -> Response:
    """Return the turns of a conversation, if any were appended, and the memories from it."""
    from memory_assets.recall.agent_rows import conversation, partition_about

    name = request.path_params["id"]
    turns, memories = conversation(memory, name)
    project = (turns or memories)[0]["project"]
    lineage = lineage_url(memory, "agent_history", partition_about(project))
    shown = {"turns": turns, **_shown(memory, memories)}
    return page(request, "conversation.html", name=name, lineage=lineage, **shown)


def _shown(memory: Memory, memories: list[dict[str, Any]]) -> dict[str, Any]:
    """Return memories as templates show them, and the roots that projects are named by."""
    from memory_assets.recall.agent_rows import partition_about

    shown = [
        {**row, "lineage": lineage_url(memory, "agent_memory", partition_about(row["project"]))}
        for row in memories
    ]
    return {"memories": shown, "roots": memory.catalog.sources.project_roots()}
