"""The labelled items, how a scanner is scored on them, and the tables that come out.

A positive item is caught when every labelled span is at least 80 % covered; a negative
one is hit when anything in it is touched. Peers are scored in the same way, each in a
process of its own (`peer_scanners.py`).
"""

from __future__ import annotations

import hashlib
import json
import lzma
import subprocess
import sys
import tempfile
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

COVERED = 0.8
Item = dict[str, Any]
Spans = Sequence[tuple[int, int, str]]
PEER_SCRIPT = Path(__file__).with_name("peer_scanners.py")
TIMEOUT = 3_600


@dataclass
class Score:
    """What one scanner did: [caught or hit, all] by (table, row), and its misses."""

    name: str
    tally: dict[tuple[str, str], list[int]] = field(
        default_factory=lambda: defaultdict(lambda: [0, 0])
    )
    missed: list[Item] = field(default_factory=list)
    megabytes_a_second: float | None = None

    def share(self, table: str, row: str) -> float:
        """Return the share caught or hit of one row."""
        count, whole = self.tally[table, row]
        return count / whole if whole else 0.0


def half(item: Item) -> str:
    """Return the half, A or B, of an item of the fresh set: rules are chosen on A, and no item of B
    is read. What is alike is in one half: a source, of the largest source a vendor, of harmless
    items an owner of repositories."""
    group = item["source"]
    if item["label"] != "positive":
        group = f"benign/{item['path'].partition('/')[0].partition(':')[0]}"
    elif group == "trufflehog":
        group = f"trufflehog/{item['vendor'].lower()}"
    return "AB"[hashlib.sha256(f"h1:{group}".encode()).digest()[0] & 1]


def read_items(archive: Path) -> list[Item]:
    """Return the labelled items."""
    with lzma.open(archive, "rt", encoding="utf-8") as lines:
        return [json.loads(line) for line in lines]


def is_caught(item: Item, spans: Spans) -> bool:
    """Return whether every labelled span is covered well enough."""
    return all(
        _covered(start, end, spans) >= COVERED * (end - start) for start, end in item["spans"]
    )


def _covered(start: int, end: int, spans: Spans) -> int:
    """Return how many characters from `start` to `end` lie in `spans`, each counted once."""
    count = 0
    for left, right, _ in sorted(spans):
        left, right = max(left, start), min(right, end)
        if right > left:
            count += right - left
            start = right
    return count


def score(name: str, items: Iterable[Item], found: Iterable[Spans]) -> Score:
    """Return how a scanner that found `found` in `items` did."""
    result = Score(name)
    for item, spans in zip(items, found, strict=True):
        positive = item["label"] == "positive"
        hit = is_caught(item, spans) if positive else bool(spans)
        if positive and not hit:
            result.missed.append(item)
        rows = _rows_of_fresh(item) if "context" in item else _rows(item)
        for row in rows:
            result.tally[row][0] += hit
            result.tally[row][1] += 1
    return result


def _rows(item: Item) -> list[tuple[str, str]]:
    """Return the rows (table, row) in which an item of the first set counts."""
    if item["label"] != "positive":
        kind = str(item.get("neg_kind"))
        return [("touched", kind), ("touched by source", f"{kind}, {item['source']}")]
    in_transcript = item["source"] == "transcript"
    rows = [
        ("recall", "transcript contexts" if in_transcript else "third-party items"),
        ("recall by source", item["source"]),
    ]
    return [*rows, ("recall by context", str(item.get("case")))] if in_transcript else rows


def _rows_of_fresh(item: Item) -> list[tuple[str, str]]:
    """Return the rows in which an item of the fresh set counts."""
    if item["label"] != "positive":
        return [(f"half {half(item)}, touched", "harmless items")]
    table = f"half {half(item)}, recall by context"
    return [(table, "all"), (table, item["context"])]


def peer_score(
    name: str, python: str, items: Sequence[Item], sample: Sequence[str]
) -> Score | None:
    """Return how a peer did, or None if that Python does not have it.

    The speed is over `sample`, decoded record text, CPU seconds of all its threads.
    """
    answer = _run_peer(name, python, [item["text"] for item in items])
    if answer is None:
        return None
    found, about = answer
    result = score(f"{name} {about['version']}", items, found)
    timed = _run_peer(name, python, sample) if sample else None
    if timed is not None and timed[1]["seconds"] > 0:
        size = sum(len(text.encode("utf-8", "surrogatepass")) for text in sample)
        result.megabytes_a_second = size / 1e6 / timed[1]["seconds"]
    return result


def _run_peer(
    name: str, python: str, texts: Sequence[str]
) -> tuple[list[list[tuple[int, int, str]]], dict[str, Any]] | None:
    with tempfile.TemporaryFile("w+", encoding="utf-8") as given:
        given.writelines(
            json.dumps({"text": text.encode("utf-8", "replace").decode()}) + "\n" for text in texts
        )
        given.seek(0)
        done = subprocess.run(
            [python, str(PEER_SCRIPT), name],
            stdin=given,
            capture_output=True,
            text=True,
            encoding="utf-8",
            timeout=TIMEOUT,
            check=False,
        )
    if done.returncode:
        if done.returncode != 3:
            print(f"{name} failed: {done.stderr.strip()[-300:]}", file=sys.stderr)
        return None
    *spans, about = map(json.loads, done.stdout.splitlines())
    return spans, about


def print_table(scores: Sequence[Score], tables: Sequence[str]) -> None:
    """Print the named tables, a column a scanner, as Markdown."""
    rows = sorted({row for one in scores for row in one.tally if row[0] in tables})
    for table in tables:
        if all(name != table for name, _ in rows):
            continue
        print(f"\n| {table} | items | " + " | ".join(one.name for one in scores) + " |")
        print("|---|---|" + "---|" * len(scores))
        for name, row in rows:
            if name == table:
                cells = [f"{one.share(table, row):.1%}" for one in scores]
                print(f"| {row} | {scores[0].tally[table, row][1]} | " + " | ".join(cells) + " |")
        speeds = [one.megabytes_a_second for one in scores]
        if table == "recall" and any(speeds):
            cells = [f"{speed:.1f}" if speed else "" for speed in speeds]
            print("| MB/s of record text, one core | | " + " | ".join(cells) + " |")
