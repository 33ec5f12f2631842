"""Removing forgotten sessions from the footers of their forks, which name the sessions that
they copied from."""

from __future__ import annotations

import json
from collections.abc import Set

from memory_assets.pipeline.ownership.attribution import SessionKey
from memory_assets.pipeline.stage.components import Components
from memory_assets.stores.lake.schemas import REDACTED_RECORDS

_COPIED_FROM = "copied_from"


def forget_references(components: Components, selected: Set[SessionKey]) -> int:
    """Remove these sessions from the footers of their forks, and return the number of forks."""
    forks = {
        key
        for key, facts in components.catalog.products.facts_with(
            REDACTED_RECORDS.name, _COPIED_FROM
        ).items()
        if key not in selected and any(tuple(each) in selected for each in facts["copied_from"])
    }
    lake = components.lake
    for key in sorted(forks):
        if lake.path(REDACTED_RECORDS, *key).exists():  # a session of copies only has no file
            _, footer = lake.read_footer(REDACTED_RECORDS, *key)
            facts = json.loads(footer["facts"])
            kept = [each for each in facts[_COPIED_FROM] if tuple(each) not in selected]
            amended = json.dumps({**facts, _COPIED_FROM: kept})
            lake.amend_footer(REDACTED_RECORDS, *key, {**footer, "facts": amended})
    return len(forks)
