"""One redacted session, read for what stands in it.

Belongs here: what summaries, observations and commits have in common: the session itself
(`SessionTurns`), its sentences and what they say, the shell commands it ran, the files it
touched, the errors it met, the commits it printed. Does not: what is made of these, reading
files, redacting, storing. Text comes in and goes out as `RedactedText`.
"""

from memory_assets.session_analysis.session import SessionTurns, session_turns

__all__ = ["SessionTurns", "session_turns"]
