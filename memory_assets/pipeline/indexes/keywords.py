"""The stage of the keyword index, which is made equal to the lake's rows, session by session.

The index is disposable: if its file is deleted, damaged or of another version, the next
ingest makes it again. Of a session that grew only the last rows are split into terms and
written. A row of the index has terms, marks to filter by, and metadata.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Container, Iterable, Mapping, Sequence, Set
from contextlib import closing
from dataclasses import dataclass
from datetime import datetime
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from memory_assets.errors import NotFound, StoreError
from memory_assets.keywords import (
    TERMS_VERSION,
    date_terms,
    identifier_terms,
    pasted_terms,
    shorter_terms,
    symbol_share,
    text_terms,
)
from memory_assets.pipeline.indexes.indexed_tables import (
    INDEX_OF,
    IndexedTable,
    collection_metadata,
)
from memory_assets.pipeline.stage.components import Components
from memory_assets.pipeline.stage.report import StageReport, input_hash, timing
from memory_assets.redacted_text import RedactedText
from memory_assets.stores.catalog.catalog import Catalog
from memory_assets.stores.catalog.products import HashesByStage
from memory_assets.stores.catalog.schema import Product
from memory_assets.stores.files.sqlite import compact
from memory_assets.stores.keyword_index import files as keyword_files
from memory_assets.stores.keyword_index.blocks import (
    BY_PROGRAM,
    TERM_UNIT,
    KeywordRow,
    facet_mark,
    file_mark,
    row_hash,
    tool_mark,
)
from memory_assets.stores.keyword_index.index import KeywordIndex
from memory_assets.stores.lake.lake import Lake
from memory_assets.stores.lake.rows import texts_of
from memory_assets.stores.vector_store import Metadata

STAGE = "keyword_index"
WORKSPACE_KEYWORDS = "workspace_keyword_index"
"""The asset of the rows of workspaces in the keyword index."""
AGENT_KEYWORDS = "agent_keyword_index"
"""The asset of the rows that agents wrote themselves in the keyword index."""
STAGES_OF_KEYWORDS = frozenset(
    stage
    for index in INDEX_OF.values()
    for stage in (index.table.name, index.embeddings.name, index.archive, index.kind.keywords)
)
"""The stages that the index is made of, and its own."""
_ROWS_A_TRANSACTION = 2_000
"""Rows of all kinds in one transaction. In a large index the postings of few rows change as
many pages as those of many. Other writers wait for half a second at most."""


def stage_of(kind: str) -> str:
    """Return the stage name of a kind's products in the catalogue."""
    return INDEX_OF[kind].kind.keywords


def keywords_path(components: Components) -> Path:
    """Return the path of the index."""
    return components.data_dir / keyword_files.FILE_NAME


def index_keywords(components: Components, project: str, stage: str = STAGE) -> StageReport:
    """Make the keyword index have exactly this project's rows of every kind; return the report
    of the asset `stage`."""
    report = StageReport(stage, project)
    opened = keyword_files.open_for_writing(keywords_path(components))
    removed: set[str] = set()
    with closing(opened) as index, components.project_lock(project), timing(report):
        hashes = components.catalog.products.hashes_by_stage(project, STAGES_OF_KEYWORDS)
        batch = _Batch(components, project, index)
        expected = {
            kind: _expected(hashes, table, index.incarnation) for kind, table in INDEX_OF.items()
        }
        for kind, table in INDEX_OF.items():
            batch.add_changed(kind, expected[kind], hashes[table.embeddings.name])
        batch.write()
        report.rows_written, report.changed = batch.rows_written, len(batch.changed)
        for kind in INDEX_OF:
            noted = hashes[stage_of(kind)].keys() | index.places(kind, project).keys()
            vanished = noted - expected[kind].keys()
            for session_id in vanished:
                _remove(components.catalog, index, {(project, session_id)}, [kind])
            removed |= vanished
        if removed:
            components.catalog.cut_log()
        if removed or batch.changed:
            _note_written(components.catalog, index)
        products = batch.products
        report.add_products(products)
        report.sessions = len({product.session_id for product in products})
        report.removed = len(removed)
    for kind in INDEX_OF:
        report.details[kind] = sum(
            product.rows for product in products if product.stage == stage_of(kind)
        )
    return report


def _note_written(catalog: Catalog, index: KeywordIndex) -> None:
    """Note in the catalogue how often the index was written."""
    written = {f"{STAGE}/{index.incarnation}": index.generation}
    catalog.products.note_lake_states("", written)


def discard_older_index(components: Components) -> None:
    """Delete the index if it is older than it was when it was written last: it was put back, and
    may have rows that were forgotten since."""
    path = keywords_path(components)
    try:
        with closing(keyword_files.open_for_reading(path)) as index:
            noted = components.catalog.products.lake_states()
            is_older = index.generation < noted.get((f"{STAGE}/{index.incarnation}", ""), 0)
    except (NotFound, StoreError):
        return
    if is_older:
        keyword_files.discard(path)


def keywords_reason(
    components: Components, project: str, hashes: HashesByStage | None = None
) -> str:
    """Return a reason with the first table that changed since it was indexed, or "" if none did.
    `hashes` are those of the products of `STAGES_OF_KEYWORDS`, where they were read already."""
    incarnation = _incarnation(keywords_path(components))
    if hashes is None:
        hashes = components.catalog.products.hashes_by_stage(project, STAGES_OF_KEYWORDS)
    for kind, table in INDEX_OF.items():
        indexed = hashes[stage_of(kind)]
        actual = {session_id: input_hash for session_id, (input_hash, _) in indexed.items()}
        if actual != _expected(hashes, table, incarnation):
            return f"{STAGE} behind {table.table.name}"
    return ""


def forget_keywords(
    components: Components, selected: Set[tuple[str, str]], kinds: Sequence[str] = tuple(INDEX_OF)
) -> int:
    """Remove the rows of sessions (project, session id) from the index, leaving no byte of
    them in its file, and their products; return the number of rows. Without a file nothing is
    done: products of a lost index match no later one."""
    path = keywords_path(components)
    if not path.exists():
        return 0
    with closing(keyword_files.open_for_writing(path)) as index:
        removed = _remove(components.catalog, index, selected, kinds)
        _note_written(components.catalog, index)
    compact(path)
    return removed


def _remove(
    catalog: Catalog,
    index: KeywordIndex,
    selected: Set[tuple[str, str]],
    kinds: Sequence[str],
) -> int:
    """Remove the rows and the products of sessions; return the number of rows. The products are
    outdated before, as in `_Batch.write`."""
    sessions = sorted(selected)
    products = [(stage_of(kind), *session) for kind in kinds for session in sessions]
    catalog.products.outdate(*products)
    removed = sum(index.remove(sessions, kind) for kind in kinds)
    with catalog.transaction():
        for product in products:
            catalog.products.drop(*product)
    return removed


def _expected(hashes: HashesByStage, table: IndexedTable, incarnation: str) -> dict[str, str]:
    """Return the expected input hash of each session of a table."""
    rows, vectors = hashes[table.table.name], hashes[table.embeddings.name]
    return {
        session_id: input_hash(
            rows[session_id][1],
            vectors[session_id][1] if session_id in vectors else "",
            TERMS_VERSION,
            incarnation,
        )
        for session_id in sorted(rows.keys() & hashes[table.archive].keys())
    }


@dataclass(frozen=True)
class _Session:
    """The rows of a session: the blocks of the index that stay (`kept`) and the new rows after
    them; `rows` is the number of all rows."""

    rows: int = 0
    kept: Sequence[int] = ()
    new: Sequence[KeywordRow] = ()
    embedder_id: str = ""


class _Batch:
    """Writes a project's changed sessions of all kinds, in transactions of many rows.

    `products` has the products of all its sessions, `changed` the ids of those written.
    """

    def __init__(self, components: Components, project: str, index: KeywordIndex) -> None:
        self.products: list[Product] = []
        self.changed: set[str] = set()
        self.rows_written = 0
        self._components, self._project, self._index = components, project, index
        self._queued: list[tuple[str, str, _Session, Product]] = []
        self._rows_queued = 0

    def add_changed(self, kind: str, expected: Mapping[str, str], embedded: Container[str]) -> None:
        """Queue the sessions of a kind whose input hash is not as expected, with vectors if they
        are `embedded`; write when there are enough rows."""
        products, stage = self._components.catalog.products, stage_of(kind)
        existing = products.of_project(stage, self._project) if expected else {}
        archive: Mapping[str, Product] = {}
        for number, (session_id, expected_hash) in enumerate(expected.items()):
            self._components.progress(self._project, stage, number, len(expected))
            product = existing.get(session_id)
            if product is not None and product.input_hash == expected_hash:
                self.products.append(product)
                continue
            archive = archive or products.of_project(INDEX_OF[kind].archive, self._project)
            key = (self._project, session_id)
            with_vectors = session_id in embedded
            # With `--full` there is no product, and nothing that lies there is relied on.
            index = self._index if product is not None else None
            session = _session(self._components, *key, kind, index, with_vectors)
            product = Product(stage, *key, expected_hash, expected_hash, session.rows)
            self._queued.append((kind, archive[session_id].facts["agent"], session, product))
            self._rows_queued += len(session.new)
            if self._rows_queued >= _ROWS_A_TRANSACTION:
                self.write()

    def write(self) -> None:
        """Write the queued sessions, then note their products. Those before are outdated first:
        should this end in between, and the former rows come back, they count as not indexed."""
        if not self._queued:
            return
        products = [product for *_, product in self._queued]
        stored = self._components.catalog.products
        stored.outdate(*((made.stage, made.project, made.session_id) for made in products))
        with self._index.one_transaction():
            for kind, agent, session, product in self._queued:
                where = (kind, self._project, product.session_id, agent)
                self._index.write(*where, session.kept, session.new, session.embedder_id)
                self.changed.add(product.session_id)
                self.rows_written += len(session.new)
        stored.put(*products, run_id=self._components.run_id)
        self.products += products
        self._queued.clear()
        self._rows_queued = 0


def _session(
    components: Components,
    project: str,
    session_id: str,
    kind: str,
    index: KeywordIndex | None,
    with_vectors: bool,
) -> _Session:
    """Return the rows of a session; those that an `index` holds already are kept there."""
    table = INDEX_OF[kind]
    try:
        arrow = components.lake.read(table.table, project, session_id)
    except NotFound:  # a session without rows has no file
        return _Session()
    values: list[dict[str, Any]] = arrow.to_pylist()
    texts = texts_of(arrow)
    vectors: dict[str, Vector] = {}
    embedder_id = ""
    if with_vectors:
        vectors, embedder_id = _vectors(components.lake, table, project, session_id, values)
    rows = lake_rows(table, values, texts, vectors, embedder_id)
    number = table.kind.passages
    units = [int(row[number]) if number else at for at, row in enumerate(values)]
    kept, first = list[int](), 0
    if index is not None:
        kept, first = index.unchanged_blocks(kind, project, session_id, [row.hash for row in rows])
    new = [
        keyword_row(row, unit, table.kind.time)
        for row, unit in zip(rows[first:], units[first:], strict=True)
    ]
    return _Session(len(rows), kept, new, embedder_id)


def _vectors(
    lake: Lake,
    table: IndexedTable,
    project: str,
    session_id: str,
    rows: Sequence[Mapping[str, Any]],
) -> tuple[dict[str, Vector], str]:
    """Return the vectors of a session's rows by id, and their embedder. A row that changed since
    it was embedded has none: words are indexed before the new text is embedded."""
    try:
        stored = lake.read_vectors(table.embeddings, project, session_id)
    except NotFound:
        return {}, ""
    embedder_id = stored.embedder_ids[0] if stored.embedder_ids else ""
    embedded = zip(stored.ids, stored.content_hashes, stored.vectors, strict=True)
    present = {(row["id"], row["content_hash"]) for row in rows}
    return {
        row_id: vector
        for row_id, content_hash, vector in embedded
        if (row_id, content_hash) in present
    }, embedder_id


def _incarnation(path: Path) -> str:
    """Return the incarnation of the index in a file, or "" if there is none; cached per file
    state."""
    try:
        status = path.stat()
        return _incarnation_of(path, status.st_ino, status.st_mtime_ns, status.st_size)
    except (OSError, NotFound, StoreError):
        return ""


@lru_cache(maxsize=4)
def _incarnation_of(path: Path, *_: int) -> str:
    with closing(keyword_files.open_for_reading(path)) as index:
        return index.incarnation


Vector = npt.NDArray[np.float32]

FACETS = ("file_type", "service", "domain")
"""Columns of documents that a search can filter by."""
_FACTS = ("files", "commands", "errors")
"""Columns with what a turn did. Their terms count a quarter of those in the text, where the
digest has most of them already."""

_PASTED = {"error_lines": pasted_terms, "identifiers": identifier_terms}
"""Columns whose terms are apart from those of the text: they count only for a question that is
nearly all of them."""


@dataclass(frozen=True)
class LakeRow:
    """A row of a table with its redacted text, its vector if it has one, and the hash of all
    values that its row in the index is made from."""

    values: Mapping[str, Any]
    text: RedactedText
    metadata: Metadata
    vector: Vector | None
    hash: str


def lake_rows(
    index: IndexedTable,
    values: Sequence[Mapping[str, Any]],
    texts: Sequence[RedactedText],
    vectors: Mapping[str, Vector],
    embedder_id: str,
) -> list[LakeRow]:
    """Return a session's rows with their hashes, not yet split into terms."""
    rows = []
    for row, text in zip(values, texts, strict=True):
        vector = vectors.get(row["id"])
        made_by = embedder_id if vector is not None else ""
        metadata = collection_metadata(index.kind, row, made_by)
        made_from = (
            TERMS_VERSION,
            row["id"],
            json.dumps(metadata, sort_keys=True),
            json.dumps([list(row.get(name, ())) for name in (*_FACTS, *_PASTED)]),
            made_by,
            *((BY_PROGRAM,) if row.get("by_program") else ()),
        )
        rows.append(LakeRow(row, text, metadata, vector, row_hash(*made_from)))
    return rows


def keyword_row(row: LakeRow, unit: int, time: str) -> KeywordRow:
    """Return a row as the index holds it; `unit` numbers the turn that it is a passage of,
    `time` is the column that says when it was.
    A turn's date and facts stand with its first passage."""
    said = Counter(text_terms(row.text))
    terms = {term: count * TERM_UNIT for term, count in said.items()}
    for term in shorter_terms(row.text, said):
        terms[term] = terms.get(term, 0) + TERM_UNIT
    part = int(row.values.get("part", 0))
    moment: datetime | None = row.values[time]
    marks: list[str] = []
    if part == 0:
        for term in date_terms(moment):
            terms[term] = terms.get(term, 0) + TERM_UNIT
        facts = (str(fact) for name in _FACTS for fact in row.values.get(name, ()))
        for term in {term for fact in facts for term in text_terms(fact)}:
            terms[term] = terms.get(term, 0) + 1
        for name, terms_of in _PASTED.items():
            for value in row.values.get(name, ()):
                terms |= dict.fromkeys(terms_of(str(value)), TERM_UNIT)
        marks = _marks(row.values)
    return KeywordRow(
        id=str(row.values["id"]),
        turn_index=unit,
        part=part,
        ts_epoch=moment.timestamp() if moment else 0.0,
        text=row.text,
        metadata=row.metadata,
        terms=terms,
        marks=marks,
        length=said.total(),
        symbols=symbol_share(row.text),
        vector=row.vector,
        row_hash=row.hash,
    )


def _marks(row: Mapping[str, Any]) -> list[str]:
    tools: Iterable[str] = row.get("tools_used", ())
    files: Iterable[str] = row.get("files", ())
    facets = (facet_mark(name, row[name]) for name in FACETS if row.get(name))
    marks = [*{tool_mark(tool) for tool in tools}, *{file_mark(path) for path in files}, *facets]
    return [*marks, BY_PROGRAM] if row.get("by_program") else marks
