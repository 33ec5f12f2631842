"""`memory remember`, `memories`, `context` and `forget`, as a person and a hook call them."""

from __future__ import annotations

import io
import json
import sqlite3
from collections.abc import Callable
from pathlib import Path
from subprocess import CompletedProcess
from typing import Any

import pytest

from memory_assets.cli import exit_codes
from memory_assets.errors import BadArgument, StoreError
from memory_assets.paths import user_config_dir
from memory_assets.redacted_text import seal
from memory_assets.requests.agent_memory import AppendRequest, RememberRequest
from memory_assets.serving.agent_memory import AgentMemory
from memory_assets.settings import load_settings
from memory_assets.stores.agents.journal import FILE_NAME
from memory_assets.stores.agents.waiting import Waiting, waiting_files
from memory_assets_tests.agent_memory.conftest import TOKEN
from memory_assets_tests.command_line import run_here

Run = Callable[..., CompletedProcess[str]]


@pytest.fixture
def run(tmp_path: Path) -> Run:
    """What runs a command on a memory of words."""
    projects = tmp_path / "projects"
    projects.mkdir()
    environment = {
        "MEMORY_DATA_DIR": str(tmp_path / "memory"),
        "MEMORY_PROJECTS_DIR": str(projects),
        "MEMORY_EMBEDDER": "none",
    }
    return lambda *arguments, **more: run_here({**environment, **more}, *arguments)


def test_a_memory_is_listed_in_the_context_and_forgotten(run: Run, tmp_path: Path) -> None:
    """By the id that it was stored under; of the project of the directory."""
    stored = run("remember", "We", "use", "pnpm.", "--type", "project", "--project", ".", "--json")
    memory_id = json.loads(stored.stdout)["memory_id"]
    run("remember", "The user likes brief answers.", "--type", "preference")
    listed = json.loads(run("memories", "--json").stdout)["memories"]
    assert {each["text"] for each in listed} == {"We use pnpm.", "The user likes brief answers."}
    context = run("context", "--project", ".").stdout
    assert "- We use pnpm. (project" in context and "brief answers" in context
    assert "pnpm" not in run("context").stdout
    assert json.loads(run("context", "--project=.", "--json").stdout)["text"] + "\n" == context
    assert run("forget", memory_id, "--yes").returncode == exit_codes.FINE
    assert "pnpm" not in run("memories").stdout
    assert b"pnpm" not in (tmp_path / "memory" / FILE_NAME).read_bytes()


def test_a_contradiction_names_its_reason(run: Run) -> None:
    """When it is stored, and in the list."""
    run("remember", "The gateway waits for production 30 seconds.")
    older = json.loads(run("memories", "--json").stdout)["memories"][0]["memory_id"]
    stored = run("remember", "The gateway waits for production 5 seconds.")
    assert f"says otherwise than {older}, which stays: 5 instead of 30" in stored.stdout
    assert f"contrary to {older[:16]}: 5 instead of 30" in run("memories").stdout


def test_what_is_refused_says_why_and_fails(run: Run) -> None:
    """With the exit code of an error; nonsense with that of usage."""
    refused = run("remember", "We use pnpm.", "--confidence", ".2")
    assert refused.returncode == exit_codes.ERROR
    assert "below 0.7" in refused.stdout
    assert run("remember", "x", "--type", "rumour").returncode == exit_codes.USAGE
    assert run("memories").returncode == exit_codes.NOTHING_FOUND


def test_a_context_fails_open(run: Run, tmp_path: Path) -> None:
    """Without a memory, switched off or damaged: nothing on standard output, exit code 0, and why
    in one line where something is wrong. While another process writes, it answers."""
    path = tmp_path / "memory" / FILE_NAME
    nothing = run("context")
    assert (nothing.returncode, nothing.stdout, nothing.stderr) == (0, "", "")
    assert not path.exists()
    run("remember", "We use pnpm.")
    assert run("context", MEMORY_CONTEXT="off").stdout == ""
    assert "pnpm" in run("context").stdout
    lock = sqlite3.connect(path, isolation_level=None)
    lock.execute("BEGIN IMMEDIATE")
    assert "pnpm" in run("context").stdout  # a writer does not keep readers out
    lock.close()
    path.write_bytes(b"not a database" * 1_000)
    for name in ("-wal", "-shm"):
        path.with_name(f"{FILE_NAME}{name}").unlink(missing_ok=True)
    damaged = run("context")
    assert (damaged.returncode, damaged.stdout) == (0, "")
    assert damaged.stderr.startswith("no context: ") and damaged.stderr.count("\n") == 1
    assert run("context", "--budget", "3").returncode == exit_codes.USAGE


def test_a_conversation_is_forgotten_with_its_memories(run: Run, tmp_path: Path) -> None:
    """And nothing else; also what was ingested of it. What goes is counted as what it is."""
    run("remember", "We use pnpm.", "--conversation", "c1")
    run("remember", "Logs go to Loki.", "--conversation", "c2")
    ingested = run("ingest", "--json")
    assert ingested.returncode == exit_codes.FINE, ingested.stderr
    hits = json.loads(run("search", "pnpm", "--in", "memory", "--json").stdout)["hits"]
    assert [each["text"] for each in hits][:1] == ["We use pnpm."]
    forgotten = run("forget", "--conversation", "c1", "--yes")
    assert forgotten.returncode == exit_codes.FINE and "Forgotten: 1 memory (" in forgotten.stdout
    left = json.loads(run("memories", "--json").stdout)["memories"]
    assert [each["text"] for each in left] == ["Logs go to Loki."]
    again = json.loads(run("search", "pnpm", "--in", "memory", "--json").stdout)["hits"]
    assert "We use pnpm." not in [each["text"] for each in again]
    shown = run("show", left[0]["memory_id"], "--json")
    assert json.loads(shown.stdout)["rows"][0]["conversation_id"] == "c2"


def test_what_a_conversation_has_is_counted_in_its_own_words(run: Run, tmp_path: Path) -> None:
    """Turns and memories that no ingest has seen, too; an unknown one is no session."""
    store = AgentMemory(load_settings(data_dir=tmp_path / "memory", embedder="none"))
    for at, role in enumerate(("user", "assistant")):
        given = {"conversation": "c1", "role": role, "text": "Hello.", "turn_index": at}
        store.answer(AppendRequest.from_values("mcp", given))
    run("remember", "We use pnpm.", "--conversation", "c1")
    listed = run("forget", "--conversation", "c1", "--dry-run")
    assert "To be forgotten: 1 conversation and 1 memory, 3 rows." in listed.stdout
    assert "  c1\n" in listed.stdout and "2 turns, agent-memory" in listed.stdout
    unknown = run("forget", "--conversation", "c2", "--dry-run")
    assert "no conversation in memory fits" in unknown.stderr


def test_upkeep_needs_no_dagster(run: Run, tmp_path: Path) -> None:
    """The command does what the nightly job does; it promotes where it is asked to."""
    store = AgentMemory(load_settings(data_dir=tmp_path / "memory", embedder="none"))
    said = "From now on always run the linter."
    given = {"conversation": "c1", "role": "user", "text": said, "turn_index": 0}
    store.answer(AppendRequest.from_values("mcp", given))
    run("remember", "We use pnpm.")
    kept = json.loads(run("upkeep", "--json").stdout)
    assert (kept["work"], kept["memories"]) == ("nothing to do", 1)
    assert "1 promoted of what users said" in run("upkeep", "--promote").stdout
    assert said in run("memories").stdout
    assert "none promoted (MEMORY_PROMOTE is off)" in run("upkeep").stdout


def test_what_is_typed_while_memory_is_away_is_kept_and_stored_later(
    run: Run, tmp_path: Path
) -> None:
    """Where its directory is not there: redacted, in order, about the project it was about, three
    memories at most; the next command that can store, ingest or forget sends it."""
    memory = tmp_path / "memory"
    memory.write_text("not a directory")
    for text in ("We use pnpm.", f"The token is {TOKEN}.", "Logs go to Loki."):
        waits = run("remember", text, "--project", "app", "--conversation", "c1", "--json")
        assert waits.returncode == exit_codes.FINE, waits.stderr
        assert json.loads(waits.stdout)["outcome"] == "waits"
    assert run("remember", "One too many.").returncode == exit_codes.ERROR
    assert "below" in run("remember", "Perhaps.", "--confidence", ".1").stdout
    (kept,) = user_config_dir().glob("waiting-*.jsonl")
    assert TOKEN not in kept.read_text() and kept.stat().st_mode & 0o77 == 0
    memory.unlink()
    memory.mkdir()
    (tmp_path / "link").symlink_to(memory)
    tea = run("remember", "The user likes tea.", MEMORY_DATA_DIR=str(tmp_path / "link"))
    assert tea.returncode == exit_codes.FINE, tea.stderr
    listed = json.loads(run("memories", "--json").stdout)["memories"]
    assert [each["project"] for each in listed] == ["", "app", "app", "app"]
    assert not kept.exists()


def test_what_could_not_be_stored_later_does_not_wait(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """It is refused at once; what turns out later to be in the place of another turn is dropped,
    which the log says."""
    memory = tmp_path / "memory"
    memory.write_text("not a directory")
    agents = AgentMemory(load_settings(data_dir=memory, embedder="none"))
    for asked in (
        AppendRequest("c1", "user", "Hello.", 0, ts="yesterday"),
        AppendRequest("c1", "user", "  ", 0),
        AppendRequest("c1", "user", "Hello.", 0, project="a:b"),
        RememberRequest("We use pnpm.", ts="yesterday"),
        RememberRequest("We use pnpm.", tags=("x" * 300,)),
        RememberRequest("We use pnpm.", project="a:b"),
        RememberRequest("  "),
    ):
        with pytest.raises(BadArgument):
            agents.answer(asked)
    assert agents.answer(RememberRequest("many words " * 500))["outcome"] == "refused"
    assert not list(waiting_files(memory))
    for text in ("Hello.", "Good evening."):
        assert agents.answer(AppendRequest("c1", "user", text, 0))["waits"]
    memory.unlink()
    assert agents.send_waiting() == 2
    assert "waited for the memory was dropped: " in caplog.text


def test_what_waits_does_not_fill_the_disk(tmp_path: Path) -> None:
    """Where a directory is never writable: what is too much is refused, what is there stays."""
    waiting = Waiting.of(tmp_path / "memory")
    with pytest.raises(StoreError, match="all that may wait"):
        for number in range(6):
            waiting.add({"text": seal("x" * 1_900_000), "number": number})
    assert len(waiting.entries()) == 5
    sent: list[dict[str, Any]] = []
    assert waiting.send(sent.append) == 5
    assert [each["number"] for each in sent] == [*range(5)] and waiting.entries() == []


def test_what_waits_for_another_store_is_forgotten_with_its_conversation(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Or with a text that it holds; lines of other conversations stay."""
    settings = load_settings(data_dir=tmp_path / "memory", embedder="none")
    waiting = Waiting.of(settings.data_dir, "chat of another server")
    for name, text in (("c1", "We sail."), ("c2", "The code is heron-42."), ("c2", "We row.")):
        waiting.add({"conversation": name, "role": "user", "text": seal(text)})
    agents = AgentMemory(settings)
    agents.answer(AppendRequest("c1", "user", "We sail.", 0))
    agents.answer(AppendRequest("c3", "user", "It was heron-42.", 0))
    assert run("forget", "--conversation", "c1", "--yes").returncode == exit_codes.FINE
    assert [each["text"] for each in waiting.entries()] == ["The code is heron-42.", "We row."]
    monkeypatch.setattr("sys.stdin", io.StringIO("heron-42"))
    done = run("forget", "--containing", "--yes")
    assert done.returncode == exit_codes.FINE and "1 line that waited" in done.stderr
    assert [each["text"] for each in waiting.entries()] == ["We row."]


def test_a_locked_memory_lets_turns_wait(run: Run, tmp_path: Path) -> None:
    """Under the id that the client gets at once, so that the same turn again is the same."""
    settings = load_settings(data_dir=tmp_path / "memory", embedder="none")
    run("remember", "We use pnpm.")
    given = {"conversation": "c1", "role": "user", "text": f"Use {TOKEN}.", "turn_index": 0}
    asked = AppendRequest.from_values("mcp", given)
    lock = sqlite3.connect(settings.data_dir / FILE_NAME, isolation_level=None)
    lock.execute("BEGIN IMMEDIATE")
    waits = AgentMemory(settings, busy_seconds=0.1).answer(asked)
    assert "locked" in waits["waits"]
    lock.close()
    again = AgentMemory(settings).answer(asked)
    assert again == {"message_id": waits["message_id"], "new": False, "waits": ""}
