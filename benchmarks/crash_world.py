"""What the rounds of `crash_safety.py` share: transcripts, a `memory` command that tells its
stages and is killed within one, and the rows and answers that are compared afterwards."""

from __future__ import annotations

import contextlib
import os
import random
import select
import shutil
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from benchmarks import crash_child, lifelike

if TYPE_CHECKING:
    from memory_assets.pipeline.stage.components import Components

ROOT = Path(__file__).resolve().parent.parent
QUERIES = ("parse the ledger", "why did the build fail", "rename the queue", "token of the portal")
_TIMEOUT = 600.0
_SAID = 400
"""Characters of what a failed command said that are shown."""
_TIMES = ("ingested_at", "row_hash")


@dataclass
class World:
    """Where transcripts, home and memories of the rounds are."""

    directory: Path
    seed: int
    total_bytes: int
    projects: int = 3

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
        made = list(lifelike.sessions(self.seed, self.total_bytes, 12, self.projects))
        for number, (path, lines) in enumerate(made):
            kept = lines if share == 1 else lines[: max(2, int(len(lines) * share))]
            if share < 1 and number % 4 == 3:
                continue
            target = directory / path
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes("".join(f"{line}\n" for line in kept).encode())
        self.write_nothing(directory)

    def take_home(self) -> None:
        """Make the home and the cache of the rounds; this process uses them, too."""
        crash_child.use_hash_embedder()
        for variable, name in (("HOME", "home"), ("XDG_CACHE_HOME", "cache")):
            (self.directory / name).mkdir(parents=True, exist_ok=True)
            os.environ[variable] = str(self.directory / name)

    def write_nothing(self, directory: Path) -> None:
        """Make the directories in which agents write."""
        for name in ("claude/projects", "codex", "pi"):
            (directory / name).mkdir(parents=True, exist_ok=True)


class Command:
    """One `memory` command in a process group of its own, and the stages that it tells."""

    def __init__(
        self,
        environment: dict[str, str],
        arguments: Sequence[str] = ("ingest",),
        code: Path = ROOT,
    ) -> None:
        reading, writing = os.pipe()
        child = str(code / "benchmarks" / "crash_child.py")
        self.process = subprocess.Popen(
            [sys.executable, child, str(writing), *arguments],
            env=environment,
            pass_fds=[writing],
            start_new_session=True,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
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

    def listen_for(self, seconds: float) -> None:
        """Take in what is told within so many seconds, or until the end."""
        until = time.monotonic() + seconds
        while (left := until - time.monotonic()) > 0 and self.listen(left):
            pass

    def finish(self, fine: Sequence[int] = (0,)) -> str:
        """Wait for its end, and return what it said if its exit code is none of `fine`."""
        while self.listen(_TIMEOUT):
            pass
        said = self.process.stdout.read().decode() if self.process.stdout else ""
        os.close(self._pipe)
        code = self.process.wait()
        return "" if code in fine else f"exit code {code}: {said[-_SAID:]}"

    def to_the_end(self) -> Self:
        """Wait for its end, which must be a good one."""
        if error := self.finish():
            raise SystemExit(f"what was not interrupted failed: {error}")
        return self

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

    settings = load_settings(
        data_dir=data_dir, projects_dir=transcripts / "claude" / "projects", chroma_idle_seconds=60
    )
    components = Components(settings)
    state = rows_of(components)
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


def rows_of(components: Components) -> dict[str, Any]:
    """Return every row of every table, and of every collection if texts are embedded, but for
    times."""
    from memory_assets.stores.lake.schemas import TABLES

    state: dict[str, Any] = {}
    for table in TABLES.values():
        names = [name for name in table.schema.names if name not in table.written_columns]
        for project in components.lake.projects(table):
            for session in components.lake.sessions(table, project):
                rows = components.lake.read(table, project, session, names).to_pylist()
                for number, row in enumerate(rows):
                    state[f"{table.name}/{project}/{session}/{number}"] = repr(row)
    for name in components.vectors.names() if components.embeds else ():
        collection: Any = components.vectors.get(name)
        page = collection.ask("get", include=["embeddings", "documents", "metadatas"])
        for row_id, vector, text, metadata in zip(
            page["ids"], page["embeddings"], page["documents"], page["metadatas"], strict=True
        ):
            kept = {key: value for key, value in metadata.items() if key not in _TIMES}
            state[f"chroma/{name}/{row_id}"] = (_Vector(vector), text, sorted(kept.items()))
            if f"chroma/{name}/{row_id}/again" in state:
                raise AssertionError("twice")
    return state


def differences(wanted: dict[str, Any], found: dict[str, Any]) -> dict[str, list[str]]:
    """Return what is missing, extra and otherwise."""
    shared = wanted.keys() & found.keys()
    return {
        "missing": sorted(wanted.keys() - found.keys()),
        "extra": sorted(found.keys() - wanted.keys()),
        "changed": sorted(key for key in shared if wanted[key] != found[key]),
    }


@dataclass
class Outcomes:
    """How often each moment was hit, and how many rounds ended otherwise than they should."""

    hit: Counter[str] = field(default_factory=Counter)
    bad: int = 0

    def note(self, line: str, data_dir: Path, error: str, against: dict[str, list[str]]) -> None:
        """Print a round's line, with what differs; what is right is removed."""
        counts = ", ".join(f"{len(keys)} {kind}" for kind, keys in against.items())
        print(f"{line}  {counts}", flush=True)
        if error or any(against.values()):
            self.bad += 1
            print("   ", error, [keys[:3] for keys in against.values()], flush=True)
        else:
            shutil.rmtree(data_dir)


def server_word(aim: str, and_server: bool) -> str:
    """Return what happened to Chroma's server in a round."""
    return f"server {'killed' if and_server or aim == 'hnsw' else 'left  '}"
