"""Projects and ids as people call them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from memory_assets.errors import ConfigurationError, NotFound, UnknownName
from memory_assets.recall.memory import Memory
from memory_assets.recall.names import (
    resolve_id,
    resolve_project,
    resolve_projects,
    resolve_session,
)
from memory_assets.requests.questions import (
    FrictionRequest,
    HowRequest,
    SessionsRequest,
    TimelineRequest,
    UsageRequest,
)
from memory_assets.requests.search import SearchRequest
from memory_assets.serving.answer_lines import project_notes, with_spoken_names
from memory_assets.stores.catalog.catalog import Catalog
from memory_assets.stores.catalog.schema import SourceRow
from memory_assets_tests.recall.conftest import HARBOR, LOGIN, LONG, REPORTS, Asked
from memory_assets_tests.recall.worked import Worked, shell
from memory_assets_tests.sweep import sweep

ROOTS = {
    "-home-ada-code-app": "~/code/app",
    "-home-ada-code-app-web": "~/code/app",
    "-opt-app": "/opt/app",
    "-opt-app--claude-worktrees-blue": "/opt/app/.claude/worktrees/blue",
    "-opt-Shop-api": "/opt/Shop-api",
    "-opt-shop-ui": "/opt/shop.ui",
    "-srv-jobs-night": "/srv/jobs",
    "C--Users-Ada-desk": "C:\\Users\\Ada\\desk",
    "-home-ada": "~",
}


@pytest.fixture
def catalog(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Catalog:
    """A catalogue of projects with their roots, for a user whose home is /home/ada."""
    monkeypatch.setenv("HOME", "/home/ada")
    made = Catalog(tmp_path / "catalog.db")
    for number, (project, root) in enumerate(ROOTS.items()):
        path = f"/x/{number}.jsonl"
        row = SourceRow("pi", project, f"s{number}", "", path, 1, 1, "", "", None)
        row.facts["project_root"] = root
        made.sources.put(row)
    return made


@sweep(
    "text, project",
    [
        *((name, name) for name in ROOTS),
        ("/opt/shop.ui", "-opt-shop-ui"),
        ("/opt/shop.ui/", "-opt-shop-ui"),
        ("/opt/shop.ui/src/pages/", "-opt-shop-ui"),
        ("/opt/shop.ui/../Shop-api", "-opt-Shop-api"),
        ("~/code/app", "-home-ada-code-app"),
        ("/home/ada/code/app/src", "-home-ada-code-app"),
        ("~", "-home-ada"),
        ("/srv/jobs/other", "-srv-jobs-night"),
        ("shop-api", "-opt-Shop-api"),
        ("SHOP.API", "-opt-Shop-api"),
        ("opt/shop-ui", "-opt-shop-ui"),
        ("app-web", "-home-ada-code-app-web"),
        ("code/app", "-home-ada-code-app"),
        ("jobs", "-srv-jobs-night"),
        ("C:\\Users\\Ada\\desk", "C--Users-Ada-desk"),
        ("desk", "C--Users-Ada-desk"),
        ("later", "-opt-later"),
        ("app/blue", "-opt-app--claude-worktrees-blue"),
    ],
)
def test_a_project_is_named_by_its_path_its_repository_or_the_end_of_either(
    catalog: Catalog, text: str, project: str
) -> None:
    """Or by its own name; in any case; also one that is on disk alone."""
    assert resolve_projects(catalog, text, ["-opt-later"]) == [project]


def test_a_dot_is_the_project_of_the_current_directory(
    catalog: Catalog, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also from below it, and through a symbolic link."""
    inside = tmp_path / "here" / "src"
    inside.mkdir(parents=True)
    (tmp_path / "link").symlink_to(tmp_path / "here")
    name = str(tmp_path / "here").replace("/", "-").replace("_", "-").replace(".", "-")
    for directory in (tmp_path / "here", inside, tmp_path / "link"):
        monkeypatch.chdir(directory)
        assert resolve_projects(catalog, ".", [name]) == [name]
    monkeypatch.chdir("/")
    with pytest.raises(UnknownName):
        resolve_projects(catalog, ".", [name])


@sweep("text", ["", " ", "/", "/home/ada/elsewhere", "op", "ork-app", "nowhere"])
def test_a_project_that_is_not_known_is_refused_with_those_that_are(
    catalog: Catalog, text: str
) -> None:
    """By the names of their directories. The home directory, which holds them all, stands for no
    other."""
    known = r"known are: Shop-api, app, app/blue, desk, jobs, shop\.ui, ~"
    with pytest.raises(UnknownName, match=known):
        resolve_project(catalog, text)


def test_a_name_that_several_projects_have_is_refused_with_all_of_them(catalog: Catalog) -> None:
    """Long lists are cut, and say how many are left."""
    with pytest.raises(ConfigurationError, match="can mean -home-ada-code-app, opt/app; give"):
        resolve_project(catalog, "app")
    with pytest.raises(ConfigurationError, match=r"-many-19-x and 5 more; give"):
        resolve_projects(catalog, "x", [f"-many-{number:02}-x" for number in range(25)])


@sweep(
    "text, full",
    [
        (REPORTS, REPORTS),
        ("3", REPORTS),
        ("3d0f6a52", REPORTS),
        (f"session::{REPORTS}", REPORTS),
        ("session::3d0", REPORTS),
        ("session::3d0::turn::1", f"session::{REPORTS}::turn::1"),
        ("session::3d0::turn::0::part::2", f"session::{REPORTS}::turn::0::part::2"),
        ("prompt::3d0f::1", f"prompt::{REPORTS}::1"),
        (" summary::3d0f ", f"summary::{REPORTS}"),
        ("observation::3d0f::37", f"observation::{REPORTS}::37"),
        ("c3a9d18", f"commit::{LOGIN}::c3a9d18"),
        ("C3A9D18", f"commit::{LOGIN}::c3a9d18"),
        ("commit::5c8e::c3a9", f"commit::{LOGIN}::c3a9d18"),
    ],
)
def test_an_id_may_begin_as_only_one_session_does(asked: Asked, text: str, full: str) -> None:
    """And a session's with or without `session::`; a commit stands for its row."""
    found = resolve_id(asked.memory, text)
    assert found.id == full
    assert resolve_session(asked.memory, text)[1] == found.parts.session_id
    shown = asked.memory.show(text)
    assert shown == asked.memory.show(full) and shown


def test_a_beginning_that_several_sessions_have_is_refused_with_all_of_them(asked: Asked) -> None:
    """Nothing is chosen for the user."""
    begun = [each for each in asked.memory.catalog.products.spans() if each[1].startswith("0")]
    assert len(begun) > 1
    with pytest.raises(ConfigurationError) as error:
        resolve_id(asked.memory, "session::0::turn::0")
    assert all(session_id in str(error.value) for _, session_id, _, _ in begun)


@pytest.mark.parametrize("text", ["ffff", "session::ffff::turn::0", "fffffff"])
def test_an_id_of_no_session_is_not_found(asked: Asked, text: str) -> None:
    """Neither a session nor a commit begins so."""
    with pytest.raises(NotFound, match="no session ffff"):
        resolve_id(asked.memory, text)


@pytest.mark.parametrize("project", [HARBOR, "harbor-api", "/home/mara/code/harbor-api/src"])
def test_a_search_takes_a_project_and_a_session_as_people_call_them(
    asked: Asked, project: str
) -> None:
    """The same hits as with the whole names."""
    whole = asked.memory.search("lighthouse", project=HARBOR, session=LONG)
    assert asked.memory.search("lighthouse", project=project, session="session::aaaa") == whole


@pytest.mark.parametrize(
    "query", ["3d0f6a52", REPORTS, f" session::{REPORTS}::turn::1 ", "observation::3d0f::37"]
)
def test_a_query_that_is_an_id_lists_its_session(asked: Asked, query: str) -> None:
    """No row's words hold it, so that nothing else would be found."""
    answer = asked.memory.search(query)
    assert answer == asked.memory.search(session=REPORTS) and answer.hits and not answer.weak


@sweep(
    "query, given",
    [
        *((query, {}) for query in ("ffffffff1", "20260329", "session::0::turn::0", "std::vector")),
        ("3d0f6a52", {"kinds": ("memory",)}),
        ("3d0f6a52", {"kinds": ("all",)}),
        ("3d0f6a52", {"project": "tidepool-web"}),
    ],
)
def test_a_query_that_is_no_id_of_what_is_searched_is_searched_for(
    asked: Asked, query: str, given: dict[str, Any]
) -> None:
    """Be it an id of no session, the beginning of several, or code; among what is no session, and
    in another project: a document may name it."""
    answer = asked.memory.search(query, **given)
    assert answer.query == query and (given or answer.filters == {})


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
    (said,) = project_notes(with_spoken_names(listed, memory.catalog.spoken_projects))
    assert said == "Of several projects of that name: ~/tide-sync, srv/tide-sync."
    assert memory.ask(UsageRequest(project="Tide-Sync"))["project"] == TWO
    how = memory.ask(HowRequest("make tide", project="tide-sync"))
    assert how["sessions"] == 2 and how["project"] == TWO
    (error,) = memory.ask(FrictionRequest(project="tide-sync", sessions=2))["errors"]
    assert error["sessions"] == 2
    found = memory.ask(SearchRequest("out of reach", exact=True, project="tide-sync"))
    assert [hit["metadata"]["session_id"][7] for hit in found["hits"]] == ["2", "1"]
    assert found["filters"]["project"] == TWO


def test_a_reader_is_told_names_that_mean_one_project(memory: Memory) -> None:
    """The last name of its directory, or as many as tell it from the others."""
    spoken = memory.catalog.spoken_projects()
    names = ["a-b", "c-b", "my-tide-sync", "srv/tide-sync", "~/tide-sync"]
    assert sorted(spoken.values()) == names
    for project, name in spoken.items():
        assert resolve_projects(memory.catalog, name) == [project]


def test_an_end_of_a_path_is_no_path_in_the_current_directory(
    catalog: Catalog, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Unless it is there."""
    here = tmp_path.resolve()
    row = SourceRow("pi", "-here", "here", "", "/x/here.jsonl", 1, 1, "", "", None)
    row.facts["project_root"] = str(here)
    catalog.sources.put(row)
    monkeypatch.chdir(here)
    assert resolve_projects(catalog, "opt/app") == ["-opt-app"]
    (here / "opt" / "app").mkdir(parents=True)
    assert resolve_projects(catalog, "opt/app") == ["-here"]


def test_without_a_project_an_answer_is_of_none(memory: Memory) -> None:
    """Whatever it found in which project."""
    asked = (SessionsRequest(), UsageRequest(), HowRequest("make tide"), FrictionRequest())
    for each in asked:
        answer = memory.ask(each)
        assert answer["project"] is None and not list(project_notes(answer))


def test_projects_that_only_end_alike_are_asked_back(memory: Memory) -> None:
    """Whatever is asked of them."""
    for asked in (SessionsRequest(project="b"), TimelineRequest("today", project="b")):
        with pytest.raises(ConfigurationError, match="'b' can mean a-b, c-b"):
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
