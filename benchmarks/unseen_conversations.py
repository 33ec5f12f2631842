"""What hybrid search finds in a conversation of LoCoMo on which none of its weights was chosen.

    python benchmarks/unseen_conversations.py [--work DIR]

The weight of neighbouring turns and the least weight of meaning are chosen from a grid on four of
the five conversations, by R@5, and measured on the fifth, five times; beside it what each
conversation has with the weights of the product. `--work` is that of benchmarks/retrieval.py.
"""

from __future__ import annotations

import argparse
import itertools
import tempfile
from collections import defaultdict
from pathlib import Path

import numpy as np
from retrieval import Labelled, locomo, rankers, score

from memory_assets.recall import Memory
from memory_assets.recall.search import ranking
from memory_assets.stores.chroma import server as chroma_server

NEIGHBOUR = (0.4, 0.6, 0.8, 1.0)
MEANING = (0.3, 0.36, 0.42, 0.5, 0.6)
Weights = tuple[float, float]


def main() -> None:
    """Print a row a conversation, and all questions together."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--work", type=Path, help="directory to keep the memory in")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        memory, labelled = locomo((options.work or Path(scratch)) / "locomo", None)
        try:
            report(memory, labelled)
        finally:
            chroma_server.stop(memory.data_dir)


def report(memory: Memory, labelled: Labelled) -> None:
    """Measure every pair of weights on every question, then choose without the conversation."""
    of_product = ranking._NEIGHBOUR_WEIGHT, ranking._PROSE_WEIGHT
    measured = {
        weights: by_conversation(memory, labelled, weights)
        for weights in {of_product, *itertools.product(NEIGHBOUR, MEANING)}
    }
    print("conversation     questions   R@5  top-3   unseen: R@5  top-3   weights chosen")
    together: list[list[tuple[float, float]]] = [[], []]
    for name, known in measured[of_product].items():
        chosen = max(
            sorted(measured),
            key=lambda weights: np.mean(
                [
                    recall
                    for other, rows in measured[weights].items()
                    if other != name
                    for recall, _ in rows
                ]
            ),
        )
        unseen = measured[chosen][name]
        together[0] += known
        together[1] += unseen
        print(_row(name.lstrip("-"), known, unseen), chosen)
    print(_row("all", *together))


def by_conversation(
    memory: Memory, labelled: Labelled, weights: Weights
) -> dict[str, list[tuple[float, float]]]:
    """Return, by conversation, each question's share of evidence among the first five turns, and
    1 if a turn among the first three has any."""
    ranking._NEIGHBOUR_WEIGHT, ranking._PROSE_WEIGHT = weights
    hybrid = rankers(memory)["hybrid"]
    found: dict[str, list[tuple[float, float]]] = defaultdict(list)
    for question in labelled.questions:
        ranked = hybrid(question.text, question.project)
        row = score([labelled.units_of.get(turn, frozenset()) for turn in ranked], question.gold)
        found[str(question.project)].append((row[0], row[3]))
    return found


def _row(name: str, known: list[tuple[float, float]], unseen: list[tuple[float, float]]) -> str:
    return f"{name:16} {len(known):9} {_figures(known)}       {_figures(unseen)}  "


def _figures(rows: list[tuple[float, float]]) -> str:
    recall, top3 = 100 * np.mean(rows, axis=0)
    return f"{recall:5.1f} {top3:6.1f}"


if __name__ == "__main__":
    main()
