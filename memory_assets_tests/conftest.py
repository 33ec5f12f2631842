"""Fixtures that every package's tests share."""

from __future__ import annotations

import gc
import json
import os
import re
import shutil
import signal
import sqlite3
import subprocess
import sys
import tarfile
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from filelock import FileLock, Timeout
from hypothesis import settings as hypothesis_settings

from memory_assets.agents import AGENTS
from memory_assets.paths import SAMPLE_DIR
from memory_assets.pipeline.checks.independent_scan import load_independent_scanner
from memory_assets.redaction import Redactor, load_redactor
from memory_assets.settings import ALIASES, Settings, load_settings
from memory_assets.stores.chroma import server as chroma_server
from memory_assets_tests.loaded_engines import loaded_once

REPOSITORY = Path(__file__).resolve().parent.parent

# The same examples in every run of `make test`; `make test-long` looks for new ones. No deadline:
# the first example may be the first to import something.
hypothesis_settings.register_profile("steady", derandomize=True, deadline=None)
hypothesis_settings.register_profile("seeking", derandomize=False, deadline=None)
hypothesis_settings.load_profile("steady")


IN_MEMORY = Path("/dev/shm")
_ENOUGH_BYTES = 4 << 30


def pytest_configure() -> None:
    """Put the tests' directories into memory where it can hold them: databases and the lake wait
    for the disk at every commit, half as long again as they compute. A shell that starts the tests
    in the background has them ignore interrupts, which tests send."""
    signal.signal(signal.SIGINT, signal.default_int_handler)
    gc.disable()  # while tests are imported, of which nothing goes
    if not IN_MEMORY.is_dir() or shutil.disk_usage(IN_MEMORY).free < _ENOUGH_BYTES:
        return
    if not os.statvfs(IN_MEMORY).f_flag & os.ST_NOEXEC:
        os.environ.setdefault("PYTEST_DEBUG_TEMPROOT", str(IN_MEMORY))


@pytest.fixture(autouse=True, scope="session")
def _garbage_is_collected() -> Iterator[None]:
    """Commands end with their process and turn off the collection of garbage. Run in this process
    they would leave hundreds of open files behind, and gigabytes."""
    gc.enable()
    gc.freeze()  # what was imported and collected stays
    gc.set_threshold(10_000, 20, 50)
    with pytest.MonkeyPatch.context() as patch:
        for name in ("disable", "freeze"):
            patch.setattr(gc, name, lambda: None)
        yield


@pytest.hookimpl(wrapper=True)
def pytest_collection(session: pytest.Session) -> Iterator[None]:
    """Where no test is compiled yet, let one worker do it and the others wait for that: each would
    spend 10 s of CPU on the same, because pytest rewrites every assertion."""
    compiled = any((Path(__file__).parent / "__pycache__").glob("test_wheel.*-pytest-*.pyc"))
    if compiled or session.config.cache is None:
        return (yield)
    lock = FileLock(Path(session.config.cache.mkdir("compiling")) / "lock")
    try:
        lock.acquire(timeout=0)
    except Timeout:
        with lock:
            pass
    try:
        return (yield)
    finally:
        lock.release()


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Start long files first, so that no worker is left with one when the others are done: the
    live tests, whole ingests, crashes and stages; what is quick fills the end."""
    items.sort(key=lambda item: (_place(item), bool(item.get_closest_marker(_ENDS))))


_ENDS = "ends_what_others_use"


def _place(item: pytest.Item) -> int:
    folder = item.path.parent.name
    if folder in ("reliability", "pipeline", "recall"):
        return 2
    if folder in ("dagster", "cli", "memory_assets_tests"):
        return 0 if item.path.name == "test_live_dagster.py" else 1
    return 3


def bench_data_dir() -> Path:
    """Where the third-party evaluation data would be."""
    return Path(os.environ.get("MEMORY_BENCH_DATA", REPOSITORY.parent / "shared" / "data"))


def _unpacked(archive_name: str, into: Path) -> Path:
    archive = bench_data_dir() / archive_name
    if not archive.is_file():
        pytest.skip(f"{archive_name} is not beside the checkout (set MEMORY_BENCH_DATA)")
    with tarfile.open(archive, "r:xz") as tar:
        tar.extractall(into, filter="data")
    return into


@pytest.fixture(scope="session")
def dev_transcripts(of_all_workers: Path) -> Path:
    """The real transcripts of the evaluation data, unpacked once; skips where absent."""
    into = of_all_workers / "real-transcripts"
    with FileLock(f"{into}.lock"):
        return into if into.is_dir() else _unpacked("transcripts.tar.xz", into)


@pytest.fixture(scope="session")
def secrets() -> dict[str, str]:
    """The secrets planted in the sample, by name, as a process of its generator prints them."""
    code = (
        "import json, sys; sys.path.insert(0, sys.argv[1]);"
        "from generator.planted import PLANTED;"
        "sys.stdout.write(json.dumps({n: p.value for n, p in PLANTED.items()}))"
    )
    command = [sys.executable, "-c", code, str(SAMPLE_DIR)]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    values: dict[str, str] = json.loads(done.stdout)
    return values


@pytest.fixture(scope="session")
def of_all_workers(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A directory that the processes of one run of the tests share."""
    base = tmp_path_factory.getbasetemp()
    return base.parent if os.environ.get("PYTEST_XDIST_WORKER") else base


def made_once(of_all_workers: Path, name: str, make: Callable[[Path], None]) -> Path:
    """A directory that the first worker to ask for it makes, for all to copy and none to change."""
    root, whole = of_all_workers / name, of_all_workers / f"{name}.made"
    with FileLock(f"{root}.lock"):
        if not whole.exists():
            root.mkdir()
            make(root)
            whole.touch()
    return root


def copy_memory(original: Path, root: Path) -> None:
    """Copy `data` and the `transcripts` that it was made of; the catalogue names the copies."""
    for name in ("transcripts", "data"):
        shutil.copytree(original / name, root / name)
    with closing(sqlite3.connect(root / "data" / "catalog.db")) as catalog, catalog:
        catalog.execute("UPDATE sources SET path = replace(path, ?, ?)", (f"{original}", f"{root}"))


def settings_of_copy(root: Path, **given: Any) -> Settings:
    """Settings of a memory that lies as `copy_memory` leaves it, unless something else is given."""
    transcripts = root / "transcripts"
    usual = {
        "data_dir": root / "data",
        "projects_dir": transcripts / "claude" / "projects",
        "codex_dir": transcripts / "codex",
        "pi_dir": transcripts / "pi",
        "chroma_idle_seconds": 60.0,
    }
    return load_settings(**usual | given)


@pytest.fixture(scope="session")
def rules_cache(pytestconfig: pytest.Config) -> Path:
    """A cache directory that outlives the run: it holds compiled rules, named by their hash."""
    return Path(pytestconfig.cache.mkdir("rules")) if pytestconfig.cache else Path(".rules")


@pytest.fixture(scope="session", autouse=True)
def _one_cache(rules_cache: Path, of_all_workers: Path) -> Iterator[None]:
    """One cache directory for all runs, so that the rules of both scanners compile once: 20 s
    of CPU. Of two workers, each begins with the rules of another scanner. Engines that tests
    load are loaded once."""
    worker = os.environ.get("PYTEST_XDIST_WORKER", "")
    with pytest.MonkeyPatch.context() as patch, loaded_once():
        patch.setenv("XDG_CACHE_HOME", str(rules_cache))
        loading = (load_redactor_of_tests, load_independent_scanner) if worker else ()
        for load in loading[:: -1 if worker.endswith(("1", "3", "5", "7", "9")) else 1]:
            with FileLock(of_all_workers / f"{load.__name__}.lock"):
                load()
        yield


@pytest.fixture(scope="session")
def compiled_rules(rules_cache: Path) -> Path:
    """The cache directory, with the compiled rules of both scanners."""
    load_redactor_of_tests()
    load_independent_scanner()
    return rules_cache


def load_redactor_of_tests() -> Redactor:
    """The real redactor with default settings, under a key of its own."""
    return load_redactor(key=bytes(32))


_OF_THIS_MACHINE = (
    *(variable.name for agent in AGENTS.values() for variable in agent.variables),
    *re.findall(r"{([A-Z_]+):", " ".join(each for a in AGENTS.values() for each in a.places)),
    *("VSCODE_PORTABLE", "XDG_CONFIG_HOME", "XDG_DATA_HOME", *ALIASES),
)
"""Variables that say where agents keep their sessions, and what belongs to a user."""


def forget_own_settings(patch: pytest.MonkeyPatch, home: Path) -> None:
    """Let nothing be known of the real home directory and of this machine's own settings.
    The cache of compiled rules, which holds nobody's data, stays."""
    patch.setenv("HOME", str(home))
    for name in list(os.environ):
        if name.startswith(("MEMORY_", "DAGSTER_")) and name != "MEMORY_BENCH_DATA":
            patch.delenv(name)
    for name in _OF_THIS_MACHINE:
        patch.delenv(name, raising=False)


@pytest.fixture(autouse=True)
def _isolated_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """No test sees the real home directory or this machine's own settings."""
    home = tmp_path / "home"
    home.mkdir()
    forget_own_settings(monkeypatch, home)


def copy_sample(into: Path) -> dict[str, Path]:
    """Copy the sample transcripts into a directory; return where each agent's are."""
    roots = {}
    for name in ("claude", "codex", "pi"):
        roots[name] = into / name
        shutil.copytree(REPOSITORY / "data" / "sample" / name, roots[name])
    roots["claude"] /= "projects"
    return roots


def without_harbor(settings: Settings) -> Settings:
    """Leave two of the sample's three projects, and make no vectors: for tests of what runs are,
    which take a third of the time so."""
    roots = settings.transcript_roots()
    for path in (
        *roots["claude-code"][0].glob("*-harbor-api"),
        *roots["codex"][0].rglob("*019dd3a0*"),
    ):
        shutil.rmtree(path) if path.is_dir() else path.unlink()
    return replace(settings, embedder="none")


@pytest.fixture
def sample_roots(tmp_path: Path) -> dict[str, Path]:
    """A copy of the sample transcripts that a test may change: a directory an agent."""
    return copy_sample(tmp_path / "transcripts")


@pytest.fixture
def sample_settings(tmp_path: Path, sample_roots: dict[str, Path]) -> Iterator[Settings]:
    """Settings of an empty memory over the copied sample; its Chroma server is stopped."""
    del sample_roots  # they lie where the settings say
    settings = settings_of_copy(tmp_path, data_dir=tmp_path / "memory")
    yield settings
    chroma_server.stop(settings.data_dir)
