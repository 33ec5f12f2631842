"""An empty memory whose agents write into it, with the real redactor and embedder."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from memory_assets.agent_memory.gateway import MemoryGateway
from memory_assets.embedding import load_embedder
from memory_assets.pipeline.agent_memory.gateway import open_gateway
from memory_assets.pipeline.removal.forget import ForgetReport, forget
from memory_assets.pipeline.removal.selection import Selection, select
from memory_assets.pipeline.stage.components import Components
from memory_assets.settings import load_settings
from memory_assets.stores.chroma import server as chroma_server
from memory_assets_tests.conftest import forget_own_settings, load_redactor_of_tests
from memory_assets_tests.loaded_engines import give
from memory_assets_tests.nested import strings_in

NOW = "2026-11-23T09:00:00Z"
TOKEN = "ghp_" + "k3VxQ9rTz7Lw2NbYc8HsJ4Md6PfUe1GaXoRi"
"""A secret that the rules find."""


@dataclass
class Agents:
    """A memory that agents write into, at a time that a test sets."""

    data_dir: Path
    engines: Mapping[str, Any]
    now: float = 1_800_000_000.0
    given: dict[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        settings = load_settings(data_dir=self.data_dir, chroma_idle_seconds=60.0, **self.given)
        self.components = Components(settings, clock=lambda: self.now)
        give(self.components, self.engines)

    def copied(self, data_dir: Path) -> Agents:
        """The same memory at another place."""
        shutil.copytree(self.data_dir, data_dir)
        return Agents(data_dir, self.engines, self.now, self.given)

    def without_vectors(self) -> Agents:
        """The same memory without vectors and Chroma."""
        return Agents(self.data_dir, self.engines, self.now, {"embedder": "none"})

    def forget(self, **selection: Any) -> ForgetReport:
        """Forget what is selected."""
        found = select(self.components, Selection(**selection))
        return forget(self.components, found, erase_traces=lambda names: 0)

    def close(self) -> None:
        """Close what is open in this process."""
        for name in ("journal", "catalog"):
            if name in self.components.opened:
                self.components.opened.pop(name).close()

    def gateway(self, project: str = "") -> MemoryGateway:
        """The gateway to what is about a project."""
        return open_gateway(self.components, project)

    def bytes_at_rest(self) -> bytes:
        """Every byte of the memory's files, and every text in its Parquet files, whose pages are
        compressed."""
        files = [path for path in sorted(self.data_dir.rglob("*")) if path.is_file()]
        tables = (pq.ParquetFile(path).read() for path in files if path.suffix == ".parquet")
        texts = (text.encode() for rows in tables for text in strings_in(rows.to_pylist()))
        return b"\n".join((*(path.read_bytes() for path in files), *texts))


def made_for_all(directory: Path, make: Callable[[], Agents]) -> Agents:
    """A memory that the tests of a module copy, made while nothing is known of this machine."""
    with pytest.MonkeyPatch.context() as patch:
        forget_own_settings(patch, directory / "home")
        made = make()
        made.close()
    return made


@pytest.fixture(scope="session")
def engines() -> dict[str, Any]:
    """The redactor under a key of the tests, and the embedder."""
    return {
        "redactor": load_redactor_of_tests(),
        "install_key": bytes(32),
        "embedder": load_embedder(),
    }


@pytest.fixture
def agents(tmp_path: Path, engines: dict[str, Any]) -> Iterator[Agents]:
    """An empty memory; its Chroma server, if one starts, is stopped."""
    yield Agents(tmp_path / "memory", engines)
    chroma_server.stop(tmp_path / "memory")


@pytest.fixture
def wordy(tmp_path: Path, engines: dict[str, Any]) -> Agents:
    """An empty memory without vectors and Chroma."""
    return Agents(tmp_path / "memory", engines, given={"embedder": "none"})


@pytest.fixture
def gateway(agents: Agents) -> MemoryGateway:
    """The gateway to what is about no project."""
    return agents.gateway()


@pytest.fixture(scope="module")
def cache(pytestconfig: pytest.Config) -> Path:
    """Where environments are kept from run to run."""
    assert pytestconfig.cache is not None
    return Path(pytestconfig.cache.mkdir("chroma-mcp"))
