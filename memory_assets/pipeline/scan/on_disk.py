"""Which transcripts lie on disk, by project, and which of them are to be taken in."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path

from memory_assets.pipeline.ownership.forgotten_records import tombstones
from memory_assets.pipeline.scan.unnamed_prompts import ToldElsewhere
from memory_assets.pipeline.stage.components import Components
from memory_assets.transcripts import HISTORY_FILE, Note, Source, Unlisted, discover, ignore


@dataclass
class Found:
    """The transcripts on disk by project, how many sessions of each project are left out
    because they were forgotten, and the files and directories that could not be taken in."""

    sources: dict[str, list[Source]] = field(default_factory=dict)
    forgotten: Counter[str] = field(default_factory=Counter)
    unlisted: list[Unlisted] = field(default_factory=list)


def find_sources(components: Components) -> dict[str, list[Source]]:
    """Return every transcript on disk by project, but for forgotten sessions; a stat a
    file, no reading of known ones."""
    return look_for_sources(components).sources


def look_for_sources(components: Components) -> Found:
    """Return the transcripts on disk by project, and what was left out."""
    forgotten = tombstones(components).forgotten()
    found = Found()
    left_out: set[tuple[str, str]] = set()
    for source in transcripts_on_disk(components, found.unlisted.append):
        session = (source.project, source.session_id)
        if session in forgotten:
            left_out.add(session)
        else:
            found.sources.setdefault(source.project, []).append(source)
    found.forgotten.update(project for project, _ in left_out)
    return found


@contextmanager
def one_walk(components: Components) -> Iterator[None]:
    """Within the block, walk the agents' directories once for all projects that are scanned:
    a transcript that appears meanwhile is for the next ingest."""
    walked: dict[str, list[Source]] = {}
    for source in transcripts_on_disk(components):
        walked.setdefault(source.project, []).append(source)
    components.walked = walked
    try:
        yield
    finally:
        components.walked = None


def transcripts_on_disk(components: Components, note: Note = ignore) -> Iterator[Source]:
    """Yield every transcript on disk, those of forgotten sessions too; `note` is called with
    what could not be listed, read or named."""
    rows = components.catalog.sources.rows()
    known = {row.path: row for row in rows}

    def remembered(path: Path, size: int, mtime_ns: int) -> Source | None:
        row = known.get(str(path))
        if row is None or (row.size, row.mtime_ns) != (size, mtime_ns):
            return None
        agent_id = row.agent_id or None
        return Source(row.agent, row.project, row.session_id, agent_id, path, size, mtime_ns)

    read_before = {row.session_id for row in rows if row.file_name != HISTORY_FILE}
    told = ToldElsewhere(components, rows)
    taken: Counter[tuple[str, str, str, str | None]] = Counter()
    for source in discover(components.settings.transcript_roots(), remembered, note):
        if source.path.name != HISTORY_FILE:
            told.see(source)
        elif source.session_id in read_before or told.holds(source):
            continue  # there is a transcript, or was: it is in the archive
        key = (source.agent, source.project, source.session_id, source.agent_id)
        if taken[key]:  # the same subagent's id in two folders of its session
            source = replace(source, agent_id=f"{source.agent_id or 'main'}~{taken[key]}")
        taken[key] += 1
        yield source


def sources_of(components: Components, project: str) -> tuple[list[Source], int]:
    """Return a project's transcripts on disk, and how many forgotten sessions are left out."""
    if components.walked is None:
        on_disk = look_for_sources(components)
        return on_disk.sources.get(project, []), on_disk.forgotten[project]
    forgotten = tombstones(components).forgotten()
    found = [now for each in components.walked.get(project, ()) if (now := _as_now(each))]
    left_out = {one.session_id for one in found if (project, one.session_id) in forgotten}
    return [one for one in found if one.session_id not in left_out], len(left_out)


def _as_now(source: Source) -> Source | None:
    """Return a transcript that was found a while ago as it is now; None if it is gone."""
    if source.path.name == HISTORY_FILE:
        return source  # its size and time are not those of the file
    try:
        status = source.path.stat()
    except FileNotFoundError:
        return None
    except OSError:
        return source
    return replace(source, size=status.st_size, mtime_ns=status.st_mtime_ns)
