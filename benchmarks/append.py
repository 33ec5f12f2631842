"""What one more turn costs a session, by how long the session is.

    python -m benchmarks.append [--sizes 1,10,75,300,1000] [--appends 5] [--embed]

Makes a session of Claude Code of each size in a temporary directory (lifelike turns of
about 65 kB: a prompt, answers, tool calls and their output), takes it in, then appends one
turn at a time and prints the CPU seconds of each stage: the median of the appends, and the
dearest, which may have merged a tail into its base. Without `--embed` the stages that need
the model are left out. Prints a Markdown table.
"""

from __future__ import annotations

import argparse
import inspect
import json
import os
import random
import statistics
import string
import sys
import tempfile
import time
import uuid
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from memory_assets.pipeline.plan.plan import plan
from memory_assets.pipeline.redact import redacted_records as redact
from memory_assets.pipeline.scan import on_disk
from memory_assets.pipeline.scan import raw_sessions as scan
from memory_assets.pipeline.stage.components import Components
from memory_assets.pipeline.stage.report import StageReport
from memory_assets.pipeline.stages import STAGES
from memory_assets.pipeline.tables import session_summaries as summarise
from memory_assets.pipeline.tables import turn_chunks as chunk
from memory_assets.settings import load_settings
from memory_assets.stores.lake.schemas import (
    SESSION_SUMMARIES,
    TURN_CHUNKS,
    USER_PROMPTS,
)

PROJECT = "-home-dev-app"
SESSION = "0b5e1c7a-4f7d-4f7e-9d35-1d2f0a9c6b11"
MEGABYTE = 1_000_000
Stage = Callable[[Components, str], StageReport]


class Writer:
    """Writes the turns of one session, with words and code from the standard library."""

    def __init__(self, path: Path, seed: int = 7) -> None:
        self._path = path
        self._drawn = random.Random(seed)
        modules = (string, json, argparse, inspect, statistics, tempfile, random, uuid)
        self._code = "\n".join(inspect.getsource(module) for module in modules).splitlines()
        self._words = sorted(
            {word for line in self._code for word in line.split() if word.isalpha()}
        )
        self._turns = 0

    def fill(self, size: int) -> None:
        """Append turns until the file has this many bytes."""
        with self._path.open("a") as file:
            while file.tell() < size:
                file.writelines(self._turn())

    def append(self) -> int:
        """Append one turn; return its bytes."""
        with self._path.open("a") as file:
            before = file.tell()
            file.writelines(self._turn())
            return file.tell() - before

    def _turn(self) -> Iterator[str]:
        self._turns += 1
        yield self._record("user", f"Turn {self._turns}: {self._prose(40)}")
        for _ in range(8):
            yield self._record("assistant", [{"type": "text", "text": self._prose(60)}])
            call = f"toolu_{self._drawn.getrandbits(96):024x}"
            path = f"/home/dev/app/{self._drawn.choice(self._words)}.py"
            given = {"file_path": path, "command": f"sed -n 1,99p {path}"}
            block: dict[str, Any] = {"type": "tool_use", "id": call, "name": "Bash", "input": given}
            yield self._record("assistant", [block])
            start = self._drawn.randrange(len(self._code) - 200)
            output = "\n".join(self._code[start : start + 150])
            block = {"type": "tool_result", "tool_use_id": call, "content": output}
            yield self._record("user", [block], toolUseResult={"stdout": output[:2_000]})
        yield self._record("assistant", [{"type": "text", "text": self._prose(120)}])

    def _record(self, role: str, content: Any, **more: Any) -> str:
        record = {
            "type": role,
            "uuid": str(uuid.UUID(int=self._drawn.getrandbits(128), version=4)),
            "parentUuid": None,
            "sessionId": SESSION,
            "isSidechain": False,
            "timestamp": "2026-05-02T10:00:00.000Z",
            "cwd": "/home/dev/app",
            "gitBranch": "main",
            "version": "2.1.129",
            "message": {
                "role": role,
                "content": content,
                "id": f"msg_{self._drawn.getrandbits(80):020x}",
            },
            **more,
        }
        return json.dumps(record) + "\n"

    def _prose(self, words: int) -> str:
        return " ".join(self._drawn.choice(self._words) for _ in range(words))


def stages(embeds: bool) -> dict[str, Stage]:
    """The stages up to Chroma, by name."""
    made: dict[str, Stage] = {
        "scan": scan.scan_project,
        "redact": redact.redact_project,
        "chunk": chunk.chunk_project,
        "prompts": chunk.extract_prompts,
        "summarise": summarise.summarise_project,
    }
    sources = (TURN_CHUNKS, USER_PROMPTS, SESSION_SUMMARIES)
    made |= {
        stage.table.name: stage.run
        for stage in STAGES
        if embeds and stage.embeds and stage.derived.upstream in sources
    }
    return made


def measure(size: int, appends: int, embeds: bool) -> dict[str, list[float]]:
    """Return, by stage, the CPU seconds of the ingest of a session and of each append."""
    with tempfile.TemporaryDirectory() as place:
        root = Path(place)
        os.environ["HOME"] = place
        path = root / "projects" / PROJECT / f"{SESSION}.jsonl"
        path.parent.mkdir(parents=True)
        writer = Writer(path)
        writer.fill(size)
        settings = load_settings(data_dir=root / "data", projects_dir=root / "projects")
        components = Components(settings)
        components.redactor.redact("warm")
        if embeds:
            components.embedder.embed(["warm"])
        taken: dict[str, list[float]] = {}
        for _ in range(appends + 1):
            for name, stage in stages(embeds).items():
                start = time.process_time()
                stage(components, PROJECT)
                taken.setdefault(name, []).append(time.process_time() - start)
            start = time.process_time()
            plan(components, on_disk.find_sources(components))
            taken.setdefault("plan", []).append(time.process_time() - start)
            writer.append()
        components.catalog.close()
    return taken


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--sizes", default="1,10,75,300,1000", help="megabytes, comma-separated")
    parser.add_argument("--appends", type=int, default=5)
    parser.add_argument("--embed", action="store_true", help="embed too")
    given = parser.parse_args()
    names = [*stages(given.embed), "plan"]
    out = sys.stdout.write
    out(f"| MB | taken in | {' | '.join(names)} | one turn | dearest |\n")
    out(f"|{'---|' * (len(names) + 4)}\n")
    for megabytes in map(float, given.sizes.split(",")):
        taken = measure(int(megabytes * MEGABYTE), given.appends, given.embed)
        whole = sum(seconds[0] for seconds in taken.values())
        each = [statistics.median(taken[name][1:]) for name in names]
        totals = [sum(taken[name][n] for name in names) for n in range(1, given.appends + 1)]
        cells = " | ".join(f"{seconds:.3f}" for seconds in each)
        out(f"| {megabytes:g} | {whole:.1f} s | {cells} ")
        out(f"| {statistics.median(totals):.2f} s | {max(totals):.2f} s |\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main()
