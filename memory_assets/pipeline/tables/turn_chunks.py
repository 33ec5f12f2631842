"""The stages of turn_chunks and user_prompts: the turns of each session, split into passages."""

from __future__ import annotations

from collections.abc import Callable, Mapping
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
from memory_assets.pipeline.tables.derive import DerivedTable, Made, derive_table
from memory_assets.stores.catalog.facts import ProductFacts
from memory_assets.stores.catalog.schema import Product
from memory_assets.stores.lake.rows import Stored
from memory_assets.stores.lake.schemas import TURN_CHUNKS, USER_PROMPTS, Table


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


def _chunks(components: Components, source: Product) -> Made:
    redactor = components.redactor_of(source.session_id)

    def chunks_of(turn: Turn, whole_outputs: Whole) -> list[Chunk]:
        chunks = chunk_turn(turn, components.tokens, whole_outputs=whole_outputs)
        return [redact_composed(redactor, chunk) for chunk in chunks]

    whole_outputs = components.sessions.whole_outputs
    return _TableOfTurns(components, TURN_CHUNKS, chunks_of, whole_outputs).make(source)


def _prompts(components: Components, source: Product) -> Made:
    redactor = components.redactor_of(source.session_id)

    def prompts_of(turn: Turn, _: Whole) -> list[Prompt]:
        prompts = prompt_passages(turn, components.tokens)
        return [redact_composed(redactor, prompt) for prompt in prompts]

    return _TableOfTurns(components, USER_PROMPTS, prompts_of).make(source)


class _TableOfTurns:
    """A table in which each row is made from one turn. `rows_of` returns the rows of a turn, given
    the session's `whole_outputs`; rows of unchanged turns are taken from the lake."""

    def __init__(
        self,
        components: Components,
        table: Table,
        rows_of: Callable[[Turn, Whole], list[Any]],
        whole_outputs: Callable[[Product], Whole] = lambda source: {},
    ) -> None:
        self._components = components
        self._table = table
        self._rows_of = rows_of
        self._whole_outputs = whole_outputs

    def make(self, source: Product) -> Made:
        """Return the rows of all turns of a session, and the facts of the product."""
        records = self._components.sessions.records(source)
        turns = list(turns_of(source, sorted(records, key=by_source_file)))
        whole = self._whole_outputs(source)
        stored = self._stored(source)
        facts: ProductFacts = {
            "turns": len(turns),
            "asked": sum(turn.asked for turn in turns),
            "typed": sum(turn.typed is not None for turn in turns),
        }
        if source.rows <= _FEW_RECORDS and not stored:
            return [row for turn in turns for row in self._rows_of(turn, whole)], facts
        rows: list[Any] = []
        made_of: list[tuple[str, int]] = []
        for turn in turns:
            state = _state_of(turn, whole)
            kept = stored.get(state)
            rows += (kept,) if kept is not None else (new_rows := self._rows_of(turn, whole))
            made_of.append((state, len(kept.rows if kept is not None else new_rows)))
        if source.rows > _FEW_RECORDS:
            facts |= {"turn_states": made_of, "made_with": CHUNKER_VERSION}
        return rows, facts

    def _stored(self, source: Product) -> dict[str, Stored]:
        """Return the rows of a session's turns in the lake by the state of the turn."""
        project, session_id = source.project, source.session_id
        products = self._components.catalog.products.of_session(project, session_id)
        before = products.get(self._table.name)
        if before is None or before.facts.get("made_with") != CHUNKER_VERSION:
            return {}
        try:
            with self._components.lake.opened(self._table, project, session_id) as opened:
                rows = opened.read()
        except (NotFound, DamagedFile):
            return {}
        same = opened.facts.output_hash == before.output_hash
        if not (same and rows.schema.equals(self._table.schema)):
            return {}
        stored: dict[str, Stored] = {}
        first = 0
        for state, count in before.facts["turn_states"]:
            stored[state] = Stored(rows.slice(first, count))
            first += count
        return stored


_FEW_RECORDS = 1_000
"""Most records of a session whose turns are all made again, which costs less than comparing."""
_FIELDS = attrgetter(*(field.name for field in fields(RedactedRecord)))


def _state_of(turn: Turn, whole: Whole) -> str:
    """Return a hash of all inputs of the rows of a turn."""
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
