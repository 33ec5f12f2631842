"""Text to search terms: how words, identifiers, paths and dates are indexed and asked for.

Belongs here: splitting, stemming, irregular forms, words that say little. Does not: where
terms are kept (`stores/keyword_index/index.py`), how they are scored (`recall/`).
"""

from memory_assets.keywords.terms import (
    TERMS_VERSION,
    date_terms,
    is_weak,
    query_terms,
    symbol_share,
    text_terms,
)

__all__ = [
    "TERMS_VERSION",
    "date_terms",
    "is_weak",
    "query_terms",
    "symbol_share",
    "text_terms",
]
