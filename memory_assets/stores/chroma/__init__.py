"""Chroma: our server, connections to it, collections, damaged files.

Belongs here: everything that knows Chroma. Only `collections.py` and `connection.py` import
chromadb, when they are first used. Does not: which rows a collection should have
(`pipeline/indexes/`).
"""
