"""Agents write and read their memory over MCP and HTTP; only where they are let."""

from __future__ import annotations

import asyncio
import json
import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from mcp import Client
from mcp.client.stdio import StdioServerParameters, stdio_client
from starlette.testclient import TestClient

from memory_assets.errors import ConfigurationError
from memory_assets.serving.agent_memory import AgentMemory
from memory_assets.serving.http_api import build_app, openapi_document
from memory_assets.serving.mcp_server import build_http_app, call_tool, tool_definitions
from memory_assets.serving.opened import OpenedMemory
from memory_assets.settings import Settings, load_settings
from memory_assets_tests.agent_memory.conftest import NOW, TOKEN

_BEARER = "a-token-of-the-tests"


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    """Those of an empty memory without vectors."""
    return load_settings(data_dir=tmp_path / "memory", embedder="none")


def test_a_server_reads_unless_it_is_told_to_write(settings: Settings) -> None:
    """The three tools are not listed, and say what they need."""
    names = {tool.name for tool in tool_definitions()}
    more = {tool.name: tool for tool in tool_definitions(write=True) if tool.name not in names}
    assert set(more) == {"remember", "append_history", "context"}
    reads = {
        name: tool.annotations and tool.annotations.read_only_hint for name, tool in more.items()
    }
    assert reads == {"remember": False, "append_history": False, "context": True}
    refused = call_tool(OpenedMemory(settings), "remember", {"text": "We use pnpm."})
    assert refused.is_error and "memory mcp --write" in refused.content[0].text  # type: ignore[union-attr]
    assert not settings.data_dir.exists()


def test_a_server_that_writes_names_all_of_its_tools(settings: Settings) -> None:
    """To an agent that asks for one that is not there."""
    agents = AgentMemory(settings)
    refused = call_tool(OpenedMemory(settings), "forget", {}, agents).content[0]
    names = ", ".join(tool.name for tool in tool_definitions(write=True))
    assert refused.text == f"there is no tool forget; there are: {names}"  # type: ignore[union-attr]


def test_the_three_tools_take_fewer_than_600_tokens() -> None:
    """Names, descriptions, schemas and annotations, beside those of the other eight."""
    told = [
        tool.model_dump(by_alias=True, exclude_none=True, mode="json")
        for tool in tool_definitions(write=True)[len(tool_definitions()) :]
    ]
    import bpe_openai  # takes a second

    encoding = bpe_openai.get_encoding("o200k_base")
    assert len(encoding.encode(json.dumps(told, separators=(",", ":")))) < 600


def test_a_tool_says_what_came_of_it(settings: Settings) -> None:
    """In words and structured; nonsense is an error that says what is allowed and quotes
    nothing."""
    opened, agents = OpenedMemory(settings), AgentMemory(settings)

    def call(name: str, **arguments: Any) -> Any:
        return call_tool(opened, name, arguments, agents)

    stored = call("remember", text=f"The token is {TOKEN}.", confidence=0.9)
    assert stored.structured_content["outcome"] == "stored"
    refused = call("remember", text="We use pnpm.", confidence=0.1)
    assert refused.content[0].text == "Not kept: confidence 0.1 is below 0.7."
    unsure = call("remember", text="We use pnpm.")
    assert unsure.is_error and "confidence: is missing" in unsure.content[0].text
    wrong = call("remember", text=TOKEN, type="rumour", confidence=0.9)
    assert wrong.is_error and "preference, fact, project, decision" in wrong.content[0].text
    turn = {"conversation_id": "c1", "role": "user", "turn_index": 0, "ts": NOW}
    assert call("append_history", text="hello", **turn).structured_content["new"] is True
    other = call("append_history", text=TOKEN, **turn)
    assert other.is_error and TOKEN[4:] not in other.content[0].text
    context = call("context", conversation="c1", latest="and now?")
    assert context.content[0].text == context.structured_content["text"]
    assert TOKEN[4:] not in context.content[0].text
    assert "user, 2026-11-23 09:00Z: hello" in context.content[0].text


def _one_day(settings: Settings, *calls: tuple[str, dict[str, Any]]) -> list[Any]:
    """Answers of a server that is started for these calls and stopped after them."""
    code = "from memory_assets.cli.start import main; main()"
    target = stdio_client(
        StdioServerParameters(
            command=sys.executable,
            args=["-c", code, "mcp", "--write"],
            env={
                **os.environ,
                "MEMORY_DATA_DIR": str(settings.data_dir),
                "MEMORY_EMBEDDER": "none",
            },
        )
    )

    async def run() -> list[Any]:
        async with Client(target) as client:
            return [await client.call_tool(name, arguments) for name, arguments in calls]

    return asyncio.run(run())


def test_a_conversation_goes_on_the_next_day(settings: Settings) -> None:
    """As docs/agent-memory.md shows it: a client of MCP, and a server that was stopped in
    between."""
    turn = {"conversation_id": "c1", "ts": "2026-11-23T17:00:00Z"}
    monday = _one_day(
        settings,
        ("append_history", {**turn, "turn_index": 0, "role": "user", "text": "Who owns billing?"}),
        ("append_history", {**turn, "turn_index": 1, "role": "assistant", "text": "Ana does."}),
        (
            "remember",
            {"text": "Ana owns the billing service.", "confidence": 0.95, "conversation_id": "c1",
             "ts": "2026-11-23T17:01:00Z"},
        ),
    )  # fmt: skip
    assert [each.is_error for each in monday] == [False] * 3
    (tuesday,) = _one_day(
        settings,
        (
            "context",
            {"conversation_id": "c1", "latest_user_text": "Ask them about the billing of May."},
        ),
    )
    lines = tuesday.content[0].text.splitlines()
    assert lines[0].startswith("<recalled-memory v1 ")
    assert lines[1:6] == [
        "Remembered:",
        "- Ana owns the billing service. (fact, 2026-11-23, confidence 0.95)",
        "Said before:",
        "user, 2026-11-23 17:00Z: Who owns billing?",
        "assistant, 2026-11-23 17:00Z: Ana does.",
    ]
    assert lines[-1] == "Ask them about the billing of May."


@pytest.fixture
def http(settings: Settings) -> Iterator[TestClient]:
    """A client of the HTTP API that asks for a token, and sends it."""
    app = build_app(settings, token=_BEARER)
    headers = {"Authorization": f"Bearer {_BEARER}"}
    with TestClient(app, base_url="http://127.0.0.1", headers=headers) as client:
        yield client


def test_programs_write_by_post_with_the_token(http: TestClient) -> None:
    """A memory and a turn; the document lists both, and what is wrong is refused in words."""
    stored = http.post("/memories", json={"text": "We use pnpm.", "confidence": 0.9})
    assert (stored.status_code, stored.json()["outcome"]) == (200, "stored")
    turn = {"conversation": "c1", "role": "user", "text": "hello", "turn_index": 0}
    assert http.post("/history", json=turn).json()["new"] is True
    assert http.post("/history", json={**turn, "ts": "now"}).status_code == 400
    conflict = http.post("/history", json={**turn, "text": "a heliotrope"})
    assert conflict.status_code == 422 and "heliotrope" not in conflict.text
    assert http.post("/memories", content=b"[]").status_code == 400
    assert http.post("/memories", content=b"x" * 1_000_001).status_code == 413
    assert (
        http.post("/memories", json={"text": "x"}, headers={"Authorization": ""}).status_code == 401
    )
    assert http.get("/memories").status_code == 405
    assert {"/memories", "/history"} <= set(http.get("/openapi.json").json()["paths"])


def test_nobody_writes_without_a_token(settings: Settings) -> None:
    """Not by the HTTP API, which has no such route then, and not by MCP over HTTP."""
    with TestClient(build_app(settings), base_url="http://127.0.0.1") as client:
        assert client.post("/memories", json={"text": "We use pnpm."}).status_code == 404
    assert "/memories" not in openapi_document()["paths"]
    with pytest.raises(ConfigurationError, match="MEMORY_HTTP_TOKEN"):
        build_http_app(settings, write=True)
