"""The known secrets: keyed hashes of secrets found in any session; which sessions were searched for
them; and the state of each session's redaction.

Neither plaintext nor anything that would confirm a guess is stored: only values that nobody can
guess have such a hash (`redaction/known_secrets.py`).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from memory_assets.stores.catalog.connection import CatalogConnection, CatalogPart, now
from memory_assets.stores.catalog.products import Products
from memory_assets.stores.catalog.schema import Product

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


@dataclass(frozen=True)
class Redaction:
    """The redaction of a session: both products, the number of the last known secret that it was
    searched for, the secrets found (rule by keyed hash), the state for the next redaction, and the
    number of reused rows."""

    records: Product
    audit: Product
    through: int
    found: Mapping[bytes, str]
    state: str = ""
    kept: int = 0


class KnownSecrets(CatalogPart):
    """The known secrets, and the number up to which each session was searched."""

    def __init__(self, connection: CatalogConnection) -> None:
        super().__init__(connection)
        self._hashes_by_rule: dict[str | None, tuple[int, frozenset[bytes]]] = {}

    def rules(self) -> dict[bytes, str]:
        """Return the rules of the known secrets by keyed hash."""
        return {value.hash: value.rule for value in self.since(0)}

    def hashes(self, rule: str | None = None) -> frozenset[bytes]:
        """Return the keyed hashes of the known secrets, which are never deleted, or of those of one
        rule; they are read again when another is known."""
        number = self.last_number()
        if rule not in self._hashes_by_rule or self._hashes_by_rule[rule][0] != number:
            rows = self._connection.select("known_values", "hash", rule=rule)
            self._hashes_by_rule[rule] = (number, frozenset(row["hash"] for row in rows))
        return self._hashes_by_rule[rule][1]

    def since(self, number: int) -> list[KnownValue]:
        """Return the secrets with higher numbers than this, in order."""
        rows = self._connection.rows(
            "SELECT number, hash, rule FROM known_values WHERE number > ? ORDER BY number", number
        )
        return [KnownValue(row["number"], row["hash"], row["rule"]) for row in rows]

    def add(self, session_id: str, values: Mapping[bytes, str]) -> int:
        """Add the secrets of a session (rule by keyed hash); return the number of new ones."""
        at = now()
        with self._connection.transaction():
            return sum(
                self._connection.write(
                    "INSERT INTO known_values (hash, rule, first_session, first_seen_at)"
                    " VALUES (?,?,?,?) ON CONFLICT DO NOTHING",
                    value,
                    rule,
                    session_id,
                    at,
                )
                for value, rule in sorted(values.items())
            )

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
        return self._connection.value(f"SELECT 1 {_BEHIND} LIMIT 1") is not None

    def note_checked(self, session: UncheckedSession, through: int, *, holds: bool) -> None:
        """Note that a session was searched for the secrets up to `through`, and whether it
        `holds` one. A session whose records changed meanwhile stays unchecked."""
        self._connection.write(
            "INSERT INTO known_checked SELECT project, session_id, ?, ? FROM products"
            " WHERE stage = 'redacted_records' AND project = ? AND session_id = ?"
            " AND output_hash = ? ON CONFLICT DO UPDATE"
            " SET through = excluded.through, holds = MAX(holds, excluded.holds)",
            through,
            holds,
            session.project,
            session.session_id,
            session.output_hash,
        )

    def affected_sessions(self, project: str | None = None) -> dict[tuple[str, str], int]:
        """Return the affected sessions, as (project, session) with the number up to which they
        were searched."""
        rows = self._connection.select(
            "known_checked JOIN products USING (project, session_id)",
            "project, session_id, through",
            stage="redacted_records",
            holds=1,
            project=project,
        )
        return {(row["project"], row["session_id"]): row["through"] for row in rows}

    def checked_through(self, project: str, session_id: str) -> int:
        """Return the number of the known secret up to which a session was searched."""
        through = self._connection.find(
            "known_checked", "through", project=project, session_id=session_id
        )
        return int(through or 0)

    def note_redacted(
        self, project: str, session_id: str, through: int, values: Mapping[bytes, str]
    ) -> None:
        """Add the secrets found in a session that was just redacted (rule by keyed hash), and
        note that it has none of those up to `through`."""
        self.add(session_id, values)
        self._connection.put(
            "known_checked", project=project, session_id=session_id, through=through, holds=0
        )

    def last_number(self) -> int:
        """Return the number of the newest known secret, or 0."""
        return int(self._connection.find("known_values", "MAX(number)") or 0)


class Redactions(CatalogPart):
    """The state of each session's redaction, as JSON of numbers and keyed hashes
    (`pipeline/redact/stored_rows.py`)."""

    def __init__(
        self, connection: CatalogConnection, products: Products, known_secrets: KnownSecrets
    ) -> None:
        super().__init__(connection)
        self._products = products
        self._known_secrets = known_secrets

    def state(self, project: str, session_id: str) -> str:
        """Return the state in which redaction left a session, or ""."""
        state = self._connection.find(
            "redaction_states", "state", project=project, session_id=session_id
        )
        return str(state or "")

    def put(self, *redactions: Redaction) -> None:
        """Store these redactions in one transaction."""
        with self._connection.transaction():
            for redaction in redactions:
                key = (redaction.records.project, redaction.records.session_id)
                self._products.put(redaction.records, redaction.audit)
                self._known_secrets.note_redacted(*key, redaction.through, redaction.found)
                self._connection.put(
                    "redaction_states", project=key[0], session_id=key[1], state=redaction.state
                )
