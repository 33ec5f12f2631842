"""`memory mcp` on standard input and output."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager

from memory_assets.settings import Settings


def serve_stdio(settings: Settings, *, write: bool = False) -> None:
    """Serve MCP on standard input and output until the client disconnects; with `write`, agents
    may write memory."""
    with _models_built_when_used():
        from memory_assets.serving import mcp_server
    mcp_server.run_stdio(settings, write=write)


@contextmanager
def _models_built_when_used() -> Iterator[None]:
    """Import the SDK's several hundred pydantic models without building validators until they are
    used, and without collecting garbage meanwhile: saves .4 s of CPU."""
    from pydantic import BaseModel, ConfigDict

    before = BaseModel.model_config
    BaseModel.model_config = ConfigDict(defer_build=True)
    gc.disable()
    try:
        yield
    finally:
        gc.enable()
        BaseModel.model_config = before
