"""The keyword index: postings, texts and vectors in one SQLite file, searched exactly.

Belongs here: its layout, writing and reading it. Does not: how a text becomes terms
(`keywords.py`) or how they are scored (`recall/`).
"""
