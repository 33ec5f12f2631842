"""How often a search of a workspace finds the right section first, or among the first three.

    python benchmarks/workspace_quality.py DIR [QUESTIONS] [--data DATA_DIR]
    python benchmarks/workspace_quality.py --set cosqa_dev|scifact_train [--documents N] [--data D]

Indexes DIR with `memory index`; DATA_DIR keeps the memory for later runs. QUESTIONS has a line of
JSON for each question: `right` lists pairs of a pattern for paths and a text; a hit is right if it
fits a pair: its file, or that of a copy which it names, fits the pattern, and the text is in its
chunk or heading. The default is 40 structural questions to finos/traderX at f60def6eff (Apache-2.0;
OpenAPI, decisions, Java), written before any was asked. Choices are made on
`workspace_questions_dev.jsonl`: 50 to a directory with spring-petclinic/spring-petclinic-rest at
698bd832 as petclinic/, adr/madr at 11807d87, asyncapi/spec at 3afe09b2 as asyncapi/, and of
eclipse-tractusx/item-relationship-service at a6e5dd31 all before irs-models/ but tests, as irs/.

`workspace_questions_traceability.jsonl`, `..._mojaloop.jsonl`, `..._letters.jsonl`,
`..._bpdm.jsonl`, `..._datahub.jsonl`, `..._edc.jsonl` and `..._identus.jsonl` have twenty questions
each to seven more workspaces, `..._eventcatalog.jsonl` and `..._novatrek.jsonl` those for relations
(benchmarks/notes/workspace.md).

With `--set`, the documents of a set of the evaluation data (the first N, and the questions that
they answer) are the files, a Python function or an abstract each.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import tempfile
from collections.abc import Sequence
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

import numpy as np
from retrieval import DEPTH, lines, retrieval_data, score

from memory_assets.cli.installing.other_programs import memory_program
from memory_assets.recall import Memory, open_memory
from memory_assets.recall.search.answer import Hit
from memory_assets.recall.show import show
from memory_assets.settings import load_settings
from memory_assets.stores.chroma import server as chroma_server

QUESTIONS = Path(__file__).with_name("workspace_questions.jsonl")
SUFFIXES = {"cosqa_dev": ".py", "scifact_train": ".md"}


def main() -> None:
    """Print a row for each half and mode, then the questions without a right hit in the first
    three."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("directory", type=Path, nargs="?")
    parser.add_argument("questions", type=Path, nargs="?", default=QUESTIONS)
    parser.add_argument("--set", choices=SUFFIXES)
    parser.add_argument("--documents", type=int)
    parser.add_argument("--data", type=Path, help="where to keep the memory")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        if options.set:
            directory = Path(scratch) / options.set
            questions = written(options.set, directory, options.documents)
        else:
            directory, questions = options.directory, lines(options.questions)
        data_dir = options.data or Path(scratch) / "data"
        if not (data_dir / "complete").exists():
            environment = {**os.environ, "MEMORY_DATA_DIR": str(data_dir)}
            command = [memory_program(), "index", str(directory)]
            subprocess.run(command, env=environment, check=True)
            (data_dir / "complete").touch()
        memory = open_memory(load_settings(data_dir=data_dir))
        try:
            report(memory, questions, halves=not options.set)
        finally:
            chroma_server.stop(data_dir)


def written(name: str, directory: Path, most: int | None) -> list[dict[str, Any]]:
    """Write the documents of a set as files, and return its questions."""
    data = retrieval_data(directory.parent) / name
    directory.mkdir()
    corpus = lines(data / "corpus.jsonl")[:most]
    for item in corpus:
        (directory / f"{item['_id']}{SUFFIXES[name]}").write_text(item["text"])
    known = {item["_id"] for item in corpus}
    return [
        {
            "question": item["text"],
            "right": [[f"{each}{SUFFIXES[name]}", ""] for each in item["relevant"]],
        }
        for item in lines(data / "queries.jsonl")
        if known.issuperset(item["relevant"])
    ]


def report(memory: Memory, questions: Sequence[dict[str, Any]], *, halves: bool) -> None:
    """Ask all questions in each mode, and print what came of it."""
    print("| | top-1 | top-3 | MRR |" + ("" if halves else " nDCG@10 |"))
    print("|---|---|---|---|" + ("" if halves else "---|"))
    missed: list[str] = []
    for mode in ("hybrid", "semantic", "keyword"):
        scores = [scored(memory, each, mode, by_file=not halves) for each in questions]
        parts = {f"all {len(scores)}": scores}
        if halves:
            parts = {"half A": scores[::2], "half B": scores[1::2], **parts}
        for name, some in parts.items():
            _, _, first, three, _, reciprocal, gain = np.mean(some, axis=0)
            figures = f"{100 * first:.1f} | {100 * three:.1f} | {reciprocal:.3f} |"
            # The right places of a structural question are alternatives.
            print(f"| {mode}, {name} | {figures}" + ("" if halves else f" {gain:.3f} |"))
        if mode == "hybrid":
            missed = [
                f"half {'AB'[number % 2]}, 1/rank {each[5]:.2f}: {questions[number]['question']}"
                for number, each in enumerate(scores)
                if not each[3]
            ]
    if halves:
        print("\nHybrid, not in the first three:", *missed, sep="\n")


def scored(
    memory: Memory, question: dict[str, Any], mode: str, *, by_file: bool
) -> tuple[float, ...]:
    """Return what `retrieval.score` does of one question; its units are the right pairs. A file
    counts once if documents are files."""
    hits = memory.search(question["question"], kinds=("workspace",), mode=mode, n=DEPTH).hits
    if by_file:
        best: dict[str, Hit] = {}
        for hit in hits:
            best.setdefault(str(hit.metadata["file_path"]), hit)
        hits = tuple(best.values())
    right = [tuple(pair) for pair in question["right"]]
    units = [
        frozenset(
            pair
            for pair in right
            if any(fnmatchcase(path, pair[0]) for path in _paths(hit))
            and (pair[1] in hit.text or pair[1] in _whole(memory, hit))
        )
        for hit in hits
    ]
    return score(units, frozenset(right))


def _paths(hit: Hit) -> list[str]:
    """Return the path of a hit, and those of its copies, which it names."""
    copies = (each.split("::")[1] for each in hit.metadata.get("copies", ()))
    return [str(hit.metadata["file_path"]), *copies]


def _whole(memory: Memory, hit: Hit) -> str:
    """Return heading and text of the chunk that a hit is a passage of."""
    return f"{hit.metadata['section_heading']}\n{show(memory, hit.id)[0]['text']}"


if __name__ == "__main__":
    main()
