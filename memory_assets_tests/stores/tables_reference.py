"""The reference of the lake's tables, docs/tables.md, from the models of their rows.

    python -m memory_assets_tests.stores.tables_reference

prints it; `make reference` writes it.
"""

from __future__ import annotations

from itertools import groupby
from typing import Any

import pyarrow as pa

from memory_assets.stores.lake.schemas import TABLES, Table

HEAD = """# Tables

The Parquet tables of the lake and their columns, from the models of their rows (`make reference`).
"""


def reference() -> str:
    """Return the page: a section for each table; tables of the same columns share one."""
    tables = sorted(TABLES.values(), key=_first_of_these_columns)
    sections = [_section(list(alike)) for _, alike in groupby(tables, _first_of_these_columns)]
    return "\n".join([HEAD, *sections])


def _first_of_these_columns(table: Table) -> int:
    """The place of the first table that has the same columns."""
    return [other.schema.equals(table.schema) for other in TABLES.values()].index(True)


def _section(tables: list[Table]) -> str:
    rows = [_row(column) for column in tables[0].schema]
    names = ", ".join(table.name for table in tables)
    return "\n".join([f"## {names}\n", "| column | type | meaning |", "|---|---|---|", *rows, ""])


def _row(column: pa.Field[Any]) -> str:
    kind = str(column.type).replace("timestamp[us, tz=UTC]", "timestamp (UTC)")
    kind = kind.replace("<element: ", "<").replace("<item: ", "<")
    kind = kind + (", may be null" if column.nullable else "")
    description = (column.metadata or {}).get(b"description", b"").decode().replace("|", "\\|")
    return f"| `{column.name}` | {kind} | {description} |"


if __name__ == "__main__":
    print(reference(), end="")  # noqa: T201
