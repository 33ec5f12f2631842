"""A search over several memories, pulled to a machine that has none of its own."""

from __future__ import annotations

import re
import shutil
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from starlette.testclient import TestClient

from memory_assets.errors import NotFound, UnknownName
from memory_assets.install_key import load_install_key
from memory_assets.pipeline.ingest.passes import PASSES, Task, run_task
from memory_assets.pipeline.scan import on_disk
from memory_assets.pipeline.stage.components import Components
from memory_assets.recall.memory import Memory
from memory_assets.requests.questions import GetRequest, ShowRequest
from memory_assets.requests.search import SearchRequest
from memory_assets.serving.pages.site import build_site
from memory_assets.serving.tool_answers import answer_tool
from memory_assets.settings import Settings, load_settings
from memory_assets.shards.pull import pull
from memory_assets.shards.push import push
from memory_assets.stores.shard.objects import open_objects
from memory_assets.stores.shard.replicas import replicas_holding, replicas_of
from memory_assets.stores.shard.shard import Shard
from memory_assets.stores.tombstones import FILE_NAME, Tombstones
from memory_assets_tests.conftest import forget_own_settings, settings_of_copy
from memory_assets_tests.loaded_engines import give
from memory_assets_tests.transcript_files import claude_line, write_lines

PLANTED = {
    "alice/laptop": [
        ("where does the kangaroo of the lighthouse sleep?", "In the lamp room of the lighthouse."),
        ("who repairs the tide clock on the pier?", "Ebbe repairs the tide clock every spring."),
    ],
    "bob/desk": [
        ("which paint does the harbour crane need?", "The harbour crane needs red lead paint.")
    ],
    "carol/desk": [],
}
"""What only one of three people asked, and the answers."""
PLAIN = {
    "alice/laptop": ("report", "the daily report counts each question twice in winter"),
    "bob/desk": ("lighthouse", "the page of the lighthouse has a broken link"),
    "carol/desk": ("clock", "a clock in the header of the page, on the pier of the site"),
}
"""What each works on: the words of others' questions, where these are the only ones known."""
QUESTIONS = {
    "where does the kangaroo of the lighthouse sleep": "alice/laptop",
    "who repairs the tide clock on the pier": "alice/laptop",
    "which paint does the harbour crane need": "bob/desk",
}


@pytest.fixture(scope="module")
def team(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Settings]:
    """A machine to which the memories of three people were pulled."""
    root = tmp_path_factory.mktemp("team")
    engines: dict[str, Any] = {}
    with pytest.MonkeyPatch.context() as patch:
        forget_own_settings(patch, root / "home")
        objects = open_objects(str(root / "objects"))
        for name, asked in PLANTED.items():
            word, said = PLAIN[name]
            turns = [
                (f"please look at the {word}, part {at}", f"{said} ({at})") for at in range(22)
            ]
            components = _memory(root / name, [*turns[:11], *asked, *turns[11:]], engines)
            push(components, Shard(objects, name), erase_traces=lambda names: 0)
        settings = load_settings(data_dir=root / "machine", vector_backend="none")
        assert len(pull(settings, objects)) == 3
        yield settings


def _memory(root: Path, turns: Sequence[tuple[str, str]], engines: dict[str, Any]) -> Components:
    """Return a memory of one session."""
    session = f"{abs(hash(str(root))) % 10**8:08d}-0000-4000-8000-000000000001"
    lines = []
    for at, text in enumerate(text for turn in turns for text in turn):
        when = f"2026-03-01T{at // 120 + 8:02}:{at // 2 % 60:02}:00.000Z"
        lines.append(claude_line(session, at, text, "/home/mara/code/site", when))
    projects = root / "transcripts" / "claude" / "projects"
    write_lines(projects / "-home-mara-code-site" / f"{session}.jsonl", lines)
    components = Components(settings_of_copy(root, vector_backend="none"))
    give(components, engines)
    for project in on_disk.find_sources(components):
        for part in PASSES:
            assert list(run_task(components, Task(project, part.assets)))
    engines.update((name, getattr(components, name)) for name in ("redactor", "embedder"))
    return components


@pytest.mark.parametrize("question", QUESTIONS)
def test_the_exact_turn_is_first_whoever_has_it(team: Settings, question: str) -> None:
    """Merged by probability, and its hit names the memory; by score a stranger's turn, which has
    the one word that its memory knows, would be as good."""
    answer = Memory(team).search(question, over=("all",), n=5)
    assert answer.hits[0].metadata["memory"] == QUESTIONS[question]
    assert question in str(answer.hits[0].text) and not answer.hits[0].weak
    assert answer.reason is None and answer.coverage.turns == 69


def test_merged_by_score_a_stranger_would_come_before(team: Settings) -> None:
    """A memory that knows one word of three finds it whole; one that knows all finds two."""
    asked = "kangaroo lighthouse question"

    def best(question: str, by: Callable[[Any], float]) -> str:
        hits = Memory(team).search(question, over=("all",), mode="keyword", n=50).hits
        return str(max(hits, key=by).metadata["memory"])

    assert best(asked, lambda hit: hit.score) == "bob/desk"
    assert best(asked, lambda hit: float(hit.why["answers"])) == "alice/laptop"


@pytest.mark.parametrize(
    ("over", "memories"),
    [
        ("all", {"alice/laptop", "bob/desk", "carol/desk"}),
        ("alice", {"alice/laptop"}),
        ("bob/desk,carol/desk", {"bob/desk", "carol/desk"}),
        ("desk", {"bob/desk", "carol/desk"}),
        ("OBJECTS", {"alice/laptop", "bob/desk", "carol/desk"}),
        ("OBJECTS/alice", {"alice/laptop"}),
    ],
)
def test_memories_are_named_by_address_or_its_end(
    team: Settings, over: str, memories: set[str]
) -> None:
    """All, a prefix, or the last parts of an address; nothing else is asked."""
    named = over.replace("OBJECTS", str(team.data_dir.parent / "objects"))
    if over == "alice":
        named = str(team.data_dir.parent / "objects" / "alice")
    answer = Memory(team).ask(SearchRequest.from_values("http", {"q": "page", "over": named}))
    assert set(answer["filters"]["over"].split(", ")) == memories
    assert {hit["metadata"]["memory"] for hit in answer["hits"]} <= memories


def test_a_memory_that_is_not_there_is_an_error_that_lists_those_that_are(team: Settings) -> None:
    """The end of a name is a whole part of it."""
    for name in ("nobody", "esk", "laptop/alice"):
        with pytest.raises(UnknownName, match="alice/laptop, bob/desk, carol/desk"):
            Memory(team).search("page", over=(name,))


def test_one_damaged_memory_does_not_keep_the_others_from_answering(
    team: Settings, tmp_path: Path
) -> None:
    """The answer says which one was not searched."""
    settings = replace(team, data_dir=tmp_path / "machine")
    shutil.copytree(team.data_dir, settings.data_dir)
    broken = next(each for each in replicas_of(settings.data_dir) if "bob" in each.url)
    for path in broken.directory.glob("keywords.db*"):
        path.write_bytes(b"no database" * 1_000)
    answer = Memory(settings).search("page", over=("all",))
    assert answer.reason is not None and "bob/desk was not searched" in answer.reason
    assert "carol/desk" in {hit.metadata["memory"] for hit in answer.hits}


def test_a_filter_that_a_memory_lacks_leaves_it_out(team: Settings) -> None:
    """A session is of one memory, a project of all three here."""
    hit = Memory(team).search("kangaroo", over=("all",), n=1).hits[0]
    session = str(hit.metadata["session_id"])
    answer = Memory(team).search("lighthouse", over=("all",), session=session, n=3)
    assert {each.metadata["memory"] for each in answer.hits} == {"alice/laptop"}
    with pytest.raises(UnknownName):
        Memory(team).search("lighthouse", over=("all",), project="nowhere")
    every = Memory(team).search("part", over=("all",), project="site", n=60)
    assert {each.metadata["memory"] for each in every.hits} == set(PLAIN)


def test_the_newest_of_all_come_first_without_a_question(team: Settings) -> None:
    """By time, whatever the memory."""
    hits = Memory(team).search("", over=("all",), sort="date", n=30).hits
    times = [hit.metadata["timestamp"] for hit in hits]
    assert times == sorted(times, reverse=True) and len(hits) == 30
    assert len({hit.metadata["memory"] for hit in hits}) > 1


def test_what_two_machines_have_is_one_hit_of_both(team: Settings, tmp_path: Path) -> None:
    """The same transcripts in two homes of one person."""
    settings = _with_another(team, tmp_path, "objects/alice/tower")
    hits = Memory(settings).search("kangaroo", over=("all",), n=50).hits
    assert hits[0].metadata["memory"] == "alice/laptop, alice/tower"
    assert len({hit.id for hit in hits}) == len(hits)


@pytest.mark.parametrize(
    ("end", "names"),
    [
        ("elsewhere/alice/laptop", "elsewhere/alice/laptop, objects/alice/laptop"),
        ("elsewhere/alice, once/laptop", "alice, once/laptop, alice/laptop"),
    ],
)
def test_no_two_memories_have_one_name(
    team: Settings, tmp_path: Path, end: str, names: str
) -> None:
    """Addresses that end alike have longer names; a comma in one is a part of it."""
    settings = _with_another(team, tmp_path, end)
    answer = Memory(settings).search("kangaroo", over=("all",), n=50)
    assert answer.hits[0].metadata["memory"] == names
    assert answer.coverage.turns == 69 + 24
    if "," not in end:  # by which `over` is split
        hits = Memory(settings).search("kangaroo", over=(end,), n=1).hits
        assert hits[0].metadata["memory"] == end


def _with_another(team: Settings, root: Path, end: str) -> Settings:
    """Return the settings of a machine that has a replica more, of Alice's memory too, at an
    address that ends so."""
    settings = replace(team, data_dir=root / "machine")
    shutil.copytree(team.data_dir, settings.data_dir)
    first = next(each for each in replicas_of(settings.data_dir) if "alice" in each.url)
    shutil.copytree(first.directory, first.directory.with_name("other"))
    other = replace(first, directory=first.directory.with_name("other"))
    other.url = str(team.data_dir.parent / end)
    other.note()
    return settings


def test_a_hit_can_be_shown_from_its_memory(team: Settings) -> None:
    """By its id, as a hit of the own memory, also by the tool of MCP."""
    memory = Memory(team)
    hit = memory.search("kangaroo", over=("all",), n=1).hits[0]
    (shown,) = memory.ask(ShowRequest(hit.id))["rows"]
    assert "lamp room" in str(shown)
    place = str(hit.metadata["project"]), str(hit.metadata["session_id"])
    assert memory.titles([place])[place[1]], "a title that only the other memory knows"
    structured, text = answer_tool(memory, "get", GetRequest((hit.id,)))
    assert "lamp room" in text
    structured, text = answer_tool(memory, "recall", SearchRequest("kangaroo", n=1, over=("all",)))
    assert structured["hits"][0]["memory"] == "alice/laptop" and "in alice/laptop" in text


def test_what_was_forgotten_here_is_found_in_no_other_memory(
    team: Settings, tmp_path: Path
) -> None:
    """Neither by a search nor by its id or page, though the shard still has it; all else is. What
    is hidden here is found if hidden sessions are asked for."""
    settings = replace(team, data_dir=tmp_path / "machine")
    shutil.copytree(team.data_dir, settings.data_dir)
    hit = Memory(settings).search("kangaroo", over=("all",), n=1).hits[0]
    session = str(hit.metadata["project"]), str(hit.metadata["session_id"])
    assert replicas_holding(settings.data_dir, [session])[0].endswith("alice/laptop")
    memory = Memory(settings)
    memory.hidden.add([session])
    for hidden in (False, True):
        hits = memory.search("kangaroo", over=("all",), n=50, hidden=hidden).hits
        assert ("alice/laptop" in {each.metadata["memory"] for each in hits}) is hidden
    memory.hidden.remove([session])
    Tombstones(settings.data_dir / FILE_NAME, load_install_key()).begin([session])
    memory = Memory(settings)
    for mode in ("hybrid", "keyword"):
        hits = memory.search("kangaroo", over=("all",), mode=mode, n=50).hits
        assert "alice/laptop" not in {each.metadata["memory"] for each in hits}
    for any_id in (hit.id, session[1], session[1][:8]):
        with pytest.raises(NotFound):
            memory.ask(ShowRequest(any_id))
        with pytest.raises(NotFound):
            answer_tool(memory, "get", GetRequest((any_id,)))
    pages = TestClient(build_site(settings), base_url="http://127.0.0.1")
    assert pages.get(f"/page/session/{session[1]}").status_code == 404
    other = memory.search("crane", over=("all",), n=1).hits[0]
    assert memory.ask(ShowRequest(other.id))["rows"]


def test_the_page_searches_over_memories(team: Settings) -> None:
    """They are to be chosen from; each hit names its memory, and leads to its session there, of
    which all can be read: turns, records, copies. It says whose it is, and nothing is offered that
    only its own machine can answer."""
    client = TestClient(build_site(team), base_url="http://127.0.0.1")
    text = client.get("/", params={"q": "tide clock on the pier", "over": "all"}).text
    assert '<option value="bob/desk"' in text and '<option value="all" selected' in text
    shown = re.sub(r"\s+", " ", re.sub(r"<[^>]+>", "", text))
    assert "in alice/laptop" in shown and "repairs the tide clock" in shown
    address = re.findall(r'<h2[^>]*><a href="([^"#]+)', text)[0]
    assert address.startswith("/page/session/") and "/page/audit/" not in text
    opened = client.get(address.replace("&amp;", "&")).text
    assert "alice/laptop</code>" in opened and "Ebbe repairs" in opened
    leads_nowhere = r"/page/project/|/page/audit/|#pin|Lineage in|memory pin|Around it"
    assert not re.findall(leads_nowhere, opened)
    session = address.split("?")[0].removeprefix("/page/session/")
    for page in ("turns", "markdown", "export"):
        text = client.get(f"/page/{page}/{session}", params={"from": 0}).text
        assert "Ebbe" in text and "/page/audit/" not in text
    assert client.get(f"/sessions/{session}").json()["session_id"] == session
    assert client.get("/page/session/00000000-0000-4000-8000-000000000009").status_code == 404


def test_nothing_is_written(team: Settings) -> None:
    """No file below the machine's directory changes by a search."""
    before = _files(team.data_dir)
    Memory(team).search("tide clock", over=("all",))
    assert _files(team.data_dir) == before


def _files(root: Path) -> dict[Path, int]:
    return {
        path: path.stat().st_mtime_ns
        for path in root.rglob("*")
        if path.is_file() and path.suffix not in (".db-shm", ".db-wal")
    }


@pytest.mark.parametrize("question", [*QUESTIONS, "the page of the lighthouse", "part 7 of it"])
def test_few_hits_are_the_first_of_many(team: Settings, question: str) -> None:
    """Though memories without a hit that is good enough make but one ready, where few are asked
    for."""
    few, many = (Memory(team).search(question, over=("all",), n=n) for n in (3, 60))
    assert [(hit.id, hit.why, hit.metadata["memory"]) for hit in few.hits] == [
        (hit.id, hit.why, hit.metadata["memory"]) for hit in many.hits[:3]
    ]
    assert (few.weak, few.missing, few.corrected) == (many.weak, many.missing, many.corrected)
