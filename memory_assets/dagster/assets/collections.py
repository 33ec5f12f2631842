"""The assets of the Chroma collections, one for each kind of rows that is searched
(`search_kinds.py`), and of the keyword index. They are copies of the lake's tables and can be
deleted. The keyword index does not need Chroma, so that searches are answered while it is down.

Collections need no [concurrency pool](https://docs.dagster.io/guides/operate/managing-concurrency):
Chroma's server accepts several writers, and a project has one at a time by its lock. A pool
has costs: a step that waits for a slot uses a whole CPU, and the slot of a killed process is
freed by the daemon only (seen with Dagster 1.13.27).
"""

from datetime import timedelta

import dagster as dg
import pyarrow as pa

from memory_assets.dagster.assets.step import step_asset, step_spec
from memory_assets.pipeline.indexes.indexed_tables import (
    INDEXES,
    SESSION_INDEXES,
    SESSIONS_INDEX,
    IndexedTable,
    columns_of,
)
from memory_assets.pipeline.indexes.keywords import AGENT_KEYWORDS, STAGE, WORKSPACE_KEYWORDS

_GROUP = "collections"
_FRESH = dg.FreshnessPolicy.time_window(
    fail_window=timedelta(days=7), warn_window=timedelta(days=3)
)
"""A collection is written when a transcript changes, so a weekend without a write is no fault."""
_RETRY = dg.RetryPolicy(max_retries=2, delay=2, backoff=dg.Backoff.EXPONENTIAL)


def _collection(index: IndexedTable) -> dg.AssetsDefinition:
    """Return the asset that mirrors the rows of `index` in Chroma."""
    columns = columns_of(index.kind)
    spec = step_spec(
        index.stage,
        f"The rows of {index.table.name} in Chroma, in `{index.collection('<agent>')}`.",
        group=_GROUP,
        kinds={"chroma"},
        freshness_policy=_FRESH if index in SESSION_INDEXES else None,
        metadata={
            "dagster/column_schema": dg.TableSchema(
                [
                    dg.TableColumn(field, _type(index, field, column), f"From `{column}`.")
                    for field, column in columns.items()
                ]
            ),
        },
    )
    return step_asset(spec, searched=index == SESSIONS_INDEX, retry_policy=_RETRY)


def _type(index: IndexedTable, name: str, column: str) -> str:
    """Return the type of a collection's column, which Chroma keeps as a vector or a scalar."""
    if name == "embedding":
        return str(index.embeddings.schema.field(column).type)
    if name == "ts_epoch":
        return "double"
    if name in index.kind.counted:
        return "int64"
    column_type = index.table.schema.field(column).type
    is_scalar = (
        pa.types.is_integer(column_type)
        or pa.types.is_floating(column_type)
        or pa.types.is_boolean(column_type)
    )
    return str(column_type) if is_scalar else "string"


def _keyword_asset(asset: str, rows: str, file: str) -> dg.AssetsDefinition:
    """Return the asset of a part of the keyword index."""
    description = f"Terms, texts and vectors of {rows}, in {file}."
    return step_asset(step_spec(asset, description, group=_GROUP, kinds={"sqlite"}), searched=True)


COLLECTIONS = [_collection(index) for index in INDEXES]
keyword_index = _keyword_asset(STAGE, "all rows that a search can find", "`keywords.db`")
workspace_keyword_index = _keyword_asset(
    WORKSPACE_KEYWORDS, "the chunks of workspaces", "the same `keywords.db`"
)
agent_keyword_index = _keyword_asset(
    AGENT_KEYWORDS, "what agents wrote themselves", "the same `keywords.db`"
)
