"""The known secrets: keyed hashes of secrets found in any session; and which sessions were
searched for them.

No plaintext, and nothing that would confirm a guess: only values that nobody can guess
have such a hash (`redaction/known_secrets.py`).
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from memory_assets.stores.catalog.connection import CatalogConnection, now

_BEHIND = (
    "FROM products p LEFT JOIN known_checked c"
    " ON c.project = p.project AND c.session_id = p.session_id"
    " WHERE p.stage = 'redacted_records' AND p.rows > 0 AND COALESCE(c.through, 0) <"
    " (SELECT COALESCE(MAX(number), 0) FROM known_values)"
)


@dataclass(frozen=True)
class KnownValue:
    """A known secret: its number in the order of discovery, keyed hash, and rule."""

    number: int
    hash: bytes
    rule: str


@dataclass(frozen=True)
class UncheckedSession:
    """A session that was not yet searched for the secrets numbered above `through`;
    `output_hash` is that of its records."""

    project: str
    session_id: str
    through: int
    output_hash: str


class KnownSecrets:
    """The known secrets, and the number up to which each session was searched."""

    def __init__(self, connection: CatalogConnection) -> None:
        self._connection = connection

    def rules(self) -> dict[bytes, str]:
        """Return the rules of the known secrets by keyed hash."""
        return {value.hash: value.rule for value in self.since(0)}

    def since(self, number: int) -> list[KnownValue]:
        """Return the secrets with higher numbers than this, in order."""
        rows = self._connection.rows(
            "SELECT number, hash, rule FROM known_values WHERE number > ? ORDER BY number", number
        )
        return [KnownValue(row["number"], row["hash"], row["rule"]) for row in rows]

    def add(self, session_id: str, found: Mapping[bytes, str]) -> int:
        """Add the secrets of a session (rule by keyed hash); return the number of new ones."""
        with self._connection.transaction() as connection:
            return _insert_values(connection, session_id, found)

    def unchecked_sessions(self) -> list[UncheckedSession]:
        """Return the sessions that were redacted before some secret was known and not searched
        for it since, sorted."""
        rows = self._connection.rows(
            "SELECT p.project, p.session_id, COALESCE(c.through, 0) AS through, p.output_hash "
            f"{_BEHIND} ORDER BY p.project, p.session_id"
        )
        return [UncheckedSession(**dict(row)) for row in rows]

    def has_unchecked_sessions(self) -> bool:
        """Whether `unchecked_sessions` returns any."""
        return bool(self._connection.rows(f"SELECT 1 {_BEHIND} LIMIT 1"))

    def note_checked(self, session: UncheckedSession, through: int, *, holds: bool) -> None:
        """Note that a session was searched for the secrets up to `through`, and whether it
        `holds` one. A session whose records changed meanwhile stays unchecked."""
        with self._connection.transaction() as connection:
            same = connection.execute(
                "SELECT 1 FROM products WHERE stage = 'redacted_records' AND project = ?"
                " AND session_id = ? AND output_hash = ?",
                (session.project, session.session_id, session.output_hash),
            ).fetchone()
            if same is not None:
                connection.execute(
                    "INSERT INTO known_checked VALUES (?,?,?,?) ON CONFLICT DO UPDATE"
                    " SET through = excluded.through, holds = MAX(holds, excluded.holds)",
                    (session.project, session.session_id, through, int(holds)),
                )

    def affected_sessions(self, project: str | None = None) -> dict[tuple[str, str], int]:
        """Return the affected sessions, as (project, session) with the number up to which they
        were searched."""
        where, parameters = ("AND project = ?", (project,)) if project is not None else ("", ())
        rows = self._connection.rows(
            "SELECT project, session_id, through FROM known_checked c WHERE holds AND EXISTS"
            " (SELECT 1 FROM products p WHERE stage = 'redacted_records'"
            f" AND p.project = c.project AND p.session_id = c.session_id) {where}",
            *parameters,
        )
        return {(row["project"], row["session_id"]): row["through"] for row in rows}

    def checked_through(self, project: str, session_id: str) -> int:
        """Return the number of the known secret up to which a session was searched."""
        rows = self._connection.rows(
            "SELECT through FROM known_checked WHERE project = ? AND session_id = ?",
            project,
            session_id,
        )
        return int(rows[0]["through"]) if rows else 0

    def note_redacted(
        self, project: str, session_id: str, through: int, found: Mapping[bytes, str]
    ) -> None:
        """Add the secrets found in a session that was just redacted (rule by keyed hash), and
        note that it has none of these, nor of those up to `through`."""
        with self._connection.transaction() as connection:
            before = _last_number(connection)
            _insert_values(connection, session_id, found)
            reached = _last_number(connection) if before == through else through
            connection.execute(
                "INSERT OR REPLACE INTO known_checked VALUES (?,?,?,0)",
                (project, session_id, reached),
            )


def _last_number(connection: sqlite3.Connection) -> int:
    (number,) = connection.execute("SELECT COALESCE(MAX(number), 0) FROM known_values").fetchone()
    return int(number)


def _insert_values(
    connection: sqlite3.Connection, session_id: str, found: Mapping[bytes, str]
) -> int:
    at = now()
    rows: Iterable[tuple[bytes, str, str, str]] = (
        (value, rule, session_id, at) for value, rule in sorted(found.items())
    )
    return sum(
        connection.execute(
            "INSERT INTO known_values (hash, rule, first_session, first_seen_at) VALUES (?,?,?,?)"
            " ON CONFLICT DO NOTHING",
            row,
        ).rowcount
        for row in rows
    )
