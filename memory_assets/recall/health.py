"""The state of a memory, with what redaction took out by rule and how the checks ended."""

from __future__ import annotations

from collections import Counter
from contextlib import closing
from typing import TYPE_CHECKING, Any

from memory_assets.stores.lake.schemas import REDACTION_AUDIT
from memory_assets.stores.run_ledger import ledger_of

if TYPE_CHECKING:
    from memory_assets.recall.memory import Memory


def health(memory: Memory) -> dict[str, Any]:
    """Return `memory status`, and besides `rules` (redactions by rule, most first, and by project)
    and `checks` (the last result of each check of each asset: passed, warning, failed; with the
    projects where it did not pass)."""
    return {**memory.status(), "rules": _rules(memory), "checks": _checks(memory)}


def _rules(memory: Memory) -> list[dict[str, Any]]:
    projects: dict[str, Counter[str]] = {}
    facts = memory.catalog.products.facts_with(REDACTION_AUDIT.name, "rules")
    for (project, _), each in facts.items():
        for rule, count in each["rules"].items():
            projects.setdefault(rule, Counter())[project] += count
    return sorted(
        (
            {"rule": rule, "count": of.total(), "projects": dict(of.most_common())}
            for rule, of in projects.items()
        ),
        key=lambda each: (-each["count"], each["rule"]),
    )


def _checks(memory: Memory) -> list[dict[str, Any]]:
    results: dict[tuple[str, str], dict[str, Any]] = {}
    with closing(ledger_of(memory.data_dir)) as ledger:
        latest = ledger.latest_checks()
    for (project, asset), checks in latest.items():
        for name, result in checks.items():
            new = {"asset": asset, "check": name, "passed": 0, "others": []}
            of = results.setdefault((asset, name), new)
            if result == "passed":
                of["passed"] += 1
            else:
                of["others"].append({"project": project, "result": result})
    return [results[key] for key in sorted(results)]
