"""The stages after redaction: each session's product is made from that of the upstream stage.

Summaries, observations, commits, usage and retrieved documents are made from the whole session, and
out of date with its next turn. So while a long session grows they are deferred: they are made again
when it has grown by a tenth, or when nothing was added for some minutes (`rest_minutes`).
"""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from memory_assets.pipeline.stage.components import Components, Enough
from memory_assets.pipeline.stage.due import Status, Work, make_due, note_products, release_vanished
from memory_assets.pipeline.stage.pool import Results
from memory_assets.pipeline.stage.quarantine import held_sessions
from memory_assets.pipeline.stage.report import StageReport, input_hash, timing
from memory_assets.stores.catalog.facts import ProductFacts
from memory_assets.stores.catalog.schema import Product
from memory_assets.stores.lake.lake import LakeBatch
from memory_assets.stores.lake.rows import ArrowRows, Stored, arrow_rows
from memory_assets.stores.lake.schemas import REDACTED_RECORDS, WORKSPACE_CHUNKS, Table

DerivedRows = tuple[Iterable[Any], ProductFacts]
"""A session's rows, instances of the table's model or `Stored`, and the facts of its product."""
Make = Callable[[Components, Product], DerivedRows]
WrittenColumns = Callable[[Components, Product, list[Any]], Mapping[str, list[object]]]
"""Takes an upstream product and new rows; returns the values of the columns set on writing."""


def expected_input(upstream_hash: str, version: str) -> str:
    """Return the input hash of a product that code of `version` makes from an upstream product
    with this output hash."""
    return input_hash(upstream_hash, version)


@dataclass(frozen=True)
class DerivedTable:
    """A table that is made, session by session, from the rows of `upstream`. The code's version is
    `code_version`, or what `chosen` returns for the present settings. `make` returns the rows and
    facts of a session from its upstream product; where `is_pure`, it only reads, and asks no other
    machine, so that a worker process may call it. `deferrable`: long sessions may be deferred while
    they grow (`DueProducts`)."""

    table: Table
    code_version: str
    make: Make
    chosen: Callable[[Components], str] | None = None
    upstream: Table = REDACTED_RECORDS
    deferrable: bool = False
    written_columns: WrittenColumns | None = None
    is_pure: Callable[[Components], bool] = lambda components: True

    def version(self, components: Components) -> str:
        """Return the version of the code that makes the table under the present settings."""
        return self.code_version if self.chosen is None else self.chosen(components)


def derive_table(
    components: Components,
    project: str,
    derived: DerivedTable,
    *,
    outdated: Callable[[Product], bool] = lambda product: False,
    sources: Mapping[str, Product] | None = None,
    enough: Enough = lambda count: False,
) -> StageReport:
    """Bring sessions whose upstream product or version changed up to date; return the report.
    Sessions that upstream no longer has, or that a check holds back, are removed; one that fails is
    quarantined at this stage. `outdated(product)` forces a rebuild when an input outside the lake
    changed. `sources` are the upstream products, if they are not in the catalogue. Once
    `enough(number tried)` is true, the other sessions are left to the next run."""
    table, report = derived.table, StageReport(derived.table.name, project)
    with components.project_lock(project), timing(report):
        sources = sources or _sources(components, project, derived.upstream)
        due = DueProducts(components, project, derived)
        products, batch = due.products, LakeBatch(components.lake, project, table)

        def write(source: Product, expected: str) -> Product:
            product = _write_session(components, batch, derived, source, expected)
            report.changed += 1
            report.rows_written += product.rows
            if not derived.deferrable:
                return product
            made_of = (source.facts.get("lineage"), source.rows, due.version)
            return replace(product, facts={**product.facts, "made_of": made_of})

        works = [
            Work(source.session_id, due.status(source, outdated), due.expected(source), source)
            for source in in_order(sources.values())
        ]
        note = partial(note_products, components, products)
        make_due(components, report, batch, works, write, note, enough)
        release_vanished(components, report, sources)
        report.removed = _remove_all_but(components, table, products, sources)
        batch.compact()
        report.add_products(list(products.values()))
    return report


_SHORT_ROWS = 2_000
"""Sessions with at most so many rows of redacted_records are never deferred."""
_GROWTH = 1.1


class DueProducts:
    """Decides which sessions' rows of a table are to be made, for the stage, for worker processes
    and for the plan. `products` are the present ones by session."""

    def __init__(self, components: Components, project: str, derived: DerivedTable) -> None:
        self._components, self._project, self._derived = components, project, derived
        self.version = derived.version(components)
        self.products = components.catalog.products.of_project(derived.table.name, project)
        self._held = components.catalog.quarantine.inputs(project, derived.table.name)
        self._grew_at: dict[str, float] | None = None

    def expected(self, source: Product) -> str:
        """Return the input hash that the product of this upstream product should have."""
        return expected_input(source.output_hash, self.version)

    def status(
        self, source: Product, outdated: Callable[[Product], bool] = lambda product: False
    ) -> Status:
        """Return the state of the product of an upstream product. `outdated(product)`: it must be
        made again though its input hash is the same."""
        old, expected = self.products.get(source.session_id), self.expected(source)
        if old is not None and old.input_hash == expected and not outdated(old):
            return "current"
        failed = self._held.get(source.session_id)
        if failed == expected:
            return "held back"
        may_wait = self._derived.deferrable and old is not None and failed is None
        return "deferred" if may_wait and self._is_deferred(source, old) else "due"

    def _is_deferred(self, source: Product, product: Product | None) -> bool:
        """Whether a product may stay as it is for now, although the redacted records `source` have
        grown."""
        made_of = product.facts.get("made_of") if product is not None else None
        lineage, rows, made_by = made_of or (None, 0, "")
        return (
            made_by == self.version
            and lineage is not None
            and lineage == source.facts.get("lineage")
            and source.rows > _SHORT_ROWS
            and source.rows < rows * _GROWTH
            and not self._is_quiet(source.session_id)
        )

    def _is_quiet(self, session_id: str) -> bool:
        if self._grew_at is None:
            self._grew_at = {}
            for row in self._components.catalog.sources.rows(self._project):
                at = max(self._grew_at.get(row.session_id, 0.0), row.mtime_ns / 1e9)
                self._grew_at[row.session_id] = at
        quiet = self._components.clock() - self._grew_at.get(session_id, 0.0)
        # A time in the future says nothing of now: what has one would never rest.
        return not 0 <= quiet < self._components.settings.rest_minutes * 60


def in_order(sources: Iterable[Product]) -> list[Product]:
    """Return upstream products in the order in which they are processed: by name; chunks of
    documents newest first, because a search often follows the saving of a file."""
    by_name = sorted(sources, key=lambda source: source.session_id)
    return sorted(
        by_name,
        key=lambda source: source.made_at if source.stage == WORKSPACE_CHUNKS.name else "",
        reverse=True,
    )


def precompute_rows(components: Components, derived: DerivedTable, source: Product) -> Results:
    """Return the rows of a session, not written, and the facts of its product."""
    expected = expected_input(source.output_hash, derived.version(components))
    return {(derived.table.name, expected): _make_rows(components, derived, source, expected)}


def _sources(components: Components, project: str, upstream: Table) -> Mapping[str, Product]:
    """Return the upstream products of a project by session, without sessions that a check holds
    back."""
    products = components.catalog.products.of_project(upstream.name, project)
    if upstream != REDACTED_RECORDS:
        return products
    records = {session_id: product.output_hash for session_id, product in products.items()}
    held = held_sessions(components, project, records)
    return {
        session_id: product for session_id, product in products.items() if session_id not in held
    }


def _remove_all_but(
    components: Components, table: Table, products: dict[str, Product], sources: Container[str]
) -> int:
    """Remove the rows and the products of the sessions that are not in `sources`; return their
    number."""
    gone = [products.pop(name) for name in sorted(products) if name not in sources]
    if gone:
        components.lake.delete(table, gone[0].project, *(product.session_id for product in gone))
    for product in gone:
        components.catalog.products.drop(table.name, product.project, product.session_id)
    return len(gone)


def _write_session(
    components: Components,
    batch: LakeBatch,
    derived: DerivedTable,
    source: Product,
    expected_hash: str,
) -> Product:
    """Put the rows of a session into the batch, computed by a worker process or here; return its
    product."""
    table, session_id = derived.table, source.session_id
    ahead = components.precomputed((source.project, session_id), (table.name, expected_hash))
    rows, facts = ahead or _make_rows(components, derived, source, expected_hash)
    batch.put(table, session_id, rows)
    return Product(
        table.name,
        source.project,
        session_id,
        input_hash=expected_hash,
        output_hash=rows.facts.output_hash,
        rows=rows.facts.rows,
        bytes=rows.nbytes,
        facts=facts,
    )


def _make_rows(
    components: Components, derived: DerivedTable, source: Product, expected_hash: str
) -> tuple[ArrowRows, ProductFacts]:
    """Return the rows of a session in Arrow, and the facts of its product."""
    produced, facts = derived.make(components, source)
    rows, columns = list(produced), derived.written_columns
    new = [row for row in rows if not isinstance(row, Stored)]
    extra = columns(components, source, new) if columns is not None else {}
    footer = {"input_hash": expected_hash}
    return arrow_rows(derived.table, rows, footer=footer, extra=extra), facts
