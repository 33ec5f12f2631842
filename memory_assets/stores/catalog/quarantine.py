"""Quarantine: the sessions that a stage could not take in, with cause and remedy."""

from __future__ import annotations

from memory_assets.stores.catalog.connection import CatalogConnection, now
from memory_assets.stores.catalog.schema import Quarantined


class Quarantine:
    """The sessions held back."""

    def __init__(self, connection: CatalogConnection) -> None:
        self._connection = connection

    def hold(self, entry: Quarantined) -> None:
        """Hold a session back at a stage until its input changes; `since` stays as it was
        while the reason does."""
        with self._connection.transaction() as connection:
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
        with self._connection.transaction() as connection:
            connection.execute(
                "DELETE FROM quarantine WHERE project = ? AND session_id = ? AND stage = ?",
                (project, session_id, stage),
            )

    def entries(self, project: str | None = None) -> list[Quarantined]:
        """Return the sessions held back, of one project or of all."""
        where, parameters = ("WHERE project = ?", (project,)) if project is not None else ("", ())
        rows = self._connection.rows(
            f"SELECT * FROM quarantine {where} ORDER BY project, session_id", *parameters
        )
        return [Quarantined(**dict(row)) for row in rows]
