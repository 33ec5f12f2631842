"""What the redactor does to real transcripts: share of bytes by rule, time by stage, and
a random sample of redactions for the review of false positives."""

from __future__ import annotations

import cProfile
import pstats
import random
import re
import sys
import time
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from dev_data import source_of

from memory_assets.errors import MemoryAssetsError, TranscriptError
from memory_assets.models import Record
from memory_assets.redaction import Finding, RecordRedaction, Redactor
from memory_assets.transcripts import read_session

FILE_CONTENTS = "file-contents"
PROJECT = "benchmark"
SHORT_TAG = 60
_CLASSES = (("[A-Z]", "A"), ("[a-z]", "a"), ("[0-9]", "0"))


def read_sessions(transcripts: Path) -> Iterator[list[Record]]:
    """Yield the records of each file that can be read."""
    for path in sorted(transcripts.rglob("*.jsonl")):
        try:
            records = list(read_session(path, source=source_of(path)))
        except TranscriptError:
            continue
        if records:
            yield records


def size(text: str) -> int:
    """Return the length of `text` in UTF-8 bytes."""
    return len(text.encode("utf-8", "surrogatepass"))


def redact_session(redactor: Redactor, records: Sequence[Record]) -> list[RecordRedaction]:
    """Return one session's records, redacted in both passes."""
    session = redactor.session(records[0].session_id)
    once = [session.redact_record(r, project=PROJECT, project_root=r.cwd) for r in records]
    return [session.propagate(redaction) for redaction in once]


@dataclass
class Share:
    """Bytes of record text and what of them was redacted, by rule."""

    total: int = 0
    held_back: int = 0
    counts: Counter[str] = field(default_factory=Counter)
    bytes_by_rule: Counter[str] = field(default_factory=Counter)
    personal: Counter[str] = field(default_factory=Counter)

    def print(self) -> None:
        """Print the table: the policy for files first, then every rule, then persons."""
        outside = sum(n for rule, n in self.bytes_by_rule.items() if rule != FILE_CONTENTS)
        inside = self.bytes_by_rule[FILE_CONTENTS]
        print(f"\n| {self.total / 1e6:.1f} MB of record text | bytes | share | redactions |")
        print("|---|---|---|---|")
        for name, count in (("by the policy for files", inside), ("by rules", outside)):
            print(f"| {name} | {count} | {count / self.total:.3%} | |")
        for rule, count in self.bytes_by_rule.most_common():
            if rule != FILE_CONTENTS:
                print(f"| {rule} | {count} | {count / self.total:.4%} | {self.counts[rule]} |")
        for kind, count in self.personal.most_common():
            print(f"| personal: {kind} | {count} | {count / self.total:.3%} | |")
        print(f"| sessions held back | {self.held_back} | | |")


def redacted_share(redactor: Redactor, sessions: Sequence[Sequence[Record]]) -> Share:
    """Return what of the sessions' text is redacted, file contents apart from the rest."""
    share = Share()
    for records in sessions:
        share.total += sum(size(record.text) for record in records)
        try:
            redactions = redact_session(redactor, records)
        except MemoryAssetsError:
            share.held_back += 1
            continue
        for record, redaction in zip(records, redactions, strict=True):
            for finding in redaction.findings:
                if finding.field == "text":
                    share.counts[finding.rule] += 1
                    stretch = record.text[finding.start : finding.end]
                    share.bytes_by_rule[finding.rule] += size(stretch)
            for finding in redaction.personal:
                if finding.field == "text":
                    share.personal[finding.rule] += finding.end - finding.start
    return share


def print_stages(redactor: Redactor, sessions: Sequence[Sequence[Record]], rounds: int) -> float:
    """Print MB/s of CPU time by public call; return that of `redact` alone."""
    records = [record for session in sessions for record in session]
    total = sum(size(record.text) for record in records) / 1e6
    best: dict[str, float] = defaultdict(lambda: float("inf"))
    for _ in range(rounds):
        begin = time.process_time()
        for record in records:
            redactor.redact(record.text)
        best["redact: rules, views, personal data"] = min(
            best["redact: rules, views, personal data"], time.process_time() - begin
        )
        begin = time.process_time()
        for record in records:
            redactor.policy.cuts(record, record.cwd)
        best["policy for file contents"] = min(
            best["policy for file contents"], time.process_time() - begin
        )
        first = second = 0.0
        for session in sessions:
            keeper = redactor.session(session[0].session_id)
            begin = time.process_time()
            once = [keeper.redact_record(r, project=PROJECT, project_root=r.cwd) for r in session]
            middle = time.process_time()
            for redaction in once:
                keeper.propagate(redaction)
            first += middle - begin
            second += time.process_time() - middle
        best["records: policy, then all fields"] = min(
            best["records: policy, then all fields"], first
        )
        best["propagation, the second pass"] = min(best["propagation, the second pass"], second)
    for stage, seconds in best.items():
        print(f"| {stage} | {total / max(seconds, 1e-9):.1f} |")
    _print_modules(redactor, records)
    return total / best["redact: rules, views, personal data"]


def _print_modules(redactor: Redactor, records: Sequence[Record]) -> None:
    """Print which module of the package the time of `redact` goes to, by a profile."""
    profile = cProfile.Profile()
    profile.enable()
    for record in records:
        redactor.redact(record.text)
    profile.disable()
    seconds: Counter[str] = Counter()
    functions = pstats.Stats(profile).stats  # type: ignore[attr-defined]
    for (file, _, _), (_, _, own, _, callers) in functions.items():
        if file != "~":
            seconds[Path(file).stem] += own
            continue
        for (caller, _, _), (_, _, part, _) in callers.items():  # built-in: who called it
            seconds[Path(caller).stem] += part
    whole = sum(seconds.values())
    print("\n| module | share of the time of `redact`, profiled |")
    print("|---|---|")
    for module, spent in seconds.most_common(12):
        print(f"| {module} | {spent / whole:.1%} |")


Sighting = tuple[Record, Finding]


def review(
    redactor: Redactor, sessions: Sequence[Sequence[Record]], number: int, seed: int, context: int
) -> None:
    """Print `number` random redactions with their surroundings, for a person's judgement:
    of secrets first, then of personal data. Each value counts once a session.

    The text goes to the terminal and nowhere else: where the output is no terminal,
    letters and digits of what was redacted are masked.
    """
    secrets: dict[tuple[str, ...], Sighting] = {}
    personal: dict[tuple[str, ...], Sighting] = {}
    for records in sessions:
        try:
            redactions = redact_session(redactor, records)
        except MemoryAssetsError:
            continue
        for record, redaction in zip(records, redactions, strict=True):
            for found, kept in ((redaction.findings, secrets), (redaction.personal, personal)):
                for finding in found:
                    if finding.field == "text" and finding.rule != FILE_CONTENTS:
                        value = record.text[finding.start : finding.end]
                        kept.setdefault((record.session_id, finding.rule, value), (record, finding))
    draw = random.Random(seed)
    chosen = draw.sample(list(secrets.values()), min(number, len(secrets)))
    chosen += draw.sample(list(personal.values()), min(number - len(chosen), len(personal)))
    print(f"{len(secrets)} secrets, {len(personal)} personal data; {len(chosen)} shown")
    for index, (record, finding) in enumerate(chosen, 1):
        print(f"{index:4} {_in_context(record, finding, context)}")


def _in_context(record: Record, finding: Finding, context: int) -> str:
    text = record.text
    value = text[finding.start : finding.end]
    if len(value) > SHORT_TAG:
        value = f"{value[:40]} ({len(value)} characters) {value[-12:]}"
    before = text[max(0, finding.start - context) : finding.start]
    after = text[finding.end : finding.end + context]
    where = f"{finding.rule} | {record.agent} {record.kind} {record.tool_name}"
    return f"{where} | {_line(before)}[[{_shown(value)}]]{_line(after)}"


def _line(text: str) -> str:
    return re.sub(r"\s+", " ", text)


def _shown(secret: str) -> str:
    if sys.stdout.isatty():
        return _line(secret)
    for characters, stand_in in _CLASSES:
        secret = re.sub(characters, stand_in, secret)
    return _line(secret)
