"""How long after a save a workspace answers with it: `memory index --watch` as users run it.

`python -m benchmarks.save_to_hit [--documents 500] [--saves 50] [--branch 1500]` writes a
workspace, follows it in a process of its own, changes one document after the other, and searches in
this process until the new words are found. Saves are a second apart; the watcher embeds meanwhile.
`--branch N`: then Git switches to a branch on which N documents differ, with ignore rules in each
directory, and documents that are saved in the ten seconds after it are searched for. CPU is the
watcher's.
"""

from __future__ import annotations

import argparse
import os
import random
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from memory_assets.errors import MemoryAssetsError
from memory_assets.recall.memory import Memory
from memory_assets.settings import load_settings
from memory_assets.stores.under_way import WORKSPACES, present_watcher

_WORDS = ("gate", "tide", "lamp", "crane", "buoy", "quay", "pilot", "order", "queue", "ledger")
_PATIENCE_SECONDS = 300.0
_AFTER_A_SWITCH_SECONDS = 10.0


def _text(dice: random.Random, mark: str) -> str:
    sections = (
        f"## Part {number}\n\n{' '.join(dice.choices(_WORDS, k=80))}.\n" for number in range(4)
    )
    return f"# Document\n\nIt says {mark}.\n\n" + "\n".join(sections)


def _seconds_until(memory: Memory, query: str, path: str) -> float:
    started = time.perf_counter()
    while time.perf_counter() - started < _PATIENCE_SECONDS:
        try:
            hits = memory.search(query, kinds=("workspace",), mode="keyword", n=1).hits
        except MemoryAssetsError:
            hits = ()
        if hits and hits[0].metadata["file_path"] == path and query in hits[0].text:
            return time.perf_counter() - started
        time.sleep(0.01)
    raise SystemExit(f"{path} was not found after {_PATIENCE_SECONDS:.0f} s")


def _git(root: Path, *words: str) -> None:
    identity = ("-c", "user.name=a", "-c", "user.email=a@example.org")
    subprocess.run(["git", "-C", str(root), *identity, *words], check=True, capture_output=True)


def _cpu_seconds(process: int) -> float:
    """Return the CPU seconds of a process and of its children that have ended (Linux)."""
    fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    return sum(map(int, fields[11:15])) / os.sysconf("SC_CLK_TCK")


def _write(root: Path, paths: list[str], dice: random.Random, mark: str) -> None:
    for number, path in enumerate(paths):
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_text(_text(dice, f"{mark}{number}"))


def _two_branches(root: Path, paths: list[str], differing: list[str], dice: random.Random) -> None:
    """Commit the documents on one branch and again, with other words, on a second one."""
    for directory in {(root / path).parent for path in paths}:
        (directory / ".gitignore").write_text("*.log\nbuild/\n!keep.log\n*.[0-9]\n")
    _git(root, "init", "--quiet", "--initial-branch", "first")
    _git(root, "add", "--all")
    _git(root, "commit", "--quiet", "--message", "first")
    _git(root, "checkout", "--quiet", "-b", "second")
    _write(root, differing, dice, "otherword")
    _git(root, "commit", "--quiet", "--all", "--message", "second")
    _git(root, "checkout", "--quiet", "first")


def _switch(root: Path, memory: Memory, paths: list[str], watcher: int) -> None:
    """Print how soon documents are found that are saved in the ten seconds after a switch of
    branch, the first after one second."""
    spent, began = _cpu_seconds(watcher), time.perf_counter()
    _git(root, "checkout", "--quiet", "--force", "second")
    taken: list[float] = []
    for path in reversed(paths):
        time.sleep(1.0)
        if taken and time.perf_counter() - began > _AFTER_A_SWITCH_SECONDS:
            break
        mark = f"switchedword{len(taken)}"
        (root / path).write_text(f"# Document\n\nIt says {mark}.\n")
        taken.append(_seconds_until(memory, mark, path))
    spent = _cpu_seconds(watcher) - spent
    told = ", ".join(f"{seconds:.1f}" for seconds in taken)
    print(f"saved within 10 s after a switch of branch: found after {told} s, {spent:.1f} CPU s")


def main() -> None:
    """Print median and 95th percentile of the seconds from save to hit."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--documents", type=int, default=500)
    parser.add_argument("--saves", type=int, default=50)
    parser.add_argument("--branch", type=int, default=0, metavar="N")
    options = parser.parse_args()
    dice = random.Random(7)
    with tempfile.TemporaryDirectory(prefix="save-to-hit-") as place:
        root, data_dir = Path(place) / "harbor", Path(place) / "memory"
        paths = [f"docs/{number % 20}/d{number:04}.md" for number in range(options.documents)]
        _write(root, paths, dice, "firstword")
        if options.branch:
            _two_branches(root, paths, paths[: options.branch], dice)
        settings = load_settings(data_dir=data_dir)
        environment = {**os.environ, "MEMORY_DATA_DIR": str(data_dir)}
        script = Path(sys.executable).with_name("memory")
        watcher = subprocess.Popen(
            [script, "index", str(root), "--watch"], env=environment, stdout=subprocess.DEVNULL
        )
        try:
            memory = Memory(settings)
            last = f"firstword{len(paths) - 1}"
            print(f"first words after {_seconds_until(memory, last, paths[-1]):.1f} s")
            while (state := present_watcher(data_dir, WORKSPACES)) is None or not state.runs:
                time.sleep(0.1)  # until all is embedded
            taken: list[float] = []
            spent = _cpu_seconds(watcher.pid)
            for number in range(options.saves):
                path, mark = dice.choice(paths), f"savedword{number}"
                time.sleep(1.0)  # as an editor: not one save on the heels of the other
                (root / path).write_text(_text(dice, mark))
                taken.append(_seconds_until(memory, mark, path))
            spent = _cpu_seconds(watcher.pid) - spent
            if options.branch:
                _switch(root, memory, paths, watcher.pid)
        finally:
            watcher.terminate()
            watcher.wait()
    if not taken:
        return
    print(f"{spent / len(taken):.2f} CPU s a save, with embedding")
    taken.sort()
    high = taken[int(0.95 * (len(taken) - 1))]
    print(
        f"{len(taken)} saves among {len(paths)} documents: "
        f"median {statistics.median(taken):.2f} s, 95th percentile {high:.2f} s, "
        f"longest {taken[-1]:.2f} s"
    )


if __name__ == "__main__":
    main()
