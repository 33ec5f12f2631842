"""Two laptops of one person: what the commands say and do."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from memory_assets_tests.command_line import run_here
from memory_assets_tests.transcript_files import claude_line, write_lines

SAID = {"laptop": "where does the lighthouse keeper sleep", "desk": "who painted the harbour crane"}
SESSION = "{}0000000-0000-4000-8000-000000000001"


class Machine:
    """A home with one session, and a memory of words that is pushed to a directory."""

    def __init__(self, root: Path, name: str, shard: str) -> None:
        self.home, self.name = root / name, name
        self.session = SESSION.format(len(name))
        self.environment = {
            "HOME": str(self.home),
            "MEMORY_DATA_DIR": str(self.home / "memory"),
            "MEMORY_PROJECTS_DIR": str(self.home / "projects"),
            "MEMORY_EMBEDDER": "none",
            "MEMORY_SHARD": shard,
            "MEMORY_SHARD_NAME": name,
        }
        self.write(self.session, SAID[name])

    def write(self, session: str, said: str) -> None:
        """Write a transcript of one prompt."""
        path = self.home / "projects" / "-home-mira-pier" / f"{session}.jsonl"
        write_lines(path, [claude_line(session, 0, said, "/home/mira/pier")])

    def run(self, *arguments: str, code: int = 0, **more: str) -> tuple[str, str]:
        """Run a command; return what it printed."""
        done = run_here(self.environment | more, *arguments)
        assert done.returncode == code, done.stderr
        return done.stdout, done.stderr

    def found(self, words: str) -> list[dict[str, Any]]:
        """Return the hits of a search over all memories."""
        arguments = ("search", words, "--over", "all", "--json")
        done = run_here(self.environment, *arguments)
        assert done.returncode in (0, 3), done.stderr
        hits: list[dict[str, Any]] = json.loads(done.stdout)["hits"]
        return hits


@pytest.fixture
def machines(tmp_path: Path) -> tuple[Machine, Machine]:
    """Two machines of one person."""
    laptop, desk = (Machine(tmp_path, name, str(tmp_path / "mira")) for name in SAID)
    return laptop, desk


def test_an_ingest_pulls_before_and_pushes_after(machines: tuple[Machine, Machine]) -> None:
    """So the second machine finds what the first one was asked, and the first one after a sync; a
    hit is shown wherever it is from. The keys of the two are not the same."""
    laptop, desk = machines
    assert "laptop: 1 project" in laptop.run("ingest")[1]
    assert "laptop: 1 project" in desk.run("ingest")[1]
    (hit,) = desk.found("lighthouse keeper")
    assert hit["metadata"]["memory"] == "mira/laptop"
    assert SAID["laptop"] in desk.run("show", hit["id"])[0]
    assert laptop.found("harbour crane") == []
    brought = json.loads(laptop.run("sync", "--json")[0])
    assert [each["projects"] for each in brought["pulled"]] == [1]
    assert brought["pushed"]["projects"] == 0
    assert laptop.found("harbour crane")[0]["metadata"]["memory"] == "mira/desk"
    assert "as it was" in laptop.run("pull")[0]
    keys = {path.read_bytes() for each in machines for path in each.home.rglob("install.key")}
    assert len(keys) == 2


def test_what_one_machine_forgets_both_forget(machines: tuple[Machine, Machine]) -> None:
    """The same session is in both homes; a forgetting pushes at once, the other machine forgets it
    with its next ingest, and no machine takes it in again."""
    laptop, desk = machines
    desk.write(laptop.session, SAID["laptop"])
    laptop.run("ingest")
    desk.run("ingest")
    assert laptop.found("lighthouse keeper")
    _, notes = laptop.run("forget", laptop.session, "--yes")
    assert "objects deleted" in notes
    assert "1 session forgotten here, too" in desk.run("ingest")[1]
    laptop.run("ingest")
    for each in machines:
        assert each.found("lighthouse keeper") == []
    store = Path(laptop.environment["MEMORY_SHARD"])
    assert not any(
        laptop.session.encode() in path.read_bytes() for path in store.rglob("*") if path.is_file()
    )


def test_a_store_that_is_away_stops_no_ingest(machines: tuple[Machine, Machine]) -> None:
    """It is said, with what makes up for it; `memory push` is an error."""
    laptop, _ = machines
    store = Path(laptop.environment["MEMORY_SHARD"])
    store.write_text("no directory")
    _, notes = laptop.run("ingest")
    assert notes.count("warning:") == 2 and "memory sync" in notes
    assert "cannot use" in laptop.run("push", code=1)[1]
    assert "wrong shard: cannot use" in laptop.run("doctor", code=1)[0]
    store.unlink()
    assert "1 project" in laptop.run("push")[0]
    assert "pushed 20" in laptop.run("doctor")[0]


def test_what_is_forgotten_here_is_named_where_it_stays(machines: tuple[Machine, Machine]) -> None:
    """Another person's shard has the session, too, and is not ours to change."""
    laptop, desk = machines
    laptop.run("ingest")
    desk.write(laptop.session, SAID["laptop"])
    desk.run("ingest", MEMORY_SHARD="")
    desk.run("pull")
    said, _ = desk.run("forget", laptop.session, "--yes", MEMORY_SHARD="")
    assert f"{laptop.environment['MEMORY_SHARD']}/laptop" in said
    assert desk.found("lighthouse keeper") == []


def test_what_is_forgotten_takes_no_place_among_the_hits(machines: tuple[Machine, Machine]) -> None:
    """The best hit of a pulled memory is forgotten here; the next one is in its place."""
    laptop, desk = machines
    sessions = {SESSION.format(at) for at in (7, 8)}
    for session in sessions:
        laptop.write(session, f"{SAID['laptop']} at night")
        desk.write(session, f"{SAID['laptop']} at night")
    laptop.run("ingest")
    desk.run("ingest", MEMORY_SHARD="")
    desk.run("pull")
    search = ("search", "lighthouse keeper night", "--over", "laptop", "-n", "1", "--json")
    (best,) = json.loads(desk.run(*search)[0])["hits"]
    best_session = best["metadata"]["session_id"]
    desk.run("forget", best_session, "--yes", MEMORY_SHARD="")
    (next_best,) = json.loads(desk.run(*search)[0])["hits"]
    assert {best_session, next_best["metadata"]["session_id"]} == sessions


def test_a_damaged_shard_stops_no_ingest(machines: tuple[Machine, Machine]) -> None:
    """It is said by name; `memory pull` and `memory sync` do what can be done, then fail."""
    laptop, desk = machines
    laptop.run("ingest")
    heads = Path(laptop.environment["MEMORY_SHARD"]) / "laptop" / "heads"
    (heads / "000000000009").write_bytes(b"{}")
    assert "laptop was not pulled" in desk.run("ingest")[1]
    assert "laptop was not pulled" in desk.run("pull", code=1)[0]
    assert "desk: as it was" in desk.run("sync", code=1)[0]


def test_another_memory_of_that_name_is_refused(machines: tuple[Machine, Machine]) -> None:
    """A new data directory on one machine: it is told what to do, and both ways work."""
    laptop, desk = machines
    laptop.run("ingest")
    desk.environment["MEMORY_SHARD_NAME"] = "laptop"
    desk.run("ingest", MEMORY_SHARD="")
    assert "--replace" in desk.run("push", code=1)[1]
    assert "1 project" in desk.run("push", MEMORY_SHARD_NAME="desk")[0]
    assert "laptop: 1 project" in desk.run("push", "--replace")[0]


def test_without_an_address_there_is_nothing_to_push_to(machines: tuple[Machine, Machine]) -> None:
    """Wrong usage, and an ingest says nothing of shards."""
    laptop, _ = machines
    assert "hard" not in laptop.run("ingest", MEMORY_SHARD="")[1]
    assert "set MEMORY_SHARD" in laptop.run("sync", code=2, MEMORY_SHARD="")[1]


def test_a_copy_is_verified_and_not_written(machines: tuple[Machine, Machine]) -> None:
    """All checks of the replica pass; an ingest into it is refused."""
    laptop, desk = machines
    laptop.run("ingest")
    desk.run("pull")
    (copy,) = (desk.home / "memory" / "shards").iterdir()
    desk.environment |= {"MEMORY_DATA_DIR": str(copy), "VECTOR_BACKEND": "none"}
    assert "0 failed" in desk.run("verify")[0]
    assert "copy of a shard" in desk.run("ingest", code=1)[1]
