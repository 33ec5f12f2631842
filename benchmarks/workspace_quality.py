"""How often a search of a workspace finds the right section first, or among the first three.

    python -m benchmarks.workspace_quality DIR [QUESTIONS] [--data DATA_DIR]

Indexes DIR with `memory index`, or asks the memory in DATA_DIR, which has it already. QUESTIONS
has a line of JSON for each question: `right` lists pairs of a pattern for paths and a text; a hit
is right if it fits one pair: its file the pattern, and the text is in its chunk. The default is 40
structural questions to finos/traderX at f60def6eff (Apache-2.0; OpenAPI, decisions, Java), written
before any was asked. Choices are made on half A, the first of every two questions.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import tempfile
from collections.abc import Iterable, Mapping
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

from memory_assets.cli.other_programs import memory_program
from memory_assets.recall import Hit, Memory, open_memory
from memory_assets.settings import load_settings
from memory_assets.stores.chroma import server as chroma_server

QUESTIONS = Path(__file__).with_name("workspace_questions.jsonl")
_LISTED = 10


def main() -> None:
    """Print a row for each half and mode, then the questions without a right hit in the first
    three."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("directory", type=Path)
    parser.add_argument("questions", type=Path, nargs="?", default=QUESTIONS)
    parser.add_argument("--data", type=Path, help="data directory of a memory that has it already")
    options = parser.parse_args()
    questions = [json.loads(line) for line in options.questions.read_text().splitlines()]
    with tempfile.TemporaryDirectory() as scratch:
        data_dir = options.data or Path(scratch) / "data"
        if options.data is None:
            command = [memory_program(), "index", str(options.directory)]
            environment = {**os.environ, "MEMORY_DATA_DIR": str(data_dir)}
            subprocess.run(command, env=environment, check=True)
        memory = open_memory(load_settings(data_dir=data_dir))
        try:
            report(memory, questions)
        finally:
            chroma_server.stop(data_dir)


def report(memory: Memory, questions: list[dict[str, Any]]) -> None:
    """Ask all questions in each mode, and print what came of it."""
    print("| | top-1 | top-3 | MRR |\n|---|---|---|---|")
    missed: list[str] = []
    for mode in ("hybrid", "semantic", "keyword"):
        ranks = [rank_of(memory, question, mode) for question in questions]
        for name, some in (("half A", ranks[::2]), ("half B", ranks[1::2]), ("all", ranks)):
            print(f"| {mode}, {name} | {row(some)} |")
        if mode == "hybrid":
            missed = [
                f"rank {rank or f'over {_LISTED}'}, half {'AB'[number % 2]}: {each['question']}"
                for number, (each, rank) in enumerate(zip(questions, ranks, strict=True))
                if rank not in (1, 2, 3)
            ]
    print("\nHybrid, not in the first three:", *missed, sep="\n")


def rank_of(memory: Memory, question: Mapping[str, Any], mode: str) -> int:
    """Return the rank of the first right hit, 0 if there is none."""
    hits = memory.search(question["question"], kinds=("workspace",), mode=mode, n=_LISTED).hits
    return next((rank for rank, hit in enumerate(hits, 1) if is_right(hit, question["right"])), 0)


def is_right(hit: Hit, right: Iterable[tuple[str, str]]) -> bool:
    """Whether a hit is one of the right ones."""
    path = str(hit.metadata["file_path"])
    return any(fnmatchcase(path, pattern) and text in str(hit.text) for pattern, text in right)


def row(ranks: list[int]) -> str:
    """Return shares in percent, and the mean reciprocal rank."""
    first, three = (sum(0 < rank <= most for rank in ranks) / len(ranks) for most in (1, 3))
    mean = sum(1 / rank for rank in ranks if rank) / len(ranks)
    return f"{100 * first:.1f} | {100 * three:.1f} | {mean:.3f}"


if __name__ == "__main__":
    main()
