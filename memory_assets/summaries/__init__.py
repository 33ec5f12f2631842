"""One summary per session, without an LLM unless the settings name one.

Belongs here: the extractive summarizer, which selects sentences and facts of the session
(found by `session_analysis/`), and the one whose text a model at an endpoint writes. Does not:
reading, redacting, cutting into turns, storing. Text is passed as `RedactedText`.
docs/summaries.md describes each field and its measured errors.
"""

from __future__ import annotations

from typing import Protocol

from memory_assets.errors import ConfigurationError
from memory_assets.models import Summary
from memory_assets.session_analysis.session import SessionTurns
from memory_assets.summaries.extractive import ExtractiveSummarizer


class Summarizer(Protocol):
    """Makes one summary of a session. `reason`: why some summaries were made by extraction instead,
    "" if none was."""

    summarizer_id: str
    reason: str

    def summarize(self, session: SessionTurns) -> Summary:
        """Return the session's summary, which has the id of the summarizer that made it."""


def load_summarizer(name: str = "extractive") -> ExtractiveSummarizer:
    """Return the summarizer called `name`.

    Raises:
        ConfigurationError: there is none of that name; the message lists those there are.
    """
    if name != "extractive":
        raise ConfigurationError(
            f"unknown summarizer {name!r}; known are: extractive, openai:MODEL@URL"
        )
    return ExtractiveSummarizer()


__all__ = ["ExtractiveSummarizer", "Summarizer", "load_summarizer"]
