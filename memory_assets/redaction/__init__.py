"""The only way from transcript text to text that may be written: `load_redactor()`.

Belongs here: the rule table (as data), the engine that runs it, the self-test, and the
policy for the contents of files. Does not belong here: reading transcripts, quarantine
of a session, the stores, settings from the environment. There is no switch that turns
redaction off: what cannot be redacted raises and must not be written.
"""

from __future__ import annotations

from memory_assets.redacted_text import RedactedText
from memory_assets.redaction.findings import Finding, Redaction
from memory_assets.redaction.redactor import Redactor, load_redactor
from memory_assets.redaction.settings import RedactionSettings

__all__ = [
    "Finding",
    "RedactedText",
    "Redaction",
    "RedactionSettings",
    "Redactor",
    "load_redactor",
]
