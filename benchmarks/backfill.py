"""A backfill of many projects by `memory dev`, in one run that does the work.

    python benchmarks/backfill.py [--projects 50] [--megabytes 10] [--embed] [--dir DIR]

Generates lifelike transcripts, makes a partition of each project, and launches the backfill
that the page's button sends: all assets of all these partitions. The sensor is stopped. While
the daemon works, the runs under way are counted. Then the same backfill is launched again, and
the CPU seconds of all processes are counted until it is done, less what they use while idle. At
the end both runs succeeded, nothing is left to do, every check of `memory verify` holds, and every
turn in the files is found; else the exit code is 1.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections import Counter
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))
BIN = Path(sys.executable).parent
WORKSPACE = str(ROOT / "workspace.yaml")
LAUNCH = """mutation($params: LaunchBackfillParams!) {
  launchPartitionBackfill(backfillParams: $params) {
  __typename ... on LaunchBackfillSuccess { backfillId } ... on PythonError { message } } }"""
PATIENCE_SECONDS = 3 * 3600.0
_REST_SECONDS = 60.0
"""How long all processes are left alone, and then watched while idle."""


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
        log = root / "dev.log"
        with log.open("wb") as output:
            dev = subprocess.Popen([BIN / "memory", "dev", "--port", "0"], stdout=output)
        try:
            while not (said := re.search(r"Dagster is at (\S+)", log.read_text())):
                time.sleep(0.5)
            assets = [{"path": list(spec.key.path)} for asset in ASSETS for spec in asset.specs]
            button = {"assetSelection": assets, "partitionNames": names}
            started = time.monotonic()
            most, statuses = _watched(instance, _launch(said[1], button), dev.pid)
            seconds = time.monotonic() - started
            time.sleep(_REST_SECONDS)
            before = process_tree.snapshot()
            time.sleep(_REST_SECONDS)
            idle = (process_tree.snapshot().total - before.total) / _REST_SECONDS
            before, again = process_tree.snapshot(), time.monotonic()
            statuses += _watched(instance, _launch(said[1], button), dev.pid)[1]
            spent = process_tree.snapshot().total - before.total
            spent -= idle * (time.monotonic() - again)
        finally:
            dev.send_signal(signal.SIGINT)
            dev.wait(60)
    allowed = 2  # dagster.yaml: concurrency.runs.max_concurrent_runs
    print(
        f"{len(names)} projects, {size / 1e6:.0f} MB, vectors: {options.embed}: {seconds:.0f} s, "
        f"at most {most} runs under way (of {allowed} allowed); runs: {dict(statuses)}"
    )
    components = Components(settings)
    stages = [components.catalog.products.of_stage(name) for name in STEPS]
    workers = {made.run_id for stage in stages for made in stage.values()}
    print(f"the same backfill again, nothing changed: {spent:.1f} CPU s")
    print(f"{len(workers)} of the runs made the partitions of all")
    clean = _reconciled(components, names)
    chroma_server.stop(settings.data_dir)
    return clean and most <= allowed and statuses == Counter(SUCCESS=2)


def _dagster(*arguments: str) -> None:
    subprocess.run([BIN / "dagster", *arguments], check=True, capture_output=True)


def _launch(url: str, params: dict[str, Any]) -> str:
    request = urllib.request.Request(
        f"{url}/graphql",
        json.dumps({"query": LAUNCH, "variables": {"params": params}}).encode(),
        {"Content-Type": "application/json"},
    )
    with urllib.request.urlopen(request) as response:
        launched = json.load(response)["data"]["launchPartitionBackfill"]
    if launched["__typename"] != "LaunchBackfillSuccess":
        sys.exit(f"the backfill was not launched: {launched}")
    return str(launched["backfillId"])


def _watched(instance: object, backfill: str, pid: int) -> tuple[int, Counter[str]]:
    """Wait until the backfill has ended. Return the most runs that were under way at once, and how
    the runs ended."""
    import dagster as dg

    assert isinstance(instance, dg.DagsterInstance)
    most, deadline = 0, time.monotonic() + PATIENCE_SECONDS
    while time.monotonic() < deadline:
        runs = instance.get_runs(dg.RunsFilter(tags={"dagster/backfill": backfill}))
        statuses = Counter(run.status.value for run in runs)
        most = max(most, statuses["STARTED"] + statuses["STARTING"])
        made = instance.get_backfill(backfill)
        if made is not None and made.status.value.startswith("COMPLETED"):
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
