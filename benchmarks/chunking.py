"""What the passages' composition finds, against plain concatenation of the whole turn.

    python benchmarks/chunking.py [--cache DIR] [--sessions N] [--only NAME ...]

Exact dense search (no keyword index, no vector store) over two sets: the questions of
benchmarks/questions.jsonl on real coding sessions, and LoCoMo's dev questions on chats.
A turn's score is its best passage's. The data is looked for in MEMORY_BENCH_DATA, else in
../shared/data beside the checkout; it is third-party and never part of this project.
benchmarks/notes/chunking.md shows and discusses the output.
"""

from __future__ import annotations

import argparse
import hashlib
import itertools
import json
import os
import re
import sys
import tarfile
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import LiteralString

import numpy as np
from numpy.typing import NDArray

from memory_assets.chunking import build_turns, chunk_turn, content_hash
from memory_assets.chunking.chunks import MAX_TOKENS, Segment, segments, spoken
from memory_assets.chunking.digest import digest, only_looks
from memory_assets.chunking.passages import split_passages
from memory_assets.embedding import (
    Embedder,
    WordPieces,
    embed_redacted,
    load_embedder,
    load_word_pieces,
)
from memory_assets.models import Record, RedactedRecord, Turn
from memory_assets.redacted_text import RedactedText, compose, join
from memory_assets.redaction import Redactor, load_redactor
from memory_assets.transcripts import Source, discover, read_session

HERE = Path(__file__).resolve().parent
AGENT_DIRECTORIES = {
    "claude-code": "claude/projects",
    "codex": "codex/sessions",
    "pi": "pi/agent/sessions",
}
Vectors = NDArray[np.float32]
Composer = Callable[[Turn], list[RedactedText]]


@dataclass(frozen=True)
class Question:
    """A question and the turns that answer it; one may be named for several messages of it."""

    text: str
    corpus: str
    answers: tuple[str, ...]


def main() -> None:
    """Print one table a set."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--cache", type=Path, help="directory to keep vectors in between runs")
    parser.add_argument("--sessions", type=int, default=84, help="real sessions to search in")
    parser.add_argument("--only", nargs="*", default=[], help="compositions to measure")
    options = parser.parse_args()
    data = Path(os.environ.get("MEMORY_BENCH_DATA", HERE.parent.parent / "shared" / "data"))
    archives = [data / name for name in ("transcripts.tar.xz", "retrieval.tar.xz")]
    if missing := [archive for archive in archives if not archive.is_file()]:
        sys.exit(f"no {missing[0].name} in {data}: set MEMORY_BENCH_DATA to the data's directory")
    embedder, redactor = load_embedder(), load_redactor()
    with tempfile.TemporaryDirectory() as scratch:
        for archive in archives:
            with tarfile.open(archive, "r:xz") as tar:
                tar.extractall(scratch, filter="data")
        cache = VectorCache(embedder, options.cache or Path(scratch))
        compositions = {
            name: composer
            for name, composer in composers(load_word_pieces()).items()
            if not options.only or any(part in name for part in options.only)
        }
        turns, questions = real_sessions(Path(scratch), redactor, options.sessions)
        report("real sessions", turns, questions, compositions, cache, "turn")
        turns, questions = locomo(next(Path(scratch).rglob("locomo_dev")), redactor)
        # No tools there: everything is prompt+prose, and there is nothing to digest.
        for name in [name for name in compositions if "everything" in name or "digest" in name]:
            del compositions[name]
        report("LoCoMo dev", turns, questions, compositions, cache, "evidence")
        # The messages never name who speaks, the questions nearly always do.
        names = "|".join(speakers(next(Path(scratch).rglob("locomo_dev"))))
        nameless = [
            replace(question, text=re.sub(rf"\b({names})('s)?\b", "", question.text))
            for question in questions
        ]
        title = "LoCoMo dev, the speakers' names left out of the questions"
        report(title, turns, nameless, compositions, cache, "evidence")


def composers(pieces: WordPieces) -> dict[str, Composer]:
    """Return the compositions to compare, by name."""

    def ours(
        max_tokens: int = MAX_TOKENS, composed: Callable[[Turn], Iterable[Segment]] = segments
    ) -> Composer:
        return lambda turn: [chunk.text for chunk in chunk_turn(turn, pieces, max_tokens, composed)]

    def headed(most: int) -> Composer:
        """Each passage after the prompt's begins with the head of the prompt."""

        def texts(turn: Turn) -> list[RedactedText]:
            if turn.prompt is None or not (
                spans := split_passages(turn.prompt.text, pieces, most + 2)
            ):
                return ours()(turn)
            head = turn.prompt.text.cut(*spans[0])
            room = MAX_TOKENS - pieces.count_tokens(head) + 2
            chunks = chunk_turn(turn, pieces, room)
            first = next((chunk.part for chunk in chunks if chunk.prompt_uuid), -1)
            return [
                compose("{}\n\n{}", head, chunk.text) if chunk.part > first else chunk.text
                for chunk in chunks
            ]

        return texts

    def labelled(turn: Turn) -> list[RedactedText]:
        labels: dict[str, LiteralString] = {"prompt": "User: {}", "assistant_text": "Assistant: {}"}
        records = [
            replace(record, text=compose(labels[record.kind], record.text))
            if record.kind in labels and record.text.strip()
            else record
            for record in turn.records
        ]
        return ours()(replace(turn, records=tuple(records)))

    return {
        "everything, cut off at 256": lambda turn: [everything(turn)],
        # All tool text would be 4.9 M word pieces, fifteen times the prose.
        "everything, windows of 256": lambda turn: windows(everything(turn, 500), pieces, 254),
        "prompt+prose, cut off at 256": lambda turn: [prose(turn)],
        "prompt+prose, windows of 256": lambda turn: windows(prose(turn), pieces, 254),
        "ours": ours(),
        "ours, 192 word pieces": ours(max_tokens=192),
        "ours, 128 word pieces": ours(max_tokens=128),
        "ours, head of prompt, 24": headed(24),
        "ours, head of prompt, 48": headed(48),
        "ours, speaker labels": labelled,
        "ours, no digest": ours(composed=without_digest),
        "ours, digest without lookups": ours(composed=without_lookups),
        "ours, digest where calls happen": ours(composed=with_digest_inline),
    }


def without_digest(turn: Turn) -> Iterator[Segment]:
    """Yield what somebody says in a turn."""
    return (segment for _, segment in spoken(turn))


def without_lookups(turn: Turn) -> Iterator[Segment]:
    """Yield a turn's segments, the digest without what only read or searched."""
    records = turn.records
    kept = [one for one in records if one.kind != "tool_use" or not only_looks(one)]
    return segments(replace(turn, records=tuple(kept)))


def with_digest_inline(turn: Turn) -> Iterator[Segment]:
    """Yield a turn's segments, a digest of tool calls wherever somebody speaks after them."""
    said = {id(record): segment for record, segment in spoken(turn)}
    calls: list[RedactedRecord] = []
    for record in turn.records:
        calls += [record] if record.kind in ("tool_use", "tool_result") else []
        if id(record) in said:
            yield from (Segment("assistant", text) for text in [digest(calls)] if text)
            yield said[id(record)]
            calls.clear()
    yield from (Segment("assistant", text) for text in [digest(calls)] if text)


def everything(turn: Turn, most: int | None = None) -> RedactedText:
    """Return all that a plain concatenation of the turn holds, tool input and output too;
    of each of those at most `most` characters."""
    tools, said = {"tool_use", "tool_result"}, {"prompt", "assistant_text"}
    texts = [
        record.text.cut(0, most) if record.kind in tools else record.text
        for record in turn.records
        if record.kind in tools | said and record.text
    ]
    return join("\n\n", texts)


def prose(turn: Turn) -> RedactedText:
    """Return the prompt and what the assistant says."""
    kinds = {"prompt", "assistant_text"}
    return join("\n\n", [r.text for r in turn.records if r.kind in kinds and r.text])


def windows(text: RedactedText, pieces: WordPieces, length: int) -> list[RedactedText]:
    """Cut `text` every `length` word pieces, wherever that falls."""
    offsets = pieces.token_offsets(text)
    starts = [offsets[at][0] for at in range(0, len(offsets), length)]
    return [text.cut(*span) for span in itertools.pairwise([*starts, len(text)])]


def real_sessions(
    root: Path, redactor: Redactor, most: int
) -> tuple[dict[str, list[Turn]], list[Question]]:
    """Return the turns of the questions' sessions and of others, and the questions."""
    lines = (HERE / "questions.jsonl").read_text("utf-8").splitlines()
    asked = [json.loads(line) for line in lines]
    needed = {item["session_id"] for item in asked}
    sessions: dict[str, list[Source]] = {}
    for repository in sorted(path for path in root.iterdir() if path.is_dir()):
        roots = {agent: repository / place for agent, place in AGENT_DIRECTORIES.items()}
        for source in discover({agent: (path,) for agent, path in roots.items() if path.is_dir()}):
            sessions.setdefault(source.session_id, []).append(source)
    if absent := needed - sessions.keys():
        sys.exit(f"questions.jsonl names sessions that are not in the data: {sorted(absent)}")
    # Those asked about first, the others in an order that has nothing to do with content.
    order = sorted(
        sessions, key=lambda name: (name not in needed, hashlib.sha256(name.encode()).digest())
    )
    turns = [
        turn
        for name in order[: max(most, len(needed))]
        for turn in build_turns(redacted(sessions[name], redactor))
    ]
    known = {turn.id for turn in turns}
    questions = [
        Question(
            item["question"],
            "",
            tuple(f"session::{item['session_id']}::turn::{n}" for n in item["turn_index"]),
        )
        for item in asked
    ]
    if lost := [question.text for question in questions if not known.issuperset(question.answers)]:
        sys.exit(f"questions whose turns do not exist: {lost}")
    print(f"{len({turn.session_id for turn in turns})} sessions, {len(turns)} turns", flush=True)
    return {"": turns}, questions


def redacted(sources: Iterable[Source], redactor: Redactor) -> Iterator[RedactedRecord]:
    """Yield one session's records, the main file's first."""
    root = ""
    for source in sorted(sources, key=lambda source: source.agent_id or ""):
        session = redactor.session(source.session_id)
        for record in read_session(source.path, source=source):
            root = root or record.cwd
            first = session.redact_record(record, project=source.project, project_root=root)
            yield first.record


def locomo(root: Path, redactor: Redactor) -> tuple[dict[str, list[Turn]], list[Question]]:
    """Return LoCoMo's conversations as turns (a message of the first speaker and the replies),
    and its questions; a turn answers a question if it holds any message of the evidence."""
    turns: dict[str, list[Turn]] = {}
    holder: dict[tuple[str, str], str] = {}
    messages = [json.loads(line) for line in (root / "messages.jsonl").open(encoding="utf-8")]
    for (collection, session), group in itertools.groupby(
        messages, key=lambda message: (message["collection"], message["session"])
    ):
        records = [
            redactor.session(session)
            .redact_record(
                chat_record(f"{collection}.{session}", seq, message), project="", project_root=""
            )
            .record
            for seq, message in enumerate(group)
        ]
        for turn in build_turns(records):
            turns.setdefault(collection, []).append(turn)
            holder.update({(collection, r.record_uuid): turn.id for r in turn.records})
    questions = [
        Question(
            item["query"],
            item["collection"],
            tuple(holder[item["collection"], message] for message in item["evidence"]),
        )
        for item in map(json.loads, (root / "queries.jsonl").open(encoding="utf-8"))
    ]
    return turns, questions


def speakers(root: Path) -> set[str]:
    """Return the names of all who speak in LoCoMo's conversations."""
    return {
        json.loads(line)["speaker"] for line in (root / "messages.jsonl").open(encoding="utf-8")
    }


def chat_record(session: str, seq: int, message: Mapping[str, str]) -> Record:
    """Return a chat message as the record of an agent's session."""
    human = message["role"] == "user"
    return Record(
        agent="locomo",
        session_id=session,
        agent_id=None,
        seq=seq,
        record_uuid=message["turn_id"],
        parent_uuid=None,
        byte_start=0,
        byte_end=0,
        timestamp=None,
        role="user" if human else "assistant",
        kind="prompt" if human else "assistant_text",
        text=message["text"],
    )


class VectorCache:
    """Vectors by content hash, kept in one file a model."""

    def __init__(self, embedder: Embedder, directory: Path) -> None:
        """Read what an earlier run left in `directory`."""
        directory.mkdir(parents=True, exist_ok=True)
        self.embedder = embedder
        self._path = directory / f"{embedder.embedder_id.replace('/', '_')}.npz"
        self._vectors: dict[str, Vectors] = {}
        if self._path.is_file():
            with np.load(self._path) as stored:
                keys, rows = stored["keys"], stored["rows"]
            self._vectors = dict(zip(keys.tolist(), rows, strict=True))

    def vectors(self, texts: Sequence[RedactedText]) -> Vectors:
        """Return the rows of `texts`, embedding those that are new."""
        keys = [content_hash(text) for text in texts]
        new = {k: t for k, t in zip(keys, texts, strict=True) if k not in self._vectors}
        if new:
            rows = embed_redacted(self.embedder, list(new.values()))
            self._vectors.update(zip(new, rows, strict=True))
            np.savez(
                self._path,
                keys=np.array(list(self._vectors)),
                rows=np.stack(list(self._vectors.values())),
            )
        return np.stack([self._vectors[key] for key in keys])


def report(
    title: str,
    turns: Mapping[str, Sequence[Turn]],
    questions: Sequence[Question],
    compositions: Mapping[str, Composer],
    cache: VectorCache,
    recall: str,
) -> None:
    """Print a row for each composition."""
    print(f"\n{title}: {len(questions)} questions")
    print(f"{'':32}  top-1  top-3 top-10    MRR   {recall}@5 passages  tokens", flush=True)
    asked = cache.embedder.embed([question.text for question in questions])
    pieces = load_word_pieces()
    for name, composer in compositions.items():
        began = time.perf_counter()
        scores: list[tuple[float, ...]] = [()] * len(questions)
        passages = tokens = 0
        for corpus, members in turns.items():
            owners, texts = [], []
            for turn in members:
                for text in composer(turn):
                    owners.append(turn.id)
                    texts.append(text)
            passages += len(texts)
            tokens += sum(min(256, pieces.count_tokens(text)) for text in texts)
            rows = cache.vectors(texts)
            for at, question in enumerate(questions):
                if question.corpus == corpus:
                    scores[at] = score(ranked(rows @ asked[at], owners), question.answers)
        mean = np.mean(scores, axis=0)
        cells = " ".join(f"{100 * value:6.1f}" for value in mean[:3])
        print(
            f"{name:32} {cells} {mean[3]:6.3f} {100 * mean[4]:8.1f} {passages:8} {tokens:7}"
            f"  ({time.perf_counter() - began:.0f} s)",
            flush=True,
        )


def ranked(similarity: Vectors, owners: Sequence[str]) -> list[str]:
    """Return the turns, best first; a turn stands where its best passage does."""
    return list(dict.fromkeys(owners[at] for at in np.argsort(-similarity, kind="stable")))


def score(order: Sequence[str], answers: Sequence[str]) -> tuple[float, ...]:
    """Return hit at 1, 3, 10, the reciprocal rank, and the share of answers in the top 5."""
    places = sorted(order.index(answer) for answer in answers if answer in order)
    first = places[0] if places else len(order)
    hits = [float(first < most) for most in (1, 3, 10)]
    return (*hits, 1 / (first + 1), sum(place < 5 for place in places) / len(answers))


if __name__ == "__main__":
    main()
