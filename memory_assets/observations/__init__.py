"""Observations: commits, changes, causes and decisions of a session, without an LLM.

Belongs here: selecting moments of a session, their type (bugfix, feature, refactor, change,
decision, discovery) and their text. Does not: finding commands, errors, files and sentences
(`session_analysis/`), reading, redacting, storing. A session that grows keeps its observations and
their ids, except those that a later turn settles: what is committed, replaced or denied.
benchmarks/notes/observations.md has the measured errors.
"""

from memory_assets.observations.moments import CONCEPTS, OBSERVATION_TYPES
from memory_assets.observations.observer import OBSERVER_ID, observe

__all__ = ["CONCEPTS", "OBSERVATION_TYPES", "OBSERVER_ID", "observe"]
