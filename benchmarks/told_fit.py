"""Fit the weights by which passwords are found that sentences tell, and print how well they do.

    python benchmarks/told_fit.py --sentences FILE [--apart] [--write]

Learns from sentences of several authors (FILE: lines of JSON with `author`, `class`, `text` and
`spans`, the ranges of its secrets; ours are texts written for us, halves A, and are not in the
repository), from sentences made of `told_templates.txt` with drawn values, and from all lines of
the dev transcripts (`transcripts.tar.xz`), where what the other rules do not find is no password.
Logistic regression with an L1 penalty, so that few clues have a weight.

`--apart` fits without each author in turn and prints what is found of that one; of the
transcripts' lines those of the half that was not learnt from. `--write` writes
`memory_assets/redaction/rules/mentioned/weights.txt`.
"""

from __future__ import annotations

import argparse
import json
import tempfile
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple
from unittest import mock

import numpy as np
from dev_data import unpack
from harmless import lines_of
from numpy.typing import NDArray
from redaction_engines import KEY
from redaction_transcripts import read_sessions
from told_texts import Sentence, sentences

from memory_assets.redaction import Redactor, load_redactor
from memory_assets.redaction.rules.mentioned import clues, told

Floats = NDArray[np.float64]
Spans = list[tuple[int, int]]
WEIGHTS = Path(clues.__file__).with_name("weights.txt")
MADE, SEED, STEPS = 10_000, 3, 400
BLOCK = 12
"""Lines of a transcript that are one text."""
PENALTY, LEAST = 2.0, 12
"""Of a weight's size; in how many candidates a clue must occur."""
COUNTS = {"made": 0.5, "dev": 2.0}
OF_AUTHOR = 3.0
"""How much a candidate counts, by where it is from."""
CUT = 0.0
"""The logarithm of the odds from which on a value is taken."""
CUTS = (-0.5, CUT, 0.5, 1.0, 2.0)
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

    def note(whole: str, position: int, start: int, kind: str) -> Iterator[clues.Candidate]:
        if whole == text:
            seen.extend(clues.candidates(whole, position, start, kind))
        return iter(())

    with mock.patch.object(told, "candidates", note):
        return [(finding.start, finding.end) for finding in redactor.find(text)], seen


def examples(texts: Sequence[Sentence], redactor: Redactor) -> tuple[list[Spans], list[Example]]:
    """Return what the other rules find of each text, and all candidates but parts of secrets and,
    in transcripts, what others find."""
    base: list[Spans] = []
    noted: list[Example] = []
    for number, sentence in enumerate(texts):
        found, seen = look(redactor, sentence.text)
        base.append(found)
        unknown = found if sentence.author == "dev" else []
        for start, end, said in seen:
            parts = [(min(end, b) - max(start, a), b - a) for a, b in sentence.secrets]
            secret = any(same >= COVERED * max(whole, end - start) for same, whole in parts)
            if secret or not (
                any(same > 0 for same, _ in parts)
                or any(min(end, b) > max(start, a) for a, b in unknown)
            ):
                noted.append(Example(number, (start, end), said, secret))
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
    """Return what is found by author: of prose and of all else, and harmless texts touched."""
    counts: Counter[tuple[str, str]] = Counter()
    hits: Counter[tuple[str, str]] = Counter()
    for sentence, spans in zip(texts, found, strict=True):
        if sentence.author == "made":
            continue
        if not sentence.secrets:
            counts[sentence.author, "harmless"] += 1
            hits[sentence.author, "harmless"] += bool(spans)
        kind = "prose" if sentence.kind == "prose" else "rest"
        for start, end in sentence.secrets:
            value = sentence.text[start:end]
            counts[sentence.author, kind] += 1
            hits[sentence.author, kind] += any(value in sentence.text[a:b] for a, b in spans)
    return "; ".join(
        f"{author} {kind} {hits[author, kind]}/{count}"
        for (author, kind), count in sorted(counts.items())
    )


def main() -> None:
    """Fit, print and write."""
    options = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    options.add_argument("--sentences", type=Path, required=True)
    options.add_argument("--apart", action="store_true", help="fit without each author in turn")
    options.add_argument("--write", action="store_true", help="write the weights")
    given = options.parse_args()
    with mock.patch("memory_assets.redaction.redactor._test"):  # it needs the weights
        redactor = load_redactor(key=KEY)
    own = [
        Sentence(row["author"], row["class"], row["text"], tuple((a, b) for a, b in row["spans"]))
        for row in map(json.loads, given.sentences.read_text("utf-8").splitlines())
    ]
    with tempfile.TemporaryDirectory() as folder:
        lines = list(lines_of(read_sessions(unpack("transcripts.tar.xz", Path(folder)))))
    texts = [
        *own,
        *sentences(MADE, SEED),
        *(
            Sentence("dev", "harmless", "\n".join(lines[at : at + BLOCK]), ())
            for at in range(0, len(lines), BLOCK)
        ),
    ]
    base, noted = examples(texts, redactor)
    print("without weights:", report(texts, base))
    seen = Counter(clue for example in noted for clue in set(example.clues))
    names = [clues.BASE, *sorted(c for c in seen if seen[c] >= LEAST and c != clues.BASE)]
    column = {name: number for number, name in enumerate(names)}
    rows = [sorted({column[c] for c in example.clues if c in column}) for example in noted]
    authors = np.array([texts[example.text].author for example in noted])
    secret = np.array([float(example.secret) for example in noted])
    counts = np.array([COUNTS.get(author, OF_AUTHOR) for author in authors])
    half = np.array([example.text % 2 for example in noted])
    whole = Rows(rows, len(names))

    def learnt(chosen: NDArray[np.bool_]) -> Floats:
        numbers = np.flatnonzero(chosen)
        part = Rows([rows[number] for number in numbers], len(names))
        return fit(part, secret[numbers], counts[numbers])

    if given.apart:
        scores = np.full(len(noted), -np.inf)
        for number, author in enumerate(sorted({sentence.author for sentence in own})):
            out = (authors == author) | ((authors == "dev") & (half == number))
            scores[out] = whole.times(learnt(~out))[out]
        for cut in CUTS:
            found = [list(spans) for spans in base]
            for example, value in zip(noted, scores, strict=True):
                if value > cut:
                    found[example.text].append(example.span)
            print(f"from {cut}:", report(texts, found))
    if given.write:
        weights = learnt(np.ones(len(noted), dtype=bool))
        weights[0] -= CUT
        chosen = [(n, w) for n, w in zip(names, weights, strict=True) if abs(w) >= 0.01]
        WEIGHTS.write_text("".join(f"{n}\t{w:.2f}\n" for n, w in chosen), encoding="utf-8")
        print(f"written: {len(chosen)} weights")


if __name__ == "__main__":
    main()
