"""Text in an agent's database that its reader does not ask for, because it knows no such table or
column.

The schema is compared with what the reader declares. Only where it has more is content looked at,
and of that only the size, within SQLite: no text is taken out. Tables alone are asked: a view, a
virtual table or a generated column would run what its writer wrote.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from fnmatch import fnmatchcase
from typing import Any, NamedTuple

from memory_assets.errors import TranscriptError
from memory_assets.transcripts.account import MIN_LEAF, OTHER_PATHS, place_name
from memory_assets.transcripts.databases import Database, bytes_of, quoted_name

MOST_ROWS = 100_000
"""Rows that are looked at in a database."""
MOST_COLUMNS = 2_000
"""Columns that are; that a database has more of them is told."""
_PROBED_ROWS = 200
"""Rows of a table that are searched for the column that names the session."""
_LONGEST_ID = 200
"""Characters of a session's id that are compared with it."""
_LOOKED_INTO = 1 << 16
"""Larger values that are not declared as text count without a look at how they begin."""
_UNREADABLE = "(unreadable)"
_UUID = 36
"""Characters of the id of a session in a key."""
_SCHEMA = r"""
SELECT tables.name AS "table", columns.name AS "column", columns.hidden AS is_computed
FROM sqlite_master AS tables JOIN pragma_table_xinfo(tables.name) AS columns
WHERE tables.type = 'table' AND tables.rootpage > 0 AND tables.name NOT LIKE 'sqlite\_%' ESCAPE '\'
"""
_TEXT = """CASE typeof({value})
    WHEN 'text' THEN CASE WHEN {bytes} >= {least}
        OR ({bytes} > 2 AND substr({value}, 1, 1) IN ('{{', '[')) THEN {bytes} END
    WHEN 'blob' THEN CASE WHEN {bytes} > {most} OR substr({value}, 1, 4) = x'28b52ffd'
        OR substr({value}, 1, 2) = x'1f8b' OR ({bytes} >= {least}
            AND instr(substr({value}, 1, 64), x'00') = 0
            AND CAST(substr({value}, 1, 64) AS TEXT) NOT GLOB {binary}) THEN {bytes} END
END"""
"""The bytes of a value that is text or JSON, or a blob that is, or is compressed (zstd, gzip)."""
_BINARY = "'*[^ -~' || char(9, 10, 13) || '\u00a0-\U0010ffff]*'"


class Columns(NamedTuple):
    """Columns of a table ("*" in its name is anything) that a reader knows: their names, or "*" for
    all; and why their text is left out, "" where it is read. `keys`: of a table of keys and values,
    patterns of the keys that are known; "" where all are."""

    table: str
    names: str
    why: str = ""
    keys: str = ""

    def covers(self, table: str, column: str) -> bool:
        """Return whether this is such a column."""
        names = self.names.split()
        return fnmatchcase(table, self.table) and (names == ["*"] or column in names)


Unread = dict[str, dict[str, int]]
"""By session, bytes of text by `table.column`."""


def unread_text(
    database: Database, known: Sequence[Columns], sessions: Collection[str], newest: str
) -> Unread:
    """Return the text in columns that are not known, of the first `MOST_ROWS` rows. A row is of the
    session that one of its ids is of, else of the `newest` one. A table that cannot be read counts
    as one byte, and stops nothing."""
    tables: dict[str, list[str]] = {}
    ids: dict[str, list[str]] = {}
    rows = list(database.rows(_SCHEMA)) if sessions else []
    for row in rows[:MOST_COLUMNS]:
        table, column = row["table"], row["column"]
        if column.lower().endswith("id") and not row["is_computed"]:
            ids.setdefault(table, []).append(column)
        if not row["is_computed"] and not any(spec.covers(table, column) for spec in known):
            tables.setdefault(table, []).append(column)
    unread: Unread = {newest: {OTHER_PATHS: 1}} if len(rows) > MOST_COLUMNS else {}
    for table, columns in tables.items():
        limit = MOST_ROWS // len(tables)
        try:
            naming = _naming_column(database, table, ids.get(table, []), sessions)
            counted = list(database.rows(_question(table, columns, naming, limit)))
        except TranscriptError:
            counted, columns = [{"session": None, "0": 1}], [_UNREADABLE]
        for row in counted:
            of_session = unread.setdefault(_session(row, sessions, newest), {})
            for number, column in enumerate(columns):
                if size := row[str(number)]:
                    path = f"{place_name(table)}.{place_name(column)}"
                    of_session[path] = of_session.get(path, 0) + size
    present = {row["table"] for row in rows}
    for keyed in (spec for spec in known if spec.keys and spec.table in present):
        for unread_key in _unread_keys(database, keyed):
            of_session = unread.setdefault(_session(unread_key, sessions, newest), {})
            family = unread_key["family"] if isinstance(unread_key["family"], str) else "*"
            path = f"{place_name(keyed.table)}.{place_name(family)}"
            of_session[path] = of_session.get(path, 0) + unread_key["bytes"]
    return {session: places for session, places in unread.items() if places}


def _unread_keys(database: Database, columns: Columns) -> Iterable[Mapping[str, Any]]:
    """Return the bytes of text of keys that are not known, by what they begin with, up to a colon,
    and by the session that may follow."""
    key, value = columns.names.split()
    name, patterns = _value(key), columns.keys.split()
    begins = f"instr({name} || ':', ':')"
    sql = f"""SELECT family, session, sum(bytes) AS bytes FROM (
            SELECT substr({name}, 1, {begins} - 1) AS family,
                substr({name}, {begins} + 1, {_UUID}) AS session,
                {_text_bytes(_value(value))} AS bytes
            FROM {quoted_name(columns.table)} AS asked
            WHERE NOT ({" OR ".join(f"{name} GLOB ?" for _ in patterns)}) LIMIT {MOST_ROWS})
        WHERE bytes > 0 GROUP BY family, session LIMIT {MOST_COLUMNS}"""
    try:
        return list(database.rows(sql, *patterns))
    except TranscriptError:
        return [{"family": _UNREADABLE, "session": "", "bytes": 1}]


def _session(row: Mapping[str, Any], sessions: Collection[str], newest: str) -> str:
    return str(row["session"]) if str(row["session"]) in sessions else newest


def _naming_column(
    database: Database, table: str, ids: list[str], sessions: Collection[str]
) -> str:
    """Return the column that has sessions' ids in most of the first rows; "" if none has any."""
    if not ids:
        return ""
    columns = ", ".join(map(_id, ids))
    sql = f"SELECT {columns} FROM {quoted_name(table)} AS asked LIMIT {_PROBED_ROWS}"
    rows = [list(row.values()) for row in database.rows(sql)]
    hits = [sum(str(row[column]) in sessions for row in rows) for column in range(len(ids))]
    return ids[hits.index(max(hits))] if any(hits) else ""


def _question(table: str, columns: list[str], naming: str, limit: int) -> str:
    session = _id(naming) if naming else "NULL"
    names = [quoted_name(str(number)) for number in range(len(columns))]
    sums = ", ".join(f"sum({name}) AS {name}" for name in names)
    sizes = ", ".join(
        f"{_text_bytes(_value(column))} AS {name}"
        for column, name in zip(columns, names, strict=True)
    )
    return f"""SELECT session, {sums} FROM (
            SELECT {session} COLLATE BINARY AS session, {sizes}
            FROM {quoted_name(table)} AS asked LIMIT {limit})
        GROUP BY session"""


def _id(column: str) -> str:
    return f"substr({_value(column)}, 1, {_LONGEST_ID})"


def _value(column: str) -> str:
    """Return a column's value. Without its table, a name that is not there would be a string."""
    return f"asked.{quoted_name(column)}"


def _text_bytes(value: str) -> str:
    return _TEXT.format(
        value=value, bytes=bytes_of(value), least=MIN_LEAF, most=_LOOKED_INTO, binary=_BINARY
    )
