"""What lies behind an id, how much of it can be found, and what is in memory at all."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import pytest

from memory_assets.errors import NotFound
from memory_assets.pipeline.stage.components import Components
from memory_assets.recall import Memory
from memory_assets.recall.search.answer import coverages
from memory_assets.requests.search import KINDS
from memory_assets.serving.answer_lines import search_notes
from memory_assets.status.words import chroma_notes, in_words
from memory_assets.stores.catalog.schema import HELD_BY_CHECK, Quarantined
from memory_assets.stores.chroma import server as chroma_server
from memory_assets_tests.pipeline.conftest import UP_TO_SUMMARIES, run_stages
from memory_assets_tests.recall.conftest import HARBOR, REPORTS, Asked, components_of

FORK = "9a6b1f04-27d5-4c38-b0e9-f14d2a7c5e60"


def _numbers(turns: list[dict[str, Any]]) -> list[int]:
    return [turn["turn_index"] for turn in turns]


@pytest.mark.parametrize("table", ["observations", "session_commits"])
def test_what_was_derived_is_shown_by_its_id(asked: Asked, table: str) -> None:
    """An observation or a commit with all that is known of it; `around` adds the turns that
    it stands among. Its times are text, as everywhere."""
    for row in asked.rows(table):
        (shown,) = asked.memory.show(row["id"])
        assert shown["id"] == row["id"] and shown["turn_id"] == row["turn_id"]
        assert json.loads(json.dumps(shown)) == shown
        same, *turns = asked.memory.show(row["id"], around=1)
        assert same == shown
        assert turns == asked.memory.show(row["turn_id"], around=1)
    with pytest.raises(NotFound, match=r"memory summarize.*MCP: `summarize_session"):
        asked.memory.show(f"{row['id']}0")


def test_every_id_of_a_turn_shows_the_whole_turn(asked: Asked) -> None:
    """The turn's, a passage's and the prompt's; all passages, in order."""
    turn_id = f"session::{asked.long_session}::turn::0"
    passages = [row["text"] for row in asked.rows("turn_chunks") if row["turn_id"] == turn_id]
    assert len(passages) > 20
    for any_id in (turn_id, f"{turn_id}::part::7", f"prompt::{asked.long_session}::0"):
        (turn,) = asked.memory.show(any_id)
        assert turn["id"] == turn_id
        assert turn["passages"] == passages


def test_a_turn_is_shown_with_what_was_done_in_it(asked: Asked) -> None:
    """Where and when, and the tools, files, commands and errors; fit for JSON."""
    (turn,) = asked.memory.show(f"session::{REPORTS}::turn::0")
    assert json.loads(json.dumps(turn)) == turn
    assert turn["project"] == asked.harbor
    assert turn["agent"] == "claude-code"
    assert turn["timestamp"].startswith("2026-03-30T07:52:56")
    assert "Bash" in turn["tools_used"]
    assert turn["commands"]
    (timeless,) = asked.memory.show(f"session::{asked.long_session}::turn::2")
    assert timeless["timestamp"] is None


@pytest.mark.parametrize(
    ("turn", "around", "shown"),
    [(0, 0, [0]), (0, 1, [0, 1]), (2, 1, [1, 2, 3]), (3, 2, [1, 2, 3]), (1, 9, [0, 1, 2, 3])],
)
def test_around_adds_the_turns_before_and_after(
    asked: Asked, turn: int, around: int, shown: list[int]
) -> None:
    """As far as there are any."""
    assert _numbers(asked.memory.show(f"session::{REPORTS}::turn::{turn}", around)) == shown


def test_a_forks_turns_keep_their_numbers(asked: Asked) -> None:
    """Turn 0 is the original's; the fork has its own from 1 on."""
    assert _numbers(asked.memory.show(f"session::{FORK}::turn::1", 5)) == [1, 2]
    with pytest.raises(NotFound, match="no turn 0"):
        asked.memory.show(f"session::{FORK}::turn::0")


def test_a_summary_or_a_session_shows_the_summary(asked: Asked) -> None:
    """The same row of session_summaries by either id, its times as text."""
    (row,) = [row for row in asked.rows("session_summaries") if row["session_id"] == REPORTS]
    row |= {name: row[name].isoformat() for name in ("started_at", "ended_at")}
    assert asked.memory.show(f"summary::{REPORTS}") == [row] == asked.memory.show(REPORTS)


def test_coverage_is_incomplete_while_a_row_is_missing(copied: Callable[..., Memory]) -> None:
    """A session's words are not in the keyword index yet: the answer says so, and comes."""
    memory = copied()
    components = components_of(memory)
    (product,) = [
        made
        for made in components.catalog.products.of_stage("sessions_keywords").values()
        if made.session_id == REPORTS
    ]
    components.catalog.products.drop("sessions_keywords", product.project, REPORTS)
    answer = memory.search("why did the report fail", n=3)
    assert len(answer.hits) == 3
    assert not answer.coverage.complete
    assert answer.coverage.rows - answer.coverage.indexed == product.rows
    assert answer.to_dict()["coverage"]["complete"] is False
    assert coverages(memory.catalog, ("prompts",))[1].complete


_TIDEPOOL = "-Users-jonas-work-tidepool-web"


@pytest.mark.parametrize(
    ("stage", "arguments", "concerned"),
    [
        ("redacted_records", {}, True),
        ("redacted_records", {"project": HARBOR}, True),
        ("redacted_records", {"project": _TIDEPOOL}, False),
        ("redacted_records", {"session": REPORTS}, True),
        ("redacted_records", {"agent": "codex"}, False),
        ("redacted_records", {"since": "2026-03-30"}, True),
        ("redacted_records", {"since": "2026-05-01"}, False),
        ("redacted_records", {"until": "2026-03-01"}, False),
        ("raw_sessions", {"since": "2026-05-01"}, True),
        (HELD_BY_CHECK, {}, True),
        ("observations", {}, False),
        ("observations", {"kinds": ("observations",)}, True),
        ("session_summaries", {"kinds": ("sessions", "prompts")}, False),
    ],
)
def test_what_is_held_back_is_told_where_it_concerns_the_search(
    copied: Callable[..., Memory], stage: str, arguments: dict[str, Any], concerned: bool
) -> None:
    """By the filters, and by the stages that the kinds searched are made of; with reason and
    remedy."""
    memory = copied()
    entry = Quarantined(HARBOR, REPORTS, stage, "h", "ValueError", remedy="wait")
    memory.catalog.quarantine.hold(entry)
    for name in ("since", "until"):
        if name in arguments:
            arguments |= {name: datetime.fromisoformat(arguments[name]).replace(tzinfo=UTC)}
    answer = memory.search("zones", mode="keyword", **arguments).to_dict()
    assert answer["coverage"]["quarantined"] == int(concerned)
    lines = [line for line in search_notes(answer) if line.startswith("held back")]
    assert len(lines) == int(concerned)
    assert all(line.endswith("ValueError; to do: wait") and REPORTS in line for line in lines)


def test_a_chroma_that_is_gone_is_told_by_status_as_by_a_search(
    copied: Callable[..., Memory],
) -> None:
    """The same words; and not everything can be found."""
    memory = copied()
    chroma_server.stop(memory.data_dir)
    shutil.rmtree(memory.data_dir / "chroma")
    answer = memory.search("why did the report fail")
    told = memory.status()
    assert told["chroma"]["state"] == "gone"
    assert f"{answer.degraded}: {answer.reason}" in chroma_notes(told)
    assert not any(well for well, _ in in_words(told["coverage"]))
    assert {each["indexed"] for each in told["coverage"].values()} == {0}


def test_a_new_turn_makes_coverage_incomplete_until_it_is_indexed(
    copied: Callable[..., Memory], asked: Asked
) -> None:
    """Whichever stages have run, rows of the lake are what is compared."""
    memory = copied()
    components = Components(replace(asked.settings, data_dir=memory.data_dir))
    components.opened["install_key"] = asked.components.install_key  # under another, tags differ
    (projects,) = asked.settings.transcript_roots()["claude-code"]
    path = projects / asked.harbor / f"{FORK}.jsonl"
    before = path.read_text()
    line = json.loads(before.splitlines()[1])
    line |= {"uuid": "f" * 32, "message": {"role": "user", "content": "and one thing more"}}
    try:
        path.write_text(before + json.dumps(line) + "\n")
        run_stages(components, UP_TO_SUMMARIES[:3], asked.harbor)
    finally:
        path.write_text(before)
    covered = coverages(memory.catalog, ("sessions",))[1]
    assert covered.turns == 33
    assert (covered.rows - covered.indexed, covered.complete) == (1, False)


def test_status_tells_what_is_in_memory_without_opening_chroma(
    copied: Callable[..., Memory],
) -> None:
    """Sessions and files by agent and project, sizes, coverage by kind, Chroma's state."""
    memory = copied()
    status = memory.status()
    assert json.loads(json.dumps(status)) == status
    assert {name: facts["sessions"] for name, facts in status["agents"].items()} == {
        "claude-code": 8,
        "codex": 2,
        "pi": 1,
    }
    assert sum(facts["files"] for facts in status["projects"].values()) == 12
    assert tuple(status["coverage"]) == KINDS
    assert all(covered["complete"] for covered in status["coverage"].values())
    assert status["chroma"]["state"] == "stopped"
    assert status["chroma"]["bytes"] > 0
    assert status["lake_bytes"] > 0
    assert chroma_server.running(memory.data_dir) is None
    assert memory.vectors.names()
    running = memory.status()["chroma"]
    endpoint = chroma_server.running(memory.data_dir)
    assert endpoint is not None
    assert (running["state"], running["url"]) == ("running", endpoint.url)


def test_status_names_a_remote_chroma(copied: Callable[..., Memory]) -> None:
    """Without asking it."""
    status = copied(chroma_url="http://127.0.0.1:9").status()
    assert (status["chroma"]["state"], status["chroma"]["url"]) == ("remote", "http://127.0.0.1:9")
