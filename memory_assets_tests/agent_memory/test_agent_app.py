"""The chat of `agent-app/`: what was said is kept, with an answer or without one."""

from __future__ import annotations

import importlib
from collections.abc import Iterator
from typing import Any

import pytest

from memory_assets.errors import BadArgument, ConfigurationError, StoreError
from memory_assets.settings import load_settings
from memory_assets.stores.agents.journal import FILE_NAME
from memory_assets_tests.agent_memory.conftest import TOKEN, Agents
from memory_assets_tests.conftest import REPOSITORY
from memory_assets_tests.embedding.model_endpoint import KEY, ModelEndpoint, served


@pytest.fixture(scope="module")
def model() -> Iterator[ModelEndpoint]:
    """A model that answers."""
    with served() as endpoint:
        endpoint.reply = "Understood."
        yield endpoint


@pytest.fixture
def app(monkeypatch: pytest.MonkeyPatch) -> Any:
    """The module of the chat."""
    monkeypatch.syspath_prepend(str(REPOSITORY / "agent-app"))
    return importlib.import_module("app")


def _chat(app: Any, agents: Agents, url: str) -> Any:
    gateway = app.open_memory(agents.components)
    builder = app.open_builder(agents.components, gateway)
    outbox = app.Outbox.of(agents.components)
    return app.Chat(gateway, builder, app.Model(url, "any", KEY), "c1", outbox)


def test_a_message_is_kept_whatever_the_model_does(
    app: Any, agents: Agents, model: ModelEndpoint
) -> None:
    """Too many requests, an empty answer, an error, another form, nobody there: each is said, and
    the conversation goes on with what it has."""
    chat = _chat(app, agents, model.url)
    model.replies = [429, "  ", 500, "Hello."]
    said = list(app.answers(chat, ["one", "", "two", "three", f"four {TOKEN}"]))
    assert [each[:20] for each in said[:3]] == [
        "[the model is asked ",
        "[the model's answer ",
        "[the model refuses (",
    ]
    away = _chat(app, agents, "http://127.0.0.1:9/v1")
    (nobody,) = app.answers(away, ["five"])
    assert nobody.startswith("[the model does not answer")
    turns = agents.gateway().tail_history("c1", 10)
    assert [turn.role for turn in turns] == ["user"] * 4 + ["assistant", "user"]
    assert [turn.turn_index for turn in turns] == list(range(6))
    assert str(turns[2].text) == "three" and TOKEN not in turns[3].text
    assert "user, " in model.prompts[-1] and ": two" in model.prompts[-1]


def test_a_line_that_memory_cannot_take_is_kept_and_sent(
    app: Any, agents: Agents, model: ModelEndpoint
) -> None:
    """Before the next line that it takes, in order, by another process, too; without its secrets
    meanwhile."""
    _chat(app, agents, model.url).say("one")
    journal = agents.data_dir / FILE_NAME
    for path in agents.data_dir.glob(f"{FILE_NAME}*"):
        path.rename(path.with_name(f"away-{path.name}"))
    journal.mkdir()
    down = Agents(agents.data_dir, agents.engines)
    with pytest.raises(StoreError):
        _chat(app, down, model.url)
    chat = _chat(app, agents, model.url)
    agents.components.journal.close()
    said = list(app.answers(chat, [f"two {TOKEN}", "three"]))
    assert all("The line is kept" in each for each in said)
    waiting = [each["text"] for each in chat._outbox.waiting.entries()]
    assert len(waiting) == 2 and TOKEN not in waiting[0]
    with pytest.raises(BadArgument, match="200002 characters"):  # which no memory would take
        chat.say("x " * 100_001)
    journal.rmdir()
    for path in agents.data_dir.glob("away-*"):
        path.rename(path.with_name(path.name.removeprefix("away-")))
    again = Agents(agents.data_dir, agents.engines)
    _chat(app, again, model.url).say("four")
    asked = [
        str(each.text)[:5] for each in again.gateway().tail_history("c1", 9) if each.role == "user"
    ]
    assert asked == ["one", "two <", "three", "four"]
    assert chat._outbox.waiting.entries() == []


def test_a_turn_whose_answer_was_lost_is_stored_once(
    app: Any, agents: Agents, model: ModelEndpoint
) -> None:
    """It waits, as if it had not been stored, and is sent again."""
    chat = _chat(app, agents, model.url)
    turn = {"conversation": "c1", "role": "user", "text": "one", "ts": "2026-11-28T12:00:00.25Z"}
    for _ in range(2):
        chat._send(turn)
    assert len(agents.gateway().tail_history("c1", 9)) == 1


def test_what_a_model_wants_remembered_is_stored_as_the_policy_allows(
    app: Any, agents: Agents, model: ModelEndpoint
) -> None:
    """By lines at the end of its answer, which nobody is shown; the next conversation knows it."""
    chat = _chat(app, agents, model.url)
    model.replies = [
        "Noted.\nREMEMBER fact 0.95: Ana owns the billing service.\n"
        "REMEMBER fact 0.5: Bob may own the rest.\nREMEMBER rumour 0.9: Nobody does."
    ]
    assert chat.say("Ana owns billing.") == "Noted.\nREMEMBER rumour 0.9: Nobody does."
    other = app.Chat(chat._gateway, chat._builder, chat._model, "c2", chat._outbox)
    other.say("Who is responsible for invoices?")
    assert "- Ana owns the billing service. (fact, " in model.prompts[-1]
    assert "Bob" not in model.prompts[-1]


def test_an_endpoint_that_is_none_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    """By the name of its variable."""
    monkeypatch.setenv("MCP_ENDPOINT", "chroma-mcp:8080")
    with pytest.raises(ConfigurationError, match="MCP_ENDPOINT"):
        load_settings()
