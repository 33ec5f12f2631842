"""How soon a turn that an agent writes can be found, while `memory ingest --watch` runs.

    python benchmarks/watch.py [--turns 20] [--megabytes 0] [--polling] [--dir DIR]

A watcher is started on a copy of the sample sessions (and so many MB of lifelike ones);
then turns are appended to a session, one at a time, and looked for with `search` until
they are found. Prints the times from write to find, what the runs spent in our stages, and
how many runs a busy session (a line every 50 ms for 10 s) came to.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PROJECT = "-home-mara-code-harbor-api"
WORDS = (
    *("gannet", "plinth", "sorrel", "quoin", "tarn", "vellum", "wimple", "yarrow", "zither"),
    *("abacus", "bodkin", "cairn", "dulcimer", "ewer", "fescue", "gimlet", "hawser", "ingot"),
    *("jasper", "kestrel", "lappet", "mullion", "nacelle", "ocarina", "pommel"),
)


def record(kind: str, number: int, text: str, session: str) -> bytes:
    """One line of a transcript."""
    content = text if kind == "user" else [{"type": "text", "text": text}]
    message = {"role": kind, "content": content}
    if kind == "assistant":
        message |= {"id": f"msg_watch{number:04d}", "model": "claude-sonnet-4-5"}
    value = {
        "type": kind,
        "uuid": f"{number:08d}-0000-4000-8000-{'1' if kind == 'user' else '2':0>12}",
        "parentUuid": None,
        "sessionId": session,
        "timestamp": time.strftime("%Y-%m-%dT%H:%M:%S.000Z", time.gmtime()),
        "cwd": "/home/mara/code/harbor-api",
        "version": "2.1.100",
        "isSidechain": False,
        "userType": "external",
        "message": message,
    }
    return json.dumps(value).encode() + b"\n"


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--turns", type=int, default=20)
    parser.add_argument("--megabytes", type=float, default=0.0)
    parser.add_argument("--polling", action="store_true")
    parser.add_argument("--dir", type=Path)
    arguments = parser.parse_args()
    base = arguments.dir or Path(tempfile.mkdtemp(prefix="memory-watch-"))
    transcripts = base / "transcripts"
    shutil.copytree(ROOT / "data" / "sample" / "claude" / "projects", transcripts)
    if arguments.megabytes:
        lifelike = base / "lifelike"
        command = [sys.executable, str(ROOT / "benchmarks" / "lifelike.py"), str(lifelike)]
        subprocess.run([*command, "--megabytes", str(arguments.megabytes)], check=True)
        for project in (lifelike / "claude" / "projects").iterdir():
            shutil.copytree(project, transcripts / project.name)
    (base / "home").mkdir(parents=True)
    os.environ |= {
        "HOME": str(base / "home"),
        "MEMORY_DATA_DIR": str(base / "memory"),
        "MEMORY_PROJECTS_DIR": str(transcripts),
    }
    started = time.perf_counter()
    log = (base / "watch.log").open("wb")
    watcher = subprocess.Popen(
        [
            sys.executable,
            "-c",
            "from memory_assets.cli.cli import main; main()",
            "ingest",
            "--watch",
        ],
        stdout=log,
        stderr=log,
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
    )
    try:
        measure(base, transcripts, watcher, arguments.turns, started)
    finally:
        watcher.send_signal(signal.SIGTERM)
        code = watcher.wait(timeout=60)
        print(f"SIGTERM: exit code {code}")
        from memory_assets.stores.chroma import server as chroma_server

        chroma_server.stop(base / "memory")
        if arguments.dir is None:
            shutil.rmtree(base)


def measure(
    base: Path, transcripts: Path, watcher: subprocess.Popen[bytes], turns: int, started: float
) -> None:
    """Wait for the first full look, append turns, and look for each."""
    from memory_assets.recall import open_memory
    from memory_assets.stores.watcher_presence import present

    def idle() -> bool:
        assert watcher.poll() is None, (base / "watch.log").read_text()[-2000:]
        state = present(base / "memory")
        return state is not None and state.runs > 0 and not state.waiting

    wait_for(idle, 900.0)
    time.sleep(2.5)
    wait_for(idle, 900.0)
    print(f"caught up in {time.perf_counter() - started:.1f} s")
    memory = open_memory()
    memory.search("warm", n=1)
    session = sorted((transcripts / PROJECT).glob("*.jsonl"))[0]
    cpu, runs = cpu_seconds(watcher.pid), present(base / "memory").runs
    times = []
    for number in range(turns):
        word = f"{WORDS[number % len(WORDS)]} {WORDS[(number * 7 + 3) % len(WORDS)]} {number}"
        lines = record("user", number, f"please look into the {word} of the report", session.stem)
        lines += record("assistant", number, f"The {word} is fine; it is tested.", session.stem)
        written = time.perf_counter()
        with session.open("ab") as file:
            file.write(lines)

        def found(phrase: str = word) -> bool:
            hits = memory.search(f"{phrase} report", n=10).hits
            return any(phrase in str(hit.text) for hit in hits)

        wait_for(found, 60.0, every=0.03)
        times.append(time.perf_counter() - written)
        time.sleep(1.0)
    used = cpu_seconds(watcher.pid) - cpu
    time.sleep(1.5)
    made = present(base / "memory").runs - runs
    print(
        f"{turns} turns, one at a time: found after {statistics.median(times):.2f} s (median), "
        f"{max(times):.2f} s (worst); {made} runs, {used / max(made, 1):.2f} CPU-s each"
    )
    print("  all: " + " ".join(f"{one:.2f}" for one in times))
    print_parts(base, made)
    print_busy(base, session, watcher.pid)


def print_busy(base: Path, session: Path, pid: int) -> None:
    """A line every 50 ms for 10 s."""
    from memory_assets.stores.watcher_presence import present

    before, cpu = present(base / "memory").runs, cpu_seconds(pid)
    lines = 0
    until = time.monotonic() + 10.0
    while time.monotonic() < until:
        with session.open("ab") as file:
            file.write(record("assistant", 1000 + lines, f"step {lines} is done", session.stem))
        lines += 1
        time.sleep(0.05)
    time.sleep(4.0)
    made = present(base / "memory").runs - before
    print(
        f"busy session: {lines} lines in 10 s came to {made} runs, "
        f"{cpu_seconds(pid) - cpu:.1f} CPU-s"
    )


def print_parts(base: Path, runs: int) -> None:
    """What the last runs spent in our stages, and in all."""
    import dagster as dg

    os.environ["DAGSTER_HOME"] = str(base / "memory" / "dagster")
    walls, stages, steps = [], [], 0
    with dg.DagsterInstance.get() as instance:
        for run in instance.get_run_records(limit=runs):
            events = instance.all_logs(run.dagster_run.run_id)
            walls.append((run.end_time or 0) - (run.start_time or 0))
            made = [
                event.dagster_event.step_materialization_data.materialization
                for event in events
                if event.dagster_event and event.dagster_event.is_step_materialization
            ]
            seconds = [one.metadata["seconds"].value for one in made if "seconds" in one.metadata]
            stages.append(sum(seconds))
            steps = sum(1 for e in events if e.dagster_event and e.dagster_event.is_step_success)
    size = sum(path.stat().st_size for path in (base / "memory/dagster/history/runs").glob("*.db"))
    count = len(list((base / "memory/dagster/history/runs").glob("*-*.db")))
    print(
        f"a run: {statistics.median(walls):.2f} s in {steps} steps, of which our stages "
        f"{statistics.median(stages):.2f} s; the rest is checks and Dagster "
        f"({size / max(count, 1) / 1e3:.0f} kB of event log a run)"
    )


def cpu_seconds(pid: int) -> float:
    """User and system time of a process so far."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def wait_for(condition: object, seconds: float, every: float = 0.2) -> None:
    """Poll until it holds."""
    deadline = time.monotonic() + seconds
    while not condition():  # type: ignore[operator]
        if time.monotonic() > deadline:
            raise SystemExit("waited for too long")
        time.sleep(every)


if __name__ == "__main__":
    sys.path.insert(0, str(ROOT))
    main()
