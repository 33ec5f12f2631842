"""Where things are kept: the lake (Parquet), the catalogue (SQLite) and Chroma.

Belongs here: layouts, schemas, atomic writes, locks, processes that own a store.
Does not: what the pipeline puts into them (`pipeline/`) or how they are queried
(`recall/`).
"""
