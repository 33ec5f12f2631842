"""The stages, free of Dagster: what each asset does for one project.

Each package is one room, and imports only those below it:

    removal     forgetting sessions, retention
    plan        which projects have work to do, and why
    checks      what must hold of the tables and collections
    indexes     Chroma collections and keyword index, made equal to the tables
    tables      chunks, prompts, embeddings, summaries, observations, commits
    redact      transcripts to redacted records; secrets found later
    scan        facts about transcript files
    ownership   which session a record belongs to; records that must not come back
    stage       what every stage uses: components, report, quarantine

Belongs here: which sessions of a project are out of date at a stage, and bringing just
them up to date. Does not: how a transcript is parsed, redacted, split or embedded (the
domain packages), or how runs, checks and metadata are reported (`dagster/`).

Every stage is a function `(components, project) -> StageReport`. It compares, session by
session, a hash of its input with the one in the catalogue, so that repeating it does
nothing, and an interrupted run is completed by the next.
"""
