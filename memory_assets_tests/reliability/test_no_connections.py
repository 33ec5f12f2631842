"""Everything runs on this machine: no command looks up a name or connects to another one, with all
that it starts. strace records what each process asks of the kernel."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import time
import urllib.request
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import IO

import pytest

from memory_assets.paths import SAMPLE_DIR
from memory_assets.stores.chroma import server as chroma_server
from memory_assets_tests.conftest import copy_sample
from memory_assets_tests.dagster.live_dagster import BIN, TIDEPOOL, processes_in

_ADDRESS = re.compile(
    r"sa_family=AF_INET6?, sin6?_port=htons\((?P<port>\d+)\).*?"
    r'(?:inet_addr\("(?P<v4>[^"]+)"\)|inet_pton\(AF_INET6, "(?P<v6>[^"]+)")'
)
_RESOLVER = re.compile(r'sun_path="[^"]*(?:resolve|mdns)[^"]*"')
_LOOPBACK = re.compile(r"(?:::ffff:)?127\.|::1$")
_DNS = 53
_PATIENCE_SECONDS = 120.0


def elsewhere(trace: str) -> list[str]:
    """The calls of a trace that go to another machine, or to what looks names up there."""
    return [
        line
        for line in trace.splitlines()
        if _RESOLVER.search(line)
        or any(
            int(found["port"]) == _DNS or not _LOOPBACK.match(found["v4"] or found["v6"])
            for found in _ADDRESS.finditer(line)
        )
    ]


def recording(trace: Path) -> list[str]:
    """What to put before a command so that a trace has what it sends, with all that it starts."""
    calls = "trace=connect,sendto,sendmsg,sendmmsg"
    # -D: what the program starts may outlive it, as Chroma's server does. --seccomp-bpf: calls of
    # other kinds do not stop a process, which would take twice the CPU time of all it does.
    return ["strace", "-D", "-f", "--seccomp-bpf", "-qq", "-s", "0", "-e", calls, "-o", str(trace)]


@dataclass
class Recorder:
    """Starts programs under strace; one trace for each."""

    directory: Path
    environment: dict[str, str]
    traces: dict[str, Path] = field(default_factory=dict)

    def start(
        self, name: str, *command: str | Path, stdin: int = subprocess.DEVNULL, **more: str
    ) -> subprocess.Popen[bytes]:
        """Start a program, whose output goes into a file; `more` is put into its environment."""
        self.traces[name] = self.directory / f"{name}.trace"
        recorded = [*recording(self.traces[name]), *map(str, command)]
        with self.log(name).open("wb") as log:
            return subprocess.Popen(
                recorded,
                stdin=stdin,
                stdout=log,
                stderr=log,
                env={**self.environment, **more},
                start_new_session=True,
            )

    def log(self, name: str) -> Path:
        """Where a program's output is."""
        return self.directory / f"{name}.log"

    def elsewhere(self) -> dict[str, list[str]]:
        """What each program sent to other machines."""
        found = {name: elsewhere(path.read_text()) for name, path in self.traces.items()}
        return {name: lines for name, lines in found.items() if lines}

    def wait_for(self, name: str, what: Callable[[], object]) -> None:
        """Wait until something holds for a program."""
        deadline = time.monotonic() + _PATIENCE_SECONDS
        while not what():
            assert time.monotonic() < deadline, f"{name}: {self.log(name).read_text()[-2000:]}"
            time.sleep(0.2)


@pytest.fixture
def recorder(tmp_path: Path, compiled_rules: Path) -> Recorder:
    """A recorder of programs that have a home and a cache of their own."""
    if shutil.which("strace") is None:
        pytest.skip("strace is not installed, so connections cannot be recorded")
    (tmp_path / "cache").mkdir()
    (tmp_path / "cache" / "memory_assets").symlink_to(compiled_rules / "memory_assets")
    environment = {**os.environ, "XDG_CACHE_HOME": str(tmp_path / "cache")}
    environment.pop("ORT_DISABLE_TELEMETRY", None)  # the programs have to see to it
    recorder = Recorder(tmp_path, environment)
    if recorder.start("true", "true").wait() != 0:
        pytest.skip("strace may not trace processes here, so connections cannot be recorded")
    return recorder


def test_a_look_up_is_recorded(recorder: Recorder) -> None:
    """Of a program that asks for a name, and of a child of it that connects; not those to this
    machine."""
    asks = "import socket\ntry: socket.getaddrinfo('events.example', 443)\nexcept OSError: pass"
    connects = "import socket; socket.socket(type=socket.SOCK_DGRAM).connect(('{}', 9))"
    for name, code in (
        ("asks", asks),
        ("connects", f"import subprocess, sys; {connects.format('192.0.2.1')}"),
        ("local", connects.format("127.0.0.1")),
    ):
        child = f"import subprocess, sys; subprocess.run([sys.executable, '-c', {code!r}])"
        recorder.start(name, sys.executable, "-c", child).wait()
        recorder.wait_for(name, lambda: recorder.traces[name].stat().st_size)  # noqa: B023
    time.sleep(0.5)
    assert set(recorder.elsewhere()) == {"asks", "connects"}


def test_what_recalls_leaves_this_machine_alone(recorder: Recorder, tmp_path: Path) -> None:
    """`memory ingest`, and an agent's server that stays with the model loaded: onnxruntime looked
    up its vendor's host nine seconds after its import. Nothing is written into the user's cache
    beside ours."""
    _ingest_and_stay(recorder, tmp_path, 14)
    assert recorder.elsewhere() == {}
    assert [path.name for path in (tmp_path / "cache").iterdir()] == ["memory_assets"]


def _ingest_and_stay(recorder: Recorder, directory: Path, seconds: float) -> None:
    """Take in a project, and have an agent's server answer and stay for so long."""
    recorder.environment |= {
        "MEMORY_DATA_DIR": str(directory / "memory"),
        "MEMORY_PROJECTS_DIR": str(SAMPLE_DIR / "claude" / "projects"),
    }
    ingest = recorder.start("ingest", BIN / "memory", "ingest", f"--project={TIDEPOOL}")
    assert ingest.wait(_PATIENCE_SECONDS) == 0, recorder.log("ingest").read_text()
    with _ended(recorder.start("mcp", BIN / "memory", "mcp", stdin=subprocess.PIPE)) as mcp:
        _ask(mcp.stdin)
        recorder.wait_for("mcp", lambda: '"id":2' in recorder.log("mcp").read_text())
        recorder.wait_for("mcp", partial(_has_loaded_the_model, mcp.pid))
        time.sleep(seconds)
    chroma_server.stop(directory / "memory")


@pytest.mark.long
def test_nothing_leaves_this_machine(recorder: Recorder, tmp_path: Path) -> None:
    """Each entry point is run, those that stay for 45 s with the model loaded, also in a run that
    Dagster's sensor begins."""
    roots = copy_sample(tmp_path / "transcripts")
    workspace = tmp_path / "workspace"
    workspace.mkdir()
    (workspace / "quay.md").write_text("# Quay\n\nThe crane takes containers of forty feet.\n")
    recorder.environment |= {
        "MEMORY_DATA_DIR": str(tmp_path / "memory"),
        "MEMORY_PROJECTS_DIR": str(roots["claude"]),
    }
    of_workspaces = {"MEMORY_DATA_DIR": str(tmp_path / "workspaces")}
    of_dagster = {"MEMORY_DATA_DIR": str(tmp_path / "dagster"), "MEMORY_CODEX_DIR": ""}
    memory = BIN / "memory"
    for name, *arguments in (
        ("ingest",),
        ("index", str(workspace)),
        ("search", "which port does the staging database listen on"),
        ("context",),
        ("status",),
        ("doctor",),
        ("verify",),
    ):
        code = recorder.start(name, memory, name, *arguments).wait(_PATIENCE_SECONDS)
        assert code in (0, 3), recorder.log(name).read_text()
    with ExitStack() as stack:

        def stay(name: str, *command: str, **more: str) -> subprocess.Popen[bytes]:
            started = recorder.start(name, memory, *command, stdin=subprocess.PIPE, **more)
            return stack.enter_context(_ended(started))

        stack.callback(chroma_server.stop, tmp_path / "dagster")
        stack.callback(chroma_server.stop, tmp_path / "workspaces")
        stack.callback(chroma_server.stop, tmp_path / "memory")
        stay("dev", "dev", "--port", "0", **of_dagster)
        staying = {
            "mcp": stay("mcp", "mcp"),
            "serve": stay("serve", "serve", "--port", "0"),
            "watch": stay("watch", "ingest", "--watch"),
            "index-watch": stay("index-watch", "index", str(workspace), "--watch", **of_workspaces),
        }
        _ask(staying["mcp"].stdin)
        recorder.wait_for("mcp", lambda: '"id":2' in recorder.log("mcp").read_text())
        recorder.wait_for("serve", lambda: "http://" in recorder.log("serve").read_text())
        said = re.search(r"http://\S+?:\d+", recorder.log("serve").read_text())
        assert said is not None
        with urllib.request.urlopen(f"{said[0]}/search?q=staging+database", timeout=60) as answer:
            assert answer.status == 200
        session = next(roots["claude"].rglob("*.jsonl"))
        recorder.wait_for("watch", lambda: "Watching" in recorder.log("watch").read_text())
        (line, *_) = (text for text in session.read_text().splitlines() if '"type":"user"' in text)
        with session.open("a") as file:
            file.write(json.dumps({**json.loads(line), "uuid": "f" * 32}) + "\n")
        recorder.wait_for("dev", lambda: "Dagster is at" in recorder.log("dev").read_text())
        for name, process in staying.items():
            recorder.wait_for(name, partial(_has_loaded_the_model, process.pid))
        recorder.wait_for("dev", lambda: any(map(_has_loaded_the_model, _of(of_dagster))))
        time.sleep(45)
    assert recorder.elsewhere() == {}


@pytest.mark.long
def test_qdrant_in_a_directory_leaves_this_machine_alone(
    recorder: Recorder, tmp_path: Path
) -> None:
    """Its client, which some settings take, stays with an agent's server for as long."""
    recorder.environment |= {
        "MEMORY_VECTOR_BACKEND": "qdrant",
        "MEMORY_QDRANT_URL": str(tmp_path / "qdrant"),
    }
    _ingest_and_stay(recorder, tmp_path, 45)
    assert any((tmp_path / "qdrant").rglob("*.sqlite"))
    assert recorder.elsewhere() == {}


def _has_loaded_the_model(pid: int) -> bool:
    try:
        return "onnxruntime" in Path(f"/proc/{pid}/maps").read_text()
    except OSError:
        return False


def _of(environment: Mapping[str, str]) -> Iterable[int]:
    return processes_in(Path(environment["MEMORY_DATA_DIR"]))


def _ask(stdin: IO[bytes] | None) -> None:
    assert stdin is not None
    hello = {
        "protocolVersion": "2025-06-18",
        "capabilities": {},
        "clientInfo": {"name": "test", "version": "1"},
    }
    question = {"name": "recall", "arguments": {"query": "staging database"}}
    for message in (
        {"id": 1, "method": "initialize", "params": hello},
        {"method": "notifications/initialized"},
        {"id": 2, "method": "tools/call", "params": question},
    ):
        stdin.write(json.dumps({"jsonrpc": "2.0", **message}).encode() + b"\n")
    stdin.flush()


@contextmanager
def _ended(process: subprocess.Popen[bytes]) -> Iterator[subprocess.Popen[bytes]]:
    """A process, which is ended with the block."""
    try:
        yield process
    finally:
        process.terminate()
        if process.stdin is not None:
            process.stdin.close()
        process.wait(60)
