"""The last runs, read from Dagster's own SQLite file without Dagster (whose import takes
longer than all of `memory status`)."""

from __future__ import annotations

import sqlite3
import time
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

_FILE = Path("history") / "runs.db"
_DAYS = 7
_LISTED = 5


def last_runs(dagster_dir: Path) -> dict[str, Any]:
    """Return the last run that ended and the failed ones of a week, newest first; empty where
    there is no such file (the instance may keep its runs on a server)."""
    path = dagster_dir / _FILE
    if not path.exists():
        return {}
    since = time.time() - _DAYS * 86_400
    columns = "SELECT run_id, pipeline_name, partition, status, start_time, end_time FROM runs"
    try:
        with closing(sqlite3.connect(f"{path.as_uri()}?mode=ro", uri=True, timeout=2.0)) as open_:
            last = open_.execute(
                f"{columns} WHERE end_time IS NOT NULL ORDER BY id DESC LIMIT 1"
            ).fetchone()
            failed = open_.execute(
                f"{columns} WHERE status = 'FAILURE' AND end_time > ? ORDER BY id DESC", (since,)
            ).fetchall()
            under_way = open_.execute(
                "SELECT COUNT(*) FROM runs WHERE status IN ('STARTED', 'STARTING', 'QUEUED')"
            ).fetchone()
    except sqlite3.Error as error:
        return {"unreadable": type(error).__name__}
    return {
        "last": _run(last) if last else None,
        "failed_in_7_days": len(failed),
        "failed": [_run(row) for row in failed[:_LISTED]],
        "under_way": int(under_way[0]),
    }


def _run(row: tuple[Any, ...]) -> dict[str, Any]:
    run_id, job, project, status, started, ended = row
    return {
        "run_id": run_id,
        "job": job,
        "project": project,
        "status": status,
        "ended_at": datetime.fromtimestamp(ended, UTC).isoformat(timespec="seconds"),
        "seconds": round(ended - started, 2) if started else None,
    }
