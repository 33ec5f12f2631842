"""Recall, false alarms and speed of the redactor, on labelled text and real transcripts.

    python benchmarks/redaction.py [--missed SOURCE]

Reads `redaction.jsonl.xz` and `transcripts.tar.xz` from MEMORY_BENCH_DATA, or from
`../shared/data` beside the checkout. A positive item is caught when every labelled span
is at least 80 % covered; a negative one is hit when anything in it is touched. Speed is
UTF-8 bytes of decoded record text per second of CPU time, on one core.
"""

from __future__ import annotations

import argparse
import json
import lzma
import os
import sys
import tarfile
import tempfile
import time
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from memory_assets.errors import TranscriptError
from memory_assets.redaction import Finding, Redactor, load_redactor

CHECKOUT = Path(__file__).resolve().parent.parent
COVERED = 0.8
ROUNDS = 3
Item = dict[str, Any]
Tally = dict[tuple[str, str], list[int]]


def data_dir() -> Path:
    """Return where the evaluation data is, or would be."""
    return Path(os.environ.get("MEMORY_BENCH_DATA", CHECKOUT.parent / "shared" / "data"))


def read_items(archive: Path) -> list[Item]:
    """Return the labelled items."""
    with lzma.open(archive, "rt", encoding="utf-8") as lines:
        return [json.loads(line) for line in lines]


def is_caught(item: Item, findings: Iterable[Finding]) -> bool:
    """Return whether every labelled span is covered well enough."""
    found = tuple(findings)
    return all(
        sum(max(0, min(end, f.end) - max(start, f.start)) for f in found) >= COVERED * (end - start)
        for start, end in item["spans"]
    )


def score(redactor: Redactor, items: Iterable[Item]) -> tuple[Tally, list[Item]]:
    """Return [caught or hit, all] by (table, row), and the positive items missed."""
    tally: Tally = defaultdict(lambda: [0, 0])
    missed = []
    for item in items:
        findings = redactor.find(item["text"])
        if item["label"] == "positive":
            caught = is_caught(item, findings)
            in_transcript = item["source"] == "transcript"
            rows = [("recall", "in transcripts" if in_transcript else "third-party")]
            rows.append(("recall by source", item["source"]))
            if in_transcript:
                rows.append(("recall by case", str(item.get("case"))))
            if not caught:
                missed.append(item)
        else:
            caught = bool(findings)
            kind = str(item.get("neg_kind"))
            rows = [("touched", kind), ("touched by source", f"{kind}, {item['source']}")]
        for row in rows:
            tally[row][0] += caught
            tally[row][1] += 1
    return tally, missed


def record_texts(transcripts: Path) -> Iterator[str]:
    """Yield the text of every record of every session that a reader knows."""
    from memory_assets.transcripts import read_session

    for path in sorted(transcripts.rglob("*.jsonl")):
        try:
            for record in read_session(path):
                yield record.text
        except TranscriptError:
            continue


def measure_speed(redactor: Redactor, texts: Iterable[str]) -> str:
    """Return one line: bytes, MB/s, share of characters redacted, findings by rule."""
    held = list(texts)
    total = sum(len(text.encode("utf-8", "surrogatepass")) for text in held)
    characters = sum(map(len, held))
    seconds = min(_seconds(redactor, held) for _ in range(ROUNDS))
    rules: Counter[str] = Counter()
    redacted = 0
    for text in held:
        for finding in redactor.find(text):
            rules[finding.rule] += 1
            redacted += finding.end - finding.start
    return (
        f"{total / 1e6:.1f} MB of record text, {total / 1e6 / seconds:.1f} MB/s,"
        f" {redacted / characters:.3%} of it redacted: "
        + ", ".join(f"{rule} {count}" for rule, count in rules.most_common())
    )


def _seconds(redactor: Redactor, texts: list[str]) -> float:
    begin = time.process_time()
    for text in texts:
        redactor.redact(text)
    return time.process_time() - begin


def main() -> int:
    """Print the tables; 1 where the data is absent."""
    arguments = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    arguments.add_argument("--missed", metavar="SOURCE", help="list the ids missed of one source")
    options = arguments.parse_args()
    labelled = data_dir() / "redaction.jsonl.xz"
    if not labelled.is_file():
        print(f"no {labelled.name} in {data_dir()}: set MEMORY_BENCH_DATA", file=sys.stderr)
        return 1
    redactor = load_redactor()
    print(f"ruleset {redactor.ruleset_version}")
    tally, missed = score(redactor, read_items(labelled))
    table = ""
    for (name, row), (count, whole) in sorted(tally.items()):
        if name != table:
            print(f"\n{name}")
            table = name
        print(f"  {row:32} {count:5} of {whole:5}  {count / whole:8.2%}")
    if options.missed:
        print(
            *(f"{m['id']} {m['rule']}" for m in missed if m["source"] == options.missed), sep="\n"
        )
    archive = data_dir() / "transcripts.tar.xz"
    if archive.is_file():
        with tempfile.TemporaryDirectory() as folder, tarfile.open(archive, "r:xz") as tar:
            tar.extractall(folder, filter="data")
            print("\n" + measure_speed(redactor, record_texts(Path(folder))))
    return 0


if __name__ == "__main__":
    sys.exit(main())
