"""A timeline shows what stood around something, whole, in order, and near sessions alone."""

from __future__ import annotations

import shutil
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from memory_assets.errors import ConfigurationError, NotFound
from memory_assets.pipeline.stage.components import Components
from memory_assets.pipeline.tables.commit_links import link_commit
from memory_assets.recall import Memory, open_memory
from memory_assets.recall.sessions.session import (
    missing_kinds,
    session_items,
    session_overview,
)
from memory_assets.recall.sessions.timeline import Timeline, timeline
from memory_assets.recall.show import whole_text
from memory_assets.requests.questions import ITEM_KINDS, TimelineRequest
from memory_assets.settings import load_settings
from memory_assets.stores.lake.lake import Lake
from memory_assets.stores.lake.schemas import OBSERVATIONS, SESSION_COMMITS, TURN_CHUNKS
from memory_assets_tests.recall.conftest import REPORTS, TURN, Asked
from memory_assets_tests.sweep import sweep


def _ids(found: Timeline) -> list[str]:
    """In order of time, whatever the session."""
    items = [item for part in found.sessions for item in part.items]
    return [item.id for item in sorted(items, key=lambda item: item.order)]


def _everything(asked: Asked, project: str | None = None) -> list[str]:
    """By brute force: every item of a project, or of all, in order."""
    lake = asked.memory.lake
    items = [
        item
        for name in ([project] if project else lake.projects(TURN_CHUNKS))
        for session in lake.sessions(TURN_CHUNKS, name)
        for item in session_items(lake, name, session, ITEM_KINDS, full=False)
    ]
    return [item.id for item in sorted(items, key=lambda item: item.order)]


@pytest.mark.parametrize("reach", [0, 1, 7, 50])
def test_the_neighbours_of_every_turn_are_those_of_the_whole_project(
    asked: Asked, reach: int
) -> None:
    """What is read session by session equals a cut from everything in order."""
    everything = _everything(asked, asked.harbor)
    turns = [name for name in everything if name.startswith("session::")]
    for turn in turns:
        found = timeline(asked.memory, turn, before=reach, after=reach)
        place = everything.index(turn)
        assert _ids(found) == everything[max(0, place - reach) : place + reach + 1]
        assert found.more == tuple(
            side
            for side, more in (
                ("before", place > reach),
                ("after", place + reach + 1 < len(everything)),
            )
            if more
        )


def test_one_item_is_marked_as_the_anchor(asked: Asked) -> None:
    """The one that was asked for, in its session's group, under the session's title."""
    told = timeline(asked.memory, TURN, before=3, after=3).to_dict()
    marked = [
        (part["session_id"], item["id"])
        for part in told["sessions"]
        for item in part["items"]
        if item["anchor"]
    ]
    assert marked == [(REPORTS, TURN)]
    titles = {part["session_id"]: part["title"] for part in told["sessions"]}
    summary = session_overview(asked.memory, REPORTS)["summary"]
    assert summary is not None and titles[REPORTS] == summary["title"] != ""


@sweep(
    "given, kind, item",
    [
        (TURN, "turn", TURN),
        (f"{TURN}::part::1", "turn", TURN),
        (f"prompt::{REPORTS}::1", "prompt", f"prompt::{REPORTS}::1"),
        (f"summary::{REPORTS}", "summary", f"summary::{REPORTS}"),
        (REPORTS, "session", f"prompt::{REPORTS}::0"),
        (REPORTS[:8], "session", f"prompt::{REPORTS}::0"),
        (f"session:{REPORTS[:8]}", "session", f"prompt::{REPORTS}::0"),
        ("2026-03-30", "time", None),
        ("time:3000d", "time", None),
    ],
)
def test_an_anchor_is_named_by_id_session_or_time(
    asked: Asked, given: str, kind: str, item: str | None
) -> None:
    """A passage stands for its turn, a session or its beginning for its first item."""
    found = timeline(asked.memory, given, before=1, after=1)
    assert (found.anchor.kind, found.anchor_id) == (kind, item)


def test_without_an_anchor_it_is_the_newest_day_with_something(asked: Asked) -> None:
    """All of it, and nothing before."""
    everything = _everything(asked)
    found = timeline(asked.memory, TimelineRequest())
    times = [item.time for part in found.sessions for item in part.items if item.time is not None]
    day = max(time.astimezone().date() for time in times)
    assert found.anchor.given == day.isoformat() and found.before == 0
    assert {time.astimezone().date() for time in times} == {day}
    assert _ids(found)[-1] == everything[-1]


@pytest.mark.parametrize("count", [3, 9, 10, 11])
def test_before_without_an_anchor_counts_from_now(asked: Asked, count: int) -> None:
    """The last items of all, whatever the day, and also as many as are usual; an interface's own
    default is no wish."""
    found = timeline(asked.memory, TimelineRequest.from_values("cli", {"--before": str(count)}))
    assert _ids(found) == _everything(asked)[-count:]
    assert TimelineRequest.from_values("mcp", {"before": None}, before=count).anchor is None
    assert TimelineRequest.from_values("mcp", {"before": count}, before=count).anchor == "now"
    assert TimelineRequest.from_values("mcp", {"depth_before": count}).anchor == "now"
    none = timeline(asked.memory, TimelineRequest.from_values("http", {"before": "2h"}))
    assert none.sessions == ()


def test_a_file_stands_for_the_newest_turn_that_touched_it(asked: Asked) -> None:
    """By the end of its path; the others are named too."""
    rows = [row for row in asked.rows("turn_chunks") if row["files"] and row["part"] == 0]
    path = max((row for row in rows), key=lambda row: row["timestamp"])["files"][0]
    touching = [row for row in rows if path in row["files"]]
    newest = max(touching, key=lambda row: row["timestamp"])
    found = timeline(asked.memory, f"file:{path}", before=0, after=0)
    assert found.anchor_id == newest["turn_id"]
    assert set(found.anchor.also) <= {row["turn_id"] for row in touching}


def test_around_a_time_there_is_what_came_before_and_after(asked: Asked) -> None:
    """In all projects, or in the one that is named."""
    moment = datetime(2026, 4, 20, tzinfo=UTC)
    found = timeline(asked.memory, "2026-04-20", before=30, after=15)
    items = [item for part in found.sessions for item in part.items]
    assert [item.at < moment for item in sorted(items, key=lambda item: item.order)] == [
        *[True] * found.before,
        *[False] * found.after,
    ]
    assert (found.before, found.after) == (30, 15)
    assert len({part.project for part in found.sessions}) > 1
    one = timeline(asked.memory, "2026-04-20", before=6, after=6, project=asked.harbor)
    assert {part.project for part in one.sessions} == {asked.harbor}


def test_a_length_of_time_bounds_a_side(asked: Asked) -> None:
    """Everything of those hours and nothing else."""
    anchor = timeline(asked.memory, TURN, before=0, after=0).anchor_time
    assert anchor is not None
    found = timeline(asked.memory, TURN, before="2h", after="3d")
    wide = timeline(asked.memory, TURN, before=50, after=50)
    within = [
        item.id
        for part in wide.sessions
        for item in part.items
        if anchor - timedelta(hours=2) <= item.at <= anchor + timedelta(days=3)
    ]
    assert sorted(_ids(found)) == sorted(within)


def test_a_session_without_any_time_has_a_timeline(asked: Asked) -> None:
    """A turn without a time stands where it was said."""
    lighthouse = f"session::{asked.long_session}::turn::2"
    found = timeline(asked.memory, lighthouse, before=2, after=0, kinds=["turns"])
    assert _ids(found) == [f"session::{asked.long_session}::turn::{number}" for number in range(3)]
    assert found.sessions[0].items[-1].time is None


def test_full_detail_is_the_whole_text_and_the_index_one_line(asked: Asked) -> None:
    """`full` is what `memory show` gives; the index never has more than a line."""
    turn = f"session::{asked.long_session}::turn::0"
    full = timeline(asked.memory, turn, before=0, after=0, detail="full")
    shown = asked.memory.show(turn)[0]["passages"]
    assert full.sessions[0].items[0].text == "\n".join(shown)
    index = timeline(asked.memory, turn, before=9, after=9)
    lines = [item.text for part in index.sessions for item in part.items]
    assert all(0 < len(line) <= 260 and "\n" not in line for line in lines)


def test_scopes_widen_from_the_session_to_all_projects(asked: Asked) -> None:
    """The session's own, the project's, everybody's."""
    found = {
        scope: timeline(asked.memory, TURN, before=50, after=50, scope=scope)
        for scope in ("session", "project", "all")
    }
    assert {part.session_id for part in found["session"].sessions} == {REPORTS}
    assert {part.project for part in found["project"].sessions} == {asked.harbor}
    assert len({part.project for part in found["all"].sessions}) > 1


def test_a_kind_that_this_memory_has_none_of_is_said_to_be_missing(
    asked: Asked, tmp_path: Path
) -> None:
    """Never an empty list without a word."""
    assert timeline(asked.memory, TURN).missing == {}
    missing = missing_kinds(Lake(tmp_path), ITEM_KINDS)
    assert missing.keys() == {"observations", "commits"}
    assert all("memory ingest" in reason for reason in missing.values())


def test_sessions_far_away_are_not_read(asked: Asked, monkeypatch: pytest.MonkeyPatch) -> None:
    """One neighbour on either side takes no session of other months."""
    read: list[str] = []
    original = Lake.read

    def recorded(lake: Lake, table: Any, project: str, session_id: str, *rest: Any) -> Any:
        read.append(session_id)
        return original(lake, table, project, session_id, *rest)

    monkeypatch.setattr(Lake, "read", recorded)
    timeline(asked.memory, TURN, before=1, after=1)
    assert REPORTS in read and len(set(read)) < 3
    assert not {"c27e5d90-41ab-4f6e-8d13-0b95e7a2f368", asked.long_session} & set(read)


@sweep(
    "arguments, error",
    [
        ({"before": 51}, ConfigurationError),
        ({"after": "soon"}, ConfigurationError),
        ({"kinds": ["dreams"]}, ConfigurationError),
        ({"kinds": []}, ConfigurationError),
        ({"scope": "world"}, ConfigurationError),
        ({"anchor": "2026-04-20", "scope": "session"}, ConfigurationError),
        ({"project": "nowhere"}, ConfigurationError),
        ({"anchor": f"session::{REPORTS}::turn::999"}, NotFound),
        ({"anchor": "session::nobody::turn::0"}, NotFound),
        ({"anchor": "session:nobody-at-all"}, NotFound),
        ({"anchor": "src/never/touched.py"}, NotFound),
        ({"anchor": "commit:ffffffffff"}, NotFound),
    ],
)
def test_what_makes_no_sense_is_refused_in_words(
    asked: Asked, arguments: dict[str, Any], error: type[Exception]
) -> None:
    """With an error of ours."""
    with pytest.raises(error):
        timeline(asked.memory, **{"anchor": TURN, **arguments})


def test_a_session_is_summarised_with_an_index_of_its_turns(asked: Asked) -> None:
    """By its id, its beginning, or the id of anything in it."""
    names = [REPORTS, REPORTS[:9], TURN, f"summary::{REPORTS}"]
    told = [session_overview(asked.memory, name) for name in names]
    assert all(each == told[0] for each in told)
    turns = {row["turn_id"] for row in asked.rows("turn_chunks") if row["session_id"] == REPORTS}
    assert {item["id"] for item in told[0]["turns"]} == turns
    (row,) = [row for row in asked.rows("session_summaries") if row["session_id"] == REPORTS]
    assert told[0]["summary"]["completed"] == row["completed"]
    with pytest.raises(NotFound):
        session_overview(asked.memory, "nobody")


@pytest.fixture(scope="module")
def observed(asked: Asked, tmp_path_factory: pytest.TempPathFactory) -> Memory:
    """A copy of the lake and the ledger with a commit that was linked by hand."""
    data = tmp_path_factory.mktemp("observed") / "data"
    without_chroma = shutil.ignore_patterns("chroma*")
    shutil.copytree(asked.settings.data_dir, data, ignore=without_chroma)
    components = Components(load_settings(data_dir=data))
    link_commit(components, REPORTS, "abcdef1234567", Path("/"), force=True)
    return open_memory(components.settings)


def test_observations_and_commits_stand_in_the_turn_that_completed_them(observed: Memory) -> None:
    """Each has an id that anchors a timeline and that `get` gives in full; a commit is found
    by the beginning of its name, and so is one that a human linked."""
    memory = observed
    project = str(memory.catalog.products.project_of(REPORTS))
    wide = timeline(memory, TURN, before=50, after=50, scope="session")
    items = {item.id: item for part in wide.sessions for item in part.items}
    (commit,) = [row for row in _rows_of(memory, SESSION_COMMITS, project) if row["commit"]]
    assert timeline(memory, commit["commit"][:7]).anchor_id == commit["id"]
    assert timeline(memory, "abcdef12").anchor_id == f"link::{REPORTS}::abcdef1234567"
    assert "linked by hand" in whole_text(memory, f"link::{REPORTS}::abcdef1234567")["text"]
    observations = _rows_of(memory, OBSERVATIONS, project)
    for row in (commit, *observations):
        assert items[row["id"]].turn_id == row["turn_id"]
        assert timeline(memory, row["id"], before=1, after=1).anchor_id == row["id"]
    for row in observations:
        assert row["narrative"] in whole_text(memory, row["id"])["text"]
    turns = [item for item in items.values() if item.kind == "turns"]
    for row in observations:
        before = [turn.turn_index for turn in turns if turn.order < items[row["id"]].order]
        assert max(before) == row["turn_index"]


def _rows_of(memory: Memory, table: Any, project: str) -> list[dict[str, Any]]:
    return memory.lake.read(table, project, REPORTS).to_pylist()


def test_observations_of_a_type_that_are_most_like_a_query_come_first(observed: Memory) -> None:
    """Of any type, concept or file see `test_search.py`."""
    found = observed.search("where a day of a report ends", type="bugfix", n=50)
    scores = [hit.score for hit in found.hits]
    assert scores == sorted(scores, reverse=True) and scores[0] > 0
    assert "days.py" in found.hits[0].text
