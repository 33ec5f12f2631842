"""A real proxy of LiteLLM in front of a model: vectors, costs, and what may go wrong behind it and
with it. The proxy lives in an environment of its own, which is built once."""

from __future__ import annotations

import json
import os
import shutil
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from filelock import FileLock

from memory_assets.embedding.endpoint import BATCH
from memory_assets_tests.embedding.model_endpoint import KEY, Client, ModelEndpoint, served
from memory_assets_tests.reliability.test_no_connections import elsewhere, recording

pytestmark = [pytest.mark.long, pytest.mark.timeout(1800)]
_PINNED = Path(__file__).with_name("litellm.txt")
_REQUIRED = """
import importlib.metadata as installed
for each in installed.requires("litellm"):
    if "extra ==" not in each or "extra == 'proxy'" in each and "litellm-" not in each:
        print(each.replace(" and extra == 'proxy'", "").replace("; extra == 'proxy'", ""))
"""
"""What the proxy needs, without its parts for databases and for customers."""
_KEY = "sk-made-up-key-of-the-proxy"
_SECONDS = 300.0
TEXTS = [f"text {number}" for number in range(2 * BATCH + 20)]


@pytest.fixture(scope="module")
def program(pytestconfig: pytest.Config) -> Path:
    """The program `litellm`, of the version whose hash is pinned; skips where there is none."""
    assert pytestconfig.cache is not None
    root = Path(pytestconfig.cache.mkdir("litellm")) / "environment"
    with FileLock(f"{root}.lock"):
        if not (root / "ready").exists():
            _run(sys.executable, "-m", "venv", "--clear", str(root))
            python = str(root / "bin" / "python")
            pip = (python, "-m", "pip", "install", "--quiet")
            _run(*pip, "--no-deps", "--require-hashes", "--requirement", str(_PINNED))
            (root / "required.txt").write_text(_run(python, "-c", _REQUIRED))
            _run(*pip, "--requirement", str(root / "required.txt"))
            (root / "ready").touch()
    return root / "bin" / "litellm"


def _run(*command: str) -> str:
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        pytest.skip(f"cannot build an environment with LiteLLM: {' '.join(command[1:4])}")
    return done.stdout


class Proxy:
    """LiteLLM before an endpoint, which it may be asked for at `url`."""

    def __init__(self, program: Path, directory: Path, endpoint: ModelEndpoint) -> None:
        self._program, self._config = program, directory / "config.yaml"
        self._log = directory / "proxy.log"
        self.trace = directory / "proxy.trace"
        with socket.create_server(("127.0.0.1", 0)) as free:
            self._port = free.getsockname()[1]
        self.url = f"http://127.0.0.1:{self._port}/v1"
        behind = {"model": "openai/all-minilm", "api_base": endpoint.url, "api_key": KEY}
        model = {
            "model_name": "all-minilm",
            "litellm_params": {**behind, "input_cost_per_token": 0.001},
            "model_info": {"mode": "embedding"},
        }
        settings: dict[str, Any] = {
            "model_list": [model],
            "general_settings": {"master_key": _KEY},
            "router_settings": {"num_retries": 0, "disable_cooldowns": True},
        }
        self._config.write_text(json.dumps(settings))  # JSON is YAML
        self.start()

    def start(self) -> None:
        """Start it, and wait until it answers."""
        with self._log.open("ab") as log:
            self.process = subprocess.Popen(
                [
                    *(recording(self.trace) if shutil.which("strace") else ()),
                    str(self._program),
                    f"--config={self._config}",
                    "--host=127.0.0.1",
                    f"--port={self._port}",
                ],
                env={
                    "PATH": os.environ["PATH"],
                    "HOME": str(self._config.parent),
                    "LITELLM_LOCAL_MODEL_COST_MAP": "True",
                },
                stdout=log,
                stderr=log,
            )
        until = time.monotonic() + _SECONDS
        while not self._answers():
            assert self.process.poll() is None, self._log.read_text()[-2000:]
            assert time.monotonic() < until
            time.sleep(0.2)

    def _answers(self) -> bool:
        try:
            with urllib.request.urlopen(f"{self.url[:-3]}/health/liveliness", timeout=5) as answer:
                return bool(answer.status == 200)
        except (urllib.error.URLError, OSError):
            return False

    def kill(self) -> None:
        """End it at once."""
        self.process.kill()
        self.process.wait()


@pytest.fixture(scope="module")
def endpoint() -> Iterator[ModelEndpoint]:
    """The model behind the proxy."""
    with served() as started:
        yield started


@pytest.fixture(scope="module")
def proxy(
    program: Path, tmp_path_factory: pytest.TempPathFactory, endpoint: ModelEndpoint
) -> Iterator[Proxy]:
    """The proxy, which runs."""
    started = Proxy(program, tmp_path_factory.mktemp("litellm"), endpoint)
    yield started
    started.kill()


def _client(proxy: Proxy, key: str = _KEY, after: Callable[[], None] = lambda: None) -> Client:
    return Client(proxy.url, key=key, seconds=60.0, after=after)


def test_vectors_and_costs_come_through(proxy: Proxy, endpoint: ModelEndpoint) -> None:
    """In batches of fifty; the vectors are those of the model."""
    endpoint.asked.clear()
    client = _client(proxy)
    vectors = client.embedder.embed(TEXTS)
    assert [len(asked["input"]) for asked in endpoint.asked] == [50, 50, 20]
    assert np.allclose(vectors, endpoint.model.embed(TEXTS), atol=1e-6)
    assert [use.status for use in client.uses] == [200] * 3
    assert sum(use.input_tokens or 0 for use in client.uses) == 3 * len(TEXTS)
    assert sum(use.cost_usd or 0 for use in client.uses) == pytest.approx(0.003 * len(TEXTS))


@pytest.mark.parametrize("status", [429, 500])
def test_a_limit_or_failure_behind_it_is_waited_out(
    proxy: Proxy, endpoint: ModelEndpoint, status: int
) -> None:
    """The proxy passes it on once it has asked three times, and the request is made again."""
    endpoint.failures = [(status, {})] * 4
    client = _client(proxy)
    client.embedder.embed(TEXTS)
    assert endpoint.failures == [] and client.waited
    assert [use.status for use in client.uses] == [status] * len(client.waited) + [200] * 3


def test_a_key_that_was_removed_is_an_error(proxy: Proxy, endpoint: ModelEndpoint) -> None:
    """Of the provider behind the proxy, or ours; it is not tried again."""
    endpoint.failures = [(401, {})]
    removed = _client(proxy)
    removed.fails("MEMORY_EMBEDDER_KEY", TEXTS)
    wrong = _client(proxy, "sk-another")
    wrong.fails("MEMORY_EMBEDDER_KEY|HTTP 400", TEXTS)
    assert removed.waited == wrong.waited == [] and endpoint.failures == []


def test_a_proxy_that_is_killed_midway_can_be_asked_again(
    proxy: Proxy, endpoint: ModelEndpoint
) -> None:
    """The error says that it does not answer; once it is back, all is as before."""
    client = _client(proxy, after=proxy.kill)
    client.fails("does not answer", TEXTS)
    assert [use.status for use in client.uses] == [200, 0, 0, 0, 0, 0]
    proxy.start()
    assert len(_client(proxy).embedder.embed(TEXTS)) == len(TEXTS)


def test_the_proxy_asks_nobody_but_the_model(proxy: Proxy) -> None:
    """Neither for prices nor to report: what it sends for a quarter of a minute stays here."""
    if not proxy.trace.exists():
        pytest.skip("strace is not installed, or may not trace processes here")
    assert len(_client(proxy).embedder.embed(TEXTS[:1])) == 1
    time.sleep(15)
    recorded = proxy.trace.read_text()
    assert "connect(" in recorded and elsewhere(recorded) == []
