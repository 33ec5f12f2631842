"""`memory status` as one value: coverage, freshness, what is held back, sizes, versions."""

from __future__ import annotations

import json
import os
import time
from collections import Counter
from collections.abc import Mapping
from dataclasses import asdict
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from memory_assets.paths import NO_EMBEDDER
from memory_assets.search_kinds import SEARCH_KINDS
from memory_assets.status.coverage import SETS, coverage
from memory_assets.status.disk import Disk, look
from memory_assets.status.reader_settings import ReaderSettings
from memory_assets.status.run_history import last_runs
from memory_assets.stores.catalog.view import CatalogView
from memory_assets.stores.chroma.files import set_aside_directories

VERSIONS_FILE = "versions.json"
"""What the last process that made anything was made of (`pipeline/stage/versions.py`)."""

RETENTION_FILE = "retention.begun"
"""There while old sessions are let go of, or when that was interrupted
(`pipeline/removal/retention.py`)."""

HISTORY_FILE = "history.jsonl"
"""Name of the sources that hold prompts and nothing else (`transcripts/claude/history.py`)."""

_STAGES = (
    "redacted_records",
    "redaction_audit",
    *(stage for stages in SETS.values() for stage in stages),
    *(kind.embeddings for kind in SEARCH_KINDS.values()),
    "session_commits",
)


def status(settings: ReaderSettings) -> dict[str, Any]:
    """Return counts by agent and project, coverage by set, freshness, what is held back,
    pending or gone, sizes, versions, the last run, Chroma and the watcher.

    Opens neither Chroma nor the lake. Raises `StoreError` if the catalogue is damaged.
    """
    data_dir = settings.data_dir
    view = CatalogView(data_dir / "catalog.db")
    sources, stages = _sources(view), _stages(view)
    versions = _versions(view, data_dir)
    vectors = versions.get("embedder") != NO_EMBEDDER
    disk = look(view, settings.transcript_roots(), data_dir)
    quarantined = _quarantined(view)
    current: dict[str, Any] = {
        "data_dir": str(data_dir),
        "agents": _by(sources, "agent"),
        "projects": _by(sources, "project"),
        "stages": stages,
        "coverage": coverage(
            stages,
            at_source=sum(int(row["prompts"] or 0) for row in sources),
            quarantined=len(quarantined),
            vectors=vectors,
            unlisted=len(disk.unlisted),
        ),
        "freshness": _freshness(disk, stages, vectors=vectors),
        "quarantined": quarantined,
        "unlisted": [asdict(path) for path in disk.unlisted],
        "archive": {
            **_archive(view),
            "retention_unfinished": (data_dir / RETENTION_FILE).exists(),
        },
        "chroma": _chroma(data_dir, settings.chroma_url),
        "sizes": _sizes(data_dir, stages),
        "versions": versions,
        "runs": last_runs(data_dir / "dagster"),
        "watcher": _watcher(data_dir),
    }
    view.close()
    current["lake_bytes"] = current["sizes"]["lake"]
    return current


def _quarantined(view: CatalogView) -> list[dict[str, Any]]:
    """Return the sessions held back: where, why, and whether every run tries them again."""
    return [
        {"remedy": "", **dict(row), "passing": not row["input_hash"]}
        for row in view.rows("SELECT * FROM quarantine ORDER BY 1, 2")
    ]


def _sources(view: CatalogView) -> list[dict[str, Any]]:
    return [
        dict(row)
        for row in view.rows(
            "SELECT agent, project, COUNT(DISTINCT session_id) AS sessions, COUNT(*) AS files,"
            " SUM(json_extract(facts, '$.prompts')) AS prompts,"
            " SUM(json_extract(facts, '$.bad_lines')) AS bad_lines, SUM(size) AS bytes,"
            " COUNT(gone_at) AS gone FROM sources GROUP BY agent, project ORDER BY agent, project"
        )
    ]


def _by(sources: list[dict[str, Any]], name: str) -> dict[str, dict[str, int]]:
    totals: dict[str, Counter[str]] = {}
    for row in sources:
        counter = totals.setdefault(str(row[name]), Counter())
        for key, value in row.items():
            if key not in ("agent", "project"):
                counter[key] += int(value or 0)
    return {key: dict(totals[key]) for key in sorted(totals)}


def _stages(view: CatalogView) -> dict[str, dict[str, Any]]:
    wanted = ", ".join("?" * len(_STAGES))
    rows = view.rows(
        "SELECT stage, COUNT(*) AS sessions, SUM(rows) AS rows, SUM(bytes) AS bytes,"
        " SUM(CASE WHEN stage = 'turn_chunks' THEN json_extract(facts, '$.turns') END) AS turns,"
        " SUM(CASE WHEN stage = 'redacted_records' THEN json_extract(facts, '$.redactions') END)"
        " AS redactions,"
        " SUM(CASE WHEN stage = 'redacted_records' THEN json_extract(facts, '$.prompts') END)"
        " AS prompts,"
        f" MAX(made_at) AS made_at FROM products WHERE stage IN ({wanted}) GROUP BY stage",
        *_STAGES,
    )
    return {str(row["stage"]): {key: row[key] for key in row.keys()[1:]} for row in rows}


def _freshness(
    disk: Disk, stages: Mapping[str, Mapping[str, Any]], *, vectors: bool
) -> dict[str, Any]:
    """Return counts of files, of changes not yet ingested, and the age of the oldest change."""
    oldest = min(disk.pending.values(), default=0)
    _, collection, keywords = SETS["sessions"]
    indexed = str(stages.get(collection if vectors else keywords, {}).get("made_at") or "")
    return {
        "files": disk.files,
        "bytes": disk.bytes,
        "pending_files": len(disk.pending),
        "vanished_files": disk.vanished,
        "newest_source_at": _iso(disk.newest_ns),
        "newest_indexed_at": indexed,
        "lag_seconds": round(time.time() - oldest / 1e9, 1) if oldest else 0.0,
    }


def _archive(view: CatalogView) -> dict[str, Any]:
    """Return counts of sessions whose file is gone, and of those kept in part."""
    gone = view.one(
        "SELECT COUNT(*) AS sessions FROM (SELECT 1 FROM sources GROUP BY project, session_id"
        " HAVING COUNT(gone_at) = COUNT(*))"
    )
    history = view.one(
        "SELECT COUNT(DISTINCT session_id) AS sessions FROM sources WHERE path LIKE ?",
        f"%/{HISTORY_FILE}",
    )
    retained = view.one(
        "SELECT COUNT(*) AS sessions FROM products WHERE stage = 'redacted_records'"
        " AND json_extract(facts, '$.retained_blocks') IS NOT NULL"
    )
    return {
        "sessions_source_gone": int(gone.get("sessions") or 0),
        "sessions_prompts_only": int(history.get("sessions") or 0),
        "sessions_retained": int(retained.get("sessions") or 0),
    }


def _chroma(data_dir: Path, url: str | None) -> dict[str, Any]:
    if url:
        return {"url": url, "state": "remote", "bytes": 0, "set_aside": []}
    endpoint = None
    if (data_dir / "chroma.endpoint.json").exists():
        from memory_assets.stores.chroma import server as chroma_server

        endpoint = chroma_server.running(data_dir)
    return {
        "url": endpoint.url if endpoint else None,
        "state": "running" if endpoint else "stopped",
        "bytes": _size(data_dir / "chroma"),
        "set_aside": [str(path) for path in set_aside_directories(data_dir)],
    }


def _sizes(data_dir: Path, stages: Mapping[str, Mapping[str, Any]]) -> dict[str, int]:
    """Bytes by store; the lake's from the catalogue, so that no table is walked."""
    return {
        "lake": sum(int(stage["bytes"] or 0) for stage in stages.values()),
        "chroma": _size(data_dir / "chroma"),
        "catalog": _with_wal(data_dir / "catalog.db"),
        "keywords": _with_wal(data_dir / "keywords.db"),
        "dagster": _size(data_dir / "dagster"),
    }


def _versions(view: CatalogView, data_dir: Path) -> dict[str, Any]:
    try:
        noted: dict[str, Any] = json.loads((data_dir / VERSIONS_FILE).read_text())
    except (OSError, ValueError):
        noted = {}
    readers = view.rows("SELECT DISTINCT agent, reader_version FROM sources ORDER BY 1, 2")
    read = sorted({f"{row[0]}:{row[1]}" for row in readers if row[1]})
    return {**noted, "read_with": read}


def _watcher(data_dir: Path) -> dict[str, Any] | None:
    if not (data_dir / "watcher.json").exists():
        return None
    from memory_assets.stores.watcher_presence import present

    state = present(data_dir)
    return asdict(state) if state is not None else None


def _size(directory: Path) -> int:
    """Bytes of the files below a directory; here are few, or one a run."""
    total, folders = 0, [str(directory)]
    while folders:
        try:
            with os.scandir(folders.pop()) as entries:
                for entry in entries:
                    if entry.is_dir(follow_symlinks=False):
                        folders.append(entry.path)
                    else:
                        total += entry.stat(follow_symlinks=False).st_size
        except OSError:
            continue
    return total


def _with_wal(path: Path) -> int:
    files = (path, path.with_name(f"{path.name}-wal"))
    return sum(file.stat().st_size for file in files if file.exists())


def _iso(nanoseconds: int) -> str:
    if not nanoseconds:
        return ""
    return datetime.fromtimestamp(nanoseconds / 1e9, UTC).isoformat(timespec="seconds")
