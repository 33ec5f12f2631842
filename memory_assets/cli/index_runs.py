"""Bring workspaces up to date for the command line, in this process: the steps of Dagster's job
`index_workspace`, in a run of the same instance."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import closing
from types import MappingProxyType

from memory_assets.cli.ingest import IngestResult, open_history
from memory_assets.errors import safe_reason
from memory_assets.pipeline.checks.checks import Verified
from memory_assets.pipeline.ingest.batch_run import BatchRun
from memory_assets.pipeline.ingest.passes import DOCUMENT_VECTORS, DOCUMENTS, Outcome, Pass
from memory_assets.pipeline.ingest.run_ends import note_run_ends
from memory_assets.pipeline.ingest.workers import Workers
from memory_assets.pipeline.plan.plan import ProjectPlan
from memory_assets.pipeline.stage.components import components_of
from memory_assets.settings import Settings
from memory_assets.stores.run_history.names import (
    PARTITION_TAG,
    WORKSPACE_JOB,
    WORKSPACE_PARTITIONS,
)
from memory_assets.stores.run_history.processes import PROCESS_TAG, this_process
from memory_assets.stores.run_history.superseded import delete_superseded

_PASSES = (*(Pass(asset, (asset,)) for asset in DOCUMENTS.assets), DOCUMENT_VECTORS)


def index_workspace(
    settings: Settings, work: ProjectPlan, *, tags: Mapping[str, str] = MappingProxyType({})
) -> tuple[IngestResult, list[str]]:
    """Bring a workspace up to date in a run of its own; return the result, and the places that
    failed checks name. Its words can be searched before anything is embedded. `tags` are added to
    those of the run."""
    result = IngestResult(projects=1)
    places: list[str] = []
    partition = work.project

    def listen(event: Outcome | Pass) -> None:
        if not isinstance(event, Pass):
            result.add(event)
            if isinstance(event, Verified) and event.failed:
                places.extend(filter(None, str(event.verdict.counts.get("places", "")).split("; ")))

    all_tags = {
        PARTITION_TAG: partition,
        PROCESS_TAG: this_process(),
        "dagster/max_runtime": "3600",
        "memory/reason": work.reason,
        **tags,
    }
    components = components_of(settings)
    with open_history(settings) as history:
        history.add_partitions([partition], WORKSPACE_PARTITIONS)
        steps = [part.assets[-1] for part in _PASSES]
        try:
            with (
                history.run(WORKSPACE_JOB, steps, {}, all_tags) as run,
                closing(Workers(components, run.run_id)) as workers,
            ):
                components.catalog.products.run_id = run.run_id
                batch = BatchRun(components, workers, listen)
                batch.take_workspaces([partition])
                for name, part in zip(steps, _PASSES, strict=True):
                    with run.step(name) as step:
                        batch.run_pass(step, part)
                        step.failure = batch.failure()
        except Exception as error:  # noqa: BLE001 - it is in the run
            if not result.failed and not result.checks_failed:
                result.failed[partition] = safe_reason(error)
        note_run_ends(components)
        delete_superseded(history, [partition], settings.runs_kept)
    return result, places
