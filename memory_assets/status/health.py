"""Figures for a report that `memory status` leaves out: redactions by rule, the last results of the
checks, and sizes over time."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection
from contextlib import closing
from datetime import date
from pathlib import Path
from typing import Any

from memory_assets.stores.catalog.catalog import Catalog
from memory_assets.stores.runs.ledger import FAILED, ledger_of


def redactions_by_rule(catalog: Catalog) -> list[dict[str, Any]]:
    """Return `rule`, `count` and `projects` (counts by project, most first), the rule with the most
    redactions first."""
    projects: dict[str, Counter[str]] = {}
    for (project, _), facts in catalog.products.facts_with("redaction_audit", "rules").items():
        for rule, count in facts["rules"].items():
            projects.setdefault(rule, Counter())[project] += count
    return sorted(
        (
            {"rule": rule, "count": counts.total(), "projects": dict(counts.most_common())}
            for rule, counts in projects.items()
        ),
        key=lambda row: (-row["count"], row["rule"]),
    )


def last_checks(data_dir: Path) -> list[dict[str, Any]]:
    """Return the last result of each check (`asset`, `check`): in how many partitions it `passed`,
    and the `others`, a `project` and its `result` (warning, failed) each."""
    results: dict[tuple[str, str], dict[str, Any]] = {}
    with closing(ledger_of(data_dir)) as ledger:
        latest = ledger.latest_checks()
    for (project, asset), checks in latest.items():
        for name, result in checks.items():
            new = {"asset": asset, "check": name, "passed": 0, "others": []}
            check_result = results.setdefault((asset, name), new)
            if result == "passed":
                check_result["passed"] += 1
            else:
                check_result["others"].append({"project": project, "result": result})
    return [results[key] for key in sorted(results)]


def failed_checks(data_dir: Path, projects: Collection[str]) -> list[tuple[str, str]]:
    """Return (project, check with its asset) of each check that failed when it last ran, of these
    projects."""
    return [
        (other["project"], f"{last_check['asset']}.{last_check['check']}")
        for last_check in last_checks(data_dir)
        for other in last_check["others"]
        if other["result"] == FAILED and other["project"] in projects
    ]


def sizes_by_day(data_dir: Path) -> dict[str, dict[date, int]]:
    """Return the bytes of each store by day, the first day first; of a day without an ingest there
    are none."""
    with closing(ledger_of(data_dir)) as ledger:
        noted = ledger.sizes()
    by_store: dict[str, dict[date, int]] = {}
    for day, sizes in noted.items():
        for store, size in sizes.items():
            by_store.setdefault(store, {})[date.fromisoformat(day)] = size
    return by_store
