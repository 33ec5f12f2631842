"""What MEMORY_PROMOTE=on makes of the dev transcripts, to be judged by who reads it.

    python benchmarks/promotion.py [--work DIR] [--half A] [--review FILE]
    python benchmarks/promotion.py --said

Without `--said`: the memories that the sessions of each project show, as they are, with how many
there are and how many of those that were judged are worth keeping. Half A of the projects (by a
hash of their name) is for choosing rules, half B for reporting. `--review` writes them with the
turns that show them, and without a verdict, for a reader who did not write the rule. A verdict in
promotion.jsonl names a memory by a hash; it counts as long as the memory has the same text. The
dev transcripts are ingested without vectors; a work directory that is kept is brought up to date.

`--said`: of the sentences in lasting.tsv, which say that they last or only look so (half A was for
choosing the rule), how many it tells; then the sentences of users' prompts in which they ask that
something be remembered, and what this rule finds in agents' answers and in LoCoMo's conversations,
of which nothing is promoted.
"""

from __future__ import annotations

import argparse
import json
import re
import tempfile
from collections import Counter
from collections.abc import Iterable, Iterator
from hashlib import sha256
from pathlib import Path
from typing import Any

from dev_data import ingested, source_of, unpack
from retrieval import HERE, lines

from memory_assets.agent_memory.promotion import is_typed, promotable
from memory_assets.errors import TranscriptError
from memory_assets.models import Turn
from memory_assets.pipeline.agent_memory.session_promotion import candidates, sessions_read
from memory_assets.pipeline.stage.components import Components
from memory_assets.procedures.project import Lasting
from memory_assets.redaction import Redactor, load_redactor
from memory_assets.session_analysis.sentences import parse_sentences
from memory_assets.settings import load_settings
from memory_assets.stores.lake.schemas import REDACTED_RECORDS
from memory_assets.transcripts import read_session

AGENTS = {"claude", "codex", "pi"}
LOCOMO = "locomo_dev/messages.jsonl"
VERDICTS = HERE / "promotion.jsonl"
MOST_SHOWN = 8
"""Calls of a turn that a reader is shown."""
MOST_CHARACTERS = 240
"""Of each of them."""


def main() -> None:
    """Print what is promoted of sessions, or with `--said` what users said."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--work", type=Path, help="directory to keep the memory in")
    parser.add_argument("--half", choices=("A", "B"), help="only this half")
    parser.add_argument("--review", type=Path, help="file for a reader without verdicts")
    parser.add_argument("--said", action="store_true", help="what users said to be remembered")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        if options.said:
            print_said(Path(scratch))
            return
        data_dir = ingested(options.work or Path(scratch))
        components = Components(load_settings(data_dir=data_dir, embedder="none"))
        rows = [row for row in shown(components) if row["half"] == (options.half or row["half"])]
    for row in rows:
        print(f"{row['half']} {row['project']} [{row['topic']}] {row['text']}")
    report(rows)
    if options.review:
        options.review.write_text("".join(f"{json.dumps(row)}\n" for row in rows))


def shown(components: Components) -> Iterator[dict[str, Any]]:
    """Yield what the sessions of each project show, with the turns that show it."""
    for project in components.lake.projects(REDACTED_RECORDS):
        found = list(sessions_read(components, project))
        turns = {turn.id: turn for session in found for turn in session.turns}
        for each in candidates(found):
            yield {
                "id": identity(project, each),
                "half": half_of(project),
                "project": project,
                "topic": each.topic,
                "text": each.text,
                "confidence": each.confidence,
                "last": each.at.isoformat() if each.at is not None else None,
                "turns": list(each.sources),
                "evidence": {name: evidence(each.text, turns[name]) for name in each.sources},
            }


def evidence(text: str, turn: Turn) -> list[str]:
    """Return the calls of a turn that have a word in common with what a memory quotes, and whether
    they failed; else its prompt."""
    quoted = {word for part in re.findall(r"`([^`]+)`", text) for word in part.split()}
    words = {word for word in quoted if len(word) > 3 or word == "git"}
    calls = dict[str, None]()
    for record in turn.records:
        called = str(record.command) or " ".join(map(str, record.paths))
        if record.kind == "tool_result" and any(word in called for word in words):
            outcome = "failed" if record.is_error else "ended"
            calls[f"{outcome}: {called[:MOST_CHARACTERS]}"] = None
    if not calls and turn.prompt is not None:
        return [f"prompt: {turn.prompt.text[:MOST_CHARACTERS]}"]
    return list(calls)[-MOST_SHOWN:]


def half_of(project: str) -> str:
    """Return the half of a project."""
    return "AB"[sha256(project.encode()).digest()[0] & 1]


def identity(project: str, candidate: Lasting) -> str:
    """Return by what a verdict names a memory."""
    return sha256(f"{project}\0{candidate.text}".encode()).hexdigest()[:16]


def report(rows: list[dict[str, Any]]) -> None:
    """Print numbers and verdicts by half."""
    verdicts = list(lines(VERDICTS)) if VERDICTS.exists() else []
    for half in sorted({row["half"] for row in rows}):
        of_half = {row["id"]: row for row in rows if row["half"] == half}
        projects = len({row["project"] for row in of_half.values()})
        print(f"\nhalf {half}: {len(of_half)} memories of {projects} projects")
        by_reader: dict[str, Counter[bool]] = {}
        for verdict in verdicts:
            if verdict["id"] in of_half:
                by_reader.setdefault(verdict["reader"], Counter())[verdict["keep"]] += 1
        for reader, counts in by_reader.items():
            print(f"  judged by {reader}: {counts[True]} of {counts.total()} worth keeping")


def print_said(scratch: Path) -> None:
    """Print each sentence with its type, then how many there are in how many texts."""
    for half in "AB":
        given = [line.split("\t") for line in (HERE / "lasting.tsv").read_text().splitlines()]
        taken = Counter(label for at, label, text in given if at == half and promotable(text))
        whole = Counter(label for at, label, _ in given if at == half)
        found = " and ".join(f"{taken[label]} of {whole[label]} {label!r}" for label in whole)
        print(f"half {half} of lasting.tsv: taken are {found}")
    redactor = load_redactor()
    prompts: dict[str, str] = {}
    answers: set[str] = set()
    for path in sorted(unpack("transcripts.tar.xz", scratch).rglob("*.jsonl")):
        if "growth" in path.parts or not AGENTS & set(path.parts):
            continue
        try:
            for record in read_session(path, source=source_of(path)):
                if record.kind == "prompt" and record.agent_id is None:
                    prompts[record.text] = record.session_id
                elif record.kind == "assistant_text":
                    answers.add(record.text)
        except TranscriptError:
            continue
    messages = (unpack("retrieval.tar.xz", scratch) / LOCOMO).read_text().splitlines()
    of_sessions = f"prompts of {len(set(prompts.values()))} sessions"
    print_found(redactor, filter(is_typed, prompts), f"{len(prompts)} {of_sessions}")
    print_found(redactor, sorted(answers), f"{len(answers)} answers of agents")
    said = [json.loads(line)["text"] for line in messages]
    print_found(redactor, said, f"{len(said)} messages of LoCoMo")


def print_found(redactor: Redactor, texts: Iterable[str], of: str) -> None:
    """Print the sentences that the rule finds in texts, and their number."""
    count = 0
    for text in texts:
        for sentence in parse_sentences(redactor.redact(text).text):
            if found := promotable(sentence.text):
                count += 1
                print(f"{found.type}: {sentence.text}")
    print(f"{count} of {of}\n")


if __name__ == "__main__":
    main()
