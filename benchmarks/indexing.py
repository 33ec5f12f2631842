"""What it costs to index a workspace: of a repository, or of a branch that is switched to and back.

    python -m benchmarks.indexing [--files 2000]     a generated Git repository with two branches
    python -m benchmarks.indexing DIRECTORY          a real one, at first and with nothing changed
                                  [--data DIR]       where to keep the memory

Runs `memory index` in processes of its own and prints, for each step, the texts that were embedded,
the vectors that were known, and the seconds: of the clock, and of CPU in all processes, which other
programs change less. Branches differ in every file. A branch that was indexed before embeds
nothing, or this exits with 1.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import subprocess
import tempfile
import time
from pathlib import Path

from benchmarks.process_tree import adopt_orphans, snapshot
from memory_assets.cli.installing.other_programs import memory_program
from memory_assets.stores.chroma import server as chroma_server

_WORDS = ("gate", "tide", "lamp", "crane", "buoy", "quay", "pilot", "order", "queue", "ledger")
_OTHER = "other"


def main() -> None:
    """Print a line of a table for each step."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("directory", type=Path, nargs="?")
    parser.add_argument("--files", type=int, default=2_000)
    parser.add_argument("--data", type=Path)
    options = parser.parse_args()
    adopt_orphans()
    print("| | documents | chunks | embedded | reused | s | CPU s |\n|---|---|---|---|---|---|---|")
    with tempfile.TemporaryDirectory(prefix="indexing-") as place:
        data_dir = options.data or Path(place) / "memory"
        try:
            if options.directory:
                step("first", options.directory, data_dir)
                step("nothing changed", options.directory, data_dir)
            else:
                switch_and_back(Path(place) / "harbor", options.files, data_dir)
        finally:
            chroma_server.stop(data_dir)


def switch_and_back(root: Path, files: int, data_dir: Path) -> None:
    """Index a generated repository on one branch, on the other, and on both again.

    Raises:
        SystemExit: a text was embedded a second time.
    """
    write_repository(root, files)
    step("first", root, data_dir)
    again = 0
    for branch, known in ((_OTHER, False), ("main", True), (_OTHER, True), ("main", True)):
        _git(root, "switch", "--quiet", branch)
        embedded = step(f"switched to {branch}", root, data_dir)
        again += embedded if known else 0
    step("nothing changed", root, data_dir)
    if again:
        raise SystemExit(f"{again} texts were embedded again")


def write_repository(root: Path, files: int) -> None:
    """Write a Git repository whose branches `main` and `other` differ in every file: of ten, eight
    have another text, one is only in `main`, and one has another name."""
    root.mkdir(parents=True)
    _git(root, "init", "--quiet", "--initial-branch=main")
    for branch in ("main", _OTHER):
        if branch != "main":
            _git(root, "switch", "--quiet", "-c", branch)
        for number in range(files):
            path = root / f"docs/{number % 40:02}/d{number:05}.md"
            path.parent.mkdir(parents=True, exist_ok=True)
            if branch == "main" or number % 10 < 8:
                path.write_text(_text(f"{branch} {number}"))
            elif number % 10 == 8:
                path.unlink()
            else:
                path.rename(path.with_name(f"renamed-{path.name}"))
        _git(root, "add", "--all")
        _git(root, "commit", "--quiet", "-m", branch)
    _git(root, "switch", "--quiet", "main")


def step(name: str, root: Path, data_dir: Path) -> int:
    """Run `memory index`, print what it did, and return the number of texts that were embedded."""
    before, started = snapshot().total, time.perf_counter()
    indexed = subprocess.run(
        [memory_program(), "index", str(root), "--json"],
        env={**os.environ, "MEMORY_DATA_DIR": str(data_dir)},
        stdout=subprocess.PIPE,
    )
    seconds, cpu = time.perf_counter() - started, snapshot().total - before
    (report,) = json.loads(indexed.stdout)["workspaces"]
    done = report["done"]
    embedded = int(done.get("texts_embedded", 0))
    counts = (report["documents"], report["chunks"], embedded, done.get("vectors_reused", 0))
    figures = " | ".join(f"{count:,}" for count in counts)
    print(f"| {name} | {figures} | {seconds:.1f} | {cpu:.1f} |", flush=True)
    return embedded


def _text(seed: str) -> str:
    dice = random.Random(seed)
    parts = (f"## Part {part}\n\n{' '.join(dice.choices(_WORDS, k=60))}.\n" for part in range(2))
    return f"# {seed}\n\n" + "\n".join(parts)


def _git(root: Path, *arguments: str) -> None:
    named = ("-c", "user.name=bench", "-c", "user.email=bench@example.org")
    subprocess.run(["git", "-C", str(root), *named, *arguments], check=True)


if __name__ == "__main__":
    main()
