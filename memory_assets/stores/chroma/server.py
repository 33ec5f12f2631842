"""The local Chroma server: at most one per data directory, started on demand.

Two processes that open one Chroma directory damage it: after two writers 12 % of the
vectors were gone, and readers crashed (chromadb 1.5.9). So exactly one process may
open it: `process.py`, which holds an operating-system lock for as long as
it lives. Everybody else, reader or writer, speaks HTTP to it on loopback.

It is one process without children, so that `kill -9` can leak nothing; it stops by itself
when nobody has used it for a while. Here it is found, started and stopped.
"""

from __future__ import annotations

import contextlib
import http.client
import logging
import os
import secrets
import signal
import sqlite3
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from pathlib import Path

from memory_assets.errors import StoreDamaged, StoreError, StoreUnanswering
from memory_assets.private_files import create_once
from memory_assets.stores.chroma import files as chroma_files
from memory_assets.stores.files.shared import holder_state, is_locked, locked
from memory_assets.stores.files.sqlite import connect

_LOG = logging.getLogger(__name__)
HOST = "127.0.0.1"
TOKEN_FILE = "chroma.token"
_TOKEN_BYTES = 32
LOCK = "chroma.lock"
ENDPOINT = "chroma.endpoint.json"
PORT = "chroma.port"
LAST_USE = "chroma.last-use"
_LOG_FILE = "chroma.log"
_CLOSED = "chroma.closed.lock"
DATABASE = Path("chroma") / "chroma.sqlite3"
START_SECONDS = 30.0
_STOP_SECONDS = 10.0
"""How long a server may take to end by itself; with a hanging request it never does."""
_LOG_CHARACTERS = 300
_CLOSED_SECONDS = 600.0
PROCESS = "memory_assets.stores.chroma.process"
"""The module of server processes."""


@dataclass(frozen=True)
class Endpoint:
    """The address of the server of a data directory. Versions up to 0.3.0 end one that does not
    say that it is `guarded`."""

    pid: int
    port: int
    guarded: bool = True

    @property
    def url(self) -> str:
        """The server's base URL."""
        return f"http://{HOST}:{self.port}"


def running(data_dir: Path) -> Endpoint | None:
    """Return the endpoint of this directory's server, or None when none answers."""
    endpoint = holder_state(data_dir / ENDPOINT, data_dir / LOCK, Endpoint)
    if endpoint is None or not _answers(endpoint):
        return None
    # The file may be that of a server that was killed, whose port another one has by now.
    return endpoint if _is_server_of(endpoint.pid, data_dir) else None


def ensure_running(data_dir: Path, idle_seconds: float, *, whole: bool = True) -> Endpoint:
    """Return the endpoint of this directory's server, starting it if there is none; with
    `whole=False`, on damaged files as well. A server that does not answer is replaced.

    Raises:
        StoreDamaged: its files are damaged; they were set aside.
        StoreUnanswering: it did not answer in time; it was ended.
        StoreError: it did not start; the message names its log.
    """
    endpoint = running(data_dir)
    if endpoint is None:
        with _block_starts(data_dir):
            endpoint = running(data_dir)
            if endpoint is None and whole:
                _require_whole_files(data_dir)
            if endpoint is None and is_locked(data_dir / LOCK):
                endpoint = _wait_for_answer(data_dir)
            endpoint = endpoint or _start(data_dir, idle_seconds)
    touch(data_dir)
    return endpoint


def token(data_dir: Path) -> str:
    """Return the token that this directory's server demands; made on first use, for the
    user alone to read.

    Raises:
        StoreError: it cannot be read or written.
    """
    path = data_dir / TOKEN_FILE
    try:
        with contextlib.suppress(FileNotFoundError):
            value = path.read_text("ascii", "replace").strip()
            if len(value) == 2 * _TOKEN_BYTES:
                return value
            path.unlink()  # cut off, or not ours
        create_once(path, secrets.token_hex(_TOKEN_BYTES).encode())
        return path.read_text("ascii")
    except OSError as error:
        raise StoreError(
            f"cannot use the token in {path}: {error.strerror}. Correct its permissions, or "
            "free space."
        ) from error


@contextmanager
def closed_files(data_dir: Path) -> Iterator[Path]:
    """Stop this directory's server and yield the directory of its files, which no process
    has open until the block ends; who needs a server meanwhile waits.

    Raises:
        StoreBusy: another process keeps them closed.
        StoreError: the server does not stop.
    """
    unanswering = f"a process that does not answer owns {data_dir / 'chroma'}"
    with _block_starts(data_dir):
        stop(data_dir)
        with locked(data_dir / LOCK, START_SECONDS, unanswering):
            (data_dir / _LOG_FILE).unlink(missing_ok=True)
            chroma_files.finish_swap(data_dir / "chroma")
            yield data_dir / "chroma"


def _block_starts(data_dir: Path) -> AbstractContextManager[None]:
    """Keep other processes from starting a server for a block."""
    return locked(
        data_dir / _CLOSED,
        _CLOSED_SECONDS,
        f"a process has been rewriting {data_dir / 'chroma'} for {_CLOSED_SECONDS:.0f} s; wait "
        "for it, then try again",
    )


def touch(data_dir: Path) -> None:
    """Note a use of the server, which postpones its idle stop."""
    (data_dir / LAST_USE).touch()


def _wait_for_answer(data_dir: Path) -> Endpoint | None:
    """Wait until a live server answers, and return its endpoint; None if it ended, or was ended
    because it does not answer."""
    deadline = time.monotonic() + 2 * _STOP_SECONDS
    while is_locked(data_dir / LOCK) and time.monotonic() < deadline:
        if (endpoint := running(data_dir)) is not None:
            return endpoint
        time.sleep(0.05)
    if stop(data_dir):
        _LOG.warning("the Chroma server of %s did not answer and was ended", data_dir)
    return None


def is_wedged(data_dir: Path) -> bool:
    """Whether a live server does not answer, or blocks writes to its database for seconds: after
    one failed write, chromadb 1.5.9 may wait for itself for ever."""
    if not is_locked(data_dir / LOCK):
        return False
    if running(data_dir) is None:
        return True
    with contextlib.closing(
        connect(data_dir / DATABASE, seconds=_STOP_SECONDS, mode="rw")
    ) as database:
        try:
            database.execute("BEGIN IMMEDIATE")
            database.execute("ROLLBACK")
        except sqlite3.OperationalError:
            return True
    return False


def stop(data_dir: Path, *, process: int | None = None) -> bool:
    """Stop this directory's server, by force if it does not end by itself in some seconds, and
    wait until it is gone; False if none ran, or (with `process`) one of another id does.

    Raises:
        StoreError: it does not stop, or the endpoint file names another process.
    """
    endpoint = holder_state(data_dir / ENDPOINT, data_dir / LOCK, Endpoint)
    if endpoint is None or process not in (None, endpoint.pid):
        return False
    if not _is_server_of(endpoint.pid, data_dir):
        if not _answers(endpoint):  # of one that was killed: another is about to start
            return False
        raise StoreError(
            f"{data_dir / ENDPOINT} names process {endpoint.pid}, which is not the Chroma "
            f"server of this directory. End the process that has {data_dir / LOCK} open, then "
            "run the command again."
        )
    for kill_signal in (signal.SIGTERM, signal.SIGKILL):
        with contextlib.suppress(ProcessLookupError):
            os.kill(endpoint.pid, kill_signal)
        deadline = time.monotonic() + _STOP_SECONDS
        while time.monotonic() < deadline:
            if not is_locked(data_dir / LOCK):
                return True
            time.sleep(0.05)
    raise StoreError(f"the Chroma server (process {endpoint.pid}) does not stop; kill it")


def _is_server_of(pid: int, data_dir: Path) -> bool:
    """Whether a process is a server of this module on this directory, by its command line."""
    try:
        line = Path(f"/proc/{pid}/cmdline").read_bytes().replace(b"\0", b" ")
    except FileNotFoundError:  # not Linux, or no such process
        command = ["ps", "-ww", "-o", "command=", "-p", str(pid)]
        line = subprocess.run(command, capture_output=True, check=False).stdout
    except OSError:
        return False
    return f"{PROCESS} {data_dir.resolve()} " in os.fsdecode(line)


def was_killed(data_dir: Path) -> bool:
    """Whether the last server of this directory did not end by itself (a crash, a kill, a power
    cut), so that its files may be torn. Costs a stat where it did."""
    return (data_dir / ENDPOINT).exists() and not is_locked(data_dir / LOCK)


def set_aside_if_damaged(data_dir: Path, *, thoroughly: bool = False) -> str | None:
    """Stop the server, look at its files, move them away if they are damaged, and return what
    is wrong with them. `thoroughly` reads all of the database.

    Raises:
        StoreBusy: another process keeps them closed.
    """
    with closed_files(data_dir) as directory:
        wrong = chroma_files.damage(directory, thoroughly=thoroughly)
        if wrong is not None and directory.exists():
            chroma_files.set_aside(directory, wrong)
        (data_dir / ENDPOINT).unlink(missing_ok=True)
    return wrong


def _start(data_dir: Path, idle_seconds: float) -> Endpoint:
    data_dir.mkdir(parents=True, exist_ok=True)
    log = data_dir / _LOG_FILE
    # -P: the working directory is the data directory, from which nothing may be imported.
    command = [sys.executable, "-P", "-m", PROCESS, str(data_dir.resolve()), str(idle_seconds)]
    environment = {key: value for key, value in os.environ.items() if not key.startswith("CHROMA_")}
    log.unlink(missing_ok=True)  # it may be a link to another file
    with log.open("wb") as output:
        process = subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=output,
            start_new_session=True,
            cwd=data_dir,
            env={**environment, "RUST_LOG": "error"},
        )
    deadline = time.monotonic() + START_SECONDS
    while time.monotonic() < deadline:
        if (endpoint := running(data_dir)) is not None:
            if endpoint.pid != process.pid:  # another was first: ours must not follow it
                process.terminate()
                process.wait()
            return endpoint
        if process.poll() is not None and not is_locked(data_dir / LOCK):
            break
        time.sleep(0.02)
    ended = process.poll() is not None
    how = _exit_message(process, log)
    process.kill()  # none that nobody knows of stays
    process.wait()
    raise (StoreError if ended else StoreUnanswering)(
        f"the Chroma server for {data_dir} did not start ({how}): is the disk "
        f"full, or not to be written? If its files are damaged, move {data_dir / 'chroma'} away "
        "and run `memory ingest`: it is rebuilt from the lake without embedding again."
    )


def _exit_message(process: subprocess.Popen[bytes], log: Path) -> str:
    """Return how a server that did not start ended, and the last line of its log, for a message."""
    code = process.poll()
    how = f"no answer in {START_SECONDS:.0f} s" if code is None else f"it ended with code {code}"
    lines = log.read_text("utf-8", "replace").split("\n") if log.exists() else []
    printed = [line.strip() for line in lines if line.strip()]
    return (
        f"{how}; {log} ends with: {printed[-1][:_LOG_CHARACTERS]}"
        if printed
        else f"{how}; see {log}"
    )


def _require_whole_files(data_dir: Path) -> None:
    """Finish an interrupted swap, and set damaged files aside; the caller blocks other starters."""
    if is_locked(data_dir / LOCK):
        return
    directory = data_dir / "chroma"
    chroma_files.finish_swap(directory)
    wrong = chroma_files.damage(directory)
    if wrong is None:
        return
    aside = chroma_files.set_aside(directory, wrong)
    (data_dir / ENDPOINT).unlink(missing_ok=True)
    raise StoreDamaged(
        f"Chroma's files were damaged ({wrong}) and are now in {aside}. Run `memory ingest`: the "
        "collections are made again from the lake, without embedding."
    )


def _answers(endpoint: Endpoint) -> bool:
    """Whether the server answers; by http.client, because urllib would use the proxy of the
    environment."""
    connection = http.client.HTTPConnection(HOST, endpoint.port, timeout=2)
    try:
        connection.request("GET", "/api/v2/heartbeat")
        return connection.getresponse().status == 200
    except (OSError, http.client.HTTPException):
        return False
    finally:
        connection.close()
