"""Logging what came of the assets of many partitions in one op, each event with its partition.

`context.log_event` takes materializations and check evaluations of any partition, wherever the
instance keeps its events. What a step yields has the tags by which Dagster knows which versions an
asset was made of; what is logged gets them here.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from hashlib import sha256
from itertools import groupby
from pathlib import Path
from typing import Any

import dagster as dg

from memory_assets.pipeline.ingest.steps import STEPS
from memory_assets.stores.runs.events import AssetEvent, Evaluation, Materialization, Metadata
from memory_assets.stores.runs.ledger import Unreported

RUN_TAG = "memory/run"
"""The tag of a materialization with the run of the command line that it is of."""
MADE_AT = "made_at"
"""The metadata of an event with the time at which the command line had it."""
_AT_ONCE = 500
"""Partitions named in one query."""
_ORDER = {asset: number for number, asset in enumerate(STEPS)}


class OpEvents:
    """The events of an op of a run; its context logs them."""

    def __init__(self, context: dg.OpExecutionContext) -> None:
        self._context = context

    def store(self, events: Sequence[AssetEvent]) -> None:
        """Store events: materializations in order of their assets, then evaluations."""
        self._log([Unreported("", 0.0, event) for event in events])

    def error(self, message: str) -> None:
        """Store an error message."""
        self._context.log.error(message)

    def report(self, events: Sequence[Unreported]) -> None:
        """Store events of runs elsewhere, with their run and their time. What was stored before is
        not stored twice, and what a later run has made since not at all."""
        materialized = [entry for entry in events if isinstance(entry.event, Materialization)]
        known: dict[tuple[str, str | None], str] = {}
        for asset, of_asset in groupby(sorted(materialized, key=_asset), _asset):
            known |= self._later(asset, list(of_asset))
        new = []
        for entry in events:
            run = known.get((entry.event.asset, entry.event.project or None))
            is_evaluation = isinstance(entry.event, Evaluation)
            if run is None or (is_evaluation and run == entry.run_id):
                new.append(entry)
        self._log(new)

    def _log(self, events: Sequence[Unreported]) -> None:
        outputs = [entry for entry in events if isinstance(entry.event, Materialization)]
        for asset, of_asset in groupby(sorted(outputs, key=_order), _asset):
            same = list(of_asset)
            inputs = self._inputs(asset, [entry.event.project for entry in same])
            for entry in same:
                assert isinstance(entry.event, Materialization)
                tags = inputs.get(entry.event.project, {})
                self._context.log_event(_materialization(entry.event, entry, tags))
        for entry in events:
            if isinstance(entry.event, Evaluation):
                # Takes evaluations, too, which its annotation lacks (Dagster 1.13).
                self._context.log_event(_evaluation(entry.event, entry))  # type: ignore[arg-type]

    def _later(self, asset: str, events: Sequence[Unreported]) -> dict[tuple[str, str | None], str]:
        """Return the partitions of an asset that were materialized after these events, with the run
        that the last materialization is of."""
        at = {entry.event.project: entry.at for entry in events}
        runs = {}
        for record in self._records(asset, list(at), after=min(at.values())):
            output = record.asset_materialization
            if output is not None and record.timestamp >= at[record.partition_key]:
                runs[asset, record.partition_key] = (output.tags or {}).get(RUN_TAG, "")
        return runs

    def _inputs(
        self, asset: str, partitions: Sequence[str | None]
    ) -> dict[str | None, dict[str, str]]:
        """Return the tags of materializations that name what they are made of, by partition: the
        last materialization of each upstream asset, which is stored before."""
        tags: dict[str | None, dict[str, str]] = {}
        for upstream in STEPS[asset].deps if asset in STEPS else ():
            for record in self._records(upstream, partitions):
                output = record.asset_materialization
                version = (output.tags or {}).get("dagster/data_version", "") if output else ""
                # As Dagster does for the partitions of an input, here one.
                digest = sha256(version.encode()).hexdigest()
                of_partition = tags.setdefault(record.partition_key, {})
                of_partition[f"dagster/input_data_version/{upstream}"] = digest
                of_partition[f"dagster/input_event_pointer/{upstream}"] = str(record.storage_id)
        return tags

    def _records(
        self, asset: str, partitions: Sequence[str | None], after: float | None = None
    ) -> Iterator[dg.EventLogRecord]:
        """Yield the last materialization of each partition of an asset (None: it has none), if it
        was made after a time."""
        for start in range(0, len(partitions), _AT_ONCE):
            missing = set(partitions[start : start + _AT_ONCE])
            names = sorted(name for name in missing if name is not None)
            wanted = dg.AssetRecordsFilter(
                dg.AssetKey(asset), asset_partitions=names or None, after_timestamp=after
            )
            cursor, has_more = None, True
            while missing and has_more:
                page = self._context.instance.fetch_materializations(
                    wanted, limit=len(missing), cursor=cursor
                )
                for record in page.records:
                    if record.partition_key in missing:
                        missing.discard(record.partition_key)
                        yield record
                cursor, has_more = page.cursor, page.has_more


def _asset(entry: Unreported) -> str:
    return entry.event.asset


def _order(entry: Unreported) -> tuple[int, str]:
    return _ORDER.get(entry.event.asset, len(_ORDER)), entry.event.asset


def _materialization(
    event: Materialization, of: Unreported, inputs: Mapping[str, str]
) -> dg.AssetMaterialization:
    tags = {
        "dagster/data_version": event.data_version,
        "dagster/data_version_is_user_provided": "true",
        **({"dagster/code_version": event.code_version} if event.code_version else {}),
        **({RUN_TAG: of.run_id} if of.run_id else {}),
        **inputs,
    }
    return dg.AssetMaterialization(
        event.asset, partition=event.project, metadata=_metadata(event.metadata, of), tags=tags
    )


def _evaluation(event: Evaluation, of: Unreported) -> dg.AssetCheckEvaluation:
    return dg.AssetCheckEvaluation(
        asset_key=dg.AssetKey(event.asset),
        check_name=event.check,
        passed=event.passed,
        partition=event.project or None,
        metadata=_metadata(event.metadata, of),
        severity=dg.AssetCheckSeverity.WARN if event.warning else dg.AssetCheckSeverity.ERROR,
        description=event.description,
    )


def _metadata(metadata: Metadata, of: Unreported) -> dict[str, dg.MetadataValue[Any]]:
    """Return metadata as Dagster has it, with the time of what happened elsewhere."""
    values = {
        name: dg.MetadataValue.path(value)
        if isinstance(value, Path)
        else dg.MetadataValue.text(value)
        if isinstance(value, str)
        else dg.MetadataValue.float(value)
        if isinstance(value, float)
        else dg.MetadataValue.int(value)
        for name, value in metadata.items()
    }
    return values | ({MADE_AT: dg.MetadataValue.timestamp(of.at)} if of.run_id else {})
