"""Vendors' token formats, one row each, from their public documentation.

A row is the rule's name and its templates (see `formats.py`). Only formats whose shape alone tells
what they are stand here; shapes that need a word beside them (a bare 32-digit hex key) stand in
`token_formats/contextual.py`, with those words. Identifiers that are meant to be public
(publishable keys, account ids) are left out, but for a few that scanners commonly count as secrets.
"""

from __future__ import annotations

from memory_assets.redaction.rules.token_formats.infrastructure import INFRASTRUCTURE, KEYS
from memory_assets.redaction.rules.token_formats.models import MODELS
from memory_assets.redaction.rules.token_formats.products import PRODUCTS

TOKEN_FORMATS: tuple[tuple[str, ...], ...] = (*INFRASTRUCTURE, *MODELS, *PRODUCTS, *KEYS)
