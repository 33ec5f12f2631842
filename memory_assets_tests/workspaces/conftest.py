"""A small workspace, and the memory that the stages make of it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from memory_assets.paths import NO_EMBEDDER
from memory_assets.pipeline.checks.checks import Verified
from memory_assets.pipeline.ingest.passes import DOCUMENT_VECTORS, DOCUMENTS, Task, run_task
from memory_assets.pipeline.ingest.steps import Materialized, StepFailed
from memory_assets.pipeline.stage.components import Components
from memory_assets.pipeline.stage.report import StageReport
from memory_assets.settings import load_settings
from memory_assets.stores.chroma import server as chroma_server
from memory_assets.stores.lake.schemas import WORKSPACE_CHUNKS, WORKSPACE_DOCUMENTS
from memory_assets.stores.workspaces import Workspace, Workspaces
from memory_assets_tests.loaded_engines import give, load_engines

_BODY = "\n".join(["MIIEowIBAAKCAQEAx7Y2" * 3] * 8)
PRIVATE_KEY = f"-----BEGIN RSA PRIVATE KEY-----\n{_BODY}\n-----END RSA PRIVATE KEY-----"
"""A secret of ten lines."""
FILES = {
    "README.md": "# Harbor\n\n## Run it\n\nStart the harbour with `make up`.\n\n"
    "## Migrations\n\nEvery migration sets a lock timeout of three seconds.\n",
    "docs/adr/0001-queue.md": "# Use a queue\n\n## Context\n\nOrders arrive in bursts.\n\n"
    "## Decision\n\nWe put a queue before billing.\n\n## Consequences\n\nBilling may lag.\n",
    "services/svc-orders/app.py": '"""Orders."""\n\n\ndef place(order: str) -> str:\n'
    '    """Place an order in the queue."""\n    return order\n',
    ".gitignore": "build/\n*.log\n!keep.log\n",
    "build/out.txt": "never read\n",
    "trace.log": "never read\n",
    "keep.log": "kept by a negation\n",
    ".env": "API_KEY=never-read-this-value\n",
    "logo.png": "\x89PNG\0\0",
}


def write(root: Path, files: Mapping[str, str | bytes]) -> None:
    """Write files below a directory."""
    for name, content in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content.encode() if isinstance(content, str) else content)


@dataclass
class Indexed:
    """A workspace on disk, and the memory of it."""

    root: Path
    data_dir: Path
    engines: Mapping[str, Any]
    given: dict[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        settings = load_settings(data_dir=self.data_dir, chroma_idle_seconds=60.0, **self.given)
        self.components = Components(settings)
        give(self.components, self.engines)
        self.data_dir.mkdir(parents=True, exist_ok=True)

    @property
    def workspace(self) -> Workspace:
        """The workspace on record."""
        return Workspaces(self.data_dir).add(self.root)

    def index(self) -> dict[str, StageReport]:
        """Run all stages; return their reports by asset. No check may fail."""
        partition = self.workspace.partition
        reports = {}
        for part in (DOCUMENTS, DOCUMENT_VECTORS):
            for outcome in run_task(self.components, Task(partition, part.assets)):
                assert not isinstance(outcome, StepFailed), outcome
                if isinstance(outcome, Verified):
                    assert not outcome.failed, outcome
                elif isinstance(outcome, Materialized):
                    reports[outcome.asset] = outcome.report
        return reports

    def documents(self) -> dict[str, dict[str, Any]]:
        """The rows of workspace_documents by path."""
        rows = self.components.lake.read_partition(WORKSPACE_DOCUMENTS, self.workspace.partition)
        return {row["session_id"]: row for row in rows.to_pylist()}

    def chunks(self) -> list[dict[str, Any]]:
        """The rows of workspace_chunks."""
        rows = self.components.lake.read_partition(WORKSPACE_CHUNKS, self.workspace.partition)
        return rows.to_pylist()

    def close(self) -> None:
        """Close what is open."""
        chroma_server.stop(self.data_dir)
        if "catalog" in self.components.opened:
            self.components.catalog.close()


@pytest.fixture(scope="session")
def engines() -> dict[str, Any]:
    """The real redactor and embedder, loaded once, and their key."""
    return load_engines("redactor", "embedder")


@pytest.fixture
def indexed(tmp_path: Path, engines: dict[str, Any]) -> Iterator[Indexed]:
    """The workspace of `FILES`, not indexed yet."""
    root = tmp_path / "harbor"
    write(root, FILES)
    made = Indexed(root, tmp_path / "data", engines)
    yield made
    made.close()


@pytest.fixture
def wordy(tmp_path: Path, engines: dict[str, Any]) -> Iterator[Indexed]:
    """The workspace of `FILES`, without vectors and Chroma."""
    root = tmp_path / "harbor"
    write(root, FILES)
    made = Indexed(root, tmp_path / "data", engines, {"embedder": NO_EMBEDDER})
    yield made
    made.close()
