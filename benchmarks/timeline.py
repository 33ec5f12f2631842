"""What a timeline takes at 100,000 chunks: the memory is made up, then asked many times.

    python benchmarks/timeline.py [--chunks 100000] [--projects 40] [--asks 200]

The sessions overlap as real ones do; nothing but their number matters here. Prints CPU
milliseconds of a question in a process that has asked before, and in a new one.
"""

from __future__ import annotations

import argparse
import json
import random
import statistics
import subprocess
import sys
import tempfile
import time
from datetime import UTC, datetime, timedelta
from pathlib import Path

from memory_assets.models import Chunk, Prompt, Summary
from memory_assets.recall import open_memory
from memory_assets.recall.sessions.timeline import timeline
from memory_assets.redacted_text import seal
from memory_assets.settings import load_settings
from memory_assets.stores.catalog.catalog import Catalog
from memory_assets.stores.catalog.schema import Product, SourceRow
from memory_assets.stores.lake.lake import Lake
from memory_assets.stores.lake.schemas import SESSION_SUMMARIES, TURN_CHUNKS, USER_PROMPTS

TURNS, PARTS = 10, 4
NOTHING = seal("")
TEXT = seal("What was said in this passage of the turn, some ninety words of it in all. " * 8)
START = datetime(2025, 1, 1, tzinfo=UTC)


def main() -> None:
    """Make the memory, ask it, print the figures."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--chunks", type=int, default=100_000)
    parser.add_argument("--projects", type=int, default=40)
    parser.add_argument("--asks", type=int, default=200)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as directory:
        data = Path(directory)
        sessions = make(data, given.chunks // (TURNS * PARTS), given.projects)
        print(f"{given.chunks} chunks, {len(sessions)} sessions, {given.projects} projects")
        ask(data, sessions, given.asks)
        again(data, sessions[len(sessions) // 2])


def make(data: Path, count: int, projects: int) -> list[str]:
    """Write the lake and the catalogue of `count` sessions; return their ids."""
    lake, catalog = Lake(data / "lake"), Catalog(data / "catalog.db")
    chance = random.Random(7)
    names = []
    for number in range(count):
        session, project = f"{number:08x}-0000-4000-8000-000000000000", f"-p-{number % projects}"
        begin = START + timedelta(minutes=chance.randrange(500 * 24 * 60))
        moments = [begin + timedelta(minutes=12 * turn) for turn in range(TURNS)]
        lake.write(
            TURN_CHUNKS,
            project,
            session,
            [chunk(project, session, turn, part, at)
             for turn, at in enumerate(moments) for part in range(PARTS)],
            extra={"ingested_at": [START] * TURNS * PARTS},
        )  # fmt: skip
        lake.write(
            USER_PROMPTS, project, session,
            [prompt(project, session, turn, at) for turn, at in enumerate(moments)],
        )  # fmt: skip
        lake.write(SESSION_SUMMARIES, project, session, [summary(project, session, moments)])
        times = {"first_timestamp": begin.isoformat(), "last_timestamp": moments[-1].isoformat()}
        row = SourceRow("claude-code", project, session, "", "", 0, 0, "", "", None, times)
        catalog.sources.put(row)
        catalog.products.put(Product("turn_chunks", project, session, "", "", rows=TURNS * PARTS))
        names.append(session)
    return names


def chunk(project: str, session: str, turn: int, part: int, at: datetime) -> Chunk:
    """Return one passage."""
    turn_id = f"session::{session}::turn::{turn}"
    files = (seal("src/app/main.py"),)
    return Chunk(
        id=f"{turn_id}::part::{part}" if part else turn_id, turn_id=turn_id, part=part,
        project=project, project_root=NOTHING, agent="claude-code", session_id=session,
        turn_index=turn, role="turn", timestamp=at, ended_at=at, text=TEXT,
        tools_used=(seal("Bash"),), files=files, commands=(), errors=(), git_branch=NOTHING,
        error_lines=(), identifiers=(),
        prompt_uuid="", first_seq=0, last_seq=0, content_hash="", chunker_version="",
    )  # fmt: skip


def prompt(project: str, session: str, turn: int, at: datetime) -> Prompt:
    """Return one prompt."""
    return Prompt(
        id=f"prompt::{session}::{turn}", turn_id=f"session::{session}::turn::{turn}", part=0,
        project=project, project_root=NOTHING, agent="claude-code", session_id=session,
        turn_index=turn, timestamp=at, text=TEXT, git_branch=NOTHING, record_uuid="",
        content_hash="",
    )  # fmt: skip


def summary(project: str, session: str, moments: list[datetime]) -> Summary:
    """Return one summary."""
    return Summary(
        id=f"summary::{session}", project=project, project_root=NOTHING, agent="claude-code",
        session_id=session, title=seal("A session"), request=TEXT, investigated=NOTHING,
        learned=NOTHING, completed=TEXT, next_steps=NOTHING, notes=NOTHING, files_read=(),
        files_modified=(), commands=(), errors=(), commits=(), started_at=moments[0],
        ended_at=moments[-1], duration_seconds=0.0, turns=TURNS, prompts=TURNS, tool_calls=0,
        git_branch=NOTHING, text=TEXT, content_hash="", summarizer_id="",
    )  # fmt: skip


def ask(data: Path, sessions: list[str], asks: int) -> None:
    """Ask in this process, each kind of question `asks` times, and print what it took."""
    memory = open_memory(load_settings(data_dir=data))
    chance = random.Random(11)
    questions = {
        "turn, 5 on each side": lambda: {
            "anchor": turn_of(chance, sessions),
            "before": 5,
            "after": 5,
        },
        "turn, 50 on each side": lambda: {
            "anchor": turn_of(chance, sessions),
            "before": 50,
            "after": 50,
        },
        "turn, 10, all projects": lambda: {"anchor": turn_of(chance, sessions), "scope": "all"},
        "session by its beginning": lambda: {"anchor": chance.choice(sessions)[:8]},
        "time, 10, all projects": lambda: {
            "anchor": (START + timedelta(days=chance.randrange(500))).isoformat()[:10]
        },
    }
    for name, question in questions.items():
        timeline(memory, **question())
        took = []
        for _ in range(asks):
            begun = time.process_time()
            timeline(memory, **question())
            took.append(1_000 * (time.process_time() - begun))
        took.sort()
        p95 = took[int(0.95 * len(took))]
        print(f"{name:26} p50 {statistics.median(took):6.1f}   p95 {p95:6.1f} ms of CPU")


def turn_of(chance: random.Random, sessions: list[str]) -> str:
    """Return the id of any turn."""
    return f"session::{chance.choice(sessions)}::turn::{chance.randrange(TURNS)}"


def again(data: Path, session: str) -> None:
    """Ask once from the command line."""
    code = (
        "import json, sys, time; from memory_assets.cli.cli import main\n"
        "try: main()\nfinally: print(json.dumps(time.process_time()), file=sys.stderr)"
    )
    command = [sys.executable, "-c", code, "timeline", f"session::{session}::turn::5", "--json"]
    done = subprocess.run(
        command, env={"MEMORY_DATA_DIR": str(data), "HOME": str(data)}, capture_output=True,
        text=True, check=True,
    )  # fmt: skip
    seconds = json.loads(done.stderr.split()[-1])
    print(f"`memory timeline` in a new process: {seconds:.2f} s of CPU")


if __name__ == "__main__":
    main()
