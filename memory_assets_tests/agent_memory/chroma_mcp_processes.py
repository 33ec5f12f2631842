"""The processes of a deployment, started by hand: Chroma's server, chroma-mcp, and a proxy that
serves it over HTTP. chroma-mcp and the proxy live in environments of their own, which are built
once: each needs another version of the SDK than we do."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from filelock import FileLock

from memory_assets.embedding.chroma_model import stage_model
from memory_assets.stores.chroma import server as chroma_server
from memory_assets.stores.chroma_mcp.adapter import ChromaMcpVectorStoreAdapter, server_process
from memory_assets.stores.chroma_mcp.session import McpSession, ServerProcess

CHROMA_MCP = ("chroma-mcp==0.2.6", "pydantic<2.12")
PROXY = ("mcp-proxy==0.13.0",)
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
        command = str(self.commands / "chroma-mcp")
        token = chroma_server.token(self.data_dir)
        process = server_process(command, "127.0.0.1", endpoint.port, token)
        return ServerProcess(process.command, {**process.environment, "HOME": str(self.home)})

    @contextmanager
    def bridge(self) -> Iterator[str]:
        """Serve chroma-mcp over HTTP on any free port, and return the endpoint."""
        process = self.chroma_mcp()
        log = self.data_dir / "proxy.log"
        command = [str(self.proxy_commands / "mcp-proxy"), "--port=0", "--pass-environment"]
        with log.open("wb") as output:
            proxy = subprocess.Popen(
                [*command, "--", *process.command],
                env={**os.environ, **process.environment},
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=output,
            )
        try:
            yield f"{_served(proxy, log)}/mcp"
        finally:
            proxy.terminate()
            proxy.wait(60)

    def store(
        self, server: str | ServerProcess, prefix: str = "agents."
    ) -> ChromaMcpVectorStoreAdapter:
        """Return the stores behind chroma-mcp."""
        lock = self.data_dir / "agents.lock"
        return ChromaMcpVectorStoreAdapter(McpSession(server), lock, prefix=prefix)


def _served(proxy: subprocess.Popen[bytes], log: Path) -> str:
    """Wait until the proxy serves, and return where."""
    while True:
        if found := _SERVING.search(log.read_text("utf-8", "replace")):
            return found[1]
        try:
            proxy.wait(0.1)
        except subprocess.TimeoutExpired:
            continue
        pytest.fail(f"the proxy ended: {log.read_text('utf-8', 'replace')[-2000:]}")
