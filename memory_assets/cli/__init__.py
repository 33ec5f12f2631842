"""The console script `memory`: arguments in, lines or JSON out.

Belongs here: parsing, printing, exit codes, and the processes that a command starts. Does
not: how a question is answered (`recall/`) or a project is brought up to date (`pipeline/`).
Commands that run Dagster (`ingest`, `dev`, `retain`, `forget`) import it when they need it,
so that asking stays fast; test_layering.py names the modules that may.
"""
