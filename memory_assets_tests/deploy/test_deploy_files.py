"""The files in deploy/: valid, with images that are pinned, routes and limits, and no key in
them."""

from __future__ import annotations

import json
import re
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from importlib.metadata import version
from pathlib import Path
from threading import Thread
from typing import Any

import jsonschema
import pytest
import yaml
from check_jsonschema.builtin_schemas import get_builtin_schema
from kubernetes.client import ApiClient

import memory_assets
from memory_assets_tests.conftest import REPOSITORY

KUBERNETES = REPOSITORY / "deploy" / "kubernetes"
KINDS = {"CronJob": "V1CronJob", "NetworkPolicy": "V1NetworkPolicy"}
VALUES = KUBERNETES / "dagster-values.yaml"


def understood(value: Any, kind: str) -> Any:
    """What is left of a value that is read as a model of Kubernetes' API and written again."""
    client = ApiClient()
    read = client.deserialize(json.dumps(value), kind, "application/json")
    return client.sanitize_for_serialization(read)  # type: ignore[no-untyped-call]


@pytest.mark.parametrize(
    "path", sorted(KUBERNETES.glob("*-*.yaml"), key=str), ids=lambda path: path.name
)
def test_it_is_of_kubernetes_api(path: Path) -> None:
    """Every field is one that the models of its client know, in its place, and none is missing.
    Dagster's chart has a schema of its own, which is in no package: of its values the parts that
    go to Kubernetes as they are have been tried."""
    value = yaml.safe_load(path.read_text())
    if path != VALUES:
        assert understood(value, KINDS[value["kind"]]) == value
        return
    (workers,) = value["dagster-user-deployments"]["deployments"]
    run = value["runLauncher"]["config"]["k8sRunLauncher"]["runK8sConfig"]
    container = {"name": "dagster", **run["containerConfig"], "env": workers["env"]}
    container["envFrom"] = [{"secretRef": each} for each in workers["envSecrets"]]
    pod = {"containers": [container], **run["podSpecConfig"]}
    assert understood(pod, "V1PodSpec") == pod
    mounts = {each["name"] for each in container["volumeMounts"]}
    assert mounts == {each["name"] for each in pod["volumes"]}


def test_secrets_are_named_and_not_written() -> None:
    """In no file is a value of one, nor a password."""
    for path in KUBERNETES.glob("*.yaml"):
        for line in path.read_text().splitlines():
            told = re.search(r"(?i)(password|secret|token|_key)\w*: *(?P<value>\S+)", line)
            named = ("false", "{", "dagster-postgresql-secret")
            assert told is None or told["value"] in named, line


def test_no_worker_may_do_more_than_a_user() -> None:
    """Neither root nor new rights, in the code server, in runs and where shards are pulled."""
    texts = [VALUES.read_text(), (KUBERNETES / "pull-job.yaml").read_text()]
    contexts = [text.count("runAsNonRoot: true") for text in texts]
    assert contexts == [1, 1] and texts[0].count("*harmless") == 1  # once written, used twice


def test_the_image_has_what_is_there_and_no_key() -> None:
    """Files that exist; the extras in the versions of the developers' lock; what is compiled, and
    nothing that a home keeps for itself."""
    text = (REPOSITORY / "deploy/scale/Dockerfile").read_text()
    locked = (REPOSITORY / "requirements-dev.lock").read_text()
    for line in text.splitlines():
        if line.startswith("COPY"):
            assert all((REPOSITORY / name).exists() for name in line.split()[1:-1])
    for name in ("obstore", "dagster-postgres", "sqlalchemy"):
        assert name in text and re.search(rf"^{name}==", locked, re.M)
    assert "-m memory_assets.shards.workers" in text


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


DEPLOY = Path(memory_assets.__file__).parents[1] / "deploy"
COMPOSE_FILES = sorted(DEPLOY.rglob("compose*.yml"))


def _services_of(path: Path) -> dict[str, dict[str, Any]]:
    services: dict[str, dict[str, Any]] = yaml.safe_load(path.read_text())["services"]
    return services


@pytest.mark.parametrize("path", COMPOSE_FILES, ids=lambda path: path.name)
def test_it_is_a_compose_file(path: Path) -> None:
    """By the schema of the specification. Ports are those of loopback, images have a version, and
    values of keys come from the environment."""
    jsonschema.validate(yaml.safe_load(path.read_text()), get_builtin_schema("vendor.compose-spec"))
    for service in _services_of(path).values():
        assert re.search(r":(v?\d+\.\d+(\.\d+)?|RELEASE\.\d{4}-)", service["image"])
        assert all(
            re.match(r"127\.0\.0\.1:|\$\{\w+:-127\.0\.0\.1\}:", port)
            for port in service.get("ports", ())
        )
        for name, value in service["environment"].items():
            if re.search("KEY|TOKEN|PASSWORD|AUTHORIZATION|SECRET", name):
                assert re.fullmatch(r"(Bearer )?\$\{\w+(:\?[\w ]+|:-)?\}", value), name


def test_qdrant_is_of_the_clients_minor_version() -> None:
    """Which is what qdrant promises to be compatible."""
    image = _services_of(DEPLOY / "compose.team.yml")["qdrant"]["image"]
    minor = ".".join(version("qdrant-client").split(".")[:2])
    assert image.startswith(f"qdrant/qdrant:v{minor}.")


@contextmanager
def _answering(status: int) -> Iterator[int]:
    """Yield the port of a server that answers each request with a status."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(status if self.path == "/readyz" else 404)
            self.end_headers()

        def log_message(self, format: str, *arguments: Any) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    Thread(target=server.serve_forever).start()
    try:
        yield server.server_port
    finally:
        server.shutdown()
        server.server_close()


def test_the_check_of_qdrants_health_needs_bash_alone() -> None:
    """Healthy is who answers 200; not ready, or not there, is not."""
    (_, *command) = _services_of(DEPLOY / "compose.team.yml")["qdrant"]["healthcheck"]["test"]

    def healthy(port: int) -> bool:
        run = [part.replace("$$", "$").replace("/6333", f"/{port}") for part in command]
        return not subprocess.run(run, capture_output=True, check=False, env={}).returncode

    with _answering(200) as port:
        assert healthy(port)
    with _answering(503) as port:
        assert not healthy(port)
    assert not healthy(9)
