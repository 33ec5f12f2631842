"""A backfill of many projects by the real daemon, in one run that does the work.

    python benchmarks/backfill.py [--projects 50] [--megabytes 10] [--embed] [--dir DIR]

Generates lifelike transcripts, makes a partition of each project, and launches the backfill
that the page's button sends: all assets of all these partitions. The sensor is stopped. While
Dagster's daemon works, the runs under way are counted. Then the same backfill is launched
again, and its CPU seconds are counted. At the end both runs succeeded, nothing is left to do,
every check of `memory verify` holds, and every turn in the files is found; else the exit code is 1.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))
BIN = Path(sys.executable).parent
WORKSPACE = str(ROOT / "workspace.yaml")
LAUNCH = """mutation($params: LaunchBackfillParams!) {
  launchPartitionBackfill(backfillParams: $params) {
  __typename ... on LaunchBackfillSuccess { backfillId } ... on PythonError { message } } }"""
ENDED = {"SUCCESS", "FAILURE", "CANCELED"}
PATIENCE_SECONDS = 3 * 3600.0


def main() -> None:
    """Run the backfill and say what came of it."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--projects", type=int, default=50)
    parser.add_argument("--megabytes", type=float, default=10.0)
    parser.add_argument("--sessions", type=int, default=200)
    parser.add_argument("--embed", action="store_true", help="make vectors, too")
    parser.add_argument("--dir", type=Path, help="work here, and leave everything")
    options = parser.parse_args()
    root = options.dir or Path(tempfile.mkdtemp(prefix="backfill-"))
    try:
        sys.exit(0 if _measured(root, options) else 1)
    finally:
        if options.dir is None:
            shutil.rmtree(root, ignore_errors=True)


def _measured(root: Path, options: argparse.Namespace) -> bool:
    from benchmarks import lifelike, process_tree

    process_tree.adopt_orphans()
    size = int(options.megabytes * 1e6)
    lifelike.generate(root / "home", 1, size, options.sessions, options.projects)
    os.environ.update(
        HOME=str(root / "home"),
        MEMORY_DATA_DIR=str(root / "data"),
        MEMORY_PROJECTS_DIR=str(root / "home" / "claude" / "projects"),
        MEMORY_CODEX_DIR=str(root / "home" / "codex"),
        MEMORY_PI_DIR=str(root / "home" / "pi"),
        PYTHONPATH=str(ROOT),
        **({} if options.embed else {"MEMORY_EMBEDDER": "none"}),
    )
    from memory_assets.cli.dagster.home import open_instance
    from memory_assets.dagster.definitions import ASSETS
    from memory_assets.dagster.partitions import add_keys
    from memory_assets.pipeline.ingest.steps import STEPS
    from memory_assets.pipeline.scan import on_disk
    from memory_assets.pipeline.stage.components import Components
    from memory_assets.settings import load_settings
    from memory_assets.stores.chroma import server as chroma_server

    settings = load_settings()
    names = sorted(on_disk.find_sources(Components(settings)))
    os.chdir(ROOT)
    with open_instance(settings) as instance:
        add_keys(instance, names)
        _dagster("sensor", "stop", "projects_directory_sensor", "-w", WORKSPACE)
        daemon = subprocess.Popen(
            [BIN / "dagster-daemon", "run", "-w", WORKSPACE],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
        started = time.monotonic()
        try:
            assets = [{"path": list(spec.key.path)} for asset in ASSETS for spec in asset.specs]
            backfill = _launch({"assetSelection": assets, "partitionNames": names})
            most, statuses = _watched(instance, backfill, 1, daemon.pid)
            seconds = time.monotonic() - started
            again = _launch({"assetSelection": assets, "partitionNames": names})
            before = process_tree.snapshot()
            statuses += _watched(instance, again, 1, daemon.pid)[1]
            spent = process_tree.snapshot().total - before.total
        finally:
            daemon.send_signal(signal.SIGINT)
            daemon.wait(60)
    allowed = 2  # dagster.yaml: concurrency.runs.max_concurrent_runs
    print(
        f"{len(names)} projects, {size / 1e6:.0f} MB, vectors: {options.embed}: {seconds:.0f} s, "
        f"at most {most} runs under way (of {allowed} allowed); runs: {dict(statuses)}"
    )
    components = Components(settings)
    stages = [components.catalog.products.of_stage(name) for name in STEPS]
    workers = {made.run_id for stage in stages for made in stage.values()}
    print(f"the same backfill again, nothing changed: {spent:.1f} CPU s of the daemon and its run")
    print(f"{len(workers)} of the runs made the partitions of all")
    clean = _reconciled(components, names)
    chroma_server.stop(settings.data_dir)
    return clean and most <= allowed and statuses == Counter(SUCCESS=2)


def _dagster(*arguments: str) -> None:
    subprocess.run([BIN / "dagster", *arguments], check=True, capture_output=True)


def _launch(params: dict[str, object]) -> str:
    variables = json.dumps({"params": params})
    arguments = ["-w", WORKSPACE, "-t", LAUNCH, "-v", variables]
    done = subprocess.run(
        [str(BIN / "dagster-graphql"), *arguments], capture_output=True, text=True, check=True
    )
    line = next(line for line in done.stdout.splitlines() if line.startswith('{"data"'))
    launched = json.loads(line)["data"]["launchPartitionBackfill"]
    if launched["__typename"] != "LaunchBackfillSuccess":
        sys.exit(f"the backfill was not launched: {launched}")
    return str(launched["backfillId"])


def _watched(instance: object, backfill: str, wanted: int, pid: int) -> tuple[int, Counter[str]]:
    """Return the most runs that were under way at once, and how the runs ended."""
    import dagster as dg

    assert isinstance(instance, dg.DagsterInstance)
    most, deadline = 0, time.monotonic() + PATIENCE_SECONDS
    while time.monotonic() < deadline:
        runs = instance.get_runs(dg.RunsFilter(tags={"dagster/backfill": backfill}))
        statuses = Counter(run.status.value for run in runs)
        most = max(most, statuses["STARTED"] + statuses["STARTING"])
        if sum(statuses[status] for status in ENDED) >= wanted:
            return most, statuses
        os.kill(pid, 0)
        time.sleep(0.5)
    return most, statuses


def _reconciled(components: object, names: list[str]) -> bool:
    from memory_assets.pipeline.checks.checks import verify_project
    from memory_assets.pipeline.checks.source_turns import count_sources
    from memory_assets.pipeline.plan import plan
    from memory_assets.pipeline.scan import on_disk
    from memory_assets.pipeline.stage.components import Components

    assert isinstance(components, Components)
    left = plan.plan(components, on_disk.find_sources(components))
    failed = [
        f"{made.project}: {made.subject}.{made.name}"
        for name in names
        for made in verify_project(components, name)
        if made.failed
    ]
    count = count_sources(components, names)
    found = {name: (each.at_source, dict(each.found)) for name, each in count.sets.items()}
    print(f"left to do: {len(left)}; checks failed: {failed}; gaps: {len(count.gaps)}; {found}")
    return not left and not failed and count.passed and not count.gaps


if __name__ == "__main__":
    main()
