"""The process that owns a data directory's Chroma: the Rust server behind its gate.

Belongs here: owning the directory, listening, stopping when idle. Does not: who starts it
(`server.py`), who may ask (`gate.py`).

    python -P -m memory_assets.stores.chroma.process DATA_DIR IDLE_SECONDS
"""

from __future__ import annotations

import contextlib
import json
import os
import signal
import socket
import sys
import threading
import time
from dataclasses import asdict
from pathlib import Path

from filelock import FileLock, Timeout

from memory_assets.errors import StoreError
from memory_assets.private_files import create_private_files
from memory_assets.stores.chroma import server as chroma_server
from memory_assets.stores.chroma.gate import Gate, RustServer, ServerGone

_POLL_SECONDS = 1.0
_FINISH_SECONDS = 5.0
_BUSY_CPU_FRACTION = 0.02
"""CPU use above which the server is taken to be serving somebody that does not go
through `touch` (a third party's client); idle it uses about 0.1%."""


def _bound(data_dir: Path) -> socket.socket:
    """Return a socket bound to the port that this directory's server had last, so that others
    who were told it find it again, or to a free one where that is taken."""
    bound = socket.socket()
    bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    with contextlib.suppress(OSError, ValueError, OverflowError):
        bound.bind((chroma_server.HOST, int((data_dir / chroma_server.PORT).read_text())))
        return bound
    bound.bind((chroma_server.HOST, 0))
    (data_dir / chroma_server.PORT).write_text(str(bound.getsockname()[1]))
    return bound


def _stop_when_idle(data_dir: Path, idle_seconds: float) -> None:
    """Stop after a time without use, or when the database or the token was removed (what is
    written from then on would be lost, and nobody could ask)."""
    database, opened = data_dir / chroma_server.DATABASE, False
    last_use, cpu_before = time.time(), time.process_time()
    while True:
        time.sleep(_POLL_SECONDS)
        cpu = time.process_time()
        if cpu - cpu_before > _BUSY_CPU_FRACTION * _POLL_SECONDS:
            last_use = time.time()
        cpu_before = cpu
        with contextlib.suppress(OSError):
            last_use = max(last_use, (data_dir / chroma_server.LAST_USE).stat().st_mtime)
        opened = opened or database.exists()
        lost = opened and not database.exists()
        lost = lost or not (data_dir / chroma_server.TOKEN_FILE).exists()
        if lost or time.time() - last_use > idle_seconds:
            os.kill(os.getpid(), signal.SIGTERM)
            return


def _serve(data_dir: Path, idle_seconds: float) -> int:
    """Own the directory and serve it until SIGTERM; 75 when another process owns it.

    A burst of first users may start several of these at once: all but one find the
    lock taken and leave, and their starters meet the winner through its endpoint file.
    """
    lock = FileLock(data_dir / chroma_server.LOCK)
    try:
        lock.acquire(timeout=1.0)
    except Timeout:
        return os.EX_TEMPFAIL
    # A crashed owner's endpoint may by now be the port of another directory's server.
    (data_dir / chroma_server.ENDPOINT).unlink(missing_ok=True)
    secret = chroma_server.token(data_dir)
    import chromadb_rust_bindings  # heavy, and only this process may load it on the directory

    rust = RustServer()
    threading.Thread(target=_open_gate, args=(data_dir, secret, rust), daemon=True).start()
    threading.Thread(target=_stop_when_idle, args=(data_dir, idle_seconds), daemon=True).start()
    # Port 0: any free one, which the gate finds and closes.
    location = ["--path", str(data_dir / "chroma"), "--host", chroma_server.HOST, "--port", "0"]
    chromadb_rust_bindings.cli(["chroma", "run", *location])
    rust.finish(_FINISH_SECONDS)
    (data_dir / chroma_server.ENDPOINT).unlink(missing_ok=True)
    return 0


def _open_gate(data_dir: Path, secret: str, rust: RustServer) -> None:
    """Serve the public port once the Rust server is behind it, and tell where it is."""
    try:
        rust.connect(chroma_server.START_SECONDS)
        gate = Gate(_bound(data_dir), secret, rust)
        endpoint = chroma_server.Endpoint(os.getpid(), gate.socket.getsockname()[1], guarded=True)
        staging = data_dir / f"{chroma_server.ENDPOINT}.staging"
        staging.write_text(json.dumps(asdict(endpoint)))
        staging.replace(data_dir / chroma_server.ENDPOINT)
        gate.serve_forever()
    except (OSError, StoreError, ServerGone) as error:
        sys.stderr.write(f"no gate: {error}\n")
        os.kill(os.getpid(), signal.SIGTERM)


if __name__ == "__main__":
    create_private_files()
    sys.exit(_serve(Path(sys.argv[1]), float(sys.argv[2])))
