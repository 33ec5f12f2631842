"""Collections are made anew beside the old ones; readers notice nothing."""

from __future__ import annotations

import threading
import time
from typing import Any

import pytest

from memory_assets.errors import MemoryAssetsError, NotFound
from memory_assets.pipeline.indexes.collections import rebuild
from memory_assets.recall import open_memory
from memory_assets_tests.reliability.conftest import Subject

MAIN = "claude-code-sessions"
_ALL = ["embeddings", "documents", "metadatas"]


def test_a_rebuilt_collection_holds_the_same_rows_and_nothing_is_behind(subject: Subject) -> None:
    """Ids, vectors, texts, metadata; all collections, or the one that is named."""
    before = subject.collections()
    shown: list[int] = []
    made = rebuild(subject.components, progress=lambda step, rows: shown.append(rows))
    assert sum(shown) == sum(each.rows for each in made)  # for the rate and the time left
    assert {each.collection: each.rows for each in made} == {
        name: len(rows) for name, rows in before.items()
    } | {"observations": 0}
    after = subject.collections()
    after.pop("observations", None)
    assert after == before
    assert subject.behind() == []
    (again,) = rebuild(subject.components, [MAIN])
    assert again.rows == len(before[MAIN])
    with pytest.raises(NotFound, match=f"no collection 'nobody'.*{MAIN}"):
        rebuild(subject.components, ["nobody"])


def test_searches_never_fail_while_a_collection_is_rebuilt(subject: Subject) -> None:
    """A reader with a collection in hand, and one that opens it anew each time, ask all the
    time through six rebuilds: every answer is whole."""
    store = subject.components.vectors
    count = store.get(MAIN).count()
    vector = subject.components.embedder.embed(["where is the ledger?"])[0]
    held = open_memory(subject.components.settings).vectors.get(MAIN)
    answers: list[int] = []
    failures: list[Exception] = []
    done = threading.Event()

    def read(opens: bool) -> None:
        memory = open_memory(subject.components.settings)
        while not done.is_set():
            try:
                assert MAIN in memory.vectors.names()
                collection = memory.vectors.get(MAIN) if opens else held
                answers.append(len(collection.nearest(vector, count)))
                assert collection.count() == count
            except (MemoryAssetsError, AssertionError) as failure:
                failures.append(failure)
                return

    readers = [threading.Thread(target=read, args=(opens,)) for opens in (True, False)]
    for reader in readers:
        reader.start()
    for _ in range(6):
        store.begin_replacement(MAIN)
        _copy(store)
        store.replace(MAIN)
        time.sleep(0.05)
    done.set()
    for reader in readers:
        reader.join(20)
    assert failures == []
    assert len(answers) > 12
    assert set(answers) == {count}


def _copy(store: Any) -> None:
    page = store.get(MAIN).ask("get", include=_ALL)
    beside = store.get(f"{MAIN}.replacement")
    beside.ask(
        "upsert",
        ids=page["ids"],
        embeddings=page["embeddings"],
        documents=page["documents"],
        metadatas=page["metadatas"],
    )


@pytest.mark.parametrize("moment", ["before the swap", "between the renamings", "before the end"])
def test_an_interrupted_rebuild_is_cleaned_up_by_the_next_run(
    subject: Subject, monkeypatch: pytest.MonkeyPatch, moment: str
) -> None:
    """The old collection, or the new one, is there at any moment, whole; the next run leaves
    just that one, and nothing behind."""

    class Killed(BaseException):
        pass

    def die(*_: object) -> None:
        raise Killed

    before = subject.collections()
    store: Any = subject.components.vectors
    with monkeypatch.context() as patch:
        if moment == "before the swap":
            patch.setattr(store, "replace", die)
        elif moment == "between the renamings":
            rename = store._rename
            patch.setattr(
                store, "_rename", lambda a, b: die() if a.endswith(".replacement") else rename(a, b)
            )
        else:
            patch.setattr(store, "_delete", die)
        with pytest.raises(Killed):
            rebuild(subject.components, [MAIN])
    assert store.get(MAIN).count() == len(before[MAIN])
    assert store.names() == sorted(before)
    subject.index_all()
    after = subject.collections()
    after.pop("observations", None)
    assert after == before
    assert subject.behind() == []
    left = store._stored().keys() - {"observations", "history", "history_summaries", "memory"}
    assert left == before.keys()


def test_rows_are_read_back_from_chroma_only_where_some_were_lost(
    subject: Subject, monkeypatch: pytest.MonkeyPatch
) -> None:
    """When nothing hints at a loss, no row of a project is read back from Chroma; when a row
    was lost, its project is compared."""
    from memory_assets.stores.chroma.collections import ChromaCollection

    listed: list[object] = []
    real = ChromaCollection.values

    def values(self: ChromaCollection, *what: Any) -> Any:
        listed.append(what[0])
        return real(self, *what)

    monkeypatch.setattr(ChromaCollection, "values", values)
    assert sum(report.rows_written for report in subject.index_all()) == 0
    assert listed == []
    collection = subject.components.vectors.get(MAIN)
    lost = sorted(subject.collections()[MAIN])[:2]
    collection.delete(lost)
    assert sum(report.rows_written for report in subject.index_all()) == 2
    assert listed
