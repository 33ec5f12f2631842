"""A status as a report in Markdown: counts, names and reasons, without a text of any session."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from typing import Any

from memory_assets.requests.times import spoken_time
from memory_assets.status.words import counted, duration_text, in_words, totals

_MOST_ROWS = 20
"""Rows of a table; what is left out is counted."""
_MARKDOWN_MARKS = re.compile(r"([\\`*_\[\]<>|~])")
_NUMBER_COLUMNS = {"rows", "by words", "by meaning", "files", "passed", "redactions", "MB"}
"""Headings of columns of numbers."""


def report(
    current: Mapping[str, Any],
    rules: Sequence[Mapping[str, Any]],
    checks: Sequence[Mapping[str, Any]],
) -> str:
    """Return coverage, lag by project, what is held back, checks, redactions by rule, sizes and the
    last run, as Markdown; the arguments are a status, and what `status/health.py` returns."""
    covered = (
        (name, index["rows"], index["keywords"], index["indexed"])
        for name, index in current["coverage"].items()
    )
    behind = (
        (project, lag["files"], f"{duration_text(lag['lag_seconds'])} ago")
        for project, lag in current["freshness"]["projects_behind"].items()
    )
    redactions = ((rule["rule"], rule["count"], _counts(rule["projects"])) for rule in rules)
    sizes = ((store, f"{size / 1e6:.1f}") for store, size in current["sizes"].items())
    files = counted(current["freshness"]["files"], "file")
    passed = f"All {len(checks)} checks passed in every partition." if checks else "None was run."
    held = ("what", "stage", "since", "reason", "to do")
    sections = (
        _section("Coverage", ("set", "rows", "by words", "by meaning"), covered),
        _section(
            "Behind the transcripts",
            ("project", "files", "oldest change"),
            behind,
            f"None of {files}.",
        ),
        _section("Held back", held, _held_back(current), "Nothing."),
        _section("Checks", ("asset", "check", "passed", "others"), _checks(checks), passed),
        _section("Redactions in sessions", ("rule", "redactions", "projects"), redactions, "None."),
        _section("Sizes", ("store", "MB"), sizes),
        f"## Runs\n\n{_escaped(_runs(current['runs']))}",
    )
    lines = (totals(current), *(line for _, line in in_words(current["coverage"])))
    return "\n\n".join((*map(_escaped, lines), *sections))


def _runs(runs: Mapping[str, Any]) -> str:
    if not (last := runs.get("last")):
        return "None has ended."
    ended = spoken_time(datetime.fromisoformat(last["ended_at"]))
    return (
        f"The last ended {ended}: {last['job']}, {last['status'].lower()}. "
        f"{runs['under_way']} under way, {runs['failed_in_7_days']} failed in 7 days."
    )


def _held_back(current: Mapping[str, Any]) -> Iterator[tuple[object, ...]]:
    for entry in current["quarantined"]:
        since = spoken_time(datetime.fromisoformat(entry["since"]))
        about = (entry["stage"], since, entry["reason"], entry["remedy"])
        yield f"{entry['session_id']} of {entry['project']}", *about
    for path in current["unlisted"]:
        yield path["path"], "", "", path["reason"], path["remedy"]


def _checks(checks: Iterable[Mapping[str, Any]]) -> Iterator[tuple[object, ...]]:
    for check in checks:
        if check["others"]:
            others = ", ".join(
                f"{other['project']}: {other['result']}" for other in check["others"]
            )
            yield check["asset"], check["check"], check["passed"], others


def _counts(counts: Mapping[str, int]) -> str:
    return ", ".join(f"{name} ({count})" for name, count in counts.items())


def _section(
    title: str, heads: Sequence[str], rows: Iterable[Sequence[object]], otherwise: str = ""
) -> str:
    """Return a heading with a table, or with a sentence if there are no rows."""
    lines = [f"| {' | '.join(_escaped(str(cell)) for cell in row)} |" for row in rows]
    if not lines:
        return f"## {title}\n\n{otherwise}"
    marks = ("---:" if head in _NUMBER_COLUMNS else "---" for head in heads)
    table = [f"| {' | '.join(heads)} |", f"| {' | '.join(marks)} |", *lines[:_MOST_ROWS]]
    more = f"\n\nAnd {len(lines) - _MOST_ROWS} more." if len(lines) > _MOST_ROWS else ""
    return f"## {title}\n\n" + "\n".join(table) + more


def _escaped(text: str) -> str:
    """Return text on one line that Markdown shows as it is."""
    return _MARKDOWN_MARKS.sub(r"\\\1", " ".join(text.split()))
