"""One summary per session, without an LLM.

Belongs here: the extractive summarizer, which selects sentences and facts of the session
(found by `session_analysis/`). Does not: reading,
redacting, cutting into turns, storing. Text is passed as `RedactedText`. docs/summaries.md
describes each field and its measured errors.
"""

from __future__ import annotations

from memory_assets.errors import ConfigurationError
from memory_assets.summaries.extractive import ExtractiveSummarizer


def load_summarizer(name: str = "extractive") -> ExtractiveSummarizer:
    """Return the summarizer called `name`.

    Raises:
        ConfigurationError: there is none of that name; the message lists those there are.
    """
    if name != "extractive":
        raise ConfigurationError(f"unknown summarizer {name!r}; known are: extractive")
    return ExtractiveSummarizer()


__all__ = ["ExtractiveSummarizer", "load_summarizer"]
