"""The stages, free of Dagster: what each asset does for one project or workspace.

Each package is one room; ARCHITECTURE.md lists them from top to bottom, and each imports only
those below it. `stages.py` is the list of the tables that are made from other tables.

Belongs here: which sessions of a project are out of date at a stage, and bringing just
them up to date. Does not: how a transcript is parsed, redacted, split or embedded (the
domain packages), or how runs, checks and metadata are reported (`dagster/`).

Every stage is a function `(components, project) -> StageReport`. It compares, session by
session, a hash of its input with the one in the catalogue, so that repeating it does
nothing, and an interrupted run is completed by the next.
"""
