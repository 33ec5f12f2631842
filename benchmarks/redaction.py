"""Recall, false alarms and speed of the redactor and of its peers, in one run.

    python benchmarks/redaction.py [--peers-python PYTHON] [--write benchmarks/notes/redaction.md]
    python benchmarks/redaction.py --quick
    python benchmarks/redaction.py --fresh [--peers-python PYTHON]
    python benchmarks/redaction.py --review 200 --seed 7
    python benchmarks/redaction.py --missed SOURCE

Reads `redaction.jsonl.xz`, `redaction-fresh.jsonl.xz` and `transcripts.tar.xz` from
MEMORY_BENCH_DATA, or from `../shared/data` beside the checkout. Speed is UTF-8 bytes of decoded
record text per second of CPU time. Peers are run by the Python of `--peers-python` (this one
by default); those it does not have are left out, with the command that installs them.
"""

from __future__ import annotations

import argparse
import contextlib
import io
import sys
import tempfile
from collections.abc import Sequence
from datetime import date
from pathlib import Path

from dev_data import data_dir, unpack
from peer_scanners import PEERS
from redaction_engines import engines, print_steps
from redaction_scores import Item, Score, peer_score, print_table, read_items, score
from redaction_transcripts import print_stages, read_sessions, redacted_share, review

from memory_assets.models import Record
from memory_assets.redaction import Redactor

ROUNDS = 2
MARKS = ("<!-- figures -->", "<!-- end of figures -->")
"""Between these, `--write` puts the tables."""
SPEED_SAMPLE = 12
"""Peers are timed on every so many records: the slowest do 0.2 MB/s."""
LABELLED = ("redaction.jsonl.xz", "redaction-fresh.jsonl.xz")
FRESH = tuple(f"half {name}, {what}" for name in "BA" for what in ("recall by context", "touched"))
TABLES = ("recall", "touched")
DETAILS = ("recall by source", "recall by context", "touched by source")


def our_score(name: str, redactor: Redactor, items: Sequence[Item]) -> Score:
    """Return how our redactor did."""
    found = [
        [(finding.start, finding.end, finding.rule) for finding in redactor.find(item["text"])]
        for item in items
    ]
    return score(name, items, found)


def peer_scores(python: str, items: Sequence[Item], sample: Sequence[str]) -> list[Score]:
    """Return how each installed peer did; say how to install the others."""
    scores = []
    for name, (distribution, _) in PEERS.items():
        print(f"{name} ...", file=sys.stderr)
        result = peer_score(name, python, items, sample)
        if result is None:
            print(f"{name} is left out; {python} -m pip install {distribution}", file=sys.stderr)
        else:
            scores.append(result)
    return scores


def parse() -> argparse.Namespace:
    """Return the command's options."""
    options = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    options.add_argument("--peers-python", default=sys.executable, help="which Python has peers")
    options.add_argument("--quick", action="store_true", help="labelled items only, no peers")
    options.add_argument("--fresh", action="store_true", help="the fresh set only, untimed")
    options.add_argument("--missed", metavar="SOURCE", help="list the ids missed of one source")
    options.add_argument("--review", metavar="N", type=int, help="show N random redactions")
    options.add_argument("--write", metavar="FILE", type=Path, help="put the tables there, too")
    options.add_argument("--seed", type=int, default=7)
    options.add_argument("--context", type=int, default=60, help="characters around each")
    return options.parse_args()


def main() -> int:
    """Print the tables."""
    options = parse()
    redactors = engines()
    first = next(iter(redactors.values()))
    print(f"ruleset {first.ruleset_version}; engines: {', '.join(redactors)}")
    if options.review:
        review(first, _sessions(), options.review, options.seed, options.context)
        return 0
    archives = LABELLED[1:] if options.fresh else LABELLED
    items = [item for archive in archives for item in read_items(data_dir() / archive)]
    scores = [our_score(f"ours, {name}", redactor, items) for name, redactor in redactors.items()]
    if options.missed:
        for missed in scores[0].missed:
            if missed["source"] == options.missed:
                print(missed["id"], missed["rule"])
        return 0
    if options.fresh:
        scores += peer_scores(options.peers_python, items, ())
    if options.quick or options.fresh:
        print_table(scores, (*FRESH, *TABLES, *DETAILS))
        return 0
    tables = io.StringIO()
    with contextlib.redirect_stdout(tables):
        print(f"Ruleset `{first.ruleset_version}`, {date.today()}.")
        print_all(options.peers_python, items, redactors, scores)
    print(tables.getvalue())
    if options.write:
        write_between_marks(options.write, tables.getvalue())
    return 0


def print_all(
    python: str, items: Sequence[Item], redactors: dict[str, Redactor], scores: list[Score]
) -> None:
    """Print every table: ours beside the peers, real transcripts, time by stage."""
    first = next(iter(redactors.values()))
    sessions = _sessions()
    texts = [record.text for records in sessions for record in records if record.text]
    stages = io.StringIO()
    with contextlib.redirect_stdout(stages):
        for one, (name, redactor) in zip(scores, redactors.items(), strict=True):
            rounds = ROUNDS if redactor is first else 1
            print_steps(name, texts, rounds)
            one.megabytes_a_second = print_stages(redactor, sessions, rounds)
    scores += peer_scores(python, items, texts[::SPEED_SAMPLE])
    print_table(scores, (*FRESH, *TABLES, *DETAILS))
    redacted_share(first, sessions).print()
    print(stages.getvalue())


def write_between_marks(file: Path, tables: str) -> None:
    """Replace what stands between the marks of a document by the tables."""
    text = file.read_text(encoding="utf-8")
    before, _, rest = text.partition(MARKS[0])
    _, _, after = rest.partition(MARKS[1])
    filled = "\n\n".join((before + MARKS[0], tables.strip(), MARKS[1] + after))
    file.write_text(filled, encoding="utf-8")


def _sessions() -> list[list[Record]]:
    with tempfile.TemporaryDirectory() as folder:
        return list(read_sessions(unpack("transcripts.tar.xz", Path(folder))))


if __name__ == "__main__":
    sys.exit(main())
