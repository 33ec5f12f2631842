"""How often two memories are rightly taken for the same, or for a contradiction.

    python -m benchmarks.memory_pairs

Asked of benchmarks/memory_pairs.tsv: 210 pairs, a third each the same in other words, contrary, and
about something else. The thresholds of `memory_assets/agent_memory/similarity.py` were chosen on
every other pair; the others are the reported half. The pairs were written by who wrote the rule.
"""

from __future__ import annotations

from pathlib import Path

from memory_assets.agent_memory.similarity import relation
from memory_assets.embedding import load_embedder

Pair = tuple[str, str, str]
PAIRS = Path(__file__).parent / "memory_pairs.tsv"


def pairs(half: int) -> list[Pair]:
    """Return the pairs of a half (0: the thresholds were chosen on them; 1: reported)."""
    lines = PAIRS.read_text(encoding="utf-8").splitlines()
    return [tuple(line.split("\t")) for line in lines[half::2]]  # type: ignore[misc]


def judged(given: list[Pair]) -> list[tuple[str, str]]:
    """Return the label of each pair and what it is taken for."""
    embedder = load_embedder()
    found: list[tuple[str, str]] = []
    for label, older, newer in given:
        one, other = embedder.embed([older, newer])
        found.append((label, relation(newer, older, float(one @ other))))
    return found


def scores(found: list[tuple[str, str]], what: str) -> tuple[float, float]:
    """Return precision and recall of a relation; precision is 1 where it was never found."""
    right = sum(label == taken == what for label, taken in found)
    taken = sum(each == what for _, each in found)
    return right / taken if taken else 1.0, right / sum(label == what for label, _ in found)


def main() -> None:
    """Print precision and recall by half and relation."""
    for half, title in enumerate(("chosen on", "reported")):
        found = judged(pairs(half))
        for what in ("same", "contradiction"):
            precision, recall = scores(found, what)
            print(f"{title:10} {what:14} precision {precision:.2f}  recall {recall:.2f}")


if __name__ == "__main__":
    main()
