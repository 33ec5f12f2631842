"""The journal of agents, one SQLite file: the turns of their conversations, and memories.

Only redacted text is accepted, and is on disk when a call returns. The lake's tables
`agent_history`, `agent_memory` and `memory_trail` are exports of the journal, whose file is copied
before each export (`journal_file.py`).
"""

from __future__ import annotations

import json
import secrets
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import asdict, fields
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from memory_assets.agent_memory.ports import ConversationTurn, StoredMemory, TrailEntry, Where
from memory_assets.errors import ConfigurationError
from memory_assets.redacted_text import require_redacted, seal
from memory_assets.stores.agents.journal_file import (
    copy_of,
    is_lost,
    make_copy,
    open_journal,
    remove_copies,
)
from memory_assets.stores.agents.partitions import project_in
from memory_assets.stores.agents.rows import (
    MEMORY_FIELDS,
    TURN_FIELDS,
    memory_of,
    turn_of,
    values_of,
)
from memory_assets.stores.files.sqlite import SqliteStore, compact, make_directory_of, sqlite_errors

if TYPE_CHECKING:  # importing numpy takes longer than reading what has no vectors
    import numpy as np
    import numpy.typing as npt

    from memory_assets.agent_memory_models import HistorySummary

    Vector = npt.NDArray[np.float32]

_TABLE = "cut_turns"
_SUMMARIES = "cut_summaries"


class CutTurns:
    """The turns that retention cut from a journal's conversations: their ids and places without
    text, so that a turn that is appended again is recognised and its place not taken by another;
    and the summaries that name them, which cannot be made again.

    `changing` opens a transaction, and yields its number.
    """

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


FILE_NAME = "agent_memory.db"
"""Where in the data directory the journal is."""
_REMEDY = (
    "See that the disk has room and can be written; if the file is damaged, `memory ingest` sets "
    "it aside and begins again with its copy."
)
_TURN = ", ".join(TURN_FIELDS)
_MEMORY = ", ".join(MEMORY_FIELDS)
_TRAIL = tuple(field.name for field in fields(TrailEntry))
_RETRY_SECONDS = 60.0
"""Mentions of a memory by the same agent within this time count as one."""


def has_journal(data_dir: Path) -> bool:
    """Whether an agent ever wrote anything here; opening the journal would create it."""
    path = data_dir / FILE_NAME
    return not is_lost(path) or copy_of(path).exists()


class AgentJournal(SqliteStore):
    """The turns and memories of one data directory. Processes and threads may share it.

    Raises:
        StoreBusy, StoreError: by each method; the file cannot be used.
    """

    def __init__(self, path: Path, *, seconds: float = 30.0) -> None:
        """Open the journal at a path, or create it; wait `seconds` for a lock of another
        process."""
        make_directory_of(path)
        with sqlite_errors(path, _REMEDY):
            connection = open_journal(path, seconds)
        super().__init__(path, connection, _REMEDY)
        self.cut_turns = CutTurns(self, self._changing)

    def append_turn(self, turn: ConversationTurn) -> bool:
        """Store a turn, and return True; False if it is stored already, or retention has cut it. A
        conversation stays with the project of its first turn.

        Raises:
            ConfigurationError: another turn has its place or its id; names both.
            TypeError: its text is not redacted.
        """
        require_redacted([turn.text])
        with self._changing() as number:
            place = {"conversation_id": turn.conversation_id, "turn_index": turn.turn_index}
            with_id = self.select("turns", _TURN, message_id=turn.message_id)
            if with_id:
                known = _turn(with_id[0])
                if (known.conversation_id, known.turn_index, known.role, known.text) == (
                    *place.values(),
                    turn.role,
                    turn.text,
                ):
                    return False
                raise ConfigurationError(
                    f"message {turn.message_id} is turn {known.turn_index} of conversation "
                    f"{known.conversation_id} already, with this or another text; give a new "
                    f"message_id to turn {turn.turn_index} of {turn.conversation_id}"
                )
            if message := self.find("turns", "message_id", **place):
                raise ConfigurationError(
                    f"turn {turn.turn_index} of conversation {turn.conversation_id} is message "
                    f"{message}; message {turn.message_id} says something else. Append it as "
                    f"another turn"
                )
            if self.cut_turns.holds(turn):
                return False
            owner = self.project_of(turn.conversation_id)
            values = {**values_of(turn), "project": turn.project if owner is None else owner}
            self.put("turns", **values, changed=number)
        return True

    def project_of(self, conversation_id: str) -> str | None:
        """Return the project of a conversation, None if the journal has nothing of it."""
        for table in ("turns", "cut_summaries"):
            project = self.find(table, "project", conversation_id=conversation_id)
            if project is not None:
                return str(project)
        return None

    def tail(self, conversation_id: str, n: int) -> list[ConversationTurn]:
        """Return the last `n` turns of a conversation in order; fewer where there are fewer."""
        return self.turns_after(conversation_id, -1, max(n, 0))

    def turns(self, conversation_id: str) -> list[ConversationTurn]:
        """Return all turns of a conversation in order."""
        where = {"conversation_id": conversation_id}
        return [_turn(row) for row in self.select("turns", _TURN, "turn_index", **where)]

    def turns_after(self, conversation_id: str, changed: int, most: int) -> list[ConversationTurn]:
        """Return the last `most` turns of a conversation that were written after the change with
        this number, in order."""
        rows = self.rows(
            f"SELECT {_TURN} FROM turns WHERE conversation_id = ? AND changed > ?"
            " ORDER BY turn_index DESC LIMIT ?",
            conversation_id,
            changed,
            most,
        )
        return [_turn(row) for row in reversed(rows)]

    def unpromoted(self, conversation_id: str) -> list[ConversationTurn]:
        """Return the turns of a conversation after the last one of `note_promoted`, in order."""
        sql = (
            f"SELECT {_TURN} FROM turns WHERE conversation_id = ? AND turn_index > "
            "COALESCE((SELECT turn_index FROM promoted WHERE conversation_id = ?), -1)"
            " ORDER BY turn_index"
        )
        return [_turn(row) for row in self.rows(sql, *(conversation_id,) * 2)]

    def note_promoted(self, turn: ConversationTurn) -> None:
        """Note that the turns of a conversation up to this one were read for promotion."""
        self.put("promoted", conversation_id=turn.conversation_id, turn_index=turn.turn_index)

    def sessions_seen(self, project: str) -> str:
        """Return the state of a project's sessions that was noted last, "" for none."""
        return self.find("promoted_sessions", "state", project=project) or ""

    def note_sessions_seen(self, project: str, state: str) -> None:
        """Note the state of a project's sessions that were read for promotion; "" forgets it."""
        if state:
            self.put("promoted_sessions", project=project, state=state)
        else:
            self.delete("promoted_sessions", project=project)

    def count(self, conversation_id: str) -> int:
        """Return the number of turns of a conversation, including cut ones."""
        stored = int(self.find("turns", "COUNT(*)", conversation_id=conversation_id) or 0)
        return stored + self.cut_turns.count(conversation_id)

    def projects(self) -> list[str]:
        """Return the projects of all turns and memories, "" for those about none, sorted."""
        of_each = "SELECT project FROM turns UNION SELECT project FROM memories"
        sql = f"{of_each} UNION SELECT project FROM cut_summaries ORDER BY 1"
        return [row[0] for row in self.rows(sql)]

    def state_of(self, project: str) -> int:
        """Return the number of the last change of turns and memories of a project."""
        sql = "SELECT COALESCE(MAX(changed), 0) FROM {} WHERE project = ?"
        return max(int(self.value(sql.format(name), project)) for name in ("turns", "memories"))

    def first_change(self, conversation_id: str, memory_id: str) -> datetime | None:
        """Return the earliest last change of a conversation's turns, or of a memory; None if there
        is neither."""
        sql = (
            "SELECT MIN(changed) FROM (SELECT changed FROM turns WHERE conversation_id = ?"
            " UNION ALL SELECT changed FROM memories WHERE memory_id = ?)"
        )
        number = self.value(sql, conversation_id, memory_id)
        return None if number is None else datetime.fromtimestamp(number / 1e6, UTC)

    def conversation_states(self, project: str) -> dict[str, str]:
        """Return a state of each conversation of a project, which differs after every change; also
        of conversations of which only summaries are left."""
        sql = (
            "SELECT conversation_id, COUNT(*), MAX(changed) FROM turns WHERE project = ?1 GROUP BY"
            " 1 UNION ALL SELECT DISTINCT conversation_id, 0, 0 FROM cut_summaries WHERE"
            " project = ?1 AND conversation_id NOT IN (SELECT conversation_id FROM turns)"
        )
        return {row[0]: f"{row[1]}:{row[2]}" for row in self.rows(sql, project)}

    def memory_states(self, project: str) -> dict[str, str]:
        """Return a state of each memory of a project by id, which differs after every change."""
        return dict(self.select("memories", "memory_id, CAST(changed AS TEXT)", project=project))

    def put_memories(self, memories: Sequence[StoredMemory]) -> None:
        """Store memories, replacing those with the same ids. A changed text loses its vector.

        Raises:
            TypeError: a text is not redacted.
        """
        for memory in memories:
            require_redacted([memory.text, *memory.entities, *memory.tags, *memory.also])
        with self._changing() as number:
            for memory in memories:
                if self.find("memories", "text", memory_id=memory.memory_id) != memory.text:
                    self.delete("vectors", memory_id=memory.memory_id)
                self.put("memories", **values_of(memory), collection="memory", changed=number)

    def memories(
        self,
        where: Where | None = None,
        *,
        limit: int | None = None,
        sort: str = "-stored_at",
        archived: bool = True,
    ) -> list[StoredMemory]:
        """Return the memories that match `where`, sorted by a field, descending if a dash precedes
        it; with archived ones, unless `archived` is false."""
        conditions, values = ["1"], list[object]()
        if not archived:
            conditions.append("memory_id NOT IN (SELECT memory_id FROM archived)")
        for name, wanted in (where or {}).items():
            _require_column(name)
            at_least = isinstance(wanted, Mapping)
            conditions.append(f"{name} {'>=' if at_least else '='} ?")
            values.append(wanted["$gte"] if isinstance(wanted, Mapping) else wanted)
        column = _require_column(sort.removeprefix("-"))
        rows = self.rows(
            f"SELECT {_MEMORY} FROM memories WHERE {' AND '.join(conditions)}"
            f" ORDER BY {column} {'DESC' if sort.startswith('-') else ''}, memory_id LIMIT ?",
            *values,
            -1 if limit is None else limit,
        )
        return [memory_of(dict(zip(MEMORY_FIELDS, row, strict=True))) for row in rows]

    def archive(self, memory_id: str, why: str) -> None:
        """Archive a memory, so that contexts leave it out."""
        self.put("archived", memory_id=memory_id, why=why)

    def restore(self, memory_ids: Iterable[str]) -> None:
        """Restore the archived ones among these memories."""
        with self.transaction():
            for name in memory_ids:
                self.delete("archived", memory_id=name)

    def archived(self) -> dict[str, str]:
        """Return the reason of each archived memory by id."""
        return dict(self.select("archived", "memory_id, why"))

    def note(self, entry: TrailEntry) -> None:
        """Add an entry to the trail of a memory, unless it repeats the last one within a minute, as
        a client does that got no answer."""
        of = json.dumps(entry.of)
        last = "SELECT who, of, at FROM trail WHERE memory_id = ? ORDER BY rowid DESC LIMIT 1"
        before = self.rows(last, entry.memory_id) if entry.what == "renewed" else []
        is_repeated = any(
            tuple(row)[:2] == (entry.who, of) and 0 <= entry.at - row[2] < _RETRY_SECONDS
            for row in before
        )
        if not is_repeated:
            self.put("trail", **{**asdict(entry), "of": of})

    def replace_trail(self, memory_id: str, entries: Iterable[TrailEntry]) -> None:
        """Store the entries as the trail of a memory, in place of what is there."""
        with self.transaction():
            self.delete("trail", memory_id=memory_id)
            for entry in entries:
                self.note(entry)

    def trail(self, memory_id: str) -> list[TrailEntry]:
        """Return the trail of a memory, in order."""
        rows = self.select("trail", ", ".join(_TRAIL), "rowid", memory_id=memory_id)
        return [
            TrailEntry(**{**dict(zip(_TRAIL, row, strict=True)), "of": tuple(json.loads(row[4]))})
            for row in rows
        ]

    def trail_states(self, project: str) -> dict[str, str]:
        """Return a state of the trail of each memory of a project that has one, by id; it differs
        after every change."""
        sql = (
            "SELECT memory_id, COUNT(*), MAX(at) FROM trail JOIN memories USING (memory_id)"
            " WHERE project = ? GROUP BY 1"
        )
        return {row[0]: f"{row[1]}:{row[2]}" for row in self.rows(sql, project)}

    def place_of(self, any_id: str) -> tuple[str, str] | None:
        """Return project and conversation of the memory or the message of an id, None if there
        is none."""
        sql = "SELECT project, conversation_id FROM {} WHERE {} = ?"
        for table, key in (("memories", "memory_id"), ("turns", "message_id")):
            if rows := self.rows(sql.format(table, key), any_id):
                return str(rows[0][0]), str(rows[0][1])
        return None

    def vectors(self, embedder_id: str) -> dict[str, Vector]:
        """Return the vectors of memories by id that an embedder made."""
        import numpy as np

        rows = self.select("vectors", "memory_id, vector", embedder_id=embedder_id)
        return {memory_id: np.frombuffer(vector, dtype=np.float32) for memory_id, vector in rows}

    def put_vectors(self, embedder_id: str, vectors: Mapping[str, Vector]) -> None:
        """Store vectors of memories by id."""
        with self.transaction():
            for memory_id, vector in vectors.items():
                blob = vector.astype("float32").tobytes()
                self.put("vectors", memory_id=memory_id, embedder_id=embedder_id, vector=blob)

    def replace_turns(self, turns: Iterable[ConversationTurn]) -> None:
        """Store turns with other texts, replacing those with the same ids."""
        with self._changing() as number:
            for turn in turns:
                require_redacted([turn.text])
                self.put("turns", **values_of(turn), changed=number)

    def delete_memories(self, memory_ids: Iterable[str]) -> int:
        """Delete memories, and return their number."""
        with self.transaction():
            ids = list(memory_ids)
            for name in ids:
                for table in ("vectors", "archived", "trail"):
                    self.delete(table, memory_id=name)
            return sum(self.delete("memories", memory_id=name) for name in ids)

    def delete_conversations(self, conversation_ids: Iterable[str]) -> int:
        """Delete the turns of conversations, and return their number."""
        with self.transaction():
            ids = list(conversation_ids)
            for name in ids:
                self.delete("promoted", conversation_id=name)
                self.cut_turns.forget(name)
            return sum(self.delete("turns", conversation_id=name) for name in ids)

    def keep_copy(self) -> None:
        """Copy the journal, if it was written since it was copied."""
        with self.transaction(), sqlite_errors(copy_of(self.path), _REMEDY):
            make_copy(self.path)

    @contextmanager
    def replacing_texts(self) -> Iterator[None]:
        """Hold the write lock for a block that replaces texts, and note that the file may have the
        former ones until `erase_replaced_texts`: by a number that no other such block has."""
        with self.transaction() as connection:
            connection.execute(f"PRAGMA user_version = {secrets.randbelow(2**31 - 1) + 1}")
            yield

    def erase_replaced_texts(self) -> None:
        """Rewrite the file and its copy if texts were replaced, be it by a process that was killed
        before it could do so."""
        if self.value("PRAGMA user_version"):
            self.compact()

    def compact(self) -> None:
        """Rewrite the file and its copy, so that no byte of what was deleted stays."""
        last = self.value("PRAGMA user_version")
        with self.transaction():
            remove_copies(self.path)
        compact(self.path)
        with self.transaction() as connection:
            # else another process has replaced texts meanwhile, which are still to be erased
            if connection.execute("PRAGMA user_version").fetchone()[0] == last:
                connection.execute("PRAGMA user_version = 0")
        self.keep_copy()

    @contextmanager
    def _changing(self) -> Iterator[int]:
        """Hold the write lock for a block, and yield the number of this change: the time in
        microseconds, or the last number plus one if the clock was set back. Counting from 0 would
        repeat numbers after a journal was lost or restored from an older copy."""
        now = time.time_ns() // 1_000
        with self.transaction() as connection:
            connection.execute("UPDATE changes SET number = MAX(number + 1, ?)", (now,))
            yield self.value("SELECT number FROM changes")


def _require_column(name: str) -> str:
    if name not in MEMORY_FIELDS:
        raise ConfigurationError(f"a memory has no field {name!r:.40}")
    return name


def _turn(row: Sequence[Any]) -> ConversationTurn:
    return turn_of(dict(zip(TURN_FIELDS, row, strict=True)))
