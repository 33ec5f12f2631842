"""An ingest of many projects: the steps that make the assets, their order, and their processes.

Belongs here: the steps of a project, the passes over all projects (words first), worker
processes. Does not: what a step does (the rooms below), Dagster's events (`dagster/batch.py`).
"""
