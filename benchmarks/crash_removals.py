"""Rounds of `crash_safety.py` in which `memory retain` or `memory forget` is killed.

    python benchmarks/crash_safety.py --command retain|forget [--rounds 20] [--seed 7]

Each round begins with a copy of one memory of generated transcripts and of the sample (which
has a fork and a subagent); two of three sessions are a year older than the others. The command
that lets go of those is killed with SIGKILL within the stage that the round aims at, in a third
of the rounds with Chroma's server, and run again to its end; in every other round a plain
`memory ingest` comes in between, as it may at night. A plain `memory ingest` ends each round.
Then every table, collection and a set of searches must be those of a memory in which nothing
was killed, and no line that only the removed rows held may stand in any file.
"""

from __future__ import annotations

import random
import shutil
from datetime import UTC, date, datetime
from pathlib import Path
from typing import Any

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

AIMS = {
    "retain": ("retain", "redact", "publish", "vectors", "copy", "swap", "hnsw", "keywords",
               "lake", "chunk", "embed", "checks"),
    "forget": ("tombstones", "lake", "forks", "vectors", "copy", "swap", "hnsw", "keywords",
               "runs", "catalogue"),
}  # fmt: skip
_OLD_UNTIL = date(2025, 9, 1)
"""Between the old sessions (March 2025) and the others (March 2026)."""
_FORGOTTEN_BEFORE = 3
"""Exit code of `memory forget` where nothing fits any more."""
_NEEDLES = 400
_SHORTEST = 40


def run_rounds(name: str, world: World, rounds: int) -> Outcomes:
    """Run the rounds of a command, print a line for each, and return how they ended."""
    from memory_assets.stores.chroma import server as chroma_server

    world.take_home()
    transcripts, base = world.directory / "transcripts", world.directory / "base"
    write_transcripts(world, transcripts)
    ingest, command = ["ingest"], arguments(name)
    Command(environment(world, base, transcripts), ingest).to_the_end()
    before = state_of(base, transcripts)
    chroma_server.stop(base)
    reference = world.directory / "reference"
    shutil.copytree(base, reference)
    usual = Command(environment(world, reference, transcripts), command).to_the_end()
    Command(environment(world, reference, transcripts), ingest).to_the_end()
    wanted = state_of(reference, transcripts)
    chroma_server.stop(reference)
    draw = random.Random(world.seed)
    needles = only_in(before, wanted, draw)
    held, left = still_there(base, needles), still_there(reference, needles)
    removed = len(before.keys() - wanted.keys())
    print(f"{removed} rows go; of {len(needles)} lines of theirs {held} stood in Chroma and the "
          f"keyword index, {left} do after an undisturbed run", flush=True)  # fmt: skip
    outcomes = Outcomes(bad=int(left > 0 or held == 0))
    for number in range(rounds):
        aim = AIMS[name][number % len(AIMS[name])]
        data_dir = world.directory / f"round-{number}"
        shutil.copytree(base, data_dir)
        and_server = draw.random() < 1 / 3
        killed = Command(environment(world, data_dir, transcripts), command)
        where = aim_and_kill(killed, aim, draw, usual, data_dir, and_server)
        outcomes.hit[where] += 1
        order = (ingest, command, ingest) if number % 2 else (command, ingest)
        errors = list[str]()
        for at, again in enumerate(order, 1):
            begun = Command(environment(world, data_dir, transcripts), again)
            if said := begun.finish(_fine(again)):
                errors.append(f"command {at} of {len(order)}, {again[0]}: {said}")
        found = state_of(data_dir, transcripts)
        chroma_server.stop(data_dir)
        if left := still_there(data_dir, needles):
            errors.append(f"{left} lines are left")
        line = (
            f"{number:3} aimed {aim:10} hit {where:10} {server_word(aim, and_server)} then "
            f"{'ingest, ' * (number % 2)}{name}"
        )
        outcomes.note(line, data_dir, "\n".join(errors), differences(wanted, found))
    return outcomes


def arguments(name: str) -> list[str]:
    """Return the command that lets go of the old sessions."""
    if name == "retain":
        return ["retain"]
    return ["forget", "--before", _OLD_UNTIL.isoformat(), "--yes"]


def _fine(arguments: list[str]) -> tuple[int, ...]:
    return (0, _FORGOTTEN_BEFORE) if arguments[0] == "forget" else (0,)


def environment(world: World, data_dir: Path, transcripts: Path) -> dict[str, str]:
    """What a command sees, of which `retain` keeps all but the old sessions."""
    days = (datetime.now(UTC).date() - _OLD_UNTIL).days
    return {**world.environment(data_dir, transcripts), "MEMORY_RETENTION": f"{days}d"}


def write_transcripts(world: World, directory: Path) -> None:
    """Write generated transcripts and the sample's; two of three are a year older. A subagent
    is as old as its session."""
    world.write_transcripts(directory, 1)
    sample = ROOT / "data" / "sample"
    for part in ("claude/projects", "codex", "pi"):
        shutil.copytree(sample / part, directory / part, dirs_exist_ok=True)
    main_files = [
        path for path in sorted(directory.rglob("*.jsonl")) if "subagents" not in path.parts
    ]
    for number, path in enumerate(main_files):
        own = [path, *sorted(path.with_suffix("").rglob("*.jsonl"))]
        for file in own if number % 3 else ():
            file.write_text(file.read_text().replace('"2026-0', '"2025-0'))


def only_in(before: dict[str, Any], wanted: dict[str, Any], draw: random.Random) -> list[bytes]:
    """Return some lines that no row of the wanted state holds, of those that had them."""

    def lines(state: dict[str, Any]) -> set[str]:
        texts = (value[1] for key, value in state.items() if key.startswith("chroma/"))
        return {line.strip() for text in texts if text for line in text.splitlines()}

    stays = "\n".join(repr(value) for value in wanted.values())
    gone = sorted(
        line
        for line in lines(before) - lines(wanted)
        if len(line) >= _SHORTEST and line not in stays and repr(line)[1:-1] not in stays
    )
    return [line.encode() for line in draw.sample(gone, min(_NEEDLES, len(gone)))]


def still_there(data_dir: Path, needles: list[bytes]) -> int:
    """Return how many of the lines stand in any file."""
    left = set(needles)
    for path in sorted(data_dir.rglob("*")):
        if path.is_file():
            content = path.read_bytes()
            left -= {line for line in left if line in content}
    return len(needles) - len(left)
