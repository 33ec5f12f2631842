"""What the page shows when the rules change: stale partitions, as its own query sees them."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import dagster as dg
import pytest

from memory_assets.cli.dagster.home import open_instance
from memory_assets.dagster.assets.tables import redacted_records
from memory_assets.dagster.partitions import add_keys
from memory_assets.dagster.resources import present_ruleset_version
from memory_assets.pipeline.stage.components import Components
from memory_assets.pipeline.stage.engines import redaction_settings
from memory_assets.redaction import ruleset_version
from memory_assets.settings import Settings
from memory_assets.stores.runs.names import INGEST_JOB
from memory_assets_tests.dagster.recorded import run_job

REPOSITORY = Path(__file__).resolve().parent.parent.parent
GRAPHQL = Path(sys.executable).parent / "dagster-graphql"
PROJECT = "-home-mara-code-lantern"


QUERY = """{ assetNodes(assetKeys: [{path: ["redacted_records"]}, {path: ["turn_chunks"]}]) {
  assetKey { path } staleStatusByPartition(partitions: ["%s"])
  staleCausesByPartition(partitions: ["%s"]) { category reason } } }"""


def _asked(environment: Mapping[str, str]) -> dict[str, tuple[str, list[str]]]:
    """Status and categories of causes by asset, from a code server of its own."""
    done = subprocess.run(
        [GRAPHQL, "-m", "memory_assets.dagster.definitions", "-t", QUERY % (PROJECT, PROJECT)],
        env={**os.environ, **environment},
        cwd=REPOSITORY,
        capture_output=True,
        text=True,
    )
    line = next(line for line in done.stdout.splitlines() if line.startswith('{"data"'))
    return {
        node["assetKey"]["path"][0]: (
            node["staleStatusByPartition"][0],
            [cause["category"] for cause in node["staleCausesByPartition"][0]],
        )
        for node in json.loads(line)["data"]["assetNodes"]
    }


def _run(settings: Settings) -> dict[str, object]:
    """One run of the project; what turn_embeddings says of it."""
    with open_instance(settings) as instance:
        add_keys(instance, [PROJECT])
        run = run_job(settings, INGEST_JOB, instance, partition_key=PROJECT)
        assert run.success
        (event,) = [
            event
            for event in run.get_asset_materialization_events()
            if event.asset_key == dg.AssetKey("turn_embeddings")
        ]
        products = (
            Components(settings).catalog.products.of_project("redacted_records", PROJECT).values()
        )
        assert run.run_id in {product.run_id for product in products}
    return {name: value.value for name, value in event.materialization.metadata.items()}


@pytest.fixture
def environment(sample_settings: Settings, monkeypatch: pytest.MonkeyPatch) -> dict[str, str]:
    """What `memory dev` would set, for this memory; DAGSTER_HOME is put back."""
    monkeypatch.setenv("DAGSTER_HOME", str(sample_settings.dagster_dir))
    monkeypatch.setenv("MEMORY_DATA_DIR", str(sample_settings.data_dir))
    return {
        "DAGSTER_HOME": str(sample_settings.dagster_dir),
        "DAGSTER_DISABLE_TELEMETRY": "1",
        "MEMORY_DATA_DIR": str(sample_settings.data_dir),
        "PYTHONPATH": str(REPOSITORY),
    }


def test_the_code_version_of_records_is_that_of_the_rules_and_their_settings(
    sample_settings: Settings,
) -> None:
    """By which Dagster knows that a partition is stale (`make test-long` asks its page)."""
    (spec,) = (each for each in redacted_records.specs if each.key.path == ["redacted_records"])
    assert spec.code_version == present_ruleset_version()
    stricter = replace(sample_settings, max_file_bytes=8_191)
    assert ruleset_version(redaction_settings(stricter)) != spec.code_version


@pytest.mark.long
def test_a_change_of_rules_makes_the_partitions_stale_and_a_backfill_embeds_nothing_anew(
    sample_settings: Settings, environment: dict[str, str]
) -> None:
    """Fresh after a run, though another process computes the version; stale by its code when
    the rules or their settings change, and then what is downstream is not, until it is. A
    run redacts every session again, and makes no vector of an unchanged text again."""
    assert _run(sample_settings)["texts_embedded"] != 0
    assert _asked(environment) == {"redacted_records": ("FRESH", []), "turn_chunks": ("FRESH", [])}
    changed = {**environment, "MEMORY_MAX_FILE_BYTES": "8191"}
    assert _asked(changed) == {
        "redacted_records": ("STALE", ["CODE"]),
        "turn_chunks": ("FRESH", []),
    }
    stricter = replace(sample_settings, max_file_bytes=8_191)
    assert _run(stricter)["texts_embedded"] == 0
    products = (
        Components(stricter).catalog.products.of_project("redacted_records", PROJECT).values()
    )
    assert len({product.run_id for product in products}) == 1
