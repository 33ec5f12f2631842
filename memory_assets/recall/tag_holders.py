"""The sessions that contain a secret, by its tag."""

from __future__ import annotations

import re
from typing import Any

import pyarrow.compute as pc

from memory_assets.errors import ConfigurationError, NotFound
from memory_assets.stores.lake.lake import Lake
from memory_assets.stores.lake.schemas import REDACTION_AUDIT

_TAG = re.compile(r"<?(?:redacted:)?(?:(?P<rule>[a-z0-9-]{1,60}):)?(?P<digest>[0-9a-f]{12})>?")
_COLUMNS = ["agent", "tag", "rule", "field"]


def is_tag(text: str) -> bool:
    """Return True if a text is a tag: whole, without its brackets, or only its 12 digits."""
    return _TAG.fullmatch(text) is not None


def tag_holders(lake: Lake, tag: str) -> dict[str, Any]:
    """Return the sessions that contain a tag, most occurrences first, as the JSON of
    `memory audit TAG`.

    Only the digits are compared, whatever rule found the secret: equal keys have equal digits.
    Guessable values have other digits in each session.

    Raises:
        ConfigurationError: it is no tag.
        NotFound: no session holds it.
    """
    found = _TAG.fullmatch(tag)
    if found is None:
        raise ConfigurationError(f"{tag!r} is not a tag; tags look like <redacted:RULE:DIGEST>")
    ending = f":{found['digest']}>"
    holders = [
        holder
        for project in lake.projects(REDACTION_AUDIT)
        for session_id in lake.sessions(REDACTION_AUDIT, project)
        if (holder := _holder(lake, project, session_id, ending)) is not None
    ]
    if not holders:
        raise NotFound(f"no session holds {tag}; tags stand in what `memory show` prints")
    holders.sort(key=lambda holder: (-holder["count"], holder["project"], holder["session_id"]))
    return {"tag": tag, "count": sum(each["count"] for each in holders), "sessions": holders}


def _holder(lake: Lake, project: str, session_id: str, ending: str) -> dict[str, Any] | None:
    table = lake.read(REDACTION_AUDIT, project, session_id, _COLUMNS)
    rows = table.filter(pc.ends_with(table["tag"], ending)).to_pylist()
    if not rows:
        return None
    return {
        "project": project,
        "session_id": session_id,
        "agent": rows[0]["agent"],
        "count": len(rows),
        "rules": sorted({row["rule"] for row in rows}),
        "fields": sorted({row["field"].partition("[")[0] for row in rows}),
    }
