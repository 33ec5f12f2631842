"""The process that owns a data directory's Chroma: the Rust server behind its gate.

Belongs here: owning the directory, listening, stopping when idle. Does not: who starts it
(`server.py`), which requests are permitted (`gate.py`).

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

from memory_assets.errors import StoreBusy, StoreError
from memory_assets.private_files import create_private_files, keep_temporary_files
from memory_assets.stores.chroma import server as chroma_server
from memory_assets.stores.chroma.gate import Gate, RustServer, ServerGone
from memory_assets.stores.files.shared import locked, replace_text

_POLL_SECONDS = 1.0
_FINISH_SECONDS = 5.0


def _bind(data_dir: Path) -> socket.socket:
    """Return a socket bound to the port that this directory's server had last, so that clients
    that know it find it again, or to a free one if that is taken."""
    bound = socket.socket()
    bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    with contextlib.suppress(OSError, ValueError, OverflowError):
        bound.bind((chroma_server.HOST, int((data_dir / chroma_server.PORT).read_text())))
        return bound
    bound.bind((chroma_server.HOST, 0))
    replace_text(data_dir / chroma_server.PORT, str(bound.getsockname()[1]))
    return bound


def _stop_when_idle(data_dir: Path, idle_seconds: float, rust: RustServer) -> None:
    """Stop after a time without use, or when the database or the token was removed (what is
    written from then on would be lost, and no request would be permitted)."""
    database, opened = data_dir / chroma_server.DATABASE, False
    while True:
        time.sleep(_POLL_SECONDS)
        last_use = rust.last_use
        with contextlib.suppress(OSError):
            last_use = max(last_use, (data_dir / chroma_server.LAST_USE).stat().st_mtime)
        opened = opened or database.exists()
        lost = opened and not database.exists()
        lost = lost or not (data_dir / chroma_server.TOKEN_FILE).exists()
        if lost or time.time() - last_use > idle_seconds:
            os.kill(os.getpid(), signal.SIGTERM)
            time.sleep(2 * _FINISH_SECONDS)  # Chroma waits for requests, which may hang for ever
            os.kill(os.getpid(), signal.SIGKILL)


def _serve(data_dir: Path, idle_seconds: float) -> int:
    """Own the directory and serve it until SIGTERM; return 75 when another process owns it.

    Several first users may start one each at once: all but one find the lock held and end, and
    their starters find the winner through its endpoint file.
    """
    try:
        with locked(data_dir / chroma_server.LOCK, 1.0, ""):
            _serve_alone(data_dir, idle_seconds)
    except StoreBusy:
        return os.EX_TEMPFAIL
    return 0


def _serve_alone(data_dir: Path, idle_seconds: float) -> None:
    # A crashed owner's endpoint may by now be the port of another directory's server.
    (data_dir / chroma_server.ENDPOINT).unlink(missing_ok=True)
    secret = chroma_server.token(data_dir)
    import chromadb_rust_bindings  # heavy, and only this process may load it on the directory

    rust = RustServer()
    for target, rest in ((_open_gate, secret), (_stop_when_idle, idle_seconds)):
        threading.Thread(target=target, args=(data_dir, rest, rust), daemon=True).start()
    # Port 0: any free one, which the gate finds and closes.
    location = ["--path", str(data_dir / "chroma"), "--host", chroma_server.HOST, "--port", "0"]
    chromadb_rust_bindings.cli(["chroma", "run", *location])
    rust.finish(_FINISH_SECONDS)
    (data_dir / chroma_server.ENDPOINT).unlink(missing_ok=True)


def _open_gate(data_dir: Path, secret: str, rust: RustServer) -> None:
    """Serve the public port once the Rust server answers, and write the endpoint file."""
    try:
        rust.connect(chroma_server.START_SECONDS)
        gate = Gate(_bind(data_dir), secret, rust)
        endpoint = chroma_server.Endpoint(os.getpid(), gate.socket.getsockname()[1])
        replace_text(data_dir / chroma_server.ENDPOINT, json.dumps(asdict(endpoint)))
        gate.serve_forever()
    except (OSError, StoreError, ServerGone) as error:
        sys.stderr.write(f"no gate: {error}\n")
        os.kill(os.getpid(), signal.SIGTERM)


if __name__ == "__main__":
    create_private_files()
    keep_temporary_files(Path(sys.argv[1]))
    sys.exit(_serve(Path(sys.argv[1]), float(sys.argv[2])))
