"""Projects of one name: clones of a repository, and copies in several homes."""

from __future__ import annotations

from typing import Any

import pytest

from memory_assets.errors import ConfigurationError
from memory_assets.recall.memory import Memory
from memory_assets.requests.actions import FrictionRequest, HowRequest
from memory_assets.requests.questions import SessionsRequest, TimelineRequest, UsageRequest
from memory_assets.requests.search import SearchRequest
from memory_assets.serving.answer_lines import project_notes
from memory_assets_tests.recall.worked import Worked, shell

BROKEN = "Exit code 1\nerror: the tide is out of reach"
TWO = "-home-ada-tide-sync, -srv-tide-sync"


@pytest.fixture(scope="module")
def memory(tmp_path_factory: pytest.TempPathFactory) -> Memory:
    """Two directories called tide-sync, one whose name ends so, and two that end alike."""
    worked = Worked(tmp_path_factory.mktemp("namesakes"))
    places = ("/srv/tide-sync", "/home/ada/tide-sync", "/srv/my-tide-sync", "/srv/a-b", "/srv/c-b")
    for number, place in enumerate(places, 1):
        failing = shell("make tide", BROKEN, failed=True)
        worked.session(str(number), failing, shell("make tide"), cwd=place, days=number)
    return worked.memory()


def _sessions(answer: dict[str, Any]) -> list[str]:
    return sorted(each["session_id"][7] for each in answer["sessions"])


def test_all_directories_of_a_name_are_meant_and_said(memory: Memory) -> None:
    """By every list and search; a directory that is called otherwise is none of them."""
    listed = memory.ask(SessionsRequest(project="tide-sync"))
    assert _sessions(listed) == ["1", "2"] and listed["project"] == TWO
    assert list(project_notes(listed)) == [f"Of several projects of that name: {TWO}."]
    assert memory.ask(UsageRequest(project="Tide-Sync"))["project"] == TWO
    how = memory.ask(HowRequest("make tide", project="tide-sync"))
    assert how["sessions"] == 2 and how["project"] == TWO
    (error,) = memory.ask(FrictionRequest(project="tide-sync", sessions=2))["errors"]
    assert error["sessions"] == 2
    found = memory.ask(SearchRequest("out of reach", exact=True, project="tide-sync"))
    assert [hit["metadata"]["session_id"][7] for hit in found["hits"]] == ["2", "1"]
    assert found["filters"]["project"] == TWO


def test_without_a_project_an_answer_is_of_none(memory: Memory) -> None:
    """Whatever it found in which project."""
    asked = (SessionsRequest(), UsageRequest(), HowRequest("make tide"), FrictionRequest())
    for each in asked:
        answer = memory.ask(each)
        assert answer["project"] is None and not list(project_notes(answer))


def test_one_of_them_is_meant_by_more_of_its_path(memory: Memory) -> None:
    """And a directory that ends so by its own name, which nobody else has."""
    for text, session in (("ada/tide-sync", "2"), ("/srv/tide-sync", "1"), ("my-tide-sync", "3")):
        answer = memory.ask(SessionsRequest(project=text))
        assert _sessions(answer) == [session] and not list(project_notes(answer))


def test_projects_that_only_end_alike_are_asked_back(memory: Memory) -> None:
    """Whatever is asked of them."""
    for asked in (SessionsRequest(project="b"), TimelineRequest("today", project="b")):
        with pytest.raises(ConfigurationError, match="'b' can mean -srv-a-b, -srv-c-b"):
            memory.ask(asked)


def test_a_timeline_is_of_all_of_one_name(memory: Memory) -> None:
    """Around a moment, and around a turn of one of them; not of those called otherwise."""
    every = memory.ask(TimelineRequest("2100-01-01", before=50, project="tide-sync"))
    assert _sessions(every) == ["1", "2"]
    (turn,) = [each["items"][-1]["id"] for each in every["sessions"] if each["project"] == TWO[:19]]
    around = memory.ask(TimelineRequest(turn, before=50, after=50, project="tide-sync"))
    assert _sessions(around) == ["1", "2"]
    alone = memory.ask(TimelineRequest(turn, before=50, after=50))
    assert _sessions(alone) == ["2"]
