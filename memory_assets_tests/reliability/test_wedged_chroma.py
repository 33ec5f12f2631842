"""A Chroma server that fails or hangs after a failing write: nothing waits for it for long, and it
is ended for another one."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from benchmarks.failing_calls import FailingCalls, Fault, NoCompiler
from memory_assets.cli import doctor_command
from memory_assets.errors import StoreError, StoreUnanswering
from memory_assets.stores.chroma import client as chroma_client
from memory_assets.stores.chroma import server as chroma_server
from memory_assets.stores.files.shared import holder_state, is_locked
from memory_assets_tests.reliability.conftest import MAIN, Subject

SECONDS = 2.0
"""How long a request may take in these tests."""
DATABASE = "chroma.sqlite3"


@pytest.fixture(autouse=True)
def impatient(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Limits of seconds, and a process that has waited for no server yet."""
    monkeypatch.setattr(chroma_client, "_ANSWER_SECONDS", SECONDS)
    monkeypatch.setattr(chroma_server, "_STOP_SECONDS", SECONDS)
    monkeypatch.setattr(chroma_server, "START_SECONDS", 3 * SECONDS)
    monkeypatch.setattr(chroma_client, "_timed_out_at", {})
    yield


@pytest.fixture
def failing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> FailingCalls:
    """Calls of programs that are started from now on can be made to fail."""
    try:
        calls = FailingCalls(tmp_path)
    except NoCompiler as error:
        pytest.skip(str(error))
    for name, value in calls.environment.items():
        monkeypatch.setenv(name, value)
    return calls


def _stopped(subject: Subject) -> int:
    """Stop the server as a debugger would; nothing it is asked is answered."""
    subject.components.vectors.names()
    endpoint = chroma_server.running(subject.data_dir)
    assert endpoint is not None
    os.kill(endpoint.pid, signal.SIGSTOP)
    return endpoint.pid


@pytest.mark.parametrize(
    ("error", "nth"),
    [
        ("EIO", 1),
        ("ENOSPC", 40),
        *(pytest.param(*row, marks=pytest.mark.long) for row in (("EIO", 9), ("EIO", 40))),
        *(pytest.param(*row, marks=pytest.mark.long) for row in (("ENOSPC", 1), ("ENOSPC", 9))),
    ],
)
def test_a_failing_write_wedges_nothing(
    subject: Subject, failing: FailingCalls, error: str, nth: int
) -> None:
    """The collections are emptied, and one write in Chroma's database fails while they are filled
    again: this run or the next one ends with the same rows, and no request waits for long."""
    before = subject.collections()
    chroma_server.stop(subject.data_dir)
    for name in before:
        subject.components.vectors.get(name).delete(sorted(before[name]))
    failing.arm(subject.data_dir, Fault("write", DATABASE, nth, error))
    began = time.monotonic()
    try:
        subject.index_all()
    except StoreError:
        subject.index_all()
    assert DATABASE in failing.disarm()
    assert time.monotonic() - began < 10 * SECONDS
    assert subject.collections() == before


def test_a_server_that_hangs_is_ended_and_another_one_asked(subject: Subject) -> None:
    """By a reader and by a writer that were connected; its process is gone."""
    collection = subject.components.vectors.get(MAIN)
    rows = collection.count()
    for call in (
        lambda: collection.nearest(np.eye(384, dtype=np.float32)[0], 1),
        lambda: subject.components.vectors.drop_leftovers(MAIN),
    ):
        process = _stopped(subject)
        began = time.monotonic()
        call()
        assert time.monotonic() - began < 10 * SECONDS
        assert chroma_server.running(subject.data_dir).pid != process  # type: ignore[union-attr]
    assert collection.count() == rows


def test_a_server_that_hangs_is_ended_by_who_comes_new(subject: Subject) -> None:
    """Who was not connected finds no answer, ends it and starts another; so does a stop."""
    _stopped(subject)
    subject.components.opened.pop("_checked_store")
    assert MAIN in subject.components.vectors.names()
    _stopped(subject)
    assert chroma_server.stop(subject.data_dir)
    assert not is_locked(subject.data_dir / chroma_server.LOCK)


def test_the_doctor_names_a_server_that_hangs(subject: Subject) -> None:
    """With what to run; of one that answers it says so."""
    settings = subject.components.settings
    subject.components.vectors.names()
    look = doctor_command._CHECKS["Chroma"]
    assert look(settings).ok
    _stopped(subject)
    told = look(settings)
    assert not told.ok and "does not answer" in told.found and "memory ingest" in told.remedy


def test_a_url_that_never_answers_is_awaited_once(
    subject: Subject, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An ingest has many requests: after the first wait the others fail at once, for a while."""
    _stopped(subject)
    endpoint = holder_state(
        subject.data_dir / chroma_server.ENDPOINT,
        subject.data_dir / chroma_server.LOCK,
        chroma_server.Endpoint,
    )
    assert endpoint is not None
    for limit in (3 * SECONDS, 0.2):
        began = time.monotonic()
        with pytest.raises(StoreUnanswering, match="Chroma at"):
            chroma_client.ChromaClient(subject.data_dir, url=endpoint.url, idle_seconds=60.0)
        assert time.monotonic() - began < limit
