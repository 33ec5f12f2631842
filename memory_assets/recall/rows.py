"""Rows of one session as the lake has them, for all that answers questions, and why
something of a session cannot be shown, although its records are there."""

from __future__ import annotations

import re
import sys
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from memory_assets.errors import NotFound

if TYPE_CHECKING:
    from memory_assets.stores.lake.lake import Lake
    from memory_assets.stores.lake.schemas import Table
    from memory_assets.stores.stores import Stores


LINE_CHARACTERS = 160
UNTIMED = datetime.min.replace(tzinfo=UTC)
"""The time by which what has none is sorted."""
_SUBJECT_HEAD = 40
"""Characters of a subject that a list of commits, which shortens them, surely has."""
_FILES = 12
"""Files named in one line."""


def import_arrow_alone() -> None:
    """Import pyarrow without numpy, which takes longer than it: for a process that ends with its
    answer and reads no vectors."""
    if "numpy" in sys.modules:
        return
    sys.modules["numpy"] = None  # type: ignore[assignment]
    try:
        import pyarrow.parquet  # noqa: F401
    finally:
        del sys.modules["numpy"]


def rows_of(
    lake: Lake, table: Table, project: str, session_id: str, columns: list[str] | None = None
) -> list[dict[str, Any]]:
    """Return the rows of a session in a table; none if the session is not in it."""
    try:
        return lake.read(table, project, session_id, columns).to_pylist()
    except NotFound:
        return []


def iso_time(moment: datetime | None) -> str | None:
    """Return a time as answers have it, None for one that is not known."""
    return moment.isoformat() if moment is not None else None


def with_iso_times(row: Mapping[str, Any]) -> dict[str, Any]:
    """Return a row with its times as ISO text."""
    return {
        name: value.isoformat() if isinstance(value, datetime) else value
        for name, value in row.items()
    }


def goes_on_within(row: Mapping[str, Any], since: datetime | None, until: datetime | None) -> bool:
    """Return True if a session, by its `started_at` and `ended_at`, was going on between two
    times; one without them only where neither is given."""
    if since is not None and (row["ended_at"] or UNTIMED) < since:
        return False
    return until is None or bool(row["started_at"] and row["started_at"] < until)


def one_line(text: str, most: int = LINE_CHARACTERS) -> str:
    """Return the beginning of a text on one line, cut after a word if it is too long."""
    line = " ".join(text[: 4 * most].split())
    if len(line) <= most:
        return line
    return f"{line[: most - 1].rsplit(' ', 1)[0].rstrip(',.;:')}…"


def answering_models(models: Iterable[str | None]) -> list[str]:
    """Return the models that answered, the one that answered most first. Claude Code calls its own
    messages, such as an error of its API, `<synthetic>`."""
    counts = Counter(model for model in models if model and model != "<synthetic>")
    return [model for model, _ in counts.most_common()]


def stored_vectors(
    lake: Lake, table: Table, sessions: Iterable[tuple[str, str]]
) -> dict[str, tuple[str, Any]]:
    """Return the embedder's id and the vector of each row of these sessions (project and id), by
    the row's id; nothing for a session without vectors."""
    by_id: dict[str, tuple[str, Any]] = {}
    for project, session_id in sessions:
        try:
            stored = lake.read_vectors(table, project, session_id)
        except NotFound:
            continue
        by_id.update(
            zip(stored.ids, zip(stored.embedder_ids, stored.vectors, strict=True), strict=True)
        )
    return by_id


def not_in_memory(
    stores: Stores, project: str, session_id: str, missing: str, otherwise: str = ""
) -> NotFound:
    """Return the error that `missing` of a session is not in memory: with cause and remedy if the
    session is held back, with what makes it if the ingest was stopped before that; else the
    message `otherwise`."""
    from memory_assets.stores.lake.schemas import REDACTED_RECORDS, TURN_CHUNKS

    products = stores.catalog.products.of_session(project, session_id)
    entries = stores.catalog.quarantine.entries(project)
    quarantined = [entry for entry in entries if entry.session_id == session_id]
    records = products.get(REDACTED_RECORDS.name)
    if records is None or not records.rows or (TURN_CHUNKS.name in products and not quarantined):
        return NotFound(
            otherwise
            or f"no {missing} in session {session_id}; `memory summarize {session_id}` (MCP: "
            f'`summarize_session(session="{session_id}")`) lists what is in it'
        )
    why = "not made yet; run `memory ingest`"
    if quarantined:
        entry = quarantined[0]
        why = f"held back at {entry.stage} ({entry.reason}); to do: {entry.remedy}"
    return NotFound(
        f"no {missing} of session {session_id}: {why}. `memory show {session_id} --records` prints "
        "its records"
    )


def some_files(paths: Sequence[str]) -> str:
    """Return the first paths, and how many more there are."""
    more = f" and {len(paths) - _FILES} more" if len(paths) > _FILES else ""
    return f"{', '.join(paths[:_FILES])}{more}"


def _without_commits(completed: str, commits: Sequence[str]) -> str:
    """Return what was completed without the sentence that lists commits, which a summary has in
    full."""
    subjects = [name for commit in commits for name in (commit, commit.partition(" ")[2]) if name]
    any_subject = "|".join(re.escape(subject[:_SUBJECT_HEAD]) for subject in subjects) or "(?!)"
    listed = rf"(?s:(.*))(?<!\S)Committed: (?:{any_subject}).*?\.(?= Wrote a plan: |\Z)\s*"
    return re.sub(listed, r"\1", completed, count=1).rstrip()


def summary_text(row: Mapping[str, Any]) -> str:
    """Return a summary in order of use: what was asked, what it came to and what is left, then what
    was changed."""
    unresolved = (error["text"] for error in row["errors"] if error["outcome"] == "unresolved")
    named = {
        "Asked": row["request"],
        "Learned": row["learned"],
        "Done": _without_commits(row["completed"], row["commits"]),
        "Left": row["next_steps"],
        "Not resolved": "; ".join(unresolved),
        "Committed": "; ".join(row["commits"]),
        "Changed": some_files(row["files_modified"]),
        "Notes": row["notes"],
    }
    return "\n".join([row["title"], *(f"{name}: {text}" for name, text in named.items() if text)])
