"""Dagster's run history: the SQLite files that its UI and its daemon read, written without
Dagster.

Importing Dagster takes a second of CPU, and a run of a job of three ops another half: more than
the stages need for a new turn. So `memory ingest` and the watcher write their runs themselves,
with the events that a run of the job `ingest_batch` has.

Belongs here: rows and events as Dagster 1.13.27 writes them, which runs are superseded. Does
not: what a run does (`pipeline/ingest/`), how the files are created (`cli/dagster/home.py`).
"""
