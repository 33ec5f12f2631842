"""The source files, and their records: keyed hashes (`records.RECORD_DTYPE`)."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Literal

from memory_assets.stores.catalog.connection import CatalogPart, now
from memory_assets.stores.catalog.facts import source_facts, to_json
from memory_assets.stores.catalog.schema import SOURCE_COLUMNS, SOURCE_FACTS, SourceRow

SourceKey = tuple[str, str, str, str]
"""Agent, project, session and subagent ("" for the main file)."""

_FACTS = list(SOURCE_COLUMNS).index("facts")
_HAS_PART = "facts LIKE '%\"parts\"%' AND ? IN (SELECT value FROM json_each(facts, '$.parts'))"
_OF_SOURCE = "agent = ? AND project = ? AND session_id = ? AND agent_id = ?"


def source_key(row: SourceRow) -> SourceKey:
    """Return the key of a source file."""
    return (row.agent, row.project, row.session_id, row.agent_id)


class Sources(CatalogPart):
    """The source files as they were when they were read, and their records."""

    def rows(self, project: str | None = None) -> list[SourceRow]:
        """Return the known source files, of one project or of all, in a fixed order;
        without their `records`."""
        order = "project, agent, session_id, agent_id"
        rows = self._connection.select("sources", SOURCE_FACTS, order, project=project)
        return [_source_row(row) for row in rows]

    def newest_sessions(self, most: int) -> list[tuple[str, str]]:
        """Return project and session of the files whose last records are the newest, newest
        first."""
        rows = self._connection.rows(
            "SELECT project, session_id FROM sources"
            " ORDER BY json_extract(facts, '$.last_timestamp') DESC,"
            " project DESC, agent DESC, session_id DESC, agent_id DESC LIMIT ?",
            most,
        )
        return [(str(row[0]), str(row[1])) for row in rows]

    def project_roots(self) -> dict[str, str]:
        """Return the root directory of each project with transcripts, "" where none is known."""
        rows = self._connection.rows(
            "SELECT project, MAX(json_extract(facts, '$.project_root')) FROM sources "
            "GROUP BY project"
        )
        return {str(project): str(root or "") for project, root in rows}

    def project_of(self, path: str) -> str | None:
        """Return the project of a file; None if it is not known."""
        rows = self._rows_with(path)
        return str(rows[0]["project"]) if rows else None

    def files_of(self, path: str) -> list[str]:
        """Return all files, in order, of the source that a file belongs to, or the file alone."""
        rows = self._rows_with(path)
        parts = source_facts(rows[0]["facts"]).get("parts", ()) if rows else ()
        return [str(rows[0]["path"]) if rows else path, *parts]

    def _rows_with(self, path: str) -> Sequence[sqlite3.Row]:
        """Return the row of the source whose file this is, or one of whose further parts."""
        select = "SELECT path, project, facts FROM sources WHERE"
        rows = self._connection.rows(f"{select} path = ? LIMIT 1", path)
        return rows or self._connection.rows(f"{select} {_HAS_PART} LIMIT 1", path)

    def is_present(self, path: str, state: tuple[int, int] | None = None) -> bool:
        """Return True if a file is known and not gone; with `state` (size, mtime in ns), if it
        was read in this state."""
        sql = "SELECT 1 FROM sources WHERE path = ? AND gone_at IS NULL"
        if state is not None:
            sql += " AND size = ? AND mtime_ns = ?"
        return bool(self._connection.rows(f"{sql} LIMIT 1", path, *(state or ())))

    def mark_gone(self, project: str, paths: Iterable[str]) -> int:
        """Mark files of a project as deleted; return the number of those that were not marked."""
        at = now()
        sql = "UPDATE sources SET gone_at = ? WHERE project = ? AND path = ? AND gone_at IS NULL"
        with self._connection.transaction():
            return sum(self._connection.write(sql, at, project, path) for path in paths)

    def families_of(self, project: str, *, sharing: bool = False) -> list[SourceRow]:
        """Return the main files of a project, and those of any other project that start
        with the same record; with their `records`. `sharing`: without those that are
        known to share no record with any other."""
        which = " AND shares IS NOT 0" if sharing else ""
        rows = self._connection.rows(
            f"SELECT {SOURCE_FACTS} FROM sources WHERE agent_id = '' AND"
            " (project = ? OR family IN (SELECT family FROM sources WHERE project = ?))"
            f"{which} ORDER BY project, agent, session_id",
            project,
            project,
        )
        return [self.with_records(_source_row(row)) for row in rows]

    def with_records(self, row: SourceRow) -> SourceRow:
        """Return the row with its `records`."""
        return replace(row, records=self.records(source_key(row)))

    def containers(self) -> dict[str, str]:
        """Return the token of each container that agreed with the ledger."""
        rows = self._connection.rows("SELECT path, token FROM containers")
        return {str(row[0]): str(row[1]) for row in rows}

    def note_container(self, path: str, token: str) -> None:
        """Note that a container with this token agrees with the ledger."""
        self._connection.put("containers", path=path, token=token)

    def records(self, key: SourceKey) -> bytes:
        """Return the records of a file."""
        pieces = self._connection.select("source_records", "records", "first", **_columns(key))
        return b"".join(piece["records"] for piece in pieces)

    def put(self, source: SourceRow) -> None:
        """Insert or replace what is known of one source file."""
        key, put = source_key(source), self._connection.put
        values = {**vars(source), "facts": to_json(source.facts), "record_ids": b""}
        records = values.pop("records")
        with self._connection.transaction():
            put("sources", **values, shares=None)
            self._connection.delete("source_records", **_columns(key))
            if records:
                put("source_records", **_columns(key), first=0, records=records)

    def not_compared(self, project: str) -> list[SourceKey]:
        """Return the main files of a project that were not compared with others yet."""
        rows = self._connection.rows(
            "SELECT agent, project, session_id, agent_id FROM sources"
            " WHERE project = ? AND agent_id = '' AND shares IS NULL",
            project,
        )
        return [(row[0], row[1], row[2], row[3]) for row in rows]

    def note_sharing(self, alone: Iterable[SourceKey], sharing: Iterable[SourceKey]) -> None:
        """Note which main files share a record with another file, and which share none. A file
        marked as sharing stays marked until it changes."""
        with self._connection.transaction() as connection:
            connection.executemany(
                f"UPDATE sources SET shares = 0 WHERE {_OF_SOURCE} AND shares IS NULL",
                list(alone),
            )
            connection.executemany(
                f"UPDATE sources SET shares = 1 WHERE {_OF_SOURCE}", list(sharing)
            )

    def counts_by(self, column: Literal["agent", "project"]) -> dict[str, dict[str, int]]:
        """Return sessions, files, bad lines, bytes and files that are gone, by agent or project."""
        rows = self._connection.rows(
            f"SELECT {column} AS name, COUNT(DISTINCT project || '/' || session_id)"
            " AS sessions,"
            " COUNT(*) AS files,"
            " COALESCE(SUM(json_extract(facts, '$.bad_lines')), 0) AS bad_lines,"
            " SUM(size) AS bytes, COUNT(gone_at) AS gone FROM sources GROUP BY 1 ORDER BY 1"
        )
        return {counts.pop("name"): counts for counts in map(dict, rows)}


def _columns(key: SourceKey) -> dict[str, str]:
    return dict(zip(("agent", "project", "session_id", "agent_id"), key, strict=True))


def _source_row(row: sqlite3.Row) -> SourceRow:
    """Return a row of `sources`."""
    values = list(row)  # as `SOURCE_FACTS` has them; by name they take twice as long
    values[_FACTS:] = source_facts(row[_FACTS]), b"", *row[_FACTS + 1 :]
    return SourceRow(*values)
