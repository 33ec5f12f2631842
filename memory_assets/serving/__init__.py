"""Recall for others to ask: the MCP server and the HTTP API, thin adapters over `recall/`.

Belongs here: what can be asked and in which form, how an answer is cut to size and framed,
what is refused. Does not: finding anything (`recall/`), printing (`cli/`). Modules
are imported when a server starts, and `recall` with the first question, so that a client
does not wait.
"""
