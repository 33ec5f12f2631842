"""A new embedder of the same family: its vectors replace the old ones, searches go on."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from memory_assets.pipeline.checks.checks import verify_project
from memory_assets.recall.memory import Memory
from memory_assets_tests.pipeline.conftest import INDEXES, SampleMemory


class Mirrored:
    """The embedder, its vectors reversed, under another id of its family."""

    def __init__(self, embedder: Any) -> None:
        self._embedder = embedder
        self.embedder_id = f"{embedder.family}/mirrored"

    def __getattr__(self, name: str) -> Any:
        return getattr(self._embedder, name)

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Return the embedder's vectors from their last number to their first."""
        vectors: NDArray[np.float32] = self._embedder.embed(texts)[:, ::-1]
        return np.ascontiguousarray(vectors)


def test_the_next_ingest_replaces_every_vector(memory: SampleMemory) -> None:
    """In the lake, in Chroma and in the keyword index; every check passes."""
    mirrored = Mirrored(memory.engines["embedder"])
    memory.reopen(embedder=mirrored)
    assert {work.reason for work in memory.behind()} == {"turn_embeddings behind turn_chunks"}
    memory.run()
    assert memory.behind() == []
    for of in INDEXES:
        assert {row["embedder_id"] for row in memory.rows(of.embeddings.name)} == {
            mirrored.embedder_id
        }
    memory.assert_collections_equal_the_lake()
    verified = verify_project(memory.components, memory.harbor)
    assert [made for made in verified if not made.verdict.passed] == []


def test_searches_go_on_before_that_ingest(memory: SampleMemory) -> None:
    """Vectors of one family are compared, whichever of its embedders made them."""
    recall = Memory(memory.settings)
    before = [hit.id for hit in recall.search("flaky test", n=3).hits]
    embedder = memory.engines["embedder"]
    other = type("Renamed", (Mirrored,), {"embed": lambda self, texts: embedder.embed(texts)})
    vars(recall)["embedder"] = other(embedder)
    answer = recall.search("flaky test", n=3)
    assert [hit.id for hit in answer.hits] == before
    assert answer.to_dict()["degraded"] is None
