"""Collections are made anew beside the old ones; readers notice nothing."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
import time
import urllib.parse
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from memory_assets.errors import MemoryAssetsError, NotFound
from memory_assets.pipeline.indexes.collections import rebuild
from memory_assets.pipeline.indexes.keywords import index_keywords
from memory_assets.recall import open_memory
from memory_assets_tests.command_line import run_program
from memory_assets_tests.reliability.conftest import Subject
from memory_assets_tests.reliability.test_faults import MEMORY

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


QUERY = "why is the report wrong"
_STOPS = """
import os, signal
from memory_assets.cli.start import main
from memory_assets.stores.chroma.collections import ChromaStore
def replace(store, name, real=ChromaStore.replace):
    os.kill(os.getpid(), signal.SIGSTOP)
    ChromaStore.replace = real
    real(store, name)
ChromaStore.replace = replace
main()
"""
"""A `memory` that stops itself when the first collection is about to be swapped in."""


@pytest.fixture
def environment(subject: Subject) -> dict[str, str]:
    """The environment of commands over a finished memory that has a keyword index."""
    for project in sorted(subject.components.catalog.projects()):
        index_keywords(subject.components, project)
    return {**os.environ, "MEMORY_DATA_DIR": str(subject.data_dir)}


@contextmanager
def _rebuild_under_way(subject: Subject, environment: dict[str, str]) -> Iterator[None]:
    """A real `memory rebuild` that stands still amid a collection for the length of the block,
    then goes on and succeeds."""
    process = subprocess.Popen(
        [sys.executable, "-c", _STOPS, "rebuild"],
        env=environment,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
    )
    try:
        os.waitid(os.P_PID, process.pid, os.WSTOPPED | os.WEXITED | os.WNOWAIT)
        assert process.poll() is None, "the rebuild ended before it could stop"
        yield
    finally:
        process.send_signal(signal.SIGCONT)
        _, error = process.communicate(timeout=60)
    assert process.returncode == 0, error


def test_searches_amid_a_rebuild_answer_and_end_in_order(
    subject: Subject, environment: dict[str, str]
) -> None:
    """`memory search` exits 0 with an answer by words and meaning, because the keyword index
    has all vectors, and `memory serve` exits 0 on SIGTERM right after its first one."""
    with _rebuild_under_way(subject, environment):
        done = run_program([str(MEMORY), "search", QUERY, "--in", "all", "--json"], env=environment)
        answer = json.loads(done.stdout)
        assert answer["degraded"] is None
        assert answer["hits"]
        assert _served_once(environment)["degraded"] is None


def _served_once(environment: dict[str, str]) -> dict[str, object]:
    """The first answer of a `memory serve`, which is then told to end."""
    with subprocess.Popen(
        [str(MEMORY), "serve", "--port", "0"], env=environment, stderr=subprocess.PIPE, text=True
    ) as server:
        assert server.stderr
        url = server.stderr.readline().split()[-1].removesuffix("/openapi.json")
        try:
            query = urllib.parse.urlencode({"in": "all", "q": QUERY})
            with urllib.request.urlopen(f"{url}/search?{query}", timeout=60) as response:
                answer: dict[str, object] = json.load(response)
        finally:
            server.terminate()
        said = server.stderr.read()
        assert server.wait(timeout=60) == 0, said
    return answer
