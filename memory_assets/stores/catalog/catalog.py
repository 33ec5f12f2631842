"""The catalogue: a SQLite ledger of source files and of what was made from them.

Belongs here: what each source file looked like when it was read, which input each
product (one session at one stage) was made from, and which sessions are quarantined.
Does not: any transcript text. The catalogue is disposable: without it everything is
read again, and the lake says what it already holds.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal

from memory_assets.stores.catalog.connection import now
from memory_assets.stores.catalog.facts import Facts, to_json
from memory_assets.stores.catalog.readings import ReadNote, insert_source, source_row
from memory_assets.stores.catalog.schema import (
    SOURCE_COLUMNS,
    SOURCE_FACTS,
    Product,
    Quarantined,
    SourceRow,
)
from memory_assets.stores.catalog.vectors import VectorLedger

__all__ = ["SOURCE_COLUMNS", "Catalog", "Product", "Quarantined", "ReadNote", "SourceRow"]


class Catalog(VectorLedger):
    """The ledger. Each call is one short transaction; threads of a process may share it.

    `run_id` names the Dagster run that the products put from now on are made by.
    """

    def __init__(self, path: Path, *, busy_seconds: float = 30.0) -> None:
        super().__init__(path, busy_seconds=busy_seconds)
        self.run_id = ""

    def sources(self, project: str | None = None) -> list[SourceRow]:
        """Return the known source files, of one project or of all, in a fixed order;
        without their `records`."""
        where, parameters = ("WHERE project = ?", (project,)) if project is not None else ("", ())
        rows = self._rows(
            f"SELECT {SOURCE_FACTS} FROM sources {where}"
            " ORDER BY project, agent, session_id, agent_id",
            *parameters,
        )
        return [source_row(row) for row in rows]

    def mark_gone(self, project: str, paths: Iterable[str]) -> int:
        """Note that these files of a project are gone; return how many are newly so."""
        at = now()
        with self._transaction() as connection:
            return sum(
                connection.execute(
                    "UPDATE sources SET gone_at = ? WHERE project = ? AND path = ?"
                    " AND gone_at IS NULL",
                    (at, project, path),
                ).rowcount
                for path in paths
            )

    def products(self, stage: str, project: str | None = None) -> dict[tuple[str, str], Product]:
        """Return the products of a stage by (project, session)."""
        sql = "SELECT * FROM products WHERE stage = ?"
        rows = (
            self._rows(sql, stage)
            if project is None
            else self._rows(f"{sql} AND project = ?", stage, project)
        )
        return {(row["project"], row["session_id"]): _product(row) for row in rows}

    def hashes(self, stage: str, project: str) -> dict[str, tuple[str, str]]:
        """Return the input and the output hash of a stage's products by session: all that the
        plan asks of every session, at a third of what `products` costs."""
        rows = self._rows(
            "SELECT session_id, input_hash, output_hash FROM products"
            " WHERE stage = ? AND project = ?",
            stage,
            project,
        )
        return {session_id: (made_from, made) for session_id, made_from, made in rows}

    def facts_with(
        self, stage: str, fact: str, project: str | None = None
    ) -> dict[tuple[str, str], dict[str, Any]]:
        """Return the facts of the products of a stage that have a certain one, by (project,
        session), of one project or of all."""
        sql = (
            "SELECT project, session_id, facts FROM products WHERE stage = ?"
            " AND json_extract(facts, ?) IS NOT NULL"
        )
        rows = (
            self._rows(sql, stage, f"$.{fact}")
            if project is None
            else self._rows(f"{sql} AND project = ?", stage, f"$.{fact}", project)
        )
        return {(row["project"], row["session_id"]): json.loads(row["facts"]) for row in rows}

    def products_of_session(self, project: str, session_id: str) -> dict[str, Product]:
        """Return what each stage made of one session, by stage."""
        rows = self._rows(
            "SELECT * FROM products WHERE session_id = ? AND project = ? ORDER BY stage",
            session_id,
            project,
        )
        return {row["stage"]: _product(row) for row in rows}

    def put_product(self, product: Product) -> None:
        """Insert or replace a product; its session leaves quarantine at that stage."""
        self.put_products([product])

    def put_products(self, products: Iterable[Product]) -> None:
        """Insert or replace all of these products, or none."""
        with self._transaction() as connection:
            for product in products:
                self._put(connection, product)

    def put_redacted(
        self,
        records: Product,
        audit: Product,
        through: int,
        found: Mapping[bytes, str],
        state: str = "",
    ) -> None:
        """Insert or replace what redaction made of a session: both products, the values it
        found (rule by hash), that it is free of the known values up to `through`, and where
        it can go on (`state`), all in one transaction."""
        with self._transaction() as connection:
            self._put(connection, records)
            self._put(connection, audit)
            self._note_found(connection, records.project, records.session_id, through, found)
            connection.execute(
                "INSERT OR REPLACE INTO redaction_states VALUES (?,?,?)",
                (records.project, records.session_id, state),
            )

    def _put(self, connection: sqlite3.Connection, product: Product) -> None:
        _insert_product(connection, replace(product, run_id=product.run_id or self.run_id))
        connection.execute(
            "DELETE FROM quarantine WHERE project = ? AND session_id = ? AND stage = ?",
            (product.project, product.session_id, product.stage),
        )

    def adopt(self, sources: Iterable[SourceRow], products: Iterable[Product]) -> None:
        """Insert all of these, or none: files that were not known, counted as gone until
        they are found, and what was made of them. Their files in the lake may be of a
        version that keyed no ids."""
        with self._transaction() as connection:
            for source in sources:
                insert_source(connection, replace(source, gone_at=now()))
            for product in products:
                _insert_product(connection, product)
                connection.execute("UPDATE identities SET state = 'lake' WHERE state != 'lake'")

    def drop_product(self, stage: str, project: str, session_id: str) -> None:
        """Forget one product."""
        with self._transaction() as connection:
            connection.execute(
                "DELETE FROM products WHERE stage = ? AND project = ? AND session_id = ?",
                (stage, project, session_id),
            )

    def totals(self) -> dict[str, dict[str, Any]]:
        """Return, per stage of the pipeline (the checks' own notes left out): sessions,
        rows, bytes, turns and redactions (where counted), newest made_at."""
        rows = self._rows(
            "SELECT stage, COUNT(*) AS sessions, SUM(rows) AS rows, SUM(bytes) AS bytes,"
            " SUM(json_extract(facts, '$.turns')) AS turns,"
            " SUM(json_extract(facts, '$.redactions')) AS redactions, MAX(made_at) AS made_at"
            " FROM products WHERE stage NOT LIKE '%/%' GROUP BY stage ORDER BY stage"
        )
        return {str(row["stage"]): _without(row, "stage") for row in rows}

    def counts_by(self, column: Literal["agent", "project"]) -> dict[str, dict[str, int]]:
        """Return sessions, files, prompts and bytes of the sources, by agent or project."""
        rows = self._rows(
            f"SELECT {column} AS name, COUNT(DISTINCT session_id) AS sessions,"
            " COUNT(*) AS files, SUM(json_extract(facts, '$.prompts')) AS prompts,"
            " SUM(json_extract(facts, '$.bad_lines')) AS bad_lines,"
            " SUM(size) AS bytes, COUNT(gone_at) AS gone FROM sources GROUP BY 1 ORDER BY 1"
        )
        return {str(row["name"]): _without(row, "name") for row in rows}

    def project_of(self, session_id: str) -> str | None:
        """Return the project that a session belongs to, or None; of several projects that
        hold a copy of its file, the one whose copy counts."""
        rows = self._rows(
            "SELECT project FROM products WHERE session_id = ? AND stage IN"
            " ('turn_chunks', 'redacted_records') ORDER BY rows DESC, project LIMIT 1",
            session_id,
        )
        return str(rows[0]["project"]) if rows else None

    def projects(self) -> set[str]:
        """Return every project that has a source file or a product."""
        rows = self._rows("SELECT project FROM sources UNION SELECT project FROM products")
        return {str(row["project"]) for row in rows}

    def knows_products_of(self, stage: str) -> bool:
        """Whether any session was ever done at a stage."""
        return bool(self._rows("SELECT 1 FROM products WHERE stage = ? LIMIT 1", stage))

    def forget_project_products(self, project: str) -> None:
        """Make every stage of a project count as not done, and release what is held back.

        The products of redacted_records stay, with an input that nothing equals: where a
        session's files are gone, they are all there is to make the rest from.
        """
        with self._transaction() as connection:
            for sql in (
                "DELETE FROM quarantine WHERE project = ?",
                "DELETE FROM products WHERE project = ? AND stage != 'redacted_records'",
                "UPDATE products SET input_hash = '' WHERE project = ?",
            ):
                connection.execute(sql, (project,))

    def quarantine(self, entry: Quarantined) -> None:
        """Hold a session back at a stage until its input changes; `since` stays as it was
        while the reason does."""
        with self._transaction() as connection:
            connection.execute(
                "INSERT INTO quarantine"
                " (project, session_id, stage, input_hash, reason, since, remedy)"
                " VALUES (?,?,?,?,?,?,?) ON CONFLICT (project, session_id, stage) DO UPDATE SET"
                " since = CASE WHEN reason = excluded.reason THEN since ELSE excluded.since END,"
                " input_hash = excluded.input_hash, reason = excluded.reason,"
                " remedy = excluded.remedy",
                (
                    entry.project,
                    entry.session_id,
                    entry.stage,
                    entry.input_hash,
                    entry.reason,
                    entry.since or now(),
                    entry.remedy,
                ),
            )

    def release(self, project: str, session_id: str, stage: str) -> None:
        """Take a session out of quarantine at a stage, if it is there."""
        with self._transaction() as connection:
            connection.execute(
                "DELETE FROM quarantine WHERE project = ? AND session_id = ? AND stage = ?",
                (project, session_id, stage),
            )

    def quarantined(self, project: str | None = None) -> list[Quarantined]:
        """Return the sessions held back, of one project or of all."""
        where, parameters = ("WHERE project = ?", (project,)) if project is not None else ("", ())
        rows = self._rows(
            f"SELECT * FROM quarantine {where} ORDER BY project, session_id", *parameters
        )
        return [Quarantined(**dict(row)) for row in rows]

    def rows_by_collection(self, stage: str) -> dict[str, int]:
        """Return how many rows the products of an indexing stage say are in each collection."""
        rows = self._rows(
            "SELECT json_extract(facts, '$.collection') AS name, SUM(rows) AS rows FROM products"
            " WHERE stage = ? GROUP BY 1",
            stage,
        )
        return {str(row["name"]): int(row["rows"]) for row in rows}

    def incarnation(self, collection: str) -> str | None:
        """Return which creation of a collection the products speak of."""
        rows = self._rows("SELECT incarnation FROM collections WHERE name = ?", collection)
        return str(rows[0]["incarnation"]) if rows else None

    def forget_incarnations(self) -> int:
        """Count every collection as lost; return how many were known."""
        with self._transaction() as connection:
            return connection.execute("DELETE FROM collections").rowcount

    def put_incarnation(self, collection: str, incarnation: str) -> None:
        """Note which creation of a collection the products speak of."""
        with self._transaction() as connection:
            connection.execute(
                "INSERT OR REPLACE INTO collections VALUES (?,?)", (collection, incarnation)
            )


def _insert_product(connection: sqlite3.Connection, product: Product) -> None:
    connection.execute(
        "INSERT OR REPLACE INTO products (stage, project, session_id, input_hash, output_hash,"
        " rows, bytes, facts, made_at, run_id) VALUES (?,?,?,?,?,?,?,?,?,?)",
        (
            product.stage,
            product.project,
            product.session_id,
            product.input_hash,
            product.output_hash,
            product.rows,
            product.bytes,
            to_json(product.facts),
            product.made_at or now(),
            product.run_id,
        ),
    )


def _without(row: sqlite3.Row, name: str) -> dict[str, Any]:
    values = dict(row)
    del values[name]
    return values


def _product(row: sqlite3.Row) -> Product:
    values = dict(row)
    values["facts"] = Facts(values["facts"])
    return Product(**values)
