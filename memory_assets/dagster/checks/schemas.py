"""matches_schema: columns, keys, ranges and closed sets of each table."""

from functools import partial
from typing import get_args

from memory_assets.commits import Evidence
from memory_assets.dagster.checks.expectations import TableExpectations, validate
from memory_assets.dagster.checks.verdicts import Check
from memory_assets.models import Kind, Role
from memory_assets.observations import OBSERVATION_TYPES
from memory_assets.settings import KNOWN_AGENTS
from memory_assets.stores.lake import schemas

_AT_LEAST_0 = (0.0, None)
_NOT_EMPTY = (1.0, None)

EXPECTATIONS = (
    TableExpectations(
        schemas.REDACTED_RECORDS,
        unique=("session_id", "agent_id", "seq"),
        bounds={"seq": _AT_LEAST_0, "byte_start": _AT_LEAST_0, "redactions": _AT_LEAST_0},
        one_of={
            "agent": KNOWN_AGENTS,
            "role": get_args(Role),
            "kind": get_args(Kind),
        },
        ordered=(("byte_start", "byte_end"),),
    ),
    TableExpectations(
        schemas.REDACTION_AUDIT,
        unique=("session_id", "agent_id", "seq", "field", "start", "tag"),
        bounds={"seq": _AT_LEAST_0, "start": _AT_LEAST_0, "length": _AT_LEAST_0},
        one_of={"agent": KNOWN_AGENTS},
        ordered=(("start", "end"),),
    ),
    TableExpectations(
        schemas.TURN_CHUNKS,
        unique=("id",),
        bounds={"part": _AT_LEAST_0, "turn_index": _AT_LEAST_0, "text": _NOT_EMPTY},
        one_of={"agent": KNOWN_AGENTS, "role": ("user", "assistant", "turn")},
        ordered=(("timestamp", "ended_at"),),
    ),
    TableExpectations(
        schemas.TURN_EMBEDDINGS,
        unique=("id",),
        bounds={"vector": (0.999, 1.001)},
    ),
    TableExpectations(
        schemas.USER_PROMPTS,
        unique=("id",),
        bounds={"part": _AT_LEAST_0, "turn_index": _AT_LEAST_0, "text": _NOT_EMPTY},
        one_of={"agent": KNOWN_AGENTS},
    ),
    TableExpectations(
        schemas.SESSION_SUMMARIES,
        unique=("id",),
        bounds={"duration_seconds": _AT_LEAST_0, "turns": _NOT_EMPTY, "text": _NOT_EMPTY},
        one_of={"agent": KNOWN_AGENTS},
        ordered=(("started_at", "ended_at"),),
    ),
    TableExpectations(
        schemas.OBSERVATIONS,
        unique=("id",),
        bounds={"turn_index": _AT_LEAST_0, "title": _NOT_EMPTY, "text": _NOT_EMPTY},
        one_of={"agent": KNOWN_AGENTS, "type": OBSERVATION_TYPES},
    ),
    TableExpectations(
        schemas.SESSION_COMMITS,
        unique=("id",),
        bounds={"turn_index": _AT_LEAST_0, "score": (0.0, 1.0)},
        one_of={"agent": KNOWN_AGENTS, "evidence": tuple(map(str, Evidence))},
    ),
)


def _check(wanted: TableExpectations) -> Check:
    return Check(
        wanted.table.name,
        "matches_schema",
        partial(validate, wanted=wanted),
        "Great Expectations: columns, keys, ranges and closed sets, over the lengths of texts "
        "and never the texts.",
    )


CHECKS = [_check(wanted) for wanted in EXPECTATIONS]
