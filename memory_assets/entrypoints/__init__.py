"""Ways in: the command line now; MCP and HTTP later. Thin adapters over `recall/`.

`ingest.py` and `dagster_home.py` are the only modules here that may import Dagster, and
`cli.py` imports them only when a command needs them, so that asking stays quick.
"""
