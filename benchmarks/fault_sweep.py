"""Every kind of failing call in every store, while a memory is written; then one clean run.

    python -m benchmarks.fault_sweep [--values 60] [--operations ingest,turn,...]
        [--stores chroma,...] [--seconds 600] [--results FILE]

Of each operation (a first ingest, one more turn, forget, retain, index, remember) the writes,
fsyncs, renames and opens on the files of each store are counted. Then as many of them as `--values`
says, spread evenly, fail in turn, each in a copy of the memory and with another error; where that
was told, the operation is done once more without a fault, and `memory ingest` follows. Rows of all
tables, collections and words must be those of a memory that nothing disturbed, no process and no
temporary file may be left, and nothing may be waited for longer than 30 s without saying for what.
Texts are embedded by a hash, and only where Chroma's files are the matter. The store `all` is a
disk that is full, or read-only, from some call on until the operation, a search, `status` and
`doctor` have ended.

With `--results`, what came of each fault is appended to a file of JSON lines; a later run takes the
faults that are not in it, and the table is of all of them.
"""

from __future__ import annotations

import argparse
import ctypes
import json
import os
import random
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import cached_property
from pathlib import Path
from typing import IO, Any, TypeVar

from benchmarks import crash_child
from benchmarks.crash_world import ROOT, World, differences, rows_of
from benchmarks.failing_calls import CALLS, CHANGE, ERRORS, STORES, FailingCalls, Fault
from memory_assets.paths import tombstones_copy

T = TypeVar("T")
_UNFORESEEN = "its message is not shown"
_LONGEST = 100.0
"""Seconds after which a command counts as one that hangs."""
_SILENT = 40.0
"""Seconds that a command may take that names nothing it waits for: 30 for the wait, and its own."""
_PR_SET_CHILD_SUBREAPER = 36
"""Of prctl(2): a process becomes the parent of what its children leave behind."""
_TIME = re.compile(r"datetime\.datetime\([^()]*(?:\([^()]*\))?[^()]*\)|\d{4}-\d\d-\d\dT[\d:.+Z]*")
_TEMPORARY = ("*.tmp", "*.staging", "*.partial", "*.replaced", "*.anew", "*.recovered")
ALL = "all"
"""Instead of a store: the disk."""
_LOOKS = (("search", "ledger"), ("status",), ("doctor",))
_FORGOTTEN_BEFORE = 3
"""Exit code of `memory forget` where nothing fits any more."""


@dataclass(frozen=True)
class Operation:
    """A command, what it begins with (an empty memory, or a finished one), and what it says the
    second time."""

    arguments: tuple[str, ...]
    from_empty: bool = False
    fine: tuple[int, ...] = (0,)


OPERATIONS = {
    "ingest": Operation(("ingest",), from_empty=True),
    "turn": Operation(("ingest",)),
    "forget": Operation(("forget", "--before", "2025-09-01", "--yes"), fine=(0, _FORGOTTEN_BEFORE)),
    "retain": Operation(("retain",)),
    "index": Operation(("index", "WORKSPACE")),
    "remember": Operation(("remember", "The pier's broker is RabbitMQ.", "--confidence", "0.9")),
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

    def left(self) -> int:
        """Return how many of the processes that commands started have not ended after 5 s."""
        assert self._process.stdin and self._process.stdout
        self._process.stdin.write("{}\n")
        self._process.stdin.flush()
        return int(self._process.stdout.readline())

    def close(self) -> None:
        """End it."""
        self._process.communicate()


def serve(orders: Iterable[str], answers: IO[str]) -> None:
    """Fork a process for each command that is asked for, and answer with its exit code; where none
    is, with the number of processes that commands left behind."""
    ctypes.CDLL(None).prctl(_PR_SET_CHILD_SUBREAPER, 1)
    crash_child.use_hash_embedder()
    from memory_assets.cli import cli, start  # noqa: F401
    from memory_assets.cli.ingesting import ingest, ingest_command  # noqa: F401
    from memory_assets.pipeline.removal import forget, retention  # noqa: F401

    for line in orders:
        asked = json.loads(line)
        if asked:
            process = os.fork()
            if not process:
                _become(asked)
            answers.write(f"{_exit_code(process)}\n")
        else:
            answers.write(f"{_left_behind()}\n")
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
    deadline = time.monotonic() + _LONGEST * _crowd()
    while time.monotonic() < deadline:
        ended, status = os.waitpid(process, os.WNOHANG)
        if ended:
            return os.waitstatus_to_exitcode(status)
        time.sleep(0.01)
    os.kill(process, signal.SIGKILL)
    return os.waitstatus_to_exitcode(os.waitpid(process, 0)[1])


def _crowd() -> float:
    """Return how many programs share a core of this machine now, at least 1: by so much a command
    may be slower."""
    return max(1.0, os.getloadavg()[0] / (os.cpu_count() or 1))


def _left_behind() -> int:
    deadline = time.monotonic() + 5
    while time.monotonic() < deadline:
        try:
            while os.waitpid(-1, os.WNOHANG)[0]:
                pass
        except ChildProcessError:
            return 0
        time.sleep(0.02)
    return len(Path(f"/proc/self/task/{os.getpid()}/children").read_text().split())


@dataclass
class Result:
    """What came of a fault: it was `told` by an exit code, `unnoticed` or `not reached`; `wrong`
    says what was not as it should be after one clean run. `place` is which of the values it was,
    `path` what it met, `seconds` the time of the disturbed command."""

    operation: str
    store: str
    call: str
    place: int
    error: str
    outcome: str
    wrong: str
    path: str
    seconds: float


@dataclass
class Sweep:
    """Where transcripts and memories are."""

    directory: Path
    seed: int = 7

    def __post_init__(self) -> None:
        self.failing = FailingCalls(self.directory)
        self.world = World(self.directory, self.seed, 60_000, projects=2)
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
        """The rows that an operation ends with where nothing is disturbed, by its name and whether
        texts are embedded."""
        return {}

    def base(self, operation: Operation, store: str) -> Path | None:
        """Return the finished memory that an operation begins with, made once; None for none."""
        if operation.from_empty:
            return None
        base = self.directory / f"base-{store == 'chroma'}"
        if not base.exists():
            self._do(self.environment(base, store, before=True), ("ingest",), (0,))
            stop_server(base)
        return base

    def copy(self, operation: Operation, store: str) -> Path:
        """Return a new memory to do an operation in."""
        target = self.directory / "memory"
        shutil.rmtree(target, ignore_errors=True)
        tombstones_copy(target).unlink(missing_ok=True)  # of the memory that was there
        if (base := self.base(operation, store)) is not None:
            shutil.copytree(base, target)
        return target

    def calls(self, name: str, store: str) -> Counter[tuple[str, str]]:
        """Do an operation undisturbed, note its rows, and return how many calls it makes, by kind
        and store."""
        operation = OPERATIONS[name]
        data_dir = self.copy(operation, store)
        environment = self.environment(data_dir, store)
        self.failing.list_calls(data_dir)
        self._do(environment, self.arguments(operation), operation.fine)
        self.failing.disarm()
        self._do(environment, ("ingest",), (0,))
        self.references[name, store == "chroma"] = self.rows(data_dir, store)
        stop_server(data_dir)
        return self.failing.listed()

    def arguments(self, operation: Operation) -> tuple[str, ...]:
        """Return the arguments of an operation."""
        workspace = str(self.directory / "workspace")
        return tuple(workspace if each == "WORKSPACE" else each for each in operation.arguments)

    def round(self, name: str, fault: Fault, place: int = 0) -> Result:
        """Do an operation with a fault, then once more without, and return what came of it."""
        operation = OPERATIONS[name]
        data_dir = self.copy(operation, fault.store)
        environment = self.environment(data_dir, fault.store)
        self.failing.arm(data_dir, fault)
        began = time.monotonic()
        code, said = self.runner.run(environment, self.arguments(operation))
        took = time.monotonic() - began
        wrong = list(wrong_saying(code, said, took))
        for look in _LOOKS if fault.lasting else ():
            began = time.monotonic()
            at = self.runner.run(environment, look)
            wrong += wrong_saying(*at, time.monotonic() - began)
        path = self.failing.disarm()
        outcome = "not reached" if not path else "unnoticed" if code == 0 else "told"
        arguments = (self.arguments(operation), operation.fine)
        for again, fine in (*(() if code in operation.fine else (arguments,)), (("ingest",), (0,))):
            began = time.monotonic()
            code, said = self.runner.run(environment, again)
            wrong += wrong_saying(code, said, time.monotonic() - began)
            if code not in fine:
                wrong.append(f"{again[0]} again ended with {code}: {said[-600:]}")
                break
        else:
            wanted = self.references[name, fault.store == "chroma"]
            against = differences(wanted, self.rows(data_dir, fault.store))
            wrong += [f"{len(keys)} {kind}: {keys[:3]}" for kind, keys in against.items() if keys]
        stop_server(data_dir)
        wrong += [f"left: {each}" for each in left_over(data_dir)]
        if left := self.runner.left():
            wrong.append(f"left: {left} processes")
        about = (name, fault.store or ALL, fault.call, place, fault.error)
        return Result(*about, outcome, "; ".join(wrong), path, round(took, 1))

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
            stop_server(path.parent)

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


def wrong_saying(code: int, said: str, seconds: float) -> Iterator[str]:
    """Yield what is wrong with what a command says that met a fault, or came after it."""
    if code == -signal.SIGKILL:
        yield f"hung for {seconds:.0f} s"
    elif seconds > _SILENT * _crowd() and not re.search(r"wait|answer|did not start|locked", said):
        yield f"took {seconds:.0f} s, and does not say for what"
    if "Traceback" in said or _UNFORESEEN in said:
        yield f"an error that nobody foresaw: {said[-600:]}"


def stop_server(data_dir: Path) -> None:
    """Stop Chroma's server of a memory."""
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


def faults(calls: Counter[tuple[str, str]], store: str, values: int) -> Iterator[tuple[int, Fault]]:
    """Yield the faults of the calls on a store by their places, with the errors in turn."""
    if store == ALL:
        for place, nth in enumerate(places(calls[CHANGE, ""], values)):
            yield place, Fault(CHANGE, "", nth, ("ENOSPC", "EROFS")[place % 2], lasting=True)
        return
    errors = sorted(ERRORS)
    at = sum(map(ord, store))
    for call in CALLS:
        tried = places(calls[call, store], values)
        for place in range(max(len(tried), min(len(errors), values)) if tried else 0):
            nth = tried[place % len(tried)]  # of few calls one fails with several errors
            yield place, Fault(call, store, nth, errors[at % len(errors)])
            at += 1


def main() -> None:
    """Sweep, print what is not as it should be, and the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--serve", action="store_true", help=argparse.SUPPRESS)
    parser.add_argument("--values", type=int, default=4, help="calls of a kind that fail")
    parser.add_argument("--operations", default=",".join(OPERATIONS))
    parser.add_argument("--stores", default=",".join((*STORES, ALL)))
    parser.add_argument("--seconds", type=float, default=1e9, help="begin no fault after that")
    parser.add_argument("--results", type=Path, help="file of JSON lines to go on with")
    given = parser.parse_args()
    if given.serve:
        serve(sys.stdin, sys.stdout)
        return
    with tempfile.TemporaryDirectory(prefix="faults-") as directory:
        results = given.results or Path(directory) / "results.jsonl"
        results.touch()
        sweep = Sweep(Path(directory))
        try:
            sweep_all(
                sweep,
                given.operations.split(","),
                given.stores.split(","),
                given.values,
                time.monotonic() + given.seconds,
                results,
            )
        finally:
            sweep.close()
        bad = print_table(read_results(results))
    sys.exit(bool(bad))


def sweep_all(
    sweep: Sweep,
    operations: Sequence[str],
    stores: Sequence[str],
    values: int,
    until: float,
    results: Path,
) -> None:
    """Try the faults that have no result yet, those first of whose kind the fewest were tried, and
    append what comes of them."""
    before = read_results(results)
    known = {(r.operation, r.store, r.call, r.place) for r in before}
    tried = Counter[Hashable]((r.operation, r.store, r.call, r.error) for r in before)
    waiting: list[tuple[str, str, int, Fault]] = []
    for name in operations:
        counted: dict[bool, Counter[tuple[str, str]]] = {}
        for store in stores:
            embeds = store == "chroma"
            if embeds not in counted:
                counted[embeds] = sweep.calls(name, store)
            for place, fault in faults(counted[embeds], store, values):
                if (name, store, fault.call, place) not in known:
                    waiting.append((name, store, place, fault))
    for name, _, place, fault in evenly(
        waiting, tried, lambda one: (*one[:2], one[3].call, one[3].error)
    ):
        if time.monotonic() > until:
            return
        result = sweep.round(name, fault, place)
        with results.open("a") as file:
            file.write(json.dumps(asdict(result)) + "\n")
        print(f"{name}: {fault}: {result.wrong or 'equal'} ({result.outcome})", flush=True)


def evenly(
    waiting: Sequence[T], tried: Counter[Hashable], kind_of: Callable[[T], Hashable]
) -> list[T]:
    """Return what is to be tried in an order in which each kind, of which some were `tried`
    before, has been tried about as often at any time."""
    order = list(waiting)
    random.Random(7).shuffle(order)
    counts = Counter(tried)
    ranks = []
    for one in order:
        ranks.append(counts[kind_of(one)])
        counts[kind_of(one)] += 1
    return [order[at] for at in sorted(range(len(order)), key=ranks.__getitem__)]


def read_results(path: Path) -> list[Result]:
    """Return the results in a file, in order."""
    return [Result(**json.loads(line)) for line in path.read_text().splitlines()]


def print_table(results: Sequence[Result]) -> int:
    """Print the outcomes by store and call, and by error, and what was wrong; return how much."""
    for by in ("store", "error", "operation"):
        counts = Counter(
            (getattr(r, by), r.call, "not equal" if r.wrong else r.outcome) for r in results
        )
        for name, call in sorted({(name, call) for name, call, _ in counts}):
            told = [
                f"{counts[name, call, outcome]} {outcome}"
                for outcome in ("told", "unnoticed", "not reached", "not equal")
                if counts[name, call, outcome]
            ]
            print(f"{name:16} {call:7} {', '.join(told)}")
    bad = [r for r in results if r.wrong]
    print(f"{len(results)} faults, {len(bad)} not equal after one clean run")
    print(f"longest command: {max((r.seconds for r in results), default=0)} s")
    for r in bad:
        print(f"{r.operation}, {r.error} in {r.call} of {r.store} ({r.path}): {r.wrong}")
    return len(bad)


if __name__ == "__main__":
    main()
