"""Rounds of `crash_safety.py` in which `memory index` is killed.

    python benchmarks/crash_safety.py --command index [--rounds 20] [--seed 7]

A workspace of this project's pages and benchmarks is indexed as it was (some files are missing,
some shorter, some other ones there) and then, or at once in every other round, as it is; that index
is killed with SIGKILL within the stage that the round aims at, in a third of the rounds with
Chroma's server, and `memory index` is run again. Every table, the collection and a set of searches
must be those of a memory in which the workspace was indexed once.
"""

from __future__ import annotations

import os
import random
import shutil
from pathlib import Path

from benchmarks.crash_world import (
    ROOT,
    Command,
    Outcomes,
    World,
    aim_and_kill,
    differences,
    server_word,
    state_of,
)

AIMS = (
    *("documents", "publish", "compact", "cut", "keywords"),
    *("embed", "upsert", "hnsw", "checks"),
)


def run_rounds(world: World, rounds: int) -> Outcomes:
    """Run the rounds, print a line for each, and return how they ended."""
    from memory_assets.stores.chroma import server as chroma_server

    world.take_home()
    transcripts, root = world.directory / "none", world.directory / "harbor"
    early, reference = world.directory / "early", world.directory / "reference"
    world.write_nothing(transcripts)
    command = ["index", str(root)]
    _write(root, as_it_was=True)
    Command(world.environment(early, transcripts), command).to_the_end()
    chroma_server.stop(early)
    _write(root, as_it_was=False)
    usual = Command(world.environment(reference, transcripts), command).to_the_end()
    wanted = state_of(reference, transcripts)
    chroma_server.stop(reference)
    print(f"{len(wanted)} rows and answers are compared", flush=True)
    draw = random.Random(world.seed)
    outcomes = Outcomes()
    for number in range(rounds):
        aim, data_dir = AIMS[number % len(AIMS)], world.directory / f"round-{number}"
        changes = number % 2 == 1
        if changes:
            shutil.copytree(early, data_dir)
        and_server = draw.random() < 1 / 3
        killed = Command(world.environment(data_dir, transcripts), command)
        where = aim_and_kill(killed, aim, draw, usual, data_dir, and_server)
        outcomes.hit[where] += 1
        error = Command(world.environment(data_dir, transcripts), command).finish()
        found = state_of(data_dir, transcripts)
        chroma_server.stop(data_dir)
        line = (
            f"{number:3} {'changed' if changes else 'empty  '} aimed {aim:9} hit {where:9} "
            f"{server_word(aim, and_server)}"
        )
        outcomes.note(line, data_dir, error, differences(wanted, found))
    return outcomes


def _write(root: Path, *, as_it_was: bool) -> None:
    """Write the workspace; as it was, every fifth file was shorter, others had other names."""
    shutil.rmtree(root, ignore_errors=True)
    sources = sorted([*(ROOT / "docs").glob("*.md"), *(ROOT / "benchmarks").glob("c*.py")])
    for number, source in enumerate(sources):
        name = f"old-{source.name}" if as_it_was and number % 5 == 1 else source.name
        target = root / source.parent.name / name
        target.parent.mkdir(parents=True, exist_ok=True)
        text = source.read_text()
        target.write_text(text[: len(text) // 2] if as_it_was and number % 5 == 2 else text)
        os.utime(target, ns=(0, 1_700_000_000_000_000_000 + number + as_it_was))
