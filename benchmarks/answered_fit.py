"""Fit the model that says which answers to an agent's questions decide something.

    python benchmarks/answered_fit.py DATA_DIR... [--write]

benchmarks/answered.jsonl has what was judged by reading, without a word of it: by session, the
`seq` of each record and the start of the hash of the title, right or wrong. Right is a decision
whose title, read alone in a list three months later, tells a developer of the project what was
decided about the product or its code. The session's id is in the name of its file in the
repository, or, of chats in Markdown, made of repository and path.

DATA_DIR: memories that these sessions were ingested into; a session that is in none is left out.
Printed: by eight-fold cross-validation over the repositories' owners, how many right ones are
found at some precision, and at which limit. The limit for 90 % is part of the weights, which
--write writes into the package.
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
from memory_assets.observations import answered
from memory_assets.observations.choices import answers
from memory_assets.observations.linear import ALWAYS
from memory_assets.observations.moments import TITLE_LIMIT
from memory_assets.redacted_text import compose
from memory_assets.session_analysis.phrases import shorten
from memory_assets.stores.lake.lake import Lake
from memory_assets.stores.lake.schemas import REDACTED_RECORDS

Floats = NDArray[np.float64]
LABELS = HERE / "answered.jsonl"
FOLDS, FEWEST, RIDGE, STEPS = 8, 5, 1.0, 400
LASSO, FEWEST_OWNERS = 0.5, 3
"""How strong the lasso is, and of how many owners a feature must be."""
SHORTEST_QUESTION = 60
PRECISION = 0.9
HEADER = """\
# Weights of answered.py, by benchmarks/answered_fit.py: weight, and what an answer or its question
# is about. Summed with <always>; from 0 on it tells a decision.
"""


@dataclass(frozen=True)
class Case:
    """An answer that was judged."""

    features: frozenset[str]
    right: bool
    owner: str


def main() -> None:
    """Print how well the model does, and write it if asked to."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("data_dirs", type=Path, nargs="+", metavar="DATA_DIR")
    parser.add_argument("--write", action="store_true", help="write the weights")
    options = parser.parse_args()
    judged = {row["session"]: row for row in lines(LABELS)}
    found = [case for path in options.data_dirs for case in cases(path, judged)]
    limit = report(found)
    weights = fitted(found)
    weights[""] -= limit
    if options.write:
        write(weights)


def report(found: Sequence[Case]) -> float:
    """Print how many are found at some precision, and return the limit for 90 %."""
    unseen = validated(found)
    values = np.array([value for _, value in unseen])
    right = np.array([case.right for case, _ in unseen])
    owners = len({case.owner for case in found})
    print(f"{len(unseen)}, {int(right.sum())} right; {owners} owners")
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
        one: verdict == "right"
        for verdict in ("right", "wrong")
        for one in row.get(verdict, "").split()
    }
    for turn in turns:
        for named, features in answers_in(turn):
            right = verdicts.pop(named, None)
            if right is not None and features:
                yield Case(frozenset(features), right, owner)


def answers_in(turn: Turn) -> Iterator[tuple[str, set[str]]]:
    """Yield the place and hash of each answer of a turn, and its features."""
    for record, pairs in answers(turn):
        for question, answer in pairs:
            room = max(TITLE_LIMIT - len(answer) - 3, SHORTEST_QUESTION)
            title = compose("{} → {}", shorten(question, room), answer)
            yield name(record.seq, title), answered.features(question, answer)


def name(seq: int, title: str) -> str:
    """Return what a judged title is called by."""
    return f"{seq}:{hashlib.sha256(title.encode()).hexdigest()[:8]}"


def validated(found: Sequence[Case]) -> list[tuple[Case, float]]:
    """Return each case with its value by a model that was fitted without its owner."""
    result = []
    for fold in range(FOLDS):
        held = [case for case in found if fold_of(case.owner) == fold]
        weights = fitted([case for case in found if fold_of(case.owner) != fold])
        result += [(case, value_of(case, weights)) for case in held]
    return result


def fold_of(owner: str) -> int:
    """Return which part of the cross-validation an owner is in."""
    return int(hashlib.sha1(f"f{owner}".encode()).hexdigest(), 16) % FOLDS


def value_of(case: Case, weights: dict[str, float]) -> float:
    """Return the sum of a case's weights."""
    return weights[""] + sum(weights.get(feature, 0.0) for feature in case.features)


def limit_for(values: Floats, right: NDArray[np.bool_], precision: float) -> float:
    """Return the lowest value from which on so many are right, of 15 at least."""
    order = np.argsort(-values, kind="stable")
    share = np.cumsum(right[order]) / np.arange(1, len(order) + 1)
    enough = [at for at in np.flatnonzero(share >= precision) if at >= 14]
    return float(values[order][enough[-1]]) if enough else float("inf")


def fitted(found: Sequence[Case]) -> dict[str, float]:
    """Return the weights of a logistic regression with lasso and ridge, "" for the intercept. A
    feature counts if several owners have it."""
    seen: Counter[str] = Counter()
    owners: dict[str, set[str]] = defaultdict(set)
    for case in found:
        seen.update(case.features)
        for feature in case.features:
            owners[feature].add(case.owner)
    names = sorted(one for one in seen if seen[one] >= FEWEST and len(owners[one]) >= FEWEST_OWNERS)
    table = np.array(
        [[name in case.features for name in names] for case in found], dtype=np.float64
    )
    right = np.array([case.right for case in found], dtype=np.float64)
    intercept, weights = regression(table, right, LASSO)
    kept = {name: float(one) for name, one in zip(names, weights, strict=True) if one}
    return {"": intercept, **kept}


def regression(table: Floats, right: Floats, lasso: float) -> tuple[float, Floats]:
    """Return intercept and weights, by accelerated proximal gradient steps."""
    step = 1 / (0.3 * float(np.linalg.norm(table, 2)) ** 2 + RIDGE)
    weights = ahead = np.zeros(table.shape[1])
    intercept, pace = 0.0, 1.0
    for _ in range(STEPS):
        error = 1 / (1 + np.exp(-table @ ahead - intercept)) - right
        moved = ahead - step * (table.T @ error + RIDGE * ahead)
        shrunk = np.sign(moved) * np.maximum(np.abs(moved) - lasso * step, 0)
        intercept -= float(error.sum() / (0.5 * len(error)))
        following = (1 + (1 + 4 * pace**2) ** 0.5) / 2
        ahead = shrunk + (pace - 1) / following * (shrunk - weights)
        weights, pace = shrunk, following
    return intercept, weights


def write(weights: dict[str, float]) -> None:
    """Write the weights that the model needs, the largest first."""
    rows = [(weights[""], ALWAYS)]
    names = [one for one in weights if one]
    rows += [(weights[one], one) for one in sorted(names, key=lambda one: -weights[one])]
    table = "".join(
        f"{weight:.2f}\t{feature}\n" for weight, feature in rows if abs(weight) >= 0.005
    )
    answered.WEIGHTS.write_text(HEADER + table, encoding="utf-8")


if __name__ == "__main__":
    main()
