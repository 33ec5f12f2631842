"""The asset checks: what must hold of a project's tables and collections.

Thin, and made in the step of the asset that they check: each one calls `pipeline/checks/verify.py`,
or has Great Expectations look at a frame of facts (`expectations.py`). Results carry
counts, never text.
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
