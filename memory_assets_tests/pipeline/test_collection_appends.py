"""What a session that grew costs in Chroma: its new rows."""

from __future__ import annotations

import json
from typing import Any

import pytest

from memory_assets.pipeline.indexes.indexed_tables import SESSIONS_INDEX
from memory_assets.stores.chroma.collections import ChromaCollection
from memory_assets.stores.lake.schemas import TURN_CHUNKS
from memory_assets_tests.pipeline.conftest import SampleMemory

BEFORE_CHROMA = ("raw_sessions", "redacted_records", "turn_chunks", "turn_embeddings")
NEW_TURN = ("is the barrel organ tuned?", "It is tuned to 440 Hz.")


class Calls:
    """What is asked of collections."""

    def __init__(self, patch: pytest.MonkeyPatch) -> None:
        self.listed: list[Any] = []
        self.upserted: list[str] = []
        self.deleted: list[str] = []
        listing, upsert, delete = (
            ChromaCollection.values,
            ChromaCollection.upsert,
            ChromaCollection.delete,
        )

        def on_listing(collection: ChromaCollection, where: Any, *names: str) -> Any:
            self.listed.append(where)
            return listing(collection, where, *names)

        def on_upsert(collection: ChromaCollection, ids: Any, *rest: Any) -> None:
            self.upserted += ids
            upsert(collection, ids, *rest)

        def on_delete(collection: ChromaCollection, ids: Any) -> None:
            self.deleted += ids
            delete(collection, ids)

        patch.setattr(ChromaCollection, "values", on_listing)
        patch.setattr(ChromaCollection, "upsert", on_upsert)
        patch.setattr(ChromaCollection, "delete", on_delete)

    def of_indexing(self, memory: SampleMemory) -> Calls:
        """Index the sessions' passages, and return what that asked for."""
        self.listed, self.upserted, self.deleted = [], [], []
        memory.run([SESSIONS_INDEX.stage], [memory.harbor])
        return self


@pytest.fixture
def calls(memory: SampleMemory, monkeypatch: pytest.MonkeyPatch) -> Calls:
    """Watches the collections of `memory`, whose flaky session has an append behind it."""
    _grow(memory, "one more thing", "done")
    memory.run([SESSIONS_INDEX.stage], [memory.harbor])
    return Calls(monkeypatch)


def _grow(memory: SampleMemory, *texts: str) -> None:
    """Let the flaky session go on, and bring it as far as its vectors."""
    memory.append(memory.flaky, *texts)
    memory.run(BEFORE_CHROMA, [memory.harbor])


def _ids(memory: SampleMemory) -> list[str]:
    table = memory.components.lake.read(TURN_CHUNKS, memory.harbor, memory.flaky, ["id"])
    return [str(row_id) for row_id in table["id"].to_pylist()]


def test_only_rows_that_differ_are_written(memory: SampleMemory, calls: Calls) -> None:
    """The hashes of the session's rows are read once, however often it grew meanwhile."""
    before = set(_ids(memory))
    _grow(memory, *NEW_TURN)
    _grow(memory, "and the harpsichord?", "That too.")
    asked = calls.of_indexing(memory)
    assert set(asked.upserted) == set(_ids(memory)) - before
    assert (len(asked.listed), asked.deleted) == (1, [])
    memory.run(projects=[memory.harbor])
    memory.assert_collections_equal_the_lake()


def test_rows_that_are_no_more_are_deleted_by_their_ids(memory: SampleMemory, calls: Calls) -> None:
    """A prompt that waited in the queue and was taken back is a turn no more."""
    _queue(memory, "enqueue", "shall we tune it again?")
    calls.of_indexing(memory)
    (waiting,) = set(calls.upserted) - set(_ids(memory)[:-1])
    _queue(memory, "popAll", "shall we tune it again?")
    assert calls.of_indexing(memory).deleted == [waiting]
    memory.run(projects=[memory.harbor])
    memory.assert_collections_equal_the_lake()


def _queue(memory: SampleMemory, operation: str, content: str) -> None:
    record = {
        "type": "queue-operation",
        "operation": operation,
        "timestamp": "2026-04-01T11:00:00.000Z",
        "sessionId": memory.flaky,
        "content": content,
    }
    with memory.path(memory.flaky).open("a") as file:
        file.write(json.dumps(record) + "\n")
    memory.run(BEFORE_CHROMA, [memory.harbor])
