"""The console script `memory`: arguments in, lines or JSON out.

Belongs here: parsing, printing, exit codes, and the processes that a command starts. Does
not: how a question is answered (`recall/`) or a project is brought up to date (`pipeline/`).
Commands that need Dagster (`dev`, `retain`, `forget`) import it late, so that asking stays fast,
and in `dagster/` alone. `ingest` writes its run without Dagster.
"""

INTERRUPTED = 130
"""The exit code of a command that Ctrl-C ended, as shells have it."""
