"""Chroma: our server, connections to it, collections, damaged files.

Belongs here: everything that knows Chroma; its HTTP API is asked without chromadb's client
(`client.py`). Does not: which rows a collection should have (`pipeline/indexes/`).
"""
