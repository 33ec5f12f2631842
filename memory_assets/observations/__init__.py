"""Observations: what a session did, met, decided and found out, without an LLM.

Belongs here: which moments of a session are worth remembering by themselves, their type
(bugfix, feature, refactor, change, decision, discovery), and the words for them. Does not:
finding commands, errors, files and sentences (`session_analysis/`), reading, redacting,
storing. What is observed in a turn depends on this turn and those before it alone, so a
session that grows keeps its observations and their ids. docs/observations.md says how often
they err.
"""

from memory_assets.observations.observer import OBSERVER_ID, observe
from memory_assets.observations.types import OBSERVATION_TYPES

__all__ = ["OBSERVATION_TYPES", "OBSERVER_ID", "observe"]
