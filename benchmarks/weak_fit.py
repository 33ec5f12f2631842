"""Fit the model that says which hits are weak, and print its coefficients.

    python benchmarks/weak_fit.py --work DIR

Asked of the memories of benchmarks/retrieval.py: what benchmarks/weak.jsonl and short.jsonl mark
`fit` and `added` (`test` to `test6`: nothing), benchmarks/questions.jsonl, and of three
conversations of LoCoMo a hundred questions each, asked of their own one and of another. Those of
real sessions are asked again of all sessions but the ones that answer (where all hits are wrong),
and of 30 and 8 % of the sessions. A question counts if its first hit is right or if it has no
answer.

Printed by mode, by ten-fold cross-validation over sessions, five times: of the questions without
an answer the share called weak when 5 % of those with a right first hit are, for each kind of
memory; then what to write into `memory_assets/recall/search/confidence.py`.
"""

from __future__ import annotations

import argparse
import math
import random
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from unittest import mock

import numpy as np
from numpy.typing import NDArray
from retrieval import Labelled, Question, locomo, real
from weak import UNSEEN, own, short

from memory_assets.recall import Memory
from memory_assets.recall.search import confidence, hybrid
from memory_assets.recall.search.corpus import Corpus
from memory_assets.stores.chroma import server as chroma_server

Floats = NDArray[np.float64]
SHARES = (0.3, 0.08)
"""Of all sessions, those that smaller memories have."""
COUNTS = {"all": 1.0, "without": 0.5, "0.3": 0.35, "0.08": 0.35, "locomo": 0.3}
"""How much a question counts, by the memory that it was asked of."""
OF_VECTORS = ("cosine", "lead")
"""Figures that there are only with vectors."""
PER_CONVERSATION, FOLDS, TIMES, FALSE, RIDGE = 100, 10, 5, 0.05, 1.0


@dataclass(frozen=True)
class Case:
    """A question asked of a memory: its figures, whether its first hit is right, and the session
    or conversation that it is about, which is left out as a whole."""

    figures: dict[str, float]
    right: bool
    memory: str
    group: str


def main() -> None:
    """Print two models."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--work", type=Path, required=True, help="directory of the memories")
    work = parser.parse_args().work
    memories = real(work / "real", None), locomo(work / "locomo", None)
    try:
        for mode in ("hybrid", "keyword"):
            cases = [*of_sessions(*memories[0], mode), *of_conversations(*memories[1], mode)]
            report(mode, cases)
    finally:
        for memory, _ in memories:
            chroma_server.stop(memory.data_dir)


def of_sessions(memory: Memory, labelled: Labelled, mode: str) -> Iterator[Case]:
    """Yield the questions about real sessions, asked of all and of some of them."""
    answers: dict[str, set[str]] = {}
    for turn, numbers in labelled.units_of.items():
        for number in numbers:
            answers.setdefault(number, set()).add(turn)
    asked = [(each.text, answers[min(each.gold)]) for each in labelled.questions]
    for half in ("fit", "added", "added2"):
        asked += [(question.text, set(question.gold)) for question, _ in own(half)]
    asked += [(question.text, set(question.gold)) for question, _ in short("fit", labelled)]
    sessions = {turn.split("::")[1] for turn in labelled.units_of}
    for number, (text, gold) in enumerate(asked):
        of = {each.split("::")[1] for each in gold}
        group = min(of, default=f"none-{number}")
        memories = {"all": sessions, "without": sessions - of}
        for share in SHARES:
            chosen = random.Random(f"{text}{share}").sample(
                sorted(sessions - of), int(share * len(sessions))
            )
            memories[str(share)] = {*chosen, *of}
        for name, within in memories.items():
            if name == "without" and not gold:
                continue
            case = ask(memory, Question(text, None, frozenset(gold)), mode, within)
            if case is not None:
                figures, first = case
                answered = bool(gold) and name != "without"
                if first in gold or not answered:
                    yield Case(figures, answered, name, group)


def of_conversations(memory: Memory, labelled: Labelled, mode: str) -> Iterator[Case]:
    """Yield questions about conversations that no figure is reported of."""
    projects = sorted({str(each.project) for each in labelled.questions} - set(UNSEEN))
    chance = random.Random(3)
    for project in projects:
        of = [each for each in labelled.questions if each.project == project]
        for question in chance.sample(of, min(PER_CONVERSATION, len(of))):
            other = chance.choice([each for each in projects if each != project])
            for where in (project, other):
                case = ask(memory, Question(question.text, where, question.gold), mode, None)
                if case is not None:
                    figures, first = case
                    right = bool(labelled.units_of.get(first, frozenset()) & question.gold)
                    if right or where == other:
                        yield Case(figures, right and where == project, "locomo", where)


def ask(
    memory: Memory, question: Question, mode: str, within: set[str] | None
) -> tuple[dict[str, float], str] | None:
    """Return the figures and the id of the first hit among these sessions (None: all)."""
    seen: list[confidence.Evidence] = []

    def judged(
        turns: Sequence[int], evidence: confidence.Evidence, _: float
    ) -> list[confidence.Confidence]:
        seen.append(evidence)
        return [confidence.Confidence(0.0, 0.0) for _ in turns]

    def allowed(corpus: Corpus, *_: object) -> NDArray[np.bool_]:
        inside = [key.session_id in (within or ()) for key in corpus.sessions]
        return np.array(inside, dtype=np.bool_)[corpus.session]

    with mock.patch.object(hybrid, "confidences", judged):
        if within is None:
            hits = memory.search(question.text, mode=mode, project=question.project, n=1).hits
        else:
            with mock.patch.object(hybrid, "allowed_turns", allowed):
                hits = memory.search(question.text, mode=mode, n=1).hits
    return (seen[0].figures(seen[0].field[0]), hits[0].turn_id) if hits else None


def report(mode: str, cases: Sequence[Case]) -> None:
    """Print how well the model of a mode does, and the model."""
    names = [name for name in cases[0].figures if mode == "hybrid" or name not in OF_VECTORS]
    table = np.array([[case.figures[name] for name in names] for case in cases])
    right = np.array([case.right for case in cases], dtype=np.float64)
    counts = balanced(cases)
    memory = np.array([case.memory for case in cases])
    groups = sorted({case.group for case in cases})
    rows = []
    for seed in range(TIMES):
        folds = dict(zip(groups, np.random.default_rng(seed).permutation(len(groups)), strict=True))
        fold = np.array([folds[case.group] % FOLDS for case in cases])
        values = np.zeros(len(cases))
        for each in range(FOLDS):
            others = fold != each
            intercept, weights = fitted(table[others], right[others], counts[others])
            values[~others] = intercept + table[~others] @ weights
        limit = bar(values[(memory == "all") & (right == 1)])
        own_limit = bar(values[(memory == "locomo") & (right == 1)])
        row = [1 / (1 + math.exp(-limit)), 1 / (1 + math.exp(-own_limit))]
        for name in COUNTS:
            among = memory == name
            row += [float(np.mean(values[among & (right == 0)] < limit))]
            row += (
                [float(np.mean(values[among & (right == 1)] < limit))] if name != "without" else []
            )
        rows.append(row)
    mean = np.mean(rows, axis=0)
    print(f"\n{mode}: {len(cases)} cases, {int(right.sum())} right")
    print(f"limit {mean[0]:.3f} (LoCoMo's own {mean[1]:.3f}); weak without an answer, and right:")
    print(
        "  all {:.3f} {:.3f}  without {:.3f}  30 % {:.3f} {:.3f}  8 % {:.3f} {:.3f}  "
        "LoCoMo {:.3f} {:.3f}".format(*mean[2:])
    )
    intercept, weights = fitted(table, right, counts)
    model = {name: float(f"{weight:.3g}") for name, weight in zip(names, weights, strict=True)}
    print(f"  {intercept:.3g}, {model}")


def balanced(cases: Sequence[Case]) -> Floats:
    """Return how much each case counts: of each kind of memory, those with a right first hit count
    as much as those without."""
    kinds = [("all" if case.memory == "without" else case.memory, case.right) for case in cases]
    counts = np.array([COUNTS[case.memory] for case in cases])
    total: Counter[tuple[str, bool]] = Counter()
    for kind, count in zip(kinds, counts, strict=True):
        total[kind] += count
    halves = [sum(total[name, each] for each in (False, True)) / 2 for name, _ in kinds]
    return np.array(
        [
            count * half / total[kind]
            for kind, count, half in zip(kinds, counts, halves, strict=True)
        ]
    )


def bar(values: Floats) -> float:
    """Return the value below which at most 5 % of these are."""
    return float(np.sort(values)[int(FALSE * len(values))])


def fitted(table: Floats, right: Floats, counts: Floats) -> tuple[float, Floats]:
    """Return intercept and weights of a logistic regression with a small ridge."""
    centre, spread = table.mean(axis=0), table.std(axis=0) + 1e-9
    scaled = np.column_stack([np.ones(len(table)), (table - centre) / spread])
    ridge = RIDGE * np.diag([0.0, *np.ones(table.shape[1])])
    weights = np.zeros(scaled.shape[1])
    for _ in range(50):
        likely = 1 / (1 + np.exp(-scaled @ weights))
        slope = scaled.T @ (counts * (likely - right)) + ridge @ weights
        bend = (scaled.T * (counts * likely * (1 - likely))) @ scaled + ridge
        weights -= np.linalg.solve(bend, slope)
    by_figure = weights[1:] / spread
    return float(weights[0] - by_figure @ centre), by_figure


if __name__ == "__main__":
    main()
