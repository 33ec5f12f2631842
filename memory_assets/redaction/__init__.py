"""The only way from transcript text to text that may be written: `load_redactor()`.

Belongs here: the rule table (as data), the engine that runs it, the readings of a text
that show what its plain form hides, tags, personal data, what a session's records tell
about each other, the self-test, and the policy for the contents of files. Does not belong
here: reading transcripts, quarantine of a session, the stores, settings from the
environment. There is no switch that turns redaction off: what cannot be redacted raises
and must not be written.
"""

from __future__ import annotations

from memory_assets.redacted_text import RedactedText
from memory_assets.redaction.engine.scanner import WITHHELD
from memory_assets.redaction.findings import Finding, RecordRedaction, Redaction
from memory_assets.redaction.known_secrets import KnownValues, value_hash
from memory_assets.redaction.redactor import Redactor, load_redactor
from memory_assets.redaction.session_redactor import SessionRedactor
from memory_assets.redaction.settings import PERSONAL_KINDS, RedactionSettings
from memory_assets.redaction.tags import TAG
from memory_assets.redaction.text_redactor import keep_lines
from memory_assets.redaction.version import ENGINE_VERSION, ruleset_version

__all__ = [
    "ENGINE_VERSION",
    "PERSONAL_KINDS",
    "TAG",
    "WITHHELD",
    "Finding",
    "KnownValues",
    "RecordRedaction",
    "RedactedText",
    "Redaction",
    "RedactionSettings",
    "Redactor",
    "SessionRedactor",
    "keep_lines",
    "load_redactor",
    "ruleset_version",
    "value_hash",
]
