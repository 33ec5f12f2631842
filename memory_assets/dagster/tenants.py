"""Deriving shards for many people: a code location of its own, which needs no memory
(`dagster dev -m memory_assets.dagster.tenants`; docs/scale.md).

A tenant is a person: the folder below MEMORY_DERIVE_FROM with the shards of their machines. Each is
a [partition](https://docs.dagster.io/guides/build/partitions-and-backfills), from which alone a run
knows whom it is for. What is out of date is known from the heads of shards, not from what was run
(`Head.made_of`), so nothing is lost with Dagster's history, which may be kept anywhere.
"""

# No `from __future__ import annotations`: Dagster reads the annotation of an op's `context` at
# run time (dagster#26837).

import json
import time
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from dataclasses import asdict, fields
from pathlib import Path
from typing import Any

import dagster as dg

from memory_assets.dagster.instance_runs import runs_under_way
from memory_assets.dagster.partitions import LastRequest, add_keys, new_keys
from memory_assets.errors import (
    ConfigurationError,
    StoreDamaged,
    StoreError,
    StoreMismatch,
    no_text_in_errors,
)
from memory_assets.pipeline.plan.plan import code_versions
from memory_assets.pipeline.stage.components import components_of
from memory_assets.pipeline.stage.report import input_hash
from memory_assets.private_files import create_private_files, keep_temporary_files
from memory_assets.settings import Settings, load_settings
from memory_assets.shards.derive import DeriveReport, Work, made_of
from memory_assets.shards.workers import derive_all
from memory_assets.stores.files.shared import is_locked, locked
from memory_assets.stores.runs.names import NO_KEY, is_valid_key
from memory_assets.stores.shard.objects import Objects, open_objects
from memory_assets.stores.shard.replicas import FOLDER, is_below
from memory_assets.stores.shard.shard import Shard, shards_below

TENANTS = "tenants"
ASSET = "derived_shards"
JOB = "derive_tenants"
OP = "derive_batch"
_HEADS_AT_ONCE = 16
_BATCH = 50
"""Tenants of one run."""
_MOST_SECONDS = 3_600.0
"""Longest wait before a tenant is asked for again that is still out of date."""

tenants = dg.DynamicPartitionsDefinition(name=TENANTS)


class TenantsConfig(dg.Config):
    """Run configuration of derive_tenants."""

    tenants: list[str]
    """Partition keys."""


def tenant_of(shard: str) -> str:
    """Return the partition of a shard's owner: the folder that it is in, or its own name, with `|`
    for slashes; "" if that can be none."""
    tenant = shard.rpartition("/")[0] or shard
    return tenant.replace("/", "|") if "|" not in tenant else ""


def _shard_stores(settings: Settings) -> tuple[Objects, Objects]:
    """Return where shards are, and where derived ones go.

    Raises:
        ConfigurationError: they are not set, or one is within the other.
        StoreError: nothing is there: the share may not be mounted.
    """
    source, target = settings.derive_from, settings.derive_to
    if source is None or target is None:
        raise ConfigurationError("set MEMORY_DERIVE_FROM and MEMORY_DERIVE_TO")
    if is_below(source, target) or is_below(target, source):
        raise ConfigurationError("MEMORY_DERIVE_TO and MEMORY_DERIVE_FROM must be apart")
    if open_objects(source).is_away():
        raise StoreError(f"{source} is empty, or not mounted")
    return open_objects(source), open_objects(target)


def _works_of_tenants(settings: Settings, keys: Iterable[str]) -> dict[Work, str]:
    """Return the work on each shard of these tenants, with its tenant; also on derived shards whose
    source is gone."""
    source, target = _shard_stores(settings)
    return {
        Work(settings, source.url, target.url, name): tenant
        for tenant in keys
        for name in {
            shard.name
            for objects in (source, target)
            for shard in shards_below(objects, tenant.replace("|", "/"))
            if tenant_of(shard.name) == tenant
        }
    }


def _derive(settings: Settings, keys: Sequence[str]) -> Iterator[tuple[str, list[DeriveReport]]]:
    """Derive the shards of tenants; yield each tenant when all of its shards are done."""
    works = _works_of_tenants(settings, keys)
    names = {work.name: tenant for work, tenant in works.items()}
    left = {tenant: list(names.values()).count(tenant) for tenant in keys}
    done: dict[str, list[DeriveReport]] = defaultdict(list)
    for derived in derive_all(settings, list(works)):
        tenant = names[derived.name]
        done[tenant].append(derived)
        left[tenant] -= 1
        if not left[tenant]:
            yield tenant, done[tenant]


def _metadata(done: Iterable[DeriveReport]) -> dict[str, int]:
    """Return the sums of the shards' counts: no text, no name of a project."""
    rows = [asdict(shard) for shard in done]
    names = (
        field.name for field in fields(DeriveReport) if field.type in ("int", int, "bool", bool)
    )
    counts = {name: sum(int(row[name]) for row in rows) for name in names if name != "generation"}
    return {"shards": len(rows), **counts}


def _failures(done: Iterable[DeriveReport]) -> list[str]:
    return [f"{shard.name}: {shard.failed}" for shard in done if shard.failed]


@dg.asset(
    name=ASSET,
    partitions_def=tenants,
    backfill_policy=dg.BackfillPolicy.single_run(),
    group_name=TENANTS,
)
def derived_shards(
    context: dg.AssetExecutionContext, settings: dg.ResourceParam[Settings]
) -> dg.MaterializeResult[None]:
    """What workers make of the redacted records in the shards of each tenant, with their own models
    and versions of the code. The sensor asks for it in batches; by hand, for any tenants."""
    done = [shard for _, derived in _derive(settings, context.partition_keys) for shard in derived]
    if failures := _failures(done):
        raise dg.Failure("; ".join(failures))
    return dg.MaterializeResult(metadata=_metadata(done))


@dg.op(name=OP)
def derive_batch(
    context: dg.OpExecutionContext, config: TenantsConfig, settings: dg.ResourceParam[Settings]
) -> None:
    """Derive the shards of many tenants; log a materialization of each that is done."""
    if not all(map(is_valid_key, config.tenants)):
        raise dg.Failure(f"a name {NO_KEY}", allow_retries=False)
    add_keys(context.instance, config.tenants, tenants)
    failed = 0
    with _run_locked(settings, context.run_id):
        for tenant, done in _derive(settings, config.tenants):
            if failures := _failures(done):
                failed += 1
                context.log.error(f"{tenant}: {'; '.join(failures)}")
                continue
            context.log_event(
                dg.AssetMaterialization(ASSET, partition=tenant, metadata=_metadata(done))
            )
    if failed:
        why = f"{failed} of {len(config.tenants)} tenants failed; the others are done"
        raise dg.Failure(why, allow_retries=False)


@dg.job(
    name=JOB,
    executor_def=dg.in_process_executor,
    tags={"dagster/max_runtime": "7200"},
    description="Derives the shards of some tenants anew.",
)
def derive_tenants() -> None:
    """One run for a batch of tenants."""
    derive_batch()


@dg.sensor(
    job=derive_tenants,
    minimum_interval_seconds=60,
    default_status=dg.DefaultSensorStatus.RUNNING,
    description="Requests runs for the tenants whose shards changed.",
)
@no_text_in_errors()
def shard_heads_sensor(
    context: dg.SensorEvaluationContext, settings: dg.ResourceParam[Settings]
) -> dg.SensorResult:
    """Request runs for the tenants whose shards have other heads than the cursor says, or whose
    derived shards are still out of date some minutes after they were asked for. Three small
    requests to the store a shard."""
    source, target = _shard_stores(settings)
    expected = _expected_marks(settings, source)
    existing = set(context.instance.get_dynamic_partitions(TENANTS))
    orphaned = {
        name for name in existing - expected.keys() if shards_below(target, name.replace("|", "/"))
    }
    # Their shards are gone, the derived ones are not.
    expected |= {name: {} for name in orphaned}
    last_requests: dict[str, Any] = json.loads(context.cursor or "{}")
    requested = {name: LastRequest(*values) for name, values in last_requests.items()}
    busy = _busy_tenants(context.instance, settings)
    due = dict[str, LastRequest]()
    for tenant, marks in sorted(expected.items()):
        last = requested.get(tenant, LastRequest())
        mark = input_hash(*sorted(marks.values()))
        now = time.time()
        if tenant in busy or last.still_covers(mark, now, _MOST_SECONDS):
            continue
        if last.fingerprint == mark and marks and _has_marks(target, marks):
            requested[tenant] = last._replace(attempt=0)  # done: later ticks skip it
        else:
            requested[tenant] = due[tenant] = last.again(mark, now)
    gone = existing - expected.keys()
    requests = [tenants.build_add_request(new_keys(context.instance, due, tenants))] if due else []
    return dg.SensorResult(
        run_requests=list(_run_requests(due)),
        skip_reason=None if due else "every derived shard is up to date, or was asked for",
        dynamic_partitions_requests=[
            *(request for request in requests if request.partition_keys),
            *([tenants.build_delete_request(sorted(gone))] if gone else []),
        ],
        cursor=json.dumps({name: requested[name] for name in sorted(requested.keys() & expected)}),
    )


def _lock_of(settings: Settings, run_id: str) -> Path:
    """Return the file that a run has locked while it works, and deletes then."""
    return settings.data_dir / FOLDER / f"{run_id}.lock"


@contextmanager
def _run_locked(settings: Settings, run_id: str) -> Iterator[None]:
    """Hold the run's lock during this block, so that `_busy_tenants` notices a killed process."""
    lock = _lock_of(settings, run_id)
    with locked(lock, settings.lock_timeout_seconds, "this run is under way"):
        try:
            yield
        finally:
            with suppress(OSError):  # Windows removes no file that is open
                lock.unlink()


def _busy_tenants(instance: dg.DagsterInstance, settings: Settings) -> set[str]:
    """Return the tenants of the runs that wait or work. Runs whose process was killed on this
    machine are reported as failed: else they would keep their tenants, and their place in the
    queue, until `max_runtime`. (Elsewhere, as in a pod, Dagster's launcher notices.)"""
    busy = set[str]()
    for run in runs_under_way(instance, JOB):
        lock = _lock_of(settings, run.run_id)
        if lock.exists() and not is_locked(lock):
            instance.report_run_failed(run, "its process was killed")
            lock.unlink(missing_ok=True)
        else:
            busy.update(_tenants_in(run.run_config))
    return busy


def _tenants_in(config: Mapping[str, Any]) -> list[str]:
    """Return the tenants in the configuration of a run."""
    names: list[str] = config["ops"][OP]["config"]["tenants"]
    return names


def _expected_marks(settings: Settings, source: Objects) -> dict[str, dict[str, str]]:
    """Return for each tenant the `made_of` that each derived shard's head should have, by shard; ""
    if the source's head is damaged, which the tenant's run then reports."""
    versions = code_versions(components_of(settings))

    def expected_mark(shard: Shard) -> str:
        with suppress(StoreDamaged, StoreMismatch):
            head = shard.head()
            return made_of(head, versions) if head is not None else ""
        return ""

    shards = [shard for shard in shards_below(source) if is_valid_key(tenant_of(shard.name))]
    marks: dict[str, dict[str, str]] = defaultdict(dict)
    with ThreadPoolExecutor(_HEADS_AT_ONCE) as threads:
        for shard, mark in zip(shards, threads.map(expected_mark, shards), strict=True):
            marks[tenant_of(shard.name)][shard.name] = mark
    return dict(marks)


def _has_marks(target: Objects, expected: Mapping[str, str]) -> bool:
    heads = {name: Shard(target, name).head() for name in expected}
    return all(head is not None and head.made_of == expected[name] for name, head in heads.items())


def _run_requests(due: Mapping[str, LastRequest]) -> Iterator[dg.RunRequest]:
    names = list(due)
    for start in range(0, len(names), _BATCH):
        batch = names[start : start + _BATCH]
        yield dg.RunRequest(
            run_key=input_hash(
                *(f"{name}:{due[name].fingerprint}:{due[name].attempt}" for name in batch)
            ),
            run_config={"ops": {OP: {"config": {"tenants": batch}}}},
            tags={"memory/reason": f"{len(batch)} tenants"},
        )


def build_defs(settings: Settings | None = None) -> dg.Definitions:
    """Return the code location, for `settings` or, without, those of the environment at the
    beginning of each run or tick. Run configuration names tenants only."""
    resource = dg.ResourceDefinition(
        lambda _: settings or load_settings(), config_schema={}, description="MEMORY_* variables."
    )
    return dg.Definitions(
        assets=[derived_shards],
        jobs=[derive_tenants],
        sensors=[shard_heads_sensor],
        resources={"settings": resource},
        executor=dg.in_process_executor,
    )


create_private_files()
keep_temporary_files(load_settings().data_dir)
defs = build_defs()
