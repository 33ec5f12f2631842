"""Pi's transcripts: `reader.py` is the entry point, `records.py` parses entries."""
