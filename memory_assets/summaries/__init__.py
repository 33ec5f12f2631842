"""One summary per session, without an LLM.

Belongs here: what a summarizer is (`Summarizer`), and the extractive one, which picks
sentences and facts that stand in the session (`session_analysis/` finds them). Does not: reading,
redacting, cutting into turns, storing. Text goes in and comes out as
`RedactedText`. docs/summaries.md says what each field is made of, and how often it errs.
"""

from __future__ import annotations

from memory_assets.errors import ConfigurationError
from memory_assets.summaries.base import Summarizer
from memory_assets.summaries.extractive import ExtractiveSummarizer

_SUMMARIZERS: dict[str, type[ExtractiveSummarizer]] = {"extractive": ExtractiveSummarizer}


def load_summarizer(name: str = "extractive") -> Summarizer:
    """Return the summarizer called `name`.

    Raises:
        ConfigurationError: there is none of that name; the message lists those there are.
    """
    if name not in _SUMMARIZERS:
        known = ", ".join(sorted(_SUMMARIZERS))
        raise ConfigurationError(f"unknown summarizer {name!r}; known are: {known}")
    return _SUMMARIZERS[name]()


__all__ = ["ExtractiveSummarizer", "Summarizer", "load_summarizer"]
