"""The compose files in deploy/: valid, with images that are pinned and no key in them."""

from __future__ import annotations

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

import memory_assets

DEPLOY = Path(memory_assets.__file__).parents[1] / "deploy"
FILES = sorted(DEPLOY.rglob("compose*.yml"))


def _services(path: Path) -> dict[str, dict[str, Any]]:
    services: dict[str, dict[str, Any]] = yaml.safe_load(path.read_text())["services"]
    return services


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
def test_it_is_a_compose_file(path: Path) -> None:
    """By the schema of the specification. Ports are those of loopback, images have a version, and
    values of keys come from the environment."""
    jsonschema.validate(yaml.safe_load(path.read_text()), get_builtin_schema("vendor.compose-spec"))
    for service in _services(path).values():
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
    image = _services(DEPLOY / "compose.team.yml")["qdrant"]["image"]
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
    (_, *command) = _services(DEPLOY / "compose.team.yml")["qdrant"]["healthcheck"]["test"]

    def healthy(port: int) -> bool:
        run = [part.replace("$$", "$").replace("/6333", f"/{port}") for part in command]
        return not subprocess.run(run, capture_output=True, check=False, env={}).returncode

    with _answering(200) as port:
        assert healthy(port)
    with _answering(503) as port:
        assert not healthy(port)
    assert not healthy(9)
