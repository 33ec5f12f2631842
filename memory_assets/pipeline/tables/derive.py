"""The shape that the stages after redaction share: one product a session, made from
the product of the stage before."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from memory_assets.errors import NotFound
from memory_assets.pipeline.stage.components import Components
from memory_assets.pipeline.stage.growth import Growth, growth_of
from memory_assets.pipeline.stage.quarantine import hold_back
from memory_assets.pipeline.stage.report import StageReport, input_hash, timed
from memory_assets.pipeline.tables.deferral import Deferral, with_made_of
from memory_assets.stores.catalog.facts import ProductFacts
from memory_assets.stores.catalog.schema import Product
from memory_assets.stores.lake.schemas import REDACTED_RECORDS, Table

Made = tuple[Iterable[Any], ProductFacts]
"""The rows of a session's file, and the facts to keep beside them."""


WrittenColumns = Callable[[str, list[Any], int], Mapping[str, list[object]]]
"""Given a session, rows and how many come before them, returns the values of the table's
written columns."""


@dataclass(frozen=True)
class Extension:
    """What replaces all behind the first `keep` rows of a session's file; `removed_ids`
    stood there and do so no more."""

    keep: int
    rows: Iterable[Any]
    facts: ProductFacts = field(default_factory=ProductFacts)
    removed_ids: Iterable[str] = ()


Extend = Callable[[Product, Product, Growth], Extension | None]
"""Given the upstream product of a session, its own product and how upstream grew since that
was made, returns what to write; None if the session must be made whole."""


def expected_input(upstream_hash: str, version: str) -> str:
    """Return the input hash of a product made by code of `version` from an upstream product
    of this output hash."""
    return input_hash(upstream_hash, version)


@dataclass(frozen=True)
class DerivedTable:
    """A table whose rows of a session are made of the session's rows of `upstream`, by code
    of a version: `code_version`, or what the settings choose (`chosen`). One that `waits` may
    be left as it is until a long session rests (`deferral.py`)."""

    table: Table
    code_version: str
    chosen: Callable[[Components], str] | None = None
    upstream: Table = REDACTED_RECORDS
    waits: bool = False

    def version(self, components: Components) -> str:
        """Return the version of the code that makes it in this memory."""
        return self.code_version if self.chosen is None else self.chosen(components)


def derive_table(
    components: Components,
    project: str,
    derived: DerivedTable,
    *,
    make: Callable[[Product], Made],
    extend: Extend | None = None,
    written_columns: WrittenColumns | None = None,
    outdated: Callable[[Product], bool] = lambda made: False,
) -> StageReport:
    """Remake the sessions of a table whose upstream product or version changed.

    `make` gets the upstream product of one session and returns its rows; `extend` is asked
    first where upstream only grew since. Sessions that upstream no longer has are removed;
    one that fails is quarantined at this stage. `outdated(product)` forces a product to be
    made again.
    """
    table, version = derived.table, derived.version(components)
    report = StageReport(table.name, project)
    catalog = components.catalog
    resting, waiting = Deferral(components, project), 0
    with components.project_lock(project), timed(report):
        sources = catalog.products.of_project(derived.upstream.name, project)
        products = catalog.products.of_project(table.name, project)
        held = _held_back(components, project, table)
        for session_id, source in sorted(sources.items()):
            wanted = expected_input(source.output_hash, version)
            made = products.get(session_id)
            if made is not None and made.input_hash == wanted and not outdated(made):
                if session_id in held:
                    catalog.quarantine.release(project, session_id, table.name)
                continue
            may_wait = derived.waits and session_id not in held
            if held.get(session_id) == wanted:
                continue
            if may_wait and made is not None and resting.waits(source, made, version):
                report.details["waiting"] = waiting = waiting + 1
                continue
            try:
                product = _Remaking(components, table, source, wanted, written_columns).of(
                    made, version, make, extend
                )
            except Exception as error:  # noqa: BLE001 - one session does not stop the others
                hold_back(catalog, project, session_id, table.name, wanted, error)
                continue
            if derived.waits:
                product = with_made_of(product, source, version)
            catalog.products.put(product)
            products[session_id] = product
            report.changed += 1
            report.rows_written += product.rows
        for session_id in sorted(held.keys() - sources.keys()):
            catalog.quarantine.release(project, session_id, table.name)
        for session_id in sorted(products.keys() - sources.keys()):
            _remove(components, products.pop(session_id), table)
            report.removed += 1
        report.add_products(list(products.values()))
    return report


def _held_back(components: Components, project: str, table: Table) -> dict[str, str]:
    """Return the sessions that are quarantined at this stage, with their input."""
    return {
        entry.session_id: entry.input_hash
        for entry in components.catalog.quarantine.entries(project)
        if entry.stage == table.name
    }


def _remove(components: Components, product: Product, table: Table) -> None:
    components.lake.delete(table, product.project, product.session_id)
    components.catalog.products.drop(table.name, product.project, product.session_id)


@dataclass(frozen=True)
class _Remaking:
    """One session of a table that is to be made from `source`."""

    components: Components
    table: Table
    source: Product
    wanted: str
    written_columns: WrittenColumns | None

    def of(
        self,
        made: Product | None,
        version: str,
        make: Callable[[Product], Made],
        extend: Extend | None,
    ) -> Product:
        """Write what is new of the session, or all of it; return its product."""
        if made is not None and extend is not None:
            grown = growth_of(self.source)
            if grown is not None and self._can_grow(made, grown, version):
                extension = extend(self.source, made, grown)
                if extension is not None:
                    return self._extended(made, extension)
        rows, facts = make(self.source)
        return self._written(list(rows), facts, keep=0)

    def _can_grow(self, made: Product, grown: Growth, version: str) -> bool:
        """Whether the session's product was made from what upstream grew out of, and is
        what lies in the lake."""
        source = self.source
        if not made.rows or made.input_hash != input_hash(grown.to, version):
            return False
        try:
            lies, _ = self.components.lake.read_footer(
                self.table, source.project, source.session_id
            )
        except NotFound:
            return False
        return lies.output_hash == made.output_hash

    def _extended(self, made: Product, extension: Extension) -> Product:
        grown = Growth(made.output_hash, extension.keep, tuple(extension.removed_ids))
        facts: ProductFacts = {**extension.facts, "appended": grown.fact()}
        return self._written(list(extension.rows), facts, keep=extension.keep)

    def _written(self, rows: list[Any], facts: ProductFacts, *, keep: int) -> Product:
        project, session_id = self.source.project, self.source.session_id
        extra: Mapping[str, list[object]] = {}
        if self.written_columns is not None:
            extra = self.written_columns(session_id, rows, keep)
        written = self.components.lake.write(
            self.table,
            project,
            session_id,
            rows,
            footer=lambda: {"input_hash": self.wanted},
            extra=extra,
            keep=keep,
        )
        return Product(
            self.table.name,
            project,
            session_id,
            input_hash=self.wanted,
            output_hash=written.output_hash,
            rows=written.rows,
            bytes=written.bytes if written.rows else 0,
            facts=facts,
        )
