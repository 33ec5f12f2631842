"""The asset memory_status: the figures of `memory status`, with
[asset checks](https://docs.dagster.io/guides/test/asset-checks) of the whole memory."""

from datetime import timedelta

import dagster as dg

from memory_assets.dagster.assets.collections import COLLECTIONS, keyword_index
from memory_assets.dagster.assets.step import StepResults
from memory_assets.dagster.expectations import great_expectations_agree
from memory_assets.dagster.metadata import checked
from memory_assets.dagster.resources import MemoryParam
from memory_assets.errors import no_text_in_errors
from memory_assets.pipeline.checks.figures import status_figures, status_report, status_verdicts

CHECKS = {
    "everything_indexed": "Each collection has as many rows as its table.",
    "sources_are_found": "Every turn in the agents' files, read again, is in table, collection "
    "and keyword index, and nothing else is; by session.",
    "nothing_quarantined": "No session is held back. A warning, with the reasons.",
    "no_run_failed": "No run failed in seven days. A warning: the next run completes it.",
    "great_expectations_agree": "Great Expectations finds what matches_schema checks in each "
    "run, in every row that changed since it last looked.",
}


@dg.asset(
    deps=[*COLLECTIONS, keyword_index],
    group_name="maintenance",
    kinds={"sqlite"},
    freshness_policy=dg.FreshnessPolicy.time_window(
        fail_window=timedelta(hours=50), warn_window=timedelta(hours=26)
    ),
    check_specs=[
        dg.AssetCheckSpec(name, asset="memory_status", description=text)
        for name, text in CHECKS.items()
    ],
)
def memory_status(memory: MemoryParam) -> StepResults:
    """Coverage by set, lag, quarantined sessions, store sizes, versions and runs, of all projects.

    Materialized every night and on demand, because its checks read all sources again, as
    `memory verify` does.
    """
    with no_text_in_errors():
        components = memory.components()
        figures, current = status_figures(components)
        shown = dg.MetadataValue.md(status_report(components, current))
        yield dg.MaterializeResult(metadata={"report": shown, **figures})
        for name, verdict in status_verdicts(components, current).items():
            yield checked("memory_status", name, verdict)
        agreed = great_expectations_agree(components)
        yield checked("memory_status", "great_expectations_agree", agreed)
