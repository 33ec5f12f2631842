"""The stage of observations: commits, changes, causes and decisions of each session."""

from __future__ import annotations

from memory_assets.observations import OBSERVER_ID, observe
from memory_assets.pipeline.stage.components import Components
from memory_assets.pipeline.stage.redact_composed import redact_composed
from memory_assets.pipeline.stage.report import StageReport
from memory_assets.pipeline.tables.derive import DerivedTable, Made, derive_table
from memory_assets.stores.catalog.schema import Product
from memory_assets.stores.lake.schemas import OBSERVATIONS


def observe_project(components: Components, project: str) -> StageReport:
    """Make the observations of the sessions whose records or observer changed, and return the
    report. An observation that stays when the session grows keeps its id and text.
    """
    return derive_table(components, project, OBSERVED)


def _observations(components: Components, source: Product) -> Made:
    session = components.sessions.session(source)
    if session is None:
        return [], {}
    return [redact_composed(components.redactor, one) for one in observe(session)], {}


OBSERVED = DerivedTable(OBSERVATIONS, OBSERVER_ID, deferrable=True, make=_observations)
