"""ingests_sensor and record_ingests: what the command line noted comes to Dagster's catalogue."""

from __future__ import annotations

import time
from collections.abc import Iterator

import dagster as dg
import pytest

from memory_assets.pipeline.stage.components import Components
from memory_assets.settings import Settings
from memory_assets.stores.runs.events import Materialization
from memory_assets.stores.runs.ledger import Unreported
from memory_assets.stores.runs.names import RECORD_JOB, projects_of
from memory_assets_tests.dagster.recorded import ingests_tick, record_ingests

WEEKS_AGO = 1_700_000_000.0


@pytest.fixture
def instance() -> Iterator[dg.DagsterInstance]:
    """An instance of the test's own, in memory."""
    with dg.DagsterInstance.ephemeral() as opened:
        yield opened


def _made(number: int, *, run: str = "noted", at: float = WEEKS_AGO) -> Unreported:
    name = f"-p{number:05d}"
    return Unreported(run, at + number, Materialization(name, "raw_sessions", {}, "1", "2"))


def _materializations(instance: dg.DagsterInstance) -> list[tuple[str | None, str | None]]:
    """Partition and run of the command line of each, the oldest first."""
    records = instance.fetch_materializations(dg.AssetKey("raw_sessions"), limit=99, ascending=True)
    return [
        (record.partition_key, (record.asset_materialization.tags or {}).get("memory/run"))
        for record in records.records
        if record.asset_materialization is not None
    ]


def test_a_tick_over_ten_thousand_projects_asks_for_those_that_wait_longest(
    sample_settings: Settings, instance: dg.DagsterInstance
) -> None:
    """After weeks without Dagster: one run of a bounded number, well within a tick's minute."""
    Components(sample_settings).runs.note_unreported(map(_made, reversed(range(10_000))))
    began = time.process_time()
    asked = ingests_tick(instance, sample_settings)
    assert time.process_time() - began < 20.0
    assert isinstance(asked, dg.SensorResult)
    (request,) = asked.run_requests or ()
    names = request.run_config["ops"]["record_outcomes"]["config"]["projects"]
    most = sample_settings.sensor_projects_per_tick
    assert names == [f"-p{number:05d}" for number in range(most)]


def test_a_run_that_is_repeated_logs_nothing_twice(
    sample_settings: Settings, instance: dg.DagsterInstance
) -> None:
    """As when its process was killed after it had logged, before the ledger knew: the same events
    wait again. The time is that at which they happened."""
    ledger = Components(sample_settings).runs
    for _ in range(2):
        ledger.note_unreported([_made(1), _made(2)])
        (run_id,) = record_ingests(instance, sample_settings)
        run = instance.get_run_by_id(run_id)
        assert run is not None and projects_of(run) == ["-p00001", "-p00002"]
        assert ledger.unreported_partitions() == {}
    assert _materializations(instance) == [("-p00001", "noted"), ("-p00002", "noted")]
    (record, *_) = instance.fetch_materializations(dg.AssetKey("raw_sessions"), limit=1).records
    assert record.asset_materialization is not None
    assert record.asset_materialization.metadata["made_at"].value == WEEKS_AGO + 2


def test_what_dagster_has_made_since_stays_the_newest(
    sample_settings: Settings, instance: dg.DagsterInstance
) -> None:
    """An older event of the command line that comes later is not logged."""
    instance.report_runless_asset_event(
        dg.AssetMaterialization("raw_sessions", partition="-p00001")
    )
    Components(sample_settings).runs.note_unreported([_made(1)])
    record_ingests(instance, sample_settings)
    assert _materializations(instance) == [("-p00001", None)]


def test_nothing_is_asked_for_while_the_last_run_is_under_way(
    sample_settings: Settings, instance: dg.DagsterInstance
) -> None:
    """It would log the same."""
    Components(sample_settings).runs.note_unreported([_made(1)])
    instance.add_run(dg.DagsterRun(RECORD_JOB, status=dg.DagsterRunStatus.STARTED))
    assert isinstance(ingests_tick(instance, sample_settings), dg.SkipReason)
