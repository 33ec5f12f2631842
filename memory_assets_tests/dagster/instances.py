"""Dagster instances that keep runs and events in different places, each as Dagster documents it."""

from __future__ import annotations

import os
import shutil
import signal
import socket
import subprocess
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import dagster as dg
import pytest
import yaml

_POSTGRES = sorted(Path("/usr/lib/postgresql").glob("*/bin/initdb"))


def postgres_programs() -> Path:
    """Where PostgreSQL's programs are; skips where there are none, or nobody to run them."""
    beside = shutil.which("initdb")
    found = [Path(beside)] if beside else _POSTGRES
    if not found:
        pytest.skip("PostgreSQL is not installed: apt-get install postgresql")
    if os.geteuid() == 0 and subprocess.run(["id", "postgres"], capture_output=True).returncode:
        pytest.skip("root cannot run PostgreSQL, and there is no user postgres")
    return found[-1].resolve().parent


@contextmanager
def postgres_server() -> Iterator[int]:
    """Run a PostgreSQL server of its own on loopback for a block; yields its port."""
    programs = postgres_programs()
    user = "postgres" if os.geteuid() == 0 else None  # it refuses to run as root
    whose: dict[str, Any] = {"user": user, "group": user, "extra_groups": [] if user else None}
    with ExitStack() as cleanup:
        # Not below pytest's directory, which other users cannot enter.
        directory = Path(cleanup.enter_context(TemporaryDirectory(prefix="postgres-")))
        if user is not None:
            shutil.chown(directory, user)
        data = directory / "data"
        options = [
            "--username=dagster",
            "--auth=trust",
            "--no-sync",
            "--encoding=UTF8",
            "--locale=C",
        ]
        quiet: dict[str, Any] = {"stdout": subprocess.DEVNULL, "cwd": directory, **whose}
        subprocess.run([programs / "initdb", "-D", data, *options], check=True, **quiet)
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            port = int(free.getsockname()[1])
        server = subprocess.Popen(
            [programs / "postgres", "-D", data, "-p", str(port), "-k", str(directory), "-F"],
            stderr=subprocess.DEVNULL,
            **quiet,
        )
        cleanup.callback(server.wait, 60)
        cleanup.callback(server.send_signal, signal.SIGINT)  # a fast shutdown
        ready = [str(programs / "pg_isready"), "-q", "-h", "127.0.0.1", "-p", str(port)]
        deadline = time.monotonic() + 60
        while subprocess.run(ready).returncode:
            assert server.poll() is None and time.monotonic() < deadline
            time.sleep(0.1)
        yield port


@contextmanager
def opened_instance(home: Path, storage: dict[str, object]) -> Iterator[dg.DagsterInstance]:
    """Open the instance of a dagster.yaml with this `storage`."""
    home.mkdir(exist_ok=True)
    content = {"storage": storage, "telemetry": {"enabled": False}}
    (home / "dagster.yaml").write_text(yaml.safe_dump(content), encoding="utf-8")
    with dg.DagsterInstance.from_config(str(home)) as instance:
        yield instance


def on_postgres(port: int) -> dict[str, object]:
    """The `storage` of dagster.yaml for a server of `postgres_server`."""
    database = {
        "username": "dagster",
        "password": "",
        "hostname": "127.0.0.1",
        "db_name": "postgres",
        "port": port,
    }
    return {"postgres": {"postgres_db": database}}
