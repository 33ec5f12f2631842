"""One Chroma server a data directory: found, shared, restarted, stopped, never leaked; its files
made anew leave no byte of what was deleted."""

from __future__ import annotations

import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, NoReturn

import numpy as np
import pytest
from filelock import FileLock

from memory_assets.errors import StoreBusy
from memory_assets.redacted_text import seal
from memory_assets.stores.chroma import files, server
from memory_assets.stores.chroma import files as chroma_files
from memory_assets.stores.chroma import server as chroma_server
from memory_assets.stores.chroma.collections import ChromaStore
from memory_assets.stores.chroma.copies import BESIDE, rewrite_files
from memory_assets.stores.vector_store import Collection, CollectionVersions
from memory_assets_tests.command_line import run_at_once
from memory_assets_tests.foreign_programs import chroma_admin, chroma_client
from memory_assets_tests.stores.conftest import Servers

VERSIONS = CollectionVersions("model-a", 384, "c1", "r1")
LINUX = pytest.mark.skipif(not Path("/proc/self/task").is_dir(), reason="reads /proc")


def _collection(data_dir: Path) -> Collection:
    return ChromaStore(data_dir, url=None, idle_seconds=60.0).open("things", VERSIONS)


def _add(collection: Collection, *ids: str) -> None:
    vectors = np.eye(384, dtype=np.float32)[: len(ids)]
    collection.upsert(ids, vectors, [seal(name) for name in ids], [{"k": "v"} for _ in ids])


def _wait(condition: Any, seconds: float = 60.0) -> bool:
    deadline = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > deadline:
            return False
        time.sleep(0.05)
    return True


@pytest.mark.parametrize("after_a_crash", [False, True], ids=["first use", "after a crash"])
def test_processes_that_want_it_at_once_get_the_same_server(
    servers: Servers, after_a_crash: bool
) -> None:
    """Four of them, released together: one server runs, all four know it, and when it is
    stopped, which waits until it is gone, no other takes its place."""
    data_dir = servers.data_dir()
    if after_a_crash:
        os.kill(servers.start(data_dir).pid, signal.SIGKILL)
    code = (
        "import sys; from pathlib import Path;"
        "from memory_assets.stores.chroma import server as chroma_server;"
        "sys.stdin.read(); e = chroma_server.ensure_running(Path(sys.argv[1]), 60.0);"
        "print(e.pid, e.port)"
    )
    answers = run_at_once(4, code, data_dir)
    endpoint = chroma_server.running(data_dir)
    assert endpoint is not None
    servers.watch(endpoint.pid)
    assert set(answers) == {f"{endpoint.pid} {endpoint.port}"}
    assert chroma_server.stop(data_dir) is True
    assert chroma_server.running(data_dir) is None and servers.ends(endpoint.pid, within=60.0)
    time.sleep(1.5)
    assert chroma_server.running(data_dir) is None and chroma_server.stop(data_dir) is False


def test_each_data_directory_has_its_own_server(servers: Servers) -> None:
    """What one holds, the other does not; nor does one write where a link leads that somebody put
    in place of its files."""
    one, two = servers.data_dir("one"), servers.data_dir("two")
    letter = one.with_name("letter.txt")
    letter.write_text("dear")
    one.mkdir(parents=True, exist_ok=True)
    for name in (chroma_server.PORT, "chroma.log"):
        (one / name).symlink_to(letter)
    assert servers.start(one).port != servers.start(two).port
    _add(_collection(one), "a")
    assert _collection(two).count() == 0
    assert letter.read_text() == "dear"


def test_a_server_stops_when_nobody_uses_it_and_not_before(servers: Servers) -> None:
    """Every use puts it off, be it noted in a file or a request of a program that touches none;
    some time after the last one it is gone, file and process, as a heartbeat is no use."""
    data_dir = servers.data_dir()
    endpoint = servers.start(data_dir, idle_seconds=3.0)
    token = {"X-Chroma-Token": chroma_server.token(data_dir)}
    for use in range(8):
        time.sleep(1.0)
        if use < 4:
            chroma_server.touch(data_dir)
        else:
            asked = urllib.request.Request(f"{endpoint.url}/api/v2/version", headers=token)
            with urllib.request.urlopen(asked) as answer:
                assert answer.status == 200
    assert chroma_server.running(data_dir) == endpoint
    assert servers.ends(endpoint.pid, within=60.0)
    assert chroma_server.running(data_dir) is None
    assert not (data_dir / "chroma.endpoint.json").exists()


def test_a_server_whose_files_were_removed_stops_and_the_next_starts_empty(
    servers: Servers,
) -> None:
    """What it wrote from then on would be lost with them."""
    data_dir = servers.data_dir()
    before = _collection(data_dir)
    _add(before, "a")
    endpoint = servers.start(data_dir)
    assert chroma_files.has_database(data_dir / "chroma")
    time.sleep(1.2)  # it looks once a second
    shutil.rmtree(data_dir / "chroma")
    assert not chroma_files.has_database(data_dir / "chroma")
    assert servers.ends(endpoint.pid, within=60.0)
    after = _collection(data_dir)
    servers.watch(servers.start(data_dir).pid)
    assert after.count() == 0
    assert after.incarnation != before.incarnation


def test_what_a_dead_server_left_behind_is_not_believed(servers: Servers) -> None:
    """An endpoint file of a live process that is not the owner, or nonsense, is no server."""
    data_dir = servers.data_dir()
    other = servers.start(servers.data_dir("other"))
    left = data_dir / "chroma.endpoint.json"
    for content in (json.dumps(vars(other)), "{", '{"pid": 1}', "[]"):
        left.write_text(content)
        assert chroma_server.running(data_dir) is None
    left.write_text(json.dumps(vars(other)))
    assert servers.start(data_dir).port != other.port
    assert chroma_server.running(data_dir.parent / "other") == other


def test_another_program_on_its_port_is_no_server(servers: Servers) -> None:
    """The lock is held, but what answers there does not speak HTTP."""
    data_dir = servers.data_dir()
    with socket.create_server(("127.0.0.1", 0)) as other, FileLock(data_dir / "chroma.lock"):
        endpoint = {"pid": os.getpid(), "port": other.getsockname()[1]}
        (data_dir / "chroma.endpoint.json").write_text(json.dumps(endpoint))

        def answer() -> None:
            connection, _ = other.accept()
            with connection:
                connection.recv(1_000)
                connection.sendall(b"220 mail.example.org ready\r\n")

        with ThreadPoolExecutor(1) as pool:
            answered = pool.submit(answer)
            assert chroma_server.running(data_dir) is None
            answered.result()


def test_a_server_that_is_still_starting_never_points_at_another(servers: Servers) -> None:
    """It takes the place of a stale endpoint file before it does anything slow."""
    data_dir = servers.data_dir()
    other = servers.start(servers.data_dir("other"))
    (data_dir / "chroma.endpoint.json").write_text(json.dumps(vars(other)))
    starting = subprocess.Popen(
        [sys.executable, "-P", "-m", chroma_server.PROCESS, str(data_dir), "60"],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    servers.watch(starting.pid)
    seen: list[chroma_server.Endpoint] = []

    def is_seen() -> bool:
        if endpoint := chroma_server.running(data_dir):
            seen.append(endpoint)
        return bool(seen)

    assert _wait(is_seen)
    assert seen[0].pid == starting.pid
    chroma_server.stop(data_dir)
    starting.wait(10)


def test_proxies_are_not_asked_for_a_server_on_this_machine(
    servers: Servers, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A proxy in the environment, as companies have them, changes nothing."""
    for name in ("http_proxy", "HTTP_PROXY", "all_proxy", "ALL_PROXY"):
        monkeypatch.setenv(name, "http://127.0.0.1:9")
    data_dir = servers.data_dir()
    servers.start(data_dir)
    _add(_collection(data_dir), "a")


DELETED, KEPT = "an unmistakable sentence", "a sentence that stays"
ROWS = 1_100
"""Chroma saves a collection's HNSW files every 1,000 rows."""


@pytest.fixture
def store(tmp_path: Path) -> Iterator[ChromaStore]:
    """A Chroma with one collection of ours, which it has saved to its files."""
    store = ChromaStore(tmp_path, url=None, idle_seconds=60)
    _write(_ours(store), range(ROWS), DELETED)
    yield store
    server.stop(tmp_path)


def _ours(store: ChromaStore) -> Collection:
    return store.open("ours", CollectionVersions("e", 8, "c", "r"))


def _write(collection: Collection, numbers: range, text: str) -> None:
    random = np.random.default_rng(0).normal(size=(len(numbers), 8)).astype(np.float32)
    texts = [seal(f"{text} {number}") for number in numbers]
    collection.upsert([str(n) for n in numbers], random, texts, [{"n": n} for n in numbers])


def _quiet(step: str) -> None:
    """No progress is shown."""


def test_deleted_rows_are_in_no_byte_and_the_others_are_served(
    store: ChromaStore, tmp_path: Path
) -> None:
    """By a collection in hand as well; nothing is left beside the new files."""
    collection = _ours(store)
    _write(collection, range(ROWS, ROWS + 20), KEPT)
    collection.delete([str(number) for number in range(ROWS)])
    incarnation = collection.incarnation
    assert any(DELETED.encode() in path.read_bytes() for path in _files(tmp_path))
    rewrite_files(tmp_path, _quiet)
    assert not any(DELETED.encode() in path.read_bytes() for path in _files(tmp_path))
    assert collection.ids({"n": {"$gte": 0}}) == {str(number) for number in range(ROWS, ROWS + 20)}
    assert _ours(store).incarnation == incarnation
    assert not (tmp_path / BESIDE).exists()
    assert [path.name for path in tmp_path.glob("chroma*") if path.is_dir()] == ["chroma"]


def _files(data_dir: Path) -> list[Path]:
    return [path for path in data_dir.rglob("*") if path.is_file()]


def test_collections_of_others_keep_their_settings_wherever_they_are(
    store: ChromaStore, tmp_path: Path
) -> None:
    """Another tenant and database, another distance, rows without texts or metadata."""
    admin = chroma_admin(tmp_path)
    admin.create_tenant("they")
    admin.create_database("elsewhere", "they")
    their = {"tenant": "they", "database": "elsewhere"}
    hnsw: Any = {"space": "l2", "ef_construction": 77, "max_neighbors": 9}
    made = chroma_client(tmp_path, **their).create_collection(
        "theirs", metadata={"about": 1.5}, configuration={"hnsw": hnsw}
    )
    theirs: Any = [{"k": True}, None, {"k": 1}]
    vectors: Any = [[1.0, 2.0], [0.1, -0.2], [3.0, 4.0]]
    made.add(["a", "b", "c"], vectors, theirs)
    made.update(["c"], vectors[2:], documents=["text"])
    before = (made.metadata, made.configuration_json, made.get(include=_ALL))
    rewrite_files(tmp_path, _quiet)
    again = chroma_client(tmp_path, **their).get_collection("theirs")
    after = (again.metadata, again.configuration_json, again.get(include=_ALL))
    assert repr(after) == repr(before)


_ALL: Any = ["embeddings", "documents", "metadatas", "uris"]


@pytest.mark.parametrize("times", [1, pytest.param(9, marks=pytest.mark.long)])
def test_what_others_write_meanwhile_is_not_lost(
    store: ChromaStore, tmp_path: Path, times: int
) -> None:
    """The copy is made again; if they never stop, the old files stay and the error says so."""
    collection = _ours(store)
    written: list[str] = []

    def write(step: str) -> None:
        if len(written) < times:
            written.append(step)
            _write(collection, range(9_000, 9_000 + len(written)), KEPT)

    if times == 1:
        rewrite_files(tmp_path, write)
    else:
        with pytest.raises(StoreBusy, match="keeps writing"):
            rewrite_files(tmp_path, write)
    assert collection.count() == ROWS + len(written)
    assert not (tmp_path / BESIDE).exists()


def _killed() -> NoReturn:
    raise KeyboardInterrupt


@pytest.mark.parametrize(
    "moment",
    ["the old files are moved away", pytest.param("both are there", marks=pytest.mark.long)],
)
def test_an_interrupted_swap_is_put_right_by_the_next_start(
    store: ChromaStore, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, moment: str
) -> None:
    """All rows are served, from one directory."""
    rename, finish = Path.rename, files.finish_swap

    def die_before_the_new_ones_move(path: Path, target: Path) -> Path:
        return _killed() if path.parent.name == BESIDE else rename(path, target)

    def die_before_the_old_ones_go(directory: Path) -> None:
        _killed() if (tmp_path / "chroma.replaced").exists() else finish(directory)

    with monkeypatch.context() as patch:
        if moment == "both are there":
            patch.setattr(files, "finish_swap", die_before_the_old_ones_go)
        else:
            patch.setattr(Path, "rename", die_before_the_new_ones_move)
        with pytest.raises(KeyboardInterrupt):
            rewrite_files(tmp_path, _quiet)
    assert (tmp_path / "chroma.replaced").exists()
    assert files.has_database(tmp_path / "chroma")
    assert _ours(store).count() == ROWS
    assert not (tmp_path / "chroma.replaced").exists()


def test_directories_of_deleted_collections_are_removed(store: ChromaStore, tmp_path: Path) -> None:
    """Chroma leaves them; those of other collections stay."""
    other = store.open("other", CollectionVersions("e", 8, "c", "r"))
    _write(other, range(ROWS), KEPT)
    store.drop("ours")
    with server.closed_files(tmp_path) as directory:
        assert files.remove_deleted_collections(directory) == 1
        assert files.damage(directory) is None
    assert other.count() == ROWS
