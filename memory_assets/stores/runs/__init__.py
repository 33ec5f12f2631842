"""The runs that made the products: their names, their ledger, and their events for Dagster's
history; without Dagster, which takes a second to import."""
