"""Agents' history and memory in a Chroma that is reached through chroma-mcp, over MCP only.

Belongs here: the session with an MCP server (`session.py`), the names of chroma-mcp's tools
and rows as it keeps them (`adapter.py`), how it is started (`run_server.py`). Does not: what may be
stored (`agent_memory/`), and Chroma's own HTTP API (`stores/chroma/`).
"""
