"""A status in lines for a human: totals, coverage, and what is held back with its cause and
remedy."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import closing, suppress
from datetime import datetime
from pathlib import Path
from typing import Any

from memory_assets.errors import MemoryAssetsError
from memory_assets.paths import NO_VECTORS
from memory_assets.project_names import with_spoken_projects
from memory_assets.requests.times import spoken_time
from memory_assets.stores.catalog.session_counts import SessionCounts

_LENGTHS = {
    "year": 31_556_952,
    "month": 2_629_746,
    "week": 604_800,
    "day": 86_400,
    "hour": 3_600,
    "minute": 60,
    "second": 1,
}
"""Units by their seconds; one is used from two of it on."""


def counted(number: int, noun: str) -> str:
    """Return a number with its noun: `1 session`, `2,000 sessions`."""
    return f"{number:,} {noun}{'s' * (number != 1)}"


def duration_text(seconds: float) -> str:
    """Return a length of time in its largest unit, rounded down: `3 days`."""
    for unit, length in _LENGTHS.items():
        if seconds >= 2 * length:
            return counted(int(seconds // length), unit)
    return counted(max(0, int(seconds)), "second")


def shares_of(sessions: Mapping[str, int]) -> str:
    """Return the numbers of sessions of a status in words, as `SessionCounts.shares` does."""
    return SessionCounts(**sessions).shares()


def totals(current: Mapping[str, Any]) -> str:
    """Return how many sessions and turns are in memory, and what is not, as one line."""
    stages = current["stages"]
    chunks, redacted = stages.get("turn_chunks", {}), stages.get("redacted_records", {})
    sessions = current["sessions"]
    agents = ", ".join(f"{counts['sessions']} {name}" for name, counts in current["agents"].items())
    of_whom = "; ".join(filter(None, (agents, shares_of(sessions))))
    held = len(current["quarantined"]) + len(current["unlisted"])
    withheld = redacted.get("withheld") or 0
    without_text = f"{counted(withheld, 'record')} withheld whole, " if withheld else ""
    return (
        f"{counted(sessions['total'], 'session')}{f' ({of_whom})' * bool(of_whom)} in "
        f"{counted(len(current['projects']), 'project')}: "
        f"{counted(chunks.get('turns') or 0, 'turn')}, "
        f"{redacted.get('redactions') or 0:,} secrets or personal data taken out, "
        f"{without_text}{held or 'nothing'} held back."
    )


def found_so_far(current: Mapping[str, Any]) -> str:
    """Return how many sessions can be found, as a sentence, when an ingest is stopped."""
    covered = current["coverage"]["sessions"]
    if not covered["keywords"]:
        return "Nothing can be found yet."
    cut = covered["read"] - covered["waiting"] - covered["quarantined"]
    chunks = f"{counted(covered['keywords'], 'passage')} of {cut} of {covered['read']} sessions"
    by_meaning = f", {covered['indexed']:,} by their meaning" * covered["vectors"]
    return f"{chunks} can be found by their words{by_meaning}."


def waiting_sessions(number: int) -> str:
    """Return that so many sessions were read or redacted, and nothing was made of them."""
    return (
        f"{counted(number, 'session')} cannot be found yet: a check failed, or the "
        "ingest was stopped; run `memory ingest`"
    )


def named_documents(number: int) -> list[str]:
    """Return, as at most one line, that so many documents are embedded by their names."""
    if not number:
        return []
    return [
        f"{counted(number, 'document')} that programs wrote (patches, lock files, drawings, "
        "minified code): found by all words, by meaning by the name of the file."
    ]


def in_words(covered: Mapping[str, Mapping[str, Any]]) -> Iterator[tuple[bool, str]]:
    """Yield the coverage as lines for a human, each with True if everything can be found."""
    behind = {kind: index for kind, index in covered.items() if not index["complete"]}
    held = max((index["quarantined"] + index["unlisted"] for index in covered.values()), default=0)
    missing = next((index["missing"] for index in covered.values() if index.get("missing")), ())
    noted = next((index["noted"] for index in covered.values() if index.get("noted")), "")
    yield from ((False, line) for line in missing)
    if held:
        yield False, f"Not everything was taken in: {held} held back, for the reasons given."
    elif not behind and not missing:
        if covered and not any(index["rows"] for index in covered.values()):
            yield False, "Nothing is on record yet; `memory ingest` takes in what agents write."
            return
        vectors = all(index["vectors"] for index in covered.values())
        by_words = f" by its words; {NO_VECTORS}"
        yield True, f"Everything on record can be found{'' if vectors else by_words}."
    for kind, index in behind.items():
        if index["waiting"]:
            yield (
                False,
                waiting_sessions(index["waiting"]),
            )
            continue
        by_meaning = f", {index['indexed']:,} by their meaning" if index["vectors"] else ""
        yield (
            False,
            f"{kind}: {index['keywords']:,} of {index['rows']:,} rows can be found by their "
            f"words{by_meaning}; run `memory ingest`",
        )
    if noted:
        yield not (missing or held or behind), f"{noted}."


def held_back(current: Mapping[str, Any], spoken: Mapping[str, str]) -> Iterator[str]:
    """Yield a line for each session, file and directory that a status says is held back; one for
    those of a project that are held back for the same reason. Projects have their `spoken` names.
    """
    alike: dict[tuple[str, ...], list[Mapping[str, Any]]] = {}
    for entry in current["quarantined"]:
        when = ", tried again by every run" if entry["passing"] else ""
        key = (entry["project"], entry["stage"], when, _sentence(entry))
        alike.setdefault(key, []).append(entry)
    for (project, stage, when, sentence), entries in alike.items():
        names = ", ".join(entry["session_id"] for entry in entries)
        since = spoken_time(min(datetime.fromisoformat(entry["since"]) for entry in entries))
        to_do = with_spoken_projects(sentence, spoken)
        yield f"{names} of {spoken.get(project, project)} ({stage}) since {since}{when}: {to_do}"
    for path in current["unlisted"]:
        yield f"{path['path']} ({path['agent']}), looked at again by every run: {_sentence(path)}"


def told_error(error: MemoryAssetsError, data_dir: Path) -> str:
    """Return what an error says, in whose commands projects have the names that readers are told
    (see `with_spoken_projects`)."""
    message = str(error)
    if "--project=" not in message:
        return message
    from memory_assets.stores.catalog.catalog import catalog_of

    with suppress(MemoryAssetsError), closing(catalog_of(data_dir)) as catalog:
        return with_spoken_projects(message, catalog.spoken_projects())
    return message


def chroma_notes(current: Mapping[str, Any]) -> Iterator[str]:
    """Yield notes on Chroma's files: that they are gone, and whether the directories that were set
    aside can be deleted."""
    chroma = current["chroma"]
    if chroma["state"] == "gone":
        directory = Path(current["data_dir"]) / "chroma"
        yield f"keyword-only: the collections are not in {directory}; run `memory ingest`"
    for path in chroma["set_aside"]:
        only = chroma["only_copies"].get(path, [])
        if only:
            names = ", ".join(only)
            what = f"hold the only copy of collections of other programs ({names}): keep them"
        elif only is None:
            unread = path in chroma["unreadable"]
            then = "their names cannot be read" if unread else "the next ingest copies them"
            what = f"may hold the only copy of collections of other programs: keep them; {then}"
        else:
            what = "can be deleted"
        yield f"Chroma was damaged and rebuilt; the damaged files in {path} {what}."


def sample_note(current: Mapping[str, Any], spoken: Mapping[str, str]) -> Iterator[str]:
    """Yield that the sample is on record beside the user's own sessions, if it is, with the
    `spoken` names of its projects."""
    if projects := current["sample_projects"]:
        names = ", ".join(spoken.get(project, project) for project in projects)
        yield (
            f"The sample sessions are in this memory beside your own ({names}): "
            "`memory forget --project NAME` removes those of one project."
        )


def excluded_note(current: Mapping[str, Any]) -> Iterator[str]:
    """Yield that files are never read, and why, if there are patterns that say so."""
    excluded = current["excluded"]
    if excluded["patterns"]:
        files = counted(excluded["files"], "file")
        yield (
            f"Excluded (MEMORY_EXCLUDE, excluded.txt): {files} of transcripts, never read: "
            f"{', '.join(excluded['patterns'])}."
        )


def can_be_helped(current: Mapping[str, Any]) -> bool:
    """Return whether anything is held back that the user can do something about: a failure of
    the environment, or a name that cannot be stored. False for sessions that no run can take in
    before their file changes."""
    return bool(current["unlisted"]) or any(entry["passing"] for entry in current["quarantined"])


def _sentence(entry: Mapping[str, Any]) -> str:
    return f"{entry['reason']}; to do: {entry['remedy']}" if entry["remedy"] else entry["reason"]


_MOST_ROWS = 20
"""Rows of a table; what is left out is counted."""
_MARKDOWN_MARKS = re.compile(r"([\\`*_\[\]<>|~])")
_NUMBER_COLUMNS = {"rows", "by words", "by meaning", "files", "passed", "redactions", "MB"}
"""Headings of columns of numbers."""


def report(
    current: Mapping[str, Any],
    rules: Sequence[Mapping[str, Any]],
    checks: Sequence[Mapping[str, Any]],
    spoken: Mapping[str, str],
) -> str:
    """Return coverage, lag by project, what is held back, checks, redactions by rule, sizes and the
    last run, as Markdown; the arguments are a status, what `status/health.py` returns, and the
    names of projects that readers are told."""
    covered = (
        (name, index["rows"], index["keywords"], index["indexed"])
        for name, index in current["coverage"].items()
    )
    behind = (
        (spoken.get(project, project), lag["files"], f"{duration_text(lag['lag_seconds'])} ago")
        for project, lag in current["freshness"]["projects_behind"].items()
    )
    redactions = (
        (rule["rule"], rule["count"], _counts(rule["projects"], spoken)) for rule in rules
    )
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
        _section("Held back", held, _held_back(current, spoken), "Nothing."),
        _section("Checks", ("asset", "check", "passed", "others"), _checks(checks, spoken), passed),
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


def _held_back(
    current: Mapping[str, Any], spoken: Mapping[str, str]
) -> Iterator[tuple[object, ...]]:
    for entry in current["quarantined"]:
        since = spoken_time(datetime.fromisoformat(entry["since"]))
        remedy = with_spoken_projects(entry["remedy"], spoken)
        project = spoken.get(entry["project"], entry["project"])
        yield f"{entry['session_id']} of {project}", entry["stage"], since, entry["reason"], remedy
    for path in current["unlisted"]:
        yield path["path"], "", "", path["reason"], path["remedy"]


def _checks(
    checks: Iterable[Mapping[str, Any]], spoken: Mapping[str, str]
) -> Iterator[tuple[object, ...]]:
    for check in checks:
        if check["others"]:
            others = ", ".join(
                f"{spoken.get(other['project'], other['project'])}: {other['result']}"
                for other in check["others"]
            )
            yield check["asset"], check["check"], check["passed"], others


def _counts(counts: Mapping[str, int], spoken: Mapping[str, str]) -> str:
    return ", ".join(f"{spoken.get(name, name)} ({count})" for name, count in counts.items())


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
