"""memory_assets: coding-agent transcripts as searchable, auditable Dagster data assets."""

__version__ = "0.3.0"
