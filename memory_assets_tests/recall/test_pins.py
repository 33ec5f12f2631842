"""Pins with notes, and sessions that are hidden, from every interface."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from starlette.testclient import TestClient

from memory_assets.cli import exit_codes
from memory_assets.errors import BadArgument, ConfigurationError, NotFound, StoreError
from memory_assets.pipeline.agent_memory.upkeep import keep_up
from memory_assets.recall import Memory
from memory_assets.recall.pins import pin_key, pins_by_session
from memory_assets.recall.search.answer import Answer, Coverage, Hit, joined_answer, keep_passing
from memory_assets.recall.sessions.recent_work import recent_work
from memory_assets.redacted_text import seal
from memory_assets.requests.agent_memory import (
    ContextRequest,
    HideRequest,
    MemoriesRequest,
    PinRequest,
    RememberRequest,
)
from memory_assets.requests.questions import SessionsRequest, TimelineRequest
from memory_assets.requests.search import MAX_HITS, SearchRequest
from memory_assets.serving.agent_memory import AgentMemory
from memory_assets.serving.pages.site import build_site
from memory_assets.settings import Settings
from memory_assets.stores.stores import HiddenSessions
from memory_assets_tests.command_line import environment_of, run_here
from memory_assets_tests.recall.conftest import HARBOR, LOCAL, LONG, TOKEN, Asked, components_of
from memory_assets_tests.transcript_files import write_claude

SECRET = "ghp_" + "k3VxQ9rTz7Lw2NbYc8HsJ4Md6PfUe1GaXoRi"


@pytest.fixture
def own(asked: Asked, tmp_path: Path) -> Settings:
    """A copy of the memory without collections, to be written into."""
    data = tmp_path / "data"
    shutil.copytree(asked.settings.data_dir, data, ignore=shutil.ignore_patterns("chroma*"))
    return replace(asked.settings, data_dir=data, vector_backend="none", embedder="none")


def _listed(settings: Settings, **filters: Any) -> dict[str, list[dict[str, str]]]:
    found = Memory(settings).ask(SessionsRequest(n=1_000, **filters))["sessions"]
    return {each["session_id"]: each["pinned"] for each in found}


def test_a_pin_is_listed_searched_and_told_with_its_note(own: Settings) -> None:
    """Of a session its title, unless a note is given; a note is redacted, and replaced by the next
    one; without a note what is there stays."""
    agents = AgentMemory(own)
    title = agents.answer(PinRequest(LONG[:8]))["text"]
    assert title and title in str(_listed(own, pinned=True))
    agents.answer(PinRequest(f"{LONG}:1", f"the door is blue, key {SECRET}"))
    agents.answer(PinRequest(f"session::{LONG}::turn::1"))
    of_session, of_turn = _listed(own, pinned=True)[LONG]
    assert of_session == {"id": f"session::{LONG}", "text": title}
    assert of_turn["id"] == f"session::{LONG}::turn::1"
    assert of_turn["text"].startswith("the door is blue, key <redacted:")
    assert SECRET.encode() not in (own.data_dir / "agent_memory.db").read_bytes()
    hits = Memory(own).search("blue door", kinds=("memory",), mode="keyword").hits
    assert "door is blue" in hits[0].text
    told = agents.answer(ContextRequest(project="harbor-api"))["text"]
    assert f"(the user's note on {LONG[:8]}:1, " in told
    assert len(_listed(own)) > len(_listed(own, pinned=True)) == 1


def test_a_note_is_no_memory_of_an_agent(own: Settings) -> None:
    """It takes no place in the window, is merged with nothing, does not fade, and is no type that
    agents can give."""
    agents = AgentMemory(own)
    for turn in range(3):
        agents.answer(PinRequest(f"{LONG}:{turn}", "Deploys need the VPN."))
    kept = agents.answer(RememberRequest("Deploys need the VPN.", project=HARBOR))
    assert kept["outcome"] == "stored"
    components = components_of(Memory(own))
    components.clock = lambda: 4_000_000_000.0
    keep_up(components)
    found = agents.answer(MemoriesRequest())["memories"]
    notes = [each for each in found if each["type"] == "note"]
    assert [each["archived"] for each in notes] == ["", "", ""]
    with pytest.raises(BadArgument):
        RememberRequest.from_values("cli", {"text": "x", "type": "note"})


def test_only_what_is_there_is_pinned_and_unpinned(own: Settings) -> None:
    """A turn and a session that there are; a pin once."""
    agents = AgentMemory(own)
    for nothing in (f"{LONG}:77", "no-such-session"):
        with pytest.raises(NotFound):
            agents.answer(PinRequest(nothing, "x"))
    agents.answer(PinRequest(LONG))
    assert not agents.answer(PinRequest(LONG, remove=True))["pinned"]
    assert _listed(own, pinned=True) == {}
    with pytest.raises(NotFound, match="not pinned"):
        agents.answer(PinRequest(LONG, remove=True))


def test_a_pin_is_on_the_session_of_one_project(own: Settings) -> None:
    """An id that is none of the world's names a session of each project; a UUID names one, wherever
    it moves."""
    gateway = AgentMemory(own)
    gateway.answer(PinRequest(LONG))
    memory = Memory(own)
    (pin,) = memory.journal.memories({"type": "note"})
    of_notes = replace(pin, memory_id=f"{pin.memory_id}0", conversation_id="notes")
    memory.journal.put_memories([of_notes])
    pinned = pins_by_session(memory)
    assert pinned.keys() == {pin_key("anywhere", LONG), pin_key(pin.project, "notes")}
    assert pin_key("anywhere", "notes") not in pinned


def test_a_hidden_session_is_in_no_list_search_or_context(own: Settings) -> None:
    """Others come in its place; who names it, or asks for hidden ones, sees it, and it can be shown
    again. What is pinned is not hidden."""
    agents, memory = AgentMemory(own), Memory(own)
    first = memory.search("lighthouse", mode="keyword", n=1).hits[0].metadata["session_id"]
    assert first == LONG
    agents.answer(PinRequest(LONG))
    with pytest.raises(ConfigurationError, match="is pinned"):
        agents.answer(HideRequest(LONG))
    agents.answer(PinRequest(LONG, remove=True))
    agents.answer(HideRequest(LONG))
    with pytest.raises(ConfigurationError, match="is hidden"):
        agents.answer(PinRequest(LONG))
    answers = [
        memory.search("lighthouse", mode="keyword", n=20),
        memory.search(sort="date", n=20),
        memory.search('"paints the"'),
    ]
    assert answers[1].hits
    for answer in answers:
        assert LONG not in {hit.metadata["session_id"] for hit in answer.hits}
    assert memory.search("lighthouse", mode="keyword", hidden=True).hits
    assert memory.search("lighthouse", mode="keyword", session=LONG).hits
    assert LONG not in _listed(own) and LONG in _listed(own, hidden=True)
    assert memory.ask(SessionsRequest())["hidden"] == 1
    last = next(each for each in _listed(own, project=HARBOR) if each.startswith("019dd3a0"))
    assert last[:8] in str(recent_work(memory, [HARBOR]))
    agents.answer(HideRequest(last))
    assert last[:8] not in str(recent_work(memory, [HARBOR]))
    day = {"anchor": "2026-02-01", "scope": "all", "after": "1d", "before": "1d"}
    assert LONG not in str(memory.ask(TimelineRequest.from_values("http", day))["sessions"])
    newest = str(memory.ask(TimelineRequest())["anchor"]["given"])
    on_it = memory.ask(
        TimelineRequest.from_values("http", {**day, "anchor": newest, "before": "0"})
    )
    for part in on_it["sessions"]:
        agents.answer(HideRequest(part["session_id"]))
    before = memory.ask(TimelineRequest())
    assert on_it["sessions"] and before["sessions"] and before["anchor"]["given"] < newest
    agents.answer(HideRequest(LONG, remove=True))
    assert LONG in _listed(own)
    with pytest.raises(NotFound, match="not hidden"):
        agents.answer(HideRequest(LONG, remove=True))


def test_other_hits_take_the_place_of_hidden_ones_whatever_number_is_asked_for() -> None:
    """Of the best `MAX_HITS`: no search asks for more."""
    hits = tuple(Hit(str(place), "", 0.0, seal("x"), {}) for place in range(2 * MAX_HITS))

    def ask(request: SearchRequest) -> Answer:
        return Answer("x", "keyword", Coverage(1, 1, 1, 1, 0, ""), hits[: request.n])

    for number, left in ((10, 10), (60, 60), (MAX_HITS, MAX_HITS - 1)):
        answer = keep_passing(ask, SearchRequest("x", n=number), lambda hit: hit.id != "0")
        assert len(answer.hits) == left


def test_what_an_answer_lacks_is_told_only_where_no_hit_is_sure() -> None:
    """Of several projects of one name the first may have none that is, and another one."""
    coverage = Coverage(1, 1, 1, 1, 0, "")
    weak, sure = (
        Hit(name, "", score, seal("x"), {}, weak=name == "weak")
        for name, score in (("weak", 0.9), ("sure", 0.5))
    )
    unsure = Answer("x", "keyword", coverage, (weak,), machine=3, missing=("zebra",))
    both = [unsure, Answer("x", "keyword", coverage, (sure,))]
    for answers, n, told in ((both, 2, (0, [])), (both[::-1], 1, (3, ["zebra"]))):
        joined = joined_answer(answers, n).to_dict()
        assert (joined["machine"], joined["missing"]) == told


def test_forgetting_a_session_removes_pin_and_hiding(own: Settings) -> None:
    """Nothing in the data directory names it, or has the note."""
    run = {**environment_of(own), "VECTOR_BACKEND": "none", "MEMORY_EMBEDDER": "none"}
    others = [each for each in _listed(own) if each != LONG]
    assert run_here(run, "pin", f"{LONG}:1", "the", "marmalade", "note").returncode == 0
    assert run_here(run, "hide", others[0]).returncode == 0
    for session in (LONG, others[0]):
        done = run_here(run, "forget", session, "--yes")
        assert done.returncode == exit_codes.FINE, done.stderr
    files = [path for path in own.data_dir.rglob("*") if path.is_file()]
    said = b"".join(path.read_bytes() for path in files)
    assert b"marmalade" not in said and others[0].encode() not in said
    assert json.loads(run_here(run, "sessions", "--pinned", "--json").stdout)["sessions"] == []


def test_a_note_goes_with_a_session_whose_name_is_no_unique_id(tmp_path: Path) -> None:
    """A memory of a conversation of that name stays, and goes when that is forgotten."""
    claude, data = tmp_path / "claude", tmp_path / "data"
    write_claude(claude, "night-watch", "/home/mira/boat", "varnish the oars")
    run = {"MEMORY_DATA_DIR": str(data), "MEMORY_PROJECTS_DIR": str(claude)}
    run |= {"VECTOR_BACKEND": "none", "MEMORY_EMBEDDER": "none"}
    assert run_here(run, "ingest").returncode == 0
    assert run_here(run, "pin", "night-watch", "marmalade").returncode == 0
    run_here(run, "remember", "We use pnpm.", "--conversation", "night-watch")
    assert run_here(run, "ingest").returncode == 0
    assert "1 session and 1 memory" in run_here(run, "forget", "night-watch", "--yes").stdout
    files = [path for path in data.rglob("*") if path.is_file()]
    assert not [path for path in files if b"marmalade" in path.read_bytes()]
    assert "We use pnpm." in run_here(run, "memories").stdout


def test_sessions_that_are_hidden_at_once_are_all_hidden(tmp_path: Path) -> None:
    """By two threads, as by two processes; a file that is damaged hides what can be read of it."""
    path = tmp_path / "hidden.txt"

    def hide(name: str) -> None:
        for number in range(20):
            HiddenSessions(path).add([("p", f"{name}{number}")])

    with ThreadPoolExecutor(2) as threads:
        list(threads.map(hide, ("a", "b")))
    assert len(HiddenSessions(path).all()) == 40
    path.write_bytes(b"\xff\xfe\np\ta1\n")
    assert HiddenSessions(path).all() == {("p", "a1")}
    tmp_path.joinpath("file").write_text("")
    with pytest.raises(StoreError, match="cannot write"):
        HiddenSessions(tmp_path / "file" / "hidden.txt").add([("p", "a")])


@pytest.fixture
def browser(own: Settings) -> Iterator[TestClient]:
    """A browser that is signed in to the pages."""
    site = build_site(own, token=TOKEN)
    with TestClient(site, base_url=LOCAL, follow_redirects=False) as client:
        client.post("/page/login", data={"token": TOKEN, "next": "/"})
        yield client


def test_the_page_pins_where_a_token_is_asked_for(browser: TestClient, own: Settings) -> None:
    """By a form of its own; another site's form, and who is not signed in, changes nothing; without
    a token the page shows the command."""
    sent = {"session": LONG, "turn": "1", "text": "<b>bold</b> find"}
    foreign = browser.post("/page/pin", data=sent, headers={"Origin": "https://evil.example"})
    assert foreign.status_code == 403
    marked = {"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "navigate"}
    assert browser.post("/page/pin", data=sent, headers=marked).status_code == 403
    with TestClient(build_site(own, token=TOKEN), base_url=LOCAL) as stranger:
        assert stranger.post("/page/pin", data=sent).status_code == 401
    with TestClient(build_site(own), base_url=LOCAL) as open_to_all:
        assert open_to_all.post("/page/pin", data=sent).status_code == 404
        shown = open_to_all.get(f"/page/session/{LONG}").text
        assert f"memory pin {LONG[:8]}" in shown and "/page/pin" not in shown
    assert _listed(own, pinned=True) == {}
    done = browser.post("/page/pin", data=sent)
    assert done.status_code == 303 and done.headers["location"].endswith("?turn=1#turn-1")
    for page in (f"/page/session/{LONG}", "/page/sessions?pinned=true", "/page/overview"):
        text = browser.get(page).text
        assert "&lt;b&gt;bold&lt;/b&gt; find" in text, page
    turn = browser.get(f"/page/session/{LONG}?turn=1").text
    assert f'href="/page/session/{LONG}?turn=1#pin"' in turn and "Pinned: &lt;b&gt;bold" in turn
    assert 'id="pin" open' in turn and 'value="1"' in turn
    assert browser.post("/page/pin", data={"session": "nobody"}).status_code == 404
    browser.post("/page/pin", data={"session": LONG, "turn": "1", "remove": "true"})
    assert _listed(own, pinned=True) == {}
