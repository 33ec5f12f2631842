"""Every kind of failing call in every store, while a memory is written; then one clean run.

    python benchmarks/fault_sweep.py [--rounds 4] [--deeds ingest,turn,...] [--stores chroma,...]

Of each deed (a first ingest, one more turn, forget, retain, index, remember) the writes, fsyncs,
renames and opens on the files of each store are counted. Then each of these calls that a round
chooses, spread evenly, fails once in a copy of the memory, with the errors in turn; where that
was told, the deed is done once more without a fault, and `memory ingest` follows. Rows of all
tables, collections and words must be those of a memory that nothing disturbed, no process and no
temporary file may be left, and no command may hang. Texts are embedded by a hash, and only where
Chroma's files are the matter.
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
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import IO, Any

from benchmarks import crash_child
from benchmarks.crash_world import ROOT, World, differences, rows_of
from benchmarks.failing_calls import CALLS, ERRORS, STORES, FailingCalls, Fault

_LONGEST = 100.0
"""Seconds after which a command counts as one that hangs; the longest wait within is 30 s."""
_TIME = re.compile(r"datetime\.datetime\([^()]*(?:\([^()]*\))?[^()]*\)|\d{4}-\d\d-\d\dT[\d:.+Z]*")
_TEMPORARY = ("*.tmp", "*.staging", "*.partial", "*.replaced", "*.anew", "*.recovered")
_FORGOTTEN_BEFORE = 3
"""Exit code of `memory forget` where nothing fits any more."""


@dataclass(frozen=True)
class Deed:
    """A command, what it begins with (an empty memory, or a finished one), and what it says the
    second time."""

    arguments: tuple[str, ...]
    from_empty: bool = False
    fine: tuple[int, ...] = (0,)


DEEDS = {
    "ingest": Deed(("ingest",), from_empty=True),
    "turn": Deed(("ingest",)),
    "forget": Deed(("forget", "--before", "2025-09-01", "--yes"), fine=(0, _FORGOTTEN_BEFORE)),
    "retain": Deed(("retain",)),
    "index": Deed(("index", "WORKSPACE")),
    "remember": Deed(("remember", "The pier's broker is RabbitMQ.", "--confidence", "0.9")),
}


class Runner:
    """A process under the library that has imported everything, and forks for each command."""

    def __init__(self, failing: FailingCalls, directory: Path) -> None:
        self._said = directory / "said.txt"
        self._process = subprocess.Popen(
            [sys.executable, "-m", "benchmarks.fault_sweep", "--serve"],
            env={**os.environ, **failing.environment, "PYTHONPATH": str(ROOT)},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def run(self, environment: Mapping[str, str], arguments: Sequence[str]) -> tuple[int, str]:
        """Run a `memory` command; return its exit code (-9: it was ended, as it hung) and what it
        said."""
        asked = {"environment": environment, "arguments": arguments, "said": str(self._said)}
        assert self._process.stdin and self._process.stdout
        self._process.stdin.write(json.dumps(asked) + "\n")
        self._process.stdin.flush()
        code = int(self._process.stdout.readline())
        return code, self._said.read_text("utf-8", "replace")

    def close(self) -> None:
        """End it."""
        self._process.communicate()


def serve(orders: Iterable[str], answers: IO[str]) -> None:
    """Fork a process for each command that is asked for, and answer with its exit code."""
    crash_child.use_hash_embedder()
    from memory_assets.cli import cli, start  # noqa: F401
    from memory_assets.cli.ingesting import index_runs, ingest, ingest_command  # noqa: F401
    from memory_assets.pipeline.removal import forget, retention  # noqa: F401

    for line in orders:
        asked = json.loads(line)
        process = os.fork()
        if not process:
            _become(asked)
        answers.write(f"{_exit_code(process)}\n")
        answers.flush()


def _become(asked: Mapping[str, Any]) -> None:
    """Be a command, and end."""
    code = 1
    try:
        os.environ.update(asked["environment"])
        out = os.open(asked["said"], os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
        null = os.open(os.devnull, os.O_RDONLY)
        for target, source in ((0, null), (1, out), (2, out)):
            os.dup2(source, target)
        sys.argv = ["memory", *asked["arguments"]]
        from memory_assets.cli import start

        start.main()
        code = 0
    except SystemExit as ended:
        code = int(str(ended.code or 0))
    except BaseException:  # noqa: BLE001 - told, with a traceback, as the interpreter does
        import traceback

        traceback.print_exc()
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)


def _exit_code(process: int) -> int:
    deadline = time.monotonic() + _LONGEST
    while time.monotonic() < deadline:
        ended, status = os.waitpid(process, os.WNOHANG)
        if ended:
            return os.waitstatus_to_exitcode(status)
        time.sleep(0.01)
    os.kill(process, signal.SIGKILL)
    return os.waitstatus_to_exitcode(os.waitpid(process, 0)[1])


@dataclass
class Sweep:
    """Where transcripts and memories are, and what has come of the faults so far."""

    directory: Path
    outcomes: Counter[tuple[str, str, str]] = field(default_factory=Counter)
    """By call, store and outcome."""
    bad: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.failing = FailingCalls(self.directory)
        self.world = World(self.directory, 7, 60_000, projects=2)
        self.world.take_home()
        for name, share in (("before", 0.6), ("after", 1.0)):
            self.world.write_transcripts(self.directory / name, share)
            _make_old(self.directory / name)
        workspace = self.directory / "workspace"
        workspace.mkdir()
        for name in ("glossary.md", "limits.md"):
            shutil.copy(ROOT / "docs" / name, workspace)
        self.runner = Runner(self.failing, self.directory)

    def environment(self, data_dir: Path, store: str, *, before: bool = False) -> dict[str, str]:
        """What a command on a memory sees; texts are embedded for Chroma's sake alone."""
        transcripts = self.directory / ("before" if before else "after")
        given = self.world.environment(data_dir, transcripts)
        made = {name: given[name] for name in given if name.startswith(("MEMORY_", "HOME", "XDG"))}
        return {
            **made,
            "MEMORY_RETENTION": "300d",
            "MEMORY_EMBEDDER": "local" if store == "chroma" else "none",
        }

    @cached_property
    def references(self) -> dict[tuple[str, bool], dict[str, Any]]:
        """The rows that a deed ends with where nothing is disturbed, by deed and whether texts are
        embedded."""
        return {}

    def base(self, deed: Deed, store: str) -> Path | None:
        """Return the finished memory that a deed begins with, made once; None for an empty one."""
        if deed.from_empty:
            return None
        base = self.directory / f"base-{store == 'chroma'}"
        if not base.exists():
            self._do(self.environment(base, store, before=True), ("ingest",), (0,))
            _stop(base)
        return base

    def copy(self, deed: Deed, store: str) -> Path:
        """Return a new memory to do a deed in."""
        target = self.directory / "memory"
        shutil.rmtree(target, ignore_errors=True)
        if (base := self.base(deed, store)) is not None:
            shutil.copytree(base, target)
        return target

    def calls(self, name: str, store: str) -> Counter[tuple[str, str]]:
        """Do a deed undisturbed, note its rows, and return how many calls it makes, by kind and
        store."""
        deed = DEEDS[name]
        data_dir = self.copy(deed, store)
        environment = self.environment(data_dir, store)
        self.failing.list_calls(data_dir)
        self._do(environment, self.arguments(deed), deed.fine)
        self.failing.disarm()
        self._do(environment, ("ingest",), (0,))
        self.references[name, store == "chroma"] = self.rows(data_dir, store)
        _stop(data_dir)
        return self.failing.listed()

    def arguments(self, deed: Deed) -> tuple[str, ...]:
        """Return the arguments of a deed."""
        workspace = str(self.directory / "workspace")
        return tuple(workspace if each == "WORKSPACE" else each for each in deed.arguments)

    def round(self, name: str, fault: Fault) -> str:
        """Do a deed with a fault, then once more without, and return what is wrong after that, or
        ""."""
        deed = DEEDS[name]
        data_dir = self.copy(deed, fault.store)
        environment = self.environment(data_dir, fault.store)
        self.failing.arm(data_dir, fault)
        began = time.monotonic()
        code, said = self.runner.run(environment, self.arguments(deed))
        path, took = self.failing.disarm(), time.monotonic() - began
        outcome = "not reached" if not path else "gone unnoticed" if code == 0 else "told"
        wrong = list(_wrong_saying(code, said))
        repeated = () if code in deed.fine else ((self.arguments(deed), deed.fine),)
        for again, fine in (*repeated, (("ingest",), (0,))):
            code, said = self.runner.run(environment, again)
            if code not in fine:
                wrong.append(f"{again[0]} again ended with {code}: {said[-600:]}")
                break
        else:
            wanted = self.references[name, fault.store == "chroma"]
            against = differences(wanted, self.rows(data_dir, fault.store))
            wrong += [f"{len(keys)} {kind}: {keys[:3]}" for kind, keys in against.items() if keys]
        _stop(data_dir)
        wrong += [f"left: {each}" for each in left_over(data_dir)]
        self.outcomes[fault.call, fault.store, "not equal" if wrong else outcome] += 1
        if wrong:
            self.bad.append(f"{name}, {fault} ({path}, {took:.0f} s): {'; '.join(wrong)}")
        return "; ".join(wrong)

    def rows(self, data_dir: Path, store: str) -> dict[str, Any]:
        """Return the rows of tables, collections, words and of what agents wrote."""
        from memory_assets.errors import NotFound
        from memory_assets.pipeline.stage.components import Components
        from memory_assets.recall import open_memory
        from memory_assets.settings import load_settings

        embedder = self.environment(data_dir, store)["MEMORY_EMBEDDER"]
        settings = load_settings(data_dir=data_dir, chroma_idle_seconds=60, embedder=embedder)
        components = Components(settings)
        state = rows_of(components)
        memory = open_memory(settings)
        for kind in ("sessions", "prompts", "summaries", "workspace", "memory"):
            for query in ("the", "broker", "ledger queue", "glossary limits"):
                try:
                    hits = memory.search(query, kinds=(kind,), mode="keyword", n=20).hits
                    state[f"search/{kind}/{query}"] = [hit.id for hit in hits]
                except NotFound as nothing:  # no workspace is indexed, nothing is remembered
                    state[f"search/{kind}/{query}"] = str(nothing)
        for each in components.journal.memories():
            state[f"journal/{each.memory_id}"] = each.text
        components.catalog.close()
        components.journal.close()
        return {key: _timeless(key, value) for key, value in state.items()}

    def close(self) -> None:
        """End what was started."""
        self.runner.close()
        for path in self.directory.glob("*/chroma"):
            _stop(path.parent)

    def _do(
        self, environment: Mapping[str, str], arguments: Sequence[str], fine: Sequence[int]
    ) -> None:
        code, said = self.runner.run(environment, arguments)
        if code not in fine:
            raise SystemExit(f"what was not disturbed failed ({code}): {said[-1000:]}")


def _timeless(key: str, row: Any) -> Any:
    """Return a row of what agents wrote without the times at which they did."""
    return _TIME.sub("", row) if key.startswith(("agent_memory/", "memory_trail/")) else row


def _make_old(directory: Path) -> None:
    """Let two of three sessions be a year older."""
    for number, path in enumerate(sorted(directory.rglob("*.jsonl"))):
        if number % 3:
            path.write_text(path.read_text().replace('"2026-0', '"2025-0'))


def _wrong_saying(code: int, said: str) -> Iterator[str]:
    """Yield what is wrong with what a command says that met a fault."""
    if code == -signal.SIGKILL:
        yield f"hung for {_LONGEST:.0f} s"
    if "Traceback" in said:
        yield f"a traceback: {said[-600:]}"


def _stop(data_dir: Path) -> None:
    from memory_assets.stores.chroma import server as chroma_server

    chroma_server.stop(data_dir)


def left_over(data_dir: Path) -> list[str]:
    """Return temporary files of a memory that nobody uses, and processes that do."""
    from memory_assets.stores.chroma import server as chroma_server
    from memory_assets.stores.files.shared import is_locked

    left = [str(path) for name in _TEMPORARY for path in data_dir.rglob(name)]
    if is_locked(data_dir / chroma_server.LOCK):
        left.append("Chroma's server")
    return left


def places(calls: int, rounds: int) -> list[int]:
    """Return `rounds` numbers of calls, from the first to the last, spread evenly."""
    if calls <= rounds:
        return list(range(1, calls + 1))
    if rounds == 1:
        return [calls // 2]
    return sorted({1 + round(at * (calls - 1) / (rounds - 1)) for at in range(rounds)})


def faults(calls: Counter[tuple[str, str]], store: str, rounds: int) -> Iterator[Fault]:
    """Yield the faults of the calls on a store, with the errors in turn."""
    errors = sorted(ERRORS)
    at = sum(map(ord, store))
    for call in CALLS:
        for nth in places(calls[call, store], rounds):
            yield Fault(call, store, nth, errors[at % len(errors)])
            at += 1


def main() -> None:
    """Sweep, print what is not as it should be, and the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--serve", action="store_true", help=argparse.SUPPRESS)
    parser.add_argument("--rounds", type=int, default=4, help="calls of a kind that fail")
    parser.add_argument("--deeds", default=",".join(DEEDS))
    parser.add_argument("--stores", default=",".join(STORES))
    parser.add_argument("--seconds", type=float, default=1e9, help="begin no fault after that")
    given = parser.parse_args()
    if given.serve:
        serve(sys.stdin, sys.stdout)
        return
    until = time.monotonic() + given.seconds
    with tempfile.TemporaryDirectory(prefix="faults-") as directory:
        sweep = Sweep(Path(directory))
        try:
            for name in given.deeds.split(","):
                _sweep_deed(sweep, name, given.stores.split(","), given.rounds, until)
        finally:
            sweep.close()
            print_table(sweep)
    sys.exit(bool(sweep.bad))


def _sweep_deed(sweep: Sweep, name: str, stores: Sequence[str], rounds: int, until: float) -> None:
    counted: dict[bool, Counter[tuple[str, str]]] = {}
    for store in stores:
        embeds = store == "chroma"
        if embeds not in counted:
            counted[embeds] = sweep.calls(name, store)
        for fault in faults(counted[embeds], store, rounds):
            if time.monotonic() > until:
                return
            began = time.monotonic()
            wrong = sweep.round(name, fault)
            print(f"{name}: {fault}: {wrong or 'equal'} ({time.monotonic() - began:.1f} s)",
                  flush=True)  # fmt: skip


def print_table(sweep: Sweep) -> None:
    """Print the outcomes, by call and store."""
    for call, store in sorted({(call, store) for call, store, _ in sweep.outcomes}):
        counts = [
            f"{count} {outcome}"
            for (*where, outcome), count in sorted(sweep.outcomes.items())
            if where == [call, store]
        ]
        print(f"{call:7} {store:16} {', '.join(counts)}")
    print(f"{sweep.outcomes.total()} faults, {len(sweep.bad)} not equal after one clean run")
    for line in sweep.bad:
        print(line)


if __name__ == "__main__":
    main()
