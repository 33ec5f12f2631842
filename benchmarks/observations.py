"""How many decisions and bug fixes of real sessions are observed, and how often rightly.

    python benchmarks/observations.py [--work DIR] [--half A] [--missed]

benchmarks/observations.jsonl has decisions and bug fixes of sessions that were read before the
extractor was changed (session, turn, type, what it is about), and verdicts on observations drawn
at random (id, hash of its text, right or not). Half A is for choosing rules, half B for
reporting; they are of different sessions. The dev transcripts are ingested without vectors; a
work directory that is kept is brought up to date.

Recall: the share of labels whose turn has an observation of the type, each observation counted
once. Precision: the share of right ones among those with a verdict on the text as it is now.
"""

from __future__ import annotations

import argparse
import tempfile
from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from dev_data import ingested
from retrieval import HERE, lines

from memory_assets.models import Observation
from memory_assets.stores.lake.lake import Lake
from memory_assets.stores.lake.schemas import OBSERVATIONS

LABELS = HERE / "observations.jsonl"
TYPES = ("decision", "bugfix")


def main() -> None:
    """Print a row for each half and type."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--work", type=Path, help="directory to keep the memory in")
    parser.add_argument("--half", choices=("A", "B"), help="only this half")
    parser.add_argument("--missed", action="store_true", help="list the labels that are missed")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        found = observed(options.work or Path(scratch))
    rows = [row for row in lines(LABELS) if row["half"] == (options.half or row["half"])]
    types = ", ".join(f"{count} {kind}" for kind, count in Counter(o.type for o in found).items())
    print(f"{len(found)} observations: {types}")
    for half in sorted({row["half"] for row in rows}):
        for kind in TYPES:
            report(half, kind, [r for r in rows if (r["half"], r["type"]) == (half, kind)], found)
    if options.missed:
        for row in missed([row for row in rows if "about" in row], found):
            print(row["session_id"], row["turn_index"], row["type"], row["about"])


def observed(work: Path) -> list[Observation]:
    """Return the observations that `memory ingest` makes of the dev transcripts."""
    lake = Lake(ingested(work) / "lake")
    return [
        each
        for project in lake.projects(OBSERVATIONS)
        for session in lake.sessions(OBSERVATIONS, project)
        for each in lake.read_rows(OBSERVATIONS, project, session)
    ]


def report(
    half: str, kind: str, rows: Sequence[dict[str, Any]], found: Iterable[Observation]
) -> None:
    """Print recall and precision of one type on one half."""
    now = {each.id: each for each in found if each.type == kind}
    labels = [row for row in rows if "about" in row]
    verdicts = [
        row["right"]
        for row in rows
        if row.get("judged") in now and now[row["judged"]].content_hash.startswith(row["hash"])
    ]
    hits = len(labels) - len(missed(labels, now.values()))
    recall, precision = share(hits, len(labels)), share(sum(verdicts), len(verdicts))
    print(f"half {half} {kind:9} recall {recall}  precision {precision}")


def missed(labels: Sequence[dict[str, Any]], found: Iterable[Observation]) -> list[dict[str, Any]]:
    """Return the labels without an observation of their own in their turn."""
    left = [(each.type, set(each.turn_ids)) for each in found]
    without = []
    for row in labels:
        turn = f"session::{row['session_id']}::turn::{row['turn_index']}"
        fits = [each for each in left if each[0] == row["type"] and turn in each[1]]
        if fits:
            left.remove(min(fits, key=lambda each: len(each[1])))
        else:
            without.append(row)
    return without


def share(part: int, whole: int) -> str:
    """Return a share as `part of whole, percent`."""
    return f"{part:3} of {whole:3} {100 * part / whole:5.1f} %" if whole else "-"


if __name__ == "__main__":
    main()
