"""`memory ingest --watch` and `memory index --watch`: notice changed transcripts and documents, and
run their projects and workspaces.

Belongs here: events of the file system, their debounce, the loop that turns them into runs
of projects. Does not: Dagster (runs are passed in as a function), the work of a run
(`pipeline/`), the command line (`cli/ingesting/watch_command.py`).
"""
