"""The shape that the stages after redaction share: one product a session, made from
the product of the stage before."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from memory_assets.pipeline.components import Components
from memory_assets.pipeline.quarantine import hold_back
from memory_assets.pipeline.report import StageReport, input_hash, timed
from memory_assets.stores.catalog import Product
from memory_assets.stores.schemas import Table

Made = tuple[Iterable[Any], Mapping[str, Any]]
"""The rows of a session's file, and the facts to keep beside them."""


WrittenColumns = Callable[[str, list[Any]], Mapping[str, list[object]]]
"""Given a session and its rows, returns the values of the table's written columns."""


def expected_input(upstream: Product, version: str) -> str:
    """Return the input hash of a product made from `upstream` by code of `version`."""
    return input_hash(upstream.output_hash, version)


def derive_table(
    components: Components,
    project: str,
    *,
    table: Table,
    upstream: str,
    version: str,
    make: Callable[[Product], Made],
    written_columns: WrittenColumns | None = None,
) -> StageReport:
    """Remake the sessions of a table whose upstream product or version changed.

    `make` gets the upstream product of one session and returns its rows. Sessions that
    upstream no longer has are removed; one that fails is quarantined at this stage.
    """
    report = StageReport(table.name, project)
    catalog = components.catalog
    with components.project_lock(project), timed(report):
        sources = {key[1]: value for key, value in catalog.products(upstream, project).items()}
        products = {key[1]: value for key, value in catalog.products(table.name, project).items()}
        held = {
            entry.session_id: entry.input_hash
            for entry in catalog.quarantined(project)
            if entry.stage == table.name
        }
        for session_id, source in sorted(sources.items()):
            wanted = expected_input(source, version)
            made = products.get(session_id)
            if made is not None and made.input_hash == wanted:
                continue
            if held.get(session_id) == wanted:
                continue
            try:
                product = _remake(components, table, source, wanted, make, written_columns)
            except Exception as error:  # noqa: BLE001 - one session does not stop the others
                hold_back(catalog, project, session_id, table.name, wanted, error)
                continue
            catalog.put_product(product)
            products[session_id] = product
            report.changed += 1
            report.rows_written += product.rows
        for session_id in sorted(products.keys() - sources.keys()):
            components.lake.delete(table, project, session_id)
            catalog.drop_product(table.name, project, session_id)
            del products[session_id]
            report.removed += 1
        report.add_products(list(products.values()))
    return report


def _remake(
    components: Components,
    table: Table,
    source: Product,
    wanted: str,
    make: Callable[[Product], Made],
    written_columns: WrittenColumns | None,
) -> Product:
    iterable, facts = make(source)
    rows = list(iterable)
    extra = written_columns(source.session_id, rows) if written_columns is not None else {}
    written = components.lake.write(
        table, source.project, source.session_id, rows, footer={"input_hash": wanted}, extra=extra
    )
    return Product(
        table.name,
        source.project,
        source.session_id,
        input_hash=wanted,
        output_hash=written.output_hash,
        rows=written.rows,
        bytes=written.bytes if written.rows else 0,
        facts=facts,
    )
