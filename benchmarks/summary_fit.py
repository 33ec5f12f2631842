"""Fit what a sentence of a session is worth in its summary, and measure summaries against readers.

    python benchmarks/summary_fit.py [--work DIR] [--also MEMORY] [--apart] [--write]

`summary_labels.jsonl` has, for sessions of the dev transcripts, the title that a reader gave and
the sentences of the agent that a reader would quote as learned, as completed and as next steps: of
each the beginning of the SHA-256 of its text, so that none of it is shown here. Sessions without a
field were not read for it. Those with a repository are not in the dev transcripts: `--also` is a
memory of what these repositories hold on the branch `entire/checkpoints/v1`, of each session the
longest transcript. The weights are fitted with them.

The weights of `memory_assets/summaries/weights.txt` are those of a logistic regression with a
quadratic penalty. Sentences that are nearly the same as a marked one are not learned from.
`--apart` fits without the sessions of each eighth of the projects in turn and measures the
summaries of these; without it, the summaries as they are. `--write` writes the weights.

Printed by field: of the sentences shown the share that was marked, of those marked the share
shown, sessions with nothing marked in which the field is empty, sessions with something marked in
which one of that is shown.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
import tempfile
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence, Set
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from unittest import mock

import numpy as np
from dev_data import ingested
from numpy.typing import NDArray

from memory_assets.models import Summary
from memory_assets.recall import open_memory
from memory_assets.recall.sessions.records import whole_session
from memory_assets.session_analysis.session import SessionTurns
from memory_assets.session_analysis.statements import (
    AgentSentence,
    agent_sentences,
    are_alike,
    repeated_prompt_turns,
    vocabulary_of,
    withdrawn_turns,
)
from memory_assets.settings import load_settings
from memory_assets.stores.lake.schemas import SESSION_SUMMARIES
from memory_assets.summaries import clues, load_summarizer

Floats = NDArray[np.float32]
HERE = Path(__file__).parent
LABELS = HERE / "summary_labels.jsonl"
WEIGHTS = Path(clues.__file__).with_name("weights.txt")
FIELDS = ("learned", "completed", "next_steps")
FOLDS, LEAST, STEPS = 8, 10, 8
"""The second: in how many sentences a clue must occur."""
PENALTY, OF_WORDINGS = 15.0, 3.0
WORDINGS = ("cue=", "heading=", "lead=", "last,")
"""Of a weight's size: less for clues of wording, which are rarer than those of place and form."""
HEAD = 80
"""Characters by which a sentence is found in a field, which may show less than all of it."""


@dataclass(frozen=True)
class Labelled:
    """A session, the sentences of its last messages and recaps, and their clues; by each field that
    it was read for, the numbers of those that a reader marked."""

    session: SessionTurns
    sentences: list[AgentSentence]
    clues: list[list[str]]
    marked: Mapping[str, frozenset[int]]
    repeated: Mapping[str, set[int]]
    usable: frozenset[int]
    fold: int


def main() -> None:
    """Fit, print and write."""
    options = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    options.add_argument("--work", type=Path, help="directory to keep the memory in")
    options.add_argument("--also", type=Path, help="a memory of the other labelled sessions")
    options.add_argument("--apart", action="store_true", help="fit without each fold in turn")
    options.add_argument("--write", action="store_true", help="write the weights")
    given = options.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        memories = [ingested(given.work or Path(scratch)), *([given.also] if given.also else [])]
        cases = labelled(memories)
    summaries: dict[str, Summary] = {}
    summarizer = load_summarizer()
    for fold in range(FOLDS):
        print(f"eighth {fold + 1} of {FOLDS}", file=sys.stderr)
        learnt = fit([one for one in cases if one.fold != fold]) if given.apart else clues.WEIGHTS
        with mock.patch.object(clues, "WEIGHTS", learnt):
            for one in cases:
                if one.fold == fold:
                    summaries[one.session.session_id] = summarizer.summarize(one.session)
    for field in FIELDS:
        print(f"{field:11}", report(field, cases, summaries))
    if given.write:
        rows = (
            (clue, *(f"{weight:.2f}" for weight in weights)) for clue, weights in fit(cases).items()
        )
        WEIGHTS.write_text("".join("\t".join(row) + "\n" for row in rows), encoding="utf-8")


def labelled(memories: Sequence[Path]) -> list[Labelled]:
    """Return the labelled sessions of some memories, those of alike projects in the same fold."""
    labels = {
        row["session"]: row for row in map(json.loads, LABELS.read_text("utf-8").splitlines())
    }
    found: list[tuple[str, SessionTurns]] = []
    for memory in memories:
        opened = open_memory(load_settings(data_dir=memory))
        for project, name, *_ in opened.catalog.products.of_stage(SESSION_SUMMARIES.name):
            session = whole_session(opened, project, name) if name in labels else None
            if session is not None:
                found.append((project, session))
    folds = folds_of([project for project, _ in found])
    return [
        labelled_session(session, labels[session.session_id], fold)
        for (_, session), fold in zip(found, folds, strict=True)
    ]


def labelled_session(
    session: SessionTurns, row: Mapping[str, Sequence[str]], fold: int
) -> Labelled:
    """Return a session with what readers marked in it."""
    said = [one for one in agent_sentences(session.turns) if one.closing or one.recap]
    hashes = [sha256(one.text.encode()).hexdigest()[:10] for one in said]
    marked = {
        field: frozenset(at for at, it in enumerate(hashes) if it in row[field])
        for field in FIELDS
        if field in row
    }
    gone = withdrawn_turns(session) | repeated_prompt_turns(session)
    usable = frozenset(
        at for at, one in enumerate(said) if session.turns[one.turn_number].id not in gone
    )
    bags = [vocabulary_of(one.text) for one in said]
    near = {field: repeated(bags, those) for field, those in marked.items()}
    return Labelled(session, said, list(clues.clues(session, said)), marked, near, usable, fold)


def folds_of(projects: Sequence[str]) -> list[int]:
    """Return a fold for each project: those whose names end alike are in the same, and each gets
    the largest of such groups that is left while it has the fewest."""
    groups = [re.findall(r"[a-z]+", project.lower())[-1:] for project in projects]
    names = ["".join(group) for group in groups]
    sizes = [0] * FOLDS
    fold: dict[str, int] = {}
    for name, count in sorted(Counter(names).items(), key=lambda pair: (-pair[1], pair[0])):
        fold[name] = sizes.index(min(sizes))
        sizes[fold[name]] += count
    return [fold[name] for name in names]


def fit(cases: Sequence[Labelled]) -> dict[str, tuple[float, ...]]:
    """Return the weights of each clue, one for each field that is judged."""
    places = [(case, at) for case in cases for at in sorted(case.usable)]
    seen = Counter(clue for case, at in places for clue in case.clues[at])
    names = [clues.BASE, *sorted(c for c in seen if seen[c] >= LEAST and c != clues.BASE)]
    column = {name: number for number, name in enumerate(names)}
    rows = np.zeros((len(places), len(names)), dtype=np.float32)
    for number, (case, at) in enumerate(places):
        rows[number, [column[clue] for clue in case.clues[at] if clue in column]] = 1
    penalty = [OF_WORDINGS if name.startswith(WORDINGS) else PENALTY for name in names]
    fitted = [
        ridge(
            rows,
            np.array([0.01, *penalty[1:]], dtype=np.float32),
            np.array([at in case.marked.get(field, ()) for case, at in places], dtype=np.float32),
            np.array(
                [field in case.marked and at not in case.repeated[field] for case, at in places],
                dtype=np.float32,
            ),
        )
        for field in clues.Worth._fields
    ]
    return {name: tuple(float(one[at]) for one in fitted) for name, at in column.items()}


def ridge(rows: Floats, penalty: Floats, marked: Floats, counts: Floats) -> Floats:
    """Return the weights of a logistic regression, by Newton's method."""
    weights = np.zeros(rows.shape[1], dtype=np.float32)
    for _ in range(STEPS):
        chance = 1 / (1 + np.exp(-np.clip(rows @ weights, -20, 20)))
        slope = rows.T @ (counts * (marked - chance)) - penalty * weights
        bend = (rows.T * (counts * chance * (1 - chance))) @ rows + np.diag(penalty)
        weights = weights + np.linalg.solve(bend, slope).astype(np.float32)
    return weights


def repeated(bags: Sequence[frozenset[str]], marked: Set[int]) -> set[int]:
    """Return the sentences that are nearly the same as a marked one and not marked themselves."""
    return {
        at
        for at, bag in enumerate(bags)
        if at not in marked
        and len(bag) > 3
        and any(are_alike(bag, bags[other]) for other in marked)
    }


def report(field: str, cases: Iterable[Labelled], summaries: Mapping[str, Summary]) -> str:
    """Return how many sentences of a field were marked, and the other figures."""
    counts: Counter[str] = Counter()
    for case in (case for case in cases if field in case.marked):
        told = getattr(summaries[case.session.session_id], field)
        shown = shown_in(told, [one.text for one in case.sentences])
        marked = {words(case.sentences[at].text) for at in case.marked[field]}
        hits = {one for one in marked if any(one in other or other in one for other in shown)}
        right = {one for one in shown if any(one in other or other in one for other in marked)}
        counts["shown"] += len(shown)
        counts["right"] += len(right)
        counts["marked"] += len(marked)
        counts["hits"] += len(hits)
        counts["full" if marked else "empty"] += 1
        counts["any"] += bool(hits)
        counts["rightly empty"] += not marked and not told
    return (
        f"right {counts['right']}/{counts['shown']} = {counts['right'] / counts['shown']:.3f}, "
        f"found {counts['hits']}/{counts['marked']} = {counts['hits'] / counts['marked']:.3f}, "
        f"rightly empty {counts['rightly empty']}/{counts['empty']}, "
        f"some of it {counts['any']}/{counts['full']}"
    )


def shown_in(told: str, said: Iterable[str]) -> set[str]:
    """Return the sentences that a field begins to show, none that is part of another one."""
    field = f" {words(told)} "
    found = {whole for one in said if len(whole := words(one)) > 12 and f" {whole[:HEAD]}" in field}
    return {one for one in found if not any(one != other and one in other for other in found)}


def words(text: str) -> str:
    """Return a text in small letters, without signs."""
    return " ".join(re.findall(r"\w+", text.lower()))


if __name__ == "__main__":
    main()
