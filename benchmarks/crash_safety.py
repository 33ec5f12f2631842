"""Kill `memory ingest` at many moments, run it again, and compare with an uninterrupted run.

    python benchmarks/crash_safety.py [--rounds 50] [--seed 7] [--megabytes 1.5]
                                      [--command ingest|retain|forget|index|remember]

Each round begins with an empty memory or (every other one) with a memory of the first two
thirds of the transcripts, so that sessions grow and new ones come. The whole process group
is killed with SIGKILL, at a random time within a stage that the round aims at; in the rounds
of `hnsw`, and in a third of the others, the Chroma server too: for `hnsw` at the moment its
files change. A round may miss its stage by a moment: so rounds are added until each stage was
hit as often as it was aimed at. After each kill a plain `memory ingest`, and nothing else, and
every table, collection and a set of searches is compared. Exits with 1 if anything differs.
The rounds of `retain` and `forget` are in `crash_removals.py`, those of `index` in
`crash_index.py`, those of `remember` in `crash_memory.py`.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import random
import select
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from benchmarks import crash_child, lifelike  # noqa: E402 - after the path is set

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
QUERIES = ("parse the ledger", "why did the build fail", "rename the queue", "token of the portal")
_TIMEOUT = 600.0


@dataclass
class World:
    """Where transcripts, home and memories of the rounds are."""

    directory: Path
    seed: int
    total_bytes: int

    def environment(self, data_dir: Path, transcripts: Path) -> dict[str, str]:
        """What a command of a round sees."""
        kept = {name: value for name, value in os.environ.items() if "MEMORY_" not in name}
        return {
            **kept,
            "HOME": str(self.directory / "home"),
            "XDG_CACHE_HOME": str(self.directory / "cache"),
            "MEMORY_DATA_DIR": str(data_dir),
            "MEMORY_PROJECTS_DIR": str(transcripts / "claude" / "projects"),
            "MEMORY_CODEX_DIR": str(transcripts / "codex"),
            "MEMORY_PI_DIR": str(transcripts / "pi"),
            "MEMORY_INGEST_WORKERS": "1",
            "MEMORY_CHROMA_IDLE_SECONDS": "60",
            "PYTHONPATH": str(ROOT),
        }

    def write_transcripts(self, directory: Path, share: float) -> None:
        """Write the transcripts; with a share below 1 the first part of each, and not all."""
        made = list(lifelike.sessions(self.seed, self.total_bytes, 12, 3))
        for number, (path, lines) in enumerate(made):
            kept = lines if share == 1 else lines[: max(2, int(len(lines) * share))]
            if share < 1 and number % 4 == 3:
                continue
            target = directory / path
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes("".join(f"{line}\n" for line in kept).encode())
        self.write_nothing(directory)

    def write_nothing(self, directory: Path) -> None:
        """Make the directories in which agents write."""
        for name in ("claude/projects", "codex", "pi"):
            (directory / name).mkdir(parents=True, exist_ok=True)


class Command:
    """One `memory` command in a process group of its own, and the stages that it tells."""

    def __init__(self, environment: dict[str, str], arguments: Sequence[str] = ("ingest",)) -> None:
        reading, writing = os.pipe()
        child = str(ROOT / "benchmarks" / "crash_child.py")
        self.process = subprocess.Popen(
            [sys.executable, child, str(writing), *arguments],
            env=environment,
            pass_fds=[writing],
            start_new_session=True,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
        )
        os.close(writing)
        self._pipe, self._rest = reading, b""
        self.inside: list[str] = []
        self.seconds: dict[str, list[float]] = {}
        self.entered: Counter[str] = Counter()
        self._began: dict[str, float] = {}

    def listen(self, seconds: float) -> bool:
        """Take in what is told within so many seconds; False at the end."""
        if not select.select([self._pipe], [], [], seconds)[0]:
            return True
        data = os.read(self._pipe, 65536)
        *lines, self._rest = (self._rest + data).split(b"\n")
        for line in lines:
            sign, stage = chr(line[0]), line[1:].decode()
            if sign == "+":
                self.inside.append(stage)
                self.entered[stage] += 1
                self._began[stage] = time.monotonic()
            elif stage in self.inside:
                self.inside.reverse()
                self.inside.remove(stage)
                self.inside.reverse()
                took = time.monotonic() - self._began[stage]
                self.seconds.setdefault(stage, []).append(took)
        return bool(data)

    def finish(self, fine: Sequence[int] = (0,)) -> str:
        """Wait for its end, and return what it said if its exit code is none of `fine`."""
        while self.listen(_TIMEOUT):
            pass
        error = self.process.stderr.read().decode() if self.process.stderr else ""
        os.close(self._pipe)
        code = self.process.wait()
        return "" if code in fine else error or f"exit code {code}"

    def kill(self) -> str:
        """Kill the group, and return the innermost stage it was in, or "between"."""
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self.process.pid, signal.SIGKILL)
        while self.listen(0.2):
            pass
        self.process.wait()
        os.close(self._pipe)
        return self.inside[-1] if self.inside else "between"


def kill_server(data_dir: Path) -> bool:
    """Kill the Chroma server of a memory; False if none runs."""
    from memory_assets.stores.chroma import server as chroma_server

    endpoint = chroma_server.running(data_dir)
    if endpoint is None:
        return False
    os.kill(endpoint.pid, signal.SIGKILL)
    return True


def aim_and_kill(
    command: Command,
    aim: str,
    draw: random.Random,
    usual: Command,
    data_dir: Path,
    and_server: bool,
) -> str:
    """Kill the command (and the server) within the stage aimed at; return where it was."""
    if aim == "hnsw":
        return _kill_in_save(command, draw, data_dir)
    which = draw.randint(1, max(1, usual.entered[aim]))
    while command.entered[aim] < which:
        if not command.listen(5.0):
            return command.kill()
    if aim in command.inside:
        usually = sorted(usual.seconds.get(aim) or [0.01])
        deadline = time.monotonic() + draw.uniform(0, usually[len(usually) // 2])
        while aim in command.inside and time.monotonic() < deadline:
            command.listen(max(0.0, min(0.002, deadline - time.monotonic())))
    if and_server:
        kill_server(data_dir)
    where = list(command.inside)
    innermost = command.kill()
    return aim if aim in where else innermost


def _kill_in_save(command: Command, draw: random.Random, data_dir: Path) -> str:
    """Kill the server when files of an HNSW index change, a little later than that."""
    from memory_assets.stores.chroma import server as chroma_server

    name = draw.choice(("index_metadata.pickle", "link_lists.bin", "data_level0.bin"))
    skip = draw.randint(0, 4)
    seen: dict[Path, tuple[int, int]] = {}
    while command.listen(0.0) and command.process.poll() is None:
        if not (command.entered["upsert"] or command.entered["copy"]):
            command.listen(0.05)
            continue
        for path in (*data_dir.glob(f"chroma/*/{name}"), *data_dir.glob(f"*/chroma/*/{name}")):
            with contextlib.suppress(FileNotFoundError):
                now = (path.stat().st_mtime_ns, path.stat().st_size)
                changed = seen.get(path) not in (None, now)
                seen[path] = now
                endpoint = chroma_server.running(path.parents[2]) if changed else None
                if endpoint is None:
                    continue
                skip -= 1
                if skip < 0:
                    time.sleep(draw.choice((0, 0, 0.0003, 0.001)))
                    with contextlib.suppress(ProcessLookupError):
                        os.kill(endpoint.pid, signal.SIGKILL)
                    command.kill()
                    return "hnsw"
    return command.kill()


class _Vector:
    """A vector that equals what Chroma makes of it when it normalises it once more."""

    def __init__(self, values: Any) -> None:
        self._values = values

    def __eq__(self, other: object) -> bool:
        import numpy as np

        return isinstance(other, _Vector) and np.allclose(self._values, other._values, atol=1e-6)

    __hash__ = None  # type: ignore[assignment]


def state_of(data_dir: Path, transcripts: Path) -> dict[str, Any]:
    """Return every row of every table and collection, and answers, but for times."""
    from memory_assets.errors import NotFound
    from memory_assets.pipeline.stage.components import Components
    from memory_assets.recall import open_memory
    from memory_assets.settings import load_settings
    from memory_assets.stores.lake.schemas import TABLES

    settings = load_settings(
        data_dir=data_dir, projects_dir=transcripts / "claude" / "projects", chroma_idle_seconds=60
    )
    components = Components(settings)
    state: dict[str, Any] = {}
    for table in TABLES.values():
        names = [name for name in table.schema.names if name not in table.written_columns]
        for project in components.lake.projects(table):
            for session in components.lake.sessions(table, project):
                rows = components.lake.read(table, project, session, names).to_pylist()
                for number, row in enumerate(rows):
                    state[f"{table.name}/{project}/{session}/{number}"] = repr(row)
    for name in components.vectors.names():
        page = components.vectors.get(name).ask(
            "get", include=["embeddings", "documents", "metadatas"]
        )
        for row_id, vector, text, metadata in zip(
            page["ids"], page["embeddings"], page["documents"], page["metadatas"], strict=True
        ):
            kept = {key: value for key, value in metadata.items() if key not in _TIMES}
            state[f"chroma/{name}/{row_id}"] = (_Vector(vector), text, sorted(kept.items()))
            if f"chroma/{name}/{row_id}/again" in state:
                raise AssertionError("twice")
    memory = open_memory(settings)
    for query in QUERIES:
        for mode in ("hybrid", "semantic", "keyword"):
            for kind in ("sessions", "prompts", "summaries", "workspace"):
                found: object
                try:
                    hits = memory.search(query, kinds=(kind,), mode=mode, n=10).hits
                    found = [(hit.id, round(hit.score, 4)) for hit in hits]
                except NotFound as nothing:  # no workspace is indexed
                    found = str(nothing)
                state[f"search/{query}/{mode}/{kind}"] = found
    components.catalog.close()
    return state


_TIMES = ("ingested_at", "row_hash")


def differences(wanted: dict[str, Any], found: dict[str, Any]) -> dict[str, list[str]]:
    """Return what is missing, extra and otherwise."""
    shared = wanted.keys() & found.keys()
    return {
        "missing": sorted(wanted.keys() - found.keys()),
        "extra": sorted(found.keys() - wanted.keys()),
        "changed": sorted(key for key in shared if wanted[key] != found[key]),
    }


def run_rounds(world: World, rounds: int, aims: tuple[str, ...] = AIMS) -> tuple[int, Counter[str]]:
    """Run the rounds, print a line for each, and return the bad ones and the moments hit."""
    from memory_assets.stores.chroma import server as chroma_server

    crash_child.use_hash_embedder()
    for name in ("home", "cache"):
        (world.directory / name).mkdir(parents=True, exist_ok=True)
    os.environ["HOME"] = str(world.directory / "home")
    os.environ["XDG_CACHE_HOME"] = str(world.directory / "cache")
    all_of_it, part = world.directory / "all", world.directory / "part"
    world.write_transcripts(all_of_it, 1)
    grown, early = world.directory / "grown", world.directory / "early"
    world.write_transcripts(part, 0.66)
    usual = _reference(world, world.directory / "reference", all_of_it)
    wanted = state_of(world.directory / "reference", all_of_it)
    chroma_server.stop(world.directory / "reference")
    shutil.copytree(part, grown)
    _reference(world, early, grown)
    chroma_server.stop(early)
    draw = random.Random(world.seed)
    hit: Counter[str] = Counter()
    bad = 0
    for number, aim in enumerate(_aims(rounds, aims, hit)):
        data_dir = world.directory / f"round-{number}"
        transcripts, grows = all_of_it, number // len(aims) % 2 == 1
        if grows:
            shutil.copytree(early, data_dir)
            world.write_transcripts(grown, 1)
            transcripts = grown
        and_server = draw.random() < 1 / 3
        ingest = Command(world.environment(data_dir, transcripts))
        where = aim_and_kill(ingest, aim, draw, usual, data_dir, and_server)
        hit[where] += 1
        error = Command(world.environment(data_dir, transcripts)).finish()
        found = {} if error else state_of(data_dir, transcripts)
        against = differences(wanted, found)
        aside = [path.name for path in data_dir.glob("chroma.broken-*")]
        chroma_server.stop(data_dir)
        wrong = error or any(against.values())
        bad += bool(wrong)
        counts = ", ".join(f"{len(keys)} {name}" for name, keys in against.items())
        print(
            f"{number:3} {'grown' if grows else 'empty'} aimed {aim:9} hit {where:9} "
            f"server {'killed' if and_server or aim == 'hnsw' else 'left  '} "
            f"set aside {len(aside)}  {counts}",
            flush=True,
        )
        if wrong:
            print("   ", error[-300:], [keys[:3] for keys in against.values()], flush=True)
        else:
            shutil.rmtree(data_dir)
        if grows:
            shutil.rmtree(grown)
            shutil.copytree(part, grown)
    return bad, hit


def _aims(rounds: int, aims: tuple[str, ...], hit: Counter[str]) -> Iterator[str]:
    """Yield the aims in turn, then those missed too often in turn, until each was hit as often
    as it was aimed at, or three times as many rounds have been run."""
    for number in range(3 * rounds):
        if number < rounds or aims[number % len(aims)] in _missed(rounds, aims, hit):
            yield aims[number % len(aims)]


def _missed(rounds: int, aims: tuple[str, ...], hit: Counter[str]) -> list[str]:
    return [aim for aim in aims if hit[aim] < rounds // len(aims)]


def _reference(world: World, data_dir: Path, transcripts: Path) -> Command:
    ingest = Command(world.environment(data_dir, transcripts))
    error = ingest.finish()
    if error:
        raise SystemExit(f"the uninterrupted run failed: {error}")
    return ingest


def main() -> None:
    """Run the rounds and print what was hit and what differed."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=50)
    parser.add_argument("--seed", type=int, default=7)
    parser.add_argument("--megabytes", type=float, default=1.5)
    parser.add_argument(
        "--command", choices=("ingest", "retain", "forget", "index", "remember"), default="ingest"
    )
    given = parser.parse_args()
    directory = Path(tempfile.mkdtemp(prefix="crash-safety-"))
    started = time.monotonic()
    world = World(directory, given.seed, int(given.megabytes * 1e6))
    if given.command == "ingest":
        bad, hit = run_rounds(world, given.rounds)
    elif given.command == "index":
        from benchmarks import crash_index

        bad, hit = crash_index.run_rounds(world, given.rounds)
    elif given.command == "remember":
        from benchmarks import crash_memory

        bad, hit = crash_memory.run_rounds(world, given.rounds)
    else:
        from benchmarks import crash_removals

        bad, hit = crash_removals.run_rounds(world, given.command, given.rounds)
    print("moments hit:", dict(hit))
    print(f"{hit.total()} kills, {bad} with a difference, {time.monotonic() - started:.0f} s")
    if bad:
        raise SystemExit(1)
    if given.command == "ingest" and (missed := _missed(given.rounds, AIMS, hit)):
        raise SystemExit(f"not hit often enough: {', '.join(missed)}")
    shutil.rmtree(directory)


if __name__ == "__main__":
    main()
