"""Facts of one redacted session, for summaries, observations and commits.

Belongs here: the session itself (`SessionTurns`), its sentences and their scores, shell
commands, files, errors and printed commits. Does not: composing summaries, observations or
claims from them, reading files, redacting, storing. Text is passed as `RedactedText`.
"""

from memory_assets.session_analysis.session import SessionTurns, session_turns

__all__ = ["SessionTurns", "session_turns"]
