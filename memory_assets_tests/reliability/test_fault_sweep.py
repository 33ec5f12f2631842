"""A call that fails, be it in which store it may: one clean run later the memory is as if nothing
had happened. The full form is `benchmarks/fault_sweep.py`."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

import memory_assets.embedding as embedding
from benchmarks.failing_calls import Fault, NoCompiler
from benchmarks.fault_sweep import Sweep
from memory_assets_tests.conftest import forget_own_settings


@pytest.fixture
def sweep(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, compiled_rules: Path) -> Iterator[Sweep]:
    """Transcripts, and a process that does what a memory is for; skips without a compiler."""
    shutil.copytree(compiled_rules, tmp_path / "cache")  # where the sweep has its own
    forget_own_settings(monkeypatch, tmp_path / "home")
    for name in ("HOME", "XDG_CACHE_HOME"):  # the sweep sets them, and what embeds
        monkeypatch.setenv(name, str(tmp_path))
    monkeypatch.setattr(embedding, "load_embedder", embedding.load_embedder)
    try:
        made = Sweep(tmp_path)
    except NoCompiler as error:
        pytest.skip(str(error))
    yield made
    made.close()


_FAULTS = (Fault("write", "catalog.db", 40, "EIO"),)
_MORE = (
    Fault("rename", "lake", 2, "EACCES"),
    Fault("fsync", "catalog.db", 1, "EIO"),
    Fault("write", "keywords.db", 20, "ENOSPC"),
)


@pytest.mark.parametrize("faults", [_FAULTS, pytest.param(_MORE, marks=pytest.mark.long)])
def test_one_clean_run_later_nothing_is_missing(sweep: Sweep, faults: tuple[Fault, ...]) -> None:
    """One more turn is taken in while a write, an fsync or a rename fails in one store after
    another: what the fault meets says so without a traceback, and the rows are the same after the
    next run."""
    sweep.calls("turn", "lake")
    for fault in faults:
        assert sweep.round("turn", fault).wrong == "", str(fault)
