"""The keyword index holds exactly the rows of the lake: by input hash, checked by ids.

It is disposable: when its file is gone, damaged or of another version, every session
counts as not yet in it, and the next ingest makes it again. A session that grew has only
its last rows split into terms and written.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence, Set
from contextlib import closing
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

from memory_assets.errors import NotFound, StoreError
from memory_assets.keywords import TERMS_VERSION
from memory_assets.pipeline.indexes.indexed_tables import INDEX_OF, IndexedTable
from memory_assets.pipeline.indexes.keyword_rows import Vector, keyword_row, lake_rows
from memory_assets.pipeline.stage.components import Components
from memory_assets.pipeline.stage.report import StageReport, input_hash, timed
from memory_assets.stores.catalog.schema import Product
from memory_assets.stores.keyword_index import files as keyword_files
from memory_assets.stores.keyword_index.blocks import KeywordRow
from memory_assets.stores.keyword_index.index import KeywordIndex
from memory_assets.stores.lake.rows import texts_from_arrow
from memory_assets.stores.lake.schemas import REDACTED_RECORDS

STAGE = "keyword_index"
KINDS: Mapping[str, IndexedTable] = INDEX_OF
"""The kinds of rows in the index, and the tables that they are from."""
_ROWS_A_TRANSACTION = 2_000
"""So many rows are written at once, of whatever kind: in a large index the postings of few
rows are on as many pages as those of many. It keeps other writers waiting for half a second."""


def stage_of(kind: str) -> str:
    """Return the stage under which the products of a kind are noted."""
    return KINDS[kind].kind.keywords


def keywords_path(components: Components) -> Path:
    """Return where the index is."""
    return components.data_dir / keyword_files.FILE_NAME


def index_keywords(components: Components, project: str) -> StageReport:
    """Make the keyword index hold exactly this project's rows of every kind."""
    report = StageReport(STAGE, project)
    opened = keyword_files.open_for_writing(keywords_path(components))
    removed: set[str] = set()
    with closing(opened) as index, components.project_lock(project), timed(report):
        batch = _Batch(components, project, index)
        for kind in KINDS:
            batch.add_changed(kind)
        batch.write()
        for kind in KINDS:
            removed |= _remove_vanished(components, project, kind, index)
        products = batch.products
        report.rows_written = batch.rows_written
        report.add_products(products)
        report.sessions = len({product.session_id for product in products})
        report.changed, report.removed = len(batch.changed), len(removed)
    report.details.update(dict.fromkeys(KINDS, 0))
    for product in products:
        kind = product.stage.removesuffix("_keywords")
        report.details[kind] = int(report.details[kind]) + product.rows
    return report


def keywords_behind(components: Components, project: str) -> str:
    """Return which table of a project the index is behind, or ""; opens its file only."""
    incarnation = _incarnation(keywords_path(components))
    for kind, table in KINDS.items():
        made = components.catalog.products.hashes(stage_of(kind), project)
        wanted = _wanted(components, project, table, incarnation)
        if {session_id: made_from for session_id, (made_from, _) in made.items()} != wanted:
            return f"{STAGE} behind {table.table.name}"
    return ""


def missing_and_extra(components: Components, project: str, kind: str) -> tuple[int, int]:
    """Return how many rows of the lake the index lacks, and how many it has too many, of
    one kind of a project.

    Raises:
        StoreError: the index cannot be read.
    """
    table = KINDS[kind].table
    lake = components.lake
    wanted = {
        row_id
        for session_id in lake.sessions(table, project)
        for row_id in lake.read(table, project, session_id, ["id"])["id"].to_pylist()
    }
    try:
        opened = keyword_files.open_for_reading(keywords_path(components))
    except NotFound:
        return len(wanted), 0
    with closing(opened) as index:
        there = index.ids(kind, project)
    return len(wanted - there), len(there - wanted)


def forget_keywords(
    components: Components, selected: Set[tuple[str, str]], kinds: Sequence[str] = tuple(KINDS)
) -> int:
    """Remove the rows of sessions (project, session id) from the index, every byte of them;
    return how many there were."""
    path = keywords_path(components)
    if not path.exists():
        return 0
    with closing(keyword_files.open_for_writing(path)) as index:
        return index.erase(sorted(selected), kinds)


def _remove_vanished(
    components: Components, project: str, kind: str, index: KeywordIndex
) -> set[str]:
    """Remove the sessions that the lake has no more; return which."""
    stage = stage_of(kind)
    made = components.catalog.products.hashes(stage, project).keys()
    wanted = _wanted(components, project, KINDS[kind], index.incarnation).keys()
    gone = (made | index.sessions(kind, project)) - wanted
    for session_id in gone:
        index.remove([(project, session_id)], kind)
        components.catalog.products.drop(stage, project, session_id)
    return gone


def _wanted(
    components: Components, project: str, table: IndexedTable, incarnation: str
) -> dict[str, str]:
    """Return the input hash that each session of a table should have in the index."""
    catalog = components.catalog
    rows = catalog.products.hashes(table.table.name, project)
    vectors = catalog.products.hashes(table.embeddings.name, project)
    archive = catalog.products.hashes(REDACTED_RECORDS.name, project)
    return {
        session_id: input_hash(
            rows[session_id][1],
            vectors[session_id][1] if session_id in vectors else "",
            TERMS_VERSION,
            incarnation,
        )
        for session_id in sorted(rows.keys() & archive.keys())
    }


@dataclass(frozen=True)
class _Session:
    """A session of a kind as it is to be in the index: the leading blocks that stay, and the
    rows behind them; `rows` counts all."""

    kind: str
    project: str
    session_id: str
    agent: str
    rows: int
    kept: list[int]
    new: list[KeywordRow]
    embedder_id: str

    def write(self, index: KeywordIndex) -> None:
        """Write what changed."""
        where = (self.kind, self.project, self.session_id, self.agent)
        index.write(*where, self.kept, self.new, self.embedder_id)


class _Batch:
    """The changed sessions of a project, of all kinds, on their way into the index.

    `products` are those of all its sessions; `changed` the sessions that were written.
    """

    def __init__(self, components: Components, project: str, index: KeywordIndex) -> None:
        self.products: list[Product] = []
        self.changed: set[str] = set()
        self.rows_written = 0
        self._components, self._project, self._index = components, project, index
        self._waiting: list[tuple[_Session, Product]] = []

    def add_changed(self, kind: str) -> None:
        """Gather the sessions of a kind that changed; write when that is enough."""
        catalog, stage = self._components.catalog, stage_of(kind)
        made = catalog.products.of_project(stage, self._project)
        archive = catalog.products.of_project(REDACTED_RECORDS.name, self._project)
        wanted = _wanted(self._components, self._project, KINDS[kind], self._index.incarnation)
        for session_id, hashed in wanted.items():
            if session_id in made and made[session_id].input_hash == hashed:
                self.products.append(made[session_id])
                continue
            agent = archive[session_id].facts["agent"]
            session = _session(
                self._components, self._project, session_id, kind, agent, self._index
            )
            product = Product(stage, self._project, session_id, hashed, hashed, session.rows)
            self._waiting.append((session, product))
            if sum(len(each.new) for each, _ in self._waiting) >= _ROWS_A_TRANSACTION:
                self.write()

    def write(self) -> None:
        """Write what was gathered; only then note that it is there."""
        if not self._waiting:
            return
        with self._index.together():
            for session, _ in self._waiting:
                session.write(self._index)
                self.changed.add(session.session_id)
                self.rows_written += len(session.new)
        products = [product for _, product in self._waiting]
        self._components.catalog.products.put(*products)
        self.products += products
        self._waiting.clear()


def _session(
    components: Components,
    project: str,
    session_id: str,
    kind: str,
    agent: str,
    index: KeywordIndex,
) -> _Session:
    table = KINDS[kind]
    try:
        arrow = components.lake.read(table.table, project, session_id)
    except NotFound:  # a session without rows has no file
        return _Session(kind, project, session_id, agent, 0, [], [], "")
    values: list[dict[str, Any]] = arrow.to_pylist()
    texts = [text for *_, text in texts_from_arrow(arrow)]
    vectors, embedder_id = _vectors(components, table, project, session_id)
    rows = lake_rows(table, values, texts, vectors, embedder_id)
    units = [int(row["turn_index"]) if table.kind.passages else at for at, row in enumerate(values)]
    kept, first = index.kept_rows(kind, project, session_id, [row.hash for row in rows])
    new = [
        keyword_row(row, unit, table.kind.time)
        for row, unit in zip(rows[first:], units[first:], strict=True)
    ]
    return _Session(kind, project, session_id, agent, len(rows), kept, new, embedder_id)


def _vectors(
    components: Components, table: IndexedTable, project: str, session_id: str
) -> tuple[dict[str, Vector], str]:
    try:
        made = components.lake.read_vectors(table.embeddings, project, session_id)
    except NotFound:
        return {}, ""
    embedder_id = made.embedder_ids[0] if made.embedder_ids else ""
    return dict(zip(made.ids, made.vectors, strict=True)), embedder_id


def _incarnation(path: Path) -> str:
    """Return which creation of the index a file is; "" if there is none. It is read once."""
    try:
        status = path.stat()
        return _incarnation_of(path, status.st_ino, status.st_mtime_ns, status.st_size)
    except (OSError, NotFound, StoreError):
        return ""


@lru_cache(maxsize=4)
def _incarnation_of(path: Path, *_: int) -> str:
    with closing(keyword_files.open_for_reading(path)) as index:
        return index.incarnation
