"""raw_sessions: facts about each transcript file, never its text."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np

from memory_assets.errors import StoreError, safe_reason
from memory_assets.pipeline.attribution import RECORD_DTYPE, RecordIds
from memory_assets.pipeline.components import Components
from memory_assets.pipeline.forgetting.forgotten import tombstones
from memory_assets.pipeline.on_disk import sources_of
from memory_assets.pipeline.reading import PASSED_OVER_MS, FileState, read_file
from memory_assets.pipeline.report import StageReport, input_hash, timed
from memory_assets.pipeline.sharing import note_sharing
from memory_assets.stores.catalog import Quarantined, ReadNote, SourceRow
from memory_assets.stores.reading_ledger import SourceKey, source_key
from memory_assets.transcripts import (
    READER_VERSIONS,
    ReadReport,
    Source,
)

STAGE = "raw_sessions"
_LISTED_BAD_LINES = 20


def out_of_date(ledger: Iterable[SourceRow], found: Iterable[Source]) -> list[Source]:
    """Return the files on disk that the ledger does not know as they are now."""
    known = {(row.agent, row.session_id, row.agent_id): row for row in ledger}
    return [
        source
        for source in found
        if not _is_current(
            known.get((source.agent, source.session_id, source.agent_id or "")), source
        )
    ]


def vanished(ledger: Iterable[SourceRow], found: Iterable[Source]) -> list[str]:
    """Return the paths that the ledger has as present and that are gone from disk.

    A file that is merely outside the directories read today has not vanished.
    """
    present = {str(source.path) for source in found}
    return [
        row.path
        for row in ledger
        if row.gone_at is None
        and row.path not in present
        and not (row.path and Path(row.path).exists())
    ]


def _is_current(row: SourceRow | None, source: Source) -> bool:
    if row is None or row.gone_at is not None:
        return False
    return (row.path, row.size, row.mtime_ns, row.reader_version) == (
        str(source.path),
        source.size,
        source.mtime_ns,
        READER_VERSIONS[source.agent],
    )


def scan_project(components: Components, project: str, limit: int | None = None) -> StageReport:
    """Bring the ledger up to date with a project's files: with the newest `limit` of
    those that changed, or with all.

    A file that cannot be read is quarantined; one that vanished is marked as gone, and
    nothing downstream changes.
    """
    catalog = components.catalog
    report = StageReport(STAGE, project)
    with components.project_lock(project), timed(report):
        found, report.details["forgotten"] = sources_of(components, project)
        ledger = catalog.sources(project)
        changed = out_of_date(ledger, found)
        changed.sort(key=lambda source: (-source.mtime_ns, str(source.path)))
        unread: dict[str, list[str]] = {}
        known = {source_key(row): row for row in ledger}
        new_ids: dict[SourceKey, RecordIds] = {}
        for source in changed[:limit]:
            try:
                row, note, ids = _read_facts(components, source, known.get(_key(source)))
            except StoreError:
                raise
            except Exception as error:  # noqa: BLE001 - fail closed, whatever went wrong
                reason = safe_reason(error)
                states = unread.setdefault(source.session_id, [])
                states.append(str(source.mtime_ns))
                catalog.quarantine(
                    Quarantined(project, source.session_id, STAGE, " ".join(states), reason)
                )
                continue
            catalog.put_source(row, note)
            new_ids[_key(source)] = ids
            report.changed += 1
        note_sharing(catalog, project, new_ids)
        report.details["newly_gone"] = catalog.mark_gone(project, vanished(ledger, found))
        ledger = catalog.sources(project)
        _add_totals(report, ledger)
        behind = {source.session_id for source in out_of_date(ledger, found)}
        for entry in catalog.quarantined(project):
            if entry.stage == STAGE and entry.session_id not in behind:
                catalog.release(project, entry.session_id, STAGE)
        report.quarantined = len({session for session, _ in unread_files(components, project)})
    return report


def unread_files(components: Components, project: str) -> set[tuple[str, str]]:
    """Return (session, mtime_ns) of the files that could not be read as they were then."""
    return {
        (entry.session_id, mtime_ns)
        for entry in components.catalog.quarantined(project)
        if entry.stage == STAGE
        for mtime_ns in entry.input_hash.split()
    }


def _add_totals(report: StageReport, rows: list[SourceRow]) -> None:
    report.sessions = len({(row.agent, row.session_id) for row in rows})
    report.rows = len(rows)
    report.bytes = sum(row.size for row in rows)
    for name in ("lines", "records", "prompts", "bad_lines", "unknown_records", "pending_bytes"):
        report.details[name] = sum(int(row.facts.get(name, 0)) for row in rows)
    report.details["gone"] = sum(row.gone_at is not None for row in rows)
    for agent, count in sorted(Counter(row.agent for row in rows).items()):
        report.details[f"files_{agent}"] = count
    last = max((str(row.facts.get("last_timestamp") or "") for row in rows), default="")
    report.details["last_record_at"] = last
    report.data_version = input_hash(*(f"{row.path}:{row.fingerprint}" for row in rows))


def _read_facts(
    components: Components, source: Source, known: SourceRow | None
) -> tuple[SourceRow, ReadNote, RecordIds]:
    """Read what is new of a file; return its ledger row, with what is to be noted of the
    reading, and the ids of the records that were read."""
    catalog, key = components.catalog, components.install_key
    before = _state_before(components, source, known)

    def ids_before() -> bytes:
        return catalog.record_ids(_key(source), before.ids if before is not None else 0)

    reading = read_file(source, before, ids_before)
    state, fingerprint = reading.state(source, key)
    ids = reading.ids()
    family = known.family if known is not None and reading.before is not None else None
    records = np.frombuffer(ids, dtype=RECORD_DTYPE)
    kept = records[records["time_ms"] != PASSED_OVER_MS]
    if family is None and len(kept):
        family = int(kept["id"][0].astype(np.int64))
    row = SourceRow(
        *_key(source),
        path=str(source.path),
        size=source.size,
        mtime_ns=source.mtime_ns,
        fingerprint=fingerprint,
        reader_version=state.reader_version,
        family=family,
        facts=_facts(components, source.project, reading.report),
        record_ids=ids,
    )
    firm = state.ids - reading.kept_ids
    return row, ReadNote(state.to_json(), reading.kept_ids, firm), records["id"]


def _state_before(
    components: Components, source: Source, known: SourceRow | None
) -> FileState | None:
    """Return where to go on reading a file: None if it is new, or anything but grown."""
    if known is None or source.size <= known.size:
        return None
    state = components.catalog.reading_state(_key(source))
    before = FileState.from_json(state) if state else None
    if before is None or not before.still_holds(source, components.install_key):
        return None
    return before


def _key(source: Source) -> SourceKey:
    return (source.agent, source.project, source.session_id, source.agent_id or "")


def _facts(components: Components, project: str, report: ReadReport) -> dict[str, Any]:
    forgotten = tombstones(components).forgotten()

    def redacted(value: str) -> str:
        return str(components.redactor.redact(value).text)

    def still_known(session_id: str | None) -> str | None:
        known = session_id and (project, session_id) not in forgotten
        return redacted(session_id) if session_id and known else None

    first, last = report.first_timestamp, report.last_timestamp
    named = report.own_session_ids.most_common(1)
    return {
        "lines": report.lines,
        "records": report.records,
        "blocks": report.blocks,
        "prompts": report.prompts,
        "bad_lines": report.bad_line_count,
        "bad_line_list": [
            [bad.line_number, bad.reason] for bad in report.bad_lines[:_LISTED_BAD_LINES]
        ],
        "dropped": dict(report.dropped),
        "unknown_records": report.unknown_types.total(),
        "unknown_types": dict(report.unknown_types),
        "pending_bytes": report.pending_bytes,
        "first_timestamp": first.isoformat() if first else None,
        "last_timestamp": last.isoformat() if last else None,
        "project_root": redacted(project_root(report.first_cwd)),
        "named_session": still_known(named[0][0] if named else None),
        "parent_session": still_known(report.parent_session),
        "agent_versions": sorted(map(redacted, report.agent_versions)),
    }


def project_root(cwd: str) -> str:
    """Return the git root that holds `cwd` where it exists on this machine, else `cwd`.

    A worktree's root is the repository it belongs to (its common directory), so that
    worktrees of one repository share a root.
    """
    if not cwd:
        return ""
    start = Path(cwd)
    if not start.is_dir():
        return cwd
    for directory in (start, *start.parents):
        marker = directory / ".git"
        if marker.is_dir():
            return str(directory)
        if marker.is_file():
            return _main_repository(marker) or str(directory)
    return cwd


def _main_repository(marker: Path) -> str | None:
    try:
        pointed = marker.read_text().removeprefix("gitdir:").strip()
    except OSError:
        return None
    head, found, _ = pointed.partition("/.git/worktrees/")
    return head if found else None
