"""Whether the keyword index holds just the rows of the lake."""

from __future__ import annotations

from memory_assets.pipeline.checks.verify import Verdict
from memory_assets.pipeline.indexes.keywords import KINDS, missing_and_extra
from memory_assets.pipeline.stage.components import Components


def keywords_match(components: Components, project: str) -> Verdict:
    """Whether the ids in the keyword index are exactly those of the lake's tables."""
    counts = {}
    for kind in KINDS:
        missing, extra = missing_and_extra(components, project, kind)
        counts[f"{kind}_missing"], counts[f"{kind}_extra"] = missing, extra
    return Verdict(
        not any(counts.values()), counts, f"Run `memory ingest --full --project={project}`."
    )
