"""Every byte at rest is searched, in every form and inside every container."""

from __future__ import annotations

import base64
import gzip
import json
import sqlite3
import tracemalloc
import zipfile
from collections.abc import Callable
from pathlib import Path
from urllib.parse import quote

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from memory_assets.errors import ConfigurationError
from memory_assets.pipeline.checks.deep_scan import (
    BLOCK_BYTES,
    DeepScan,
    deep_scan,
    files_under,
    read_canaries,
)
from memory_assets.pipeline.checks.value_search import OVERLAP_BYTES, ValueSearch
from memory_assets.redaction.known_secrets import KnownValues, value_hash
from memory_assets_tests.sweep import sweep

KEY = b"k" * 32
NOTHING_KNOWN = KnownValues(KEY)
CANARY = 'heron "7" stands\\still & wöits'
KNOWN = "qk_live_" + "Zr81TmQx5vNn2Lw9Yp3"
"""A made-up token; only its hash is given to the search."""


def known_values() -> KnownValues:
    """The search for `KNOWN` by its hash."""
    known = value_hash(KNOWN, KEY)
    assert known is not None
    return KnownValues(KEY, frozenset([known]))


def _base64(skipped: int) -> Callable[[str], bytes]:
    return lambda text: base64.b64encode(b":" * skipped + text.encode() + b" yz")


def _wrapped(text: str) -> bytes:
    return base64.encodebytes(b"some words before it " * 3 + text.encode() + b" and after it" * 6)


FORMS: dict[str, Callable[[str], bytes]] = {
    "plain": str.encode,
    "escaped": lambda text: json.dumps({"a": f"line\n{text}\n"}).encode(),
    "escaped twice": lambda text: json.dumps(json.dumps(f"line\n{text}\n")).encode(),
    "escaped unicode": lambda text: json.dumps(f"\x1b[31m{text}\x1b[0m").encode(),
    "percent-encoded": lambda text: b"https://x/?q=%3D" + quote(text, safe="").encode(),
    "base64 0": _base64(0),
    "base64 1": _base64(1),
    "base64 2": _base64(2),
    "base64 url-safe": lambda text: base64.urlsafe_b64encode(b"?>" + text.encode() + b"?>"),
    "base64 twice": lambda text: base64.b64encode(base64.b64encode(b"a:" + text.encode() + b";d")),
    "base64 in lines": _wrapped,
    "base64 of JSON": lambda text: base64.b64encode(json.dumps([f"\n{text}"]).encode()),
    "utf-16-le": lambda text: text.encode("utf-16-le"),
    "utf-16-be": lambda text: text.encode("utf-16-be"),
    "base64 of utf-16": lambda text: base64.b64encode(text.encode("utf-16-le") + b"  "),
}


@sweep("form", FORMS)
@sweep("canary", [True, False])
def test_every_form_of_a_value_is_found(form: str, canary: bool) -> None:
    """Canaries and values known by hash alone, in all forms that software writes."""
    search = ValueSearch([("it", CANARY)] if canary else [], known_values())
    value = CANARY if canary else KNOWN
    written = FORMS[form](value)
    found = search.matches(b"some bytes\0before " + written + b" and some after")
    assert {match.what for match in found} == {"it" if canary else "known value"}
    assert value not in repr(found)
    assert ValueSearch([("other", "quite another value")], NOTHING_KNOWN).matches(written) == []


@given(
    before=st.binary(max_size=300),
    after=st.binary(max_size=300),
    value=st.text(st.characters(min_codepoint=33, max_codepoint=0x2FF), min_size=8, max_size=60),
    form=st.sampled_from(
        sorted(set(FORMS) - {"base64 twice", "base64 of JSON", "base64 in lines"})
    ),
)
@settings(max_examples=300, deadline=None)
def test_any_canary_is_found_anywhere(before: bytes, after: bytes, value: str, form: str) -> None:
    """Whatever the value, whatever stands beside it, and in every form."""
    search = ValueSearch([("it", value)], NOTHING_KNOWN)
    gap = b"\n" if form == "base64 of utf-16" else b""
    assert search.matches(before + gap + FORMS[form](value) + gap + after)


def test_offsets_point_at_the_value() -> None:
    """What is found in plain form is found at its first byte."""
    data = b"x" * 4711 + KNOWN.encode()[:0] + b" " + KNOWN.encode() + b" " + CANARY.encode()
    search = ValueSearch([("it", CANARY)], known_values())
    offsets = {match.what: match.offset for match in search.matches(data)}
    assert offsets == {"known value": 4712, "it": 4712 + len(KNOWN) + 1}


def _scan(root: Path, *, excluded: tuple[Path, ...] = ()) -> DeepScan:
    return deep_scan([root], [("canary", CANARY)], known_values(), excluded=excluded)


def _sqlite(path: Path, value: str) -> None:
    database = sqlite3.connect(path)
    database.execute("CREATE TABLE events (id INTEGER, body TEXT)")
    database.execute("CREATE VIRTUAL TABLE words USING fts5(body)")
    database.execute("INSERT INTO events VALUES (1, ?)", ("x " * 2030 + value + " y" * 4500,))
    database.execute("INSERT INTO words VALUES ('nothing here')")
    database.commit()
    database.close()


def _parquet(path: Path, value: str) -> None:
    filler = [f"row {n} of many " * 5 for n in range(4000)]
    notes = [[text, ""] for text in filler]
    notes[3210] = ["before", f"here {value} there"]
    rows = pa.table({"id": [str(n) for n in range(4000)], "notes": notes})
    pq.write_table(rows, path, compression="zstd", row_group_size=1000)


def _zip(path: Path, value: str) -> None:
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("a.txt", f"{'words ' * 100}{value}")


CONTAINERS: dict[str, Callable[[Path, str], object]] = {
    "compute.err": lambda path, value: path.write_text(f"Traceback\n  boom: {value}\n"),
    "rows.parquet": _parquet,
    "events.db": _sqlite,
    "old.log.gz": lambda path, value: path.write_bytes(gzip.compress(f"a {value} b".encode())),
    "logs.zip": _zip,
}


@pytest.mark.parametrize("name", CONTAINERS)
@pytest.mark.parametrize("value", [CANARY, KNOWN], ids=["canary", "known value"])
def test_every_container_is_opened(tmp_path: Path, name: str, value: str) -> None:
    """Logs, Parquet, SQLite (a value longer than a page), gzip and zip: the hit names the
    file and the place in it, never the value. The same files without it give no hit."""
    path = tmp_path / "deep" / "er" / name
    path.parent.mkdir(parents=True)
    CONTAINERS[name](path, "a harmless text of the same kind")
    clean = _scan(tmp_path)
    assert clean.passed and clean.files == 1 and clean.bytes == path.stat().st_size
    path.unlink()
    CONTAINERS[name](path, value)
    found = _scan(tmp_path)
    assert not found.passed and found.hits
    assert {Path(hit.path).name for hit in found.hits} == {name}
    assert all(value not in repr(hit) for hit in found.hits)
    if name == "rows.parquet":
        assert found.hits[0].place.startswith("notes[]")


def test_what_is_only_in_the_write_ahead_log_is_found(tmp_path: Path) -> None:
    """A row deleted since, whose page still lies in the log of an open database."""
    database = sqlite3.connect(tmp_path / "live.db", isolation_level=None)
    database.execute("PRAGMA journal_mode=WAL")
    database.execute("PRAGMA wal_autocheckpoint=0")
    database.execute("CREATE TABLE t (body TEXT)")
    database.execute("INSERT INTO t VALUES (?)", (CANARY,))
    database.execute("DELETE FROM t")
    assert {Path(hit.path).name for hit in _scan(tmp_path).hits} == {"live.db-wal"}
    database.close()


@pytest.mark.parametrize("shift", [-40, -len(KNOWN) // 2, -1, 0])
def test_values_across_blocks_are_found_once(tmp_path: Path, shift: int) -> None:
    """A value that two blocks share is found, at its offset in the file."""
    data = bytearray(b"- " * (BLOCK_BYTES + OVERLAP_BYTES))
    at = BLOCK_BYTES + shift
    data[at - 1 : at + len(KNOWN) + 1] = b" " + KNOWN.encode() + b" "
    (tmp_path / "big.log").write_bytes(data)
    assert [(hit.offset, hit.form) for hit in _scan(tmp_path).hits] == [(at, "plain")]


def test_memory_stays_flat(tmp_path: Path) -> None:
    """A file of 40 MB, also packed, is read in blocks."""
    with (tmp_path / "big.log").open("wb") as file:
        for _ in range(10):
            file.write(b"nothing to see here\n" * 200_000)
    (tmp_path / "big.gz").write_bytes(gzip.compress((tmp_path / "big.log").read_bytes(), 1))
    tracemalloc.start()
    try:
        found = _scan(tmp_path)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert found.passed and found.searched > 80_000_000
    assert peak < 16 * BLOCK_BYTES


def test_a_value_in_a_file_name_is_found_and_not_repeated(tmp_path: Path) -> None:
    """Names are bytes at rest, too."""
    (tmp_path / f"session-{KNOWN}.txt").write_text("harmless")
    (tmp_path / f"{KNOWN}.txt").write_text("harmless")
    found = _scan(tmp_path)
    assert "name" in {hit.place for hit in found.hits}
    assert KNOWN not in repr(found.hits)


def test_what_cannot_be_unpacked_is_reported(tmp_path: Path) -> None:
    """Of a torn file nothing is proven, so the scan does not pass."""
    _parquet(tmp_path / "torn.parquet", "harmless words")
    whole = (tmp_path / "torn.parquet").read_bytes()
    (tmp_path / "torn.parquet").write_bytes(whole[:-20])
    found = _scan(tmp_path)
    assert found.hits == [] and not found.passed
    assert [Path(name).name for name in found.unreadable] == ["torn.parquet"]


def test_names_of_columns_that_are_no_text_are_reported(tmp_path: Path) -> None:
    """As a flipped bit leaves them, in the schema or in Arrow's copy of it."""
    path = tmp_path / "flipped.parquet"
    _parquet(path, "nothing here")
    path.write_bytes(path.read_bytes().replace(b"notes", b"\xeeotes"))
    found = _scan(tmp_path)
    assert [Path(name).name for name in found.unreadable] == ["flipped.parquet"]


def test_only_parts_of_a_root_can_be_left_out(tmp_path: Path) -> None:
    """Excluding what holds the root would prove nothing; links are not followed in circles."""
    root = tmp_path / "data"
    (root / "sample").mkdir(parents=True)
    (root / "sample" / "a.jsonl").write_text("a")
    (root / "b.log").write_text("b")
    (root / "loop").symlink_to(root)
    assert list(files_under([root, root], [root / "sample"])) == [root / "b.log"]
    assert len(list(files_under([root], [tmp_path]))) == 2
    assert len(list(files_under([root], [root]))) == 2


def test_canaries_are_named_by_line_and_short_ones_refused(tmp_path: Path) -> None:
    """One value a line; comments and empty lines do not count. What is found everywhere is an error
    that names the line and does not repeat it."""
    canary_file = tmp_path / "canaries.txt"
    canary_file.write_text(f"# planted on Monday\n\n{CANARY}\n  another canary  \n")
    assert read_canaries([canary_file]) == [
        ("canary of line 3", CANARY),
        ("canary of line 4", "another canary"),
    ]
    canary_file.write_text("long enough\nseven77\n")
    with pytest.raises(ConfigurationError, match="line 2 of") as error:
        read_canaries([canary_file])
    assert "seven77" not in str(error.value)
