"""How long `memory status` takes on a catalogue of 100,000 chunks.

    python benchmarks/status.py [--chunks 100000] [--dir DIR]

The catalogue is made through the real store, in the shape that a run leaves: sessions of 25
chunks, a product for each at each stage and each check, and a transcript on disk for each
session. Prints the time of the whole process and of the call alone, with its CPU.
"""

from __future__ import annotations

import argparse
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))
CHUNKS_A_SESSION = 25
SESSIONS_A_PROJECT = 40
STAGES = {
    "redacted_records": 300,
    "redaction_audit": 4,
    "turn_chunks": CHUNKS_A_SESSION,
    "turn_embeddings": CHUNKS_A_SESSION,
    "session_collection": CHUNKS_A_SESSION,
    "sessions_keywords": CHUNKS_A_SESSION,
    "user_prompts": 8,
    "prompt_embeddings": 8,
    "prompt_collection": 8,
    "prompts_keywords": 8,
    "session_summaries": 1,
    "summary_embeddings": 1,
    "summary_collection": 1,
    "summaries_keywords": 1,
    "observations": 6,
    "observation_embeddings": 6,
    "observation_collection": 6,
    "observations_keywords": 6,
    "session_commits": 1,
}
NOTES = ("clean", "independent", "expected")
FACTS = {
    "redacted_records": {
        "agent": "claude-code",
        "copied_from": [],
        "records": 280,
        "kept": 250,
        "bad_lines": 0,
        "blocks": 300,
        "prompts": 8,
        "redactions": 4,
        "dropped": {"progress": 20, "snapshot": 10},
    },
    "turn_chunks": {"turns": 8, "places": [[[n, n * 9, n * 9, n * 9, n] for n in range(8)], {}]},
}


def make(base: Path, chunks: int) -> tuple[Path, Path]:
    """Make the catalogue and the files; return the data and projects directories."""
    from memory_assets.stores.catalog.catalog import Catalog
    from memory_assets.stores.catalog.schema import Product, SourceRow

    data, projects = base / "memory", base / "claude" / "projects"
    catalog = Catalog(data / "catalog.db")
    facts = {
        **dict.fromkeys(("lines", "records", "blocks", "bad_lines", "unknown_records"), 3),
        "prompts": 8,
        "dropped": {"progress": 20, "snapshot": 10},
        "first_timestamp": "2026-03-02T08:00:00+00:00",
        "last_timestamp": "2026-03-02T09:00:00+00:00",
        "project_root": "~/code/harbor-api",
        "agent_versions": ["2.1.100"],
    }
    for number in range(chunks // CHUNKS_A_SESSION):
        project = f"-home-mara-code-p{number // SESSIONS_A_PROJECT:04d}"
        session = f"{number:08d}-2222-4222-8222-222222222222"
        path = projects / project / f"{session}.jsonl"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("{}\n")
        status = path.stat()
        names = list(STAGES) + [f"{note}/{stage}" for note in NOTES for stage in STAGES]
        products = [
            Product(
                name,
                project,
                session,
                f"{number:032x}",
                f"{number:032x}",
                rows=STAGES.get(name, 0),
                bytes=20_000,
                facts=FACTS.get(name, {}),
                run_id="0" * 36,
            )
            for name in names
        ]
        row = SourceRow(
            "claude-code",
            project,
            session,
            "",
            str(path),
            status.st_size,
            status.st_mtime_ns,
            "f" * 32,
            "1",
            number,
            facts,
        )
        catalog.adopt([], products)
        catalog.sources.put(row)
    catalog.close()
    return data, projects


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--chunks", type=int, default=100_000)
    parser.add_argument("--dir", type=Path)
    arguments = parser.parse_args()
    base = arguments.dir or Path(tempfile.mkdtemp(prefix="memory-status-"))
    (base / "home").mkdir(parents=True, exist_ok=True)
    os.environ |= {"HOME": str(base / "home"), "PYTHONPATH": str(ROOT)}
    data, projects = base / "memory", base / "claude" / "projects"
    if not data.exists():
        make(base, arguments.chunks)
    os.environ |= {"MEMORY_DATA_DIR": str(data), "MEMORY_PROJECTS_DIR": str(projects)}
    code = "import sys; sys.argv[1:] = ['status']; import memory_assets.cli.start as s"
    walls, cpus = [], []
    for _ in range(15):
        before, started = os.times(), time.perf_counter()
        subprocess.run([sys.executable, "-c", f"{code}; s.main()"], check=True, capture_output=True)
        walls.append(time.perf_counter() - started)
        after = os.times()
        cpus.append(
            after.children_user
            + after.children_system
            - before.children_user
            - before.children_system
        )
    print(
        f"whole process: {min(walls) * 1e3:.0f} / {statistics.median(walls) * 1e3:.0f} / "
        f"{max(walls) * 1e3:.0f} ms wall (min, median, max of 15), "
        f"{statistics.median(cpus) * 1e3:.0f} ms of CPU"
    )
    from memory_assets.settings import load_settings
    from memory_assets.status.status import status

    settings = load_settings()
    calls, used = [], []
    for _ in range(15):
        cpu, started = time.process_time(), time.perf_counter()
        current = status(settings)
        calls.append(time.perf_counter() - started)
        used.append(time.process_time() - cpu)
    print(
        f"the call alone: {statistics.median(calls) * 1e3:.0f} ms wall (median), "
        f"{statistics.median(used) * 1e3:.0f} ms of CPU; "
        f"{current['coverage']['sessions']['rows']} chunks, {current['freshness']['files']} files"
    )
    if arguments.dir is None:
        shutil.rmtree(base)


if __name__ == "__main__":
    main()
