"""What a search finds, through the real pipeline, beside simpler ways to search.

    python benchmarks/retrieval.py [--sets locomo cosqa scifact real own unfitted]
                                   [--documents N] [--work DIR]
                                   [--typos N]

The labelled sets of the evaluation data are written as Claude Code transcripts (a message
a record, a document a session of one prompt), taken in by `memory ingest`, and asked
through `open_memory().search`, each of LoCoMo's conversations as a project of its own.
`real` are the sessions of the evaluation data and benchmarks/questions.jsonl; `own` adds the
questions with an answer of weak.jsonl, and `unfitted` has those of `test`, `test2` and `test4`, on
which nothing was fitted. Beside the
three modes: plain BM25 (k1 1.2, b .75, no stemming), raw MiniLM in Chroma, and grep (turns
by how many of the question's words they contain). benchmarks/notes/retrieval.md discusses the
output.

The first run takes in 11,000 documents and embeds some 12,000 passages, an hour on two cores;
`--work` keeps the memories for later runs. `--documents N` takes the first N documents of cosqa
and scifact alone, and the questions that they answer. `--typos N` mistypes N words of a question.
"""

from __future__ import annotations

import argparse
import itertools
import json
import math
import os
import random
import re
import string
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import numpy as np
from dev_data import merge_homes, unpack

from memory_assets.chunking import build_turns
from memory_assets.keywords import is_weak
from memory_assets.recall import Memory, open_memory
from memory_assets.search_kinds import SEARCH_KINDS
from memory_assets.settings import load_settings
from memory_assets.stores.chroma import server as chroma_server
from memory_assets.stores.lake.schemas import REDACTED_RECORDS, TURN_CHUNKS

HERE = Path(__file__).resolve().parent
DEPTH = 50
_PLAIN_WORD = re.compile(r"(?<![\w./-])[A-Za-z]{4,}(?![\w/-]|\.\w)")
Ranker = Callable[[str, "str | None"], list[str]]
Prepare = Callable[[Path, "int | None"], "tuple[Memory, Labelled]"]


@dataclass(frozen=True)
class Question:
    """A question, the project to ask it in (None: all), and what answers it: units, of
    which a turn holds one or several."""

    text: str
    project: str | None
    gold: frozenset[str]


@dataclass(frozen=True)
class Labelled:
    """A set: its questions, and which units a turn holds."""

    questions: Sequence[Question]
    units_of: Mapping[str, frozenset[str]]


def main() -> None:
    """Print a table a set."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--sets", nargs="*", default=["locomo", "cosqa", "scifact", "real"])
    parser.add_argument("--documents", type=int, help="only so many of cosqa and scifact")
    parser.add_argument("--work", type=Path, help="directory to keep the memories in")
    parser.add_argument("--rankers", nargs="*", default=[], help="only these rows")
    parser.add_argument("--typos", type=int, default=0, help="mistype so many words of a question")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        work = options.work or Path(scratch)
        for name in options.sets:
            place = f"{name}-{options.documents}" if options.documents else name
            memory, labelled = PREPARED[name](work / place, options.documents)
            labelled = replace(
                labelled, questions=list(mistyped(labelled.questions, options.typos))
            )
            try:
                report(name, memory, labelled, options.rankers)
            finally:
                chroma_server.stop(memory.data_dir)


def mistyped(questions: Iterable[Question], words: int) -> Iterator[Question]:
    """Yield the questions with an error (two letters swapped, one left out, doubled or changed) in
    so many of their plain words of four letters or more; the same ones in every run."""
    chance = random.Random(7)
    for question in questions:
        text = question.text
        plain = [word for word in _PLAIN_WORD.finditer(text) if not is_weak(word[0])]
        chosen = chance.sample(plain, min(words, len(plain)))
        for word in sorted(chosen, key=lambda each: -each.start()):
            wrong = word[0]
            while wrong == word[0]:
                wrong = _with_error(word[0], chance)
            text = text[: word.start()] + wrong + text[word.end() :]
        yield replace(question, text=text)


def _with_error(word: str, chance: random.Random) -> str:
    at = chance.randrange(len(word))
    kind = chance.choice(("swap", "drop", "double", "change"))
    if kind == "swap":
        at = min(at, len(word) - 2)
        return word[:at] + word[at + 1] + word[at] + word[at + 2 :]
    if kind == "drop":
        return word[:at] + word[at + 1 :]
    other = word[at] * 2 if kind == "double" else chance.choice(string.ascii_lowercase)
    return word[:at] + other + word[at + 1 :]


def report(name: str, memory: Memory, labelled: Labelled, only: Sequence[str]) -> None:
    """Print a row for each way to search."""
    print(f"\n{name}: {len(labelled.questions)} questions, {len(labelled.units_of)} turns")
    print(f"{'':24}    R@5   R@10  top-1  top-3 top-10    MRR nDCG@10", flush=True)
    for title, ranker in rankers(memory).items():
        if only and title not in only:
            continue
        rows = [
            score(
                [labelled.units_of.get(turn, frozenset()) for turn in ranker(q.text, q.project)],
                q.gold,
            )
            for q in labelled.questions
        ]
        mean = np.mean(rows, axis=0)
        cells = " ".join(f"{100 * value:6.1f}" for value in mean[:5])
        print(f"{title:24} {cells} {mean[5]:6.3f} {mean[6]:7.3f}", flush=True)


def rankers(memory: Memory) -> dict[str, Ranker]:
    """Return the ways to search, by name: each gives turn ids, best first."""

    def ours(mode: str) -> Ranker:
        return lambda query, project: [
            hit.turn_id for hit in memory.search(query, mode=mode, project=project, n=DEPTH).hits
        ]

    texts = Texts(memory)
    return {
        "hybrid": ours("hybrid"),
        "meaning alone": ours("semantic"),
        "words alone": ours("keyword"),
        "raw MiniLM + Chroma": lambda query, project: in_chroma(memory, query, project),
        "plain BM25": texts.bm25,
        "grep": texts.grep,
    }


def in_chroma(memory: Memory, query: str, project: str | None) -> list[str]:
    """Return the turns nearest in Chroma."""
    vector = memory.embedder.embed([query])[0]
    found = []
    for name in memory.vectors.names():
        if name.endswith(SEARCH_KINDS["sessions"].collection_of("")):
            where = {"project": project} if project else None
            found += memory.vectors.get(name).nearest(vector, 5 * DEPTH, where)
    found.sort(key=lambda pair: -pair[1])
    return list(dict.fromkeys(str(each.metadata["turn_id"]) for each, _ in found))[:DEPTH]


class Texts:
    """The turns' texts, for searches without an index."""

    def __init__(self, memory: Memory) -> None:
        """Read every chunk of the lake."""
        turns: dict[tuple[str, str], list[str]] = {}
        for project in memory.lake.projects(TURN_CHUNKS):
            rows = memory.lake.read_partition(TURN_CHUNKS, project, ["turn_id", "text"])
            for row in rows.to_pylist():
                turns.setdefault((project, row["turn_id"]), []).append(row["text"].lower())
        self._turns = {key: "\n".join(texts) for key, texts in turns.items()}
        self._counts = {key: Counter(re.findall(r"\w+", text)) for key, text in self._turns.items()}
        self._frequencies: dict[str | None, Counter[str]] = {}

    def grep(self, query: str, project: str | None) -> list[str]:
        """Return turns by how many of the question's words they contain."""
        words = [word for word in re.findall(r"\w+", query.lower()) if not is_weak(word)]
        scores = {
            turn: float(sum(word in text for word in words))
            for (where, turn), text in self._turns.items()
            if project in (None, where)
        }
        return _ranked(scores)

    def bm25(self, query: str, project: str | None) -> list[str]:
        """Return turns by textbook BM25."""
        counts = {
            turn: count for (where, turn), count in self._counts.items() if project in (None, where)
        }
        if project not in self._frequencies:
            self._frequencies[project] = Counter(itertools.chain.from_iterable(counts.values()))
        held = self._frequencies[project]
        mean = sum(count.total() for count in counts.values()) / max(1, len(counts))
        scores: dict[str, float] = dict.fromkeys(counts, 0.0)
        for word in set(re.findall(r"\w+", query.lower())):
            rarity = math.log(1 + (len(counts) - held[word] + 0.5) / (held[word] + 0.5))
            for turn, count in counts.items():
                if often := count.get(word, 0):
                    norm = 1.2 * (0.25 + 0.75 * count.total() / mean)
                    scores[turn] += rarity * often * 2.2 / (often + norm)
        return _ranked(scores)


def _ranked(scores: Mapping[str, float]) -> list[str]:
    found = [turn for turn in sorted(scores, key=lambda turn: -scores[turn]) if scores[turn] > 0]
    return found[:DEPTH]


def score(ranked: Sequence[frozenset[str]], gold: frozenset[str]) -> tuple[float, ...]:
    """Return R@5, R@10 (share of the gold units in the first turns), hit at 1, 3, 10, the
    reciprocal rank and nDCG@10, as the evaluation data's own score.py counts them."""
    seen: set[str] = set()
    recall, gain, first = [], 0.0, len(ranked)
    for place, units in enumerate(ranked):
        new = (units & gold) - seen
        if units & gold:
            first = min(first, place)
        if new and place < 10:
            gain += 1 / math.log2(place + 2)
        seen |= new
        recall.append(len(seen) / len(gold))
    recall += [recall[-1] if recall else 0.0] * 10
    hits = [float(first < most and first < len(ranked)) for most in (1, 3, 10)]
    ideal = sum(1 / math.log2(place + 2) for place in range(min(len(gold), 10)))
    reciprocal = 1 / (first + 1) if first < len(ranked) else 0.0
    return (recall[4], recall[9], *hits, reciprocal, min(1.0, gain / ideal))


def ingested(work: Path, homes: Mapping[str, str]) -> Memory:
    """Return the memory in `work`, made by `memory ingest` from these homes if it is not
    there yet."""
    data = work / "memory"
    if not (data / "complete").exists():
        environment = {
            **{name: value for name, value in os.environ.items() if not name.startswith("MEMORY_")},
            **homes,
            "HOME": str(work / "home"),
            "MEMORY_DATA_DIR": str(data),
        }
        (work / "home").mkdir(parents=True, exist_ok=True)
        command = [str(Path(sys.executable).with_name("memory")), "ingest"]
        subprocess.run(command, env=environment, check=True, stdout=subprocess.DEVNULL)
        (data / "complete").touch()
    return open_memory(load_settings(data_dir=data))


def write_session(path: Path, messages: Iterable[tuple[str, str, str, datetime]]) -> None:
    """Write messages (id, role, text, time) as a Claude Code session."""
    path.parent.mkdir(parents=True, exist_ok=True)
    records = [
        {
            "type": role,
            "uuid": uuid,
            "sessionId": path.stem,
            "cwd": f"/{path.parent.name.lstrip('-')}",
            "timestamp": moment.isoformat().replace("+00:00", "Z"),
            "message": {
                "id": f"msg_{uuid}",
                "role": role,
                "content": text if role == "user" else [{"type": "text", "text": text}],
            },
        }
        for uuid, role, text, moment in messages
    ]
    path.write_text("".join(json.dumps(record) + "\n" for record in records), "utf-8")


def locomo(work: Path, _: int | None) -> tuple[Memory, Labelled]:
    """Return LoCoMo's conversations as a memory, a project each; units are messages."""
    data = retrieval_data(work) / "locomo_dev"
    projects = work / "claude" / "projects"
    messages = lines(data / "messages.jsonl")
    for (collection, session), group in itertools.groupby(
        messages, key=lambda message: (message["collection"], message["session"])
    ):
        said = list(group)
        begun = datetime.strptime(said[0]["timestamp"], "%I:%M %p on %d %B, %Y").replace(tzinfo=UTC)
        write_session(
            projects / f"-{collection}" / f"{collection}.{session}.jsonl",
            (
                (
                    f"{collection}/{message['turn_id']}",
                    message["role"],
                    message["text"],
                    begun + timedelta(seconds=30 * at),
                )
                for at, message in enumerate(said)
            ),
        )
    memory = ingested(work, {"MEMORY_PROJECTS_DIR": str(projects)})
    questions = [
        Question(
            item["query"],
            f"-{item['collection']}",
            frozenset(f"{item['collection']}/{message}" for message in item["evidence"]),
        )
        for item in lines(data / "queries.jsonl")
    ]
    return memory, Labelled(questions, dict(_records_of_turns(memory)))


def documents(name: str) -> Prepare:
    """Return what prepares a set of documents: each the one prompt of a session."""

    def prepared(work: Path, most: int | None) -> tuple[Memory, Labelled]:
        data = retrieval_data(work) / name
        projects = work / "claude" / "projects"
        moment = datetime(2025, 1, 1, tzinfo=UTC)
        corpus = lines(data / "corpus.jsonl")[:most]
        known = {item["_id"] for item in corpus}
        for item in corpus:
            path = projects / "-documents" / f"document.{item['_id']}.jsonl"
            if not path.exists():
                write_session(path, [(item["_id"], "user", item["text"], moment)])
        memory = ingested(work, {"MEMORY_PROJECTS_DIR": str(projects)})
        questions = [
            Question(item["text"], None, frozenset(item["relevant"]))
            for item in lines(data / "queries.jsonl")
            if known.issuperset(item["relevant"])
        ]
        return memory, Labelled(questions, dict(_records_of_turns(memory)))

    return prepared


def real(work: Path, _: int | None) -> tuple[Memory, Labelled]:
    """Return the real sessions as a memory; units are turns, any of which answers."""
    homes = work / "homes"
    if not homes.exists():
        merge_homes(unpack("transcripts.tar.xz", work / "unpacked"), homes)
    variables = {
        "claude": "MEMORY_PROJECTS_DIR",
        "codex": "MEMORY_CODEX_DIR",
        "pi": "MEMORY_PI_DIR",
    }
    memory = ingested(work, {name: str(homes / place) for place, name in variables.items()})
    questions = []
    units: dict[str, frozenset[str]] = {}
    for number, item in enumerate(lines(HERE / "questions.jsonl")):
        answers = [(item["session_id"], turn) for turn in item["turn_index"]]
        answers += [(session, turn) for session, turns in item.get("also", []) for turn in turns]
        questions.append(Question(item["question"], None, frozenset({str(number)})))
        for session, turn in answers:
            key = f"session::{session}::turn::{turn}"
            units[key] = units.get(key, frozenset()) | {str(number)}
    known = {
        row["turn_id"]
        for project in memory.lake.projects(TURN_CHUNKS)
        for row in memory.lake.read_partition(TURN_CHUNKS, project, ["turn_id"]).to_pylist()
    }
    if lost := units.keys() - known:
        sys.exit(f"questions.jsonl names turns that are not in the data: {sorted(lost)}")
    return memory, Labelled(questions, {turn: units.get(turn, frozenset()) for turn in known})


def own(halves: Sequence[str]) -> Prepare:
    """Return what prepares the questions of these halves of weak.jsonl that have an answer; those
    of `real`, too, if all are wanted."""

    def prepared(work: Path, _: int | None) -> tuple[Memory, Labelled]:
        memory, labelled = real(work.with_name("real"), None)
        units = {turn: units | {turn} for turn, units in labelled.units_of.items()}
        asked = [item for item in lines(HERE / "weak.jsonl") if "turn_index" in item]
        questions = list(labelled.questions) if not halves else []
        for item in asked:
            if not halves or item["half"] in halves:
                turns = (f"session::{item['session_id']}::turn::{at}" for at in item["turn_index"])
                questions.append(Question(item["question"], None, frozenset(turns)))
        return memory, Labelled(questions, units)

    return prepared


def _records_of_turns(memory: Memory) -> Iterator[tuple[str, frozenset[str]]]:
    """Yield each turn with the ids of the records that it was made from."""
    for project in memory.lake.projects(REDACTED_RECORDS):
        for session_id in memory.lake.sessions(REDACTED_RECORDS, project):
            for turn in build_turns(memory.lake.read_rows(REDACTED_RECORDS, project, session_id)):
                yield turn.id, frozenset(record.record_uuid for record in turn.records)


def retrieval_data(work: Path) -> Path:
    """Return the directory of the labelled sets, unpacked in `work`."""
    target = work / "unpacked"
    if not target.exists():
        unpack("retrieval.tar.xz", target)
    return next(path.parent for path in target.rglob("score.py"))


def lines(path: Path) -> list[dict[str, Any]]:
    """Return the rows of a file of JSON lines."""
    return [json.loads(line) for line in path.open(encoding="utf-8")]


PREPARED: Mapping[str, Prepare] = {
    "locomo": locomo,
    "cosqa": documents("cosqa_dev"),
    "scifact": documents("scifact_train"),
    "real": real,
    "own": own(()),
    "unfitted": own(("test", "test2", "test4")),
}


if __name__ == "__main__":
    main()
