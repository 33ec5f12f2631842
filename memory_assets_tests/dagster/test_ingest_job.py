"""The job in one process on a real instance: the whole graph over the sample sessions."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import dagster as dg
import pytest

from memory_assets.cli.dagster.home import open_instance
from memory_assets.dagster.definitions import ASSETS
from memory_assets.dagster.partitions import add_keys
from memory_assets.pipeline.checks.expectations import facts
from memory_assets.pipeline.stage.components import Components
from memory_assets.settings import Settings
from memory_assets.stores.chroma import server as chroma_server
from memory_assets.stores.lake.schemas import (
    OBSERVATIONS,
    REDACTED_RECORDS,
    SESSION_SUMMARIES,
    TURN_CHUNKS,
    USER_PROMPTS,
    Table,
)
from memory_assets.stores.runs.names import INGEST_JOB
from memory_assets_tests.conftest import copy_sample, settings_of_copy
from memory_assets_tests.dagster.recorded import run_job
from memory_assets_tests.own_files import altered, own_file

PROJECT = "-home-mara-code-harbor-api"
CHECKS = sorted(
    (spec.asset_key.to_user_string(), spec.name) for asset in ASSETS for spec in asset.check_specs
)
SPECS = [spec for asset in ASSETS for spec in asset.specs]
BLOCKING = (REDACTED_RECORDS, TURN_CHUNKS, USER_PROMPTS, SESSION_SUMMARIES, OBSERVATIONS)
"""The tables of free text that something is made from."""
_UP_TO_CHUNKS = ("raw_sessions", "redacted_records", "turn_chunks")
_UP_TO_VECTORS = (*_UP_TO_CHUNKS, "turn_embeddings", "session_collection")
"""What a run makes where the others would say nothing else: a fifth of its CPU."""
FAKE_SECRET = "ghp_" + "Zq4" * 12


@dataclass(frozen=True)
class Ingested:
    """A memory over the sample after one run of the project, and what that run said."""

    settings: Settings
    instance: dg.DagsterInstance
    first: dg.ExecuteInProcessResult

    def run(self, *assets: str) -> dg.ExecuteInProcessResult:
        """One more run of the project, of these assets or of all."""
        return _run(self.settings, self.instance, *assets)

    @contextmanager
    def spoilt(self, table: Table, values: dict[str, list[str]]) -> Iterator[None]:
        """Another content of some columns in a table's first file with rows; put back at the
        end."""
        lake = Components(self.settings).lake
        first = (table, PROJECT, lake.sessions(table, PROJECT)[0])
        before = rows = lake.read(*first)
        for column, column_values in values.items():
            at = rows.schema.get_field_index(column)
            kept = rows[column].to_pylist()[len(column_values) :]
            rows = rows.set_column(at, rows.schema.field(at), [[*column_values, *kept]])
        altered(lake, *first, rows)
        yield
        altered(lake, *first, before)


@pytest.fixture(scope="module")
def ingested(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Ingested]:
    """The memory that all tests but one share; each leaves it as it was."""
    root = tmp_path_factory.mktemp("ingested")
    copy_sample(root / "transcripts")
    settings = settings_of_copy(root)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("HOME", str(root))
        with open_instance(settings) as instance:
            add_keys(instance, [PROJECT])
            yield Ingested(settings, instance, _run(settings, instance))
    chroma_server.stop(settings.data_dir)


def _run(
    settings: Settings, instance: dg.DagsterInstance, *assets: str
) -> dg.ExecuteInProcessResult:
    return run_job(
        settings,
        INGEST_JOB,
        instance,
        partition_key=PROJECT,
        asset_selection=[dg.AssetKey(name) for name in assets] or None,
        raise_on_error=False,
    )


def _metadata(run: dg.ExecuteInProcessResult, asset: str) -> dict[str, object]:
    for event in run.get_asset_materialization_events():
        if event.asset_key == dg.AssetKey(asset):
            return {name: value.value for name, value in event.materialization.metadata.items()}
    raise AssertionError(f"{asset} was not materialized")


def _name(event: dg.DagsterEvent) -> str:
    assert event.asset_key is not None
    return event.asset_key.to_user_string()


def _key(table: Table) -> dg.AssetKey:
    return dg.AssetKey(table.name)


def _downstream(name: str) -> set[str]:
    """Every asset that is made from this one, directly or not."""
    found = {name}
    for spec in SPECS:  # each stands behind what it is made from
        if found & {dep.asset_key.to_user_string() for dep in spec.deps}:
            found.add(spec.key.to_user_string())
    return found - {name}


def test_the_whole_graph_materializes_and_every_check_passes(ingested: Ingested) -> None:
    """One run of a project makes every asset, with counts, and no check fails; the checks are
    made by their asset's step."""
    run = ingested.first
    assert run.success
    made = {_name(event) for event in run.get_asset_materialization_events()}
    assert made == {spec.key.to_user_string() for spec in SPECS}
    checks = run.get_asset_check_evaluations()
    told = [(check.asset_key.to_user_string(), check.check_name) for check in checks]
    assert sorted(told) == CHECKS
    assert len({event.step_key for event in run.all_events if event.is_step_start}) == len(ASSETS)
    assert [check.check_name for check in checks if not check.passed] == []
    assert _metadata(run, "raw_sessions")["dagster/partition_row_count"] == 5
    assert _metadata(run, "redacted_records")["redactions"] > 0  # type: ignore[operator]
    assert _metadata(run, "session_summaries")["dagster/partition_row_count"] == 4


def test_one_of_two_tables_of_a_step_can_be_made_by_itself(ingested: Ingested) -> None:
    """Selected alone, records or audit are reported and checked, the other is not."""
    for name in ("redacted_records", "redaction_audit"):
        run = ingested.run(name)
        assert run.success
        made = [event.asset_key for event in run.get_asset_materialization_events()]
        assert made == [dg.AssetKey(name)]
        told = [check.check_name for check in run.get_asset_check_evaluations()]
        assert sorted(told) == [check for asset, check in CHECKS if asset == name]


def test_a_second_run_does_no_work_and_says_so(ingested: Ingested) -> None:
    """Nothing changed: every asset reports nothing to do and the same data version."""
    first, second = ingested.first, ingested.run()
    assert second.success
    for spec in SPECS:
        name = spec.key.to_user_string()
        assert _metadata(second, name)["work"] == "nothing to do"
        if name != "raw_sessions":
            assert _metadata(second, name)["rows_written"] == 0
    versions = [
        {
            event.asset_key: (event.materialization.tags or {}).get("dagster/data_version")
            for event in run.get_asset_materialization_events()
        }
        for run in (first, second)
    ]
    assert versions[0] == versions[1]
    assert all(versions[0].values())


@pytest.mark.parametrize(
    "table",
    [pytest.param(of, marks=() if of is TURN_CHUNKS else pytest.mark.long) for of in BLOCKING],
    ids=lambda table: table.name,
)
def test_a_secret_at_rest_blocks_everything_downstream(ingested: Ingested, table: Table) -> None:
    """A row that holds a secret fails no_secrets_remain; nothing is made from the asset, directly
    or not, and all else is. The secret is in no event of the run."""
    with ingested.spoilt(table, {"text": [f"export GITHUB_TOKEN={FAKE_SECRET}"]}):
        run = ingested.run()
    assert not run.success
    checks = run.get_asset_check_evaluations()
    own = {check.check_name: check.passed for check in checks if check.asset_key == _key(table)}
    assert own == {"no_secrets_remain": False}  # as the command line, which stops there
    made = {_name(event) for event in run.get_asset_materialization_events()}
    assert made == {spec.key.to_user_string() for spec in SPECS} - _downstream(table.name)
    assert FAKE_SECRET not in repr([str(event) for event in run.all_events])


def test_great_expectations_never_sees_text(ingested: Ingested) -> None:
    """The frame that is validated holds lengths where the table holds free text."""
    rows = Components(ingested.settings).lake.read_partition(REDACTED_RECORDS, PROJECT)
    frame = facts(REDACTED_RECORDS, rows).to_pandas()
    assert len(frame) > 100
    for name in ("text", "command", "cwd", "paths", "project_root"):
        assert frame[name].dtype.kind == "i"
    assert frame["text"].sum() > 1000


def test_the_checks_look_at_what_changed_alone(ingested: Ingested) -> None:
    """A file that passed is not read again until it changes, by any check."""
    ingested.run(*_UP_TO_VECTORS)  # files that another test put back count as changed
    looked_at = ("files_scanned", "sessions_validated", "sessions_compared")
    counts = {
        f"{check.check_name}.{name}": value.value
        for check in ingested.run(*_UP_TO_VECTORS).get_asset_check_evaluations()
        for name, value in check.metadata.items()
        if name in looked_at
    }
    assert len(counts) >= 5 and set(counts.values()) == {0}
    lake = Components(ingested.settings).lake
    path = own_file(lake, TURN_CHUNKS, PROJECT, lake.sessions(TURN_CHUNKS, PROJECT)[0])
    os.utime(path)
    again = {
        (check.asset_key.to_user_string(), name): value.value
        for check in ingested.run(*_UP_TO_VECTORS).get_asset_check_evaluations()
        for name, value in check.metadata.items()
        if name in looked_at and value.value
    }
    assert {asset for asset, _ in again} == {"turn_chunks", "turn_embeddings"}
    assert set(again.values()) == {1}
