"""What happened around a turn, session, commit, file or time.

Belongs here: finding the anchor, collecting and ordering what is near it. Does not: ranking
(`recall/search/`).
"""
