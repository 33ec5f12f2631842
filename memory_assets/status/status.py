"""`memory status` as one value: coverage, freshness, what is held back, sizes, versions."""

from __future__ import annotations

import json
import os
import time
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, closing, suppress
from dataclasses import asdict
from datetime import UTC, datetime
from pathlib import Path
from types import MappingProxyType
from typing import Any, Literal

from memory_assets.agents import HISTORY_FILE
from memory_assets.errors import NotFound, StoreError
from memory_assets.paths import NO_EMBEDDER, WHERE_ROOTS_ARE_SET, places_in_words
from memory_assets.search_kinds import SEARCH_KINDS, sessions_waiting
from memory_assets.settings import Settings
from memory_assets.status.disk import Disk, look, roots_to_read, sample_beside_own
from memory_assets.status.excluded import Exclusions
from memory_assets.status.health import failed_checks
from memory_assets.stores.catalog.catalog import CATALOG_FILE, Catalog, catalog_of
from memory_assets.stores.catalog.facts import RETAINED
from memory_assets.stores.catalog.session_counts import (
    CountedSession,
    SessionCounts,
    counted_sessions,
)
from memory_assets.stores.catalog.text_account import TextAccount, account_of
from memory_assets.stores.chroma.files import has_database, others_in, set_aside_directories
from memory_assets.stores.runs.ledger import FILE_NAME as LEDGER
from memory_assets.stores.runs.ledger import ledger_of
from memory_assets.stores.stores import STORE_NAMES

VERSIONS_FILE = "versions.json"
"""Versions of the last process that wrote to memory (`pipeline/stage/versions.py`)."""

RETENTION_FILE = "retention.begun"
"""There while old sessions are let go of, or when that was interrupted
(`pipeline/removal/retention.py`)."""

_STRANGE = 2
"""So many files of no known kind are named."""
_COLLECTIONS = {kind.asset for kind in SEARCH_KINDS.values()}


def agents_on_record(data_dir: Path) -> tuple[str, ...]:
    """Return the agents with sessions in a memory, by name; raise `StoreError` if its catalogue is
    damaged."""
    with closing(catalog_of(data_dir)) as catalog:
        return tuple(sorted(catalog.sources.counts_by("agent")))


def status(settings: Settings) -> dict[str, Any]:
    """Return counts by agent and project, coverage by set, freshness, what is held back,
    pending or gone, sizes, versions, the last run, Chroma and the watchers.

    Opens neither Chroma nor a file of the lake. Raises `StoreError` if the catalogue is damaged.
    """
    data_dir = settings.data_dir
    catalog = catalog_of(data_dir)
    sessions = counted_sessions(catalog)
    stages = catalog.products.totals()
    of_tables = _sizes_of_tables(data_dir)
    for name, stage in stages.items():
        stage["bytes"] = of_tables.get(name, 0)
    versions = _versions(catalog, data_dir)
    vectors = versions.get("embedder") != NO_EMBEDDER
    disk = look(catalog, roots_to_read(settings, catalog), data_dir, Exclusions.of(settings))
    quarantined = catalog.quarantine.entries()
    text = account_of(catalog.sources.rows())
    lost = (
        vectors
        and settings.keeps_collections
        and settings.vectors_url is None
        and any(stages.get(stage, {}).get("rows") for stage in _COLLECTIONS)
        and not has_database(data_dir / "chroma")
    )
    if settings.vector_backend == "none" and vectors:
        stages = _with_own_vectors(data_dir, stages)
    current: dict[str, Any] = {
        "data_dir": str(data_dir),
        "sessions": asdict(SessionCounts.of(sessions)),
        "agents": _counts_by("agent", catalog, sessions),
        "projects": _counts_by("project", catalog, sessions),
        "stages": stages,
        "coverage": coverage(
            {name: rows for name, rows in stages.items() if not (lost and name in _COLLECTIONS)},
            quarantined=len(quarantined),
            vectors=vectors,
            unlisted=len(disk.unlisted),
            read=len(sessions),
            of_other_models=_rows_of_other_models(catalog, settings, versions) if vectors else {},
            missing=[*_unread_lines(text, disk), *_failure_lines(catalog, data_dir)],
            noted=text.kinds_sentence(),
        ),
        "account": text.to_dict() | disk.others.to_dict(),
        "freshness": _freshness(disk, stages, vectors=vectors),
        "quarantined": [{**asdict(entry), "passing": entry.passing} for entry in quarantined],
        "unlisted": [asdict(path) for path in disk.unlisted],
        "excluded": {"files": disk.excluded, "patterns": list(Exclusions.of(settings).patterns)},
        "sample_projects": sample_beside_own(catalog),
        "archive": _archive(catalog, data_dir),
        "chroma": _chroma(data_dir, settings, lost),
        "sizes": sizes_of(data_dir, of_tables),
        "versions": versions,
        "runs": _runs(data_dir),
        "watcher": _watcher(data_dir, "watcher"),
        "workspaces_watcher": _watcher(data_dir, "workspaces-watcher"),
    }
    catalog.close()
    current["lake_bytes"] = current["sizes"]["lake"]
    return current


def _counts_by(
    column: Literal["agent", "project"], catalog: Catalog, sessions: Iterable[CountedSession]
) -> dict[str, dict[str, int]]:
    """Return what the files of each agent or project are, and the prompts that persons typed in its
    sessions."""
    prompts: Counter[str] = Counter()
    for session in sessions:
        prompts[getattr(session, column)] += session.prompts
    files = catalog.sources.counts_by(column)
    return {name: {**counts, "prompts": prompts[name]} for name, counts in files.items()}


def _with_own_vectors(data_dir: Path, stages: dict[str, dict[str, Any]]) -> dict[str, Any]:
    """Return the stages, in place of each collection's the rows whose vectors are in the keyword
    index."""
    from memory_assets.stores.keyword_index import files as keyword_files

    with ExitStack() as opened, suppress(NotFound, StoreError):
        index = keyword_files.open_for_reading(data_dir / keyword_files.FILE_NAME)
        opened.callback(index.close)
        for name, kind in SEARCH_KINDS.items():
            embedded = int(stages.get(kind.embeddings, {}).get("rows") or 0)
            own = {"rows": min(embedded, index.rows_with_vectors(name)), "bytes": 0}
            stages = {**stages, kind.asset: {**stages.get(kind.keywords, {}), **own}}
        return stages
    return {name: stage for name, stage in stages.items() if name not in _COLLECTIONS}


def _runs(data_dir: Path) -> dict[str, Any]:
    if not (data_dir / LEDGER).exists():
        return {}
    with closing(ledger_of(data_dir)) as ledger:
        return ledger.last_runs()


def coverage(
    stages: Mapping[str, Mapping[str, Any]],
    *,
    quarantined: int,
    vectors: bool,
    unlisted: int = 0,
    read: int = 0,
    of_other_models: Mapping[str, int] = MappingProxyType({}),
    missing: Sequence[str] = (),
    noted: str = "",
) -> dict[str, dict[str, Any]]:
    """Return, by set, the rows on record, those in the collection (`indexed`) and in the
    keyword index, and whether all are in both; without `vectors`, in the latter. `quarantined`
    counts the sessions held back, `of_other_models` by asset the rows whose vectors cannot be
    compared with those of the settings' model, `unlisted` the files and directories, `waiting` the
    sessions of which no chunks were made: a check failed, or the ingest was stopped; also those of
    the sessions `read` that are not on record. `missing` has a line for what
    no reader knows, and one for checks that failed; `noted` says which kinds of records no reader
    knows, also where they have no text."""

    def count(stage: str, name: str) -> int:
        return int(stages.get(stage, {}).get(name) or 0)

    coverages: dict[str, dict[str, Any]] = {}
    for name, kind in SEARCH_KINDS.items():
        rows = count(kind.table, "rows")
        worded = count(kind.keywords, "rows")
        indexed = max(0, count(kind.asset, "rows") - of_other_models.get(kind.asset, 0))
        newest = stages.get(kind.asset if vectors else kind.keywords, {}).get("made_at")
        waiting = sessions_waiting(stages, quarantined, read) if name == "sessions" else 0
        coverages[name] = {
            "sessions": count("redacted_records", "sessions"),
            "turns": count("turn_chunks", "turns"),
            "rows": rows,
            "indexed": indexed,
            "keywords": worded,
            "vectors": vectors,
            "quarantined": quarantined,
            "unlisted": unlisted,
            "missing": list(missing),
            "noted": noted,
            "as_of": str(newest or ""),
            "waiting": waiting,
            "read": read,
            "complete": rows == worded and (rows == indexed or not vectors) and not waiting,
        }
    return coverages


def _unread_lines(text: TextAccount, disk: Disk) -> Iterator[str]:
    """Yield a line if text or files are in places that no reader knows, and one that names files
    which another agent may have written."""
    if sentence := "; ".join(filter(None, (text.sentence(), disk.others.sentence()))):
        yield f"{sentence}. `memory status --json` lists all (`account`)."
    if strange := [*text.strange, *disk.others.first.values()]:
        more = f" and {len(strange) - _STRANGE} more" if len(strange) > _STRANGE else ""
        yield (
            f"Of no known kind: {places_in_words(list(map(Path, strange[:_STRANGE])))}{more}. If "
            "another agent wrote them, move them to its directory, or name a directory that has "
            f"only such files in {WHERE_ROOTS_ARE_SET}."
        )


def _failure_lines(catalog: Catalog, data_dir: Path) -> Iterator[str]:
    """Yield a line if a check of a project on record failed when it last ran, and one if the last
    ingest of a project did, so that nobody knows what is missing."""
    failed = failed_checks(data_dir, catalog.projects())
    if failed:
        more = f" and {len(failed) - 1} more" if len(failed) > 1 else ""
        project, check = failed[0]
        of_project = catalog.spoken_projects().get(project, project)
        yield f"A check failed: {check} of {of_project}{more}. `memory verify` says what it found."
    if (data_dir / LEDGER).exists():
        with closing(ledger_of(data_dir)) as ledger:
            failing = ledger.failing()
        if failing:
            spoken = catalog.spoken_projects()
            of_project = f" of {spoken.get(failing[-1], failing[-1])}" if failing[-1] else ""
            yield f"The last ingest{of_project} failed; run `memory ingest`, which says why."


def _rows_of_other_models(
    catalog: Catalog, settings: Settings, versions: Mapping[str, Any]
) -> dict[str, int]:
    """Return by asset how many rows have vectors of another model than that of the settings."""
    if settings.embedder == NO_EMBEDDER:
        return {}
    from memory_assets.http.model_endpoint import family_of, same_space

    family = family_of(settings.embedder)
    noted = str(versions.get("embedder") or "")
    rows: dict[str, int] = {}
    for stage, embedder, number in catalog.products.rows_by_embedder():
        made_by = embedder or noted
        if made_by and not same_space(made_by, family):
            rows[stage] = rows.get(stage, 0) + number
    return rows


def _freshness(
    disk: Disk, stages: Mapping[str, Mapping[str, Any]], *, vectors: bool
) -> dict[str, Any]:
    """Return counts of files, of changes not yet ingested, and the age of the oldest change, also
    by project where there are any."""
    by_project: dict[str, list[int]] = {}
    for project, written in disk.pending.values():
        by_project.setdefault(project, []).append(written)
    oldest = min((min(times) for times in by_project.values()), default=0)
    kind = SEARCH_KINDS["sessions"]
    stage = kind.asset if vectors else kind.keywords
    worded = stages.get(kind.keywords, {}).get("made_at")  # first, as an ingest goes on
    indexed = str(stages.get(stage, {}).get("made_at") or worded or "")
    return {
        "files": disk.files,
        "bytes": disk.bytes,
        "pending_files": len(disk.pending),
        "vanished_files": disk.vanished,
        "newest_source_at": _iso(disk.newest_ns),
        "newest_indexed_at": indexed,
        "lag_seconds": _seconds_since(oldest),
        "projects_behind": {
            project: {"files": len(times), "lag_seconds": _seconds_since(min(times))}
            for project, times in sorted(by_project.items())
        },
    }


def _seconds_since(nanoseconds: int) -> float:
    return round(max(time.time() - nanoseconds / 1e9, 0.0), 1) if nanoseconds else 0.0


def _archive(catalog: Catalog, data_dir: Path) -> dict[str, Any]:
    """Return counts of sessions whose file is gone, and of those kept in part; whether a retention
    is unfinished."""
    (counts,) = catalog.rows(
        "SELECT (SELECT COUNT(*) FROM (SELECT 1 FROM sources GROUP BY project, session_id"
        " HAVING COUNT(gone_at) = COUNT(*))) AS sessions_source_gone,"
        " (SELECT COUNT(DISTINCT session_id) FROM sources"
        f" WHERE path LIKE '%/{HISTORY_FILE}') AS sessions_prompts_only,"
        " (SELECT COUNT(*) FROM products WHERE stage IN ('redacted_records', 'agent_history')"
        f" AND json_extract(facts, '$.{RETAINED}') IS NOT NULL) AS sessions_retained"
    )
    return {**counts, "retention_unfinished": (data_dir / RETENTION_FILE).exists()}


def _chroma(data_dir: Path, settings: Settings, lost: bool) -> dict[str, Any]:
    """Return name, address and state of the store, and directories set aside; `only_copies`
    has those with collections of other programs that are nowhere else, by name, or None where
    the names are not known: not yet, or because they are `unreadable`."""
    url, store = settings.vectors_url, STORE_NAMES[settings.vector_backend]
    if url:
        none: dict[str, Any] = {"set_aside": [], "only_copies": {}, "unreadable": []}
        return {"store": store, "url": url, "state": "remote", "bytes": 0, **none}
    endpoint = None
    if (data_dir / "chroma.endpoint.json").exists():
        from memory_assets.stores.chroma import server as chroma_server

        endpoint = chroma_server.running(data_dir)
    state = "gone" if lost else "running" if endpoint else "stopped"
    aside = {str(path): others_in(path) for path in set_aside_directories(data_dir)}
    return {
        "store": store,
        "url": endpoint.url if endpoint else None,
        "state": "none" if settings.vector_backend == "none" else state,
        "bytes": _size(data_dir / "chroma"),
        "set_aside": list(aside),
        "only_copies": {
            path: others.only_here if others is not None else None
            for path, others in aside.items()
            if others is None or others.only_here != []
        },
        "unreadable": [
            path for path, others in aside.items() if others and others.only_here is None
        ],
    }


def sizes_of(data_dir: Path, of_tables: Mapping[str, int] | None = None) -> dict[str, int]:
    """Return the bytes of each store; `of_tables`: those of the lake's, where they are known."""
    return {
        "lake": sum((of_tables or _sizes_of_tables(data_dir)).values()),
        "chroma": _size(data_dir / "chroma"),
        "catalog": _with_wal(data_dir / CATALOG_FILE),
        "keywords": _with_wal(data_dir / "keywords.db"),
        "dagster": _size(data_dir / "dagster"),
    }


def _versions(catalog: Catalog, data_dir: Path) -> dict[str, Any]:
    try:
        noted: dict[str, Any] = dict(json.loads((data_dir / VERSIONS_FILE).read_text()))
    except (OSError, ValueError, TypeError, RecursionError):
        noted = {}
    readers = catalog.rows("SELECT DISTINCT agent, reader_version FROM sources ORDER BY 1, 2")
    read = sorted({f"{row[0]}:{row[1]}" for row in readers if row[1]})
    return {**noted, "read_with": read}


def _watcher(data_dir: Path, of: str) -> dict[str, Any] | None:
    if not (data_dir / f"{of}.json").exists():
        return None
    from memory_assets.stores.under_way import present_watcher

    state = present_watcher(data_dir, of)
    return asdict(state) if state is not None else None


def _sizes_of_tables(data_dir: Path) -> dict[str, int]:
    lake = data_dir / "lake"
    return {path.name: _size(path) for path in lake.iterdir()} if lake.is_dir() else {}


def _size(directory: Path) -> int:
    """Bytes of the files below a directory; each costs a stat."""
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
