"""Where things come from and whether all is well: health, the audit of an id, redaction tags."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from starlette.requests import Request
from starlette.responses import Response

from memory_assets.requests.questions import AuditRequest
from memory_assets.search_kinds import SEARCH_KINDS
from memory_assets.serving.pages.charts import span_bar, sparkline
from memory_assets.serving.pages.rendering import lineage_links, page
from memory_assets.status import (
    chroma_notes,
    in_words,
    last_checks,
    lasting,
    redactions_by_rule,
    sizes_by_day,
    totals,
)

if TYPE_CHECKING:
    from memory_assets.recall import Memory


def health_page(memory: Memory, request: Request) -> Response:
    """Return what is in memory, what is held back and why, and how checks and runs ended."""
    from memory_assets.recall.search.unread import waiting_for_ingest

    current = memory.status()
    shown: dict[str, Any] = {
        "totals": totals(current),
        "agents_wait": waiting_for_ingest(memory),
        "covered": list(in_words(current["coverage"])),
        "chroma": list(chroma_notes(current)),
        "lag": lasting(current["freshness"]["lag_seconds"]),
        "rules": redactions_by_rule(memory.catalog),
        "checked": last_checks(memory.data_dir),
        "grown": {
            store: sparkline(days, store) for store, days in sizes_by_day(memory.data_dir).items()
        },
        "tables": {name: kind.table for name, kind in SEARCH_KINDS.items()},
        "roots": memory.catalog.sources.project_roots(),
        **lineage_links(memory),
    }
    return page(request, "health.html", found=current, **shown)


def audit_page(memory: Memory, request: Request) -> Response:
    """Return the way from an id back to the bytes of its transcript, and the runs that made it."""
    answer = memory.ask(AuditRequest(request.path_params["id"]))
    bars = [
        span_bar(source["byte_start"] or 0, source["byte_end"] or 0, source["size_read"])
        for source in answer["sources"]
    ]
    runs = {run["run_id"]: run for run in answer["runs"] if run["run_id"]}
    shown: dict[str, Any] = {
        "bars": bars,
        "distinct_runs": list(runs.values()),
        "roots": memory.catalog.sources.project_roots(),
        **lineage_links(memory),
    }
    return page(request, "audit.html", answer=answer, **shown)


def tag_page(memory: Memory, request: Request) -> Response:
    """Return the sessions in which a redacted value stood."""
    answer = memory.ask(AuditRequest(request.path_params["tag"]))
    return page(request, "tag.html", answer=answer, roots=memory.catalog.sources.project_roots())
