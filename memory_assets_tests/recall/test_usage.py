"""`memory usage`: what sessions took, by model, project, agent, session or day."""

from __future__ import annotations

from datetime import datetime

import pytest

from memory_assets.errors import ConfigurationError
from memory_assets.recall.sessions.usage import session_usage, usage, usage_by_turn
from memory_assets.requests.questions import SessionsRequest, UsageRequest
from memory_assets.serving.answer_lines import shortened, told_apart, usage_lines, usage_notes
from memory_assets_tests.recall.conftest import HARBOR, Asked


def test_each_way_to_add_up_gives_the_same_whole(asked: Asked) -> None:
    """Groups leave nothing out and count nothing twice."""
    rows = asked.rows("session_usage")
    tokens = sum(row["input_tokens"] + row["output_tokens"] for row in rows)
    assert tokens > 0
    for by in ("model", "project", "agent", "session", "day"):
        answer = usage(asked.memory, UsageRequest(by=by))
        for name in ("tokens", "seconds", "answers", "dollars"):
            of_groups = sum(each[name] for each in answer["groups"])
            assert of_groups == pytest.approx(answer[name], abs=0.01), (by, name)
        assert answer["input_tokens"] + answer["output_tokens"] == tokens


def test_filters_leave_out_other_turns(asked: Asked) -> None:
    """By project, agent and the time at which a turn began."""
    of_harbor = usage(asked.memory, UsageRequest(by="project", project="harbor-api"))
    assert [each["project"] for each in of_harbor["groups"]] == [HARBOR]
    of_codex = usage(asked.memory, UsageRequest(by="agent", agent="codex"))
    assert [each["name"] for each in of_codex["groups"]] == ["codex"]
    later = datetime.fromisoformat("2026-05-01T00:00:00+00:00")
    before = usage(asked.memory, UsageRequest(until=later))["tokens"]
    after = usage(asked.memory, UsageRequest(since=later))["tokens"]
    assert before and after and before + after == usage(asked.memory, UsageRequest())["tokens"]


def test_a_time_range_that_holds_no_time_is_refused(asked: Asked) -> None:
    """As in every question."""
    day = datetime.fromisoformat("2026-05-01T00:00:00+00:00")
    with pytest.raises(ConfigurationError):
        UsageRequest(since=day, until=day.replace(year=2025))


def test_a_session_says_what_it_took(asked: Asked) -> None:
    """In the list of sessions, by turn, and beside the others with its title."""
    listed = asked.memory.ask(SessionsRequest(n=1_000))["sessions"]
    for each in listed:
        own = session_usage(asked.memory.lake, each["project"], each["session_id"])
        assert each["usage"] == own
        turns = usage_by_turn(asked.memory.lake, each["project"], each["session_id"])
        assert sum(of["tokens"] for of in turns.values()) == own["tokens"]
    assert any(each["usage"]["tokens"] for each in listed)
    titles = {each["session_id"]: each["title"] for each in listed if each["title"]}
    by_session = usage(asked.memory, UsageRequest(by="session"))
    named = {each["name"]: each["title"] for each in by_session["groups"] if each["title"]}
    assert named and named.items() <= titles.items()
    assert any(next(iter(named.values())) in line for line in usage_lines(by_session))


def test_models_without_a_price_are_named(asked: Asked) -> None:
    """A sum of which a part is unknown is marked, and never given as the whole."""
    answer = usage(asked.memory, UsageRequest())
    answer = {**answer, "unpriced": {"house-model": 5}}
    assert any("house-model" in line for line in usage_notes(answer))
    assert "+" in list(usage_lines(answer))[-1] or "?" in list(usage_lines(answer))[-1]


@pytest.mark.parametrize(
    ("count", "text"),
    [(0, "0"), (999, "999"), (1_000, "1 k"), (12_345, "12.3 k"), (741_882_912, "742 M")],
)
def test_counts_are_shortened_to_three_digits(count: int, text: str) -> None:
    """People compare sizes; JSON has all digits."""
    assert shortened(count) == text


def test_projects_of_one_name_are_told_apart_by_their_directories() -> None:
    """Those alone: a name that nobody else has needs none."""
    roots = ("~/work/cli", "~/play/cli", "~/mill")
    rows = [{"project": root.replace("/", "-"), "project_root": root} for root in roots]
    assert told_apart(rows) == ["cli  ~/work/cli", "cli  ~/play/cli", "mill"]
