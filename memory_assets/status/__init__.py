"""The figures of `memory status`, from the catalogue and from facts about files.

Belongs here: counts, coverage, freshness and what is held back. It must be fast, so nothing
here imports pyarrow, numpy, Chroma, pydantic or Dagster early. Does not: reading rows
(`recall/`), checking them (`pipeline/checks/`).
"""
