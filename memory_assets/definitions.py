"""The Dagster code location: `build_defs` assembles the graph, `defs` is what Dagster loads."""

from __future__ import annotations

from collections.abc import Mapping

import dagster as dg

from memory_assets.assets.collections import (
    observation_collection,
    prompt_collection,
    session_collection,
    summary_collection,
)
from memory_assets.assets.keyword_index import keyword_index
from memory_assets.assets.known_secrets import known_secrets
from memory_assets.assets.memory_status import memory_status
from memory_assets.assets.observations import observations
from memory_assets.assets.raw_sessions import raw_sessions
from memory_assets.assets.redacted_records import redacted_records
from memory_assets.assets.redaction_audit import redaction_audit
from memory_assets.assets.retained_sessions import retained_sessions
from memory_assets.assets.session_commits import session_commits
from memory_assets.assets.session_summaries import session_summaries
from memory_assets.assets.turn_chunks import turn_chunks
from memory_assets.assets.turn_embeddings import turn_embeddings
from memory_assets.assets.user_prompts import user_prompts
from memory_assets.jobs import JOBS, retention_schedule, status_schedule
from memory_assets.resources import MemoryResource
from memory_assets.sensors import projects_directory_sensor
from memory_assets.superseded_runs import superseded_runs_sensor

ASSETS = (
    raw_sessions,
    redacted_records,
    redaction_audit,
    turn_chunks,
    turn_embeddings,
    session_collection,
    user_prompts,
    prompt_collection,
    session_summaries,
    summary_collection,
    observations,
    observation_collection,
    session_commits,
    keyword_index,
)
"""The assets of one project."""


def build_defs(
    resources: Mapping[str, object] | None = None,
    loggers: Mapping[str, dg.LoggerDefinition] | None = None,
) -> dg.Definitions:
    """Return the whole graph; `resources` and `loggers` replace the default ones by name."""
    return dg.Definitions(
        assets=[*ASSETS, known_secrets, retained_sessions, memory_status],
        jobs=list(JOBS),
        schedules=[retention_schedule, status_schedule],
        sensors=[projects_directory_sensor, superseded_runs_sensor],
        resources={"memory": MemoryResource(), **(resources or {})},
        executor=dg.in_process_executor,
        loggers=loggers,
    )


defs = build_defs()
