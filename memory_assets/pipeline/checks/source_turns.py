"""Comparing the agents' files, read again, with the rows that a search can find; neither the ledger
nor any stored count is used.

A turn is identified by the id of its prompt's record, which forks and resumed sessions share. So
a copy counts as found if its owner's turn is, and turn numbers are not compared.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing, suppress
from dataclasses import asdict, dataclass, field
from functools import cache
from typing import NamedTuple

import numpy as np

from memory_assets.chunking import build_turns
from memory_assets.errors import MemoryAssetsError, NotFound, safe_reason
from memory_assets.models import NOT_TYPED
from memory_assets.paths import is_gone
from memory_assets.pipeline.indexes.indexed_tables import INDEX_OF
from memory_assets.pipeline.indexes.keywords import keywords_path
from memory_assets.pipeline.ownership.repeated_prompts import orchestrated_sessions
from memory_assets.pipeline.scan.on_disk import look_for_sources
from memory_assets.pipeline.scan.raw_sessions import out_of_date
from memory_assets.pipeline.stage.components import Components
from memory_assets.pipeline.stage.quarantine import remedy_for
from memory_assets.session_analysis import session_turns
from memory_assets.stores.catalog.catalog import Catalog
from memory_assets.stores.catalog.records import RECORD_DTYPE
from memory_assets.stores.keyword_index import files as keyword_files
from memory_assets.stores.lake.lake import Lake
from memory_assets.stores.lake.schemas import REDACTED_RECORDS, TURN_CHUNKS
from memory_assets.summaries import ExtractiveSummarizer
from memory_assets.transcripts import Source, Unlisted, content_bytes, read_session

SETS = {name: INDEX_OF[name] for name in ("sessions", "prompts", "summaries")}
"""The sets that are compared; summaries are counted by session, the others by turn."""
PLACES = ("table", "collection", "keywords")


@dataclass
class SetCount:
    """The number of a set's members in the sources, and of those found in each place."""

    at_source: int = 0
    found: Counter[str] = field(default_factory=Counter)


@dataclass
class Gap:
    """A session whose turns on disk differ from those that can be found. `missing` counts them by
    set and place (`prompts.collection`); `extra` are turns that its file does not have.
    `reason` says why, if that is known; such a gap closes by itself, unless the file cannot be
    read (`missing["file"]`)."""

    project: str
    session_id: str
    missing: Counter[str] = field(default_factory=Counter)
    extra: int = 0
    reason: str = ""


@dataclass
class SourceCount:
    """The result of reading all files."""

    files: int = 0
    bytes: int = 0
    sessions: int = 0
    archived: int = 0
    without_main: int = 0
    """Sessions of which only files of subagents are there; they are not compared."""
    sets: dict[str, SetCount] = field(default_factory=lambda: {name: SetCount() for name in SETS})
    gaps: list[Gap] = field(default_factory=list)
    unlisted: list[Unlisted] = field(default_factory=list)
    """Files and directories that could not be read."""

    def to_dict(self) -> dict[str, object]:
        """Return the count as plain values."""
        sets = {
            name: {"at_source": tally.at_source, **{place: tally.found[place] for place in PLACES}}
            for name, tally in self.sets.items()
        }
        gaps = [{**vars(gap), "missing": dict(gap.missing)} for gap in self.gaps]
        unlisted = [asdict(path) for path in self.unlisted]
        parts = {"sets": sets, "gaps": gaps, "unlisted": unlisted, "passed": self.passed}
        return {**vars(self), **parts}

    @property
    def passed(self) -> bool:
        """Whether all files could be read, and every missing or extra turn has a known reason."""
        return not self.unlisted and all(
            gap.reason and not gap.missing["file"] for gap in self.gaps
        )


class _PromptChunk(NamedTuple):
    """A chunk that begins with a human's prompt."""

    project: str
    session_id: str
    turn_index: int
    id: str


def count_sources(
    components: Components,
    projects: Sequence[str],
    progress: Callable[[int, int], None] = lambda size, total: None,
) -> SourceCount:
    """Read the files of these projects again, compare them, and return the counts. A session
    whose source is deleted is counted as archived, and not compared. `progress` is called after
    each file with its size, and that of all.

    Raises:
        StoreError: the lake, Chroma or the keyword index cannot be read.
    """
    count, searchable = SourceCount(), _SearchableTurns(components)
    on_disk = look_for_sources(components)
    count.unlisted = on_disk.unlisted
    total = sum(file.size for name in projects for file in on_disk.sources.get(name, []))
    for project in projects:
        files = on_disk.sources.get(project, [])
        reasons = _reasons(components.catalog, project, files)
        on_record = {session for where, session in searchable.by_session if where == project}
        repeating = orchestrated_sessions(components.catalog.sources.rows(project))
        main = {source.session_id for source in files if source.agent_id is None}
        count.archived += len(on_record - main - _sessions_on_disk(components.catalog, project))
        of_agents: defaultdict[str, list[Source]] = defaultdict(list)
        for source in files:
            if source.agent_id is not None:
                of_agents[source.session_id].append(source)
        count.without_main += len(of_agents.keys() - main)
        for source in files:
            count.files += 1
            count.bytes += source.size
            progress(source.size, total)
            if source.agent_id is not None:
                continue  # read with its session
            count.sessions += 1
            parts = [source, *of_agents[source.session_id]]
            repeats = source.session_id in repeating
            gap = _compare(components, parts, searchable, count, repeats)
            if gap.missing or gap.extra:
                gap.reason = gap.reason or reasons.get(source.session_id, "")
                count.gaps.append(gap)
    return count


def _compare(
    components: Components,
    files: Sequence[Source],
    searchable: _SearchableTurns,
    count: SourceCount,
    repeats: bool,
) -> Gap:
    """Return what a search cannot find of the session with these files, the main one first;
    `repeats`: an orchestrator wrote its prompt, nobody typed it."""
    source, identity = files[0], components.identity
    gap = Gap(source.project, source.session_id)
    first, contents, typed = "", dict[str, int](), set[str]()
    try:
        for file in files:
            for record in read_session(file.path, source=file):
                first = first or record.record_uuid
                if record.kind == "prompt":
                    content = identity.content_of(content_bytes(record.content))
                    uuid = identity.stored(record.record_uuid)
                    contents[uuid] = content
                    typed |= set() if repeats or record.subtype in NOT_TYPED else {uuid}
    except (MemoryAssetsError, OSError) as error:
        if not any(is_gone(file.path) for file in files):  # else its agent deleted it just now
            gap.missing["file"] += 1
            gap.reason = f"its file cannot be read: {safe_reason(error)}; {remedy_for(error)}"
        return gap
    prompts = set(contents)
    missing = {uuid: contents[uuid] for uuid in prompts - searchable.prompts.keys()}
    if missing:
        prompts -= _forgotten_prompts(components, first, missing)
    own_chunk: _PromptChunk | None = None
    for uuid in prompts:
        chunk = searchable.chunk(uuid, source)
        is_copy = (uuid, chunk) in searchable.seen
        for name in ("sessions", "prompts") if uuid in typed else ("sessions",):
            _count_places(name, searchable.places(name, chunk), count, gap, is_copy=is_copy)
        searchable.seen.add((uuid, chunk))
        if chunk is not None and chunk.session_id == source.session_id:
            own_chunk = chunk
    if own_chunk is not None:
        places = searchable.places("summaries", own_chunk)
        if places or _has_summary(components.lake, own_chunk):
            _count_places("summaries", places, count, gap)
    found_prompts = searchable.by_session.get((source.project, source.session_id), set())
    gap.extra = len(found_prompts - prompts)
    return gap


def _has_summary(lake: Lake, chunk: _PromptChunk) -> bool:
    """Whether a session has anything to summarize (a prompt "hi" has nothing); True if its records
    are gone."""
    try:
        records = lake.read_rows(REDACTED_RECORDS, chunk.project, chunk.session_id)
    except NotFound:
        return True
    session = session_turns(records, build_turns(records))
    return bool(ExtractiveSummarizer().summarize(session).text)


def _count_places(
    name: str, places: set[str], count: SourceCount, gap: Gap, *, is_copy: bool = False
) -> None:
    if not is_copy:  # a copy of a turn already counted
        count.sets[name].at_source += 1
        count.sets[name].found.update(places)
    gap.missing.update(f"{name}.{place}" for place in PLACES if place not in places)


def _forgotten_prompts(components: Components, first: str, missing: Mapping[str, int]) -> set[str]:
    """Return those of the missing prompts (content by id), of a file whose first record is `first`,
    that a forgotten session owned: a fork's copies of them are not ingested."""
    tombstone_store, identity = components.tombstones, components.identity
    ids = {identity.id_of(uuid): uuid for uuid in missing}
    rows = [(record_id, 0, missing[uuid]) for record_id, uuid in ids.items()]
    family = identity.family_of(first)
    gone = tombstone_store.records_among(family, np.array(rows, dtype=RECORD_DTYPE))
    return {ids[int(record_id)] for record_id in gone}


def _reasons(catalog: Catalog, project: str, files: Sequence[Source]) -> dict[str, str]:
    """Return the reasons why sessions of a project may be out of date, by session."""
    reasons = {
        source.session_id: "its file has changed since; run `memory ingest`"
        for source in out_of_date(catalog.sources.rows(project), files)
    }
    for entry in catalog.quarantine.entries(project):
        remedy = f"; to do: {entry.remedy}" if entry.remedy else ""
        reasons[entry.session_id] = f"held back at {entry.stage}: {entry.reason}{remedy}"
    return reasons


def _sessions_on_disk(catalog: Catalog, project: str) -> set[str]:
    """Return the sessions of a project whose main file the ledger has as present."""
    return {
        row.session_id
        for row in catalog.sources.rows(project)
        if not row.agent_id and row.path and row.gone_at is None and not is_gone(row.path)
    }


class _SearchableTurns:
    """The prompts and sessions in the lake, Chroma and the keyword index; each project is read
    once. `prompts` has the chunks that begin with a prompt by the prompt's id, `by_session` the
    ids of each session's prompts."""

    def __init__(self, components: Components) -> None:
        self._components = components
        self._ids = cache(self._read_ids)
        self.prompts: defaultdict[str, list[_PromptChunk]] = defaultdict(list)
        self.by_session: defaultdict[tuple[str, str], set[str]] = defaultdict(set)
        self.seen: set[tuple[str, _PromptChunk | None]] = set()
        columns = ["prompt_uuid", *_PromptChunk._fields]
        for project in components.lake.projects(TURN_CHUNKS):
            rows = components.lake.read_partition(TURN_CHUNKS, project, columns).to_pydict()
            for uuid, *values in zip(*rows.values(), strict=True):
                if uuid:
                    chunk = _PromptChunk(*values)
                    self.prompts[uuid].append(chunk)
                    self.by_session[chunk.project, chunk.session_id].add(uuid)

    def chunk(self, uuid: str, source: Source) -> _PromptChunk | None:
        """Return the chunk of a prompt: in the file's session, else in the session that owns it."""
        chunks = self.prompts.get(uuid, [])
        own = (chunk for chunk in chunks if chunk.session_id == source.session_id)
        return next(own, chunks[0] if chunks else None)

    def places(self, name: str, chunk: _PromptChunk | None) -> set[str]:
        """Return the places that have a turn's row of a set (for summaries: its session's row)."""
        if chunk is None:
            return set()
        row_id = {
            "sessions": chunk.id,
            "summaries": f"summary::{chunk.session_id}",
            "prompts": f"prompt::{chunk.session_id}::{chunk.turn_index}",
        }[name]
        return {place for place in PLACES if row_id in self._ids(name, place, chunk.project)}

    def _read_ids(self, name: str, place: str, project: str) -> set[str]:
        components, index = self._components, SETS[name]
        kept = components.settings.keeps_collections
        if place == "table" or (place == "collection" and not kept):
            rows = components.lake.read_partition(index.table, project, ["id"])
            return {str(row_id) for row_id in rows["id"].to_pylist()}
        if place == "keywords":
            try:
                opened = keyword_files.open_for_reading(keywords_path(components))
            except NotFound:
                return set()
            with closing(opened) as keywords:
                return keywords.ids(name, project)
        products = components.catalog.products.of_project(index.stage, project).values()
        ids: set[str] = set()
        for collection in sorted({product.facts["collection"] for product in products}):
            with suppress(NotFound):
                ids |= components.vectors.get(collection).ids({"project": project})
        return ids
