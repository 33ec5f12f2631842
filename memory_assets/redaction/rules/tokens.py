"""Vendors' token formats, one row each, from their public documentation.

A row is the rule's name and its templates (see `formats.py`). Only formats whose shape
alone tells what they are stand in `TOKEN_FORMATS`; shapes that need a word beside them (a
bare 32-digit hex key) stand in `CONTEXT_FORMATS`, with those words.
Identifiers that are meant to be public (publishable keys, account ids) are left out, but
for a few that scanners commonly count as secrets.
"""

from __future__ import annotations

from memory_assets.redaction.rules.token_formats.cloud import CLOUD, KEYS
from memory_assets.redaction.rules.token_formats.code_hosting import CODE_HOSTING
from memory_assets.redaction.rules.token_formats.contextual_building import BUILDING
from memory_assets.redaction.rules.token_formats.contextual_business import BUSINESS
from memory_assets.redaction.rules.token_formats.messaging import MESSAGING
from memory_assets.redaction.rules.token_formats.models import MODELS
from memory_assets.redaction.rules.token_formats.payments import PAYMENTS
from memory_assets.redaction.rules.token_formats.services import SERVICES

TOKEN_FORMATS: tuple[tuple[str, ...], ...] = (
    *CLOUD,
    *CODE_HOSTING,
    *MODELS,
    *MESSAGING,
    *PAYMENTS,
    *SERVICES,
    *KEYS,
)

CONTEXT_FORMATS: tuple[tuple[str, ...], ...] = (*BUILDING, *BUSINESS)
"""Rows of name, words, templates: a value that has the shape counts only beside one of the words
(see `contexts.py`), which are lower-case beginnings of words; a `_` or `-` in one is literal."""
