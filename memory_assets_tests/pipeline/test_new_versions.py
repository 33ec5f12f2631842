"""A new chunker or summarizer: the plan marks what hangs on it, and a run makes just that
again. This is why no automation condition is set: what is out of date is known by session,
where a condition would know a partition, and ask for a second run of it."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from memory_assets.pipeline.checks.checks import verify_project
from memory_assets.pipeline.stage.components import Components
from memory_assets.pipeline.stage.versions import note_versions
from memory_assets.pipeline.tables.turn_chunks import CHUNKED, PROMPTED
from memory_assets.recall.memory import Memory
from memory_assets.settings import load_settings
from memory_assets_tests.pipeline.conftest import INDEXES, SampleMemory

LANTERN = "-home-mara-code-lantern"
OF_CHUNKER = {"turn_chunks", "user_prompts", "turn_embeddings", "prompt_embeddings"}
OF_CHUNKER |= {"session_collection", "prompt_collection", "keyword_index"}


@pytest.fixture
def new_chunker(monkeypatch: pytest.MonkeyPatch) -> None:
    """The chunker under another version, as a release would bring it."""
    for derived in (CHUNKED, PROMPTED):
        monkeypatch.setitem(vars(derived), "code_version", "next")
    for module in ("pipeline.stage.components", "chunking.chunks"):
        monkeypatch.setattr(f"memory_assets.{module}.CHUNKER_VERSION", "next")


def test_a_damaged_note_of_versions_is_written_anew(tmp_path: Path) -> None:
    """It is for `memory status` alone, and stops no ingest."""
    components = Components(load_settings(data_dir=tmp_path, embedder="none"))
    note_versions(components)
    noted = tmp_path / "versions.json"
    whole = noted.read_bytes()
    noted.write_bytes(whole.replace(b"m", b"\xed", 1))
    note_versions(components)
    assert noted.read_bytes() == whole


def _files_of(memory: SampleMemory, table: str) -> dict[str, int]:
    return {name: at for name, at in memory.lake_files().items() if f"lake/{table}/" in name}


def _changed(memory: SampleMemory) -> set[str]:
    return {stage for (stage, _), report in memory.reports.items() if report.changed}


def test_a_new_chunker_remakes_chunks_and_what_follows_and_nothing_else(
    memory: SampleMemory, new_chunker: None
) -> None:
    """Every project is behind, for that reason. No file is read or redacted again, no summary,
    observation or commit made again, and no text that stayed the same embedded: its vector,
    and its row in Chroma, stay."""
    fingerprints = {work.project: work.fingerprint for work in memory.behind()}
    assert {work.reason for work in memory.behind()} == {"turn_chunks behind redacted_records"}
    assert fingerprints.keys() == set(memory.projects())
    untouched = ("redacted_records", "redaction_audit", "session_summaries", "observations")
    before = {table: _files_of(memory, table) for table in untouched}
    vectors = {row["id"]: row["vector"] for row in memory.rows("turn_embeddings")}
    memory.run()
    assert _changed(memory) - OF_CHUNKER == set()
    assert {"turn_chunks", "user_prompts"} <= _changed(memory)
    sessions = sum(memory.reports["turn_chunks", name].changed for name in memory.projects())
    assert sessions == 9
    embedded = [
        memory.reports[of.embeddings.name, name].details.get("texts_embedded", 0)
        for of in INDEXES
        for name in memory.projects()
    ]
    assert set(embedded) == {0}
    assert {table: _files_of(memory, table) for table in untouched} == before
    assert {row["id"]: row["vector"] for row in memory.rows("turn_embeddings")} == vectors
    assert memory.behind() == []
    memory.assert_collections_equal_the_lake()


def test_a_partition_that_has_it_already_is_left_alone(
    memory: SampleMemory, new_chunker: None
) -> None:
    """After one project's run the others are behind, and it is not; and the work has another
    name than under the old version, so that the sensor asks for it under a new key."""
    memory.run(projects=[LANTERN])
    assert LANTERN not in {work.project for work in memory.behind()}
    assert len(memory.behind()) == 2


def test_a_new_summarizer_remakes_summaries_alone(
    memory: SampleMemory, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With what follows; no chunk, no prompt, no observation."""
    kind: Any = type(memory.components.summarizer)
    monkeypatch.setattr(kind, "summarizer_id", "extractive-next")
    memory.run()
    assert _changed(memory) <= {
        "session_summaries",
        "summary_embeddings",
        "summary_collection",
        "keyword_index",
    }
    assert memory.behind() == []


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
