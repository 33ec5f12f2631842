"""Products: for each stage and session, hashes of its input and output. Quarantine: the sessions
that a stage could not process, with cause and remedy."""

from __future__ import annotations

import json
import sqlite3
import sys
from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping
from dataclasses import fields
from pathlib import Path
from typing import Any

from memory_assets.stores.catalog.connection import CatalogPart, now
from memory_assets.stores.catalog.facts import ProductFacts, product_facts, to_json
from memory_assets.stores.catalog.schema import HELD_BY_CHECK, Product, Quarantined
from memory_assets.stores.files.sqlite import opened, tables, transaction

HashesByStage = defaultdict[str, dict[str, tuple[str, str]]]
"""Input and output hash of products, by stage and session; nothing for a stage without any."""

STAGES = """
WITH RECURSIVE stages (stage) AS (
    SELECT MIN(stage) FROM products
    UNION ALL
    SELECT (SELECT MIN(stage) FROM products WHERE stage > stages.stage) FROM stages
    WHERE stage IS NOT NULL
)"""
"""Begins a query with the stages that have products: it steps from each to the next one, where
DISTINCT would read all products."""
_COLUMNS = [field.name for field in fields(Product)]
_ALL, _FACTS = ", ".join(_COLUMNS), _COLUMNS.index("facts")
_PUT = (
    f"INSERT OR REPLACE INTO products ({', '.join(_COLUMNS)})"
    f" VALUES ({', '.join(f':{name}' for name in _COLUMNS)})"
)
_OF_TURNS = (
    "FROM products INDEXED BY products_of_turns WHERE stage IN ('turn_chunks', 'redacted_records')"
)
"""Sessions with records by their ids. Without its name the index is not used."""
_RELEASE = (
    "DELETE FROM quarantine"
    " WHERE project = :project AND session_id = :session_id AND stage = :stage"
)


class Quarantine(CatalogPart):
    """The sessions held back."""

    def hold(self, entry: Quarantined) -> None:
        """Hold a session back at a stage until its input changes; `since` changes only with the
        reason."""
        with self._connection.transaction():
            since = self._connection.find(
                "quarantine",
                "since",
                project=entry.project,
                session_id=entry.session_id,
                stage=entry.stage,
                reason=entry.reason,
            )
            self._connection.put(
                "quarantine", **{**vars(entry), "since": since or entry.since or now()}
            )

    def release(self, project: str, session_id: str, stage: str) -> None:
        """Release a session at a stage, if it is quarantined."""
        self._connection.delete("quarantine", project=project, session_id=session_id, stage=stage)

    def entries(self, project: str | None = None, stage: str | None = None) -> list[Quarantined]:
        """Return the sessions held back, of one project or of all, at one stage or at any."""
        rows = self._connection.select(
            "quarantine", order="project, session_id", project=project, stage=stage
        )
        return [Quarantined(**dict(row)) for row in rows]

    def held_by_checks(self) -> set[tuple[str, str]]:
        """Return project and id of the sessions that a check holds back."""
        held = self.entries(stage=HELD_BY_CHECK)
        return {(entry.project, entry.session_id) for entry in held}

    def inputs(self, project: str, stage: str) -> dict[str, str]:
        """Return the sessions held back at a stage, with the input hash that failed."""
        return {entry.session_id: entry.input_hash for entry in self.entries(project, stage)}


class Products(CatalogPart):
    """The products of all stages."""

    def of_stage(self, stage: str) -> dict[tuple[str, str], Product]:
        """Return the products of a stage by (project, session)."""
        rows = self._connection.select("products", _ALL, stage=stage)
        return {(row["project"], row["session_id"]): _product(row) for row in rows}

    def of_project(self, stage: str, project: str) -> dict[str, Product]:
        """Return the products of a stage in a project by session."""
        rows = self._connection.select("products", _ALL, stage=stage, project=project)
        return {row["session_id"]: _product(row) for row in rows}

    def of_partition(self, project: str) -> list[Product]:
        """Return the products of all stages of a project, without the notes of checks."""
        rows = self._connection.select("products", _ALL, project=project)
        return [_product(row) for row in rows if "/" not in row["stage"]]

    def hashes(self, stage: str, project: str) -> dict[str, tuple[str, str]]:
        """Return input and output hash of a stage's products by session, at a third of the cost
        of `of_project`."""
        return self.hashes_by_stage(project, [stage])[stage]

    def hashes_by_stage(self, project: str, stages: Iterable[str]) -> HashesByStage:
        """Return what `hashes` returns for each of these stages, by one query for all."""
        rows = self._connection.tuples(
            "SELECT stage, session_id, input_hash, output_hash FROM products"
            " WHERE stage IN (SELECT value FROM json_each(?)) AND project = ?",
            json.dumps(list(stages)),
            project,
        )
        hashes: HashesByStage = defaultdict(dict)
        for stage, session_id, input_hash, output_hash in rows:
            hashes[stage][session_id] = (input_hash, output_hash)
        return hashes

    def facts(self, stage: str, project: str, session_id: str) -> ProductFacts:
        """Return the facts of one product; none where it is not there."""
        where = {"stage": stage, "project": project, "session_id": session_id}
        return product_facts(self._connection.find("products", "facts", **where) or "{}")

    def facts_with(
        self, stage: str, fact: str, project: str | None = None
    ) -> dict[tuple[str, str], ProductFacts]:
        """Return the facts of the products of a stage that have this fact, by (project, session),
        of one project or of all."""
        with_fact = f"SELECT * FROM products WHERE json_extract(facts, '$.{fact}') IS NOT NULL"
        rows = self._connection.select(
            f"({with_fact})", "project, session_id, facts", stage=stage, project=project
        )
        return {(row["project"], row["session_id"]): product_facts(row["facts"]) for row in rows}

    def of_session(self, project: str, session_id: str) -> dict[str, Product]:
        """Return the products of one session by stage."""
        rows = self._connection.select(
            "products", _ALL, order="stage", session_id=session_id, project=project
        )
        return {row["stage"]: _product(row) for row in rows}

    def put(self, *products: Product, run_id: str = "") -> None:
        """Insert or replace all of these products, or none; their sessions leave quarantine
        at that stage. Those that name no run were made by the run `run_id`."""
        if not products:
            return
        at = now()
        rows = [
            {
                **vars(product),
                "run_id": product.run_id or run_id,
                "facts": to_json(product.facts),
                "made_at": product.made_at or at,
            }
            for product in products
        ]
        with self._connection.transaction() as connection:
            connection.executemany(_PUT, rows)
            connection.executemany(_RELEASE, rows)

    def drop(self, stage: str, project: str, session_id: str) -> None:
        """Forget one product."""
        self._connection.delete("products", stage=stage, project=project, session_id=session_id)

    def drop_noted(self, project: str, session_id: str, *stages: str) -> None:
        """Delete the products of a session at these stages, and its passed checks."""
        self._connection.write(
            "DELETE FROM products WHERE project = ? AND session_id = ?"
            " AND (stage LIKE '%/%' OR stage IN (SELECT value FROM json_each(?)))",
            project,
            session_id,
            json.dumps(stages),
        )

    def drop_notes(self, project: str) -> None:
        """Delete the passed checks of a project, so that all rows are checked again."""
        self._connection.write(
            "DELETE FROM products WHERE project = ? AND stage LIKE '%/%'", project
        )

    def outdate(self, *products: tuple[str, str, str]) -> None:
        """Give products (stage, project, session id) an input hash that matches nothing, so that
        they are made again."""
        sql = "UPDATE products SET input_hash = '' WHERE (stage, project, session_id) = (?,?,?)"
        with self._connection.transaction() as connection:
            connection.executemany(sql, products)

    def lake_states(self) -> dict[tuple[str, str], int]:
        """Return the time of the last change of a table's files in a project, by (stage, project),
        as it was when they were compared with the products."""
        rows = self._connection.tuples("SELECT stage, project, changed FROM lake_states")
        return {(stage, project): changed for stage, project, changed in rows}

    def note_lake_states(self, project: str, states: Mapping[str, int]) -> None:
        """Note the times of the last change of a project's files, by stage, when compared."""
        with self._connection.transaction():
            for stage, changed in states.items():
                self._connection.put("lake_states", stage=stage, project=project, changed=changed)

    def runs(self) -> set[tuple[str, str]]:
        """Return the project and the run of every product that a run made."""
        sql = "SELECT DISTINCT project, run_id FROM products WHERE run_id != ''"
        return {(str(row[0]), str(row[1])) for row in self._connection.rows(sql)}

    def has_rows(self, stage: str, project: str) -> bool:
        """Return True if a stage has made any rows in a project."""
        sql = "SELECT 1 FROM products WHERE stage = ? AND project = ? AND rows > 0 LIMIT 1"
        return self._connection.value(sql, stage, project) is not None

    def totals(self) -> dict[str, dict[str, Any]]:
        """Return, per stage (without the notes of checks): sessions, rows, newest made_at; turns of
        turn_chunks; redactions, prompts and withheld records of redacted_records; documents of
        workspace_chunks that are embedded by name."""
        counted = "SUM(CASE WHEN stage = '{}' THEN json_extract(facts, '$.{}') END) AS {},"
        rows = self._connection.rows(
            f"{STAGES} SELECT stage, COUNT(*) AS sessions, SUM(rows) AS rows,"
            f" {counted.format('turn_chunks', 'turns', 'turns')}"
            f" {counted.format('redacted_records', 'redactions', 'redactions')}"
            f" {counted.format('redacted_records', 'prompts', 'prompts')}"
            f" {counted.format('redacted_records', 'withheld', 'withheld')}"
            f" {counted.format('workspace_chunks', 'by_name', 'by_name')}"
            " MAX(made_at) AS made_at"
            " FROM products WHERE stage IN (SELECT stage FROM stages WHERE stage NOT LIKE '%/%')"
            " GROUP BY stage ORDER BY stage"
        )
        return {stage.pop("stage"): stage for stage in map(dict, rows)}

    def rows_by_embedder(self) -> list[tuple[str, str | None, int]]:
        """Return stage, embedder and number of rows of the products that are in collections; the
        embedder is None where an earlier version did not note it."""
        return self._connection.tuples(
            "SELECT stage, json_extract(facts, '$.embedder'), SUM(rows) FROM products"
            " WHERE json_extract(facts, '$.collection') IS NOT NULL GROUP BY 1, 2"
        )

    def project_of(self, session_id: str) -> str | None:
        """Return the project of a session, or None. If several projects have a copy of its file,
        the one that owns the records."""
        project: str | None = self._connection.value(
            "SELECT project FROM products WHERE session_id = ? AND stage IN"
            " ('turn_chunks', 'redacted_records') ORDER BY rows DESC, project LIMIT 1",
            session_id,
        )
        return project

    def sessions_beginning(self, text: str) -> dict[str, str]:
        """Return the project of each session with records whose id begins with a text."""
        rows = self._connection.rows(
            f"SELECT session_id, project {_OF_TURNS} AND session_id >= ? AND session_id < ?",
            text,
            f"{text}{chr(sys.maxunicode)}",
        )
        return {str(row["session_id"]): str(row["project"]) for row in rows}

    def sessions_beside(self, session_id: str) -> list[str]:
        """Return the sessions with records whose ids sort right before and after this one, each ""
        if there is none."""
        return [
            str(self._connection.value(f"SELECT {which} {_OF_TURNS} AND {side}", session_id) or "")
            for which, side in (
                ("MAX(session_id)", "session_id < ?"),
                ("MIN(session_id)", "session_id > ?"),
            )
        ]

    def spans(
        self,
        project: str | None = None,
        session_id: str | None = None,
        *,
        stage: str = "turn_chunks",
    ) -> list[tuple[str, str, str | None, str | None]]:
        """Return project and id of each session with rows of a stage, and its first and last time,
        or None; of one project or session if given."""
        rows = self._connection.rows(
            "SELECT p.project, p.session_id,"
            " MIN(json_extract(s.facts, '$.first_timestamp')),"
            " MAX(json_extract(s.facts, '$.last_timestamp'))"
            " FROM products p LEFT JOIN sources s"
            " ON s.session_id = p.session_id AND s.project = p.project"
            " WHERE p.stage = ?3 AND p.rows > 0"
            " AND (?1 IS NULL OR p.project = ?1) AND (?2 IS NULL OR p.session_id = ?2)"
            " GROUP BY 1, 2",
            project,
            session_id,
            stage,
        )
        return [(row[0], row[1], row[2], row[3]) for row in rows]

    def has_any(self, stage: str) -> bool:
        """Whether a stage has any product."""
        return self._connection.find("products", "MIN(stage)", stage=stage) is not None

    def rows_by_collection(self, stage: str) -> dict[str, int]:
        """Return the number of rows in each collection by the products of an indexing stage."""
        rows = self._connection.rows(
            "SELECT json_extract(facts, '$.collection') AS name, SUM(rows) AS rows FROM products"
            " WHERE stage = ? GROUP BY 1",
            stage,
        )
        return {str(row["name"]): int(row["rows"]) for row in rows}

    def forget_project(self, project: str, but: Collection[str] = ()) -> None:
        """Mark every stage of a project as not done, and release its quarantined sessions, except
        the sessions in `but`.

        The products of redacted_records stay, with an input hash that matches nothing: if a
        session's files are gone, its other tables can only be made from them.
        """
        where = "project = ? AND session_id NOT IN (SELECT value FROM json_each(?))"
        of_them = project, json.dumps(list(but))
        write = self._connection.write
        with self._connection.transaction():
            write(f"DELETE FROM quarantine WHERE {where}", *of_them)
            write(f"DELETE FROM products WHERE {where} AND stage != 'redacted_records'", *of_them)
            write(f"UPDATE products SET input_hash = '' WHERE {where}", *of_them)


def _product(row: sqlite3.Row) -> Product:
    """Return the product of a row of `_ALL`, by position, which takes a third of the time."""
    values: list[Any] = list(row)
    values[_FACTS] = product_facts(values[_FACTS])
    return Product(*values)


_REMOVED_IDS = "(SELECT session_id FROM removed)"
_MENTIONS = (
    # A known secret stays, by keyed hash, without the session that contained it.
    f"UPDATE known_values SET first_session = NULL WHERE first_session IN {_REMOVED_IDS}",
    *(
        f"UPDATE sources SET facts = json_set(facts, '$.{fact}', NULL)"
        f" WHERE json_extract(facts, '$.{fact}') IN {_REMOVED_IDS}"
        for fact in ("named_session", "parent_session")
    ),
    "UPDATE products SET facts = json_set(facts, '$.copied_from', ("
    " SELECT json_group_array(json(value)) FROM json_each(facts, '$.copied_from')"
    " WHERE (json_extract(value, '$[0]'), json_extract(value, '$[1]')) NOT IN removed))"
    " WHERE EXISTS (SELECT 1 FROM json_each(facts, '$.copied_from')"
    " WHERE (json_extract(value, '$[0]'), json_extract(value, '$[1]')) IN removed)",
)


def remove_sessions(
    path: Path, sessions: Collection[tuple[str, str]], projects: Collection[str]
) -> int:
    """Delete from every table the rows of these (project, session id), and all rows of these
    projects, and take their names out of what is left; return how many rows were deleted.

    Raises:
        StoreBusy, StoreError: the file cannot be written; nothing is deleted.
    """
    deleted = 0
    with opened(path) as connection, transaction(connection):
        connection.execute("CREATE TEMP TABLE removed (project TEXT, session_id TEXT)")
        connection.executemany("INSERT INTO removed VALUES (?,?)", sorted(sessions))
        for sql in _MENTIONS:
            connection.execute(sql)
        for table, columns in tables(connection).items():
            which = f"session_id IN {_REMOVED_IDS}"
            if "project" in columns:
                which = "(project, session_id) IN removed"
                deleted += connection.executemany(
                    f'DELETE FROM "{table}" WHERE project = ?', [(name,) for name in projects]
                ).rowcount
            if "session_id" in columns:
                deleted += connection.execute(f'DELETE FROM "{table}" WHERE {which}').rowcount
    return deleted
