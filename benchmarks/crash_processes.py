"""Rounds of `crash_safety.py` in which other processes work on sessions.

    python benchmarks/crash_safety.py --command processes [--rounds 20] [--seed 7]

`memory ingest` has two processes beside it, and is killed with SIGKILL at a random moment: all of
them, or in every other round only the one that writes, whose end the others notice. After that a
plain `memory ingest` by one process; what comes of it must be that of a memory which one process
made at once.
"""

from __future__ import annotations

import os
import random
import shutil
import signal
import time
from pathlib import Path

from benchmarks.crash_world import ROOT, Command, Outcomes, World, differences, state_of

_STARTED_WITH = """
from benchmarks import crash_child
crash_child.use_hash_embedder()
"""
"""What every Python of a round runs first, those of the other processes, too."""


def run_rounds(world: World, rounds: int) -> Outcomes:
    """Run the rounds, print a line for each, and return how they ended."""
    from memory_assets.stores.chroma import server as chroma_server

    world.take_home()
    world.projects = 1
    all_of_it, part = world.directory / "all", world.directory / "part"
    world.write_transcripts(all_of_it, 1)
    world.write_transcripts(part, 0.66)
    reference, early = world.directory / "reference", world.directory / "early"
    grown, started = world.directory / "grown", world.directory / "started"
    started.mkdir()
    (started / "sitecustomize.py").write_text(_STARTED_WITH)
    Command(world.environment(reference, all_of_it)).to_the_end()
    wanted = state_of(reference, all_of_it)
    chroma_server.stop(reference)
    shutil.copytree(part, grown)
    Command(world.environment(early, grown)).to_the_end()
    chroma_server.stop(early)
    print(f"{len(wanted)} rows and answers are compared", flush=True)
    draw = random.Random(world.seed)
    outcomes = Outcomes()
    usual = _seconds(_beside(world, started, world.directory / "usual", all_of_it))
    for number in range(rounds):
        data_dir, grows = world.directory / f"round-{number}", number // 2 % 2 == 1
        transcripts = all_of_it
        if grows:
            shutil.copytree(early, data_dir)
            world.write_transcripts(grown, 1)
            transcripts = grown
        ingest = _beside(world, started, data_dir, transcripts)
        ended = _wait(ingest, draw.uniform(0.2, 1) * usual)
        alone = number % 2 == 1
        if alone and not ended:
            os.kill(ingest.process.pid, signal.SIGKILL)
        where = "ended before" if ended else f"{'parent' if alone else 'all'} killed"
        if not alone:
            ingest.kill()
        outcomes.hit[where] += 1
        error = Command(world.environment(data_dir, transcripts)).finish()
        if alone:
            ingest.kill()
        found = state_of(data_dir, transcripts)
        chroma_server.stop(data_dir)
        line = f"{number:3} {'grown' if grows else 'empty'} {where:30}"
        outcomes.note(line, data_dir, error, differences(wanted, found))
        if grows:
            shutil.rmtree(grown)
            shutil.copytree(part, grown)
    return outcomes


def _beside(world: World, started: Path, data_dir: Path, transcripts: Path) -> Command:
    """Start an ingest with two processes beside it."""
    return Command(
        {
            **world.environment(data_dir, transcripts),
            "MEMORY_INGEST_WORKERS": "2",
            "PYTHONPATH": os.pathsep.join((str(started), str(ROOT))),
        }
    )


def _seconds(command: Command) -> float:
    began = time.monotonic()
    command.to_the_end()
    return time.monotonic() - began


def _wait(command: Command, seconds: float) -> bool:
    """Wait for so long; return whether the command has ended meanwhile."""
    until = time.monotonic() + seconds
    while (left := until - time.monotonic()) > 0:
        if not command.listen(left) and command.process.poll() is not None:
            return True
    return False
