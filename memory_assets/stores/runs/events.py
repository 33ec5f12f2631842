"""Materializations and check results as plain values, which the command line can note for Dagster
without importing it (`ledger.py`)."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path

Metadata = Mapping[str, str | int | float | Path]
_PATH = "path"


@dataclass(frozen=True)
class Materialization:
    """An asset was materialized for a project's partition (None: it has no partitions)."""

    project: str | None
    asset: str
    metadata: Metadata
    code_version: str | None
    data_version: str


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


def to_json(event: AssetEvent) -> str:
    """Return an event as text, from which `from_json` makes it again."""
    values = asdict(event)
    values["metadata"] = {
        name: {_PATH: str(value)} if isinstance(value, Path) else value
        for name, value in event.metadata.items()
    }
    return json.dumps(values, ensure_ascii=False, separators=(",", ":"))


def from_json(text: str) -> AssetEvent:
    """Return the event of a text that `to_json` made."""
    values = json.loads(text)
    values["metadata"] = {
        name: Path(value[_PATH]) if isinstance(value, dict) else value
        for name, value in values["metadata"].items()
    }
    return Evaluation(**values) if "check" in values else Materialization(**values)
