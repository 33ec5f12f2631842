"""Vendors whose keys have no telling shape: a row is name, words, templates.

A value that has the shape counts only beside one of the words (see `contexts.py`). The
words are lower-case beginnings of words; a `_` or `-` in one is literal.
"""

from __future__ import annotations

from memory_assets.redaction.rules.token_formats.contextual_building import BUILDING
from memory_assets.redaction.rules.token_formats.contextual_business import BUSINESS

CONTEXT_FORMATS: tuple[tuple[str, ...], ...] = (*BUILDING, *BUSINESS)
