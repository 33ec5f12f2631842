"""Keeping the Chroma collections and the keyword index equal to the lake's tables.

Belongs here: comparing ids and row hashes, writing the difference, rebuilding a collection
from stored vectors. Does not: Chroma's client and server, the index's files (`stores/`).
"""
