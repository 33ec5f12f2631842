"""What the Dagster runs were that made what is on record: kept after their history was pruned.

A file of its own, because neither the lake nor a lost catalogue could restore it. It has no text,
and of names those of projects only.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from memory_assets.stores.files.sqlite import IN_MEMORY, SqliteStore, compact, open_shared

FILE_NAME = "lineage.db"
"""Where in the data directory the ledger is."""
UNKNOWN = "UNKNOWN"
"""Status of a run that Dagster had forgotten before it was noted."""
FAILED = "failed"
"""How a check ended that did not pass and is no warning."""
_REMEDY = "move it away: audits then lack what it said of runs that were pruned"
_SCHEMA = """
CREATE TABLE IF NOT EXISTS runs (
    run_id TEXT PRIMARY KEY, job TEXT NOT NULL, status TEXT NOT NULL,
    started_at TEXT NOT NULL, ended_at TEXT NOT NULL
) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS made (
    run_id TEXT NOT NULL, project TEXT NOT NULL, asset TEXT NOT NULL,
    versions TEXT NOT NULL, checks TEXT NOT NULL, PRIMARY KEY (run_id, project, asset)
) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS sizes (day TEXT PRIMARY KEY, bytes TEXT NOT NULL) WITHOUT ROWID;
"""
"""`runs` have ended. `made`: what a run made of a project's partition of an asset, with which
versions, and how its checks ended (JSON). `sizes`: the bytes of each store on a day (JSON)."""


@dataclass(frozen=True)
class EndedRun:
    """A run that has ended, as Dagster had it; times are ISO 8601, UTC, "" where unknown."""

    run_id: str
    job: str = ""
    status: str = UNKNOWN
    started_at: str = ""
    ended_at: str = ""


@dataclass(frozen=True)
class MadeByRun:
    """What a run made of an asset of a project: the versions of the code, and each check's result:
    "passed", "warning" or "failed"."""

    versions: Mapping[str, str] = field(default_factory=dict)
    checks: Mapping[str, str] = field(default_factory=dict)


class RunLedger(SqliteStore):
    """The runs behind the products on record.

    Raises:
        StoreBusy, StoreError: the file cannot be used.
    """

    def __init__(self, path: Path) -> None:
        connection = open_shared(path, _SCHEMA, _REMEDY)
        super().__init__(path, connection, _REMEDY)

    def note_made(
        self,
        run_id: str,
        project: str,
        asset: str,
        versions: Mapping[str, str],
        checks: Mapping[str, str],
    ) -> None:
        """Note what a run made of a partition; it replaces what the run noted of it before."""
        about: dict[str, Any] = {"run_id": run_id, "project": project, "asset": asset}
        self.put("made", **about, versions=json.dumps(versions), checks=json.dumps(checks))

    def note_ended(self, run: EndedRun) -> None:
        """Note how a run ended."""
        self.put("runs", **vars(run))

    def not_ended(self, run_ids: Iterable[str]) -> set[str]:
        """Return those of some runs, and of all that are noted to have made anything, of which it
        is not noted how they ended."""
        known = {*run_ids, *(str(row[0]) for row in self.select("made", "DISTINCT run_id"))}
        return known - {str(row[0]) for row in self.select("runs", "run_id")}

    def ended(self, run_id: str) -> EndedRun | None:
        """Return how a run ended; None if that is not noted."""
        rows = self.select("runs", "run_id, job, status, started_at, ended_at", run_id=run_id)
        return EndedRun(*rows[0]) if rows else None

    def made(self, run_id: str, project: str, asset: str) -> MadeByRun:
        """Return what a run made of a partition; empty if nothing is noted."""
        about = {"run_id": run_id, "project": project, "asset": asset}
        rows = self.select("made", "versions, checks", **about)
        return MadeByRun(*map(json.loads, rows[0])) if rows else MadeByRun()

    def latest_checks(self) -> dict[tuple[str, str], Mapping[str, str]]:
        """Return the results of the checks of the last run that made something, by project and
        asset; a run that has not ended is the last."""
        rows = self.rows(
            "SELECT made.project, made.asset, made.checks FROM made LEFT JOIN runs USING (run_id)"
            " ORDER BY runs.ended_at IS NULL, runs.ended_at"
        )
        return {(str(row[0]), str(row[1])): json.loads(row[2]) for row in rows}

    def note_sizes(self, day: str, sizes: Mapping[str, int]) -> None:
        """Note the bytes of each store on a day, ISO 8601, in place of what is noted."""
        self.put("sizes", day=day, bytes=json.dumps(sizes))

    def sizes(self) -> dict[str, dict[str, int]]:
        """Return the bytes of each store by day, the first day first."""
        return {str(day): json.loads(noted) for day, noted in self.select("sizes", order="day")}

    def keep_only(self, live: Collection[tuple[str, str]]) -> None:
        """Delete the ended runs that made nothing of what is on record: `live` are the (project,
        run) of all products. A check that failed is kept until it has run again."""
        with self.transaction() as connection:
            connection.execute("CREATE TEMP TABLE live (project TEXT, run_id TEXT)")
            connection.executemany("INSERT INTO live VALUES (?,?)", sorted(live))
            connection.execute(
                "DELETE FROM made WHERE run_id IN (SELECT run_id FROM runs)"
                " AND (project, run_id) NOT IN live"
                f" AND (checks NOT LIKE '%\"{FAILED}\"%' OR EXISTS (SELECT 1 FROM made AS later"
                " JOIN runs AS ended USING (run_id) JOIN runs AS own ON own.run_id = made.run_id"
                " WHERE later.project = made.project AND later.asset = made.asset"
                " AND ended.ended_at > own.ended_at))"
            )
            connection.execute(
                "DELETE FROM runs WHERE run_id NOT IN"
                " (SELECT run_id FROM live UNION SELECT run_id FROM made)"
            )
            connection.execute("DROP TABLE live")

    def forget(self, projects: Collection[str]) -> None:
        """Delete projects by name, and rewrite the file, so that no byte of it has the name."""
        for name in sorted(projects):
            self.delete("made", project=name)
        compact(self.path)


def ledger_of(data_dir: Path) -> RunLedger:
    """Return the ledger of a data directory for reading; an empty one if there is none."""
    path = data_dir / FILE_NAME
    return RunLedger(path if path.exists() else IN_MEMORY)
