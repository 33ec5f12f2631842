"""The stages of turn_chunks and user_prompts: the turns of each session, split into passages."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from typing import Any

import pyarrow as pa

from memory_assets.chunking import CHUNKER_VERSION, build_turns, chunk_turn, prompt_passages
from memory_assets.chunking.printed import Whole
from memory_assets.errors import NotFound
from memory_assets.models import Chunk, Prompt, Turn
from memory_assets.pipeline.stage.components import Components
from memory_assets.pipeline.stage.growth import Growth
from memory_assets.pipeline.stage.redact_composed import redact_composed
from memory_assets.pipeline.stage.report import StageReport
from memory_assets.pipeline.stage.session_cache import by_source_file, turns_of
from memory_assets.pipeline.tables.derive import DerivedTable, Extension, Made, derive_table
from memory_assets.pipeline.tables.turn_places import TurnPlaces
from memory_assets.stores.catalog.facts import ProductFacts
from memory_assets.stores.catalog.schema import Product
from memory_assets.stores.lake.schemas import TURN_CHUNKS, USER_PROMPTS, Table

CHUNKED = DerivedTable(TURN_CHUNKS, CHUNKER_VERSION)
PROMPTED = DerivedTable(USER_PROMPTS, CHUNKER_VERSION)


def chunk_project(components: Components, project: str) -> StageReport:
    """Make the chunks of the sessions whose records or chunker changed, and return the report.

    Of a session that has only grown, turns before the last one are left as they are. An
    unchanged passage keeps its `ingested_at`.
    """

    def chunks_of(turn: Turn, whole_outputs: Whole) -> list[Chunk]:
        chunks = chunk_turn(turn, components.tokens, whole_outputs=whole_outputs)
        return [redact_composed(components.redactor, chunk) for chunk in chunks]

    def ingested_at(session_id: str, chunks: list[Chunk], skip: int) -> Mapping[str, list[object]]:
        return {"ingested_at": _ingested_at(components, project, session_id, chunks, skip)}

    table = _TableOfTurns(components, TURN_CHUNKS, chunks_of, components.sessions.whole_outputs)
    report = derive_table(
        components,
        project,
        CHUNKED,
        make=table.make,
        extend=table.extend,
        written_columns=ingested_at,
    )
    products = components.catalog.products.of_project(TURN_CHUNKS.name, project).values()
    report.details["turns"] = sum(product.facts["turns"] for product in products)
    return report


def extract_prompts(components: Components, project: str) -> StageReport:
    """Make the prompts of the sessions whose records or chunker changed, and return the
    report."""

    def prompts_of(turn: Turn, _: Whole) -> list[Prompt]:
        prompts = prompt_passages(turn, components.tokens)
        return [redact_composed(components.redactor, prompt) for prompt in prompts]

    table = _TableOfTurns(components, USER_PROMPTS, prompts_of)
    return derive_table(
        components,
        project,
        PROMPTED,
        make=table.make,
        extend=table.extend,
    )


class _TableOfTurns:
    """A table in which each row is made from one turn; `rows_of` makes the rows of a turn, with
    what `whole_outputs` reads of the session."""

    def __init__(
        self,
        components: Components,
        table: Table,
        rows_of: Callable[[Turn, Whole], list[Any]],
        whole_outputs: Callable[..., Whole] = lambda source, *, skip=0: {},
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
        made = [self._rows_of(turn, whole) for turn in turns]
        row_of = {id(record): row for row, record in enumerate(records)}
        places = TurnPlaces.of(turns, [len(rows) for rows in made], row_of, TurnPlaces(), 0)
        return _flat(made), {"turns": len(turns), "places": places.fact()}

    def extend(self, source: Product, before: Product, growth: Growth) -> Extension | None:
        """Return the rows of the turns that the added records belong to, and of all later ones."""
        places = TurnPlaces.from_facts(before.facts)
        added = self._components.sessions.records(source, skip=growth.kept)
        place = places.reached_by(growth.kept, added)
        if place is None:
            return None
        records = added
        if place.first_row < growth.kept:
            records = self._components.sessions.records(source, skip=place.first_row)
        row_of = {id(record): place.first_row + n for n, record in enumerate(records)}
        reached = sorted(places.from_place(place, records), key=by_source_file)
        turns = list(build_turns(reached, first_index=place.turn))
        if not turns or turns[0].records[0].seq != place.prompt_seq or turns[0].prompt is None:
            return None  # a subagent of an earlier turn
        whole = self._whole_outputs(source, skip=min(place.first_row, growth.kept))
        made = [self._rows_of(turn, whole) for turn in turns]
        rows = _flat(made)
        key = (source.project, source.session_id)
        old = self._components.lake.read(self._table, *key, ["id"], skip=place.first_derived_row)
        removed = {str(row_id) for row_id in old["id"].to_pylist()}
        removed.difference_update(row.id for row in rows)
        first = source.facts.get("copied_prompts", 0)
        now = TurnPlaces.of(
            turns,
            [len(rows) for rows in made],
            row_of,
            places.before(place.turn),
            place.first_derived_row,
        )
        facts: ProductFacts = {"turns": place.turn - first + len(turns), "places": now.fact()}
        return Extension(place.first_derived_row, rows, facts, sorted(removed))


def _flat(made: list[list[Any]]) -> list[Any]:
    return [row for rows in made for row in rows]


def _ingested_at(
    components: Components, project: str, session_id: str, chunks: list[Chunk], skip: int
) -> list[object]:
    now = datetime.now(UTC)
    before: dict[tuple[Any, Any], object] = {}
    names = ["id", "content_hash", "ingested_at"]
    try:
        old: pa.Table = components.lake.read(TURN_CHUNKS, project, session_id, names, skip=skip)
    except NotFound:
        pass
    else:
        columns = (old[name].to_pylist() for name in names)
        before = {(key, content): when for key, content, when in zip(*columns, strict=True)}
    return [before.get((chunk.id, chunk.content_hash), now) for chunk in chunks]
