"""What the command line's exit codes mean (design: stable, scripts rely on them)."""

FINE, ERROR, USAGE, NOTHING_FOUND, CHECK_FAILED = range(5)
