"""An ingest of many projects: what makes each asset, in which order, by which process.

Belongs here: the steps of a project, the passes over all projects (words first), worker
processes. Does not: what a step does (the rooms below), Dagster's events (`dagster/batch.py`).
"""
