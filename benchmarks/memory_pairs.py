"""How often two memories are rightly taken for the same, or for a contradiction.

    python -m benchmarks.memory_pairs

Asked of three sets of pairs that say the same, are contrary, or are about something else.
benchmarks/memory_pairs_blind.tsv (200) was written by somebody who knew neither the rule of
`memory_assets/agent_memory/similarity.py` nor the other pairs, when the rule was finished; nothing
was changed for it. The others were looked at while the rule was chosen, so their figures are too
good: benchmarks/memory_pairs_close.tsv (200), where the same is mostly said in nearly the
same words, and benchmarks/memory_pairs.tsv (210), where it is said in others. The former was
written before the rule, by its later author; benchmarks/notes/agent-memory.md has what it said
before anybody looked at it. benchmarks/memory_pairs_numbers.tsv has numbers of one subject and of
two: the first half for choosing the rule, the second for reporting.
"""

from __future__ import annotations

from pathlib import Path

from memory_assets.agent_memory.similarity import relation
from memory_assets.embedding import load_embedder

Pair = tuple[str, str, str]
HERE = Path(__file__).parent
SETS = {
    "blind": "memory_pairs_blind.tsv",
    "close": "memory_pairs_close.tsv",
    "other words": "memory_pairs.tsv",
    "numbers": "memory_pairs_numbers.tsv",
}


def pairs(name: str) -> list[Pair]:
    """Return the pairs of a set: label, older and newer text."""
    lines = (HERE / SETS[name]).read_text(encoding="utf-8").splitlines()
    return [tuple(line.split("\t")) for line in lines]  # type: ignore[misc]


def judged(given: list[Pair]) -> list[tuple[str, str]]:
    """Return the label of each pair and what it is taken for."""
    embedder = load_embedder()
    found: list[tuple[str, str]] = []
    for label, older, newer in given:
        one, other = embedder.embed([older, newer])
        found.append((label, relation(newer, older, float(one @ other))))
    return found


def scores(judgements: list[tuple[str, str]], what: str) -> tuple[float, float]:
    """Return precision and recall of a relation; precision is 1 where it was never found."""
    right = sum(label == taken == what for label, taken in judgements)
    taken = sum(relation == what for _, relation in judgements)
    return right / taken if taken else 1.0, right / sum(label == what for label, _ in judgements)


def main() -> None:
    """Print precision and recall by set and relation, and how many contrary pairs are merged."""
    for name in SETS:
        given = pairs(name)
        judgements = judged(given[len(given) // 2 :] if name == "numbers" else given)
        for what in sorted({"same", "contradiction"}.intersection(label for label, _, _ in given)):
            precision, recall = scores(judgements, what)
            print(f"{name:10} {what:14} precision {precision:.2f}  recall {recall:.2f}")
        contrary = [taken for label, taken in judgements if label == "contradiction"]
        print(f"{name:10} contrary pairs merged: {contrary.count('same')} of {len(contrary)}")


if __name__ == "__main__":
    main()
