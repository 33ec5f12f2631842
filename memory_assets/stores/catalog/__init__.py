"""The catalogue: a SQLite ledger of what was read, and what was made from what.

Belongs here: its schema, connections, transactions and queries. Does not: deciding what is
out of date (`pipeline/`). It can be deleted: the next ingest adopts the lake.
"""
