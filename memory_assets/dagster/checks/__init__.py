"""The [asset checks](https://docs.dagster.io/guides/test/asset-checks) of a project's tables and
collections.

Thin: `pipeline/checks/checks.py` has the list; here each check becomes a spec and, in the step
of its asset, a result with counts, never with text. Great Expectations evaluates what is
expected of a table's rows (`expectations.py`).
"""

import warnings

import dagster as dg

# Partitioned checks are new in 1.13 and marked as preview; without them a check of a
# partitioned asset would have to read every partition.
warnings.filterwarnings(
    "ignore",
    message="Specifying a partitions_def on an AssetCheckSpec",
    category=dg.PreviewWarning,
)
