"""The code server of `memory dev`, as `python -m`: Dagster's own, which forks runs from a process
that has imported what they need (`run_origin.py`)."""

from memory_assets.dagster.undocumented import run_code_server

ORIGIN = "memory_assets.dagster.run_origin"

if __name__ == "__main__":
    run_code_server(ORIGIN)
