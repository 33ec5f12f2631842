"""qdrant: connections and our collections in it.

Belongs here: everything that knows qdrant. Does not: which rows a collection should have
(`pipeline/indexes/`).
"""
