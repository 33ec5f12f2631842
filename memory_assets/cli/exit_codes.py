"""The command line's exit codes: a contract (docs/contracts.md)."""

FINE, ERROR, USAGE, NOTHING_FOUND, CHECK_FAILED = range(5)
