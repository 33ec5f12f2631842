"""turn_chunks and user_prompts: the turns of each session, split into passages."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from memory_assets.chunking import CHUNKER_VERSION, build_turns, chunk_turn, prompt_passages
from memory_assets.errors import NotFound
from memory_assets.models import Chunk, Prompt, RedactedRecord, Turn
from memory_assets.pipeline.components import Components
from memory_assets.pipeline.derive import Made, derive_table
from memory_assets.pipeline.report import StageReport
from memory_assets.pipeline.settle import settled
from memory_assets.stores.catalog import Product
from memory_assets.stores.lake import rows_from_arrow
from memory_assets.stores.schemas import REDACTED_RECORDS, TURN_CHUNKS, USER_PROMPTS

_TOOL_OUTPUT_HEAD = 8_000
"""Characters of a tool's output that later stages look at: its first error, its commits."""


def chunk_project(components: Components, project: str) -> StageReport:
    """Remake the chunks of the sessions whose records or chunker changed.

    A passage that did not change keeps the `ingested_at` of when it was first written.
    """

    def make(source: Product) -> Made:
        turns = list(session_turns(components, source))
        chunks = [
            settled(components.redactor, chunk)
            for turn in turns
            for chunk in chunk_turn(turn, components.tokens)
        ]
        return chunks, {"turns": len(turns)}

    def ingested_at(session_id: str, chunks: list[Chunk]) -> Mapping[str, list[object]]:
        return {"ingested_at": _ingested_at(components, project, session_id, chunks)}

    report = derive_table(
        components,
        project,
        table=TURN_CHUNKS,
        upstream=REDACTED_RECORDS.name,
        version=CHUNKER_VERSION,
        make=make,
        written_columns=ingested_at,
    )
    products = components.catalog.products(TURN_CHUNKS.name, project).values()
    report.details["turns"] = sum(int(product.facts["turns"]) for product in products)
    return report


def extract_prompts(components: Components, project: str) -> StageReport:
    """Remake the prompts of the sessions whose records or chunker changed."""

    def make(source: Product) -> Made:
        return list(_prompts(components, source)), {}

    return derive_table(
        components,
        project,
        table=USER_PROMPTS,
        upstream=REDACTED_RECORDS.name,
        version=CHUNKER_VERSION,
        make=make,
    )


def session_turns(components: Components, source: Product) -> Iterator[Turn]:
    """Yield the turns of the session that `source` (a redacted_records product) holds."""
    records = session_records(components, source)
    if source.facts.get("copied_blocks") and all(record.agent_id for record in records):
        return iter(())  # a mere copy: what its subagents said belongs to another's turns
    return build_turns(records, first_index=int(source.facts.get("copied_prompts", 0)))


def session_records(components: Components, source: Product) -> list[RedactedRecord]:
    """Return a session's redacted records, long tool output cut to its head."""
    try:
        table = components.lake.read(REDACTED_RECORDS, source.project, source.session_id)
    except NotFound:
        if source.rows:
            raise
        return []
    is_output = pc.is_in(table["kind"], value_set=pa.array(["tool_result"]))
    head = pc.utf8_slice_codeunits(table["text"], 0, _TOOL_OUTPUT_HEAD)
    text = pc.if_else(is_output, head, table["text"])
    position = table.schema.get_field_index("text")
    return rows_from_arrow(REDACTED_RECORDS, table.set_column(position, "text", text))


def _prompts(components: Components, source: Product) -> Iterator[Prompt]:
    for turn in session_turns(components, source):
        for prompt in prompt_passages(turn, components.tokens):
            yield settled(components.redactor, prompt)


def _ingested_at(
    components: Components, project: str, session_id: str, chunks: list[Chunk]
) -> list[object]:
    now = datetime.now(UTC)
    before: dict[tuple[Any, Any], object] = {}
    try:
        old: pa.Table = components.lake.read(
            TURN_CHUNKS, project, session_id, ["id", "content_hash", "ingested_at"]
        )
    except NotFound:
        pass
    else:
        columns = (old[name].to_pylist() for name in ("id", "content_hash", "ingested_at"))
        before = {(key, content): when for key, content, when in zip(*columns, strict=True)}
    return [before.get((chunk.id, chunk.content_hash), now) for chunk in chunks]
