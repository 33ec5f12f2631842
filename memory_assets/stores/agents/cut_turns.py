"""The turns that retention cut from conversations: their ids and places without text, so that a
turn that is appended again is recognised, and its place is not taken by another; and the summaries
that name them, which cannot be made again."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from contextlib import AbstractContextManager
from dataclasses import asdict
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from memory_assets.agent_memory.ports import ConversationTurn
from memory_assets.errors import ConfigurationError
from memory_assets.redacted_text import require_redacted, seal
from memory_assets.stores.agents.partitions import project_in
from memory_assets.stores.files.sqlite import SqliteStore

if TYPE_CHECKING:  # its columns need numpy, and a context needs no summary of here
    from memory_assets.agent_memory_models import HistorySummary

_TABLE = "cut_turns"
_SUMMARIES = "cut_summaries"


class CutTurns:
    """The cut turns of a journal. `changing` opens a transaction, and yields its number."""

    def __init__(
        self, journal: SqliteStore, changing: Callable[[], AbstractContextManager[int]]
    ) -> None:
        self._journal = journal
        self._changing = changing

    def holds(self, turn: ConversationTurn) -> bool:
        """Whether this turn was cut. Texts are not compared: a derived id belongs to one text.

        Raises:
            ConfigurationError: a cut turn has its place, or its id at another place; names both.
        """
        name, place = turn.conversation_id, turn.turn_index
        for conversation, at in self._journal.select(
            _TABLE, "conversation_id, turn_index", message_id=turn.message_id
        ):
            if (conversation, at) in ((name, place), (name, None)):
                return True
            raise ConfigurationError(
                f"message {turn.message_id} is turn {at} of conversation {conversation}, which "
                f"retention has cut; give a new message_id to turn {place} of {name}"
            )
        where = {"conversation_id": name, "turn_index": place}
        if message := self._journal.find(_TABLE, "message_id", **where):
            raise ConfigurationError(
                f"turn {place} of conversation {name} is message {message}, which retention has "
                f"cut; message {turn.message_id} says something else. Append it as another turn"
            )
        return False

    def count(self, conversation_id: str) -> int:
        """Return the number of cut turns of a conversation."""
        return int(self._journal.find(_TABLE, "COUNT(*)", conversation_id=conversation_id) or 0)

    def summaries(self, conversation_id: str) -> list[HistorySummary]:
        """Return the summaries of a conversation up to the last one that names a cut turn."""
        rows = self._journal.select(_SUMMARIES, "row", "last_turn", conversation_id=conversation_id)
        return [_summary_from_json(row[0]) for row in rows]

    def over_before(self, project: str, moment: datetime) -> list[str]:
        """Return the conversations of a project, sorted, that ended before a moment and have turns
        of others than the user."""
        sql = (
            "SELECT conversation_id FROM turns WHERE project = ? GROUP BY 1"
            " HAVING MAX(ts) < ? AND SUM(role != 'user') > 0 ORDER BY 1"
        )
        until = moment.astimezone(UTC).isoformat()
        return [row[0] for row in self._journal.rows(sql, project, until)]

    def cut(
        self,
        conversation_id: str,
        message_ids: Iterable[str],
        summaries: Iterable[HistorySummary],
    ) -> int:
        """Delete these turns of a conversation, note that they were cut, keep the summaries that
        name them, and return the number of turns. The last turn counts as changed, which gives the
        conversation a new state."""
        conversation = {"conversation_id": conversation_id}
        removed = 0
        with self._changing() as number:
            for message in message_ids:
                place = self._journal.find(
                    "turns", "turn_index", message_id=message, **conversation
                )
                if place is not None:
                    self._journal.put(_TABLE, message_id=message, turn_index=place, **conversation)
                    removed += self._journal.delete("turns", message_id=message)
            self.keep(summaries)
            self._journal.write(
                "UPDATE turns SET changed = ?1 WHERE conversation_id = ?2 AND turn_index ="
                " (SELECT MAX(turn_index) FROM turns WHERE conversation_id = ?2)",
                number,
                conversation_id,
            )
        return removed

    def keep(self, summaries: Iterable[HistorySummary]) -> None:
        """Store summaries that name cut turns, replacing those with the same ids."""
        with self._journal.transaction():
            for summary in summaries:
                require_redacted([summary.text])
                self._journal.put(
                    _SUMMARIES,
                    summary_id=summary.id,
                    conversation_id=summary.session_id,
                    project=project_in(summary.project),
                    last_turn=summary.last_turn,
                    row=json.dumps(asdict(summary), default=datetime.isoformat),
                )

    def forget(self, conversation_id: str) -> None:
        """Delete the cut turns and summaries of a conversation."""
        for table in (_TABLE, _SUMMARIES):
            self._journal.delete(table, conversation_id=conversation_id)


def _summary_from_json(row: str) -> HistorySummary:
    from memory_assets.agent_memory_models import HistorySummary

    values = json.loads(row)
    for name in ("timestamp", "ended_at"):
        values[name] = datetime.fromisoformat(values[name])
    for name in ("project_root", "text"):
        values[name] = seal(values[name])
    return HistorySummary(**{**values, "message_ids": tuple(values["message_ids"])})
