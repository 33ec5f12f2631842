"""How often the excerpt of a right hit contains the answer.

    python benchmarks/excerpts.py [--half A B] [--work DIR]

Asked of the real sessions of benchmarks/retrieval.py: benchmarks/questions.jsonl and the questions
with an answer of benchmarks/weak.jsonl. benchmarks/answers.jsonl has, for each, the few words that
any of its right turns answers with; they were chosen by reading the turns. The halves are of
different sessions; the weights were fitted on both (docs/retrieval.md has what was kept out of
sight). Of the first right hit among ten: the share whose excerpt contains such words, and that
begins with words of the prompt, by length (110 characters of a late hit over MCP, 240 of the
second, 483 of the first on a terminal of 80 columns, 700 over MCP). Beside the product's excerpts:
the beginning of the passage, and the stretch with most words of the question, as versions up to
0.2.0 showed it.
"""

from __future__ import annotations

import argparse
import math
import tempfile
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from retrieval import HERE, lines, real
from weak import having, own

from memory_assets.keywords import query_terms, text_terms
from memory_assets.recall import Memory
from memory_assets.recall.search.answer import Hit
from memory_assets.recall.search.excerpts import excerpt
from memory_assets.stores.chroma import server as chroma_server
from memory_assets.stores.lake.schemas import USER_PROMPTS

LENGTHS = (110, 240, 483, 700)
_MARKUP = str.maketrans({"’": "'", "“": '"', "”": '"', "*": None, "`": None})
Excerpt = Callable[[Hit, str, int], str]


@dataclass(frozen=True)
class Case:
    """A question, its first right hit, that turn's prompt, and the words that answer."""

    question: str
    half: str
    hit: Hit
    prompt: str
    spans: Sequence[str]


def main() -> None:
    """Print a row for each half, length and way to cut."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--half", nargs="*", default=["A", "B"])
    parser.add_argument("--work", type=Path, help="directory to keep the memory in")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        found = list(cases((options.work or Path(scratch)) / "real"))
    print("half  hits  in passage  length  excerpt      answer  prompt first")
    for half in options.half:
        chosen = [each for each in found if each.half == half]
        within = sum(contains(str(each.hit.text), each.spans) for each in chosen)
        for most in LENGTHS:
            for name, cut in WAYS.items():
                rows = [measured(each, cut(each.hit, each.question, most)) for each in chosen]
                shares = [100 * sum(column) / len(rows) for column in zip(*rows, strict=True)]
                cells = f"{shares[0]:6.1f} %{shares[1]:12.1f} %"
                print(f"{half:4}{len(chosen):6}{within:12}{most:8}  {name:11}{cells}")


def cases(work: Path) -> Iterator[Case]:
    """Yield each question whose answer is among the first ten hits."""
    memory, labelled = real(work, None)
    try:
        asked = [*having(labelled.questions), *own("fit"), *own("test")]
        units = labelled.units_of
        answers = {item["question"]: item for item in lines(HERE / "answers.jsonl")}
        typed = dict(prompts(memory))
        for question, has_answer in asked:
            answer = answers.get(question.text)
            if not has_answer or answer is None:
                continue
            for hit in memory.search(question.text).hits:
                if question.gold & (units.get(hit.turn_id, frozenset()) | {hit.turn_id}):
                    prompt = typed.get(hit.turn_id, "")
                    yield Case(question.text, answer["half"], hit, prompt, answer["spans"])
                    break
    finally:
        chroma_server.stop(memory.data_dir)


def prompts(memory: Memory) -> Iterator[tuple[str, str]]:
    """Yield each turn with the whole of its prompt."""
    for project in memory.lake.projects(USER_PROMPTS):
        turns: dict[str, list[tuple[int, str]]] = {}
        columns = ["turn_id", "part", "text"]
        for row in memory.lake.read_partition(USER_PROMPTS, project, columns).to_pylist():
            turns.setdefault(row["turn_id"], []).append((row["part"], row["text"]))
        for turn, parts in turns.items():
            yield turn, " ".join(text for _, text in sorted(parts))


def measured(case: Case, shown: str) -> tuple[bool, bool]:
    """Return whether an excerpt contains the answer, and begins with words of the prompt."""
    first = " ".join(plain(shown.removeprefix("…")).split()[:6])
    return contains(shown, case.spans), first in plain(case.prompt)


def contains(text: str, spans: Sequence[str]) -> bool:
    """Return whether a text contains any of these words."""
    return any(plain(span) in plain(text) for span in spans)


def plain(text: str) -> str:
    """Return a text in lower case, without marks of emphasis, on one line."""
    return " ".join(text.translate(_MARKUP).lower().split())


def most_words(hit: Hit, question: str, most: int) -> str:
    """Return the stretch of a passage that contains most words of the question."""
    words, asked = str(hit.text).split(), query_terms(question)
    held = [{term for term in text_terms(word) if term in asked} for word in words]
    stretches = []
    for start in range(len(words)):
        size = stop = 0
        for stop in range(start, len(words) + 1):
            size += len(words[stop]) + 1 if stop < len(words) else most
            if size > most - 1:
                break
        seen = set[str]().union(*held[start:stop])
        begins = start == 0 or words[start - 1][-1] in ".!?:" or words[start][0] in "#-*`"
        stretches.append((math.fsum(asked[term] for term in seen), begins, start, stop))
    best = max(stretches, key=lambda each: each[:3])
    if best[0] < stretches[0][0] + 0.5:
        best = stretches[0]
    return " ".join(words[best[2] : best[3]])[:most]


WAYS: dict[str, Excerpt] = {
    "beginning": lambda hit, question, most: excerpt(str(hit.text), "", most),
    "most words": most_words,
    "excerpt": lambda hit, question, most: excerpt(
        str(hit.text), question, most, hit.prompt_length, hit.beside
    ),
}


if __name__ == "__main__":
    main()
