"""Codex's transcripts: `reader.py` is the entry point of this package."""
