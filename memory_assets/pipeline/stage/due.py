"""The loop of every stage: what is due is made, session by session, written in batches and noted; a
session that fails is held back, and the others go on. A document of a workspace, or a conversation
of agents, has the place of a session.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Generic, Literal, TypeVar

from memory_assets.pipeline.stage.components import Components, Enough
from memory_assets.pipeline.stage.quarantine import hold_back
from memory_assets.pipeline.stage.report import StageReport
from memory_assets.stores.catalog.schema import Product
from memory_assets.stores.lake.lake import LakeBatch

Source = TypeVar("Source")
Done = TypeVar("Done")
Status = Literal["current", "held back", "deferred", "due"]
"""The state of what a stage has of a session; `due`: it is to be made."""


@dataclass(frozen=True)
class Work(Generic[Source]):
    """What a stage has to decide of one session: `expected` is the hash of its present input, for
    which a failure holds it back; `source` is what the stage makes it of."""

    session_id: str
    status: Status
    expected: str
    source: Source


def make_due(
    components: Components,
    report: StageReport,
    batch: LakeBatch,
    works: Sequence[Work[Source]],
    make: Callable[[Source, str], Done | None],
    note: Callable[[Sequence[Done]], None],
    enough: Enough = lambda count: False,
) -> None:
    """Make what is due, in this order. `make` takes a source and its expected hash, puts the rows
    into the batch, and returns what `note` is called with once they are written; None: nothing is
    to be noted. Once `enough(number tried)` is true, the others are left to the next run.

    Raises:
        StoreError, EmbedderUnavailable, RedactionUnavailable: the failure is of no session.
    """
    catalog, project, stage = components.catalog, report.project, report.stage
    held, tried, made = catalog.quarantine.inputs(project, stage), 0, list[Done]()

    def publish() -> None:
        batch.publish()
        note(made)
        made.clear()

    for number, work in enumerate(works):
        components.progress(project, stage, number, len(works))
        if work.status == "current" and work.session_id in held:
            catalog.quarantine.release(project, work.session_id, stage)
        if work.status == "deferred":
            report.details["waiting"] = int(report.details.get("waiting", 0)) + 1
        if work.status != "due":
            continue
        if enough(tried):
            report.unfinished = True
            break
        tried += 1
        try:
            done = make(work.source, work.expected)
        except Exception as error:  # noqa: BLE001 - fail closed, and let the others go on
            batch.discard(work.session_id)
            hold_back(catalog, project, work.session_id, stage, work.expected, error)
            continue
        made += [done] if done is not None else []
        if batch.full:
            publish()
    publish()


def note_products(
    components: Components, products: dict[str, Product], made: Iterable[Product]
) -> None:
    """Note products in the catalogue and in `products`, by session."""
    new = {product.session_id: product for product in made}
    components.catalog.products.put(*new.values(), run_id=components.run_id)
    products.update(new)


def release_vanished(components: Components, report: StageReport, present: Iterable[str]) -> None:
    """Release what is held back at a stage and no longer there."""
    held = components.catalog.quarantine.inputs(report.project, report.stage)
    for name in sorted(held.keys() - set(present)):
        components.catalog.quarantine.release(report.project, name, report.stage)
