"""What is found when a question is asked in another language than the sessions, or in a few words.

    python benchmarks/wordings.py [--work DIR]

Asked of the real sessions of benchmarks/retrieval.py. benchmarks/languages.jsonl has questions in
German, French and Spanish, each with the English question of benchmarks/questions.jsonl or
weak.jsonl that it says again; half A was looked at while `recall/search/spelling.py` was
written. benchmarks/short.jsonl has questions of one to four words; any turn of the sessions named
is right. Printed: how many have a right turn first, among three and among ten, and how many are
called weak.
"""

from __future__ import annotations

import argparse
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from unittest import mock

from retrieval import HERE, Labelled, lines, real
from weak import own, short

from memory_assets.recall import Memory
from memory_assets.recall.search import hybrid
from memory_assets.stores.chroma import server as chroma_server


def main() -> None:
    """Print a row for each half and way to ask."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--work", type=Path, help="directory to keep the memory in")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        memory, labelled = real((options.work or Path(scratch)) / "real", None)
        try:
            print(f"{'':44} questions  top-1  top-3  top-10  weak")
            english = dict(in_english(labelled))
            for half in ("A", "B"):
                items = [each for each in lines(HERE / "languages.jsonl") if each["half"] == half]
                asked = {item["question"]: english[item["english"]] for item in items}
                with mock.patch.object(hybrid, "in_english", return_value=None):
                    report(f"other languages, half {half}, no glossary", memory, asked)
                report(f"other languages, half {half}", memory, asked)
                said = {item["english"]: english[item["english"]] for item in items}
                report(f"the same in English, half {half}", memory, said)
            for half in ("fit", "test"):
                few = {
                    question.text: question.gold for question, has in short(half, labelled) if has
                }
                report(f"one to four words, {half}", memory, few)
        finally:
            chroma_server.stop(memory.data_dir)


def in_english(labelled: Labelled) -> Iterator[tuple[str, frozenset[str]]]:
    """Yield each question in English that has an answer, with the turns that answer."""
    for question in labelled.questions:
        yield (
            question.text,
            frozenset(turn for turn, of in labelled.units_of.items() if of & question.gold),
        )
    for half in ("fit", "test"):
        yield from ((question.text, question.gold) for question, has in own(half) if has)


def report(title: str, memory: Memory, asked: Mapping[str, frozenset[str]]) -> None:
    """Ask and print a row."""
    places, weak = [], 0
    for text, right in asked.items():
        answer = memory.search(text)
        found = (at for at, hit in enumerate(answer.hits) if hit.turn_id in right)
        places.append(next(found, len(answer.hits)))
        weak += answer.weak
    first = [sum(place < most for place in places) for most in (1, 3, 10)]
    print(f"{title:44} {len(asked):9} {first[0]:6} {first[1]:6} {first[2]:7} {weak:5}", flush=True)


if __name__ == "__main__":
    main()
