"""Kill `memory ingest` at many moments, run it again, and compare with an uninterrupted run.

    python benchmarks/crash_safety.py [--rounds 50] [--seed 7] [--megabytes 1.5]
                                      [--command ingest|retain|forget|index|remember|processes]
    python benchmarks/crash_safety.py --command upgrade --from COMMIT

Each round begins with an empty memory or (every other one) with a memory of the first two
thirds of the transcripts, so that sessions grow and new ones come. The whole process group
is killed with SIGKILL, at a random time within a stage that the round aims at; in the rounds
of `hnsw`, and in a third of the others, the Chroma server too: for `hnsw` at the moment its
files change. A round may miss its stage by a moment: so rounds are added until each stage was
hit as often as it was aimed at. After each kill a plain `memory ingest`, and nothing else, and
every table, collection and a set of searches is compared. Exits with 1 if anything differs.
The rounds of `retain` and `forget` are in `crash_removals.py`, those of `index` in
`crash_index.py`, those of `remember` in `crash_memory.py`, those of `processes`, in which
several processes ingest, in `crash_processes.py`, and those of `upgrade`, in which the memory
of an earlier version is taken over, in `crash_upgrade.py`.
"""

from __future__ import annotations

import argparse
import random
import shutil
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from benchmarks import crash_index, crash_memory, crash_processes, crash_removals, crash_upgrade
from benchmarks.crash_world import (
    Command,
    Outcomes,
    World,
    aim_and_kill,
    differences,
    server_word,
    state_of,
)

AIMS = (
    "scan",
    "redact",
    "publish",
    "compact",
    "chunk",
    "prompts",
    "summaries",
    "embed",
    "upsert",
    "hnsw",
    "checks",
)


def run_rounds(world: World, rounds: int, aims: tuple[str, ...] = AIMS) -> Outcomes:
    """Run the rounds, print a line for each, and return how they ended."""
    from memory_assets.stores.chroma import server as chroma_server

    world.take_home()
    all_of_it, part = world.directory / "all", world.directory / "part"
    world.write_transcripts(all_of_it, 1)
    grown, early = world.directory / "grown", world.directory / "early"
    reference = world.directory / "reference"
    world.write_transcripts(part, 0.66)
    usual = Command(world.environment(reference, all_of_it)).to_the_end()
    wanted = state_of(reference, all_of_it)
    chroma_server.stop(reference)
    shutil.copytree(part, grown)
    Command(world.environment(early, grown)).to_the_end()
    chroma_server.stop(early)
    draw = random.Random(world.seed)
    outcomes = Outcomes()
    for number, aim in enumerate(_aims(rounds, aims, outcomes.hit)):
        data_dir = world.directory / f"round-{number}"
        transcripts, grows = all_of_it, number // len(aims) % 2 == 1
        if grows:
            shutil.copytree(early, data_dir)
            world.write_transcripts(grown, 1)
            transcripts = grown
        and_server = draw.random() < 1 / 3
        ingest = Command(world.environment(data_dir, transcripts))
        where = aim_and_kill(ingest, aim, draw, usual, data_dir, and_server)
        outcomes.hit[where] += 1
        error = Command(world.environment(data_dir, transcripts)).finish()
        found = state_of(data_dir, transcripts)
        aside = [path.name for path in data_dir.glob("chroma.broken-*")]
        chroma_server.stop(data_dir)
        line = (
            f"{number:3} {'grown' if grows else 'empty'} aimed {aim:9} hit {where:9} "
            f"{server_word(aim, and_server)} set aside {len(aside)}"
        )
        outcomes.note(line, data_dir, error, differences(wanted, found))
        if grows:
            shutil.rmtree(grown)
            shutil.copytree(part, grown)
    return outcomes


def _aims(rounds: int, aims: tuple[str, ...], hit: Counter[str]) -> Iterator[str]:
    """Yield the aims in turn, then those missed too often in turn, until each was hit as often
    as it was aimed at, or three times as many rounds have been run."""
    for number in range(3 * rounds):
        if number < rounds or aims[number % len(aims)] in _missed(rounds, aims, hit):
            yield aims[number % len(aims)]


def _missed(rounds: int, aims: tuple[str, ...], hit: Counter[str]) -> list[str]:
    return [aim for aim in aims if hit[aim] < rounds // len(aims)]


def main() -> None:
    """Run the rounds and print what was hit and what differed."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=50)
    parser.add_argument("--seed", type=int, default=7)
    parser.add_argument("--megabytes", type=float, default=1.5)
    parser.add_argument(
        "--command",
        choices=("ingest", "retain", "forget", "index", "remember", "processes", "upgrade"),
        default="ingest",
    )
    parser.add_argument("--from", dest="commit", default="3e9381fe", help="of the earlier code")
    given = parser.parse_args()
    directory = Path(tempfile.mkdtemp(prefix="crash-safety-"))
    started = time.monotonic()
    world = World(directory, given.seed, int(given.megabytes * 1e6))
    rounds: dict[str, Callable[[World, int], Outcomes]] = {
        "ingest": run_rounds,
        "index": crash_index.run_rounds,
        "remember": crash_memory.run_rounds,
        "processes": crash_processes.run_rounds,
        "upgrade": partial(crash_upgrade.run_rounds, given.commit),
    }
    of_command = rounds.get(given.command) or partial(crash_removals.run_rounds, given.command)
    outcomes = of_command(world, given.rounds)
    hit = outcomes.hit
    print("moments hit:", dict(hit))
    took = time.monotonic() - started
    print(f"{hit.total()} kills, {outcomes.bad} with a difference, {took:.0f} s")
    if outcomes.bad:
        raise SystemExit(1)
    if given.command == "ingest" and (missed := _missed(given.rounds, AIMS, hit)):
        raise SystemExit(f"not hit often enough: {', '.join(missed)}")
    shutil.rmtree(directory)


if __name__ == "__main__":
    main()
