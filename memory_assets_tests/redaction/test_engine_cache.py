"""Compiled patterns are kept between runs, and a bad cache costs time, never safety."""

from __future__ import annotations

import hashlib
import logging
import shutil
import stat
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from unittest.mock import patch

import pytest

from memory_assets.paths import user_cache_dir
from memory_assets.redaction.engine.hyperscan_triggers import HyperscanTriggers
from memory_assets.redaction.engine.pattern_cache import Databases, kept
from memory_assets.redaction.engine.trigger_patterns import anchored_triggers
from memory_assets.redaction.rules.anchored.table import ANCHORED_RULES

pytest.importorskip("hyperscan", reason="Hyperscan is not installed: nothing is compiled")

GROUPS = {
    "letters": [(rb"abc[0-9]{4}", False), (rb"xyz", False)],
    "digits": [(rb"[0-9]{6}", False)],
}


def _load(
    cache: Path | None, groups: dict[str, list[tuple[bytes, bool]]] = GROUPS
) -> tuple[Databases, int]:
    """Return the databases, and how many of them were compiled."""
    whole = Databases._compile
    with patch.object(Databases, "_compile", autospec=True, side_effect=whole) as compiled:
        return Databases(groups, cache), compiled.call_count


def _reports(databases: Databases, name: str, data: bytes) -> list[tuple[int, int]]:
    reports: list[tuple[int, int]] = []
    databases.scanner(name)(data, lambda number, start, end, *_: reports.append((number, end)))
    return sorted(reports)


def _of_another_processor(whole: bytes) -> bytes:
    """Return a cached file with another platform (bytes 12 to 20 of Hyperscan's header)."""
    database = bytearray(whole[hashlib.sha256().digest_size :])
    database[12] ^= 1
    return hashlib.sha256(database).digest() + bytes(database)


def _works(databases: Databases) -> bool:
    return _reports(databases, "letters", b"..abc1234 xyz") == [(0, 9), (1, 13)]


def test_patterns_are_compiled_once(tmp_path: Path) -> None:
    """The first load compiles, the second reads what the first wrote."""
    first, compiled = _load(tmp_path / "cache")
    assert compiled == len(GROUPS)
    assert _works(first)
    second, compiled = _load(tmp_path / "cache")
    assert compiled == 0
    assert _works(second)


def test_compiling_is_logged(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """Who listens to `memory_assets.redaction` learns why loading takes seconds."""
    with caplog.at_level(logging.INFO, "memory_assets.redaction"):
        _load(tmp_path)
    assert [record.name for record in caplog.records] == ["memory_assets.redaction"]
    assert "once on this machine" in caplog.text


def test_changed_patterns_are_compiled_anew(tmp_path: Path) -> None:
    """The cache is keyed by the patterns: no other ruleset's database is ever used."""
    _load(tmp_path)
    changed = {**GROUPS, "letters": [(rb"abc[0-9]{5}", False), (rb"xyz", False)]}
    databases, compiled = _load(tmp_path, changed)
    assert compiled == 1
    assert _reports(databases, "letters", b"abc1234 abc12345") == [(0, 16)]


def test_only_the_owner_may_read_the_cache(tmp_path: Path) -> None:
    """Directory 0700, files 0600, and nothing but whole databases and a lock is left behind."""
    cache = tmp_path / "made" / "cache"
    _load(cache)
    assert stat.S_IMODE(cache.stat().st_mode) == 0o700
    files = sorted(cache.iterdir())
    assert [path.suffix for path in files] == [".lock", *[".hsdb"] * len(GROUPS)]
    assert {stat.S_IMODE(path.stat().st_mode) for path in files} == {0o600}


@pytest.mark.parametrize("damage", ["empty", "cut", "flipped", "foreign", "processor"])
def test_a_damaged_file_is_compiled_anew_and_replaced(damage: str, tmp_path: Path) -> None:
    """A file that is not what was written is not loaded, whatever it holds, nor is what was
    compiled for another processor."""
    cache = tmp_path / "cache"
    _load(cache)
    for path in cache.glob("*.hsdb"):
        whole = path.read_bytes()
        path.write_bytes(
            {
                "empty": b"",
                "cut": whole[:-1],
                "flipped": whole[:-9] + bytes([whole[-9] ^ 1]) + whole[-8:],
                "foreign": b"SQLite format 3\x00" + whole,
                "processor": _of_another_processor(whole),
            }[damage]
        )
    databases, compiled = _load(cache)
    assert compiled == len(GROUPS)
    assert _works(databases)
    assert _load(cache)[1] == 0


@pytest.mark.parametrize("place", ["a file", "below a file"])
def test_a_cache_that_cannot_be_written_is_done_without(place: str, tmp_path: Path) -> None:
    """Where nothing can be kept, patterns are compiled in memory and work."""
    occupied = tmp_path / "occupied"
    occupied.write_text("not a directory")
    databases, compiled = _load(occupied if place == "a file" else occupied / "cache")
    assert compiled == len(GROUPS)
    assert _works(databases)
    assert occupied.read_text() == "not a directory"


def test_no_cache_means_memory_only(tmp_path: Path) -> None:
    """Without a cache directory all is compiled, each time."""
    assert _load(None)[1] == len(GROUPS)
    assert _works(_load(None)[0])


def test_kept_triggers_are_those_of_the_rules(tmp_path: Path, compiled_rules: Path) -> None:
    """A second load reads the triggers, with equal clues; a damaged file is derived anew."""
    for path in (compiled_rules / "memory_assets").glob("*.hsdb"):
        shutil.copy(path, tmp_path)  # patterns that do not depend on these rules
    text = "export ACME_PASSWORD=Tr0ub4dor\nAuthorization: " + "Basic QWxhZGRpbjpvcGVu\n"

    def load() -> tuple[HyperscanTriggers, int]:
        name = f"{HyperscanTriggers.__module__}.anchored_triggers"
        with patch(name, side_effect=anchored_triggers) as derived:
            return HyperscanTriggers((), ANCHORED_RULES[:9], tmp_path), derived.call_count

    first, derived = load()
    assert derived == 1
    second, derived = load()
    assert derived == 0
    assert second._triggers == first._triggers
    assert second.digest == first.digest
    assert second.find(text) == first.find(text)
    (kept,) = tmp_path.glob("triggers-*.json")
    kept.write_bytes(kept.read_bytes()[:-1])
    assert load()[1] == 1


def test_one_makes_what_others_wait_for(tmp_path: Path) -> None:
    """Of those who need a file at the same time one makes it."""
    made = []

    def make() -> bytes:
        made.append(b"content")
        time.sleep(0.2)
        return b"content"

    with ThreadPoolExecutor(4) as threads:
        found = [threads.submit(kept, tmp_path / "cache" / "file", make) for _ in range(4)]
    assert {each.result() for each in found} == {b"content"}
    assert len(made) == 1


def test_processes_that_compile_at_once_do_each_other_no_harm(tmp_path: Path) -> None:
    """Several processes fill one cache at the same time; each works, and so does the next."""
    code = (
        "import sys, pathlib; from memory_assets.redaction.engine.pattern_cache import Databases;"
        "d = Databases({'letters': [(b'abc[0-9]{4}', False), (b'xyz', False)],"
        " 'digits': [(b'[0-9]{6}', False)]},"
        " pathlib.Path(sys.argv[1])); found = [];"
        "d.scanner('letters')(b'..abc1234 xyz', lambda *hit: found.append(hit[2]));"
        "assert sorted(found) == [9, 13], found"
    )
    command = [sys.executable, "-c", code, str(tmp_path)]
    for process in [subprocess.Popen(command) for _ in range(4)]:
        assert process.wait(60) == 0
    databases, compiled = _load(tmp_path)
    assert compiled == 0
    assert _works(databases)


def test_the_cache_stands_in_the_users_cache_directory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """`$XDG_CACHE_HOME/memory_assets`, or `~/.cache/memory_assets`."""
    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    assert user_cache_dir() == Path.home() / ".cache" / "memory_assets"
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert user_cache_dir() == tmp_path / "memory_assets"
