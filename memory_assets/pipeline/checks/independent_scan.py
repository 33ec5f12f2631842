"""A second opinion: Kingfisher looks for secrets in every string that lies in the lake.

It shares neither code nor rules with our redactor. It runs in this process, on memory
alone: nothing is written for it, it opens no socket, and its validation of credentials
is never used. `Scanner` without a policy obeys no inline markers, so no transcript can
switch it off with a comment. What it reports is a rule and an offset, never text.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from itertools import accumulate
from pathlib import Path
from typing import TYPE_CHECKING

from memory_assets.install_key import user_cache_dir
from memory_assets.pipeline.checks.text_columns import text_columns
from memory_assets.pipeline.checks.verify import Verdict
from memory_assets.pipeline.stage.components import Components
from memory_assets.pipeline.stage.pending_checks import Batch, note_passed, pending_sessions
from memory_assets.pipeline.stage.report import input_hash
from memory_assets.redaction.known_secrets import is_guessable, value_hash
from memory_assets.redaction.tags import TAG
from memory_assets.stores.lake.schemas import Table

if TYPE_CHECKING:
    from kingfisher_sdk.scanner import Scanner

_BATCH_BYTES = 8_000_000
_SEPARATOR = b"\n\n"
_LISTED = 10
_RUN = re.compile(r"[A-Za-z0-9_\-]{16,512}")
_UNAVAILABLE = "not available on this platform"


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
        """Return what the scanner reports of each value, all scanned in one call.

        A report that spans several values is an artefact of that: those are scanned again,
        each by itself.
        """
        data = _SEPARATOR.join([b"", *values])
        starts = _starts(values)
        found: list[Reported] = []
        again: set[int] = set()
        for rule, start, end in self._reports(data):
            first, last = (bisect_right(starts, at) - 1 for at in (start, end - 1))
            if first == last and end <= starts[first + 1] - len(_SEPARATOR):
                found.append(Reported(first, rule, start - starts[first], end - starts[first]))
            else:
                again.update(range(max(first, 0), min(last + 1, len(values))))
        for index in sorted(again):
            found += [Reported(index, *report) for report in self._reports(values[index])]
        return sorted(set(found), key=lambda report: (report.index, report.start, report.rule))

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
    return IndependentScanner(_kingfisher(), kingfisher_sdk.__version__, ignored_rules)


@cache
def _kingfisher() -> Scanner:
    """Return the one compiled scanner of this process: 4 s the first time, 0.4 s after."""
    from kingfisher_sdk.rules import Rules
    from kingfisher_sdk.scanner import Scanner

    return Scanner(Rules(cache_dir=user_cache_dir() / "kingfisher"), redact=True)


def neutral(value: str | bytes) -> bytes:
    """Return a value as it is scanned: our tags blanked, because `scheme://<tag>@host`
    reads like a password, and no NUL bytes, because those make text look like UTF-16."""
    text = value.decode("utf-8", "replace") if isinstance(value, bytes) else value
    return TAG.sub("<redacted>", text).replace("\0", " ").encode("utf-8", "replace")


@dataclass(frozen=True)
class _Place:
    session_id: str
    row: int
    column: str

    def __str__(self) -> str:
        """The place, without the session's name where the name itself was reported."""
        named = "id" in self.column.split("_")
        return f"{'a session' if named else self.session_id} row {self.row} {self.column}"


@dataclass
class _Outcome:
    values: int = 0
    by_rule: Counter[str] = field(default_factory=Counter)
    places: list[str] = field(default_factory=list)
    dirty: set[str] = field(default_factory=set)
    learned: int = 0


def independent_scanner_finds_nothing(
    components: Components, project: str, table: Table
) -> Verdict:
    """Whether an independent scanner finds nothing in any string of a table as it lies on
    disk: free text, ids, lists and structs alike.

    A file that was found clean is not read again until it or the scanner changes. What is
    reported and cannot be guessed joins the known values, by keyed hash: the next run of
    the redactor takes it out.
    """
    scanner = load_independent_scanner(components.settings.scanner_ignored_rules)
    if scanner is None:
        return Verdict(False, {"scanner": _UNAVAILABLE}, _no_scanner(), warning=True)
    catalog = components.catalog
    sessions = pending_sessions(catalog, components.lake, project, table, "independent", scanner.id)
    outcome = _Outcome()
    for rows in components.rows_to_check.batches(project, table, sessions):
        _scan_rows(components, scanner, rows, outcome)
    note_passed(
        catalog, (session for session in sessions if session.session_id not in outcome.dirty)
    )
    counts: dict[str, int | str] = {
        "files_scanned": len(sessions),
        "values_scanned": outcome.values,
        "reports": outcome.by_rule.total(),
        "files_with_reports": len(outcome.dirty),
        "now_known": outcome.learned,
        "places": "; ".join(outcome.places[:_LISTED]),
        **dict(sorted(outcome.by_rule.items())),
    }
    return Verdict(not outcome.dirty, counts, _remedy(project, outcome))


def _scan_rows(
    components: Components, scanner: IndependentScanner, rows: Batch, outcome: _Outcome
) -> None:
    """Scan all sessions at once; if anything is reported, each by itself, because a value
    that several hold is scanned once."""
    together = _Outcome()
    for batch in _batches(_strings(rows)):
        _scan_batch(components, scanner, batch, together)
    outcome.learned += together.learned
    if not together.dirty:
        outcome.values += together.values
        return
    alone = _Outcome()
    for part in rows.split():
        for batch in _batches(_strings(part)):
            _scan_batch(components, scanner, batch, alone)
    for found in (alone,) if alone.dirty else (together,):
        outcome.values += found.values
        outcome.by_rule.update(found.by_rule)
        outcome.places += found.places
        outcome.dirty |= found.dirty
    outcome.learned += alone.learned


def _strings(batch: Batch) -> Iterator[tuple[_Place, bytes]]:
    for column in text_columns(batch.rows):
        for value, row in zip(column.values, column.rows, strict=True):
            if len(value) >= 8:
                place = _Place(*batch.place_of(row), column.name)
                yield place, neutral(value)


def _batches(
    strings: Iterable[tuple[_Place, bytes]],
) -> Iterator[list[tuple[_Place, bytes]]]:
    batch: list[tuple[_Place, bytes]] = []
    size = 0
    for place, value in strings:
        batch.append((place, value))
        size += len(value)
        if size >= _BATCH_BYTES:
            yield batch
            batch, size = [], 0
    if batch:
        yield batch


def _scan_batch(
    components: Components,
    scanner: IndependentScanner,
    batch: Sequence[tuple[_Place, bytes]],
    outcome: _Outcome,
) -> None:
    values = [value for _, value in batch]
    outcome.values += len(values)
    for report in scanner.scan(values):
        place = batch[report.index][0]
        outcome.by_rule[f"{place.column}: {report.rule}"] += 1
        outcome.places.append(str(place))
        outcome.dirty.add(place.session_id)
        known = _known(values[report.index], report, components.install_key)
        outcome.learned += components.catalog.known_secrets.add(place.session_id, known)


def _known(value: bytes, report: Reported, key: bytes) -> Mapping[bytes, str]:
    """Return the keyed hashes of what was reported, by which any text can be searched for
    it: of the runs of token characters that it touches, those that nobody can guess."""
    rule = re.sub("[^a-z0-9-]+", "-", report.rule.lower())[-60:]
    text = value.decode("utf-8", "replace")
    start, end = (len(value[:at].decode("utf-8", "replace")) for at in (report.start, report.end))
    runs = [run.group() for run in _RUN.finditer(text) if run.start() < end and start < run.end()]
    hashes = {value_hash(run, key) for run in runs if not is_guessable(rule, run)}
    return {known: rule for known in hashes if known is not None}


def _starts(values: Sequence[bytes]) -> list[int]:
    """Return where each value starts in the joined data, which begins with a separator,
    and where another one would."""
    steps = (len(value) + len(_SEPARATOR) for value in values)
    return list(accumulate(steps, initial=len(_SEPARATOR)))


def _remedy(project: str, outcome: _Outcome) -> str:
    if outcome.learned:
        return (
            f"{outcome.learned} of the values are now known by keyed hash: run `memory ingest "
            f"--project={project}` and they are redacted. If the check fails again, report the "
            "rule by name."
        )
    return (
        "Look at the places named, then report the rule by name. If they are no secrets, list "
        "the rule in MEMORY_SCANNER_IGNORED_RULES."
    )


def _no_scanner() -> str:
    return (
        "There is no Kingfisher wheel for this platform, so nobody but our own redactor has "
        f"looked at the lake. Run `memory verify` on a copy of the data directory elsewhere; "
        f"see {Path('docs') / 'settings.md'}."
    )
