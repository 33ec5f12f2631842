"""The Dagster code location: the graph, and nothing but the graph.

Belongs here: assets, asset checks, jobs, schedules, sensors, partitions, the resource, the
metadata that the UI shows, and the storage of Dagster's history. Does not: what a stage
does (`pipeline/`), how a run is launched from the command line (`cli/`). `definitions.py`
assembles it. See https://docs.dagster.io/guides/build/projects-and-components.
"""
