"""Rounds of `crash_safety.py` in which the upgrade of a memory is killed.

    python benchmarks/crash_safety.py --command upgrade --from COMMIT [--rounds 2] [--seed 7]

The code of an earlier commit, under the libraries of this one, makes a memory of two thirds of the
transcripts, indexes documents, forgets the old sessions, and, if it has the command, remembers
something; in every other round its next ingest is killed, too. Then the transcripts go on, and the
present code's `memory ingest` is killed with SIGKILL ten times in one round, each time within
another stage. A plain `memory ingest` ends the round. Then every table, collection and a set of
searches must be those of an upgrade in which nothing was killed, and its rows those of a new memory
that forgot the same; nothing unfinished may be left, nor a line that only forgotten rows had.
"""

from __future__ import annotations

import random
import shutil
import subprocess
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from benchmarks.crash_removals import (
    arguments,
    environment,
    only_in,
    still_there,
    write_transcripts,
)
from benchmarks.crash_world import ROOT, Command, Outcomes, World, aim_and_kill, differences
from benchmarks.crash_world import state_of as rows_and_answers

AIMS = ("move", "scan", "redact", "publish", "chunk", "prompts", "upsert", "summaries", "embed",
        "compact", "keywords", "hnsw", "checks")  # fmt: skip
"""In the order in which an ingest comes to them."""
KILLS = 10
_WRITTEN = ("agent_memory", "memory_trail/", "chroma/memory", "chroma/agent")
"""What agents wrote, which has other ids in a new memory."""


class Upgrade:
    """The code of an earlier commit, the transcripts, and the memory that it made of them."""

    def __init__(self, world: World, commit: str) -> None:
        self.world, self.directory = world, world.directory
        self.code, self.transcripts = self.directory / "earlier", self.directory / "transcripts"
        self.code.mkdir()
        archive = subprocess.run(
            ["git", "archive", commit], cwd=ROOT, check=True, stdout=subprocess.PIPE
        )
        subprocess.run(["tar", "-x"], cwd=self.code, check=True, input=archive.stdout)
        self.workspace = self.directory / "workspace"
        self.workspace.mkdir()
        for name in ("glossary.md", "limits.md"):
            shutil.copy(ROOT / "docs" / name, self.workspace)

    def environment(self, data_dir: Path) -> dict[str, str]:
        """What a command sees."""
        given = environment(self.world, data_dir, self.transcripts)
        return {**given, "MEMORY_RETENTION": "all"}

    def earlier(self, data_dir: Path, command: Sequence[str]) -> Command:
        """Begin a command of the earlier code."""
        given = {**self.environment(data_dir), "PYTHONPATH": str(self.code)}
        return Command(given, command, self.code)

    def now(self, data_dir: Path, *command: str) -> Command:
        """Begin a command of the present code."""
        return Command(self.environment(data_dir), command or ("ingest",))

    def make(self, base: Path, fresh: Path) -> dict[str, Any]:
        """Make a memory with the earlier code, and one with the present code in the same steps; let
        the transcripts go on, and return the rows that were forgotten."""
        write_transcripts(self.world, self.directory / "whole")
        self._write(1 / 3)
        self.earlier(base, ["ingest"]).to_the_end()
        self.now(fresh).to_the_end()
        before = self.state(fresh)
        self.earlier(base, arguments("forget")).to_the_end()
        self.now(fresh, *arguments("forget")).to_the_end()
        stayed = self.state(fresh)
        self._write(2 / 3)
        self.earlier(base, ["ingest"]).to_the_end()
        self.now(fresh).to_the_end()
        index = ["index", str(self.workspace)]
        if not self.earlier(base, index).finish():  # else it is 0.2.0, which has no documents
            self.now(fresh, *index).to_the_end()
            self.earlier(base, ["remember", "The broker is RabbitMQ."]).to_the_end()
            self.earlier(base, ["ingest"]).to_the_end()
        stop_server(base)
        self._write(1)
        self.now(fresh).to_the_end()
        return {key: row for key, row in before.items() if key not in stayed}

    def _write(self, share: float) -> None:
        """Write the beginning of each transcript; with a share below 1, not of all."""
        for number, path in enumerate(sorted((self.directory / "whole").rglob("*.jsonl"))):
            lines = path.read_bytes().splitlines(keepends=True)
            target = self.transcripts / path.relative_to(self.directory / "whole")
            target.parent.mkdir(parents=True, exist_ok=True)
            if share == 1 or number % 5 < 4:
                target.write_bytes(b"".join(lines[: max(2, int(len(lines) * share))]))

    def copy(self, base: Path, name: str) -> Path:
        """Return a copy of a memory."""
        data_dir = self.directory / name
        shutil.copytree(base, data_dir)
        return data_dir

    def state(self, data_dir: Path) -> dict[str, Any]:
        """Return every row and answer."""
        rows = rows_and_answers(data_dir, self.transcripts)
        stop_server(data_dir)
        return rows


def stop_server(data_dir: Path) -> None:
    """Stop Chroma's server of a memory."""
    from memory_assets.stores.chroma import server as chroma_server

    chroma_server.stop(data_dir)


def run_rounds(commit: str, world: World, rounds: int) -> Outcomes:
    """Run the rounds, print a line for each, and return how they ended."""
    world.take_home()
    upgrade = Upgrade(world, commit)
    base, fresh = world.directory / "base", world.directory / "fresh"
    forgotten = upgrade.make(base, fresh)
    reference = upgrade.copy(base, "reference")
    usual = upgrade.now(reference).to_the_end()
    aims = [aim for aim in AIMS if usual.entered[aim] or aim == "hnsw"]
    for aim in aims:  # an ingest that was killed has less left to do
        usual.entered[aim] = max(1, usual.entered[aim] // 4)
    wanted = upgrade.state(reference)
    outcomes = Outcomes()
    read = {key: row for key, row in wanted.items() if not key.startswith(_WRITTEN)}
    outcomes.note("upgraded, or new", fresh, "", differences(upgrade.state(fresh), read))
    draw = random.Random(world.seed)
    needles = only_in(forgotten, wanted, draw)
    if not needles or still_there(reference, needles):
        print(
            f"{still_there(reference, needles)} of {len(needles)} forgotten lines are left",
            flush=True,
        )
        outcomes.bad += 1
    for number in range(rounds):
        data_dir = upgrade.copy(base, f"round-{number}")
        if number % 2:
            usually = random.Random(number).uniform(2, 8)
            interrupted = upgrade.earlier(data_dir, ["ingest"])
            interrupted.listen_for(usually)
            interrupted.kill()
        hit = []
        for aim in sorted(draw.choices(aims, k=KILLS), key=AIMS.index):
            ingest = upgrade.now(data_dir)
            hit.append(aim_and_kill(ingest, aim, draw, usual, data_dir, draw.random() < 1 / 3))
        outcomes.hit.update(hit)
        error = upgrade.now(data_dir).finish() or next(_wrong(upgrade, data_dir, needles), "")
        against = differences(wanted, upgrade.state(data_dir))
        outcomes.note(f"{number:3} killed in {', '.join(hit)}:", data_dir, error, against)
    return outcomes


def _wrong(upgrade: Upgrade, data_dir: Path, needles: list[bytes]) -> Iterator[str]:
    """Yield what is not as it should be, beside rows and answers."""
    from benchmarks.fault_sweep import left_over

    if error := upgrade.now(data_dir, "verify", "--deep").finish():
        yield f"verify: {error}"
    stop_server(data_dir)
    if left := still_there(data_dir, needles):
        yield f"{left} forgotten lines are left"
    if leftovers := left_over(data_dir):
        yield f"left: {leftovers}"
