"""The plan names exactly the projects that have work to do, and why."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from memory_assets.pipeline.plan.plan import derived_reason, plan_each, project_fingerprint
from memory_assets.pipeline.scan.on_disk import find_sources
from memory_assets.stores.catalog.products import HashesByStage
from memory_assets_tests.pipeline.conftest import BEFORE_CHROMA, NEW_TURN, Renamed, SampleMemory


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


def test_a_changed_file_names_its_project_alone(memory: SampleMemory) -> None:
    """With what changed about it."""
    memory.append(memory.flaky, "one more thing", "done")
    (work,) = memory.behind()
    assert (work.project, work.reason) == (memory.harbor, "1 new or changed file")


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


@pytest.mark.parametrize("lose", ["directory", "files"])
def test_a_chroma_directory_that_is_gone_is_work(memory: SampleMemory, lose: str) -> None:
    """Seen by the plan itself, so that sensor and command line both rebuild it."""
    remove: dict[str, Callable[[], Any]] = {
        "directory": lambda: memory.components.chroma_dir.rename(memory.root / "aside"),
        "files": (memory.components.chroma_dir / "chroma.sqlite3").unlink,
    }
    remove[lose]()
    assert {work.reason for work in memory.behind()} == {"session_collection behind turn_chunks"}
    assert len(memory.behind()) == 3


def test_another_chroma_server_is_work(memory: SampleMemory) -> None:
    """What was indexed here is not there; the local one loses nothing by it."""
    memory.reopen(chroma_url="http://127.0.0.1:9")
    assert {work.reason for work in memory.behind()} == {"session_collection behind turn_chunks"}
    memory.reopen()
    assert memory.behind() == []
