"""Whether the hashes of record ids are keyed.

The versions before wrote unkeyed hashes, which confirm a guess of a record's text: into the
catalogue, and into the lake as ids. `key_records` puts keyed ones in their place in the
catalogue, in one transaction; the lake's files follow one by one
(`pipeline/ownership/keyed_lake.py`).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal

from memory_assets.stores.catalog.connection import CatalogPart

State = Literal["unkeyed", "lake", "file", "keyed"]
"""The parts that are not keyed yet:

- `unkeyed`: catalogue and lake,
- `lake`: files of the lake,
- `file`: nothing, but free pages of the catalogue's file still hold what was deleted,
- `keyed`: nothing.
"""

_FIRST_IDS = "SELECT ids FROM record_ids WHERE {} ORDER BY first"
_OF = "agent = ? AND project = ? AND session_id = ? AND agent_id = ?"


class Identities(CatalogPart):
    """How far keying has come."""

    def state(self) -> State:
        """Return the progress of the migration."""
        state: State = self._connection.find("identities", "state")
        return state

    def note(self, state: State) -> None:
        """Note the progress of the migration."""
        self._connection.write("UPDATE identities SET state = ?", state)

    def key_records(self, records: Callable[[bytes], bytes], family: Callable[[int], int]) -> None:
        """Replace the hashes that the versions before noted by what these return for them:
        of the records of a file, and of a family.

        Nothing is done where another process was first.
        """
        with self._connection.transaction() as connection:
            (state,) = connection.execute("SELECT state FROM identities").fetchone()
            if state != "unkeyed":
                return
            for key in connection.execute(
                "SELECT DISTINCT agent, project, session_id, agent_id FROM record_ids"
            ).fetchall():
                pieces = connection.execute(_FIRST_IDS.format(_OF), tuple(key)).fetchall()
                keyed = records(b"".join(piece["ids"] for piece in pieces))
                connection.execute("INSERT INTO source_records VALUES (?,?,?,?,0,?)", (*key, keyed))
            connection.execute("DROP TABLE record_ids")
            connection.create_function("keyed_family", 1, family)
            connection.execute(
                "UPDATE sources SET family = keyed_family(family) WHERE family IS NOT NULL"
            )
            connection.execute("UPDATE identities SET state = 'lake'")

    def require_key(self, recognised_by: int) -> None:
        """Note by what the key is recognised under which records are known. Where it is
        another one than before, every file that is there counts as unread: what was noted
        under the other key is equal to nothing any more."""
        if self._connection.find("identities", "recognised_by") == recognised_by:
            return
        with self._connection.transaction():
            before = self._connection.find("identities", "recognised_by")
            self._connection.write("UPDATE identities SET recognised_by = ?", recognised_by)
            if before not in (None, recognised_by):
                self._connection.write(
                    "UPDATE sources SET reader_version = '' WHERE gone_at IS NULL"
                )
