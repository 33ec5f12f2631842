"""Proof at rest: verdicts on tables and collections, the independent scanner, the deep scan."""
