"""How often a search says that nothing here answers, rightly and wrongly.

    python benchmarks/weak.py [--work DIR] [--below .2 .28 .35]

Asked of the memories of benchmarks/retrieval.py: benchmarks/weak.jsonl (questions with an answer
in the real sessions and plausible ones without, written before any was asked; the halves are of
different sessions), benchmarks/short.jsonl (one to four words), benchmarks/questions.jsonl, and
LoCoMo, whose questions are without an answer when another conversation is asked. Printed by mode:
of questions with a right hit among the first three, and of those without an answer, the share that
is called weak;
with `--below`, if hits were weak below these probabilities. The coefficients in
`memory_assets/recall/search/confidence.py` were fitted on the sets marked so (weak_fit.py).
"""

from __future__ import annotations

import argparse
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from retrieval import HERE, Labelled, Question, lines, locomo, real

from memory_assets.recall import Memory
from memory_assets.recall.search.answer import Answer
from memory_assets.stores.chroma import server as chroma_server

Asked = tuple[Question, bool]
"""A question, and whether its memory has an answer."""
UNSEEN = ("-conv-47", "-conv-49")


def main() -> None:
    """Print a row for each set and mode."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--work", type=Path, help="directory to keep the memories in")
    parser.add_argument("--below", type=float, nargs="*", help="probabilities, hybrid alone")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        work = options.work or Path(scratch)
        print(f"{'set':34} {'mode':9} right in 3: weak     without: weak")
        memory, labelled = real(work / "real", None)
        try:
            for half, title in (
                ("test6", "own questions, unseen, sixth"),
                ("test5", "own questions, unseen, fifth"),
                ("test4", "own questions, unseen, fourth"),
                ("test", "own questions, unseen"),
                ("test2", "own questions, unseen, second"),
                ("test3", "own questions, unseen, third"),
                ("fit", "own questions, fitted"),
                ("added", "own questions, fitted later"),
                ("added2", "own questions, threshold"),
            ):
                report(title, memory, labelled, own(half), options.below)
                report(
                    title.replace("own", "short"),
                    memory,
                    labelled,
                    short(half, labelled),
                    options.below,
                )
            report(
                "84 questions, fitted", memory, labelled, having(labelled.questions), options.below
            )
        finally:
            chroma_server.stop(memory.data_dir)
        memory, labelled = locomo(work / "locomo", None)
        try:
            unseen = [each for each in labelled.questions if each.project in UNSEEN]
            report(
                "LoCoMo, two unseen conversations",
                memory,
                labelled,
                elsewhere(unseen),
                options.below,
            )
        finally:
            chroma_server.stop(memory.data_dir)


def own(half: str) -> Iterator[Asked]:
    """Yield the questions of a half of weak.jsonl, their answers as turn ids."""
    for item in lines(HERE / "weak.jsonl"):
        if item["half"] == half:
            turns = item.get("turn_index", ())
            gold = frozenset(f"session::{item['session_id']}::turn::{turn}" for turn in turns)
            yield Question(item["question"], None, gold), bool(gold)


def short(half: str, labelled: Labelled) -> Iterator[Asked]:
    """Yield the questions of a half of short.jsonl; any turn of the sessions named answers."""
    for item in lines(HERE / "short.jsonl"):
        if item["half"] == half:
            of = item.get("session_ids", ())
            gold = frozenset(turn for turn in labelled.units_of if turn.split("::")[1] in of)
            yield Question(item["question"], None, gold), bool(gold)


def having(questions: Iterable[Question]) -> Iterator[Asked]:
    """Yield questions that all have an answer."""
    yield from ((each, True) for each in questions)


def elsewhere(questions: Iterable[Question]) -> Iterator[Asked]:
    """Yield each question, and once more asked of the other of two conversations."""
    for each in questions:
        yield each, True
        other = next(project for project in UNSEEN if project != each.project)
        yield Question(each.text, other, frozenset()), False


def report(
    title: str,
    memory: Memory,
    labelled: Labelled,
    asked: Iterable[Asked],
    below: Sequence[float] | None,
) -> None:
    """Print a row a mode, or a probability."""
    cases = list(asked)
    if not cases:
        return
    for mode in ("hybrid",) if below else ("hybrid", "semantic", "keyword"):
        right, without = [], []
        for question, has_answer in cases:
            answer = memory.search(question.text, mode=mode, project=question.project)
            if not has_answer:
                without.append(answer)
            else:
                turns = [hit.turn_id for hit in answer.hits[:3]]
                units = frozenset(turns).union(*(labelled.units_of.get(each, ()) for each in turns))
                if units & question.gold:
                    right.append(answer)
        for limit in below or (None,):
            called = [[is_weak(answer, limit) for answer in each] for each in (right, without)]
            cells = (f"{sum(each):4} of {len(each):4} {share(each):>7}" for each in called)
            print(f"{title:34} {limit or mode:<9} {'   '.join(cells)}", flush=True)


def is_weak(answer: Answer, below: float | None) -> bool:
    """Return True if an answer is weak, or would be if hits below this probability were."""
    if below is None or not answer.hits:
        return answer.weak or not answer.hits
    return all(float(hit.why["answers"]) < below for hit in answer.hits)


def share(called: list[bool]) -> str:
    """Return the share of what is true, in percent."""
    return f"{100 * sum(called) / len(called):.1f} %" if called else "-"


if __name__ == "__main__":
    main()
