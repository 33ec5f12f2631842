"""The plan names exactly the projects that have work to do, and why; of a new chunker, summarizer
or embedder a run makes just what hangs on it."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from memory_assets.pipeline.plan.plan import derived_reason, plan_each, project_fingerprint
from memory_assets.pipeline.scan.on_disk import find_sources
from memory_assets.pipeline.stage.components import Components
from memory_assets.pipeline.stage.versions import note_versions
from memory_assets.pipeline.tables.turn_chunks import CHUNKED, PROMPTED
from memory_assets.recall.memory import Memory
from memory_assets.settings import load_settings
from memory_assets.stores.catalog.products import HashesByStage
from memory_assets_tests.pipeline.conftest import (
    BEFORE_CHROMA,
    INDEXES,
    NEW_TURN,
    Renamed,
    SampleMemory,
)


def _fingerprint(memory: SampleMemory) -> str:
    sources = find_sources(memory.components)[memory.harbor]
    return project_fingerprint(memory.components, memory.harbor, sources)


def test_a_new_memory_has_everything_to_do(fresh: SampleMemory, expected: Any) -> None:
    """Every project, sorted, with the number of its files."""
    works = fresh.behind()
    assert [work.project for work in works] == sorted(expected["projects"])
    assert [work.reason for work in works] == [
        "3 new or changed files",
        "5 new or changed files",
        "2 new or changed files",
    ]


def test_a_finished_memory_has_nothing_to_do(memory: SampleMemory) -> None:
    """And finding that out opens no model and no Chroma, and starts no server."""
    assert memory.behind() == []
    assert "vectors" not in vars(memory.components)
    assert not list(memory.data_dir.glob("chroma.endpoint*"))


def test_each_stage_that_is_behind_is_named_until_it_is_done(memory: SampleMemory) -> None:
    """The reason moves down the stages."""
    memory.append(memory.flaky, *NEW_TURN)
    reasons = []
    for stage in BEFORE_CHROMA:
        memory.run([stage], [memory.harbor])
        reasons.append([work.reason for work in memory.behind()])
    assert reasons == [
        ["1 session to redact"],
        ["turn_chunks behind redacted_records"],
        ["user_prompts behind redacted_records"],
        ["session_summaries behind redacted_records"],
        ["observations behind redacted_records"],
        ["session_commits behind redacted_records"],
        ["retrieved_documents behind redacted_records"],
        ["session_usage behind redacted_records"],
        ["turn_embeddings behind turn_chunks"],
        ["prompt_embeddings behind user_prompts"],
        ["summary_embeddings behind session_summaries"],
        ["observation_embeddings behind observations"],
        ["session_collection behind turn_chunks"],
    ]


def test_a_session_that_another_process_forgets_meanwhile_is_no_work(
    wordy: SampleMemory, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Planning holds no lock: what it read first may be gone when it looks closer."""
    products = wordy.components.catalog.products
    read = products.hashes_by_stage

    def read_before(*asked: Any) -> HashesByStage:
        hashes = read(*asked)
        products.drop("redacted_records", wordy.harbor, wordy.flaky)
        return hashes

    products.drop("session_usage", wordy.harbor, wordy.flaky)
    assert derived_reason(wordy.components, wordy.harbor) == "session_usage behind redacted_records"
    monkeypatch.setattr(products, "hashes_by_stage", read_before)
    assert derived_reason(wordy.components, wordy.harbor) == ""


@pytest.mark.parametrize(
    ("engine", "name", "reason"),
    [
        ("redactor", "ruleset_version", "{} sessions to redact"),
        ("embedder", "embedder_id", "turn_embeddings behind turn_chunks"),
        ("summarizer", "summarizer_id", "session_summaries behind redacted_records"),
    ],
)
def test_a_new_version_of_an_engine_is_work_for_every_project(
    memory: SampleMemory, expected: Any, engine: str, name: str, reason: str
) -> None:
    """What it made is behind, in all projects, though no file changed."""
    before = _fingerprint(memory)
    memory.reopen(**{engine: Renamed(memory.engines[engine], **{name: "another"})})
    assert {work.project: work.reason for work in memory.behind()} == {
        project: reason.format(len(facts["sessions"]))
        for project, facts in expected["projects"].items()
    }
    assert _fingerprint(memory) != before


def test_the_fingerprint_names_the_work(memory: SampleMemory) -> None:
    """Same files, same fingerprint; one more line in one of them, another."""
    before = _fingerprint(memory)
    assert _fingerprint(memory) == before
    memory.append(memory.flaky, "one more thing", "done")
    assert memory.behind()[0].fingerprint == _fingerprint(memory) != before


def test_a_search_that_stops_early_goes_on_where_it_stopped(fresh: SampleMemory) -> None:
    """`plan_each` begins behind the project it is given, and comes round to it again."""
    sources = find_sources(fresh.components)
    names = [name for name, _ in plan_each(fresh.components, sources)]
    assert names == sorted(names) and len(names) == 3
    again = [name for name, _ in plan_each(fresh.components, sources, after=names[0])]
    assert again == [names[1], names[2], names[0]]


def test_another_chroma_server_is_work(memory: SampleMemory) -> None:
    """What was indexed here is not there; the local one loses nothing by it."""
    memory.reopen(chroma_url="http://127.0.0.1:9")
    assert {work.reason for work in memory.behind()} == {"session_collection behind turn_chunks"}
    memory.reopen()
    assert memory.behind() == []


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
    """Every project is behind, for that reason, until it is run. No file is read or redacted again,
    no summary, observation or commit made again, and no text that stayed the same embedded: its
    vector, and its row in Chroma, stay."""
    fingerprints = {work.project: work.fingerprint for work in memory.behind()}
    assert {work.reason for work in memory.behind()} == {"turn_chunks behind redacted_records"}
    assert fingerprints.keys() == set(memory.projects())
    untouched = ("redacted_records", "redaction_audit", "session_summaries", "observations")
    before = {table: _files_of(memory, table) for table in untouched}
    vectors = {row["id"]: row["vector"] for row in memory.rows("turn_embeddings")}
    others = fingerprints.keys() - {LANTERN}
    first = memory.run(projects=[LANTERN])
    assert {work.project for work in memory.behind()} == others
    memory.reports = first | memory.run(projects=sorted(others))
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
