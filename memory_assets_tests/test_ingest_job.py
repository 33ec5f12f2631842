"""The job in one process on a real instance: the whole graph over the sample sessions."""

from __future__ import annotations

from collections.abc import Iterator

import dagster as dg
import pyarrow.parquet as pq
import pytest

from memory_assets.definitions import ASSETS, build_defs
from memory_assets.jobs import INGEST_JOB
from memory_assets.partitions import add_keys
from memory_assets.pipeline.components import Components
from memory_assets.resources import MemoryResource
from memory_assets.settings import Settings
from memory_assets.stores.schemas import REDACTED_RECORDS, TURN_CHUNKS

PROJECT = "-home-mara-code-harbor-api"
QUIET = {"loggers": {"console": {"config": {"log_level": "CRITICAL"}}}}
CHECKS = sum(len(list(check.check_specs)) for check in build_defs().asset_checks or ())
FAKE_SECRET = "ghp_" + "Zq4" * 12


@pytest.fixture
def instance() -> Iterator[dg.DagsterInstance]:
    """A Dagster instance of the test's own."""
    with dg.instance_for_test() as test_instance:
        add_keys(test_instance, [PROJECT])
        yield test_instance


def _run(settings: Settings, instance: dg.DagsterInstance) -> dg.ExecuteInProcessResult:
    job = build_defs({"memory": MemoryResource.of(settings)}).resolve_job_def(INGEST_JOB)
    return job.execute_in_process(
        instance=instance, partition_key=PROJECT, run_config=QUIET, raise_on_error=False
    )


def _metadata(run: dg.ExecuteInProcessResult, asset: str) -> dict[str, object]:
    for event in run.get_asset_materialization_events():
        if event.asset_key == dg.AssetKey(asset):
            return {name: value.value for name, value in event.materialization.metadata.items()}
    raise AssertionError(f"{asset} was not materialized")


def test_the_whole_graph_materializes_and_every_check_passes(
    sample_settings: Settings, instance: dg.DagsterInstance
) -> None:
    """One run of a project makes every asset, with counts, and no check fails."""
    run = _run(sample_settings, instance)
    assert run.success
    made = {event.asset_key.to_user_string() for event in run.get_asset_materialization_events()}
    assert made == {asset.key.to_user_string() for asset in ASSETS}
    checks = run.get_asset_check_evaluations()
    assert len(checks) == CHECKS
    assert [check.check_name for check in checks if not check.passed] == []
    assert _metadata(run, "raw_sessions")["dagster/partition_row_count"] == 5
    assert _metadata(run, "redacted_records")["redactions"] > 0  # type: ignore[operator]
    assert _metadata(run, "session_summaries")["dagster/partition_row_count"] == 4


def test_a_second_run_does_no_work_and_says_so(
    sample_settings: Settings, instance: dg.DagsterInstance
) -> None:
    """Nothing changed: every asset reports nothing to do and the same data version."""
    first = _run(sample_settings, instance)
    second = _run(sample_settings, instance)
    assert second.success
    for asset in ASSETS:
        name = asset.key.to_user_string()
        assert _metadata(second, name)["work"] == "nothing to do"
        if name != "raw_sessions":
            assert _metadata(second, name)["rows_written"] == 0
    versions = [
        {
            event.asset_key: event.materialization.tags.get("dagster/data_version")
            for event in run.get_asset_materialization_events()
        }
        for run in (first, second)
    ]
    assert versions[0] == versions[1]
    assert all(versions[0].values())


def test_a_secret_at_rest_blocks_everything_downstream(
    sample_settings: Settings, instance: dg.DagsterInstance
) -> None:
    """A row that holds a secret fails no_secrets_remain, and nothing is made from it; the
    secret is in no event of the run."""
    assert _run(sample_settings, instance).success
    lake = Components(sample_settings).lake
    session = lake.sessions(REDACTED_RECORDS, PROJECT)[0]
    path = lake.path(REDACTED_RECORDS, PROJECT, session)
    table = pq.read_table(path, partitioning=None)
    texts = table["text"].to_pylist()
    texts[0] = f"export GITHUB_TOKEN={FAKE_SECRET}"
    position = table.schema.get_field_index("text")
    pq.write_table(table.set_column(position, table.schema.field(position), [texts]), path)

    run = _run(sample_settings, instance)

    failed = [check for check in run.get_asset_check_evaluations() if not check.passed]
    assert ("redacted_records", "no_secrets_remain") in {
        (check.asset_key.to_user_string(), check.check_name) for check in failed
    }
    made = {event.asset_key.to_user_string() for event in run.get_asset_materialization_events()}
    assert made == {"raw_sessions", "redacted_records"}
    assert FAKE_SECRET not in repr([str(event) for event in run.all_events])


def test_a_failing_redactor_leaves_nothing_behind(
    sample_settings: Settings,
    instance: dg.DagsterInstance,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """When every record fails, all sessions are quarantined, with a warning, not a crash."""
    from memory_assets.redaction import SessionRedactor

    def explode(*_: object, **__: object) -> None:
        raise ValueError(f"could not redact {FAKE_SECRET}")

    monkeypatch.setattr(SessionRedactor, "redact_record", explode)
    run = _run(sample_settings, instance)
    assert run.success
    assert _metadata(run, "redacted_records")["sessions_quarantined"] == 4
    assert _metadata(run, "turn_chunks")["dagster/partition_row_count"] == 0
    quarantined = [
        check
        for check in run.get_asset_check_evaluations()
        if check.check_name == "no_sessions_quarantined"
    ]
    assert [check.passed for check in quarantined] == [False]
    assert Components(sample_settings).lake.sessions(TURN_CHUNKS, PROJECT) == []
    assert FAKE_SECRET not in repr([str(event) for event in run.all_events])


def test_great_expectations_never_sees_text(
    sample_settings: Settings, instance: dg.DagsterInstance
) -> None:
    """The frame that is validated holds lengths where the table holds free text."""
    from memory_assets.checks.expectations import facts_frame

    assert _run(sample_settings, instance).success
    frame = facts_frame(Components(sample_settings), PROJECT, REDACTED_RECORDS)
    assert len(frame) > 100
    for name in ("text", "command", "cwd", "paths", "project_root"):
        assert frame[name].dtype.kind == "i"
    assert frame["text"].sum() > 1000


def test_great_expectations_rejects_a_table_that_breaks_its_schema(
    sample_settings: Settings, instance: dg.DagsterInstance
) -> None:
    """A role outside the closed set and a repeated id are found, as counts only."""
    assert _run(sample_settings, instance).success
    lake = Components(sample_settings).lake
    session = lake.sessions(TURN_CHUNKS, PROJECT)[0]
    path = lake.path(TURN_CHUNKS, PROJECT, session)
    table = pq.read_table(path, partitioning=None)
    for column, value in (("role", "nobody"), ("id", "same")):
        position = table.schema.get_field_index(column)
        table = table.set_column(position, table.schema.field(position), [[value] * len(table)])
    pq.write_table(table, path)

    run = _run(sample_settings, instance)

    check = next(
        check
        for check in run.get_asset_check_evaluations()
        if (check.asset_key.to_user_string(), check.check_name) == ("turn_chunks", "matches_schema")
    )
    assert not check.passed
    counts = {name: value.value for name, value in check.metadata.items()}
    assert counts["role: column_values_to_be_in_set"] == len(table)
    assert counts["id: column_values_to_be_unique"] == len(table)
