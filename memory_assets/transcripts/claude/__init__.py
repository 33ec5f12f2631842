"""Claude Code's transcripts: `reader.py` is the entry, the rest is what it is made of."""
