"""The stages of a workspace: its documents, redacted, and their chunks.

Belongs here: which files changed, redacting a document, cutting it into chunks. Does not belong
here: how a type of file is cut (`documents/`), and what all tables have in common
(`tables/`, `indexes/`).
"""
