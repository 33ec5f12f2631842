"""The tables made of redacted records.

Belongs here: turn_chunks, user_prompts, session_summaries, observations, session_commits,
session_usage, retrieved_documents and the embeddings of texts; which sessions of a table are out
of date (`derive.py`); commit_links, which a person sets. Does not: how a turn is cut or a summary
is written (the domain packages).
"""
