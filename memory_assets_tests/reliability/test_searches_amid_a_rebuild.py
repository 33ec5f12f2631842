"""Questions asked while `memory rebuild` is at work, through the real commands."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import urllib.parse
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from memory_assets.pipeline.indexes.keywords import index_keywords
from memory_assets_tests.command_line import run_program
from memory_assets_tests.reliability.conftest import Subject
from memory_assets_tests.reliability.test_faults import MEMORY

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
