"""The stage of raw_sessions: facts about each transcript file, never its text."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from memory_assets.errors import StoreError, TranscriptError
from memory_assets.models import Record
from memory_assets.paths import is_gone
from memory_assets.pipeline.ownership.attribution import note_sharing
from memory_assets.pipeline.ownership.repeated_prompts import Opening
from memory_assets.pipeline.scan.on_disk import sources_of
from memory_assets.pipeline.stage.components import Components
from memory_assets.pipeline.stage.quarantine import hold_back, may_pass
from memory_assets.pipeline.stage.report import StageReport, input_hash, timing
from memory_assets.pipeline.stage.session_cache import FileRecords
from memory_assets.project_names import stands_in
from memory_assets.record_identity import RecordIdentity
from memory_assets.status.ledger_sources import source_of
from memory_assets.stores.catalog.catalog import Catalog
from memory_assets.stores.catalog.facts import SourceFacts, count
from memory_assets.stores.catalog.records import RECORD_DTYPE
from memory_assets.stores.catalog.schema import Quarantined, SourceRow
from memory_assets.stores.catalog.sources import SourceKey
from memory_assets.stores.catalog.text_account import account_of
from memory_assets.transcripts import (
    READER_VERSIONS,
    Account,
    Balance,
    Content,
    ReadReport,
    Rendered,
    Source,
    content_bytes,
    is_compressed,
    read_session,
    reader_of,
    take_fingerprint,
)

STAGE = "raw_sessions"
_PASSING = "passing"
"""The state of a session's unread files if the failure of one of them may pass."""


def out_of_date(ledger: Iterable[SourceRow], files: Iterable[Source]) -> list[Source]:
    """Return the files on disk that are not in the ledger, or have changed since."""
    known = {(row.agent, row.session_id, row.agent_id): row for row in ledger}
    return [
        source
        for source in files
        if not _is_current(
            known.get((source.agent, source.session_id, source.agent_id or "")), source
        )
    ]


def vanished_paths(ledger: Iterable[SourceRow], files: Iterable[Source]) -> list[str]:
    """Return the paths of files that the ledger has as present and that are deleted.

    A file outside the directories that the present settings name is not one of them.
    """
    present = {source.locator for source in files}
    return [
        row.path
        for row in ledger
        if row.gone_at is None and row.path not in present and (not row.path or _is_deleted(row))
    ]


def _is_deleted(row: SourceRow) -> bool:
    """Return whether the file of a source, or the session in it, is deleted; False if the file
    cannot be read now."""
    if is_gone(row.path):
        return True
    source = source_of(row)
    try:
        return reader_of(source).renders(source) and reader_of(source).state(source) is None
    except TranscriptError:
        return False


def _is_current(row: SourceRow | None, source: Source) -> bool:
    if row is None or row.gone_at is not None or row.directory is None:
        return False
    if source.directory and not row.directory and stands_in(row.project):
        return False  # its directory was known by a hash until now
    return (row.path, row.size, row.mtime_ns, row.reader_version) == (
        source.locator,
        source.size,
        source.mtime_ns,
        READER_VERSIONS[source.agent],
    )


def newest_first(changed: Iterable[Source]) -> list[Source]:
    """Return changed files, session after session, those with the newest file first."""
    files = list(changed)
    newest: dict[tuple[str, str], int] = {}
    for file in files:
        session = file.project, file.session_id
        newest[session] = max(newest.get(session, 0), file.mtime_ns)
    return sorted(
        files,
        key=lambda file: (
            -newest[file.project, file.session_id],
            file.project,
            file.session_id,
            -file.mtime_ns,
            str(file.path),
        ),
    )


def scan_project(
    components: Components,
    project: str,
    limit: int | None = None,
    walked: Sequence[Source] | None = None,
) -> StageReport:
    """Read a project's changed files, or the `limit` newest of them, into the ledger, and return
    the report. `walked`: its transcripts, if they have just been listed.

    A session with a file that cannot be read is quarantined until the file changes or, if the
    failure may pass, until the next run. A deleted file is marked as gone; nothing downstream
    changes.
    """
    catalog = components.catalog
    report = StageReport(STAGE, project)
    components.read_records.forget()
    catalog.require_key(components.identity.recognised_by)
    with components.project_lock(project), timing(report):
        files, report.details["forgotten"] = sources_of(components, project, walked)
        ledger = catalog.sources.rows(project)
        held = unread_files(catalog.quarantine.entries(project))
        changed = newest_first(
            file for file in out_of_date(ledger, files) if unread_key(file) not in held
        )
        unread = {session_id: {state} for session_id, state in held}
        for source in changed[:limit]:
            try:
                ahead = components.precomputed((project, source.session_id), (STAGE, source))
                row = ahead if ahead is not None else read_facts(components, source)
            except StoreError:
                raise
            except Exception as error:  # noqa: BLE001 - fail closed, whatever went wrong
                name, state = unread_key(source)
                states = unread.setdefault(name, set())
                if _PASSING in states:
                    continue  # every run tries all files of the session again
                states.add(_PASSING if may_pass(error) else state)
                hold_back(catalog, project, name, STAGE, " ".join(sorted(states)), error)
                continue
            catalog.sources.put(row)
            report.changed += 1
        if changed:  # how long the newest change had waited
            waited = components.clock() - max(change.mtime_ns for change in changed) / 1e9
            report.details["lag_seconds"] = round(max(waited, 0.0), 1)
        note_sharing(catalog, project)
        _end_scan(components.catalog, report, ledger, files)
    return report


def _end_scan(
    catalog: Catalog,
    report: StageReport,
    ledger: Sequence[SourceRow],
    files: Sequence[Source],
) -> None:
    """Mark vanished files as gone, release quarantined sessions whose files were read, and add the
    project's totals to the report."""
    project = report.project
    report.details["newly_gone"] = catalog.sources.mark_gone(project, vanished_paths(ledger, files))
    rows = catalog.sources.rows(project)
    _add_totals(report, rows)
    for session_id in no_longer_outdated(
        catalog.quarantine.entries(project), out_of_date(rows, files)
    ):
        catalog.quarantine.release(project, session_id, STAGE)
    held_back = catalog.quarantine.entries(project)
    report.quarantined = sum(entry.stage == STAGE for entry in held_back)


def unread_key(source: Source) -> tuple[str, str]:
    """Return (session, state) of a file. The state changes with the file and its reader: until then
    a file that cannot be read is not tried again."""
    version = READER_VERSIONS[source.agent]
    return source.session_id, input_hash(source.locator, str(source.mtime_ns), version)


def unread_files(quarantined: Iterable[Quarantined]) -> set[tuple[str, str]]:
    """Return the keys (`unread_key`) of the files that are held back until they change; none
    of a session with a failure that may pass, whose files every run tries again."""
    return {
        (entry.session_id, state)
        for entry in quarantined
        if entry.stage == STAGE
        for state in entry.input_hash.split()
    }


def no_longer_outdated(quarantined: Iterable[Quarantined], outdated: Iterable[Source]) -> list[str]:
    """Return the sessions to release from quarantine at this stage: none of their files on
    disk differs from the ledger any more."""
    behind = {source.session_id for source in outdated}
    return [
        entry.session_id
        for entry in quarantined
        if entry.stage == STAGE and entry.session_id not in behind
    ]


def _add_totals(report: StageReport, rows: list[SourceRow]) -> None:
    report.sessions = len({(row.agent, row.session_id) for row in rows})
    report.rows = len(rows)
    report.bytes = sum(row.size for row in rows)
    for name in ("lines", "records", "prompts", "bad_lines", "unknown_records", "pending_bytes"):
        report.details[name] = sum(count(row.facts, name) for row in rows)
    account = account_of(rows)
    report.details["text_bytes"] = account.text
    report.details["text_unexplained"] = account.missing
    report.details["text_unexplained_at"] = account.sentence() or "nowhere"
    report.details["gone"] = sum(row.gone_at is not None for row in rows)
    for agent, number in sorted(Counter(row.agent for row in rows).items()):
        report.details[f"files_{agent}"] = number
    last = max((str(row.facts.get("last_timestamp") or "") for row in rows), default="")
    report.details["last_record_at"] = last
    report.data_version = input_hash(*(f"{row.path}:{row.fingerprint}" for row in rows))


def read_facts(components: Components, source: Source) -> SourceRow:
    """Read a file, and return its ledger row; its records are cached for redaction if they fit."""
    keep = components.read_records.has_room(source.size)
    reading = read_file(source, components.identity, keep=keep)
    report, contents, reading.contents = reading.report, reading.contents, ()
    rendered = reader_of(source).renders(source)
    whole = not rendered and (source.parts or is_compressed(source.path))
    complete = source.size - report.pending_bytes if whole else report.complete_offset
    row = SourceRow(
        *_key(source),
        path=source.locator,
        size=source.size,
        mtime_ns=source.mtime_ns,
        fingerprint=take_fingerprint(contents, complete, components.install_key),
        reader_version=READER_VERSIONS[source.agent],
        family=reading.family,
        facts=_facts(components, source.project, report)
        | ({"parts": [str(path) for path in source.parts]} if source.parts else {})
        | _rendered_facts(contents, components.install_key)
        | _account_facts(components, reading.balance)
        | ({"opening": reading.opening} if reading.opening else {}),
        records=reading.ids,
        directory="" if components.redactor.redact(source.directory).findings else source.directory,
    )
    if reading.records is not None:
        report.passed_over.clear()
        components.read_records.add(row, FileRecords(reading.records, report))
    return row


def _rendered_facts(contents: Sequence[Content], key: bytes) -> SourceFacts:
    """Return the facts by which audits compare a rendered session; {} for files."""
    if not isinstance(contents[0], Rendered):
        return {}
    finished = contents[0].finished
    digest = take_fingerprint(contents, finished, key)
    return {"rendered": contents[0].size, "finished": finished, "finished_fingerprint": digest}


def _key(source: Source) -> SourceKey:
    return (source.agent, source.project, source.session_id, source.agent_id or "")


def _facts(components: Components, project: str, report: ReadReport) -> SourceFacts:
    forgotten = components.tombstones.forgotten()

    def redacted(value: str) -> str:
        return str(components.redactor.redact(value).text)

    def still_known(session_id: str | None) -> str | None:
        is_known = session_id and (project, session_id) not in forgotten
        return redacted(components.identity.stored(session_id)) if session_id and is_known else None

    first, last = report.first_timestamp, report.last_timestamp
    named = report.own_session_ids.most_common(1)
    return {
        "lines": report.lines,
        "records": report.records,
        "blocks": report.blocks,
        "prompts": report.prompts,
        "bad_lines": report.bad_line_count,
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


def _account_facts(components: Components, balance: Balance) -> SourceFacts:
    """Return the account of a file's text. Paths and versions are redacted: others wrote them."""
    return {
        "text_bytes": balance.total,
        "text_beyond": balance.beyond,
        "text_unexplained": {
            str(components.redactor.redact(path).text): [
                tally.bytes,
                *(
                    str(components.redactor.redact(version).text)
                    for version in sorted(tally.versions)
                ),
            ]
            for path, tally in balance.unexplained.items()
        },
    }


def project_root(cwd: str) -> str:
    """Return the git root that holds `cwd` where it exists on this machine, else `cwd`.

    A worktree's root is the repository it belongs to (its common directory), so that
    worktrees of one repository share a root.
    """
    if not cwd:
        return ""
    start = Path(cwd)
    if not os.path.isdir(start):  # noqa: PTH112 - False, not an error, where it is not allowed
        return cwd
    for directory in (start, *start.parents):
        marker = directory / ".git"
        if os.path.isdir(marker):  # noqa: PTH112
            return str(directory)
        if os.path.isfile(marker):  # noqa: PTH113
            return _main_repository(marker) or str(directory)
    return cwd


def _main_repository(marker: Path) -> str | None:
    try:
        pointed = marker.read_text().removeprefix("gitdir:").strip()
    except (OSError, UnicodeDecodeError):
        return None
    head, separator, _ = pointed.partition("/.git/worktrees/")
    return head if separator else None


PASSED_OVER_MS = -1
"""The time of a record without rows, whose id is kept so that its copies are recognised."""


@dataclass
class FileReading:
    """The result of reading a file: the reader's report, and a `RECORD_DTYPE` row for each record
    read (`ids`)."""

    report: ReadReport = field(default_factory=ReadReport)
    ids: bytes = b""
    family: int | None = None
    """Hash of the first record's id, which forks have in common."""
    records: list[Record] | None = field(default=None, repr=False)
    """None if they are not to be kept."""
    balance: Balance = field(default_factory=Balance)
    """The account of the file's text."""
    opening: tuple[int, int] | None = None
    """See `Opening.fact`."""
    contents: tuple[Content, ...] = field(default=(), repr=False)
    """What its lines were read from."""


def read_file(source: Source, identity: RecordIdentity, *, keep: bool = False) -> FileReading:
    """Read a file up to `source.size`, and return the reading; with `keep`, with its records.

    Raises:
        TranscriptError: it cannot be read.
    """
    reading = FileReading(records=[] if keep else None)
    report = reading.report
    account = report.account = Account(reader_of(source).left_out_of(source))
    ids: list[tuple[int, int, int]] = []
    last, opening = None, Opening(identity)
    contents = reading.contents = reader_of(source).contents(source)
    for record in read_session(
        source.path, source=source, report=report, end=source.size, contents=contents
    ):
        if reading.records is not None:
            reading.records.append(record)
        opening.see(record)
        if record.record_uuid == last:
            continue  # another block of the same object
        last = record.record_uuid
        if reading.family is None:
            reading.family = identity.family_of(last)
        written = int(record.timestamp.timestamp() * 1000) if record.timestamp else 0
        content = identity.content_of(content_bytes(record.content))
        ids.append((identity.id_of(last), written, content))
    ids += [
        (identity.id_of(record_uuid), PASSED_OVER_MS, identity.content_of(content))
        for record_uuid, content in report.passed_over
    ]
    reading.balance, report.account = account.balance(), None
    reading.opening = opening.fact
    reading.ids = np.array(ids, dtype=RECORD_DTYPE).tobytes()
    return reading
