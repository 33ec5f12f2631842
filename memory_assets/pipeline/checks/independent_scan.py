"""Kingfisher looks for secrets in every string of the lake, independently of our redactor.

It shares neither code nor rules with our redactor. It runs in this process, on memory
alone: nothing is written for it, it opens no socket, and its validation of credentials
is never used. `Scanner` without a policy obeys no inline markers, so no transcript can
switch it off with a comment. It reports a rule and an offset, never text.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import TYPE_CHECKING

from memory_assets.pipeline.checks.kingfisher import kingfisher
from memory_assets.pipeline.checks.pending import CheckBatch, Report, Verdict, scan_pending
from memory_assets.pipeline.checks.text_columns import batches, text_columns
from memory_assets.pipeline.stage.components import Components
from memory_assets.pipeline.stage.report import input_hash
from memory_assets.redaction.known_secrets import is_guessable, value_hash
from memory_assets.redaction.rules.judging.values import is_example
from memory_assets.redaction.tags import TAG
from memory_assets.stores.agents.partitions import is_agent_memory
from memory_assets.stores.lake.schemas import Table
from memory_assets.stores.workspaces import is_workspace

if TYPE_CHECKING:
    from kingfisher_sdk.scanner import Scanner

_BATCH_BYTES = 8_000_000
_SEPARATOR = b"\n\n"
_LISTED = 10
_TOKEN_RUN = re.compile(r"[A-Za-z0-9_\-]{16,512}")
_UNAVAILABLE = "not available on this platform"
_NO_SCANNER = (
    "There is no Kingfisher wheel for this platform, so only the project's own redactor has "
    "searched the lake. Run `memory verify` on a copy of the data directory elsewhere; see "
    "docs/settings.md."
)


@dataclass(frozen=True)
class Reported:
    """A report on one of the values scanned: offsets count UTF-8 bytes of that value."""

    index: int
    rule: str
    start: int
    end: int


class IndependentScanner:
    """Kingfisher with its own rules, and without those of `ignored_rules`."""

    def __init__(self, scanner: Scanner, version: str, ignored_rules: Sequence[str] = ()) -> None:
        self._scanner = scanner
        self._ignored = frozenset(ignored_rules)
        self.id = input_hash("kingfisher", version, *sorted(self._ignored))

    def scan(self, values: Sequence[bytes]) -> list[Reported]:
        """Return the scanner's reports on values, all scanned in one call. Values that one report
        spans are scanned again, each by itself."""
        data = _SEPARATOR.join([b"", *values])
        starts = _value_starts(values)
        reported: list[Reported] = []
        to_rescan: set[int] = set()
        for rule, start, end in self._reports(data):
            first, last = (bisect_right(starts, at) - 1 for at in (start, end - 1))
            if first == last and end <= starts[first + 1] - len(_SEPARATOR):
                reported.append(Reported(first, rule, start - starts[first], end - starts[first]))
            else:
                to_rescan.update(range(max(first, 0), min(last + 1, len(values))))
        for index in sorted(to_rescan):
            reported += [Reported(index, *report) for report in self._reports(values[index])]
        return sorted(set(reported), key=lambda report: (report.index, report.start, report.rule))

    def _reports(self, data: bytes) -> Iterator[tuple[str, int, int]]:
        for finding in self._scanner.scan(data):
            if finding.visible and finding.rule_id not in self._ignored:
                place = finding.location
                yield finding.rule_id, place["start_offset"], place["end_offset"]


def load_independent_scanner(ignored_rules: Sequence[str] = ()) -> IndependentScanner | None:
    """Return the scanner, or None where Kingfisher has no wheel for the platform."""
    try:
        import kingfisher_sdk
    except ImportError:
        return None
    return IndependentScanner(kingfisher(), kingfisher_sdk.__version__, ignored_rules)


def neutral(value: str | bytes) -> bytes:
    """Return a value as it is scanned: our tags blanked, because `scheme://<tag>@host`
    reads like a password, and no NUL bytes, because those make text look like UTF-16."""
    text = value.decode("utf-8", "replace") if isinstance(value, bytes) else value
    return TAG.sub("<redacted>", text).replace("\0", " ").encode("utf-8", "replace")


def independent_scanner_finds_nothing(
    components: Components, project: str, table: Table
) -> Verdict:
    """Whether an independent scanner finds nothing in any string of a table as it lies on
    disk: free text, ids, lists and structs alike.

    A clean file is not read again until it or the scanner changes. Reported values that cannot be
    guessed become known secrets, by keyed hash, which the next run redacts. Placeholders of secrets
    (`YOUR_API_KEY`) are only counted.
    """
    scanner = load_independent_scanner(components.settings.scanner_ignored_rules)
    if scanner is None:
        return Verdict(False, {"scanner": _UNAVAILABLE}, _NO_SCANNER, warning=True)
    totals: Counter[str] = Counter()
    examples: set[tuple[str, int]] = set()

    def scan(rows: CheckBatch) -> list[Report]:
        reports: list[Report] = []
        for batch in batches(_strings(rows), _BATCH_BYTES):
            values = [value for _, value in batch]
            totals["values"] += len(values)
            for report in scanner.scan(values):
                column, row = batch[report.index][0]
                session_id, place = _session_and_place(rows, column, row)
                known = _unguessable_hashes(values[report.index], report, components.install_key)
                reported = values[report.index][report.start : report.end].decode(
                    "utf-8", "replace"
                )
                if not known and is_example(reported):
                    examples.add((place, report.start))
                    continue
                line = values[report.index].count(b"\n", 0, report.start) + 1
                reports.append(Report(f"{column}: {report.rule}", session_id, place, line))
                totals["unguessable"] += bool(known)
                totals["learned"] += components.catalog.known_secrets.add(session_id, known)
        return reports

    files, reports = scan_pending(components, project, table, "independent", scanner.id, scan)
    counts: dict[str, int | str] = {
        "files_scanned": files,
        "values_scanned": totals["values"],
        "reports": len(reports),
        "examples": len(examples),
        "files_with_reports": len({report.session_id for report in reports}),
        "unguessable": totals["unguessable"],
        "now_known": totals["learned"],
        "places": "; ".join(report.place for report in reports[:_LISTED]),
        **Counter(sorted(report.rule for report in reports)),
    }
    return Verdict(not reports, counts, _remedy(project, totals["learned"]), reports=reports)


def _strings(batch: CheckBatch) -> Iterator[tuple[tuple[str, int], bytes]]:
    """Yield column and row of each string that is long enough to be a secret, and the string."""
    for column in text_columns(batch.rows):
        for value, row in zip(column.values, column.rows, strict=True):
            if len(value) >= 8:
                yield (column.name, row), neutral(value)


def _session_and_place(batch: CheckBatch, column: str, row: int) -> tuple[str, str]:
    """Return the session and the place of a value. In a column of ids the place leaves out the
    session's name, which may be the reported value."""
    session_id, number = batch.place_of(row)
    named = "a session" if "id" in column.split("_") else session_id
    return session_id, f"{named} row {number} {column}"


def _unguessable_hashes(value: bytes, report: Reported, key: bytes) -> Mapping[bytes, str]:
    """Return the rule by keyed hash of each unguessable run of token characters that a report
    touches; by these hashes any text can be searched for the value."""
    rule = re.sub("[^a-z0-9-]+", "-", report.rule.lower())[-60:]
    text = value.decode("utf-8", "replace")
    start, end = (len(value[:at].decode("utf-8", "replace")) for at in (report.start, report.end))
    runs = [
        run.group() for run in _TOKEN_RUN.finditer(text) if run.start() < end and start < run.end()
    ]
    hashes = {value_hash(run, key) for run in runs if not is_guessable(rule, run)}
    return {hashed: rule for hashed in hashes if hashed is not None}


def _value_starts(values: Sequence[bytes]) -> list[int]:
    """Return where each value starts in the joined data, which begins with a separator,
    and where another one would."""
    steps = (len(value) + len(_SEPARATOR) for value in values)
    return list(accumulate(steps, initial=len(_SEPARATOR)))


def _remedy(project: str, learned: int) -> str:
    if learned:
        command = f"memory ingest --project={project}"
        if is_workspace(project) or is_agent_memory(project):
            command = "memory index" if is_workspace(project) else "memory ingest"
        return (
            f"{learned} of the values are now known by keyed hash: run `{command}` and they are "
            "redacted. If the check fails again, report the rule by name."
        )
    return (
        "Look at the places named, then report the rule by name. If they are no secrets, list "
        "the rule in MEMORY_SCANNER_IGNORED_RULES."
    )
