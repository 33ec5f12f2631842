"""What can be asked, and what is refused with a word on how to ask it."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from typing import Any, get_args

import pytest

from memory_assets.errors import ConfigurationError
from memory_assets.observations import CONCEPTS, OBSERVATION_TYPES
from memory_assets.recall.names import MemoryId, parse_id
from memory_assets.requests.arguments import Arguments, declared
from memory_assets.requests.questions import (
    LinkRequest,
    SessionsRequest,
    TimelineRequest,
    UsageRequest,
)
from memory_assets.requests.search import (
    Concept,
    CrossQueryRequest,
    ObservationType,
    SearchRequest,
)
from memory_assets.requests.times import days_named, parse_time, spoken_time
from memory_assets.serving.schemas import tool_schema
from memory_assets_tests.sweep import sweep

NOW = datetime(2026, 5, 20, 12, 0, tzinfo=UTC)


@sweep(
    "given, message",
    [
        ({"kinds": ()}, "cannot search in nothing; choose from sessions, prompts, summaries"),
        ({"recent": "perhaps"}, "recent: give true or false, not 'perhaps'"),
        ({"n": True}, "not True"),
        ({"n": -1}, "not -1"),
        ({"query": 7}, "query: give a text, not 7"),
        ({"project": "a\0b"}, "project: holds a NUL character"),
        ({"project": "a\udcffb"}, "project: holds characters that are not UTF-8"),
    ],
)
def test_a_value_that_cannot_be_one_is_refused(given: dict[str, Any], message: str) -> None:
    """The error says what would be right; see `test_parity.py` for what can be asked anywhere."""
    with pytest.raises(ConfigurationError, match=message):
        SearchRequest(**{"query": "why", **given})


@pytest.mark.parametrize(("kind", "most"), [(SearchRequest, 2_000), (CrossQueryRequest, 20_000)])
def test_a_pasted_trace_that_is_too_long_is_cut(kind: type[Any], most: int) -> None:
    """In its middle: the beginning says what was run, the end what went wrong."""
    trace = "$ make test\n" + "  File x.py, line 7\n" * 2_000 + "KeyError: 'page'"
    asked = kind.from_values("mcp", {"query": trace}).query
    assert most - 5 < len(asked) <= most
    assert asked.startswith("$ make test\n") and asked.endswith("KeyError: 'page'")
    assert " … " in asked and kind.from_values("mcp", {"query": trace[:most]}).query == trace[:most]


@pytest.mark.parametrize(
    ("since", "until"), [("7d", "7d"), ("1d", "7d"), ("2026-05-02", "2026-05-01")]
)
def test_a_time_range_without_any_time_is_refused(since: str, until: str) -> None:
    """Instead of finding nothing."""
    times: dict[str, Any] = {"since": parse_time(since, NOW), "until": parse_time(until, NOW)}
    for request_type in (SearchRequest, SessionsRequest, UsageRequest):
        with pytest.raises(ConfigurationError, match=r"^since: .* is not before until"):
            request_type(**times)


@sweep(
    "given, field, value",
    [
        ({"agent": "Claude-Code"}, "agent", "claude-code"),
        ({"agent": "claude code"}, "agent", "claude-code"),
        ({"agent": "Claude"}, "agent", "claude-code"),
        ({"agent": "PI"}, "agent", "pi"),
        ({"kinds": "Prompts"}, "kinds", ("prompts",)),
        ({"mode": "Keyword"}, "mode", "keyword"),
        ({"type": "BugFix"}, "type", "bugfix"),
        ({"recent": "1"}, "recent", True),
    ],
)
def test_a_value_that_is_one_of_a_list_may_be_in_any_case(
    given: dict[str, Any], field: str, value: object
) -> None:
    """What comes out is as it is listed."""
    assert getattr(SearchRequest(**{"query": "why", **given}), field) == value


@pytest.mark.parametrize(
    ("request_type", "given", "meant"),
    [
        (SearchRequest, {"session_id": "abc", "limit": 3}, {"session": "abc", "n": 3}),
        (
            TimelineRequest,
            {"anchor": "x", "depth_before": 1, "depth_after": 2, "format": "full"},
            {"before": 1, "after": 2, "detail": "full"},
        ),
        (CrossQueryRequest, {"query": "x", "limit": 3}, {"n": 3}),
        (LinkRequest, {"session_id": "abc", "commit_sha": "c3a9d18"},
         {"session": "abc", "commit": "c3a9d18"}),
    ],
)  # fmt: skip
def test_names_of_earlier_versions_are_accepted_and_in_no_schema(
    request_type: type[Arguments], given: dict[str, Any], meant: dict[str, Any]
) -> None:
    """As if they were today's; together with these they are refused."""
    asked = request_type.from_values("mcp", given)
    assert {name: getattr(asked, name) for name in meant} == meant
    properties = tool_schema(request_type, {})["properties"]
    for alias in given.keys() - {"query", "anchor"}:
        assert alias not in properties
        of = next(each for each in declared(request_type) if alias in each.aliases)
        with pytest.raises(ConfigurationError, match=f"{alias}: is another name of"):
            request_type.from_values("mcp", {**given, str(of.name_at("mcp")): given[alias]})


def test_a_request_without_words_is_about_its_filters() -> None:
    """Any filter will do, and so will an order; observations need nothing at all."""
    for given in ({"file": "a.py"}, {"tool": "Bash"}, {"project": "x"}, {"agent": "pi"},
                  {"session": "x"}, {"since": "7d"}, {"until": "7d"}, {"recent": True},
                  {"sort": "date"}):  # fmt: skip
        assert not SearchRequest(**given).selects_observations
    assert SearchRequest(kinds=("observations",)).selects_observations
    assert SearchRequest(concept="gotcha").selects_observations
    assert not SearchRequest("x", kinds=("observations",)).selects_observations


def test_the_types_and_concepts_that_can_be_asked_for_are_those_that_are_observed() -> None:
    """A type that is added must be made known."""
    assert get_args(ObservationType) == OBSERVATION_TYPES
    assert get_args(Concept) == CONCEPTS


@pytest.fixture
def live_in(monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[str], None]]:
    """What sets the local time zone until the test ends."""

    def live(zone: str) -> None:
        monkeypatch.setenv("TZ", zone)
        time.tzset()

    yield live
    monkeypatch.undo()
    time.tzset()


@pytest.mark.parametrize(
    ("text", "moment"),
    [
        ("7d", NOW - timedelta(days=7)),
        ("12h", NOW - timedelta(hours=12)),
        (" 2w ", NOW - timedelta(weeks=2)),
        ("0d", NOW),
        ("2026-05-01", datetime(2026, 5, 1, 4, tzinfo=UTC)),
        ("2026-05-01T09:30", datetime(2026, 5, 1, 13, 30, tzinfo=UTC)),
        ("2026-05-01 09:30", datetime(2026, 5, 1, 13, 30, tzinfo=UTC)),
        ("2026-12-01", datetime(2026, 12, 1, 5, tzinfo=UTC)),
        ("today", datetime(2026, 5, 20, 4, tzinfo=UTC)),
        ("Yesterday", datetime(2026, 5, 19, 4, tzinfo=UTC)),
        ("2026-05-01 09:30z", datetime(2026, 5, 1, 9, 30, tzinfo=UTC)),
        ("2026-05-01T09:30:00Z", datetime(2026, 5, 1, 9, 30, tzinfo=UTC)),
        ("2026-05-01T09:30+02:00", datetime(2026, 5, 1, 7, 30, tzinfo=UTC)),
    ],
)
def test_a_time_is_ago_or_a_day_or_iso(
    live_in: Callable[[str], None], text: str, moment: datetime
) -> None:
    """Always in UTC; a time without zone is local, in New York as anywhere."""
    live_in("America/New_York")
    parsed = parse_time(text, NOW)
    assert parsed == moment
    assert parsed.utcoffset() == timedelta(0)


@pytest.mark.parametrize(
    ("zone", "spoken"),
    [("America/New_York", "2026-05-20 08:00-04:00"), ("UTC", "2026-05-20 12:00Z")],
)
def test_a_spoken_time_names_its_zone_and_is_understood(
    live_in: Callable[[str], None], zone: str, spoken: str
) -> None:
    """What an answer says can be asked with."""
    live_in(zone)
    assert spoken_time(NOW) == spoken
    assert parse_time(spoken) == NOW


@sweep("text", ["", "tomorrow", "7", "d", "7m", "0001-01-01T00:00+14:00", "-7d", "2026-13-01"])
def test_what_is_no_time_is_refused(text: str) -> None:
    """The error shows the forms that are understood."""
    with pytest.raises(ConfigurationError, match="last week, last month, 2026-11, 2026-11-01"):
        parse_time(text, NOW)


@sweep(
    "text, session, turn, kind",
    [
        ("session::abc-1::turn::0", "abc-1", 0, "turn"),
        ("session::abc-1::turn::12::part::3", "abc-1", 12, "turn"),
        ("prompt::abc-1::4", "abc-1", 4, "prompt"),
        ("prompt::abc-1::4::2", "abc-1", 4, "prompt"),
        ("summary::abc-1", "abc-1", None, "summary"),
        ("observation::abc-1::17", "abc-1", None, "observation"),
        ("observation::abc-1::agent-2::17", "abc-1", None, "observation"),
        ("commit::abc-1::0123456789ab", "abc-1", None, "commit"),
        ("commit::abc-1::https://github.com/a/b/pull/1", "abc-1", None, "commit"),
        ("link::abc-1::0123456789ab", "abc-1", None, "link"),
        ("abc-1", "abc-1", None, "session"),
        ("session::abc-1", "abc-1", None, "session"),
        ("rollout-2026.01_x", "rollout-2026.01_x", None, "session"),
    ],
)
def test_every_id_leads_to_its_turn_or_session(
    text: str, session: str, turn: int | None, kind: str
) -> None:
    """Turns, passages, prompts, summaries, what was derived, and a session by its bare id."""
    assert parse_id(text) == MemoryId(session, turn, kind)


@sweep("text", ["", "session::abc::turn::x", "prompt::abc", "turn::1", "memory::b", "commit::a"])
def test_what_is_no_id_is_refused(text: str) -> None:
    """The error shows what ids look like; those of memories and documents are ids of no session."""
    with pytest.raises(ConfigurationError, match=r"id of a session .* like session::ID::turn::N"):
        parse_id(text)


@sweep(
    "said, first, days",
    [
        ("today", "2026-11-28", 1),
        ("Yesterday", "2026-11-27", 1),
        ("last friday", "2026-11-27", 1),
        ("last saturday", "2026-11-21", 1),
        ("sunday", "2026-11-22", 1),
        ("last  Monday", "2026-11-23", 1),
        ("this week", "2026-11-23", 7),
        ("last week", "2026-11-16", 7),
        ("this month", "2026-11-01", 30),
        ("Last month", "2026-10-01", 31),
        ("2026-07-13", "2026-07-13", 1),
        ("2026-05", "2026-05-01", 31),
        ("2025-12", "2025-12-01", 31),
        ("2026", "2026-01-01", 365),
        ("2026-13", None, 0),
        ("9999", None, 0),
        ("3042", None, 0),  # how a session's id may begin
        ("9999-12", None, 0),
        ("2026-07-13T09:30", None, 0),
        ("7d", None, 0),
        ("last straw", None, 0),
    ],
)
def test_days_are_named_as_people_name_them(said: str, first: str | None, days: int) -> None:
    """Of a Saturday. The weekday of today is the one a week ago; a week begins on Monday. A time
    that names days is their beginning."""
    now = datetime(2026, 11, 28, 12, tzinfo=UTC)
    named = days_named(said, now)
    assert (named[0].isoformat() if named else None) == first
    if named is not None:
        assert (named[1] - named[0]).days == days
        assert parse_time(said, now).astimezone().date() == named[0]
