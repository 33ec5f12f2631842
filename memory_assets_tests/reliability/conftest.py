"""A finished memory of the sample sessions whose Chroma has saved its index, to be broken."""

from __future__ import annotations

import os
import shutil
import signal
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from memory_assets.pipeline.indexes import collections as index
from memory_assets.pipeline.indexes import indexed_tables
from memory_assets.pipeline.stage.components import Components
from memory_assets.stores.chroma import collections as chroma_collections
from memory_assets.stores.chroma import server as chroma_server
from memory_assets_tests.conftest import (
    copy_sample,
    forget_own_settings,
    made_once,
    settings_of_copy,
)
from memory_assets_tests.loaded_engines import give
from memory_assets_tests.pipeline.conftest import UP_TO_SUMMARIES, run_stages

MAIN = "claude-code-sessions"
SAVED_OFTEN = {
    "hnsw": {"space": "cosine", "sync_threshold": 10, "batch_size": 5},
    "embedding_function": {"type": "legacy"},
}
"""Chroma's settings in these tests: an index is saved every 10 rows, not 1,000."""
STAGES_IN_CHROMA = (
    *UP_TO_SUMMARIES,
    *("turn_embeddings", "prompt_embeddings", "summary_embeddings"),
    *("session_collection", "prompt_collection", "summary_collection"),
)
_ALL = ["embeddings", "documents", "metadatas"]


@dataclass
class Subject:
    """A memory and its transcripts."""

    root: Path
    components: Components

    @property
    def data_dir(self) -> Path:
        """Where the memory is."""
        return self.components.settings.data_dir

    @property
    def chroma(self) -> Path:
        """Chroma's files."""
        return self.data_dir / "chroma"

    def saved_index(self) -> Path:
        """The directory of an HNSW index that Chroma has saved."""
        return sorted(self.chroma.glob("*/index_metadata.pickle"))[-1].parent

    def kill_server(self) -> None:
        """SIGKILL the Chroma server, as the kernel does when memory runs out."""
        endpoint = chroma_server.running(self.data_dir)
        if endpoint is not None:
            os.kill(endpoint.pid, signal.SIGKILL)
            while not chroma_server.was_killed(self.data_dir):
                time.sleep(0.01)

    def index_all(self) -> list[Any]:
        """Run the indexing stages, embedding nothing, and return their reports."""
        return [
            index.index_project(self.components, project, of)
            for project in sorted(self.components.catalog.projects())
            for of in indexed_tables.INDEXES
        ]

    def behind(self) -> list[str]:
        """The projects with sessions that are not in their collections, as the plan sees it."""
        components = self.components
        index.forget_lost_store(components)
        return sorted(
            {
                project
                for project in components.catalog.projects()
                for of in indexed_tables.INDEXES
                for session in indexed_tables.indexed_sessions(components, project, of)
                if components.catalog.products.of_project(of.stage, project)[
                    session.session_id
                ].input_hash
                != indexed_tables.expected_input_hash(components, session)
            }
        )

    def collections(self) -> dict[str, dict[str, Any]]:
        """Every row of every collection that has any, by id: vector, text, metadata."""
        store = self.components.vectors
        found: dict[str, dict[str, Any]] = {}
        for name in store.names():
            collection: Any = store.get(name)
            page = collection.ask("get", include=_ALL)
            found[name] = {
                row_id: (tuple(vector), text, metadata)
                for row_id, vector, text, metadata in zip(
                    page["ids"],
                    page["embeddings"],
                    page["documents"],
                    page["metadatas"],
                    strict=True,
                )
            }
        return {name: rows for name, rows in found.items() if rows}


@pytest.fixture(scope="session")
def indexed(of_all_workers: Path) -> Subject:
    """The sample after every stage, its index saved often; to be copied."""
    root = made_once(of_all_workers, "indexed", _make)
    return Subject(root, Components(settings_of_copy(root)))


def _make(root: Path) -> None:
    copy_sample(root / "transcripts")
    with pytest.MonkeyPatch.context() as patch:
        forget_own_settings(patch, root / "home")
        patch.setattr(chroma_collections, "_CONFIGURATION", SAVED_OFTEN)
        components = Components(settings_of_copy(root))
        run_stages(components, STAGES_IN_CHROMA)
        chroma_server.stop(components.data_dir)
        components.catalog.close()


@pytest.fixture
def subject(indexed: Subject, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Subject]:
    """A copy to be broken; no Chroma server runs."""
    monkeypatch.setattr(chroma_collections, "_CONFIGURATION", SAVED_OFTEN)
    root = tmp_path / "copy"
    shutil.copytree(indexed.data_dir, root / "data")
    shutil.copytree(indexed.root / "transcripts", root / "transcripts")
    shutil.copytree(indexed.root / "home", tmp_path / "home", dirs_exist_ok=True)
    components = Components(settings_of_copy(root))
    names = ("install_key", "redactor", "embedder", "summarizer")
    give(components, {name: getattr(indexed.components, name) for name in names})
    yield Subject(root, components)
    chroma_server.stop(components.data_dir)
    if "catalog" in components.opened:
        components.catalog.close()
