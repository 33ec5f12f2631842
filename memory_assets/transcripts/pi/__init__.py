"""Pi's transcripts: `reader.py` is the entry, `records.py` what it is made of."""
