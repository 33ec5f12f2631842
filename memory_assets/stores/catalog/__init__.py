"""The catalogue: a SQLite ledger of what was read, and what was made from what.

Belongs here: its schema, connection and queries, a part for each subject (`catalog.sources`,
`.products`, `.quarantine`, `.redactions`, `.known_secrets`, `.vectors`,
`.collections`). Does not: any transcript text, nor deciding what is out of date (`pipeline/`).
It can be deleted: the next ingest adopts the lake.
"""
