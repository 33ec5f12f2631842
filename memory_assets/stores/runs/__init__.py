"""The runs that made what is on record: what they are called, the ledger of them, and what came of
them for Dagster's catalogue. Without Dagster, which takes a second to import."""
