"""A search returns all that matches and nothing else, best first, one hit a turn."""

from __future__ import annotations

import json
from collections.abc import Callable
from contextlib import ExitStack, closing
from datetime import UTC, datetime
from pathlib import Path
from threading import Timer
from typing import Any

import numpy as np
import pytest
from filelock import FileLock

from memory_assets.errors import ConfigurationError, NotFound, StoreMismatch
from memory_assets.recall import Memory, open_memory
from memory_assets.recall.search.answer import Answer
from memory_assets.recall.search.excerpts import lists_calls
from memory_assets.requests.search import KINDS, SearchRequest
from memory_assets.settings import load_settings
from memory_assets.stores.keyword_index.files import FILE_NAME, open_for_writing
from memory_assets.stores.under_way import IndexedProjects, ingest_under_way, ingesting
from memory_assets.stores.vector_store import CollectionVersions
from memory_assets_tests.recall.conftest import Asked
from memory_assets_tests.sweep import sweep

ANYTHING = "what did we change"
QUESTIONS = {
    "why did the daily report test fail": "3d0f6a52",
    "what blocked the migration": "c27e5d90",
    "why was the email worker killed": "019dd3a0",
    "why does login loop in Safari": "5c8e7a13",
    "which lock file is stale": "71b3e8c6",
}


def _turns(answer: Answer) -> set[str]:
    return {hit.turn_id for hit in answer.hits}


def _matching(asked: Asked, passes: Callable[..., bool]) -> set[str]:
    """By brute force over the lake: the turns with a passage that passes."""
    return {row["turn_id"] for row in asked.rows("turn_chunks") if passes(row)}


@pytest.mark.parametrize("question", QUESTIONS)
def test_a_question_about_the_sample_finds_its_session(asked: Asked, question: str) -> None:
    """Among the first three hits."""
    hits = asked.memory.search(question, n=3).hits
    assert any(QUESTIONS[question] in hit.id for hit in hits)


@sweep("question", [*QUESTIONS, "lighthouse lamp", "git push"])
def test_by_meaning_the_best_passage_of_a_turn_decides(asked: Asked, question: str) -> None:
    """In semantic mode: ids, scores and texts equal a brute-force ranking over the lake's own
    vectors."""
    query = asked.components.embedder.embed([question])[0]
    turn_of = {row["id"]: row for row in asked.rows("turn_chunks")}
    best: dict[str, tuple[float, str]] = {}
    for row in asked.rows("turn_embeddings"):
        score = float(np.asarray(row["vector"], np.float32) @ query)
        turn = turn_of[row["id"]]["turn_id"]
        best[turn] = max(best.get(turn, (-1.0, "")), (score, row["id"]))
    wanted = sorted(best.values(), reverse=True)[:10]
    hits = asked.memory.search(question, n=10, mode="semantic").hits
    assert np.allclose([hit.score for hit in hits], [score for score, _ in wanted], atol=1e-3)
    assert {hit.id for hit in hits[:9]} <= {row_id for _, row_id in wanted}
    for hit in hits:
        assert hit.text == turn_of[hit.id]["text"]
        assert hit.turn_id == turn_of[hit.id]["turn_id"]


def test_without_a_filter_every_turn_can_be_found(asked: Asked) -> None:
    """Each once, however many passages it has."""
    hits = asked.memory.search(ANYTHING, n=200).hits
    everything = _matching(asked, lambda row: True)
    assert len(hits) == len(everything)
    assert {hit.turn_id for hit in hits} == everything


@pytest.mark.parametrize("n", [1, 2, 5, 10])
def test_a_turn_of_many_passages_does_not_crowd_out_the_others(asked: Asked, n: int) -> None:
    """Seventy of the nearest passages are of one turn: the answer still has `n` turns."""
    for filters in ({}, {"project": asked.harbor}, {"until": datetime(2026, 12, 1, tzinfo=UTC)}):
        hits = asked.memory.search("tending the lamp of the lighthouse", n=n, **filters).hits
        assert len({hit.turn_id for hit in hits}) == len(hits) == n
        assert hits[0].turn_id == f"session::{asked.long_session}::turn::0"


@pytest.mark.parametrize("name", ["project", "agent"])
def test_a_filter_by_project_or_agent_returns_all_of_it_and_nothing_else(
    asked: Asked, name: str
) -> None:
    """For every value on record."""
    values = {row[name] for row in asked.rows("turn_chunks")}
    assert len(values) == 3
    for value in values:
        found = asked.memory.search(ANYTHING, n=200, **{name: value})
        assert _turns(found) == _matching(asked, lambda row, value=value: row[name] == value)
        assert {hit.metadata[name] for hit in found.hits} == {value}


def test_since_is_inclusive_and_until_is_not(asked: Asked) -> None:
    """At the very moments at which turns began; turns of unknown time match neither."""
    moments = {row["timestamp"] for row in asked.rows("turn_chunks")} - {None}
    for moment in sorted(moments)[::3]:
        since = asked.memory.search(ANYTHING, n=200, since=moment)
        until = asked.memory.search(ANYTHING, n=200, until=moment)

        def known(row: dict[str, Any]) -> bool:
            return row["timestamp"] is not None

        assert _turns(since) == _matching(
            asked, lambda row, at=moment: known(row) and row["timestamp"] >= at
        )
        assert _turns(until) == _matching(
            asked, lambda row, at=moment: known(row) and row["timestamp"] < at
        )


def test_a_filter_by_tool_sees_each_of_several_tools(asked: Asked) -> None:
    """In any case of letters; a part of a name is not the name."""
    tools = {tool for row in asked.rows("turn_chunks") for tool in row["tools_used"]}
    assert {"Bash", "Edit"} <= tools
    for tool in tools:
        found = asked.memory.search(ANYTHING, n=200, tool=tool.upper())
        assert _turns(found) == _matching(
            asked, lambda row, tool=tool: tool.lower() in map(str.lower, row["tools_used"])
        )
    assert asked.memory.search(ANYTHING, tool="Bas").hits == ()


def test_a_filter_by_file_takes_a_path_or_the_end_of_one(asked: Asked) -> None:
    """Whole parts of the path only: `b.py` is not the end of `ab.py`."""
    paths = {path for row in asked.rows("turn_chunks") for path in row["files"] if path[-1] != "/"}
    assert len(paths) > 5
    for path in sorted(paths)[::2]:
        wanted = _matching(asked, lambda row, path=path: path in row["files"])
        assert _turns(asked.memory.search(ANYTHING, n=200, file=path)) >= wanted
        name = path.rpartition("/")[2]
        by_name = _matching(
            asked,
            lambda row, name=name: any(
                other == name or other.endswith(f"/{name}") for other in row["files"]
            ),
        )
        assert _turns(asked.memory.search(ANYTHING, n=200, file=name)) == by_name
        assert _turns(asked.memory.search(ANYTHING, n=200, file=f"./{name}")) == by_name
        assert asked.memory.search(ANYTHING, n=200, file=f"no-such-{name}").hits == ()


def test_filters_hold_together(asked: Asked) -> None:
    """Project, agent, time, tool and file at once: only what passes all of them."""
    middle = datetime(2026, 4, 15, tzinfo=UTC)
    given: list[dict[str, Any]] = [
        {"project": asked.harbor, "agent": "codex"},
        {"agent": "claude-code", "tool": "Edit", "until": middle},
        {"project": asked.harbor, "until": middle, "file": "days.py"},
        {"project": "-Users-jonas-work-tidepool-web", "since": middle, "agent": "claude-code"},
    ]
    for filters in given:
        alone = [
            _turns(asked.memory.search(ANYTHING, n=200, **{name: value}))
            for name, value in filters.items()
        ]
        both = _turns(asked.memory.search(ANYTHING, n=200, **filters))
        assert both == set.intersection(*alone) and both, filters


def test_other_collections_of_a_shared_chroma_are_left_alone(copied: Callable[..., Memory]) -> None:
    """Though one is named like ours, and its vectors are of another model."""
    memory = copied()
    before = memory.search(ANYTHING, n=5).to_dict()
    memory.vectors.open("their-sessions", CollectionVersions("other-model", 384, "", ""))
    assert memory.search(ANYTHING, n=5).to_dict() == before


def test_prompts_and_summaries_are_found_by_their_kind(asked: Asked) -> None:
    """Ids, texts and turns as in their tables; one hit a prompt, however long."""
    prompts = asked.memory.search(ANYTHING, kinds=("prompts",), n=200).hits
    rows = {row["id"]: row for row in asked.rows("user_prompts")}
    assert {hit.turn_id for hit in prompts} == {row["turn_id"] for row in rows.values()}
    assert all(hit.text == rows[hit.id]["text"] for hit in prompts)
    summaries = asked.memory.search(ANYTHING, kinds=("summaries",), n=200).hits
    wanted = {row["id"]: row["title"] for row in asked.rows("session_summaries")}
    assert {hit.id: hit.metadata["title"] for hit in summaries} == wanted


def test_observations_are_found_by_their_kind(asked: Asked) -> None:
    """Each one a hit of its own. Coverage counts observations and nothing else."""
    memory = asked.memory
    rows = {row["id"]: row for row in asked.rows("observations")}
    assert len(rows) > 1
    answer = memory.search(ANYTHING, kinds=("observations",), n=200)
    assert {hit.id: hit.text for hit in answer.hits} == {
        row["id"]: row["text"] for row in rows.values()
    }
    for hit in answer.hits:
        assert hit.turn_id == rows[hit.id]["turn_id"]
        assert hit.metadata["type"] == rows[hit.id]["type"]
    assert answer.coverage.rows == answer.coverage.indexed == len(rows)
    assert answer.degraded is None
    assert answer.hits[0].id == memory.search(ANYTHING, kinds=("observations",), n=1).hits[0].id


@pytest.mark.parametrize("given", [{}, {"type": "change"}, {"concept": "what-changed"}])
@pytest.mark.parametrize("n", [1, 3, 200])
def test_the_newest_observations_are_found_in_the_newest_sessions(
    asked: Asked, monkeypatch: pytest.MonkeyPatch, given: dict[str, str], n: int
) -> None:
    """As among all rows; sessions that ended before the last of them began are not read."""
    rows = [
        row
        for row in asked.rows("observations")
        if row["type"] == given.get("type", row["type"])
        and ("concept" not in given or given["concept"] in row["concepts"])
    ]
    first = datetime.min.replace(tzinfo=UTC)
    rows.sort(key=lambda row: row["id"])
    rows.sort(key=lambda row: row["timestamp"] or first, reverse=True)
    read: list[str] = []
    lake = asked.memory.lake
    read_rows = lake.read_rows

    def noted(table: Any, project: str, session_id: str) -> list[Any]:
        read.append(session_id)
        return read_rows(table, project, session_id)

    monkeypatch.setattr(lake, "read_rows", noted)
    answer = asked.memory.search(SearchRequest(kinds=("observations",), n=n, **given))  # type: ignore[arg-type]
    assert [hit.id for hit in answer.hits] == [row["id"] for row in rows[:n]]
    if n == 1:
        assert len(read) < len({row["session_id"] for row in asked.rows("observations")})


def test_observations_that_go_meanwhile_are_left_out(asked: Asked, copied: Any) -> None:
    """A session that is being forgotten may be in the catalogue still."""
    memory, (row, *_) = copied(), asked.rows("observations")
    memory.lake.remove_sessions(row["project"], [row["session_id"]])
    answer = memory.search(SearchRequest(kinds=("observations",), type=row["type"], n=200))
    assert row["session_id"] not in {hit.metadata["session_id"] for hit in answer.hits}


def test_observations_of_a_file_are_those_that_read_or_changed_it(asked: Asked) -> None:
    """By a path or the end of one; nothing older than a window is left out in silence."""
    rows = {row["id"]: row for row in asked.rows("observations")}
    paths = {path for row in rows.values() for path in row["files_modified"]}
    assert paths
    for path in paths:
        wanted = {
            row["id"]
            for row in rows.values()
            if path in row["files_modified"] or path in row["files_read"]
        }
        given: dict[str, Any] = {"kinds": ("observations",), "file": path, "n": 200}
        answer = asked.memory.search(ANYTHING, **given)
        assert wanted <= {hit.id for hit in answer.hits}
        recent = asked.memory.search(ANYTHING, recent=True, **given)
        assert len(recent.hits) + recent.older == len(answer.hits)
    with pytest.raises(ConfigurationError, match="not by keywords"):
        asked.memory.search(ANYTHING, kinds=("observations",), file=path, mode="keyword")


def test_all_kinds_together_are_ranked_together(documented: Memory) -> None:
    """A turn, its prompt, its session's summary, what was observed in it and documents are hits
    of their own, in order of score."""
    kinds = KINDS
    together = documented.search("why does login loop in Safari", kinds=kinds, n=200).hits
    apart = [
        hit
        for kind in kinds
        for hit in documented.search("why does login loop in Safari", kinds=(kind,), n=200).hits
    ]
    assert sorted(hit.id for hit in together) == sorted(hit.id for hit in apart)
    scores = [hit.score for hit in together]
    assert scores == sorted(scores, reverse=True)
    assert {hit.id.partition("::")[0] for hit in together[:5]} >= {"session", "prompt"}


@sweep("question", [*QUESTIONS, "how does one keep a lighthouse?"])
def test_a_hit_knows_how_much_of_it_is_the_prompt(asked: Asked, question: str) -> None:
    """The length of the prompt's passage that it begins with; 0 if the reply begins it."""
    prompts = {row["id"]: str(row["text"]) for row in asked.rows("user_prompts")}
    lengths = []
    for hit in asked.memory.search(question).hits:
        name = hit.id.replace("session::", "prompt::").replace("turn::", "").replace("part::", "")
        begins = hit.metadata["role"] != "assistant" and hit.text.startswith(prompts[name])
        assert hit.prompt_length == (len(prompts[name]) if begins else 0)
        lengths.append(hit.prompt_length)
    assert any(lengths)


def test_a_hit_says_what_another_passage_of_its_turn_does(asked: Asked) -> None:
    """Of the first, and of others that list calls alone; not what stands in the passage that is
    shown."""
    passages: dict[str, dict[str, str]] = {}
    for row in asked.rows("turn_chunks"):
        passages.setdefault(row["turn_id"], {})[row["id"]] = " ".join(str(row["text"]).split())
    said = []
    for question in QUESTIONS:
        first, *later = asked.memory.search(question).hits
        told = [hit for hit in later if not lists_calls(hit.text[hit.prompt_length :])]
        assert not any(hit.beside for hit in told)
        said.append(first.beside)
        others = [text for each, text in passages[first.turn_id].items() if each != first.id]
        assert not first.beside or any(first.beside[:40] in text for text in others)
    assert any(said)


def test_the_answer_is_the_contract_in_json(asked: Asked) -> None:
    """The keys that scripts rely on, with scalar metadata, and nothing JSON cannot hold."""
    answer = asked.memory.search("why does login loop in Safari", n=2).to_dict()
    assert json.loads(json.dumps(answer)) == answer
    about = "query mode filters coverage degraded reason older machine weak corrected missing hits"
    assert " ".join(answer) == about
    assert answer["query"] == "why does login loop in Safari"
    counts = "sessions turns rows indexed quarantined as_of ingest waiting held_back complete"
    assert answer["coverage"].keys() == set(counts.split())
    for hit in answer["hits"]:
        own = "id turn_id score weak text prompt_length beside metadata why later"
        assert " ".join(hit) == own
        assert type(hit["text"]) is str
        said = "session_id turn_index part role timestamp ts_epoch project project_root agent"
        said += " tools_used files git_branch ingested_at"
        assert set(said.split()) <= hit["metadata"].keys()
        assert all(isinstance(value, str | int | float) for value in hit["metadata"].values())
        assert hit["metadata"]["timestamp"].endswith("Z")


def test_a_request_that_makes_no_sense_costs_nothing(asked: Asked) -> None:
    """It is refused before the model or Chroma is opened."""
    memory = open_memory(asked.settings)
    with pytest.raises(ConfigurationError):
        memory.search("", n=1)
    assert "embedder" not in vars(memory)


def test_nothing_ingested_is_not_found(tmp_path: Any) -> None:
    """The error names the directory and the command; nothing is made there."""
    with pytest.raises(NotFound, match="run `memory ingest` first"):
        open_memory(load_settings(data_dir=tmp_path / "empty"))
    assert not (tmp_path / "empty").exists()


def test_a_kind_that_is_not_indexed_yet_is_named(copied: Callable[..., Memory]) -> None:
    """And the other kinds, of which a search may be under way, can be found as before."""
    memory = copied()
    session = memory.search(ANYTHING, mode="keyword").hits[0].metadata
    key = (session["project"], session["session_id"])
    titles = memory.searcher.titles([key])
    with closing(open_for_writing(memory.data_dir / FILE_NAME)) as index:
        index.remove(memory.catalog.products.of_stage("user_prompts"), "prompts")
    with pytest.raises(NotFound, match=r"nothing of this kind .* run `memory ingest`"):
        memory.search(ANYTHING, kinds=("prompts",))
    assert titles and memory.searcher.titles([key]) == titles


def test_vectors_of_another_model_are_not_compared(copied: Callable[..., Memory]) -> None:
    """The error names the setting and the command."""
    memory = copied()

    class Other:
        embedder_id = "another"

        def __getattr__(self, name: str) -> Any:
            return getattr(Memory(memory.settings).embedder, name)

    vars(memory)["embedder"] = Other()
    with pytest.raises(StoreMismatch, match=r"MEMORY_EMBEDDER.*memory ingest"):
        memory.search(ANYTHING)


def test_an_answer_says_how_far_an_ingest_under_way_has_come(asked: Any) -> None:
    """In the coverage, while the ingest lasts; of one that was killed, nothing is said."""
    progress = IndexedProjects(projects=52, words=12)
    with ingesting(asked.settings.data_dir, progress):
        meanwhile = asked.memory.search(ANYTHING).to_dict()["coverage"]
    assert meanwhile["ingest"].endswith("12 of 52 projects can be found, by its words")
    (asked.settings.data_dir / "ingest.json").write_text('{"projects": 52}')
    assert asked.memory.search(ANYTHING).coverage.ingest == ""
    (asked.settings.data_dir / "ingest.json").unlink()


def test_a_search_that_looks_for_an_ingest_does_not_silence_the_next_one(tmp_path: Path) -> None:
    """It tries the lock, and has it for a moment if no ingest is there."""
    with ExitStack() as looking:
        looking.enter_context(FileLock(tmp_path / "ingest.lock", thread_local=False))
        ends = Timer(0.1, looking.close)
        ends.start()
        with ingesting(tmp_path, IndexedProjects(projects=52)):
            assert ingest_under_way(tmp_path) == IndexedProjects(projects=52)
        ends.join()
