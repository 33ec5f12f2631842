"""What the agents' files say now, against what can be found: each file is read again, and
neither the ledger nor any count that was noted is believed.

A turn is known by the id of its prompt's record, which forks and resumed sessions share. So
a copy counts as found wherever its owner is, and turn numbers play no part.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field

import numpy as np

from memory_assets.errors import MemoryAssetsError, NotFound, safe_reason
from memory_assets.pipeline.attribution import hash_record_id
from memory_assets.pipeline.components import Components
from memory_assets.pipeline.forgetting.forgotten import tombstones
from memory_assets.pipeline.indexed_tables import (
    PROMPTS_INDEX,
    SESSIONS_INDEX,
    SUMMARIES_INDEX,
    IndexedTable,
)
from memory_assets.pipeline.keywords import keywords_path
from memory_assets.pipeline.on_disk import find_sources
from memory_assets.pipeline.scan import out_of_date
from memory_assets.stores import keyword_files
from memory_assets.stores.schemas import SESSION_SUMMARIES, TURN_CHUNKS, USER_PROMPTS
from memory_assets.transcripts import Source, read_session

SETS: Mapping[str, IndexedTable] = {
    "sessions": SESSIONS_INDEX,
    "prompts": PROMPTS_INDEX,
    "summaries": SUMMARIES_INDEX,
}
"""What a search may ask for; of the first two turns are counted, of the third sessions."""
PLACES = ("table", "collection", "keywords")


@dataclass
class SetCount:
    """Of one set: how many there are at the source, and how many of them in each place."""

    at_source: int = 0
    found: Counter[str] = field(default_factory=Counter)


@dataclass
class Gap:
    """A session whose turns on disk are not those that can be found. `missing` counts them by
    set and place (`prompts.collection`); `extra` are turns that its file does not have.
    `reason` says why, where that is known; a gap that has one closes by itself."""

    project: str
    session_id: str
    missing: Counter[str] = field(default_factory=Counter)
    extra: int = 0
    reason: str = ""


@dataclass
class SourceCount:
    """What a reading of all files came to."""

    files: int = 0
    bytes: int = 0
    sessions: int = 0
    archived: int = 0
    sets: dict[str, SetCount] = field(default_factory=lambda: {name: SetCount() for name in SETS})
    gaps: list[Gap] = field(default_factory=list)

    def to_dict(self) -> dict[str, object]:
        """Return the count as plain values."""
        sets = {
            name: {"at_source": each.at_source, **{place: each.found[place] for place in PLACES}}
            for name, each in self.sets.items()
        }
        gaps = [{**vars(gap), "missing": dict(gap.missing)} for gap in self.gaps]
        return {**vars(self), "sets": sets, "gaps": gaps, "passed": self.passed}

    @property
    def passed(self) -> bool:
        """Whether nothing is missing or extra but what a known reason explains."""
        return all(gap.reason for gap in self.gaps)


@dataclass(frozen=True)
class _Held:
    """A chunk that begins with a human's prompt."""

    project: str
    session_id: str
    turn_index: int
    chunk_id: str


def count_sources(components: Components, projects: Sequence[str]) -> SourceCount:
    """Read the files of these projects again and compare; a session whose source is gone is
    counted as archived, and not looked at.

    Raises:
        StoreError: the lake, Chroma or the keyword index cannot be read.
    """
    count, found = SourceCount(), _Findable(components)
    on_disk = find_sources(components)
    for project in projects:
        files = on_disk.get(project, [])
        reasons = _reasons(components, project, files)
        on_record = {held.session_id for held in found.of_project(project)}
        main = {source.session_id for source in files if source.agent_id is None}
        count.archived += len(on_record - main)
        for source in files:
            count.files += 1
            count.bytes += source.size
            if source.agent_id is not None:
                continue  # a human speaks in main files only
            count.sessions += 1
            gap = _compare(components, source, found, count)
            if gap.missing or gap.extra:
                gap.reason = gap.reason or reasons.get(source.session_id, "")
                count.gaps.append(gap)
    return count


def _compare(components: Components, source: Source, found: _Findable, count: SourceCount) -> Gap:
    gap = Gap(source.project, source.session_id)
    try:
        records = read_session(source.path, source=source)
        said = [(record.record_uuid, record.kind == "prompt") for record in records]
    except (MemoryAssetsError, OSError) as error:
        gap.missing["file"] += 1
        gap.reason = f"its file cannot be read: {safe_reason(error)}"
        return gap
    prompts = {uuid for uuid, is_prompt in said if is_prompt}
    if said and not prompts <= found.prompts.keys():
        prompts -= _forgotten(components, said[0][0], prompts - found.prompts.keys())
    for uuid in prompts:
        held = found.prompts.get(uuid)
        for name in ("sessions", "prompts"):
            _note(name, found.places(name, held), count, gap, again=uuid in found.seen)
        found.seen.add(uuid)
    own = [held for uuid in prompts if (held := found.prompts.get(uuid)) is not None]
    mine = next((held for held in own if held.session_id == source.session_id), None)
    if mine is not None:
        _note("summaries", found.places("summaries", mine), count, gap)
    here = found.of_session(source.project, source.session_id)
    gap.extra = len(here - prompts)
    return gap


def _note(
    name: str, places: set[str], count: SourceCount, gap: Gap, *, again: bool = False
) -> None:
    if not again:  # a copy of a turn that was counted
        count.sets[name].at_source += 1
        count.sets[name].found.update(places)
    gap.missing.update(f"{name}.{place}" for place in PLACES if place not in places)


def _forgotten(components: Components, first: str, missing: set[str]) -> set[str]:
    """Return those that a forgotten session owned: what a fork copied of it stays away."""
    buried = tombstones(components)
    family = int(np.uint64(hash_record_id(first)).astype(np.int64))
    hashed = {hash_record_id(uuid): uuid for uuid in missing}
    ids = np.array(sorted(hashed), dtype=np.uint64)
    return {hashed[int(record_id)] for record_id in buried.records_among(family, ids)}


def _reasons(components: Components, project: str, files: Sequence[Source]) -> dict[str, str]:
    """Return why sessions of a project may be behind their files, by session."""
    reasons = {
        source.session_id: "its file has changed since; run `memory ingest`"
        for source in out_of_date(components.catalog.sources(project), files)
    }
    for entry in components.catalog.quarantined(project):
        reasons[entry.session_id] = f"held back at {entry.stage}: {entry.reason}"
    return reasons


class _Findable:
    """What is in the lake, in Chroma and in the keyword index; each project is listed once."""

    def __init__(self, components: Components) -> None:
        self._components = components
        self._ids: dict[tuple[str, str, str], set[str]] = {}
        self.prompts: dict[str, _Held] = {}
        self.seen: set[str] = set()
        lake = components.lake
        columns = ["prompt_uuid", "project", "session_id", "turn_index", "id"]
        for project in lake.projects(TURN_CHUNKS):
            rows = lake.read_partition(TURN_CHUNKS, project, columns).to_pydict()
            for uuid, *held in zip(*(rows[name] for name in columns), strict=True):
                if uuid:
                    self.prompts[uuid] = _Held(*held)
        self._by_session: dict[tuple[str, str], set[str]] = {}
        for uuid, each in self.prompts.items():
            self._by_session.setdefault((each.project, each.session_id), set()).add(uuid)

    def of_project(self, project: str) -> Iterator[_Held]:
        return (held for held in self.prompts.values() if held.project == project)

    def of_session(self, project: str, session_id: str) -> set[str]:
        return self._by_session.get((project, session_id), set())

    def places(self, name: str, held: _Held | None) -> set[str]:
        """Return where a turn's row of a set is (for summaries: its session's)."""
        if held is None:
            return set()
        if name == "sessions":
            wanted = held.chunk_id
        elif name == "summaries":
            wanted = f"summary::{held.session_id}"
        else:
            wanted = f"prompt::{held.session_id}::{held.turn_index}"
        return {place for place in PLACES if wanted in self._listed(name, place, held.project)}

    def _listed(self, name: str, place: str, project: str) -> set[str]:
        key = (name, place, project)
        if key not in self._ids:
            self._ids[key] = self._list(name, place, project)
        return self._ids[key]

    def _list(self, name: str, place: str, project: str) -> set[str]:
        components, index = self._components, SETS[name]
        if place == "table" or (place == "collection" and not components.embeds):
            table = {"sessions": TURN_CHUNKS, "prompts": USER_PROMPTS}.get(name, SESSION_SUMMARIES)
            rows = components.lake.read_partition(table, project, ["id"])
            return {str(row_id) for row_id in rows["id"].to_pylist()}
        if place == "keywords":
            try:
                opened = keyword_files.open_for_reading(keywords_path(components))
            except NotFound:
                return set()
            with closing(opened) as keywords:
                return keywords.ids(name, project)
        made = components.catalog.products(index.stage, project).values()
        ids: set[str] = set()
        for collection in sorted({str(product.facts["collection"]) for product in made}):
            try:
                ids |= components.vectors.get(collection).ids({"project": project})
            except NotFound:
                continue
        return ids
