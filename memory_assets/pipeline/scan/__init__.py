"""The asset raw_sessions: facts about transcript files, never their text.

Belongs here: which files are on disk, what changed, where reading stopped. Does not: how an
agent's format is parsed (`transcripts/`).
"""
