"""What one turn of very many tool calls costs in a first ingest by words, beside a quarter of it.

    python benchmarks/long_turn.py [--calls 50000]

A session of one prompt, `--calls` commands with their output and one closing message is ingested
into an empty memory, and then a session of a quarter of the calls into another. CPU seconds are
those of all processes; time in proportion to the calls gives a ratio of about 4.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
from datetime import UTC, datetime
from pathlib import Path

from process_tree import adopt_orphans, snapshot

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "data" / "sample"))

from generator.claude import ClaudeSession

MEMORY = Path(sys.executable).with_name("memory")


def write_session(projects: Path, calls: int) -> int:
    """Write a session with one turn of `calls` commands below `projects`; return its bytes."""
    session = ClaudeSession(
        session_id="3f1b2c4d-0000-4000-8000-000000000000",
        cwd="/work/generated",
        version="2.1.200",
        branch="main",
        now=datetime(2026, 7, 1, tzinfo=UTC),
    )
    session.prompt("Rename the field in all the generated modules")
    for number in range(calls):
        command = f"sed -i s/a{number}/b/ gen/module_{number}.py && pytest tests/test_{number}.py"
        session.call("Bash", {"command": command}, f"{number % 7} passed in 0.{number % 100:02d}s")
    session.say("All modules are renamed.")
    path = projects.parent.parent / session.path
    path.parent.mkdir(parents=True)
    path.write_text("\n".join(session.lines) + "\n", encoding="utf-8")
    return path.stat().st_size


def ingest_seconds(folder: Path, calls: int) -> float:
    """Return the CPU seconds of a first ingest by words of one turn of `calls` calls."""
    projects = folder / "claude" / "projects"
    size = write_session(projects, calls)
    (folder / "none").mkdir()
    environment = os.environ | {
        "MEMORY_DATA_DIR": str(folder / "data"),
        "MEMORY_PROJECTS_DIR": str(projects),
        "MEMORY_CODEX_DIR": str(folder / "none"),
        "MEMORY_PI_DIR": str(folder / "none"),
        "MEMORY_EMBEDDER": "none",
    }
    before = snapshot().total
    subprocess.run([MEMORY, "ingest"], env=environment, check=True, stdout=subprocess.DEVNULL)
    seconds = snapshot().total - before
    print(f"{calls:>7} calls, {size / 1e6:5.1f} MB: {seconds:6.1f} CPU s")
    return seconds


def main() -> None:
    """Print the CPU seconds of both sessions, and their ratio."""
    options = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    options.add_argument("--calls", type=int, default=50_000)
    calls = options.parse_args().calls
    adopt_orphans()
    seconds = []
    for number in (calls, calls // 4):
        with tempfile.TemporaryDirectory() as folder:
            seconds.append(ingest_seconds(Path(folder), number))
    print(f"ratio {seconds[0] / seconds[1]:.1f}")


if __name__ == "__main__":
    main()
