"""Helpers of the tests of agents' stores: sources, records and what was said."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from memory_assets.models import Record
from memory_assets.transcripts import Known, ReadReport, Source, Unlisted, discover, read_session
from memory_assets_tests.transcripts.agent_databases import Store
from memory_assets_tests.transcripts.agent_files import DATABASES, STORES

Make = Callable[..., Store]
stores = pytest.mark.parametrize("make", STORES, ids=lambda make: make.__name__)
databases = pytest.mark.parametrize("make", DATABASES, ids=lambda make: make.__name__)
ASKED, SAID = "Why is the stock negative?", "A sale is counted twice."


def found(store: Store, unlisted: list[Unlisted] | None = None) -> list[Source]:
    """Return the sources of a store."""
    note = (lambda each: None) if unlisted is None else unlisted.append
    return list(discover({store.agent: (store.root,)}, Known(), note))


def read(source: Source, report: ReadReport | None = None) -> list[Record]:
    """Return the records of a source."""
    report = report or ReadReport()
    records = list(read_session(source.path, source=source, report=report, end=source.size))
    assert report.records == report.kept + report.dropped.total()
    assert (report.bad_line_count, report.pending_bytes) == (0, 0)
    return records


def told(records: list[Record]) -> list[tuple[str, str]]:
    """Return who said what."""
    kinds = ("prompt", "assistant_text", "tool_use", "tool_result", "title")
    return [(one.kind, one.text) for one in records if one.kind in kinds]


def store_name(make: Make) -> str:
    """Return a name for a store's directory."""
    return str(make.__name__).lower()
