"""How many decisions and bug fixes of real sessions are observed, and how much of what is observed
is worth keeping.

    python benchmarks/observations.py [--work DIR] [--half A] [--missed]

benchmarks/observations.jsonl has decisions and bug fixes of sessions that were read before the
extractor was changed (session, turn, type, what it is about), and verdicts on observations (id,
hash of its text, worth keeping, worthless or misleading). Half A is for choosing rules, half B for
reporting: which a session is in is told by the hash of its id. The dev transcripts are ingested
without vectors; a work directory that is kept is brought up to date.

Recall: the share of labels in whose turn anything is observed. It is an upper bound: nobody but a
reader tells whether the two are about the same (benchmarks/notes/observations.md).
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
        report(half, [row for row in rows if row["half"] == half], found)
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


def report(half: str, rows: Sequence[dict[str, Any]], found: Sequence[Observation]) -> None:
    """Print recall by type, and the verdicts, of one half."""
    for kind in TYPES:
        labels = [row for row in rows if row.get("type") == kind]
        hits = len(labels) - len(missed(labels, found))
        print(f"half {half} {kind:9} observed in the turn {share(hits, len(labels))}")
    now = {each.id: each.content_hash for each in found}
    verdicts = Counter(
        row["verdict"]
        for row in rows
        if "judged" in row and now.get(row["judged"], "").startswith(row["hash"])
    )
    for verdict, count in verdicts.most_common():
        print(f"half {half} {verdict:13} {share(count, verdicts.total())}")


def missed(labels: Sequence[dict[str, Any]], found: Iterable[Observation]) -> list[dict[str, Any]]:
    """Return the labels in whose turn nothing is observed."""
    turns = {turn for each in found for turn in each.turn_ids}
    return [
        row
        for row in labels
        if f"session::{row['session_id']}::turn::{row['turn_index']}" not in turns
    ]


def share(part: int, whole: int) -> str:
    """Return a share as `part of whole, percent`."""
    return f"{part:3} of {whole:3} {100 * part / whole:5.1f} %" if whole else "-"


if __name__ == "__main__":
    main()
