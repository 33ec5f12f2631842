"""The stores of agents' history and memory over the tools of chroma-mcp 0.2.6.

chroma-mcp embeds texts itself: with our model, where `memory chroma --stage-model` was called.
It has no lock, no order and no upsert. So writers hold a lock file of their machine, rows are
sorted here, and compared with the stored ones before they are added or updated. Writes are
idempotent.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager, suppress
from pathlib import Path
from typing import Any

from memory_assets.agent_memory.ports import ConversationTurn, Found, StoredMemory, Where
from memory_assets.errors import ConfigurationError, StoreError
from memory_assets.redacted_text import RedactedText, require_redacted
from memory_assets.stores.agents.rows import (
    FLOATS,
    LISTS,
    MEMORY_FIELDS,
    memory_of,
    turn_of,
    values_of,
)
from memory_assets.stores.chroma_mcp.session import McpSession, ServerProcess
from memory_assets.stores.files.shared import locked


def condition(where: Where) -> dict[str, Any] | None:
    """Return conditions that all must hold in Chroma's language; None for no condition.

    Raises:
        ConfigurationError: a memory has no such field.
    """
    known = {*MEMORY_FIELDS} - {"text", *LISTS}
    if unknown := sorted(set(where) - known):
        raise ConfigurationError(f"a memory has no field {unknown[0]!r:.40} to search by")
    parts: list[dict[str, Any]] = []
    for name, wanted in where.items():
        least = isinstance(wanted, Mapping)
        value: Any = wanted["$gte"] if isinstance(wanted, Mapping) else wanted
        value = float(value) if name in FLOATS else value
        parts.append({name: {"$gte": value} if least else value})
    return {"$and": parts} if len(parts) > 1 else next(iter(parts), None)


HISTORY, MEMORY = "history", "memory"
_PREFIX_OF_0_3 = "agents."
"""The prefix of collection names in version 0.3, after the tenant's name."""
_NO_COLLECTIONS = "__NO_COLLECTIONS_FOUND__"
_MISSING, _EXISTS = "does not exist", "already exist"
"""Parts of chroma-mcp's error messages; the rest of a message is neither used nor passed on."""
_COSINE = {"hnsw:space": "cosine"}
"""Without it a collection measures squared distances."""
_LOCK_SECONDS = 30.0
_Row = tuple[str, Mapping[str, Any], str]
"""Id, metadata, text."""


def server_process(python: str, host: str, port: int, token: str | None = None) -> ServerProcess:
    """Return how chroma-mcp is started in front of the Chroma server at an address; `python` is
    that of the environment which chroma-mcp is installed in."""
    environment = {
        "CHROMA_CLIENT_TYPE": "http",
        "CHROMA_HOST": host,
        "CHROMA_PORT": str(port),
        "CHROMA_SSL": "false",
        "ANONYMIZED_TELEMETRY": "False",
        "CHROMA_DOTENV_PATH": os.devnull,
    }
    if token is not None:
        environment["CHROMA_CUSTOM_AUTH_CREDENTIALS"] = f"memory:{token}"
    return ServerProcess([python, str(Path(__file__).with_name("run_server.py"))], environment)


class _MissingCollection(Exception):
    """There is no collection of that name."""


class _AlreadyThere(Exception):
    """A row to be added is there: from another writer, or from this request's first try."""


class ChromaMcpVectorStoreAdapter:
    """A `VectorStore` and `HistoryStore` in the collections `history` and `memory`, with a prefix
    where other collections of these names are at the same server.

    Raises:
        ServerSilent: by each method; chroma-mcp does not answer.
        StoreError: by each method; it refused. Names tool and collection, and quotes no text.
    """

    def __init__(self, session: McpSession, lock_file: Path, *, prefix: str = "") -> None:
        """Take a session with chroma-mcp, and the lock file that all writers share."""
        self._session = session
        self._lock_file = lock_file
        self._prefix = prefix

    def close(self) -> None:
        """End the session."""
        self._session.close()

    def list_collections(self) -> list[str]:
        """Return the names of the collections, sorted."""
        names = self._call("chroma_list_collections", "")
        return sorted(
            name.removeprefix(self._prefix)
            for name in names
            if name.startswith(self._prefix) and name != _NO_COLLECTIONS
        )

    def add(self, memories: Sequence[StoredMemory]) -> None:
        """Store memories, in place of those with their ids."""
        for memory in memories:
            require_redacted([memory.text, *memory.entities, *memory.tags, *memory.also])
        self._put([_row(memory.memory_id, memory) for memory in memories])

    def query(self, text: RedactedText, k: int, where: Where) -> list[Found]:
        """Return the `k` memories that are most similar to a text, best first."""
        require_redacted([text])
        if k < 1:
            return []
        page = self._call_json(
            "chroma_query_documents",
            MEMORY,
            query_texts=[str(text)],
            n_results=k,
            where=condition(where),
        )
        columns = (page["metadatas"][0], page["documents"][0], page["distances"][0])
        memories = [
            Found(memory_of({**metadata, "text": text}), round(1 - distance, 6))
            for metadata, text, distance in zip(*columns, strict=True)
        ]
        return sorted(memories, key=lambda found: (-found.similarity, found.memory.memory_id))

    def get(self, where: Where, limit: int | None = None) -> list[StoredMemory]:
        """Return memories, those that were stored last first."""
        rows = self._rows(MEMORY, where=condition(where))
        memories = [memory_of({**metadata, "text": text}) for _, metadata, text in rows]
        memories.sort(key=lambda memory: memory.memory_id)
        memories.sort(key=lambda memory: memory.stored_at, reverse=True)
        return memories if limit is None else memories[:limit]

    def exclusive(self) -> AbstractContextManager[None]:
        """Keep other writers that share the lock file out of the store for a block."""
        busy = f"another process has been writing memory for {_LOCK_SECONDS:.0f} s; try again"
        return locked(self._lock_file, _LOCK_SECONDS, busy)

    def append_turn(self, turn: ConversationTurn) -> bool:
        """Store a turn, and return True; False if it is stored already.

        Raises:
            ConfigurationError: another turn has its place or its id; names both.
        """
        require_redacted([turn.text])
        place = {"conversation_id": turn.conversation_id, "turn_index": turn.turn_index}
        both = {"$and": [{name: value} for name, value in place.items()]}
        where = {"$or": [{"message_id": turn.message_id}, both]}
        row = _row(f"{turn.conversation_id}:{turn.turn_index}", turn)
        with self.exclusive():
            if self._is_stored(turn, where):
                return False
            try:
                self._call("chroma_add_documents", HISTORY, **_columns([row]))
            except _AlreadyThere:
                if not self._is_stored(turn, where):
                    raise StoreError(f"turn {row[0]} is there and is not found") from None
        return True

    def _is_stored(self, turn: ConversationTurn, where: Mapping[str, Any]) -> bool:
        known = self._turns(where=where)
        for earlier in known:
            if _identity_of(earlier) != _identity_of(turn):
                raise ConfigurationError(
                    f"message {earlier.message_id} is turn {earlier.turn_index} of conversation "
                    f"{earlier.conversation_id}, so that message {turn.message_id} cannot be turn "
                    f"{turn.turn_index} of {turn.conversation_id}; append it as another turn"
                )
        return bool(known)

    def tail(self, conversation_id: str, n: int) -> list[ConversationTurn]:
        """Return the last `n` turns in order; fewer where there are fewer."""
        ids = self._turn_ids(conversation_id)[-n:] if n > 0 else []
        return sorted(self._turns(ids), key=lambda turn: turn.turn_index)

    def count(self, conversation_id: str) -> int:
        """Return the number of turns of a conversation."""
        return len(self._turn_ids(conversation_id))

    def _turn_ids(self, conversation_id: str) -> list[str]:
        """Return the ids of the rows of a conversation, which chroma-mcp cannot order, by the turn
        index that they end with."""
        where = {"conversation_id": conversation_id}
        page = self._call_json("chroma_get_documents", HISTORY, where=where, include=[])
        return sorted(page["ids"], key=lambda row_id: int(row_id.rpartition(":")[2]))

    def _turns(self, ids: list[str] | None = None, **conditions: Any) -> list[ConversationTurn]:
        rows = self._rows(HISTORY, ids, **conditions)
        return [turn_of({**metadata, "text": text}) for _, metadata, text in rows]

    def _put(self, rows: Sequence[_Row]) -> None:
        """Add rows, and update those that are there with another text or other metadata."""
        ids = [row_id for row_id, _, _ in rows]
        for _ in range(2):
            stored = {row[0]: row for row in self._rows(MEMORY, ids)}
            new = [row for row in rows if row[0] not in stored]
            changed = [row for row in rows if row[0] in stored and stored[row[0]] != row]
            try:
                if new:
                    self._call("chroma_add_documents", MEMORY, **_columns(new))
            except _AlreadyThere:
                continue  # compared with what is there now
            if changed:
                self._call("chroma_update_documents", MEMORY, **_columns(changed))
            return
        raise StoreError(f"memories of {self._prefix}{MEMORY} are there and are not found")

    def _rows(self, collection: str, ids: list[str] | None = None, **conditions: Any) -> list[_Row]:
        if ids is not None and not ids:
            return []
        page = self._call_json("chroma_get_documents", collection, ids=ids, **conditions)
        columns = (page[name] or [] for name in ("ids", "metadatas", "documents"))
        return list(zip(*columns, strict=True))

    def _call_json(self, tool: str, collection: str, **arguments: Any) -> Mapping[str, Any]:
        """Return the one JSON object that a tool answers with."""
        try:
            page = json.loads(self._call(tool, collection, **arguments)[0])
            if isinstance(page, dict):
                return page
        except (IndexError, ValueError):
            pass
        raise StoreError(f"{tool} of chroma-mcp answered with something else than 0.2.6 does")

    def _call(self, tool: str, collection: str, **arguments: Any) -> tuple[str, ...]:
        """Return the texts that a tool answers with. A collection that is missing is created, and
        the tool called once more."""
        try:
            return self._call_once(tool, collection, arguments)
        except _MissingCollection:
            with suppress(_AlreadyThere):  # another writer was first
                self._create_collection(collection)
        try:
            return self._call_once(tool, collection, arguments)
        except _MissingCollection:
            name = f"{self._prefix}{collection}"
            raise StoreError(f"collection {name} is deleted again and again") from None

    def _create_collection(self, collection: str) -> None:
        """Rename the collection of version 0.3, or create one."""
        try:
            name = {"new_name": f"{self._prefix}{collection}"}
            self._call_once("chroma_modify_collection", f"{_PREFIX_OF_0_3}{collection}", name)
        except _MissingCollection:
            self._call_once("chroma_create_collection", collection, {"metadata": _COSINE})

    def _call_once(
        self, tool: str, collection: str, arguments: Mapping[str, Any]
    ) -> tuple[str, ...]:
        parameters = {name: value for name, value in arguments.items() if value is not None}
        name = f"{self._prefix}{collection}"
        if collection:
            parameters["collection_name"] = name
        answer = self._session.call(tool, parameters)
        if not answer.failed:
            return answer.texts
        message = " ".join(answer.texts)
        if collection and f"[{name}] {_MISSING}" in message:
            raise _MissingCollection
        if _EXISTS in message:
            raise _AlreadyThere
        raise StoreError(
            f"{tool} of chroma-mcp failed{f' on {name}' if collection else ''}. See that Chroma "
            "runs and has room, and that chroma-mcp has a model (`memory chroma --stage-model`)"
        )


def _row(row_id: str, row: ConversationTurn | StoredMemory) -> _Row:
    metadata = values_of(row)
    return row_id, metadata, str(metadata.pop("text"))


def _identity_of(turn: ConversationTurn) -> tuple[str, str, int, str, str]:
    return (turn.message_id, turn.conversation_id, turn.turn_index, turn.role, str(turn.text))


def _columns(rows: Sequence[_Row]) -> dict[str, Any]:
    ids, metadatas, documents = zip(*rows, strict=True)
    return {
        "ids": [*ids],
        "metadatas": [dict(metadata) for metadata in metadatas],
        "documents": [*documents],
    }
