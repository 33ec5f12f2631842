"""Fit the weights by which passwords are found that sentences tell, and print how well they do.

    python benchmarks/told_fit.py --sentences FILE [--apart] [--write]

Learns from sentences of several authors (FILE: lines of JSON with `author`, `context`, `text` and
`secrets`; ours are texts written for us and are not in the repository), from sentences made of
`told_templates.txt` with drawn values, and, as texts without passwords, from the harmless items of
both labelled sets (of the fresh one half A) and all lines of the dev transcripts, where what the
other rules do not find is none. Logistic regression with an L1 penalty, so that few clues have a
weight.

`--apart` fits without each author in turn and prints what is found of that one, by context; of the
other texts a third each time. `--write` writes
`memory_assets/redaction/rules/mentioned/weights.txt`.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple
from unittest import mock

import numpy as np
from dev_data import data_dir, unpack
from harmless import lines_of
from numpy.typing import NDArray
from redaction_engines import KEY
from redaction_scores import half, read_items
from redaction_transcripts import read_sessions
from told_texts import Sentence, sentences

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
from memory_assets.redaction import PERSONAL_KINDS, Redactor, load_redactor
from memory_assets.redaction.rules.mentioned import clues
from memory_assets_tests.redaction import test_no_mentions, test_told

Floats = NDArray[np.float64]
Spans = list[tuple[int, int]]
WEIGHTS = Path(clues.__file__).with_name("weights.txt")
MADE, SEED, STEPS = 5_000, 3, 150
BLOCK = 12
"""Lines of a transcript that are one text."""
PENALTY, LEAST = 1.5, 5
"""Of a weight's size; in how many candidates a clue must occur."""
COUNTS = {"made": 0.3, "tests": 6.0, "dev": 2.0, "harmless": 2.0}
OF_AUTHOR = 3.0
"""How much a candidate counts, by where it is from."""
CUTS = (0.0, 0.5, clues.LEAST / 100, 1.5, 2.0, 3.0)
COVERED = 0.8
"""So much of a secret and of a candidate must be the same."""


class Example(NamedTuple):
    """A candidate: the number of its text, its range, its clues, and whether it is a password."""

    text: int
    span: tuple[int, int]
    clues: list[str]
    secret: bool


class Rows:
    """Candidates as rows of ones, by clue."""

    def __init__(self, rows: Sequence[Sequence[int]], width: int) -> None:
        self.columns = np.array([column for row in rows for column in row], dtype=np.int64)
        self.rows = np.repeat(np.arange(len(rows)), [len(row) for row in rows])
        self.shape = len(rows), width

    def times(self, weights: Floats) -> Floats:
        """Return the sum of the weights of each row."""
        return np.bincount(self.rows, weights[self.columns], self.shape[0]).astype(np.float64)

    def sums(self, figures: Floats) -> Floats:
        """Return the sum of the rows' figures by column."""
        return np.bincount(self.columns, figures[self.rows], self.shape[1]).astype(np.float64)


def look(redactor: Redactor, text: str) -> tuple[Spans, list[clues.Candidate]]:
    """Return what the other rules find in `text`, and the candidates."""
    seen: list[clues.Candidate] = []

    def note(whole: str, value: clues.Candidate) -> bool:
        if whole == text:
            seen.append(value)
        return False

    with mock.patch.object(clues, "is_password", note):
        found = redactor.find(text)
    return [(f.start, f.end) for f in found if f.rule not in PERSONAL_KINDS], seen


def examples(texts: Sequence[Sentence], redactor: Redactor) -> tuple[list[Spans], list[Example]]:
    """Return what the other rules find of each text, and all candidates but parts of secrets and,
    in texts of nobody, what others find."""
    base: list[Spans] = []
    noted: list[Example] = []
    for number, sentence in enumerate(texts):
        found, seen = look(redactor, sentence.text)
        base.append(found)
        unknown = found if sentence.author in COUNTS else []
        for start, end, said in seen:
            parts = [(min(end, b) - max(start, a), b - a) for a, b in sentence.secrets]
            secret = any(same >= COVERED * max(whole, end - start) for same, whole in parts)
            if secret or not (
                any(same > 0 for same, _ in parts)
                or any(min(end, b) > max(start, a) for a, b in unknown)
            ):
                noted.append(Example(number, (start, end), list(said), secret))
    return base, noted


def fit(rows: Rows, secret: Floats, counts: Floats) -> Floats:
    """Return the weights, by accelerated proximal descent, each at a pace of its own; the first
    column, which all rows have, has no penalty."""
    weights = np.zeros(rows.shape[1])
    ahead, momentum = weights.copy(), 1.0
    pace = 4.0 / (np.max(np.bincount(rows.rows)) * (rows.sums(counts) + 1.0))
    for _ in range(STEPS):
        chance = 1 / (1 + np.exp(-np.clip(rows.times(ahead), -30, 30)))
        moved = ahead - pace * rows.sums(counts * (chance - secret))
        shrunk = np.sign(moved) * np.maximum(np.abs(moved) - pace * PENALTY, 0)
        shrunk[0] = moved[0]
        following = (1 + (1 + 4 * momentum**2) ** 0.5) / 2
        ahead = shrunk + (momentum - 1) / following * (shrunk - weights)
        weights, momentum = shrunk, following
    return weights


def report(texts: Sequence[Sentence], found: Sequence[Spans]) -> str:
    """Return what is found by author and by context, and how many harmless texts are touched."""
    counts: Counter[str] = Counter()
    hits: Counter[str] = Counter()
    for sentence, spans in zip(texts, found, strict=True):
        if not sentence.secrets:
            counts[f"{sentence.author} touched"] += 1
            hits[f"{sentence.author} touched"] += bool(spans)
        if sentence.author in COUNTS:
            continue
        seen = bytearray(len(sentence.text))
        for start, end in spans:
            seen[start:end] = b"\1" * (end - start)
        by_value: defaultdict[str, bool] = defaultdict(lambda: True)
        for start, end in sentence.secrets:
            by_value[sentence.text[start:end]] &= sum(seen[start:end]) >= COVERED * (end - start)
        for is_found in by_value.values():
            for row in ("all", sentence.author, sentence.kind.partition("+")[0]):
                counts[row] += 1
                hits[row] += is_found
    return "; ".join(f"{row} {hits[row]}/{count}" for row, count in sorted(counts.items()))


def of_authors(path: Path) -> Iterator[Sentence]:
    """Yield the sentences of a file."""
    for line in path.read_text("utf-8").splitlines():
        row = json.loads(line)
        text, spans = row["text"], []
        for secret in row["secrets"]:
            at = text.find(secret)
            while at >= 0:
                spans.append((at, at + len(secret)))
                at = text.find(secret, at + len(secret))
        yield Sentence(row["author"], row["context"], text, tuple(spans))


def of_nobody() -> Iterator[Sentence]:
    """Yield the harmless items of the labelled sets, and the lines of the transcripts."""
    for name in ("redaction", "redaction-fresh"):
        for item in read_items(data_dir() / f"{name}.jsonl.xz"):
            if item["label"] != "positive" and (name == "redaction" or half(item) == "A"):
                yield Sentence("harmless", "harmless", item["text"], ())
    with tempfile.TemporaryDirectory() as folder:
        lines = list(lines_of(read_sessions(unpack("transcripts.tar.xz", Path(folder)))))
    for at in range(0, len(lines), BLOCK):
        yield Sentence("dev", "harmless", "\n".join(lines[at : at + BLOCK]), ())


def of_tests() -> Iterator[Sentence]:
    """Yield the texts by which tests say what is told and what is not."""
    for text, secret in test_told.TOLD:
        at = text.find(secret)
        yield Sentence("tests", "prose", text, ((at, at + len(secret)),))
    for text in (*test_told.SAID, *test_no_mentions.BENIGN):
        yield Sentence("tests", "harmless", text, ())


def main() -> None:
    """Fit, print and write."""
    options = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    options.add_argument("--sentences", type=Path, required=True)
    options.add_argument("--apart", action="store_true", help="fit without each author in turn")
    options.add_argument("--write", action="store_true", help="write the weights")
    given = options.parse_args()
    with mock.patch("memory_assets.redaction.redactor._test"):  # it needs the weights
        redactor = load_redactor(key=KEY)
    own = list(of_authors(given.sentences))
    texts = [*own, *sentences(MADE, SEED), *of_tests(), *of_nobody()]
    base, noted = examples(texts, redactor)
    print("without weights:", report(texts, base))
    seen = Counter(clue for example in noted for clue in set(example.clues))
    names = [clues.BASE, *sorted(c for c in seen if seen[c] >= LEAST and c != clues.BASE)]
    column = {name: number for number, name in enumerate(names)}
    rows = [sorted({column[c] for c in example.clues if c in column}) for example in noted]
    authors = np.array([texts[example.text].author for example in noted])
    secret = np.array([float(example.secret) for example in noted])
    counts = np.array([COUNTS.get(author, OF_AUTHOR) for author in authors])
    whole = Rows(rows, len(names))
    print(f"{len(noted)} candidates, {int(secret.sum())} of them secrets, {len(names)} clues")

    def learnt(chosen: NDArray[np.bool_]) -> Floats:
        numbers = np.flatnonzero(chosen)
        part = Rows([rows[number] for number in numbers], len(names))
        return fit(part, secret[numbers], counts[numbers])

    if given.apart:
        scores = np.full(len(noted), -np.inf)
        everybody = sorted({sentence.author for sentence in own})
        of_third = np.array([example.text % len(everybody) for example in noted])
        for number, author in enumerate(everybody):
            nobody = (authors == "dev") | (authors == "harmless")
            out = (authors == author) | (nobody & (of_third == number))
            scores[out] = whole.times(learnt(~out))[out]
        for cut in CUTS:
            found = [list(spans) for spans in base]
            for example, value in zip(noted, scores, strict=True):
                if value >= cut:
                    found[example.text].append(example.span)
            print(f"from {cut}:", report(texts, found))
    if given.write:
        weights = learnt(np.ones(len(noted), dtype=bool))
        chosen = [(n, w) for n, w in zip(names, weights, strict=True) if abs(w) >= 0.01]
        WEIGHTS.write_text("".join(f"{n}\t{w:.2f}\n" for n, w in chosen), encoding="utf-8")
        print(f"written: {len(chosen)} weights")


if __name__ == "__main__":
    main()
