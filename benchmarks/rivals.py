"""The same questions to this memory, to ripgrep over the raw files, and to other memories.

    python benchmarks/rivals.py [--work DIR] [--rg PATH] [--deja PATH] [--agentsview PATH]
                                [--mempalace PATH]

Ingests the dev transcripts and asks, each in a process of its own, the 84 questions of
benchmarks/questions.jsonl, which the recipe of search was chosen with, and the 98 of weak.jsonl
that have an answer, which it was not: `memory search` (both modes), `rg` and, where they are at
hand (on PATH or by option; `pip install agentsview mempalace` in an environment of their own),
deja-vu, agentsview and MemPalace. Prints CPU and wall seconds of the cold index, the median of a
query, and how many questions of either set have a right session and a right turn among the first
three.

ripgrep ranks nothing: here sessions, and turns, come in order of how many of the question's words
(those that are not mere question words) occur in them, then of how often, which is the most that
its output can give. agentsview is asked for any of these words, in its full-text search. deja-vu,
agentsview and MemPalace answer with sessions. MemPalace downloads all-MiniLM-L6-v2; here it gets
the vectors of that model from a server in this process, so that no network is needed. `--work`
keeps the memory; what is kept is not indexed again, and the columns of the index stay empty.
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
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread

import retrieval
from process_tree import adopt_orphans, snapshot
from weak import own

from memory_assets.chunking import build_turns
from memory_assets.embedding import load_embedder
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
Asked = Sequence[tuple[str, set[str]]]
"""Questions, each with the turns that answer it."""
HALVES = ("fit", "test")


def main() -> None:
    """Print a row for each tool."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--work", type=Path, help="directory to keep the memory in")
    parser.add_argument("--rg", default=shutil.which("rg"), help="ripgrep's binary")
    parser.add_argument("--deja", default=shutil.which("deja"), help="deja-vu's binary")
    for name in ("agentsview", "mempalace"):
        parser.add_argument(f"--{name}", default=shutil.which(name), help="its command")
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
            sets = [of_questions(labelled), own_questions()]
            print("| | cold index | a query | of 84: session, turn | of 98: session, turn |")
            print("|---|---|---|---|---|")
            for mode in ("hybrid", "keyword"):
                report(f"memory search, {mode}", index, ours(memory, mode), sets)
            if options.rg:
                report("ripgrep, by words contained", "none", files.ripgrep(options.rg), sets)
            others = {
                "deja-vu": (options.deja, files.deja_vu),
                "agentsview, any word": (options.agentsview, files.agentsview),
                "MemPalace": (options.mempalace, files.mempalace),
            }
            for name, (command, prepare) in others.items():
                if not command:
                    print(f"| {name} | not installed | | | |")
                    continue
                with (
                    tempfile.TemporaryDirectory(prefix="rival-") as home,
                    prepare(command, Path(home)) as (index, ask),
                ):
                    report(name, index, ask, sets)
        finally:
            chroma_server.stop(memory.data_dir)


def of_questions(labelled: retrieval.Labelled) -> Asked:
    """Return the questions of questions.jsonl, each with the turns that answer it."""
    return [
        (each.text, {turn for turn, of in labelled.units_of.items() if of & each.gold})
        for each in labelled.questions
    ]


def own_questions() -> Asked:
    """Return the questions of weak.jsonl that have an answer, each with the turns."""
    return [(each.text, set(each.gold)) for half in HALVES for each, has in own(half) if has]


def report(name: str, index: str, ask: Ask, sets: Sequence[Asked]) -> None:
    """Ask every question and print what a tool took and found."""
    walls, cpus, cells = [], [], []
    for questions in sets:
        sessions = turns = 0
        gives_turns = True
        for text, right in questions:
            before, started = _children(), time.perf_counter()
            ranking = ask(text)
            walls.append(time.perf_counter() - started)
            cpus.append(_children() - before)
            sessions += not {_session(turn) for turn in right}.isdisjoint(ranking.sessions[:_FIRST])
            gives_turns = ranking.turns is not None
            turns += not right.isdisjoint((ranking.turns or ())[:_FIRST])
        cells.append(f"{sessions}, {turns}" if gives_turns else f"{sessions}")
    query = _seconds(statistics.median(walls), statistics.median(cpus))
    print(f"| {name} | {index} | {query} | {' | '.join(cells)} |", flush=True)


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
        self._homes: dict[str, str] = {}
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
            words = _content(question)
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

    def _linked(self, home: Path) -> dict[str, str]:
        """Link the files into a home as the agents have them; return the environment."""
        linked = {"claude": ".claude/projects", "codex": ".codex", "pi": ".pi"}
        for name, root in self._roots.items():
            shutil.copytree(root, home / linked[name], copy_function=os.link)
            self._homes[str(home / linked[name])] = str(root)
        return {"HOME": str(home), "PATH": os.environ["PATH"]}

    @contextmanager
    def deja_vu(self, binary: str, home: Path) -> Iterator[tuple[str, Ask]]:
        """Index with deja-vu in a home of its own; yield what it took and how it is asked."""
        environment = self._linked(home)
        index = _indexed([binary, "index"], environment)

        def ask(question: str) -> Ranking:
            command = [binary, "search", "--json", "--limit", str(_ASKED), question]
            found = subprocess.run(command, env=environment, capture_output=True).stdout
            paths = [hit["session"]["path"] for hit in json.loads(found)["hits"]]
            return Ranking(_distinct(self._sessions(paths)), None)

        yield index, ask

    @contextmanager
    def agentsview(self, binary: str, home: Path) -> Iterator[tuple[str, Ask]]:
        """Likewise with agentsview, whose server ends with this."""
        environment = self._linked(home)
        index = _indexed([binary, "sync"], environment)
        options = ["--fts", "--include-one-shot", "--include-automated", "--json"]

        def ask(question: str) -> Ranking:
            command = [binary, "session", "search", *options, " OR ".join(_content(question))]
            found = json.loads(subprocess.run(command, env=environment, stdout=-1).stdout)
            ids = (match["session_id"].rpartition(":")[2] for match in found["matches"])
            return Ranking(_distinct(ids), None)

        try:
            yield index, ask
        finally:
            subprocess.run([binary, "daemon", "stop"], env=environment, capture_output=True)

    @contextmanager
    def mempalace(self, command: str, home: Path) -> Iterator[tuple[str, Ask]]:
        """Likewise with MemPalace, given vectors by a server."""
        session_of = {Path(path).stem: session for path, session in self._session_of.items()}
        with embedding_server() as url:
            environment = {
                **self._linked(home),
                "MEMPALACE_EMBEDDING_MODEL": "openai-compat",
                "MEMPALACE_EMBEDDING_API_URL": url,
                "MEMPALACE_EMBEDDING_API_MODEL": "all-MiniLM-L6-v2",
                "MEMPALACE_EMBEDDING_API_KEY": "none",
            }
            sessions = str(self._roots["claude"].parent)
            mine = [command, "mine", sessions, "--mode", "convos", "--direct"]
            index = _indexed(mine, environment)

            def ask(question: str) -> Ranking:
                asked = [command, "search", question, "--results", str(_ASKED)]
                found = subprocess.run(asked, env=environment, stdout=-1, text=True).stdout
                files = re.findall(r"^ +Source: (\S+)\.jsonl$", found, re.MULTILINE)
                return Ranking(_distinct(session_of.get(name, name) for name in files), None)

            yield index, ask

    def _sessions(self, paths: Sequence[str]) -> Iterator[str]:
        for path in paths:
            root = next(root for root in self._homes if path.startswith(root))
            yield self._session_of.get(self._homes[root] + path.removeprefix(root), path)


@contextmanager
def embedding_server() -> Iterator[str]:
    """Yield the URL of a server that gives the vectors of the packaged model."""
    embedder = load_embedder()

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            """Answer as OpenAI's /v1/embeddings does."""
            asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))["input"]
            vectors = embedder.embed([asked] if isinstance(asked, str) else asked).tolist()
            data = [{"index": at, "embedding": vector} for at, vector in enumerate(vectors)]
            body = json.dumps({"data": data}).encode()
            self.send_response(200)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            """Print nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_port}/v1"
    finally:
        server.shutdown()
        server.server_close()


def _indexed(command: Sequence[str], environment: Mapping[str, str]) -> str:
    """Run what indexes, and return what it took."""
    before, started = _children(), time.perf_counter()
    subprocess.run(command, env=environment, check=True, capture_output=True)
    return _seconds(time.perf_counter() - started, _children() - before)


def _content(question: str) -> list[str]:
    """Return the words of a question that are no mere question words."""
    return _distinct(word for word in re.findall(r"\w{3,}", question.lower()) if not is_weak(word))


def _by_words(counts: Mapping[str, Counter[str]]) -> list[str]:
    return sorted(counts, key=lambda name: (-len(counts[name]), -counts[name].total(), name))


def _distinct(names: Iterable[str]) -> list[str]:
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
