"""The figures of `memory status` and the checks of the whole memory, for the asset
`memory_status`; and what models at endpoints were asked lately, and what it cost, for
`gateway_costs`. Names, reasons and counts; no text."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

from memory_assets.pipeline.checks.checks import projects_on_record
from memory_assets.pipeline.checks.pending import Verdict
from memory_assets.pipeline.checks.source_turns import PLACES, count_sources
from memory_assets.pipeline.stage.components import Components
from memory_assets.pipeline.stage.versions import note_versions
from memory_assets.session_analysis.usage import dollars_of, with_prices
from memory_assets.status.health import last_checks, redactions_by_rule
from memory_assets.status.status import status as status_of
from memory_assets.status.words import report
from memory_assets.stores.gateway_usage import FILE_NAME, Spent, spent_since

_LISTED = 20
Figures = dict[str, int | float | str]


def status_figures(components: Components) -> tuple[Figures, Mapping[str, Any]]:
    """Write the present versions; return the figures, and the status they are taken from."""
    note_versions(components)
    current = status_of(components.settings)
    freshness, runs = current["freshness"], current["runs"]
    last_run = runs.get("last") or {}
    figures: Figures = {
        "sessions": current["sessions"]["total"],
        **{f"sessions_{whose}": n for whose, n in current["sessions"].items() if whose != "total"},
        "projects": len(current["projects"]),
        "files": freshness["files"],
        "files_not_taken_in": freshness["pending_files"],
        "lag_seconds": freshness["lag_seconds"],
        "newest_source_at": freshness["newest_source_at"],
        "newest_indexed_at": freshness["newest_indexed_at"],
        "quarantined": len(current["quarantined"]),
        "unlisted": len(current["unlisted"]),
        "text_unexplained": sum(gap["bytes"] for gap in current["account"]["unexplained"].values()),
        "files_unknown": sum(current["account"]["files_unknown"].values()),
        **current["archive"],
        **{f"bytes_{store}": size for store, size in current["sizes"].items()},
        **{f"version_{part}": str(version) for part, version in current["versions"].items()},
        "runs_failed_in_7_days": runs.get("failed_in_7_days", 0),
        "last_run": f"{last_run.get('status', 'none')} {last_run.get('ended_at', '')}".strip(),
    }
    for name, coverage in current["coverage"].items():
        figures |= {f"{name}_{what}": coverage[what] for what in ("rows", "indexed", "keywords")}
    return figures, current


def status_report(components: Components, current: Mapping[str, Any]) -> str:
    """Return a status as a report in Markdown, with redactions by rule and the last checks."""
    unlisted = [
        {**path, "path": _redacted(components, path["path"])} for path in current["unlisted"]
    ]
    rules = redactions_by_rule(components.catalog)
    checks = last_checks(components.data_dir)
    spoken = components.catalog.spoken_projects()
    return report({**current, "unlisted": unlisted}, rules, checks, spoken)


def status_verdicts(components: Components, current: Mapping[str, Any]) -> dict[str, Verdict]:
    """Return the results of the checks of the whole memory by name. Reads all sources again."""
    covered = current["coverage"]
    held_back = {
        entry["session_id"]: f"{entry['stage']}: {entry['reason']} (since {entry['since']}); "
        f"to do: {entry['remedy']}"
        for entry in current["quarantined"][:_LISTED]
    }
    held_back |= {
        _redacted(components, path["path"]): f"{path['reason']}; to do: {path['remedy']}"
        for path in current["unlisted"][:_LISTED]
    }
    failed = current["runs"].get("failed", [])
    return {
        "everything_indexed": Verdict(
            not components.embeds or all(coverage["complete"] for coverage in covered.values()),
            {
                f"{kind}_behind": coverage["rows"] - coverage["indexed"] if components.embeds else 0
                for kind, coverage in covered.items()
            },
            "Run `memory ingest`.",
        ),
        "sources_are_found": _sources_verdict(components),
        "nothing_quarantined": Verdict(
            not current["quarantined"] and not current["unlisted"],
            {
                "quarantined": len(current["quarantined"]),
                "unlisted": len(current["unlisted"]),
                **held_back,
            },
            "After a failure that may pass every run tries a session again, else when its file, "
            "the rules or the code change.",
            warning=True,
        ),
        "no_run_failed": Verdict(
            not failed,
            {str(run["run_id"]): f"{run['project']} at {run['ended_at']}" for run in failed},
            "See the runs; what they left undone the next run does.",
            warning=True,
        ),
    }


def _redacted(components: Components, path: str) -> str:
    """Return a path without secrets, because Dagster stores the results of checks."""
    return str(components.redactor.redact(path).text)


def _sources_verdict(components: Components) -> Verdict:
    count = count_sources(components, projects_on_record(components))
    counts: dict[str, int | str] = {"files_read": count.files, "archived": count.archived}
    for name, entry in count.sets.items():
        counts[f"{name}_at_source"] = entry.at_source
        counts |= {f"{name}_in_{place}": entry.found[place] for place in PLACES}
    for gap in count.gaps[:_LISTED]:
        missing = ", ".join(f"{number} {where}" for where, number in gap.missing.items())
        counts[gap.session_id] = f"missing {missing or 0}, extra {gap.extra}; {gap.reason}"
    counts["sessions_that_differ"] = len(count.gaps)
    for path in count.unlisted[:_LISTED]:
        counts[_redacted(components, path.path)] = f"not looked at: {path.reason}"
    return Verdict(count.passed, counts, "Run `memory verify`, which says which and where.")


_COLUMNS = "| asked by | route | model | at | requests | failed | tokens in | out | ms each | USD |"


def cost_figures(components: Components, days: int) -> tuple[dict[str, str | int | float], str]:
    """Return sums over the last days, and a table in Markdown by route and model."""
    since = components.clock() - days * 86_400
    priced = dollars_of(with_prices(components.settings.model_prices))
    spent = spent_since(components.data_dir / FILE_NAME, since, priced)
    figures: dict[str, str | int | float] = {
        "since": datetime.fromtimestamp(since, UTC).isoformat(timespec="seconds"),
        "requests": sum(usage.requests for usage in spent),
        "failed": sum(usage.failed for usage in spent),
        "tokens": sum(usage.input_tokens + usage.output_tokens for usage in spent),
        "cost_usd": float(sum(usage.cost_usd for usage in spent if usage.cost_usd is not None)),
        "cost_unknown_of": ", ".join(usage.model for usage in spent if usage.cost_usd is None),
    }
    return figures, _cost_table(spent)


def _cost_table(spent: Sequence[Spent]) -> str:
    """Return a table of the requests; a cost that neither endpoint nor price list has is
    "unknown"."""
    if not spent:
        return "Nothing was asked of an endpoint."
    rows = [
        (
            usage.consumer,
            usage.route,
            usage.model.replace("|", "\\|"),
            usage.provider,
            f"{usage.requests:,}",
            f"{usage.failed:,}",
            f"{usage.input_tokens:,}",
            f"{usage.output_tokens:,}",
            f"{usage.mean_latency_ms:,}",
            "unknown" if usage.cost_usd is None else f"{usage.cost_usd:.4f}",
        )
        for usage in spent
    ]
    ruler = "|" + " --- |" * 4 + " ---: |" * 6
    return "\n".join([_COLUMNS, ruler, *(f"| {' | '.join(row)} |" for row in rows)])
