"""The asset raw_sessions: facts about transcript files, never their text.

Belongs here: finding files on disk, noticing changes, counting records. Does not: how an
agent's format is parsed (`transcripts/`).
"""
