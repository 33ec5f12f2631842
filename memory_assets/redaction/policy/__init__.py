"""File contents: which ranges of a record they are, and whether they may stay."""
