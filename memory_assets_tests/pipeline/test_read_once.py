"""A transcript is parsed once: redaction gets the records that the scan has just read."""

from __future__ import annotations

from memory_assets.pipeline.redact import redacted_records as redact
from memory_assets.pipeline.scan import raw_sessions as scan
from memory_assets_tests.pipeline.conftest import SampleMemory


def test_scanned_records_give_the_same_rows_as_files_read_again(
    fresh: SampleMemory,
) -> None:
    """Records and audit are equal."""
    tables = ("redacted_records", "redaction_audit")
    for project in fresh.projects():
        scan.scan_project(fresh.components, project)
        redact.redact_project(fresh.components, project)
    scanned = {table: fresh.rows(table) for table in tables}
    for project in fresh.projects():
        for session_id in fresh.components.catalog.products.of_project(redact.STAGE, project):
            fresh.components.catalog.products.drop(redact.STAGE, project, session_id)
        redact.redact_project(fresh.components, project)
    assert {table: fresh.rows(table) for table in tables} == scanned


def test_what_is_redacted_is_what_was_scanned(fresh: SampleMemory) -> None:
    """A file that is cut short in between is not read again; the next scan finds it changed."""
    scan.scan_project(fresh.components, fresh.harbor)
    path = fresh.path(fresh.flaky)
    path.write_bytes(path.read_bytes()[:100])
    assert redact.redact_project(fresh.components, fresh.harbor).quarantined == 0
    assert any(row["session_id"] == fresh.flaky for row in fresh.rows("redacted_records"))
    assert scan.scan_project(fresh.components, fresh.harbor).changed == 1


def test_no_record_is_kept_after_redaction(fresh: SampleMemory) -> None:
    """Records are unredacted: once redacted, they are no longer in memory."""
    scan.scan_project(fresh.components, fresh.harbor)
    redact.redact_project(fresh.components, fresh.harbor)
    rows = fresh.components.catalog.sources.rows(fresh.harbor)
    assert not any(fresh.components.read_records.take(row) for row in rows)
