"""The processes of a deployment, started by hand: Chroma's server, chroma-mcp, and a proxy that
serves it over HTTP. chroma-mcp and the proxy live in environments of their own, which are built
once: each needs another version of the SDK than we do."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import pytest
import yaml
from filelock import FileLock

from memory_assets.embedding.chroma_model import stage_model
from memory_assets.stores.chroma import server as chroma_server
from memory_assets.stores.chroma_mcp.adapter import ChromaMcpVectorStoreAdapter, server_process
from memory_assets.stores.chroma_mcp.session import McpSession, ServerProcess
from memory_assets_tests.conftest import REPOSITORY

CHROMA_MCP = ("chroma-mcp==0.2.6", "pydantic<2.12")
PROXY = ("mcp-proxy==0.13.0",)
_SECONDS = 120.0
_SERVING = re.compile(r"Uvicorn running on (http://\S+)")


def environment(cache: Path, *requirements: str) -> Path:
    """Return the commands of an environment with these packages, which is built once; skips where
    it cannot be."""
    root = cache / requirements[0].replace("==", "-")
    with FileLock(f"{root}.lock"):
        if not (root / "ready").exists():
            pip = [str(root / "bin" / "python"), "-m", "pip", "install", "--quiet", *requirements]
            for command in ([sys.executable, "-m", "venv", "--clear", str(root)], pip):
                made = subprocess.run(command, capture_output=True, text=True, check=False)
                if made.returncode:
                    pytest.skip(f"cannot build an environment with {requirements[0]}")
            (root / "ready").touch()
    return root / "bin"


class Deployment:
    """One Chroma server in a directory, and how chroma-mcp is started in front of it."""

    def __init__(self, root: Path, cache: Path) -> None:
        self.data_dir, self.home = root / "chroma", root / "home"
        self.commands = environment(cache, *CHROMA_MCP)
        self.proxy_commands = environment(cache, *PROXY)
        stage_model(self.home)

    def start_chroma(self) -> None:
        """Start Chroma's server, unless it runs; its port and token stay the same."""
        chroma_server.ensure_running(self.data_dir, 600.0)

    def stop_chroma(self) -> None:
        """Stop Chroma's server."""
        chroma_server.stop(self.data_dir)

    def chroma_mcp(self) -> ServerProcess:
        """Return how chroma-mcp is started here."""
        self.start_chroma()
        endpoint = chroma_server.running(self.data_dir)
        assert endpoint is not None
        token = chroma_server.token(self.data_dir)
        python = str(self.commands / "python")
        process = server_process(python, "127.0.0.1", endpoint.port, token)
        return ServerProcess(process.command, {**process.environment, "HOME": str(self.home)})

    @contextmanager
    def bridge(self) -> Iterator[str]:
        """Serve chroma-mcp over HTTP, and return the endpoint."""
        proxy, endpoint = self.start_bridge()
        try:
            yield endpoint
        finally:
            proxy.terminate()
            proxy.wait(60)

    def start_bridge(self) -> tuple[subprocess.Popen[bytes], str]:
        """Start the bridge as the compose file does, but on any free port of this machine; return
        its process and its endpoint."""
        process = self.chroma_mcp()
        command = [
            {
                "mcp-proxy": str(self.proxy_commands / "mcp-proxy"),
                "--host=0.0.0.0": "--host=127.0.0.1",
                "--port=8080": "--port=0",
            }.get(each, each)
            .replace("$$", "$")
            .replace("run-chroma-mcp", shlex.join(process.command))
            for each in compose_file()["services"]["chroma-mcp"]["command"]
        ]
        log = self.data_dir / "proxy.log"
        with log.open("wb") as output:
            proxy = subprocess.Popen(
                command,
                env={**os.environ, **process.environment},
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=output,
            )
        return proxy, f"{_served(proxy, log)}/mcp"

    def processes(self) -> list[int]:
        """Return the processes of chroma-mcp in front of this Chroma."""
        found = []
        for entry in Path("/proc").iterdir():
            if entry.name.isdigit():
                with suppress(OSError):
                    line, home = (entry / "cmdline").read_bytes(), str(self.home).encode()
                    if b"run_server.py" in line and home in (entry / "environ").read_bytes():
                        found.append(int(entry.name))
        return found

    def store(self, server: str | ServerProcess, prefix: str = "") -> ChromaMcpVectorStoreAdapter:
        """Return the stores behind chroma-mcp."""
        lock = self.data_dir / "agents.lock"
        return ChromaMcpVectorStoreAdapter(McpSession(server), lock, prefix=prefix)


def compose_file() -> dict[str, Any]:
    """Return the services of the deployment."""
    made: dict[str, Any] = yaml.safe_load((REPOSITORY / "deploy" / "compose.yaml").read_text())
    return made


def wait_for(holds: Callable[[], Any]) -> Any:
    """Return what is true when it is."""
    deadline = time.monotonic() + _SECONDS
    while time.monotonic() < deadline:
        if found := holds():
            return found
        time.sleep(0.05)
    pytest.fail("it did not happen in two minutes")


def _served(proxy: subprocess.Popen[bytes], log: Path) -> str:
    """Wait until the proxy serves, and return where."""

    def serving() -> re.Match[str] | None:
        said = log.read_text("utf-8", "replace")
        if proxy.poll() is not None:
            pytest.fail(f"the bridge ended: {said[-2000:]}")
        return _SERVING.search(said)

    return str(wait_for(serving)[1])
