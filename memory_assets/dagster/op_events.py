"""Logging the materializations and check results of many partitions in one op.

`context.log_event` takes materializations and check evaluations of any partition, wherever the
instance keeps its events. Dagster tags a yielded materialization with the versions of its inputs,
and a yielded check result with the materialization that it is about; logged ones are tagged here.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from hashlib import sha256
from itertools import groupby
from typing import Any

import dagster as dg

from memory_assets.dagster.undocumented import target_of_check
from memory_assets.pipeline.ingest.steps import STEPS
from memory_assets.stores.runs.events import AssetEvent, Evaluation, Materialization, Metadata
from memory_assets.stores.runs.ledger import Unreported

RUN_TAG = "memory/run"
"""The tag of a materialization with the id of the command line's run that made it."""
MADE_AT = "made_at"
"""The metadata with the time at which the command line's run had the event."""
_PARTITIONS_A_QUERY = 500
"""Partitions named in one query."""
_ORDER = {asset: number for number, asset in enumerate(STEPS)}
_Latest = dict[tuple[str, str | None], dg.EventLogRecord]
"""The last materialization of each partition of assets, as far as they were looked up."""


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

    def report(self, outcomes: Sequence[Unreported]) -> None:
        """Log the events of the command line's runs, with run and time. Left out are events that
        were logged before, and those of assets that a later run has materialized since."""
        materialized = [row for row in outcomes if isinstance(row.event, Materialization)]
        later_runs: dict[tuple[str, str | None], str] = {}
        for asset, group in groupby(sorted(materialized, key=_asset_name), _asset_name):
            later_runs |= self._materialized_since(asset, list(group))
        new = []
        for outcome in outcomes:
            later_run = later_runs.get((outcome.event.asset, outcome.event.project or None))
            is_evaluation = isinstance(outcome.event, Evaluation)
            if later_run is None or (is_evaluation and later_run == outcome.run_id):
                new.append(outcome)
        self._log(new)

    def _log(self, outcomes: Sequence[Unreported]) -> None:
        materialized = [row for row in outcomes if isinstance(row.event, Materialization)]
        materialized.sort(
            key=lambda row: (_ORDER.get(row.event.asset, len(_ORDER)), row.event.asset)
        )
        latest: _Latest = {}
        for asset, group in groupby(materialized, _asset_name):
            of_asset = list(group)
            partitions = [row.event.project for row in of_asset]
            tags_by_partition = self._input_tags(asset, partitions, latest)
            for outcome in of_asset:
                assert isinstance(outcome.event, Materialization)
                tags = tags_by_partition.get(outcome.event.project, {})
                self._context.log_event(_materialization(outcome.event, outcome, tags))
        evaluated = sorted(
            (row for row in outcomes if isinstance(row.event, Evaluation)), key=_asset_name
        )
        for asset, group in groupby(evaluated, _asset_name):
            self._look_up(asset, [row.event.project or None for row in group], latest)
        # Failures last: of all partitions, Dagster's page shows a check's last result.
        for outcome in sorted(evaluated, key=lambda row: _has_failed(row.event)):
            check = outcome.event
            assert isinstance(check, Evaluation)
            about = latest.get((check.asset, check.project or None))
            # Takes evaluations, too, which its annotation lacks (Dagster 1.13).
            self._context.log_event(_evaluation(check, outcome, about))  # type: ignore[arg-type]
            if _has_failed(check) and not check.warning:
                # Dagster's log shows the result of a check without its partition.
                self.error(f"{check.project}: {check.asset}.{check.check}: {check.description}")

    def _materialized_since(
        self, asset: str, outcomes: Sequence[Unreported]
    ) -> dict[tuple[str, str | None], str]:
        """Return the asset's partitions that were materialized since these events, with the run
        of the last materialization."""
        made_at = {outcome.event.project: outcome.at for outcome in outcomes}
        runs = {}
        for record in self._records(asset, list(made_at), after=min(made_at.values())):
            output = record.asset_materialization
            if output is not None and record.timestamp >= made_at[record.partition_key]:
                runs[asset, record.partition_key] = (output.tags or {}).get(RUN_TAG, "")
        return runs

    def _input_tags(
        self, asset: str, partitions: Sequence[str | None], latest: _Latest
    ) -> dict[str | None, dict[str, str]]:
        """Return the tags with the versions of an asset's inputs, by partition: the last
        materialization of each upstream asset, which is logged first."""
        tags: dict[str | None, dict[str, str]] = {partition: {} for partition in partitions}
        for upstream in STEPS[asset].deps if asset in STEPS else ():
            self._look_up(upstream, partitions, latest)
            for partition, of_partition in tags.items():
                if (record := latest.get((upstream, partition))) is None:
                    continue
                output = record.asset_materialization
                version = (output.tags or {}).get("dagster/data_version", "") if output else ""
                # As Dagster combines the versions of an input's partitions, here of one.
                digest = sha256(version.encode()).hexdigest()
                of_partition[f"dagster/input_data_version/{upstream}"] = digest
                of_partition[f"dagster/input_event_pointer/{upstream}"] = str(record.storage_id)
        return tags

    def _look_up(self, asset: str, partitions: Sequence[str | None], latest: _Latest) -> None:
        """Add the last materializations of an asset's partitions to `latest`."""
        unknown = [name for name in dict.fromkeys(partitions) if (asset, name) not in latest]
        for record in self._records(asset, unknown):
            latest[asset, record.partition_key] = record

    def _records(
        self, asset: str, partitions: Sequence[str | None], after: float | None = None
    ) -> Iterator[dg.EventLogRecord]:
        """Yield the last materialization of each partition of an asset (None: it has none), if it
        was made after a time."""
        for start in range(0, len(partitions), _PARTITIONS_A_QUERY):
            missing = set(partitions[start : start + _PARTITIONS_A_QUERY])
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


def _asset_name(outcome: Unreported) -> str:
    return outcome.event.asset


def _materialization(
    event: Materialization, outcome: Unreported, inputs: Mapping[str, str]
) -> dg.AssetMaterialization:
    tags = {
        "dagster/data_version": event.data_version,
        "dagster/data_version_is_user_provided": "true",
        **({"dagster/code_version": event.code_version} if event.code_version else {}),
        **({RUN_TAG: outcome.run_id} if outcome.run_id else {}),
        **inputs,
    }
    return dg.AssetMaterialization(
        event.asset, partition=event.project, metadata=_metadata(event.metadata, outcome), tags=tags
    )


def _has_failed(event: AssetEvent) -> bool:
    return isinstance(event, Evaluation) and not event.passed


def _evaluation(
    event: Evaluation, outcome: Unreported, about: dg.EventLogRecord | None
) -> dg.AssetCheckEvaluation:
    return dg.AssetCheckEvaluation(
        asset_key=dg.AssetKey(event.asset),
        check_name=event.check,
        passed=event.passed,
        partition=event.project or None,
        metadata=_metadata(event.metadata, outcome),
        target_materialization_data=target_of_check(about) if about else None,
        severity=dg.AssetCheckSeverity.WARN if event.warning else dg.AssetCheckSeverity.ERROR,
        description=event.description,
    )


def _metadata(metadata: Metadata, outcome: Unreported) -> dict[str, Any]:
    """Return metadata with the time at which an event happened outside of this run."""
    made_at = {MADE_AT: dg.MetadataValue.timestamp(outcome.at)} if outcome.run_id else {}
    return {**metadata, **made_at}
