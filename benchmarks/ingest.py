"""Ingest all dev transcripts from nothing, then again, and print what it took.

    python benchmarks/ingest.py [--keep DIR]
    python benchmarks/ingest.py --agents

One cold `memory ingest` and one with nothing changed, in a data directory and a home of
their own. `--keep` leaves the memory in DIR, to search in it afterwards.

`--agents`: what databases cost, without vectors. Twenty made-up sessions are ingested as files of
lines, and poured into the databases of OpenCode and Goose; then nothing changes,
with those files alone and with the stores of all agents beside them.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import shutil
import sqlite3
import statistics
import subprocess
import sys
import tempfile
import time
from contextlib import closing
from pathlib import Path
from typing import Any

from dev_data import merge_homes, unpack
from lifelike import generate
from process_tree import adopt_orphans, snapshot

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from memory_assets.models import Record
from memory_assets.paths import Roots
from memory_assets.transcripts import discover, read_session, reader_of
from memory_assets_tests.transcripts.agent_databases import T0, Goose, OpenCode, insert
from memory_assets_tests.transcripts.agent_homes import furnish

MEMORY = Path(sys.executable).with_name("memory")


def main() -> None:
    """Run the benchmark."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--keep", type=Path, help="leave the memory in this directory")
    parser.add_argument("--agents", action="store_true", help="compare databases with lines")
    arguments = parser.parse_args()
    if arguments.agents:
        compare_agents()
        return
    with tempfile.TemporaryDirectory() as scratch_name:
        scratch = Path(scratch_name)
        roots = merge_homes(unpack("transcripts.tar.xz", scratch / "raw"), scratch / "roots")
        home = scratch / "home"
        home.mkdir()
        environment = {
            **os.environ,
            **roots,
            "HOME": str(home),
            "MEMORY_DATA_DIR": str(arguments.keep or scratch / "memory"),
        }
        source_bytes = sum(
            path.stat().st_size for root in roots.values() for path in Path(root).rglob("*.jsonl")
        )
        cold = run(environment)
        again = run(environment)
    report(cold, again, source_bytes)


def run(environment: dict[str, str]) -> dict[str, Any]:
    """Run `memory ingest --json` and return its report with wall seconds, and CPU seconds of all
    processes, those included that outlive it for a moment or stay as a server."""
    adopt_orphans()
    before = snapshot()
    start = time.perf_counter()
    done = subprocess.run(
        [MEMORY, "ingest", "--json"], env=environment, stdout=subprocess.PIPE, check=False
    )
    wall = time.perf_counter() - start
    after = snapshot()
    result: dict[str, Any] = json.loads(done.stdout)
    result["exit_code"] = done.returncode
    result["wall"] = wall
    result["cpu"] = after.total - before.total
    result["peak_mb"] = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1024
    return result


def compare_agents(megabytes: float = 12.0, count: int = 20, times: int = 3) -> None:
    """Print what an ingest of databases and of lines took, and one with nothing changed."""
    with tempfile.TemporaryDirectory() as scratch_name:
        scratch = Path(scratch_name)
        lines, stores, beside = (scratch / name for name in ("lines", "databases", "all-agents"))
        generate(scratch / "raw", 7, int(megabytes * 1e6), count, 4)
        furnish(beside)
        for folder in (scratch / "raw").iterdir():
            for home in (lines, beside):
                shutil.copytree(folder, home / f".{folder.name}", dirs_exist_ok=True)
        read_lines = measured({agent: (lines / path,) for agent, path in _LINES.items()})
        poured = pour(lines, stores / ".local" / "share")
        print("| what | MB read | MB of text | CPU s | a MB of text | nothing changed, CPU s |")
        print("|---|---|---|---|---|---|")
        for home, read, text in ((lines, *read_lines), (stores, *poured), (beside, 0, 0)):
            unset = {"MEMORY_PROJECTS_DIR", "MEMORY_CODEX_DIR", "MEMORY_PI_DIR", "XDG_DATA_HOME"}
            environment = {name: value for name, value in os.environ.items() if name not in unset}
            environment |= {"HOME": str(home), "MEMORY_EMBEDDER": "none"}
            environment |= {"MEMORY_DATA_DIR": str(scratch / f"memory-{home.name}")}
            cold = run(environment)
            again = statistics.median(run(environment)["cpu"] for _ in range(times))
            took = f"{read / 1e6:.1f} | {text / 1e6:.1f} | {cold['cpu']:.1f} | "
            took += f"{cold['cpu'] / text * 1e6:.2f}" if text else ""
            print(f"| {home.name} | {took} | {again:.2f} |")
            print(f"{cold['failed'] or ''}{cold['checks_failed'] or ''}", end="")


_LINES = {"claude-code": ".claude/projects", "codex": ".codex", "pi": ".pi"}


def measured(roots: Roots) -> tuple[int, int]:
    """Return bytes of the lines of all sessions, and of the text of their records."""
    read = text = 0
    for source in discover(roots):
        read += sum(content.size for content in reader_of(source).contents(source))
        text += sum(len(each.text.encode()) for each in read_session(source.path, source=source))
    return read, text


def pour(home: Path, share: Path) -> tuple[int, int]:
    """Write the sessions of three agents into databases of OpenCode and Goose, by turns; return
    what `measured` does of those."""
    lines = {agent: (home / folder,) for agent, folder in _LINES.items()}
    opencode, goose = OpenCode(share / "opencode"), Goose(share / "goose" / "sessions")
    for store in (opencode, goose):
        store.delete()
    for place, source in enumerate(discover(lines)):
        store = (opencode, goose)[place % 2]
        session = f"ses_{source.session_id}" if store is opencode else f"20260601_{place}"
        named = "directory" if store is opencode else "working_dir"
        with closing(store.open()) as database:
            store.add_session(database, session, **{named: source.directory})
            calls: dict[str, Record] = {}
            for at, record in enumerate(read_session(source.path, source=source)):
                if record.kind == "tool_use":
                    calls[record.tool_use_id] = record
                call = calls.get(record.tool_use_id, record)
                write = _into_opencode if store is opencode else _into_goose
                write(store, database, session, T0 + at * 1000, record, call)
            database.commit()
    return measured({"opencode": (opencode.root,), "goose": (goose.root,)})


def _into_opencode(
    store: Any, database: sqlite3.Connection, session: str, at: int, record: Record, call: Record
) -> None:
    if record.kind == "tool_use":
        return  # in the part of its result
    own, times = f"msg_{session}_{record.seq:06}", {"created": at, "completed": at}
    role = {"role": "user" if record.kind == "prompt" else "assistant", "time": times}
    part: dict[str, Any] = {"type": "text", "text": record.text}
    if record.kind == "tool_result":
        state = {"status": "completed", "input": _given(call), "output": record.text}
        part = {"type": "tool", "tool": call.tool_name, "callID": call.tool_use_id, "state": state}
    store.add_message(database, session, own, at, {**role, "modelID": "m-1"}, part)


def _given(call: Record) -> dict[str, str]:
    return {"command": call.command} if call.command else {"input": call.text}


def _into_goose(
    store: Any, database: sqlite3.Connection, session: str, at: int, record: Record, call: Record
) -> None:
    block: dict[str, Any] = {"type": "text", "text": record.text}
    if record.kind == "tool_use":
        value = {"name": record.tool_name, "arguments": _given(call)}
        block = {"type": "toolRequest", "id": record.tool_use_id}
        block |= {"toolCall": {"status": "success", "value": value}}
    elif record.kind == "tool_result":
        content = {"content": [{"type": "text", "text": record.text}]}
        result = {"status": "success", "value": content}
        block = {"type": "toolResponse", "id": record.tool_use_id, "toolResult": result}
    role = "user" if record.kind in ("prompt", "tool_result") else "assistant"
    values = {"message_id": f"msg_{session}_{record.seq:06}", "session_id": session, "role": role}
    times = {"created_timestamp": at // 1000}
    insert(database, "messages", **values, **times, content_json=[block])


def report(cold: dict[str, Any], again: dict[str, Any], source_bytes: int) -> None:
    """Print the figures as Markdown tables."""
    status = cold["status"]
    stages, agents = status["stages"], status["agents"]
    print("| | " + " | ".join(agents) + " | all |")
    print("|---" * (len(agents) + 2) + "|")
    for name in ("sessions", "files", "prompts", "bad_lines"):
        counts = [int(agent[name] or 0) for agent in agents.values()]
        print(f"| {name} | " + " | ".join(map(str, counts)) + f" | {sum(counts)} |")
    print(f"\n| | rows |\n|---|---|\n| turns | {stages['turn_chunks']['turns']} |")
    for stage in ("redacted_records", "turn_chunks", "user_prompts", "session_summaries"):
        print(f"| {stage} | {stages[stage]['rows']} |")
    print(f"| redactions | {stages['redacted_records']['redactions']} |")
    print(f"| sessions held back | {len(status['quarantined'])} |")
    print("\n| step | seconds |\n|---|---|")
    for step, seconds in sorted(cold["step_seconds"].items(), key=lambda item: -item[1]):
        print(f"| {step} | {seconds:.1f} |")
    megabytes = source_bytes / 1e6
    print("\n| run | exit | wall s | CPU s | MB/s | peak MB |\n|---|---|---|---|---|---|")
    for name, result in (("cold", cold), ("nothing changed", again)):
        print(
            f"| {name} ({megabytes:.0f} MB) | {result['exit_code']} | {result['wall']:.1f} | "
            f"{result['cpu']:.1f} | {megabytes / result['wall']:.2f} | {result['peak_mb']:.0f} |"
        )
    print(
        f"\nlake {status['lake_bytes'] / 1e6:.1f} MB, Chroma "
        f"{status['chroma']['bytes'] / 1e6:.1f} MB; failed: {cold['failed'] or 'none'}; "
        f"checks not passed: {cold['checks_failed'] or 'none'}; warnings: "
        f"{cold['warnings'] or 'none'}"
    )


if __name__ == "__main__":
    main()
