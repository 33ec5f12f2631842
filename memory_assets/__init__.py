"""memory_assets: coding-agent transcripts as searchable, auditable Dagster data assets."""

import os

__version__ = "0.4.0"

# From 1.31 on, onnxruntime reports to its vendor from its import on, and no call after that stops
# it. Each program of ours has this module first, and hands its variables to those that it starts.
os.environ["ORT_DISABLE_TELEMETRY"] = "1"
