"""Fit the models that say which sentences of the agent and which answers tell a decision.

    python benchmarks/told_fit.py DATA_DIR... [--write]

benchmarks/told.jsonl has what was judged by reading, without a word of it: by session, the `seq` of
each record and the start of the hash of the title, right or wrong. Right is a decision whose title,
read alone in a list three months later, tells a developer of the project what was decided about
the product or its code. The session's id is in the name of its file in the repository, or, of chats
in Markdown, made of repository and path. Sentences of the human count less in the model of the
agent's, and have a feature of their own: words tell much the same of both, but only those of the
agent are chosen by it.

DATA_DIR: memories that these sessions were ingested into; a session that is in none is left out.
Printed, for both models: by eight-fold cross-validation over the repositories' owners, how many
right ones are found at some precision, and at which limit. The limit for 90 % is part of the
weights, which --write writes into the package.
"""

from __future__ import annotations

import argparse
import hashlib
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from retrieval import HERE, lines

from memory_assets.chunking import build_turns
from memory_assets.models import Turn
from memory_assets.observations import answered, told
from memory_assets.observations.choices import answers
from memory_assets.observations.linear import ALWAYS
from memory_assets.observations.moments import TITLE_LIMIT
from memory_assets.redacted_text import RedactedText, compose
from memory_assets.session_analysis.phrases import shorten
from memory_assets.session_analysis.sentences import own_words, request_sentences
from memory_assets.session_analysis.statements import all_said, in_context
from memory_assets.stores.lake.lake import Lake
from memory_assets.stores.lake.schemas import REDACTED_RECORDS

Floats = NDArray[np.float64]
LABELS = HERE / "told.jsonl"
FOLDS, FEWEST, RIDGE, STEPS = 8, 5, 1.0, 400
OF_HUMAN, COUNT_OF_HUMAN = "<human>", 0.6
SHORTEST_QUESTION = 60
PRECISION = 0.9
HEADER = """\
# Weights of {module}.py, by benchmarks/told_fit.py: weight, and {features}.
# Summed with <always>; from 0 on it tells a decision.
"""


@dataclass(frozen=True)
class Kind:
    """What a model is fitted to: who said it, how strong the lasso is, of how many owners a feature
    must be, and what its features are."""

    who: tuple[str, ...]
    lasso: float
    owners: int
    weights: Path
    features: str


KINDS = (
    Kind(
        ("agent", "human"),
        2.0,
        6,
        told.WEIGHTS,
        "a word, two words in a row, or between <>\n# what a sentence is about",
    ),
    Kind(
        ("answer",),
        0.5,
        3,
        answered.WEIGHTS,
        "what an answer or its question is about",
    ),
)


@dataclass(frozen=True)
class Case:
    """A sentence or an answer that was judged."""

    who: str
    features: frozenset[str]
    right: bool
    owner: str


def main() -> None:
    """Print how well the models do, and write them if asked to."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("data_dirs", type=Path, nargs="+", metavar="DATA_DIR")
    parser.add_argument("--write", action="store_true", help="write the weights")
    options = parser.parse_args()
    judged = {row["session"]: row for row in lines(LABELS)}
    found = [case for path in options.data_dirs for case in cases(path, judged)]
    for kind in KINDS:
        of_kind = [case for case in found if case.who in kind.who]
        limit = report(kind, of_kind)
        weights = fitted(kind, of_kind)
        weights[""] -= limit
        if options.write:
            write(kind, weights)


def report(kind: Kind, found: Sequence[Case]) -> float:
    """Print how many are found at some precision, and return the limit for 90 %."""
    unseen = [(case, value) for case, value in validated(kind, found) if case.who == kind.who[0]]
    values = np.array([value for _, value in unseen])
    right = np.array([case.right for case, _ in unseen])
    owners = len({case.owner for case in found})
    print(f"{kind.who[0]}: {len(unseen)}, {int(right.sum())} right; {owners} owners")
    for precision in (0.95, PRECISION, 0.85, 0.8):
        limit = limit_for(values, right, precision)
        taken = values >= limit
        print(
            f"{precision:.2f}: {int(right[taken].sum())} of {int(taken.sum())}, limit {limit:.2f}"
        )
    return limit_for(values, right, PRECISION)


def cases(data_dir: Path, judged: dict[str, dict[str, str]]) -> Iterator[Case]:
    """Yield what was judged of the sessions that a memory has; a session is yielded once."""
    lake = Lake(data_dir / "lake")
    for project in lake.projects(REDACTED_RECORDS):
        for session in lake.sessions(REDACTED_RECORDS, project):
            if row := judged.pop(session, None):
                turns = build_turns(lake.read_rows(REDACTED_RECORDS, project, session))
                yield from of_session(row, turns)


def of_session(row: dict[str, str], turns: Iterable[Turn]) -> Iterator[Case]:
    """Yield what was judged of a session, each once."""
    owner = row["repository"].split("/")[0].lower()
    verdicts = {
        (who, one): verdict == "right"
        for who in ("agent", "human", "answer")
        for verdict in ("right", "wrong")
        for one in row.get(f"{who} {verdict}", "").split()
    }
    for turn in turns:
        for who, named, features in said_in(turn):
            right = verdicts.pop((who, named), None)
            if right is not None and features:
                yield Case(who, frozenset(features), right, owner)


def said_in(turn: Turn) -> Iterator[tuple[str, str, set[str]]]:
    """Yield who said each sentence or answer of a turn, its place and hash, and its features."""
    for one in all_said([turn]):
        yield "agent", place(one.record.seq, in_context(one)), told.features(one)
    if turn.prompt is not None:
        for sentence in request_sentences(own_words(turn.prompt.text))[:12]:
            features = told.features_of(sentence.text)
            named = place(turn.prompt.seq, sentence.text)
            yield "human", named, features | ({OF_HUMAN} if features else set())
    for record, pairs in answers(turn):
        for question, answer in pairs:
            room = max(TITLE_LIMIT - len(answer) - 3, SHORTEST_QUESTION)
            title = compose("{} → {}", shorten(question, room), answer)
            yield "answer", name(record.seq, title), answered.features(question, answer)


def place(seq: int, text: RedactedText) -> str:
    """Return what a judged sentence is called by."""
    return name(seq, shorten(text, TITLE_LIMIT))


def name(seq: int, title: str) -> str:
    """Return what a judged title is called by."""
    return f"{seq}:{hashlib.sha256(title.encode()).hexdigest()[:8]}"


def validated(kind: Kind, found: Sequence[Case]) -> list[tuple[Case, float]]:
    """Return each case with its value by a model that was fitted without its owner."""
    result = []
    for fold in range(FOLDS):
        held = [case for case in found if fold_of(case.owner) == fold]
        weights = fitted(kind, [case for case in found if fold_of(case.owner) != fold])
        result += [(case, value_of(case, weights)) for case in held]
    return result


def fold_of(owner: str) -> int:
    """Return which part of the cross-validation an owner is in."""
    return int(hashlib.sha1(f"f{owner}".encode()).hexdigest(), 16) % FOLDS


def value_of(case: Case, weights: dict[str, float]) -> float:
    """Return the sum of a sentence's weights."""
    return weights[""] + sum(weights.get(feature, 0.0) for feature in case.features)


def limit_for(values: Floats, right: NDArray[np.bool_], precision: float) -> float:
    """Return the lowest value from which on so many are right, of 15 at least."""
    order = np.argsort(-values, kind="stable")
    share = np.cumsum(right[order]) / np.arange(1, len(order) + 1)
    enough = [at for at in np.flatnonzero(share >= precision) if at >= 14]
    return float(values[order][enough[-1]]) if enough else float("inf")


def fitted(kind: Kind, found: Sequence[Case]) -> dict[str, float]:
    """Return the weights of a logistic regression with lasso and ridge, "" for the intercept. A
    feature counts if several owners have it."""
    seen: Counter[str] = Counter()
    owners: dict[str, set[str]] = defaultdict(set)
    for case in found:
        seen.update(case.features)
        for feature in case.features:
            owners[feature].add(case.owner)
    names = sorted(one for one in seen if seen[one] >= FEWEST and len(owners[one]) >= kind.owners)
    table = np.array(
        [[name in case.features for name in names] for case in found], dtype=np.float64
    )
    right = np.array([case.right for case in found], dtype=np.float64)
    counts = np.array([COUNT_OF_HUMAN if case.who == "human" else 1.0 for case in found])
    intercept, weights = regression(table, right, counts, kind.lasso)
    kept = {name: float(one) for name, one in zip(names, weights, strict=True) if one}
    return {"": intercept, **kept}


def regression(table: Floats, right: Floats, counts: Floats, lasso: float) -> tuple[float, Floats]:
    """Return intercept and weights, by accelerated proximal gradient steps."""
    step = 1 / (0.3 * float(np.linalg.norm(table * np.sqrt(counts)[:, None], 2)) ** 2 + RIDGE)
    weights = ahead = np.zeros(table.shape[1])
    intercept, pace = 0.0, 1.0
    for _ in range(STEPS):
        error = counts * (1 / (1 + np.exp(-table @ ahead - intercept)) - right)
        moved = ahead - step * (table.T @ error + RIDGE * ahead)
        shrunk = np.sign(moved) * np.maximum(np.abs(moved) - lasso * step, 0)
        intercept -= float(error.sum() / (0.5 * counts.sum()))
        following = (1 + (1 + 4 * pace**2) ** 0.5) / 2
        ahead = shrunk + (pace - 1) / following * (shrunk - weights)
        weights, pace = shrunk, following
    return intercept, weights


def write(kind: Kind, weights: dict[str, float]) -> None:
    """Write the weights that a model needs, the largest first."""
    rows = [(weights[""], ALWAYS)]
    names = [one for one in weights if one not in ("", OF_HUMAN)]
    rows += [(weights[one], one) for one in sorted(names, key=lambda one: -weights[one])]
    table = "".join(
        f"{weight:.2f}\t{feature}\n" for weight, feature in rows if abs(weight) >= 0.005
    )
    header = HEADER.format(module=kind.weights.stem, features=kind.features)
    kind.weights.write_text(header + table, encoding="utf-8")


if __name__ == "__main__":
    main()
