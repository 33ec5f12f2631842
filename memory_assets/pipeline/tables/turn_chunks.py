"""The stages of turn_chunks and user_prompts: the turns of each session, split into passages."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields
from datetime import UTC, datetime
from hashlib import blake2b
from operator import attrgetter
from typing import Any

import orjson
import pyarrow as pa

from memory_assets.chunking import CHUNKER_VERSION, chunk_turn, prompt_passages
from memory_assets.chunking.printed import Whole
from memory_assets.errors import DamagedFile, NotFound
from memory_assets.models import Chunk, Prompt, RedactedRecord, Turn
from memory_assets.pipeline.stage.components import Components
from memory_assets.pipeline.stage.redact_composed import redact_composed
from memory_assets.pipeline.stage.report import StageReport
from memory_assets.pipeline.stage.session_cache import by_source_file, turns_of
from memory_assets.pipeline.tables.derive import DerivedRows, DerivedTable, derive_table
from memory_assets.stores.catalog.facts import ProductFacts
from memory_assets.stores.catalog.schema import Product
from memory_assets.stores.lake.rows import Stored
from memory_assets.stores.lake.schemas import TURN_CHUNKS, USER_PROMPTS


def chunk_project(components: Components, project: str) -> StageReport:
    """Make the chunks of the sessions whose records or chunker changed, and return the report.

    An unchanged passage keeps its `ingested_at`.
    """
    report = derive_table(components, project, CHUNKED)
    products = components.catalog.products.of_project(TURN_CHUNKS.name, project).values()
    report.details["turns"] = sum(product.facts["turns"] for product in products)
    return report


def extract_prompts(components: Components, project: str) -> StageReport:
    """Make the prompts of the sessions whose records or chunker changed, and return the
    report."""
    return derive_table(components, project, PROMPTED)


def _chunks(components: Components, source: Product) -> DerivedRows:
    """Return the chunks of a session's turns. Of a long session those of unchanged turns are taken
    from the lake: cutting one of 2 MB takes .2 s of CPU."""
    redactor = components.redactor_of(source.session_id)
    turns = _turns(components, source)
    whole = components.sessions.whole_outputs(source)

    def chunks_of(turn: Turn) -> list[Chunk]:
        chunks = chunk_turn(turn, components.tokens, whole_outputs=whole)
        return [redact_composed(redactor, chunk) for chunk in chunks]

    facts: ProductFacts = {
        "turns": len(turns),
        "asked": sum(turn.asked for turn in turns),
        "typed": sum(turn.typed is not None for turn in turns),
    }
    if source.rows <= _FEW_RECORDS:
        return [chunk for turn in turns for chunk in chunks_of(turn)], facts
    stored = _stored_chunks(components, source)
    rows: list[Chunk | Stored] = []
    made_of: list[tuple[str, int]] = []
    for turn in turns:
        state = _state_of(turn, whole)
        kept = stored.get(state)
        rows += (kept,) if kept is not None else (new := chunks_of(turn))
        made_of.append((state, len(kept.rows if kept is not None else new)))
    return rows, facts | {"turn_states": made_of, "made_with": CHUNKER_VERSION}


def _prompts(components: Components, source: Product) -> DerivedRows:
    redactor = components.redactor_of(source.session_id)
    rows: list[Prompt] = []
    for turn in _turns(components, source):
        passages = prompt_passages(turn, components.tokens)
        rows += [redact_composed(redactor, passage) for passage in passages]
    return rows, {}


def _turns(components: Components, source: Product) -> list[Turn]:
    records = components.sessions.records(source)
    return list(turns_of(source, sorted(records, key=by_source_file)))


def _stored_chunks(components: Components, source: Product) -> dict[str, Stored]:
    """Return the chunks of a session's turns in the lake by the state of the turn."""
    key = (source.project, source.session_id)
    before = components.catalog.products.of_session(*key).get(TURN_CHUNKS.name)
    if before is None or before.facts.get("made_with") != CHUNKER_VERSION:
        return {}
    try:
        with components.lake.opened(TURN_CHUNKS, *key) as opened:
            rows = opened.read()
    except (NotFound, DamagedFile):
        return {}
    same = opened.facts.output_hash == before.output_hash
    if not (same and rows.schema.equals(TURN_CHUNKS.schema)):
        return {}
    stored: dict[str, Stored] = {}
    first = 0
    for state, count in before.facts["turn_states"]:
        stored[state] = Stored(rows.slice(first, count))
        first += count
    return stored


_FEW_RECORDS = 1_000
"""Most records of a session whose turns are all cut again, which costs less than comparing."""
_FIELDS = attrgetter(*(field.name for field in fields(RedactedRecord)))


def _state_of(turn: Turn, whole: Whole) -> str:
    """Return a hash of all inputs of the chunks of a turn."""
    digest = blake2b(str(turn.turn_index).encode(), digest_size=12)
    for record in turn.records:
        digest.update(orjson.dumps(_FIELDS(record)))
        digest.update(whole.get((record.agent_id, record.seq), "").encode())
    return digest.hexdigest()


def _ingested_at(
    components: Components, source: Product, chunks: list[Chunk]
) -> Mapping[str, list[object]]:
    now = datetime.now(UTC)
    before: dict[tuple[Any, Any], object] = {}
    names = ["id", "content_hash", "ingested_at"]
    key = (source.project, source.session_id)
    try:
        old: pa.Table = components.lake.read(TURN_CHUNKS, *key, names)
    except NotFound:
        pass
    else:
        columns = (old[name].to_pylist() for name in names)
        before = {(key, content): when for key, content, when in zip(*columns, strict=True)}
    return {"ingested_at": [before.get((chunk.id, chunk.content_hash), now) for chunk in chunks]}


CHUNKED = DerivedTable(TURN_CHUNKS, CHUNKER_VERSION, make=_chunks, written_columns=_ingested_at)
PROMPTED = DerivedTable(USER_PROMPTS, CHUNKER_VERSION, make=_prompts)
