"""What agents wrote themselves: memories, and the conversations that they come from."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from starlette.requests import Request
from starlette.responses import Response

from memory_assets.errors import MemoryAssetsError
from memory_assets.requests.agent_memory import MemoriesRequest
from memory_assets.serving.http_api import status_of
from memory_assets.serving.pages.form import fields, given_arguments
from memory_assets.serving.pages.lineage import lineage_url
from memory_assets.serving.pages.rendering import page

if TYPE_CHECKING:
    from memory_assets.recall import Memory


def memories_page(memory: Memory, request: Request) -> Response:
    """Return the memories of agents, to be filtered by type, conversation and project."""
    from memory_assets.recall.agent_rows import memories

    problem, found = "", list[dict[str, Any]]()
    try:
        asked = MemoriesRequest.given("http", given_arguments(request.query_params))
        found = memories(memory, asked)
    except MemoryAssetsError as error:
        if status_of(error)[0] >= 500:
            raise
        problem = str(error)
    form = fields(MemoriesRequest, request.query_params)
    shown = _with_lineage(memory, found)
    return page(request, "memories.html", fields=form, memories=shown, problem=problem)


def memory_page(memory: Memory, request: Request) -> Response:
    """Return one memory."""
    from memory_assets.recall.agent_rows import memory_of

    shown = _with_lineage(memory, [memory_of(memory, request.path_params["id"])])
    return page(request, "memories.html", fields=[], memories=shown, problem="")


def conversation_page(memory: Memory, request: Request) -> Response:
    """Return the turns of a conversation, if any were appended, and the memories from it."""
    from memory_assets.recall.agent_rows import conversation, partition_about

    name = request.path_params["id"]
    turns, found = conversation(memory, name)
    project = (turns or found)[0]["project"]
    lineage = lineage_url(memory, "agent_history", partition_about(project))
    shown: dict[str, Any] = {"turns": turns, "memories": _with_lineage(memory, found)}
    return page(request, "conversation.html", name=name, lineage=lineage, **shown)


def _with_lineage(memory: Memory, memories: list[dict[str, Any]]) -> list[dict[str, Any]]:
    from memory_assets.recall.agent_rows import partition_about

    return [
        {**each, "lineage": lineage_url(memory, "agent_memory", partition_about(each["project"]))}
        for each in memories
    ]
