"""Somebody else's file with the ids of a session takes nothing from it: a record is a copy of
another one only if it says the same."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path

import pytest

from memory_assets.pipeline.checks.source_turns import count_sources
from memory_assets.pipeline.removal.forget import forget
from memory_assets.pipeline.removal.selection import Selection, select
from memory_assets.recall import open_memory
from memory_assets_tests.pipeline.conftest import SampleMemory
from memory_assets_tests.pipeline.retaining import assert_all_holds

FORGED = "00000000-0000-4000-8000-00000000f0f0"
TEXT = "the aardvark of the forged session"


def _forge(memory: SampleMemory, session_id: str) -> Path:
    """An older file with the ids of a session: another name, time and text."""
    lines = [json.loads(line) for line in memory.path(session_id).read_text().splitlines()]
    own = {"type": "user", "uuid": FORGED, "timestamp": "2020-01-01T00:00:00.000Z"}
    said = {"role": "user", "content": f"{TEXT} began"}
    forged = [{**own, "sessionId": FORGED, "message": said}]
    for number, line in enumerate(line for line in lines if line.get("uuid")):
        line |= {"sessionId": FORGED, "timestamp": f"2020-01-01T00:{number // 60:02}:00.000Z"}
        if line["type"] in ("user", "assistant"):
            said = {"role": line["type"], "content": f"{TEXT}, number {number}"}
            forged.append({**line, "message": said})
    path = memory.path(session_id).with_name(f"{FORGED}.jsonl")
    path.write_text("".join(json.dumps(line) + "\n" for line in forged))
    return path


@pytest.mark.parametrize(
    "first",
    [
        "the forged one",
        pytest.param("the session", marks=pytest.mark.long),
        pytest.param("both", marks=pytest.mark.long),
    ],
)
def test_an_older_file_with_the_same_ids_takes_no_text_away(
    memory: SampleMemory, fresh: SampleMemory, first: str
) -> None:
    """Whichever comes first, both are in memory and found, every id in the tables and the
    collections is there once, nothing is left to be done, and the verification passes."""
    made = memory if first == "the session" else fresh.without_vectors()
    path = made.path(made.flaky)
    before = memory.rows("turn_chunks", memory.harbor)
    forged = _forge(made, made.flaky)
    if first == "the forged one":
        aside = {each: each.read_text() for each in (path, made.path(made.fork))}
        for each in aside:
            each.unlink()
        made.run()
        for each, text in aside.items():
            each.write_text(text)
    made.run()

    after = made.rows("turn_chunks", made.harbor)
    told = {row["id"]: row["text"] for row in after}
    assert {row["id"]: row["text"] for row in before}.items() <= told.items()
    of_forged = [row["text"] for row in after if row["session_id"] == FORGED]
    assert sum(text.count("aardvark") for text in of_forged) > 10
    for table in ("turn_chunks", "user_prompts", "observations", "session_summaries"):
        ids = Counter(row["id"] for row in made.rows(table))
        assert ids.most_common(1)[0][1] == 1
    assert_all_holds(made)
    asked = open_memory(made.settings)
    own = next(row for row in before if row["session_id"] == made.flaky)
    for session_id, text in ((FORGED, TEXT), (made.flaky, own["text"])):
        hits = asked.search(text, n=10).hits
        assert any(session_id in hit.id for hit in hits)
    counted = count_sources(made.components, made.projects())
    assert counted.gaps == []
    assert forged.exists()


def test_forgetting_a_forged_file_leaves_the_session_whole(wordy: SampleMemory) -> None:
    """Its tombstones name the ids of both; only what it said is kept away."""
    before = wordy.rows("turn_chunks", wordy.harbor)
    _forge(wordy, wordy.flaky)
    wordy.run()
    chosen = select(wordy.components, Selection(session=FORGED))
    forget(wordy.components, chosen, erase_traces=lambda names: 0)
    wordy.run()
    assert wordy.rows("turn_chunks", wordy.harbor) == before
    wordy.path(wordy.flaky).touch()
    wordy.components.catalog.products.forget_project(wordy.harbor)
    wordy.run()
    assert wordy.rows("turn_chunks", wordy.harbor) == before
