"""What `memory context` says of a project's last sessions, from transcripts alone."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

from memory_assets.embedding import DEFAULT_EMBEDDER, minilm
from memory_assets.embedding.minilm import MiniLM, load_minilm
from memory_assets.errors import ConfigurationError
from memory_assets.paths import project_slug
from memory_assets.recall.sessions.recent_work import recent_work
from memory_assets.requests.agent_memory import ContextRequest, RememberRequest
from memory_assets.serving.agent_memory import AgentMemory
from memory_assets.serving.opened import OpenedMemory
from memory_assets.settings import load_settings
from memory_assets.stores.agents.journal import FILE_NAME
from memory_assets.stores.keyword_index import files as keyword_files
from memory_assets.stores.keyword_index.files import open_for_reading
from memory_assets.stores.keyword_index.index import KeywordIndex
from memory_assets.stores.tombstones import Tombstones
from memory_assets_tests.command_line import run_here, run_program
from memory_assets_tests.recall.worked import Call, Worked, shell

HERE = "/home/mara/code/kiln"
PROJECT = project_slug(HERE)


def lines_of(worked: Worked) -> str:
    """The lines of the project as one text."""
    return "\n".join(recent_work(worked.memory(), [PROJECT]))


def commit(subject: str, *, push: str = "", branch: str = "main") -> Call:
    """A commit as Git prints it."""
    printed = f"[{branch} 1f2e3d4] {subject}\n 1 file changed"
    return shell(f"git commit -am '{subject}'{push}", printed)


def texts_of(root: Path, sessions: Sequence[Sequence[Call]]) -> list[str]:
    """The lines of a project for each of the sessions, which is the only one there."""
    worked = Worked(root)
    places = [f"/home/mara/code/kiln-{at}" for at in range(1, len(sessions) + 1)]
    for at, (calls, place) in enumerate(zip(sessions, places, strict=True), 1):
        worked.session(str(at), *calls, cwd=place)
    memory = worked.memory()
    return ["\n".join(recent_work(memory, [project_slug(place)])) for place in places]


PUSHES: list[tuple[list[Call], str]] = [
    ([commit("Fix the damper")], "not pushed in it"),
    ([commit("Fix the damper", push=" && git push")], "pushed"),
    ([commit("Fix the damper"), shell("git -C . push origin main")], "pushed"),
    ([commit("Fix the damper"), shell("gt submit --stack")], "pushed"),
    ([commit("Fix the damper"), shell("jj git push -b damper")], "pushed"),
    ([shell("git push"), commit("Fix the damper")], "not pushed in it"),
    ([commit("Fix the damper"), shell("git push", "rejected", failed=True)], "not pushed in it"),
    *(
        ([commit("Fix the damper"), shell(may_push)], "")
        for may_push in ("make release", "cd ci && just push", "pnpm run ship")
    ),
]


def test_a_commit_was_pushed_if_a_push_after_it_worked(tmp_path: Path) -> None:
    """In the same session; a push that failed or came before it is none. What a script does is not
    on record, so nothing is said where it may have pushed."""
    texts = texts_of(tmp_path, [[*calls, Call(said="Committed.")] for calls, _ in PUSHES])
    for at, (text, (_, said)) in enumerate(zip(texts, PUSHES, strict=True), 1):
        state = f' "Fix the damper" ({said})' if said else ' "Fix the damper".'
        assert state in text and f"[{at:08}]" in text, at


def test_what_was_pushed_after_the_record_breaks_off_is_not_known(tmp_path: Path) -> None:
    """Nothing is said of a session that ends in a call; a later push on its branch is told."""
    worked = Worked(tmp_path)
    worked.session("a", commit("Fix the damper", branch="damper"), cwd=HERE)
    assert 'Commit "Fix the damper".' in lines_of(worked)
    worked.session("b", shell("git push"), Call(said="Pushed."), cwd=HERE, branch="damper", days=1)
    assert 'Commit "Fix the damper" (pushed later)' in lines_of(worked)


def test_a_session_is_told_with_the_branch_it_committed_to_and_its_pull_request(
    tmp_path: Path,
) -> None:
    """Not with the one on which it began."""
    worked = Worked(tmp_path)
    address = "https://github.com/mara/kiln/pull/7"
    calls = [commit("Fix the damper", branch="damper"), shell("git push && gh pr create", address)]
    worked.session("a", *calls, cwd=HERE, branch="main")
    text = lines_of(worked)
    assert " damper [0000000a]: " in text and text.count("main") == 0
    assert '"Fix the damper" (pushed). Pull request mara/kiln#7.' in text


def test_what_a_session_only_read_about_is_not_what_it_did(tmp_path: Path) -> None:
    """Its report has to speak of what was asked, unless the session changed files."""
    worked = Worked(tmp_path)
    asked = [Call(text=text) for text in ("Try to fetch the page of the glaze", "again")]
    calls = [shell("curl glaze.example"), shell("ls"), shell("id")]
    said = Call(said="Improved recovery after errors in large ovens.")
    worked.session("a", *asked, *calls, said, cwd=HERE)
    text = lines_of(worked)
    assert "[0000000a]" in text and "recovery" not in text


WRITE = Call("Write", {"file_path": f"{HERE}/damper.py", "content": "x = 1"})


def test_that_nothing_was_committed_is_told_only_where_it_is_known(tmp_path: Path) -> None:
    """Commands are on record, none has to do with commits, and the session ended with a message."""
    written = Call(said="The damper is written.")
    known, *unknown = texts_of(
        tmp_path,
        [
            [WRITE, shell("make"), written],
            [WRITE, shell("make")],
            [WRITE, written],
            [WRITE, shell("make commit"), written],
        ],
    )
    assert "(no commit in it)" in known
    assert all("Changed " in text and "(no commit in it)" not in text for text in unknown)


def test_the_last_session_is_told_though_nothing_came_of_it(tmp_path: Path) -> None:
    """It is the one that the next goes on with, if it has a topic and was more than a question."""
    worked = Worked(tmp_path)
    worked.session("a", commit("Fix the damper"), cwd=HERE)
    talk = [Call(text=text) for text in ("Plan how the glaze gets its colours", "and then?", "ok")]
    worked.session("b", *talk, Call(said="There are six steps."), cwd=HERE, days=1)
    text = lines_of(worked)
    assert "[0000000b]" in text and "[0000000a]" in text


def test_what_was_left_open_is_told_in_its_own_words(tmp_path: Path) -> None:
    """With day and session; not what stands in an earlier message, nor what the agent only
    announces."""
    worked = Worked(tmp_path)
    calls = [
        Call(said="The glaze is not committed yet."),
        Call(text="go on"),
        shell("make"),
        Call(said="The damper opens.\n\nThe migration is not deployed yet."),
    ]
    worked.session("a", *calls, cwd=HERE)
    text = lines_of(worked)
    assert '- 2026-03-30 "The migration is not deployed yet." [0000000a:1]' in text
    assert "glaze" not in text


@pytest.mark.parametrize(
    ("branch", "calls", "is_open"),
    [
        ("kiln-door", [shell("make"), Call(said="The hinges turn.")], True),
        ("damper", [shell("make"), Call(said="The hinges turn.")], False),
        ("kiln-door", [WRITE, Call(said="The hinges turn.")], False),
        ("kiln-door", [commit("Deploy the migration"), Call(said="The hinges turn.")], False),
    ],
)
def test_what_a_later_session_may_have_done_is_not_open(
    tmp_path: Path, branch: str, calls: list[Call], is_open: bool
) -> None:
    """One on the same branch of its own, on the same files, or whose commits have its words."""
    worked = Worked(tmp_path)
    left = Call(said="The migration is not deployed yet.")
    worked.session("a", WRITE, left, cwd=HERE, branch="damper")
    worked.session("b", *calls, cwd=HERE, branch=branch, days=1)
    assert ("not deployed yet" in lines_of(worked)) is is_open


def test_what_a_person_asked_once_and_for_all_is_told(tmp_path: Path) -> None:
    """With the day, the newest first; not what is pasted."""
    worked = Worked(tmp_path)
    pasted = "never do it. " + "pasted " * 400
    asked = [Call(text="never commit without signing."), Call(text=pasted)]
    worked.session("a", *asked, shell("make"), commit("Sign"), cwd=HERE)
    text = lines_of(worked)
    assert '- 2026-03-30 "never commit without signing." [0000000a:1]' in text
    assert "never do it" not in text


def test_the_project_of_a_repository_tells_of_its_working_trees(tmp_path: Path) -> None:
    """Their sessions are among its own."""
    worked = Worked(tmp_path)
    worked.session("a", commit("Fix the damper"), cwd=HERE)
    tree = f"{HERE}/.claude/worktrees/door"
    worked.session("b", commit("Hang the door"), cwd=tree, days=1)
    text = lines_of(worked)
    assert text.index("Hang the door") < text.index("Fix the damper")


def test_tests_that_still_fail_at_the_end_are_told(tmp_path: Path) -> None:
    """Those of the last session; not those that passed at last, that a commit came after, or that
    the last message says to pass, nor of an earlier session."""
    worked = Worked(tmp_path)
    failing = shell("pytest -q", "FAILED test_glaze.py::test_cone - assert 5 == 6", failed=True)
    worked.session("a", commit("Try"), Call(text="go on"), failing, failing, cwd=HERE)
    assert "Failed when it was tried last:" in lines_of(worked)
    for day, last in enumerate(
        (
            [shell("pytest -q", "1 passed"), commit("Fix")],
            [commit("Fix")],
            [Call(said="All tests pass now.")],
        ),
        1,
    ):
        worked.session(f"b{day}", failing, failing, *last, cwd=HERE, days=day)
        assert "Failed" not in lines_of(worked)


def test_lines_that_a_message_needs_come_before_others(tmp_path: Path) -> None:
    """Those with words of the latest message, where not all fit."""
    worked = Worked(tmp_path)
    for day, name in enumerate(("anvil", "bevel", "chisel")):
        worked.session(name, commit(f"Change {name}"), cwd=HERE, days=day)
    message = "and the anvil?"
    needed = recent_work(worked.memory(), [PROJECT], lambda lines: len(lines) <= 3, message)
    assert "Change anvil" in needed[1]


def test_less_is_told_until_it_fits(tmp_path: Path) -> None:
    """Of fewer sessions, the newest first; of sessions in which nothing was done, nothing."""
    worked = Worked(tmp_path)
    for day, name in enumerate("abcde"):
        worked.session(name, commit(f"Change {name}"), cwd=HERE, days=day)
    worked.session("f", Call(text="hello"), cwd=HERE, days=9)
    memory = worked.memory()
    whole = recent_work(memory, [PROJECT])
    assert [line.partition("Change ")[2][:1] for line in whole[1:4]] == ["e", "d", "c"]
    fewer = recent_work(memory, [PROJECT], lambda lines: len(lines) <= 3)
    assert fewer == [whole[0], whole[1], whole[-1]]
    assert recent_work(memory, [PROJECT], lambda lines: False) == []
    assert recent_work(memory, ["-home-mara-code-nowhere"]) == []


def test_a_context_tells_of_the_project_without_a_memory_of_agents(tmp_path: Path) -> None:
    """From the first ingest on, in a frame, within 300 tokens; no journal is made for it."""
    worked, here = Worked(tmp_path), tmp_path / "kiln"
    here.mkdir()
    worked.session("a", commit("Fix the damper"), cwd=here)
    worked.memory()
    environment = worked.environment()
    said = json.loads(run_here(environment, "context", "--project", str(here), "--json").stdout)
    assert "Fix the damper" in said["text"] and said["text"].startswith("<recalled-memory")
    assert 0 < said["tokens"] <= 400
    assert not (tmp_path / "data" / FILE_NAME).exists()
    other = run_here(environment, "context", "--project", str(tmp_path / "elsewhere"))
    assert (other.returncode, other.stdout) == (0, "")


def test_what_a_message_needs_comes_first(tmp_path: Path) -> None:
    """The turns that answer it, each with an id that `memory show` takes, before the last sessions;
    none where nothing answers."""
    worked, here = Worked(tmp_path), tmp_path / "kiln"
    here.mkdir()
    said = Call(said="The damper sticks because the hinge of the flue is rusted through.")
    worked.session("a", said, commit("Oil the hinge"), cwd=here)
    worked.session("b", Call(said="The shelf holds."), commit("Fix the shelf"), cwd=here, days=1)
    environment = worked.environment()
    for name in ("codex", "pi"):
        (tmp_path / name).mkdir()
    assert run_here(environment, "ingest").returncode == 0

    def lines(message: str) -> list[str]:
        asked = ("context", "--project", str(here), "--latest", message)
        return run_here(environment, *asked).stdout.splitlines()

    answered = lines("why does the damper of the flue stick?")
    assert answered[1] == "On this message, from earlier sessions:"
    assert "rusted through" in answered[2] and "[0000000a:0]" in answered[2]
    assert answered[-1] == "why does the damper of the flue stick?"
    assert lines("zzzz qqqq")[1] == "Last sessions of this project:"


def _agents_with_a_session(root: Path) -> AgentMemory:
    """What answers agents, over a memory of one session."""
    worked = Worked(root)
    worked.session("a", Call(said="The damper sticks: its hinge is rusted."), cwd=HERE)
    for name in ("codex", "pi"):
        (root / name).mkdir()
    assert run_here(worked.environment(), "ingest").returncode == 0
    return AgentMemory(load_settings(**worked.settings()))


def test_a_context_has_whole_turns_under_its_headings(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What has no room is left out with its heading."""
    agents = _agents_with_a_session(tmp_path)
    request = ContextRequest(project=PROJECT, latest="why does the damper stick?")
    assert "On this message" in agents.answer(request)["text"]
    monkeypatch.setattr("memory_assets.serving.agent_memory._WORK_TOKENS", 20)
    assert "On this message" not in agents.answer(request)["text"]


def test_a_server_opens_index_and_model_once_for_all_calls(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whether an agent searches, writes or begins; each call would have to wait for another."""
    _agents_with_a_session(tmp_path)
    settings = load_settings(**{**Worked(tmp_path).settings(), "embedder": DEFAULT_EMBEDDER})
    loaded, opened = list[MiniLM](), list[Path]()

    def counted(path: Path) -> KeywordIndex:
        opened.append(path)
        return open_for_reading(path)

    def counted_model() -> MiniLM:
        loaded.append(load_minilm())
        return loaded[-1]

    monkeypatch.setattr(keyword_files, "open_for_reading", counted)
    monkeypatch.setattr(minilm, "load_minilm", counted_model)
    memory = OpenedMemory(settings)
    agents = AgentMemory(settings, memory)
    for latest in ("why does the damper stick?", "what about the hinge?"):
        request = ContextRequest(project=PROJECT, latest=latest)
        assert "On this message" in agents.answer(request)["text"]
    for text in ("The hinge is of brass.", "The flue is of clay."):
        assert agents.answer(RememberRequest(text))["outcome"] == "stored"
    assert memory.get().search("rusted hinge").hits
    assert (len(opened), len(loaded)) == (1, 1)


def test_the_hook_of_a_session_loads_no_numpy(tmp_path: Path) -> None:
    """Nor what only searches need: an agent's session waits for it; also once something was
    forgotten."""
    worked, here = Worked(tmp_path), tmp_path / "kiln"
    here.mkdir()
    worked.session("a", commit("Fix the damper"), cwd=here)
    worked.memory()
    stones = Tombstones(tmp_path / "data" / "forgotten.db", bytes(32))
    stones.begin([("-home-mara-code", "gone")])
    stones.advance("begun", "done")
    environment = {**os.environ, **worked.environment(), "PYTHONPROFILEIMPORTTIME": "1"}
    started = [sys.executable, "-c", "from memory_assets.cli.start import main; main()"]
    done = run_program([*started, "context", "--project", str(here)], env=environment)
    assert "Fix the damper" in done.stdout
    imported = {line.rpartition("|")[2].strip() for line in done.stderr.splitlines()}
    assert "pyarrow.parquet" in imported
    heavy = {"numpy", "pyarrow.compute", "pydantic", "http.client"}
    assert not imported & heavy


def test_a_name_of_several_directories_means_all_of_them(tmp_path: Path) -> None:
    """Sessions and memories of each are told, and which they are; to write, one must be meant."""
    worked = Worked(tmp_path)
    clones = [f"/home/{who}/code/kiln" for who in ("mara", "ada")]
    for name, clone in zip(("anvil", "bevel"), clones, strict=True):
        worked.session(name, commit(f"Change {name}"), cwd=clone)
    memory = worked.memory()
    agents = AgentMemory(memory.settings)
    for clone in clones:
        agents.answer(
            RememberRequest(
                f"{clone.split('/')[2].title()} fires at dawn.", project=project_slug(clone)
            )
        )
    told = agents.answer(ContextRequest(project="kiln"))["text"]
    for clone, name in zip(clones, ("anvil", "bevel"), strict=True):
        assert project_slug(clone) in told and f"Change {name}" in told
    assert "several projects of that name" in told
    assert "Mara fires at dawn." in told and "Ada fires at dawn." in told
    with pytest.raises(ConfigurationError, match="can mean"):
        agents.answer(RememberRequest("The kiln is hot.", project="kiln"))
