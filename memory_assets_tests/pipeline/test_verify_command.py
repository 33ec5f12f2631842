"""`memory verify [--deep]`: every project checked, every byte searched, without Dagster."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from memory_assets.cli import exit_codes
from memory_assets.cli.verify_command import verify_memory
from memory_assets.dagster.definitions import AGENT_ASSETS, ASSETS, WORKSPACE_ASSETS
from memory_assets.errors import ConfigurationError, NotFound
from memory_assets.install_key import KEY_FILE
from memory_assets.paths import user_config_dir
from memory_assets.pipeline.checks.checks import CHECKS
from memory_assets.pipeline.checks.independent_scan import independent_scanner_finds_nothing
from memory_assets.pipeline.checks.verify import no_secrets_remain
from memory_assets.pipeline.stages import EXPECTATIONS
from memory_assets.settings import load_settings
from memory_assets.stores.lake.lake import redacted_columns
from memory_assets.stores.lake.schemas import REDACTED_RECORDS, TABLES, TURN_CHUNKS, Table
from memory_assets.stores.lake.segments import SEGMENT
from memory_assets_tests.own_files import own_file
from memory_assets_tests.pipeline.conftest import SampleMemory

CANARY = "the kingfisher dives at dusk"
TOKEN = "ghp_" + "k3VxQ9rTz7Lw2NbYc8HsJ4Md6PfUe1GaXoRi"
"""A secret that both scanners find."""


def _verify(memory: SampleMemory, capfd: pytest.CaptureFixture[str], **given: Any) -> Any:
    """The exit code, the JSON document, and all that was printed."""
    options = {"projects": [], "deep": False, "canary_file": None, "as_json": True, **given}
    code = verify_memory(memory.settings, **options)
    printed = capfd.readouterr()
    return code, json.loads(printed.out), printed.out + printed.err


@pytest.fixture(autouse=True)
def _same_key(memory: SampleMemory, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The command opens the memory anew; its key must be the one that the memory has. It searches
    the cache as well, whose 7 MB of compiled rules, which are loaded, take longer than the rest."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    path = user_config_dir() / KEY_FILE
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(memory.components.install_key)


@pytest.fixture
def canaries(tmp_path: Path) -> Path:
    """A canary file outside the memory."""
    path = tmp_path / "canaries.txt"
    path.write_text(f"{CANARY}\n")
    return path


def test_every_check_is_an_asset_check() -> None:
    """What `memory verify` checks, Dagster checks, and nothing else: the list is one."""
    specs = {
        (spec.asset_key.to_user_string(), spec.name)
        for asset in (*ASSETS, *WORKSPACE_ASSETS, *AGENT_ASSETS)
        for spec in asset.check_specs
    }
    assert specs == {(check.asset, check.name) for check in CHECKS}
    assert len(specs) == len(CHECKS)


def test_every_table_is_scanned_by_both_scanners() -> None:
    """A new table of the lake is covered by the checks from the day it exists: ours looks into
    free text, the other one into every string."""
    scanned = {
        scanner: {check.asset for check in CHECKS if check.name == scanner}
        for scanner in ("no_secrets_remain", "independent_scanner_finds_nothing")
    }
    with_text = {name for name, table in TABLES.items() if redacted_columns(table.model)}
    assert scanned["independent_scanner_finds_nothing"] == TABLES.keys()
    assert scanned["no_secrets_remain"] == with_text > {"redacted_records", "turn_chunks"}


def test_every_table_has_expectations() -> None:
    """A new table of the lake says what must hold of its rows."""
    matched = {check.asset for check in CHECKS if check.name == "matches_schema"}
    assert matched == TABLES.keys() == EXPECTATIONS.keys()


def test_the_sample_verifies_deeply(
    memory: SampleMemory, canaries: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    """All checks of all projects hold, and no canary or known value is in any byte."""
    code, answer, _ = _verify(memory, capfd, deep=True, canary_file=canaries)
    assert [made for made in answer["checks"] if not made["passed"]] == []
    assert len(answer["checks"]) == len(CHECKS) * len(memory.projects())
    deep = answer["deep"]
    assert deep["hits"] == [] and deep["unreadable"] == []
    assert deep["canaries"] == 1 and deep["known_values"] > 3 and deep["files"] > 50
    assert str(memory.data_dir) in deep["roots"]
    assert code == exit_codes.FINE and answer["passed"]


def test_a_planted_value_is_found_with_file_and_offset(
    wordy: SampleMemory, canaries: Path, fake_token: str, capfd: pytest.CaptureFixture[str]
) -> None:
    """It is told as file, place, offset and form; exit 4; and the value itself is printed
    nowhere. A token that a session held is looked for as well, without being on record."""
    wordy.append(wordy.flaky, f"export GITHUB_TOKEN={fake_token}", "fine")
    wordy.run(projects=[wordy.harbor])
    given: dict[str, Any] = {"deep": True, "canary_file": canaries, "projects": [wordy.harbor]}
    code, answer, _ = _verify(wordy, capfd, **given)
    assert (code, answer["deep"]["hits"]) == (exit_codes.FINE, [])
    log = wordy.data_dir / "dagster" / "logs" / "1.err"
    log.parent.mkdir(parents=True)
    log.write_text(f"see {CANARY} here")
    trace = wordy.data_dir / "dagster" / "trace.log"
    trace.write_text(json.dumps({"error": f"bad\n{fake_token}\n"}))
    code, answer, printed = _verify(wordy, capfd, **given)
    assert code == exit_codes.CHECK_FAILED and not answer["passed"]
    second, first = answer["deep"]["hits"]
    assert (first["path"], first["offset"], first["form"]) == (str(log), 4, "plain")
    assert first["what"] == "canary of line 1"
    assert (second["path"], second["what"]) == (str(trace), "known value")
    verify_memory(wordy.settings, **given, as_json=False)
    shown = capfd.readouterr()
    assert "canary of line 1" in shown.out
    for text in (printed, shown.out, shown.err):
        assert CANARY not in text and fake_token not in text


@pytest.mark.parametrize(
    ("table", "keeps_time"),
    [
        (REDACTED_RECORDS, True),
        pytest.param(REDACTED_RECORDS, False, marks=pytest.mark.long),
        pytest.param(TURN_CHUNKS, False, marks=pytest.mark.long),
        pytest.param(TURN_CHUNKS, True, marks=pytest.mark.long),
    ],
)
def test_a_file_changed_behind_our_back_is_scanned_again(
    wordy: SampleMemory, capfd: pytest.CaptureFixture[str], table: Table, keeps_time: bool
) -> None:
    """A segment whose rows another program changed has its directory still; both scanners look at
    it all the same: in a run if its time changed, in `memory verify` whatever it looks like."""
    components, project = wordy.components, wordy.harbor
    assert _verify(wordy, capfd)[0] == exit_codes.FINE
    sessions = components.lake.sessions(table, project)
    (path,) = {components.lake.file(table, project, session) for session in sessions}
    assert path is not None
    assert SEGMENT.fullmatch(path.name)
    before = path.stat()
    _put_into_a_row(path, f"export GITHUB_TOKEN={TOKEN}")
    if keeps_time:
        os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))
    else:
        verdict = no_secrets_remain(components, project, table)
        assert not verdict.passed and verdict.counts["files_scanned"]
        assert not independent_scanner_finds_nothing(components, project, table).passed
    code, answer, _ = _verify(wordy, capfd)
    failed = {each["check"] for each in answer["checks"] if not each["passed"]}
    assert code == exit_codes.CHECK_FAILED
    assert failed >= {"no_secrets_remain", "independent_scanner_finds_nothing"}


def test_what_was_changed_stays_unscanned_when_it_is_moved(wordy: SampleMemory) -> None:
    """A writer that moves an altered segment's sessions vouches for none of them."""
    components, project, table = wordy.components, wordy.harbor, REDACTED_RECORDS
    assert no_secrets_remain(components, project, table).passed
    path = components.lake.file(table, project, wordy.flaky)
    assert path is not None
    _put_into_a_row(path, f"export GITHUB_TOKEN={TOKEN}")
    *_, last = components.lake.sessions(table, project)
    components.lake.delete(table, project, last)
    assert path.exists()
    assert not no_secrets_remain(components, project, table).passed


def _put_into_a_row(path: Path, text: str) -> None:
    """Replace the text of the first row of a Parquet file as another program would, which keeps
    the metadata."""
    rows = pq.ParquetFile(path).read()
    at = rows.schema.get_field_index("text")
    texts = [text, *rows["text"].to_pylist()[1:]]
    changed = rows.set_column(
        at, rows.schema.field(at), pa.array(texts, rows.schema.field(at).type)
    )
    metadata = pq.ParquetFile(path).metadata.metadata
    pq.write_table(changed.replace_schema_metadata(metadata), path)


def test_a_damaged_file_fails_the_checks_that_read_it(
    memory: SampleMemory, capfd: pytest.CaptureFixture[str]
) -> None:
    """What cannot be read has not passed; the other checks are still made."""
    components = memory.components
    session = components.lake.sessions(REDACTED_RECORDS, memory.harbor)[0]
    own_file(components.lake, REDACTED_RECORDS, memory.harbor, session).write_bytes(b"PAR1 torn")
    code, answer, _ = _verify(memory, capfd, projects=[memory.harbor])
    assert code == exit_codes.CHECK_FAILED
    assert len(answer["checks"]) == len(CHECKS)
    failed = {(made["subject"], made["check"]) for made in answer["checks"] if not made["passed"]}
    assert ("redacted_records", "matches_schema") in failed
    assert ("turn_chunks", "matches_schema") not in failed


def test_a_wrong_question_is_answered_with_the_right_one(
    memory: SampleMemory, canaries: Path, tmp_path: Path
) -> None:
    """Unknown project, canaries without --deep, no memory at all: each says what to do."""

    def ask(settings: Any, **given: Any) -> int:
        options = {"projects": [], "deep": False, "canary_file": None, "as_json": True, **given}
        return verify_memory(settings, **options)

    with pytest.raises(ConfigurationError, match=r"known are: .*harbor"):
        ask(memory.settings, projects=["-nowhere"])
    with pytest.raises(ConfigurationError, match="verify --deep` only"):
        ask(memory.settings, canary_file=canaries)
    with pytest.raises(NotFound, match="run `memory ingest`"):
        ask(load_settings(data_dir=tmp_path / "empty"))
