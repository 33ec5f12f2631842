"""The local Chroma server: at most one per data directory, started on demand.

Two processes that open one Chroma directory damage it (performance.md, section 3:
12% of vectors gone after two writers, crashes of readers). So exactly one process may
open it: the server in this module, which holds an operating-system lock for as long as
it lives. Everybody else, reader or writer, speaks HTTP to it on loopback.

It is one process without children (Chroma's Rust server runs inside it), so that
`kill -9` can leak nothing; it stops by itself when nobody has used it for a while.

    python -m memory_assets.stores.chroma_server DATA_DIR IDLE_SECONDS
"""

from __future__ import annotations

import contextlib
import http.client
import json
import os
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path

from filelock import FileLock, Timeout

from memory_assets.errors import StoreBusy, StoreDamaged, StoreError
from memory_assets.stores import chroma_files

_HOST = "127.0.0.1"
_LOCK = "chroma.lock"
_ENDPOINT = "chroma.endpoint.json"
_PORT = "chroma.port"
_LAST_USE = "chroma.last-use"
_LOG = "chroma.log"
_CLOSED = "chroma.closed.lock"
_DATABASE = Path("chroma") / "chroma.sqlite3"
_START_SECONDS = 30.0
_CLOSED_SECONDS = 600.0
_POLL_SECONDS = 1.0
_BUSY_CPU_FRACTION = 0.02
"""CPU use above which the server is taken to be serving somebody that does not go
through `touch` (a third party's client); idle it uses about 0.1%."""


@dataclass(frozen=True)
class Endpoint:
    """Where the server of a data directory listens."""

    pid: int
    port: int

    @property
    def url(self) -> str:
        """The server's base URL."""
        return f"http://{_HOST}:{self.port}"


def running(data_dir: Path) -> Endpoint | None:
    """Return the endpoint of this directory's server, or None when none answers."""
    try:
        endpoint = Endpoint(**json.loads((data_dir / _ENDPOINT).read_text()))
    except (OSError, ValueError, TypeError):
        return None
    if not _lock_is_held(data_dir):
        return None
    return endpoint if _answers(endpoint) else None


def ensure_running(data_dir: Path, idle_seconds: float) -> Endpoint:
    """Return the endpoint of this directory's server, starting it if there is none.

    Raises:
        StoreDamaged: its files are damaged; they were set aside.
        StoreError: it did not start; the message names its log.
    """
    endpoint = running(data_dir)
    if endpoint is None:
        with _closed_files_lock(data_dir):
            endpoint = running(data_dir) or _start(data_dir, idle_seconds)
    touch(data_dir)
    return endpoint


@contextmanager
def closed_files(data_dir: Path) -> Iterator[Path]:
    """Stop this directory's server and yield the directory of its files, which no process
    has open until the block ends; who needs a server meanwhile waits.

    Raises:
        StoreBusy: another process keeps them closed.
        StoreError: the server does not stop.
    """
    with _closed_files_lock(data_dir):
        stop(data_dir)
        lock = FileLock(data_dir / _LOCK)
        try:
            lock.acquire(timeout=_START_SECONDS)
        except Timeout:
            raise StoreBusy(f"a process that does not answer owns {data_dir / 'chroma'}") from None
        try:
            (data_dir / _LOG).unlink(missing_ok=True)
            yield data_dir / "chroma"
        finally:
            lock.release()


@contextmanager
def _closed_files_lock(data_dir: Path) -> Iterator[None]:
    data_dir.mkdir(parents=True, exist_ok=True)
    try:
        with FileLock(data_dir / _CLOSED, timeout=_CLOSED_SECONDS):
            yield
    except Timeout:
        raise StoreBusy(
            f"a process has been rewriting {data_dir / 'chroma'} for "
            f"{_CLOSED_SECONDS:.0f} s; wait for it, then try again"
        ) from None


def touch(data_dir: Path) -> None:
    """Tell the server that somebody uses it, which puts its idle stop off."""
    (data_dir / _LAST_USE).touch()


def has_files(data_dir: Path) -> bool:
    """Whether this directory's server has ever stored anything that is still there."""
    return (data_dir / _DATABASE).exists()


def stop(data_dir: Path, timeout: float = 10.0) -> bool:
    """Stop this directory's server and wait until it is gone; False if none ran."""
    endpoint = running(data_dir)
    if endpoint is None:
        return False
    os.kill(endpoint.pid, signal.SIGTERM)
    deadline = time.monotonic() + timeout
    while _lock_is_held(data_dir):
        if time.monotonic() > deadline:
            raise StoreError(f"the Chroma server (process {endpoint.pid}) does not stop; kill it")
        time.sleep(0.05)
    return True


def was_killed(data_dir: Path) -> bool:
    """Whether the last server of this directory ended without taking leave (a crash, a kill,
    a power cut), so that its files may be torn. Costs a stat where it did not."""
    return (data_dir / _ENDPOINT).exists() and not _lock_is_held(data_dir)


def set_aside_if_damaged(data_dir: Path, *, thoroughly: bool = False) -> str | None:
    """Stop the server, look at its files, move them away if they are damaged, and return what
    is wrong with them. `thoroughly` reads all of the database.

    Raises:
        StoreBusy: another process keeps them closed.
    """
    with closed_files(data_dir) as directory:
        wrong = chroma_files.damage(directory)
        if wrong is None and thoroughly:
            wrong = chroma_files.wrong_within(directory)
        if wrong is not None and directory.exists():
            chroma_files.set_aside(directory, wrong)
        (data_dir / _ENDPOINT).unlink(missing_ok=True)
    return wrong


def _start(data_dir: Path, idle_seconds: float) -> Endpoint:
    data_dir.mkdir(parents=True, exist_ok=True)
    _require_whole_files(data_dir)
    log = data_dir / _LOG
    command = [sys.executable, "-m", __name__, str(data_dir), str(idle_seconds)]
    with log.open("wb") as output:
        process = subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=output,
            start_new_session=True,
            cwd=data_dir,
            env={**os.environ, "RUST_LOG": "error"},
        )
    deadline = time.monotonic() + _START_SECONDS
    while time.monotonic() < deadline:
        endpoint = running(data_dir)
        if endpoint is not None:
            if endpoint.pid != process.pid:  # another was first: ours must not follow it
                process.terminate()
                process.wait()
            return endpoint
        if process.poll() is not None and not _lock_is_held(data_dir):
            break
        time.sleep(0.02)
    raise StoreError(
        f"the Chroma server for {data_dir} did not start (see {log}): is the disk full, or not "
        f"to be written? If its files are damaged, move {data_dir / 'chroma'} away and run "
        "`memory ingest`: it is rebuilt from the lake without embedding again."
    )


def _require_whole_files(data_dir: Path) -> None:
    """Move damaged files away, whoever comes first; the caller keeps other starters out."""
    directory = data_dir / "chroma"
    wrong = chroma_files.damage(directory)
    if wrong is None or _lock_is_held(data_dir):
        return
    aside = chroma_files.set_aside(directory, wrong)
    (data_dir / _ENDPOINT).unlink(missing_ok=True)
    raise StoreDamaged(
        f"Chroma's files were damaged ({wrong}) and are now in {aside}. Run `memory ingest`: the "
        "collections are made again from the lake, without embedding."
    )


def _lock_is_held(data_dir: Path) -> bool:
    lock = FileLock(data_dir / _LOCK)
    try:
        with lock.acquire(blocking=False):
            return False
    except Timeout:
        return True
    except OSError:
        return False


def _answers(endpoint: Endpoint) -> bool:
    """http.client, because urllib would ask the environment's proxy."""
    connection = http.client.HTTPConnection(_HOST, endpoint.port, timeout=2)
    try:
        connection.request("GET", "/api/v2/heartbeat")
        return connection.getresponse().status == 200
    except (OSError, http.client.HTTPException):
        return False
    finally:
        connection.close()


def _free_port(data_dir: Path) -> int:
    """Return the port that this directory's server had last, so that others who were told it
    find it again, or a free one where that is taken."""
    with contextlib.suppress(OSError, ValueError), socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        probe.bind((_HOST, int((data_dir / _PORT).read_text())))
        return int(probe.getsockname()[1])
    with socket.socket() as probe:
        probe.bind((_HOST, 0))
        port = int(probe.getsockname()[1])
    (data_dir / _PORT).write_text(str(port))
    return port


def _stop_when_idle(data_dir: Path, idle_seconds: float) -> None:
    """Stop after a time without use, or when the files were removed under the server
    (what it wrote from then on would be lost with them)."""
    database, opened = data_dir / _DATABASE, False
    last_use, cpu_before = time.time(), time.process_time()
    while True:
        time.sleep(_POLL_SECONDS)
        cpu = time.process_time()
        if cpu - cpu_before > _BUSY_CPU_FRACTION * _POLL_SECONDS:
            last_use = time.time()
        cpu_before = cpu
        with contextlib.suppress(OSError):
            last_use = max(last_use, (data_dir / _LAST_USE).stat().st_mtime)
        opened = opened or database.exists()
        lost = opened and not database.exists()
        if lost or time.time() - last_use > idle_seconds:
            os.kill(os.getpid(), signal.SIGTERM)
            return


def _serve(data_dir: Path, idle_seconds: float) -> int:
    """Own the directory and serve it until SIGTERM; 75 when another process owns it.

    A burst of first users may start several of these at once: all but one find the
    lock taken and leave, and their starters meet the winner through its endpoint file.
    """
    lock = FileLock(data_dir / _LOCK)
    try:
        lock.acquire(timeout=1.0)
    except Timeout:
        return os.EX_TEMPFAIL
    # A crashed owner's endpoint may by now be the port of another directory's server.
    (data_dir / _ENDPOINT).unlink(missing_ok=True)
    import chromadb_rust_bindings  # heavy, and only this process may load it on the directory

    endpoint = Endpoint(os.getpid(), _free_port(data_dir))
    staging = data_dir / f"{_ENDPOINT}.staging"
    staging.write_text(json.dumps(asdict(endpoint)))
    staging.replace(data_dir / _ENDPOINT)
    threading.Thread(target=_stop_when_idle, args=(data_dir, idle_seconds), daemon=True).start()
    location = ["--path", str(data_dir / "chroma"), "--host", _HOST, "--port", str(endpoint.port)]
    chromadb_rust_bindings.cli(["chroma", "run", *location])
    (data_dir / _ENDPOINT).unlink(missing_ok=True)
    return 0


if __name__ == "__main__":
    sys.exit(_serve(Path(sys.argv[1]), float(sys.argv[2])))
