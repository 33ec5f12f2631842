"""The sessions, documents and memories that contain a secret, by its tag."""

from __future__ import annotations

import re
from typing import Any

import pyarrow.compute as pc

from memory_assets.errors import ConfigurationError, NotFound
from memory_assets.stores.lake.lake import Lake
from memory_assets.stores.lake.schemas import (
    AGENT_HISTORY,
    AGENT_MEMORY,
    HISTORY_SUMMARIES,
    REDACTION_AUDIT,
    WORKSPACE_CHUNKS,
)

_TAG = re.compile(r"<?(?:redacted:)?(?:(?P<rule>[a-z0-9-]{1,60}):)?(?P<digest>[0-9a-f]{12})>?")
_COLUMNS = ["agent", "tag", "rule", "field"]
_OTHER_TABLES = (WORKSPACE_CHUNKS, AGENT_HISTORY, AGENT_MEMORY, HISTORY_SUMMARIES)
"""Tables of what no session said, where a tag is found in the text of a row."""


def is_tag(text: str) -> bool:
    """Return True if a text is a tag: whole, without its brackets, or only its 12 digits."""
    return _TAG.fullmatch(text) is not None


def tag_holders(lake: Lake, tag: str) -> dict[str, Any]:
    """Return the sessions that contain a tag, most occurrences first, and `others`: passages of
    documents, memories, turns of agents and summaries of them. It is the JSON of `memory audit
    TAG`; `count` is that of the sessions.

    Only the digits are compared, whatever rule found the secret: equal keys have equal digits.
    Guessable values have other digits in each session.

    Raises:
        ConfigurationError: it is no tag.
        NotFound: nothing holds it.
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
    others = _others(lake, ending)
    if not (holders or others):
        raise NotFound(f"nothing holds {tag}; tags stand in what `memory show` prints")
    holders.sort(key=lambda holder: (-holder["count"], holder["project"], holder["session_id"]))
    count = sum(each["count"] for each in holders)
    return {"tag": tag, "count": count, "sessions": holders, "others": others}


def _others(lake: Lake, ending: str) -> list[dict[str, Any]]:
    """Return `id`, `project` and `count` of the rows of other tables whose text has the tag."""
    found: dict[str, dict[str, Any]] = {}  # while an ingest moves a row, it is there twice
    for table in _OTHER_TABLES:
        for project in lake.projects(table):
            rows = lake.read_partition(table, project, ["id", "project", "text"])
            holding = rows.filter(pc.match_substring(rows["text"], ending))
            for row in holding.to_pylist():
                count = row.pop("text").count(ending)
                found[row["id"]] = {**row, "count": count}
    return [found[each] for each in sorted(found)]


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
