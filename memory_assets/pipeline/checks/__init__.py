"""Checks of tables and collections, for the asset checks and `memory verify`.

Belongs here: looking for secrets with our rules and an independent scanner, comparing tables
with sources and collections with tables, searching every byte at rest. Does not: how a result
becomes an asset check (`dagster/assets/step.py`).
"""
