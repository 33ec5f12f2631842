"""What became of files: who changed them, and their text as a session left it."""
