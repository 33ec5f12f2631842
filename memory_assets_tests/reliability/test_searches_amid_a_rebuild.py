"""Questions asked while `memory rebuild` is at work, through the real commands."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import time
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from memory_assets.pipeline.indexes.keywords import index_keywords
from memory_assets.recall.search.search import KEYWORD_ONLY
from memory_assets.stores.chroma.rebuilding import rebuilding
from memory_assets_tests.reliability.test_faults import MEMORY

SEARCHES = 6
QUERY = "why is the report wrong"


@pytest.fixture
def environment(subject: Any) -> dict[str, str]:
    """The environment of commands over a finished memory that has a keyword index."""
    for project in sorted(subject.components.catalog.projects()):
        index_keywords(subject.components, project)
    return {**os.environ, "MEMORY_DATA_DIR": str(subject.data_dir)}


@contextmanager
def _rebuild_under_way(subject: Any, environment: dict[str, str]) -> Iterator[None]:
    """Stop a real `memory rebuild` (SIGSTOP) amid a collection for the length of the block,
    then let it go on and require that it succeeds."""
    process = subprocess.Popen(
        [str(MEMORY), "rebuild"],
        env=environment,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
    )
    marker = subject.data_dir / "rebuild.collection"
    try:
        while rebuilding(subject.data_dir) is None:
            assert process.poll() is None, "the rebuild ended before it was seen at work"
            while not marker.exists() and process.poll() is None:
                time.sleep(0.001)
            process.send_signal(signal.SIGSTOP)
            # kill returns before the process has stopped: what it still does must be over.
            os.waitid(os.P_PID, process.pid, os.WSTOPPED | os.WEXITED | os.WNOWAIT)
            if rebuilding(subject.data_dir) is None:
                process.send_signal(signal.SIGCONT)
        yield
    finally:
        process.send_signal(signal.SIGCONT)
        _, error = process.communicate(timeout=60)
    assert process.returncode == 0, error


def test_a_search_amid_a_rebuild_answers_and_ends_in_order(
    subject: Any, environment: dict[str, str]
) -> None:
    """Each search exits 0 with an answer by words that says so. None is ended by a signal: the
    model, which such an answer does not wait for, used to be loading when the process ended."""
    with _rebuild_under_way(subject, environment):
        for _ in range(SEARCHES):
            done = subprocess.run(
                [str(MEMORY), "search", QUERY, "--in", "all", "--json"],
                env=environment,
                capture_output=True,
                text=True,
                check=False,
            )
            assert done.returncode == 0, done.stderr
            answer = json.loads(done.stdout)
            assert answer["degraded"] == KEYWORD_ONLY
            assert answer["hits"]


def test_the_http_api_amid_a_rebuild_answers_and_stops_in_order(
    subject: Any, environment: dict[str, str]
) -> None:
    """`memory serve` answers by words, and exits 0 on SIGTERM right after its first answer."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    with _rebuild_under_way(subject, environment):
        for _ in range(2):
            server = subprocess.Popen(
                [str(MEMORY), "serve", "--port", str(port)],
                env=environment,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
            )
            try:
                answer = _ask(
                    f"http://127.0.0.1:{port}/search?in=all&q={urllib.parse.quote(QUERY)}"
                )
                assert answer["degraded"] == KEYWORD_ONLY
            finally:
                server.terminate()
                said, _ = server.communicate(timeout=30)
            assert server.returncode == 0, said


def _ask(url: str) -> dict[str, Any]:
    deadline = time.monotonic() + 20
    while True:
        try:
            with urllib.request.urlopen(url, timeout=20) as response:
                answer: dict[str, Any] = json.load(response)
                return answer
        except urllib.error.URLError as error:
            if not isinstance(error.reason, ConnectionRefusedError):
                raise
            assert time.monotonic() < deadline
            time.sleep(0.05)
