"""Parts of a data directory that are gone, older, flipped, or of another machine; then one ingest.

    python -m benchmarks.damage_sweep [--values 40] [--kinds delete,one,older,flip,whole]
        [--seconds 600] [--seed 7] [--results FILE]

A memory is a week old (what was remembered and indexed then, too), goes on, and forgets a session.
In a copy of it each part (a table of the lake, a database, Chroma's files, ...) is deleted, or
replaced by what it was a week ago, or one byte in it is flipped at `--values` places; or one of its
files is deleted, which the seed chooses as it does the places and the transcripts; or the whole
directory comes back from a week ago, was written under a clock that is a day wrong, or is mixed
with that of another machine. Then `search`, `status`, `doctor`, `verify --deep`, `ingest` and
`verify --deep` run, and where that does not help, what they advise: files that are named as damaged
are moved away, and `ingest --full` follows. None may end with a traceback or hang; afterwards all
rows, searches and memories must be as they were, or a command must say what is not so. What was
forgotten may not come back.

With `--results` it goes on with a file of JSON lines, as `fault_sweep.py` does.
"""

from __future__ import annotations

import argparse
import json
import random
import re
import shutil
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import cached_property, partial
from pathlib import Path
from typing import Any, NamedTuple

from benchmarks.crash_world import World, differences
from benchmarks.fault_sweep import Sweep, evenly, left_over, stop_server, wrong_saying
from memory_assets.paths import tombstones_copy

_VERIFY = ("verify", "--deep")
_LOOKS = (("search", "ledger"), ("status",), ("doctor",), _VERIFY)
_FOUND_NOTHING = 3
_DAMAGED = re.compile(r"(/\S+) is damaged")
_COMPLAINT = re.compile(r"^wrong|^FAILED|^failed|^error|fail|damaged|missing|Run `|cannot|gone")
_DAY = 86_400
_WRITTEN = ("agent_memory/", "journal/", "memory_trail/", "search/memory/")
"""Rows of what agents wrote: what is not in a backup of it is lost, and is not compared."""
KINDS = ("delete", "one", "older", "flip", "whole")


@dataclass
class Result:
    """What came of a damage: after one ingest rows are the `same`, or they are `as advised` after
    what the commands advise, or they are not, which is `told`. `said_by`: by which commands in
    which words; `wrong` is what is not as it should be."""

    kind: str
    part: str
    place: int
    outcome: str
    said_by: str
    wrong: str


class Damage(NamedTuple):
    """A kind of damage to a part, at which of the places, and what does it to a directory."""

    kind: str
    part: str
    place: int
    do: Callable[[Path], None]


class Memories:
    """One memory now and a week ago, and the transcripts, which are those of now."""

    def __init__(self, directory: Path, seed: int) -> None:
        self.sweep = Sweep(directory, seed)
        self.seed = seed
        self.directory = directory
        self.week_ago, self.now = directory / "week-ago", directory / "now"

    def make(self) -> None:
        """Make both, and note the rows of now."""
        index = ("index", str(self.directory / "workspace"))
        self._do(self.now, [("ingest",), index], before=True)
        self._do(self.now, [("remember", "The pier's broker is RabbitMQ.")], before=True)
        self._do(self.now, [("ingest",)], before=True)
        shutil.copytree(self.now, self.week_ago)
        self._do(self.now, [("ingest",), ("forget", self.forgotten, "--yes")])
        self._do(self.now, [("remember", "The queue of the pier is RabbitMQ's."), ("ingest",)])

    @cached_property
    def forgotten(self) -> str:
        """The session that is forgotten: the largest of Claude Code's."""
        paths = (self.directory / "after" / "claude").rglob("*.jsonl")
        return max(paths, key=lambda path: path.stat().st_size).stem

    @cached_property
    def rows(self) -> dict[str, Any]:
        """The rows of the memory as it is now."""
        return self.sweep.rows(self.now, "lake")

    def environment(self, data_dir: Path, *, before: bool = False) -> dict[str, str]:
        """What a command sees."""
        return {
            **self.sweep.environment(data_dir, "lake", before=before),
            "MEMORY_RETENTION": "all",
        }

    def _do(
        self, data_dir: Path, commands: Sequence[Sequence[str]], *, before: bool = False
    ) -> None:
        for command in commands:
            code, said = self.sweep.runner.run(self.environment(data_dir, before=before), command)
            if code:
                raise SystemExit(f"{command[0]} failed ({code}): {said[-1000:]}")


def parts_of(data_dir: Path) -> dict[str, list[Path]]:
    """Return the files of a data directory, below it, by the part that they are of."""
    parts: dict[str, list[Path]] = {}
    for path in sorted(data_dir.rglob("*")):
        name = path.relative_to(data_dir)
        if path.is_file() and not path.name.endswith((".lock", "-shm")):
            part = "/".join(name.parts[:2]) if name.parts[0] == "lake" else name.parts[0]
            parts.setdefault(part.removesuffix("-wal"), []).append(name)
    return parts


def delete(files: Sequence[Path], data_dir: Path) -> None:
    """Delete a part."""
    for name in files:
        (data_dir / name).unlink(missing_ok=True)


def take_older(part: str, week_ago: Path, data_dir: Path) -> None:
    """Replace a part by what it was."""
    delete(parts_of(data_dir)[part], data_dir)
    for name in parts_of(week_ago).get(part, ()):
        (data_dir / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(week_ago / name, data_dir / name)


def flip(files: Sequence[Path], at: float, data_dir: Path) -> None:
    """Flip all bits of one byte of a part, at so much of it (0 to 1). SQLite removes the log of a
    database when its last user leaves, so that one may be gone since the files were listed."""
    files = [name for name in files if (data_dir / name).exists()]
    sizes = [(data_dir / name).stat().st_size for name in files]
    at = int(at * sum(sizes))
    for name, size in zip(files, sizes, strict=True):
        if at < size:
            with (data_dir / name).open("r+b") as file:
                file.seek(at)
                byte = file.read(1)
                file.seek(at)
                file.write(bytes([byte[0] ^ 0xFF]))
            return
        at -= size


def damages(memories: Memories, kinds: Sequence[str], values: int) -> Iterator[Damage]:
    """Yield the damages of these kinds."""
    draw = random.Random(memories.seed)
    for part, files in parts_of(memories.now).items():
        if "delete" in kinds:
            yield Damage("delete", part, 0, partial(delete, files))
        if "one" in kinds and len(files) > 1:
            for place, file in enumerate(draw.sample(files, min(len(files), values))):
                yield Damage("one", part, place, partial(delete, [file]))
        if "older" in kinds:
            yield Damage("older", part, 0, partial(take_older, part, memories.week_ago))
        size = sum((memories.now / name).stat().st_size for name in files)
        for place in range(min(size, values)) if "flip" in kinds else ():
            at = (place + draw.random()) / values
            yield Damage("flip", part, place, partial(flip, files, at))
    if "whole" in kinds:
        for name, change in _whole(memories).items():
            yield Damage("whole", name, 0, change)


def _whole(memories: Memories) -> Mapping[str, Callable[[Path], None]]:
    sweep = memories.sweep

    def restore(to: Path) -> None:
        shutil.rmtree(to)
        shutil.copytree(memories.week_ago, to)

    def work_at(ahead: float, to: Path) -> None:
        restore(to)
        sweep.failing.set_clock(ahead)
        sweep.runner.run(memories.environment(to), ("ingest",))
        sweep.failing.set_clock(0)

    def mix(replace: bool, to: Path) -> None:
        other = _of_another_machine(memories)
        for files in parts_of(other).values():
            for name in files:
                if replace or not (to / name).exists():
                    (to / name).parent.mkdir(parents=True, exist_ok=True)
                    shutil.copy2(other / name, to / name)

    def nothing(to: Path) -> None:
        pass

    return {
        "nothing": nothing,
        "a week ago": restore,
        "a clock a day ahead": partial(work_at, _DAY),
        "a clock a day behind": partial(work_at, -_DAY),
        "mixed, ours first": partial(mix, False),
        "mixed, theirs first": partial(mix, True),
    }


def _of_another_machine(memories: Memories) -> Path:
    """Return the data directory of other transcripts, made once under another install key."""
    directory = memories.directory / "other"
    if not directory.exists():
        world = World(directory, 11, 30_000, projects=1)
        (directory / "home").mkdir(parents=True)
        world.write_transcripts(directory / "transcripts", 1.0)
        environment = {
            **memories.environment(directory / "data"),
            "HOME": str(directory / "home"),
            "XDG_CONFIG_HOME": str(directory / "config"),
            "MEMORY_PROJECTS_DIR": str(directory / "transcripts" / "claude" / "projects"),
            "MEMORY_CODEX_DIR": str(directory / "transcripts" / "codex"),
            "MEMORY_PI_DIR": str(directory / "transcripts" / "pi"),
        }
        code, said = memories.sweep.runner.run(environment, ("ingest",))
        if code:
            raise SystemExit(f"the other machine's ingest failed: {said[-600:]}")
    return directory / "data"


def try_damage(memories: Memories, damage: Damage) -> Result:
    """Do a damage to a copy, run the commands, and return what came of it."""
    data_dir = memories.directory / "memory"
    shutil.rmtree(data_dir, ignore_errors=True)
    shutil.copytree(memories.now, data_dir)
    shutil.copy(tombstones_copy(memories.now), tombstones_copy(data_dir))
    damage.do(data_dir)
    wrong: list[str] = []
    said_by: list[str] = []

    def run(*commands: Sequence[str]) -> None:
        for command in commands:
            began = time.monotonic()
            code, said = memories.sweep.runner.run(memories.environment(data_dir), command)
            wrong.extend(wrong_saying(code, said, time.monotonic() - began))
            if code not in (0, _FOUND_NOTHING):
                said_by.append(f"{command[0]}: {_complaints(said)}")

    run(*_LOOKS, ("ingest",), ("ingest",), _VERIFY, ("search", "ledger"))
    from_backup = damage.kind == "whole" or damage[:2] == ("older", "agent_memory.db")
    differs, outcome = _differs(memories, data_dir, from_backup), "same"
    if differs:
        outcome = "as advised"
        moved = set[str]()
        while damaged := set(_DAMAGED.findall(" ".join(said_by))) - moved:
            for name in damaged:
                Path(name).unlink(missing_ok=True)
            moved |= damaged
            run(("ingest",), _VERIFY)
        run(("ingest", "--full"), ("ingest",), _VERIFY)
        differs = _differs(memories, data_dir, from_backup)
    if differs:
        outcome = "told"
        said_by += differs
        if said_by == differs:
            wrong.append(f"nothing says that {'; '.join(differs)}")
    if any(memories.forgotten in each for each in differs if " extra: " in each):
        wrong.append("the forgotten session is back")
    stop_server(data_dir)
    wrong += [f"left: {each}" for each in left_over(data_dir)]
    return Result(*damage[:3], outcome, " | ".join(said_by), "; ".join(wrong))


def _differs(memories: Memories, data_dir: Path, from_backup: bool) -> list[str]:
    """Return how the rows of a memory are not those of now, a line for each kind."""
    try:
        against = differences(memories.rows, memories.sweep.rows(data_dir, "lake"))
    except Exception as error:  # noqa: BLE001 - told as what it is
        return [f"unreadable: {type(error).__name__}: {error!s:.300}"]
    for name, keys in against.items():
        against[name] = [key for key in keys if not (from_backup and key.startswith(_WRITTEN))]
        against[name].sort(key=lambda key: memories.forgotten not in key)
    return [f"{len(keys)} {name}: {keys[:3]}" for name, keys in against.items() if keys]


def _complaints(said: str) -> str:
    """Return the lines that say what is wrong, of a command that failed."""
    lines = [line for line in said.splitlines() if _COMPLAINT.search(line)]
    return " / ".join(lines or said.strip().splitlines()[-2:])[:1200]


def read_results(path: Path) -> list[Result]:
    """Return the results in a file, in order."""
    return [Result(**json.loads(line)) for line in path.read_text().splitlines()]


def print_table(results: Sequence[Result]) -> int:
    """Print the outcomes by part and kind, and what is wrong; return how much."""
    counts = Counter((r.part, r.kind, "wrong" if r.wrong else r.outcome) for r in results)
    for (part, kind, outcome), count in sorted(counts.items()):
        print(f"{part:32} {kind:7} {count} {outcome}")
    for r in results:
        if r.outcome == "told" and not r.wrong:
            print(f"{r.kind} {r.part} {r.place}: {r.said_by}")
    bad = [r for r in results if r.wrong]
    for r in bad:
        print(f"wrong, {r.kind} {r.part} {r.place}: {r.wrong} ({r.said_by})")
    print(f"{len(results)} damages, {len(bad)} wrong")
    return len(bad)


def main() -> None:
    """Damage, print the table and what is wrong."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--values", type=int, default=4, help="places at which a part is flipped")
    parser.add_argument("--kinds", default=",".join(KINDS))
    parser.add_argument("--seed", type=int, default=7)
    parser.add_argument("--seconds", type=float, default=1e9, help="begin nothing after that")
    parser.add_argument("--results", type=Path, help="file of JSON lines to go on with")
    given = parser.parse_args()
    until = time.monotonic() + given.seconds
    with tempfile.TemporaryDirectory(prefix="damages-") as directory:
        results = given.results or Path(directory) / "results.jsonl"
        results.touch()
        memories = Memories(Path(directory), given.seed)
        try:
            memories.make()
            before = read_results(results)
            known = {(r.kind, r.part, r.place) for r in before}
            tried = Counter[Hashable]((r.kind, r.part) for r in before)
            waiting = [
                each
                for each in damages(memories, given.kinds.split(","), given.values)
                if each[:3] not in known
            ]
            for each in evenly(waiting, tried, lambda damage: damage[:2]):
                if time.monotonic() < until:
                    result = try_damage(memories, each)
                    with results.open("a") as file:
                        file.write(json.dumps(asdict(result)) + "\n")
                    about = f"{result.kind} {result.part} {result.place}"
                    print(f"{about}: {result.outcome} {result.wrong}", flush=True)
        finally:
            memories.sweep.close()
        bad = print_table(read_results(results))
    sys.exit(bool(bad))


if __name__ == "__main__":
    main()
