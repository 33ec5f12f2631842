"""Which memories a context takes for a message, by the least cosine that is asked for.

    python -m benchmarks.memory_near

benchmarks/memory_near.jsonl has memories and messages, each with the places of the memories that
matter to it. Half A was for choosing `NEAR_FROM` (memory_assets/agent_memory/similarity.py), half B
is for reporting.
"""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np

from memory_assets.agent_memory.similarity import NEAR_FROM
from memory_assets.embedding import load_embedder

_K = 8


def main() -> None:
    """Print recall and precision for several thresholds, and for the nearest eight."""
    embedder = load_embedder()
    for line in Path(__file__).with_suffix(".jsonl").read_text().splitlines():
        given = json.loads(line)
        messages, near = zip(*given["messages"], strict=True)
        cosines = embedder.embed(messages) @ embedder.embed(given["memories"]).T
        matters = np.zeros_like(cosines, dtype=bool)
        for row, places in enumerate(near):
            matters[row, places] = True
        nearest = np.argsort(np.argsort(-cosines)) < _K
        of_none = ~matters.any(axis=1)
        taken = {f"from {at}": cosines >= at for at in (0.15, 0.2, NEAR_FROM, 0.3, 0.35)}
        for name, chosen in {**taken, f"nearest {_K}": nearest}.items():
            right = int((chosen & matters).sum())
            print(
                f"{given['half']} {name}: {right} of {matters.sum()} that matter, precision "
                f"{right / chosen.sum():.2f}, {chosen[of_none].sum()} where none matters"
            )


if __name__ == "__main__":
    main()
