"""Where data is kept: the lake (Parquet), the catalogue and the keyword index (SQLite), vectors
(Chroma or qdrant), the journal of what agents wrote, and the ledger of runs.

Belongs here: layouts, schemas, atomic writes, locks, processes that own a store.
Does not: what the pipeline puts into them (`pipeline/`) or how they are queried
(`recall/`).
"""
