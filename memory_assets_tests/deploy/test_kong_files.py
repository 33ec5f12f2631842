"""The settings of Kong in deploy/kong/: routes, limits, and no key in a file."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
import yaml

import memory_assets

KONG = Path(memory_assets.__file__).parents[1] / "deploy" / "kong"
FILES = ("kong.yml", "kong-ai.yml")
LIMITS = {
    "/ai/embeddings": 500,
    "/ai/embeddings/local": 1_000,
    "/ai/chat": 100,
    "/ai/chat/openai": 100,
}
ASKED_BY_US = {
    "/ai": ("embeddings", "/ai/embeddings"),
    "/ai/embeddings/local": ("embeddings", "/ai/embeddings/local"),
    "/ai/chat/openai": ("chat/completions", "/ai/chat/openai"),
    "/ai/chat": ("chat/completions", "/ai/chat"),
}
"""The path of a URL in MEMORY_EMBEDDER or MEMORY_SUMMARIZER, what is asked below it, and the route
that it reaches."""


def _services(name: str) -> list[dict[str, Any]]:
    services: list[dict[str, Any]] = yaml.safe_load((KONG / name).read_text())["services"]
    return services


def _plugin(service: dict[str, Any], name: str) -> dict[str, Any]:
    """A plugin's settings; empty where the service has no such plugin."""
    return next((each["config"] for each in service["plugins"] if each["name"] == name), {})


def _reached(name: str, path: str) -> list[str]:
    """The services whose route a path reaches."""
    return [
        service["name"]
        for service in _services(name)
        for route in service["routes"]
        for pattern in route["paths"]
        if re.match(pattern.removeprefix("~"), path)
    ]


@pytest.mark.parametrize("name", FILES)
def test_each_route_has_a_service_and_a_limit_of_its_own(name: str) -> None:
    """A path reaches one service, whose requests a minute are limited; nothing else is let in."""
    by_name = {service["name"]: service for service in _services(name)}
    for path, limit in LIMITS.items():
        (reached,) = _reached(name, path)
        assert _plugin(by_name[reached], "rate-limiting")["minute"] == limit
    assert len(by_name) == len(LIMITS)
    assert _reached(name, "/ai/models") == [] == _reached(name, "/ai/embeddings/other")


def test_our_own_requests_reach_the_routes() -> None:
    """With the URL of a route as the endpoint in a setting; the open-source gateway speaks
    Anthropic's own dialect at /ai/chat, which we do not."""
    for base, (below, path) in ASKED_BY_US.items():
        assert _reached("kong-ai.yml", f"{base}/{below}") == _reached("kong-ai.yml", path)
        if base != "/ai/chat":
            assert _reached("kong.yml", f"{base}/{below}") == _reached("kong.yml", path)
    assert _reached("kong.yml", "/ai/chat/chat/completions") == []


@pytest.mark.parametrize("name", FILES)
def test_no_key_is_in_a_file_and_requests_are_logged_without_contents(name: str) -> None:
    """Values of keys are references to the environment."""
    text = (KONG / name).read_text()
    assert not re.search(r"sk-|Bearer |[A-Za-z0-9_-]{32,}", text)
    settings = yaml.safe_load(text)
    assert "file-log" in {each["name"] for each in settings["plugins"]}
    for service in settings["services"]:
        value = _plugin(service, "ai-proxy").get("auth", {}).get("header_value", "{vault://env/}")
        assert value.startswith("{vault://env/")
        if logging := _plugin(service, "ai-proxy").get("logging"):
            assert logging == {"log_statistics": True, "log_payloads": False}


def test_the_ai_gateway_asks_models_as_their_providers_want_it() -> None:
    """Embeddings by a type of their own; prompts before chats alone; Anthropic's version is named;
    bodies of fifty texts, or of a session, are let in."""
    for service in _services("kong-ai.yml"):
        proxy = _plugin(service, "ai-proxy")
        chat = service["name"].startswith("chat")
        assert proxy["route_type"] == ("llm/v1/chat" if chat else "llm/v1/embeddings")
        assert proxy.get("genai_category") == (None if chat else "text/embeddings")
        prompts = _plugin(service, "ai-prompt-decorator").get("prompts", {}).get("prepend", [])
        assert [each["role"] for each in prompts] == (["system"] if chat else [])
        assert all(len(each["content"]) <= 500 for each in prompts)
        assert all("search before you read" in each["content"] for each in prompts)
        model = proxy["model"]
        needs_version = model["provider"] == "anthropic"
        assert ("anthropic_version" in model.get("options", {})) == needs_version
        assert proxy["max_request_body_size"] >= 1_000_000
    assert not any(_plugin(service, "ai-proxy") for service in _services("kong.yml"))
