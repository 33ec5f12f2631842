"""Whatever fails, and however loudly: no event, log or message repeats a transcript.

Each test makes one stage fail on a session that holds a secret and a distinctive
sentence, with an error that quotes both, runs the assets and checks on a real Dagster
instance, and searches every byte of the instance and of what was printed for them.
"""

from __future__ import annotations

import json
import sys
import traceback
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NoReturn

import dagster as dg
import pytest

from memory_assets.cli import cli, exit_codes
from memory_assets.cli.dagster.home import open_instance
from memory_assets.dagster.assets import step
from memory_assets.dagster.definitions import build_defs
from memory_assets.dagster.partitions import add_keys
from memory_assets.embedding.minilm import MiniLM
from memory_assets.errors import StoreError, UnexpectedFailure, no_text_in_errors
from memory_assets.pipeline.checks import expectations
from memory_assets.pipeline.checks.deep_scan import deep_scan
from memory_assets.pipeline.checks.value_search import ValueSearch
from memory_assets.pipeline.redact import session_redaction as session_passes
from memory_assets.pipeline.scan import on_disk, raw_sessions
from memory_assets.pipeline.stage import session_cache as session_reading
from memory_assets.pipeline.stage.components import Components
from memory_assets.pipeline.stage.session_cache import ReadRecords
from memory_assets.pipeline.tables import derive
from memory_assets.pipeline.tables import turn_chunks as chunk
from memory_assets.redaction import Redactor, SessionRedactor
from memory_assets.redaction.known_secrets import KnownValues
from memory_assets.settings import Settings, load_settings
from memory_assets.stores.catalog.catalog import Catalog
from memory_assets.stores.catalog.sources import Sources
from memory_assets.stores.chroma import collections as vectors
from memory_assets.stores.chroma import server as chroma_server
from memory_assets.stores.lake.rows import arrow_rows
from memory_assets.stores.lake.schemas import TURN_CHUNKS
from memory_assets.stores.runs.names import INGEST_JOB
from memory_assets_tests.command_line import environment_of
from memory_assets_tests.own_files import altered
from memory_assets_tests.transcript_files import claude_line

SECRET = "ghp_" + "wWPw5k4aXcaT4fNP" + "0UcnZwJUVFk6LO0pINUx"
SENTENCE = "quixotic marmalade under seven lighthouses"
PIECES = ("quixotic marmalade", "seven lighthouses", SENTENCE)
_SET_BY_INGEST = ("DAGSTER_HOME", "DAGSTER_DISABLE_TELEMETRY", "MEMORY_DATA_DIR")
PROJECT, SESSION = "-home-ada-engine", "0c8f4f3e-2d1b-4f6a-9b57-6f1e2a3b4c5d"


@dataclass
class Workshop:
    """One memory over one session, which grows before each run so that there is work."""

    root: Path
    turns: int = 0

    @property
    def settings(self) -> Settings:
        """Settings that read the one session and nothing else."""
        return load_settings(
            data_dir=self.root / "memory",
            projects_dir=self.root / "projects",
            chroma_idle_seconds=60.0,
        )

    def go_on(self) -> None:
        """Append a turn: prompt, a tool call that fails, an answer; all hold the texts."""
        path = self.root / "projects" / PROJECT / f"{SESSION}.jsonl"
        path.parent.mkdir(parents=True, exist_ok=True)
        n, said = self.turns, f"{SENTENCE}, export GITHUB_TOKEN={SECRET}"
        call = {"type": "tool_use", "id": f"toolu_{n}", "name": "Bash"}
        result = {"type": "tool_result", "tool_use_id": f"toolu_{n}", "is_error": True}
        contents: list[Any] = [
            f"turn {n}: {said}",
            [{**call, "input": {"command": f"echo {n} {said}"}}],
            [{**result, "content": f"Error: {n} {said}"}],
            f"answer {n}: {said}",
        ]
        with path.open("a") as file:
            for number, content in enumerate(contents, 4 * n):
                when = f"2026-03-01T10:{n:02d}:0{number % 4}.000Z"
                record = claude_line(SESSION, number, content, "/home/ada/engine", when)
                file.write(json.dumps(record) + "\n")
        self.turns += 1

    def materialize(self, assets: Sequence[str]) -> dg.ExecuteInProcessResult:
        """Run some assets and their checks on a real instance, telling all to stderr."""
        defs = build_defs(self.settings)
        with open_instance(self.settings) as instance:
            add_keys(instance, [PROJECT])
            return defs.resolve_job_def(INGEST_JOB).execute_in_process(
                instance=instance,
                partition_key=PROJECT,
                asset_selection=[dg.AssetKey(name) for name in assets],
                raise_on_error=False,
            )

    def held_back(self) -> int:
        """How many sessions are in quarantine."""
        catalog = Catalog(self.settings.data_dir / "catalog.db")
        try:
            return len(catalog.quarantine.entries())
        finally:
            catalog.close()


@pytest.fixture(scope="module")
def workshop(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Workshop]:
    """The memory that all of these tests make fail, one after the other."""
    made = Workshop(tmp_path_factory.mktemp("workshop"))
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("HOME", str(made.root / "home"))
        for name in _SET_BY_INGEST:
            patch.setenv(name, "")
        made.go_on()
        assert made.materialize(RECORDS).success
    yield made
    chroma_server.stop(made.root / "memory")


@pytest.fixture(autouse=True)
def _one_home(workshop: Workshop, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(workshop.root / "home"))
    for name in _SET_BY_INGEST:
        monkeypatch.setenv(name, "")


def loud(*_: object, **__: object) -> NoReturn:
    """Fail as the worst of libraries would: message, cause and note quote the record."""
    error = ValueError(f"cannot handle {SENTENCE!r} with {SECRET}")
    error.add_note(f"it said: {SENTENCE} {SECRET}")
    raise error from KeyError(f"{SECRET} in {SENTENCE}")


def loud_store(*_: object, **__: object) -> NoReturn:
    """Fail with an error of ours whose cause quotes the record."""
    try:
        loud()
    except ValueError as error:
        raise StoreError("the store cannot be used") from error


def _write_fails_for(*tables: str) -> Callable[..., object]:
    real = arrow_rows

    def write(of: Any, *rest: Any, **named: Any) -> Any:
        return loud() if of.name in tables else real(of, *rest, **named)

    return write


Patch = tuple[Any, str, Callable[..., object]]
RECORDS = ("raw_sessions", "redacted_records")
DERIVED = (*RECORDS, "turn_chunks", "user_prompts", "session_summaries")
VECTORS = (*RECORDS, "user_prompts", "prompt_embeddings", "prompt_collection")


def _writing(failing: Callable[..., Any]) -> tuple[tuple[Any, str, Any], ...]:
    """Let rows fail to be written, alone or with those of other sessions."""
    return ((derive, "arrow_rows", failing), (session_passes, "arrow_rows", failing))


FAILURES: dict[str, tuple[tuple[str, ...], tuple[Patch, ...]]] = {
    "reading facts": (RECORDS[:1], ((raw_sessions, "read_session", loud),)),
    "reading records": (
        RECORDS,  # read again, as where what was read is too large to keep
        ((ReadRecords, "pop", lambda *_: None), (session_passes, "read_session", loud)),
    ),
    "redacting a record": (RECORDS, ((SessionRedactor, "redact_record", loud),)),
    "the second pass": (RECORDS, ((SessionRedactor, "propagate", loud),)),
    "writing records": (RECORDS, _writing(_write_fails_for("redacted_records", "redaction_audit"))),
    "the disk": (RECORDS, _writing(loud_store)),
    "the catalogue": (RECORDS[:1], ((Sources, "put", loud_store),)),
    "the lock": (RECORDS[:1], ((Components, "project_lock", loud),)),
    "every check": (RECORDS, ((step, "check_result", loud),)),
    "cutting chunks, prompts and summaries": (
        DERIVED,
        (
            (chunk, "chunk_turn", loud),
            (chunk, "prompt_passages", loud),
            (session_reading, "session_turns", loud),
        ),
    ),
    "writing what is derived": (
        DERIVED,
        _writing(_write_fails_for("turn_chunks", "user_prompts", "session_summaries")),
    ),
    "expectations": (DERIVED, ((expectations, "facts", loud),)),
    "embedding": (VECTORS, ((MiniLM, "embed", loud),)),
    "writing vectors": (VECTORS, _writing(_write_fails_for("prompt_embeddings"))),
    "Chroma": (VECTORS, ((vectors.ChromaCollection, "upsert", loud),)),
    "Chroma as we tell it": (VECTORS, ((vectors.ChromaCollection, "upsert", loud_store),)),
}


SIMILAR = {
    "writing vectors",
    "Chroma",
    "the disk",
    "the second pass",
    "writing what is derived",
    "reading records",
    "the lock",
    "Chroma as we tell it",
}
"""Of seconds each, and nearly others of them."""


def _assert_nothing_told(workshop: Workshop, printed: str) -> None:
    """Neither text is in the Dagster instance, the catalogue or what was printed; and the
    secret is in no file at all."""
    data = workshop.settings.data_dir
    texts = [("the secret", SECRET), *((f"piece {n}", text) for n, text in enumerate(PIECES))]
    events = [data / "dagster", data / "catalog.db", data / "catalog.db-wal"]
    told = deep_scan(events, texts, KnownValues(bytes(32)))
    assert told.files > 5 and told.hits == [] and told.unreadable == []
    rest = [data, workshop.root / "home"]
    kept = deep_scan(rest, texts[:1], KnownValues(bytes(32)), excluded=events)
    assert kept.files > 5 and kept.hits == []
    assert ValueSearch(texts, KnownValues(bytes(32))).matches(printed.encode()) == []


def test_what_is_made_to_fail_exists() -> None:
    """Most of the failures below run in the long tests only; a name that is gone shows here."""
    patches = [patch for _, patches in FAILURES.values() for patch in patches]
    assert [name for target, name, _ in patches if not hasattr(target, name)] == []


@pytest.mark.parametrize(
    "stage",
    [pytest.param(stage, marks=pytest.mark.long if stage in SIMILAR else ()) for stage in FAILURES],
)
def test_no_stage_tells_what_it_failed_on(
    stage: str,
    workshop: Workshop,
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
) -> None:
    """It fails, it says so, and neither secret nor sentence is in any byte of the run."""
    workshop.go_on()
    assets, patches = FAILURES[stage]
    with monkeypatch.context() as patch:
        for target, name, failing in patches:
            patch.setattr(target, name, failing)
        run = workshop.materialize(assets)
    printed = capfd.readouterr()
    assert not run.success or workshop.held_back()
    _assert_nothing_told(workshop, printed.out + printed.err)


def test_the_command_line_tells_no_more(
    workshop: Workshop, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    """An error outside of any stage ends in one line with its type and place."""
    monkeypatch.setattr(on_disk, "look_for_sources", loud)
    for name, value in environment_of(workshop.settings).items():
        monkeypatch.setenv(name, value)
    monkeypatch.setattr(sys, "argv", ["memory", "ingest"])
    with pytest.raises(SystemExit) as ended:
        cli.main()
    printed = capfd.readouterr()
    assert ended.value.code == exit_codes.ERROR
    assert "error ValueError in " in printed.err
    _assert_nothing_told(workshop, printed.out + printed.err)


@pytest.mark.parametrize(
    ("check", "columns", "value"),
    [
        ("no_secrets_remain", ("text",), f"{SENTENCE} export GITHUB_TOKEN={SECRET}"),
        (
            "independent_scanner_finds_nothing",
            ("text",),
            f"{SENTENCE} export GITHUB_TOKEN={SECRET}",
        ),
        ("matches_schema", ("role", "id", "turn_id"), SENTENCE),
    ],
)
def test_a_failing_check_tells_counts_alone(
    workshop: Workshop,
    capfd: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    check: str,
    columns: tuple[str, ...],
    value: str,
) -> None:
    """Rows that break a rule (a secret at rest, a role and an id that quote the record) fail the
    check of either scanner or of Great Expectations, and none repeats them. The other scanner
    is asked where ours overlooks a secret."""
    if check == "independent_scanner_finds_nothing":
        monkeypatch.setattr(Redactor, "find", lambda *_: iter(()))
    workshop.go_on()
    workshop.materialize(DERIVED[:3])
    capfd.readouterr()
    lake, chunks = Components(workshop.settings).lake, (TURN_CHUNKS, PROJECT, SESSION)
    kept = rows = lake.read(*chunks)
    for column in columns:
        at = rows.schema.get_field_index(column)
        rows = rows.set_column(at, rows.schema.field(at), [[value] * len(rows)])
    altered(lake, *chunks, rows)
    run = workshop.materialize(("turn_chunks",))
    altered(lake, *chunks, kept)
    printed = capfd.readouterr()
    failed = {made.check_name for made in run.get_asset_check_evaluations() if not made.passed}
    assert failed == {check}
    _assert_nothing_told(workshop, printed.out + printed.err)


def test_the_search_would_find_what_is_told(tmp_path: Path) -> None:
    """The same errors without the guard are found, so the tests above mean something."""
    search = ValueSearch([("the secret", SECRET)], KnownValues(bytes(32)))
    for failing in (loud, loud_store):
        with pytest.raises((ValueError, StoreError)) as told:
            failing()
        assert search.matches("".join(traceback.format_exception(told.value)).encode())


def test_an_error_keeps_its_type_and_place() -> None:
    """What is left of a foreign error is enough to find it: type, module and line."""
    with pytest.raises(UnexpectedFailure) as told, no_text_in_errors():
        list(session_reading.turns_of(None, []))  # type: ignore[arg-type]
    assert "AttributeError in pipeline/stage/session_cache.py, line " in str(told.value)
    assert told.value.__cause__ is None and told.value.__traceback__ is not None


def test_our_own_errors_pass_without_their_causes() -> None:
    """An error of ours keeps its type and message; what it was raised from is dropped."""
    with pytest.raises(StoreError, match="the store cannot be used") as told, no_text_in_errors():
        loud_store()
    assert told.value.__cause__ is None and told.value.__context__ is None
