"""What agents write into memory themselves: the turns of their conversations, and what of them is
worth keeping.

Belongs here: what may be stored (`policy.py`), the services over the stores, the context that is
built of both, and the ports through which services reach stores, redactor and embedder. Does not
belong here: SQLite, Chroma, MCP, settings from the environment.
"""
