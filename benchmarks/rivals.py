"""The same questions to this memory, to ripgrep over the raw files, and to deja-vu.

    python benchmarks/rivals.py [--work DIR] [--rg PATH] [--deja PATH]

Ingests the dev transcripts and asks the 84 questions of benchmarks/questions.jsonl, each in a
process of its own: `memory search` (both modes), `rg` and, where their binaries are at hand
(on PATH or by option), `deja search`. Prints CPU and wall seconds of the cold index, the median
of a query, and how many questions have a right session and a right turn among the first three.

ripgrep ranks nothing: here sessions, and turns, come in order of how many of the question's
words (those that are not mere question words) occur in them, then of how often, which is the
most that its output can give. deja-vu answers with sessions. `--work` keeps the memory; what
is kept is not indexed again, and the columns of the index stay empty.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import resource
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from bisect import bisect_right
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import retrieval
from process_tree import adopt_orphans, snapshot

from memory_assets.chunking import build_turns
from memory_assets.keywords import is_weak
from memory_assets.recall import Memory
from memory_assets.stores.chroma import server as chroma_server
from memory_assets.stores.lake.schemas import REDACTED_RECORDS
from memory_assets.transcripts import discover

MEMORY = Path(sys.executable).with_name("memory")
_FIRST = 3
_ASKED = 20


@dataclass(frozen=True)
class Ranking:
    """Ids of sessions and of turns, best first; None where a tool does not give turns."""

    sessions: Sequence[str]
    turns: Sequence[str] | None


Ask = Callable[[str], Ranking]


def main() -> None:
    """Print a row for each tool."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--work", type=Path, help="directory to keep the memory in")
    parser.add_argument("--rg", default=shutil.which("rg"), help="ripgrep's binary")
    parser.add_argument("--deja", default=shutil.which("deja"), help="deja-vu's binary")
    options = parser.parse_args()
    adopt_orphans()
    with tempfile.TemporaryDirectory(prefix="rivals-") as scratch:
        work = (options.work or Path(scratch)) / "real"
        kept = (work / "memory" / "complete").exists()
        before, started = snapshot().total, time.perf_counter()
        memory, labelled = retrieval.real(work, None)
        index = "" if kept else _seconds(time.perf_counter() - started, snapshot().total - before)
        try:
            files = Transcripts(memory, work)
            print("| | cold index | a query | right session in top 3 | right turn in top 3 |")
            print("|---|---|---|---|---|")
            for mode in ("hybrid", "keyword"):
                report(f"memory search, {mode}", index, ours(memory, mode), labelled)
            if options.rg:
                report("ripgrep, by words contained", "none", files.ripgrep(options.rg), labelled)
            if options.deja:
                index, ask = files.deja_vu(options.deja, Path(scratch) / "home")
                report("deja-vu", index, ask, labelled)
        finally:
            chroma_server.stop(memory.data_dir)


def report(name: str, index: str, ask: Ask, labelled: retrieval.Labelled) -> None:
    """Ask every question and print what a tool took and found."""
    answers: dict[str, set[str]] = {}
    for turn, numbers in labelled.units_of.items():
        for number in numbers:
            answers.setdefault(number, set()).add(turn)
    walls, cpus, sessions, turns, gives_turns = [], [], 0, 0, True
    for question in labelled.questions:
        right = set().union(*(answers[number] for number in question.gold))
        before, started = _children(), time.perf_counter()
        ranking = ask(question.text)
        walls.append(time.perf_counter() - started)
        cpus.append(_children() - before)
        sessions += not {_session(turn) for turn in right}.isdisjoint(ranking.sessions[:_FIRST])
        gives_turns = ranking.turns is not None
        turns += not right.isdisjoint((ranking.turns or ())[:_FIRST])
    query = _seconds(statistics.median(walls), statistics.median(cpus))
    print(
        f"| {name} | {index} | {query} | {sessions} | {turns if gives_turns else ''} |", flush=True
    )


def ours(memory: Memory, mode: str) -> Ask:
    """Return how `memory search` is asked."""
    environment = {**os.environ, "MEMORY_DATA_DIR": str(memory.data_dir)}

    def ask(question: str) -> Ranking:
        command = [str(MEMORY), "search", question, "--mode", mode, "-n", str(_ASKED), "--json"]
        hits = json.loads(subprocess.run(command, env=environment, stdout=-1).stdout)["hits"]
        turns = [hit["turn_id"] for hit in hits]
        return Ranking(_distinct(map(_session, turns)), turns)

    return ask


class Transcripts:
    """The raw files, with where each turn is in them."""

    def __init__(self, memory: Memory, work: Path) -> None:
        homes = work / "homes"
        self._roots = {"claude": homes / "claude", "codex": homes / "codex", "pi": homes / "pi"}
        agents = zip(("claude-code", "codex", "pi"), self._roots.values(), strict=True)
        sources = list(discover(dict(agents)))
        self._session_of = {str(source.path): source.session_id for source in sources}
        path_of = {(each.session_id, each.agent_id): str(each.path) for each in sources}
        self._places: dict[str, list[tuple[int, str]]] = {}
        for project in memory.lake.projects(REDACTED_RECORDS):
            for session in memory.lake.sessions(REDACTED_RECORDS, project):
                rows = memory.lake.read_rows(REDACTED_RECORDS, project, session)
                for turn in build_turns(rows):
                    for record in turn.records:
                        path = path_of.get((record.session_id, record.agent_id), "")
                        self._places.setdefault(path, []).append((record.byte_start, turn.id))
        for places in self._places.values():
            places.sort()

    def ripgrep(self, binary: str) -> Ask:
        """Return how ripgrep is asked for all of a question's words at once."""

        def ask(question: str) -> Ranking:
            words = {word for word in re.findall(r"\w{3,}", question.lower()) if not is_weak(word)}
            command = [binary, "-iFob", "--no-heading", "--null", *(f"-e{word}" for word in words)]
            found = subprocess.run([*command, *map(str, self._roots.values())], stdout=-1).stdout
            sessions: dict[str, Counter[str]] = {}
            turns: dict[str, Counter[str]] = {}
            for line in found.decode(errors="replace").splitlines():
                path, _, match = line.partition("\0")
                offset, _, word = match.partition(":")
                if session := self._session_of.get(path):
                    sessions.setdefault(session, Counter())[word.lower()] += 1
                    if turn := self._turn(path, int(offset)):
                        turns.setdefault(turn, Counter())[word.lower()] += 1
            return Ranking(_by_words(sessions), _by_words(turns))

        return ask

    def _turn(self, path: str, offset: int) -> str | None:
        places = self._places.get(path, [])
        at = bisect_right(places, (offset, "\uffff")) - 1
        return places[at][1] if at >= 0 else None

    def deja_vu(self, binary: str, home: Path) -> tuple[str, Ask]:
        """Index with deja-vu in a home of its own; return what it took and how it is asked."""
        linked = {"claude": ".claude/projects", "codex": ".codex", "pi": ".pi"}
        for name, root in self._roots.items():
            shutil.copytree(root, home / linked[name], copy_function=os.link)
        names = {str(home / linked[name]): str(root) for name, root in self._roots.items()}
        environment = {"HOME": str(home), "PATH": os.environ["PATH"]}
        before, started = _children(), time.perf_counter()
        subprocess.run([binary, "index"], env=environment, check=True, capture_output=True)
        index = _seconds(time.perf_counter() - started, _children() - before)

        def ask(question: str) -> Ranking:
            command = [binary, "search", "--json", "--limit", str(_ASKED), question]
            found = subprocess.run(command, env=environment, capture_output=True).stdout
            paths = [hit["session"]["path"] for hit in json.loads(found)["hits"]]
            return Ranking(_distinct(self._sessions(paths, names)), None)

        return index, ask

    def _sessions(self, paths: Sequence[str], names: Mapping[str, str]) -> Iterator[str]:
        for path in paths:
            root = next(root for root in names if path.startswith(root))
            yield self._session_of.get(names[root] + path.removeprefix(root), path)


def _by_words(counts: Mapping[str, Counter[str]]) -> list[str]:
    return sorted(counts, key=lambda name: (-len(counts[name]), -counts[name].total(), name))


def _distinct(names: Iterator[str]) -> list[str]:
    return list(dict.fromkeys(names))


def _session(turn: str) -> str:
    return turn.split("::")[1]


def _children() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def _seconds(wall: float, cpu: float) -> str:
    return f"{wall:.2f} s, {cpu:.2f} CPU s"


if __name__ == "__main__":
    main()
