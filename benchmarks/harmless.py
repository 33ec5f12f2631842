"""Harmless lines of real sessions that redaction touches, each judged by a person once.

    python benchmarks/harmless.py [--lines 2000] [--seed 7] [--show]

Draws lines of the dev transcripts (`transcripts.tar.xz`), more often those with a word for secrets,
a run of digits or a word that looks drawn, redacts each alone, and counts those that are touched
beside the verdicts in `harmless_verdicts.json`: by the line's hash, `secret` or `harmless`. Lines
without a verdict are listed by hash and rule; `--show` shows them to a person, on a terminal only.
Ends with 1 while a touched line has no verdict, or when more than 0.3 % are harmless ones touched.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import random
import re
import sys
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from dev_data import unpack
from redaction_engines import KEY
from redaction_transcripts import read_sessions

from memory_assets.models import Record
from memory_assets.redaction import load_redactor
from memory_assets.redaction.rules.judging.likelihood import evidence

VERDICTS = Path(__file__).with_name("harmless_verdicts.json")
BAR = 0.003
LONGEST = 400
_KEYWORD = re.compile(r"(?i)pass|pwd|secret|token|key|auth|cred|login")
_DIGITS = re.compile(r"\d{6,}")
_WORD = re.compile(r"[\w+/-]{12,}")
_DRAWN = 12
WEIGHTS = (1, 40, 400, 2_000)
"""How often a line with none to all three of the marks is drawn."""


def line_hash(line: str) -> str:
    """Return the name under which a line's verdict is kept."""
    return hashlib.sha256(line.encode("utf-8", "surrogatepass")).hexdigest()[:16]


def marks(line: str) -> int:
    """Return how many of the three marks `line` has."""
    drawn = any(evidence(word) >= _DRAWN for word in _WORD.findall(line))
    return bool(_KEYWORD.search(line)) + bool(_DIGITS.search(line)) + drawn


def lines_of(sessions: Iterable[Sequence[Record]]) -> Iterator[str]:
    """Yield the different lines of the records' texts that are no longer than `LONGEST`."""
    seen: set[str] = set()
    for records in sessions:
        for record in records:
            for line in map(str.strip, record.text.splitlines()):
                if 8 <= len(line) <= LONGEST and line not in seen:
                    seen.add(line)
                    yield line


def draw(lines: Iterable[str], number: int, seed: int) -> list[str]:
    """Return `number` lines, drawn by their weights without putting any back."""
    chance = random.Random(seed)
    keyed = ((chance.random() ** (1 / WEIGHTS[marks(line)]), line) for line in lines)
    return [line for _, line in sorted(keyed, reverse=True)[:number]]


def main() -> int:
    """Print how many of the drawn lines are touched, by verdict."""
    options = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    options.add_argument("--lines", type=int, default=2_000)
    options.add_argument("--seed", type=int, default=7)
    options.add_argument("--show", action="store_true", help="show touched lines on a terminal")
    given = options.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        sessions = read_sessions(unpack("transcripts.tar.xz", Path(folder)))
        chosen = draw(lines_of(sessions), given.lines, given.seed)
    verdicts = json.loads(VERDICTS.read_text(encoding="utf-8"))
    redactor = load_redactor(key=KEY)
    counts = {"secret": 0, "harmless": 0, "unknown": 0}
    for line in chosen:
        found = redactor.find(line)
        if not found:
            continue
        verdict = verdicts.get(line_hash(line), "unknown")
        counts[verdict] += 1
        if verdict != "secret":
            shown = line if given.show and sys.stdout.isatty() else ""
            print(line_hash(line), verdict, *(finding.rule for finding in found), shown)
    share = counts["harmless"] / (given.lines - counts["secret"])
    by_marks = [sum(marks(line) == count for line in chosen) for count in range(len(WEIGHTS))]
    print(f"ruleset {redactor.ruleset_version}: {len(chosen)} lines, with 0 to 3 marks {by_marks}")
    print(f"touched: {counts}; harmless ones: {share:.2%} (bar {BAR:.1%})")
    return int(counts["unknown"] > 0 or share > BAR)


if __name__ == "__main__":
    sys.exit(main())
