"""What agents wrote, as pages: memories, conversations, and the way between them."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Any

import pytest
from starlette.testclient import TestClient

from memory_assets.requests.agent_memory import MemoriesRequest
from memory_assets.requests.arguments import declared
from memory_assets.serving.pages.search_page import address_of
from memory_assets.serving.pages.site import build_site
from memory_assets.settings import Settings
from memory_assets.stores.agents.journal import FILE_NAME
from memory_assets_tests.agent_memory.conftest import NOW, Agents

_SHOP = "-home-ada-shop"
_HOSTILE = '<img src=x onerror="alert(1)"> {{ 7 * 7 }}'


def _with_dagster(settings: Settings) -> Settings:
    """Of another machine, so that nobody looks whether it answers."""
    return replace(settings, dagster_url="https://dagster.example")


@pytest.fixture
def client(agents: Agents) -> TestClient:
    """The pages over two memories and a conversation."""
    gateway = agents.gateway(_SHOP)
    gateway.write_memory("We use pnpm.", "preference", 0.8, NOW, "talk-1")
    gateway.write_memory(f"Prices have no cents. {_HOSTILE}", "decision", 0.95, NOW, "talk-2")
    gateway.append_history("talk-1", "user", f"npm or pnpm? {_HOSTILE}", 0, NOW, channel="chat")
    assert agents.components.catalog.projects() == set()  # made, so that there is a memory
    return TestClient(
        build_site(_with_dagster(agents.components.settings)), base_url="http://127.0.0.1:8765"
    )


def _texts(client: TestClient, **query: str) -> list[str]:
    text = client.get("/page/memories", params=query).text
    assert "<img" not in text
    return re.findall(r"data-item>([^<]{12})", text)


def test_memories_are_listed_by_type_conversation_confidence_and_date(client: TestClient) -> None:
    """By a form of the one declaration; each leads to its own page, conversation and lineage."""
    assert set(_texts(client)) == {"We use pnpm.", "Prices have "}
    assert _texts(client, sort="confidence") == ["Prices have ", "We use pnpm."]
    assert _texts(client, type="preference") == ["We use pnpm."]
    assert _texts(client, conversation="talk-2") == ["Prices have "]
    text = client.get("/page/memories").text
    assert f'<span title="{_SHOP}">' in text  # no page where there are no transcripts
    names = {name for each in declared(MemoriesRequest) if (name := each.name_at("http"))}
    assert set(re.findall(r'<(?:input|select) id="\w+" name="(\w+)"', text)) == names
    assert f"/assets/agent_memory?view=partitions&amp;partition=agent-memory%3A{_SHOP}" in text
    assert "None of these" in client.get("/page/memories?type=fact").text
    wrong = client.get("/page/memories?n=none")
    assert wrong.status_code == 400 and "n: give a whole number" in wrong.text
    (own,) = re.findall(
        r'href="(/page/memory/[^"]+)"', client.get("/page/memories?type=decision").text
    )
    one = client.get(own)
    assert "&lt;img src=x" in one.text and "{{ 7 * 7 }}" in one.text and one.status_code == 200
    assert client.get("/page/memory/memory::none").status_code == 404


def test_what_was_redacted_in_a_memory_is_a_tag(client: TestClient, agents: Agents) -> None:
    """Which leads nowhere where it is part of a link."""
    password = "".join(("hunter2", "Ab9xQ"))
    agents.gateway(_SHOP).write_memory(f"Use password={password} there.", "fact", 0.9, NOW, "t")
    text = client.get("/page/memories?type=fact").text
    assert 'password=<span class="redacted">' in text and password not in text


def test_an_archived_memory_says_so(client: TestClient, agents: Agents) -> None:
    """With the reason; it is in no context any more."""
    (known,) = agents.components.journal.memories({"type": "preference"})
    agents.components.journal.archive(known.memory_id, "not said again")
    text = client.get("/page/memories").text
    assert text.count("Archived, in no context any more: not said again") == 1


def test_pages_about_nothing_make_no_journal(agents: Agents) -> None:
    """Its presence says that an agent wrote something."""
    assert agents.components.catalog.projects() == set()  # made, so that there is a memory
    settings = agents.components.settings
    client = TestClient(build_site(_with_dagster(settings)), base_url="http://127.0.0.1:8765")
    for path in ("memories", "memory/memory::none", "conversation/none"):
        client.get(f"/page/{path}")
    assert not (settings.data_dir / FILE_NAME).exists()


def test_a_conversation_is_read_with_its_memories(client: TestClient) -> None:
    """Turns with role and channel, as text; of one without turns, its memories."""
    text = client.get("/page/conversation/talk-1").text
    assert "npm or pnpm?" in text and "<span>chat</span>" in text and "<img" not in text
    assert "We use pnpm." in text and "Prices" not in text
    assert f"/assets/agent_history?view=partitions&amp;partition=agent-memory%3A{_SHOP}" in text
    (place,) = re.findall(r'<section class="turn" id="([^"]+)"', text)
    hit: dict[str, Any] = {"id": place, "metadata": {"session_id": "talk-1"}}
    assert address_of(hit).partition("#")[::2] == (
        "/page/conversation/talk-1",
        place.replace("::", "%3A%3A"),
    )
    assert "Prices have no cents." in client.get("/page/conversation/talk-2").text
    assert client.get("/page/conversation/nobody").status_code == 404
    assert address_of({"id": "memory::a", "metadata": {}}) == "/page/memory/memory%3A%3Aa"
