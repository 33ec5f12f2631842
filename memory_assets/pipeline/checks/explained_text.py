"""The check of the account of text: whether transcripts have text that no reader knows."""

from __future__ import annotations

from memory_assets.pipeline.checks.verify import Verdict
from memory_assets.pipeline.stage.components import Components
from memory_assets.stores.catalog.text_account import account_of

_LISTED = 20


def text_is_explained(components: Components, project: str) -> Verdict:
    """Whether what readers made of each session has all of its text, but for what their tables
    say is left out."""
    account = account_of(components.catalog.sources.rows(project))
    counts: dict[str, int | str] = {
        "text": account.text,
        "unexplained": account.missing,
        "sessions": account.over,
        "not_compared": account.beyond,
        "unexplained_at": account.places(_LISTED),
    }
    remedy = "The agent writes something new: see whether a newer memory_assets reads it."
    return Verdict(account.over == 0, counts, remedy)
