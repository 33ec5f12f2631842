"""Events of a run as Dagster 1.13.27 serializes them: JSON objects that name their class.

A test reads each of them with Dagster, and compares it with what Dagster writes.
"""

from __future__ import annotations

import json
import logging
import os
import time
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, NamedTuple

Metadata = Mapping[str, str | int | float | Path]
MATERIALIZATION = "ASSET_MATERIALIZATION"
EVALUATION = "ASSET_CHECK_EVALUATION"
FAILURE = "PIPELINE_FAILURE"


@dataclass(frozen=True)
class Materialization:
    """The partition of a project was materialized, or an asset without partitions (None); `tags`
    say from what, and give its data version."""

    project: str | None
    asset: str
    metadata: Metadata
    tags: Mapping[str, str]


@dataclass(frozen=True)
class Evaluation:
    """A check of an asset was evaluated for the partition of a project."""

    project: str
    asset: str
    check: str
    passed: bool
    warning: bool
    metadata: Metadata
    description: str | None


AssetEvent = Materialization | Evaluation


class EventRow(NamedTuple):
    """A row of `event_logs`, without its id."""

    run_id: str
    event: str
    dagster_event_type: str | None
    timestamp: str
    step_key: str | None
    asset_key: str | None = None
    partition: str | None = None


class Events:
    """Makes the events of one run."""

    def __init__(self, run_id: str, job: str) -> None:
        self.run_id = run_id
        self.job = job

    def of_run(self, kind: str, message: str, data: object = None) -> EventRow:
        """Return an event of the run: PIPELINE_START, PIPELINE_SUCCESS, PIPELINE_FAILURE."""
        return self._row(self._event(kind, data, message, os.getpid()), None, message)

    def of_step(self, kind: str, step: str, message: str, data: object = None) -> EventRow:
        """Return an event of a step: STEP_START, STEP_SUCCESS, STEP_FAILURE."""
        node = {"__class__": "SolidHandle", "name": step, "parent": None}
        event = self._event(kind, data, message, os.getpid(), step) | {
            "logging_tags": {
                "job_name": self.job,
                "op_name": step,
                "resource_fn_name": "None",
                "resource_name": "None",
                "run_id": self.run_id,
                "step_key": step,
            },
            "solid_handle": node,
            "step_handle": {"__class__": "StepHandle", "key": step, "solid_handle": node},
            "step_kind_value": "COMPUTE",
        }
        level = logging.ERROR if kind == "STEP_FAILURE" else logging.DEBUG
        return self._row(event, step, message, level)

    def of_asset(self, step: str, what: AssetEvent) -> EventRow:
        """Return the event that a step materialized or checked an asset."""
        if isinstance(what, Evaluation):
            return self._row(self._event(EVALUATION, _evaluation(what), None, None, step), step)
        data = {
            "__class__": "StepMaterializationData",
            "asset_lineage": [],
            "materialization": _materialization(what),
        }
        row = self._row(self._event(MATERIALIZATION, data, None, None, step), step)
        return row._replace(asset_key=key_of(what.asset), partition=what.project)

    def of_log(self, step: str, message: str) -> EventRow:
        """Return an error message of a step."""
        return self._row(None, step, message, logging.ERROR)

    def _event(
        self, kind: str, data: object, message: str | None, pid: int | None, step: str | None = None
    ) -> dict[str, object]:
        return {
            "__class__": "DagsterEvent",
            "event_specific_data": data,
            "event_type_value": kind,
            "logging_tags": {},
            "message": message,
            "pid": pid,
            "pipeline_name": self.job,
            "solid_handle": None,
            "step_handle": None,
            "step_key": step,
            "step_kind_value": None,
        }

    def _row(
        self,
        event: dict[str, Any] | None,
        step: str | None,
        message: str = "",
        level: int = logging.DEBUG,
    ) -> EventRow:
        now = time.time()
        entry = {
            "__class__": "EventLogEntry",
            "dagster_event": event,
            "error_info": None,
            "level": level,
            "message": "",
            "pipeline_name": self.job,
            "run_id": self.run_id,
            "step_key": step,
            "timestamp": now,
            "user_message": message,
        }
        kind = event["event_type_value"] if event else None
        return EventRow(self.run_id, json.dumps(entry, sort_keys=True), kind, in_utc(now), step)


def key_of(asset: str) -> str:
    """Return the key of an asset as its column has it."""
    return json.dumps([asset])


def in_utc(timestamp: float) -> str:
    """Return a time as columns have it: in UTC, without an offset."""
    return datetime.fromtimestamp(timestamp, UTC).strftime("%Y-%m-%d %H:%M:%S.%f")


def as_record(event: EventRow, number: int) -> str:
    """Return an event with its id, as the asset's row repeats the last one."""
    return (
        f'{{"__class__": "EventLogRecord", "event_log_entry": {event.event}, '
        f'"storage_id": {number}}}'
    )


def success(seconds: float) -> dict[str, object]:
    """Return the data of STEP_SUCCESS."""
    return {"__class__": "StepSuccessData", "duration_ms": 1_000 * seconds}


def step_failure(kind: str, reason: str) -> dict[str, object]:
    """Return the data of STEP_FAILURE: the class of the error, and a reason fit to be shown."""
    return {
        "__class__": "StepFailureData",
        "error": {
            "__class__": "SerializableErrorInfo",
            "cause": None,
            "cls_name": kind,
            "context": None,
            "message": f"{kind}: {reason}\n",
            "stack": [],
        },
        "error_source": {"__enum__": "ErrorSource.USER_CODE_ERROR"},
        "user_failure_data": None,
    }


def run_failure(reason: str) -> dict[str, object]:
    """Return the data of PIPELINE_FAILURE: `reason` is a name of Dagster's RunFailureReason."""
    return {
        "__class__": "PipelineFailureData",
        "error": None,
        "failure_reason": {"__enum__": f"RunFailureReason.{reason}"},
        "first_step_failure_event": None,
    }


def _materialization(made: Materialization) -> dict[str, object]:
    return {
        "__class__": "AssetMaterialization",
        "asset_key": _asset_key(made.asset),
        "description": None,
        "metadata_entries": [
            {
                "__class__": "EventMetadataEntry",
                "description": None,
                "entry_data": _value(value),
                "label": label,
            }
            for label, value in made.metadata.items()
        ],
        "partition": made.project,
        "tags": dict(made.tags),
    }


def _evaluation(checked: Evaluation) -> dict[str, object]:
    severity = "WARN" if checked.warning else "ERROR"
    return {
        "__class__": "AssetCheckEvaluation",
        "asset_key": _asset_key(checked.asset),
        "blocking": None,
        "check_name": checked.check,
        "description": checked.description,
        "metadata": {label: _value(value) for label, value in checked.metadata.items()},
        "partition": checked.project,
        "severity": {"__enum__": f"AssetCheckSeverity.{severity}"},
        "success": checked.passed,
        "target_materialization_data": None,
    }


def _asset_key(asset: str) -> dict[str, object]:
    return {"__class__": "AssetKey", "path": [asset]}


def _value(value: str | int | float | Path) -> dict[str, object]:
    if isinstance(value, Path):
        return {"__class__": "PathMetadataEntryData", "path": str(value)}
    if isinstance(value, str):
        return {"__class__": "TextMetadataEntryData", "text": value}
    kind = "Float" if isinstance(value, float) else "Int"
    return {"__class__": f"{kind}MetadataEntryData", "value": value}
