"""The independent scanner sees every string of the lake, and tells no more than where."""

from __future__ import annotations

import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from memory_assets.pipeline.checks import kingfisher, pending
from memory_assets.pipeline.checks.independent_scan import (
    IndependentScanner,
    Reported,
    independent_scanner_finds_nothing,
    load_independent_scanner,
    neutral,
)
from memory_assets.pipeline.checks.text_columns import text_columns
from memory_assets.pipeline.redact import known_secrets as recheck
from memory_assets.pipeline.stage.components import Components
from memory_assets.redaction import load_redactor
from memory_assets.settings import load_settings
from memory_assets.stores.lake.schemas import REDACTED_RECORDS, TABLES, Table
from memory_assets.transcripts import read_session
from memory_assets_tests.own_files import altered
from memory_assets_tests.pipeline.conftest import SampleMemory
from memory_assets_tests.sweep import sweep
from memory_assets_tests.transcript_files import source_of

TOKEN = "ghp_" + "wWPw5k4aXcaT4fNP" + "0UcnZwJUVFk6LO0pINUx"
"""In GitHub's form with a checksum-like tail; nobody's."""
PROJECT, SESSION = "-home-ada-engine", "5d1f"


def _value(type_: pa.DataType, text: str) -> Any:
    """A value of an Arrow type in which every string is `text`."""
    if pa.types.is_string(type_):
        return text
    if pa.types.is_struct(type_):
        return {field.name: _value(field.type, text) for field in type_}
    if pa.types.is_fixed_size_list(type_):
        return [_value(type_.value_type, text)] * type_.list_size
    if pa.types.is_list(type_):
        return [_value(type_.value_type, text)] * 2
    if pa.types.is_boolean(type_):
        return False
    return 1.0 if pa.types.is_floating(type_) else 1


def _rows(table: Table, column: str, text: str) -> pa.Table:
    """Three rows in which only the last one's `column` holds `text`."""
    rows = [{field.name: _value(field.type, "") for field in table.schema} for _ in range(3)]
    rows[2][column] = _value(table.schema.field(column).type, text)
    return pa.Table.from_pylist(rows, schema=table.schema)


def _columns_of_text() -> list[tuple[str, str]]:
    return [
        (table.name, field.name)
        for table in TABLES.values()
        for field in table.schema
        if "string" in str(field.type)
    ]


@pytest.fixture
def components(tmp_path: Path) -> Iterator[Components]:
    """An empty memory."""
    opened = Components(load_settings(data_dir=tmp_path / "memory"))
    yield opened
    opened.catalog.close()


@pytest.fixture
def scanner(components: Components) -> IndependentScanner:
    """The scanner with no rule ignored."""
    found = load_independent_scanner()
    assert found is not None
    return found


def _store(components: Components, table: Table, rows: pa.Table, session_id: str = SESSION) -> Path:
    return altered(components.lake, table, PROJECT, session_id, rows)


@pytest.mark.long
def test_a_new_machine_compiles_the_scanner_once_beside_other_work(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Who needs it meanwhile waits for it; where it is compiled, nothing is begun."""
    with monkeypatch.context() as patch:
        patch.setattr(kingfisher, "user_cache_dir", lambda: tmp_path)
        kingfisher._load.cache_clear()
        before = threading.active_count()
        kingfisher.compile_kingfisher()
        assert threading.active_count() == before + 1
        assert load_independent_scanner() is not None
        assert kingfisher._load.cache_info().misses == 1
        (compiled,) = (tmp_path / "kingfisher").glob("*.vscdb")
        kingfisher.compile_kingfisher()
        assert threading.active_count() <= before + 1 and compiled.exists()


@sweep("name, column", _columns_of_text())
def test_a_secret_in_any_string_column_of_any_table_is_found(
    components: Components, name: str, column: str
) -> None:
    """Free text, ids, lists and structs: the verdict names column, rule, session and row, and no
    text."""
    _store(components, TABLES[name], _rows(TABLES[name], column, f"export GITHUB_TOKEN={TOKEN}"))
    verdict = independent_scanner_finds_nothing(components, PROJECT, TABLES[name])
    assert not verdict.passed
    assert not verdict.warning
    assert {key.split(":")[0].split("[")[0] for key in verdict.counts if ":" in key} == {column}
    assert "row 2" in str(verdict.counts["places"])
    assert any(key.endswith(": betterleaks.github-pat") for key in verdict.counts)
    assert TOKEN[:12] not in repr(verdict)


def test_a_reported_session_id_is_not_repeated(components: Components) -> None:
    """Where the session's own name was reported, the places do not say it."""
    rows = _rows(REDACTED_RECORDS, "session_id", f"export GITHUB_TOKEN={TOKEN}")
    _store(components, REDACTED_RECORDS, rows, TOKEN)
    verdict = independent_scanner_finds_nothing(components, PROJECT, REDACTED_RECORDS)
    assert not verdict.passed
    assert TOKEN not in repr(verdict)


def test_a_clean_file_is_not_scanned_again_until_it_changes(components: Components) -> None:
    """An unchanged partition costs a stat per file."""
    clean = _rows(REDACTED_RECORDS, "text", "nothing to see in this record")
    _store(components, REDACTED_RECORDS, clean)
    first = independent_scanner_finds_nothing(components, PROJECT, REDACTED_RECORDS)
    second = independent_scanner_finds_nothing(components, PROJECT, REDACTED_RECORDS)
    assert first.passed and second.passed
    assert (first.counts["files_scanned"], second.counts["files_scanned"]) == (1, 0)
    leaked = _rows(REDACTED_RECORDS, "text", f"export GITHUB_TOKEN={TOKEN}")
    _store(components, REDACTED_RECORDS, leaked)
    for _ in range(2):
        assert not independent_scanner_finds_nothing(components, PROJECT, REDACTED_RECORDS).passed


@pytest.mark.parametrize(
    "marker", ["gitleaks:allow", "betterleaks:allow", "kingfisher:ignore", "kingfisher:allow"]
)
def test_no_marker_in_a_transcript_switches_the_scanner_off(
    scanner: IndependentScanner, marker: str
) -> None:
    """Scanners skip lines with a magic comment; whoever writes a transcript may add one."""
    value = f"export GITHUB_TOKEN={TOKEN} # {marker}".encode()
    assert [found.rule for found in scanner.scan([value])] == ["betterleaks.github-pat"]


def test_values_scanned_together_are_kept_apart(scanner: IndependentScanner) -> None:
    """Offsets are those of the value; what only two values together make is not reported."""
    body = "MIIEvQIBADANBgkqhkiG9w0BAQEFAASCBKcwggSjAgEAAoIBAQC7VJTUt9Us8cKj"
    values = [
        b"nothing",
        f"so {TOKEN}".encode(),
        f"-----BEGIN PRIVATE KEY-----\n{body}".encode(),
        f"{body}\n-----END PRIVATE KEY-----".encode(),
        f"-----BEGIN PRIVATE KEY-----\n{body}\n-----END PRIVATE KEY-----".encode(),
    ]
    found = scanner.scan(values)
    assert [report.index for report in found] == [1, 4]
    assert found[0] == Reported(1, "betterleaks.github-pat", 3, 43)


@pytest.mark.parametrize("before", ["\0" * 9, "\x01\x1b[31m", "PK\x03\x04", "\ud800", "a\0" * 40])
def test_control_characters_do_not_hide_a_secret(scanner: IndependentScanner, before: str) -> None:
    """Bytes that make text look like UTF-16 or an archive change nothing."""
    assert scanner.scan([neutral(f"{before}\nexport GITHUB_TOKEN={TOKEN}")])


def test_our_own_tags_are_not_reported(scanner: IndependentScanner) -> None:
    """A tag in a URL's userinfo reads like user and password; it is neither."""
    tag = "<redacted:github-token:0123456789ab>"
    values = [f"git clone https://{tag}@github.com/a/b", f"postgres://ada:{tag}@db:5432/app"]
    assert scanner.scan([neutral(value) for value in values]) == []


def test_without_a_scanner_the_check_fails_as_a_warning(
    components: Components, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where Kingfisher has no wheel nothing is claimed, and nothing stops."""
    monkeypatch.setitem(sys.modules, "kingfisher_sdk", None)
    verdict = independent_scanner_finds_nothing(components, PROJECT, REDACTED_RECORDS)
    assert not verdict.passed and verdict.warning
    assert verdict.counts == {"scanner": "not available on this platform"}


def test_what_only_the_scanner_finds_is_redacted_by_the_next_run(
    wordy: SampleMemory, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A report that our redactor missed blocks, joins the known values by hash, and is gone
    from every session once the sessions that hold it were redacted again."""
    missed = "lantern" + "7Qx1vT5bWn3Kd8Rm2"
    wordy.append(wordy.flaky, f"the marker is {missed} and stays", "noted")
    wordy.run()
    assert missed in repr(wordy.rows("redacted_records", wordy.harbor))

    def reports(self: IndependentScanner, data: bytes) -> Iterator[tuple[str, int, int]]:
        at = data.find(missed.encode())
        if at >= 0:
            yield "betterleaks.some-new-token", at, at + len(missed)

    monkeypatch.setattr(IndependentScanner, "_reports", reports)
    components = wordy.components
    verdict = independent_scanner_finds_nothing(components, wordy.harbor, REDACTED_RECORDS)
    assert not verdict.passed and verdict.counts["now_known"] == 1
    assert missed not in repr(verdict)

    assert recheck.mark_affected(components).affected_sessions == 1
    wordy.run(projects=[wordy.harbor])
    assert missed not in repr(wordy.lake_state())
    assert independent_scanner_finds_nothing(components, wordy.harbor, REDACTED_RECORDS).passed


@pytest.mark.parametrize("copies", [1, 30])
def test_every_nested_string_has_its_row(copies: int) -> None:
    """Lists, structs, maps and dictionaries are looked into; rows count from 0, and the first one
    counts, whether there are few or many."""
    table = pa.table(
        {
            "plain": ["a", None, "b"],
            "lists": pa.array([["c"], None, ["d", "c"]]),
            "structs": pa.array([[{"t": "e", "n": 1}], [], [{"t": "f", "n": 2}]]),
            "maps": pa.array([[("k", "v")], [], [("k", "w")]], pa.map_(pa.string(), pa.string())),
            "codes": pa.array(["x", "y", "x"]).dictionary_encode(),
            "numbers": [1, 2, 3],
        }
    )
    found = {
        column.name: dict(zip(column.values, column.rows, strict=True))
        for column in text_columns(pa.concat_tables([table] * copies))
    }
    assert found == {
        "plain": {"a": 0, "b": 2},
        "lists[]": {"c": 0, "d": 2},
        "structs[].t": {"e": 0, "f": 2},
        "maps[].key": {"k": 0},
        "maps[].value": {"v": 0, "w": 2},
        "codes": {"x": 0, "y": 1},
    }


def test_the_scanner_reports_nothing_of_real_redacted_transcripts(
    dev_transcripts: Path, scanner: IndependentScanner
) -> None:
    """False alarms would stop real projects: there are none in a tenth of the sessions."""
    redactor = load_redactor(key=bytes(32))
    files = [
        path for path in sorted(dev_transcripts.rglob("*.jsonl")) if "growth" not in path.parts
    ]
    values = [
        neutral(redactor.redact(record.text).text)
        for path in files[::10]
        if "sessions" in path.parts or "projects" in path.parts
        for record in read_session(path, source=source_of(path))
    ]
    assert len(values) > 500
    assert [report.rule for report in scanner.scan(values)] == []


def test_of_a_long_session_that_grew_only_new_parts_are_scanned(
    memory: SampleMemory, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its parts that passed are known by their hashes; all are scanned once it is written anew."""
    monkeypatch.setattr(pending, "_PART_ROWS", 8)

    def scanned(*texts: str) -> int:
        memory.append(memory.flaky, *texts)
        memory.run(["raw_sessions", "redacted_records"], [memory.harbor])
        where = (memory.components, memory.harbor, REDACTED_RECORDS)
        verdict = independent_scanner_finds_nothing(*where)
        assert verdict.passed
        return int(verdict.counts["values_scanned"])

    scanned("is the barrel organ tuned?", "It is.")
    whole = scanned("and the harpsichord?", "That, too.")
    assert 0 < scanned("and the clavichord?", "Not yet.") < whole / 2
