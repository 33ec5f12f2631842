"""Search: a request in, ranked hits with their coverage out.

Belongs here: requests and filters, ranking by words and meaning, excerpts, the answer. Does
not: what happened around a hit (`recall/sessions/timeline.py`), printing (`cli/`).
"""
