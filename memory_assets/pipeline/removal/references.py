"""What other sessions' bookkeeping says of forgotten ones: where a fork branched off."""

from __future__ import annotations

import json
from collections.abc import Set
from typing import Any

from memory_assets.pipeline.stage.components import Components
from memory_assets.stores.erasure import Names, amend_naming
from memory_assets.stores.lake.schemas import REDACTED_RECORDS

SessionKey = tuple[str, str]
_NAMED = ("named_session", "parent_session")
_COPIED_FROM = "copied_from"


def forget_references(components: Components, selected: Set[SessionKey], names: Names) -> int:
    """Take the names of forgotten sessions out of the catalogue's facts on other sessions
    and out of their files' footers; return how many files were amended."""
    session_ids = frozenset(names.session_ids)

    def amended(facts: str) -> str:
        return json.dumps(_without(json.loads(facts), selected, session_ids), sort_keys=True)

    catalog, forks = components.catalog, 0
    for key, product in catalog.products.of_stage(REDACTED_RECORDS.name).items():
        owners = product.facts.get(_COPIED_FROM) or []
        if key not in selected and any(tuple(owner) in selected for owner in owners):
            _amend_file(components, key, selected)
            forks += 1
    for table in ("sources", "products"):
        amend_naming(catalog.path, table, "facts", names, amended)
    return forks


def _without(
    facts: dict[str, Any], selected: Set[SessionKey], session_ids: Set[str]
) -> dict[str, Any]:
    kept = dict(facts)
    for name in _NAMED:
        if kept.get(name) in session_ids:
            kept[name] = None
    if kept.get(_COPIED_FROM):
        kept[_COPIED_FROM] = [each for each in kept[_COPIED_FROM] if tuple(each) not in selected]
    return kept


def _amend_file(components: Components, key: SessionKey, selected: Set[SessionKey]) -> None:
    lake = components.lake
    if not lake.path(REDACTED_RECORDS, *key).exists():
        return  # a fork that only copied has no rows, hence no file
    _, footer = lake.read_footer(REDACTED_RECORDS, *key)
    facts = _without(json.loads(footer["facts"]), selected, frozenset())
    lake.amend_footer(REDACTED_RECORDS, *key, {**footer, "facts": json.dumps(facts)})
