"""The commands that run Dagster, the only ones that import it."""
