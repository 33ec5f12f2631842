"""Questions for what files state of their subjects, answered by the section that says so."""

from __future__ import annotations

import pytest

from memory_assets.keywords import query_terms
from memory_assets.recall.search.documents import asked_relation, relation_scores
from memory_assets.redacted_text import seal
from memory_assets.stores.keyword_index.index import IndexedRow
from memory_assets_tests.sweep import sweep

EVENTS = """# Who publishes what.
order.placed:
  producer: svc-shop
  consumers:
  - svc-mail
  - svc-ledger
order.cancelled:
  producer: svc-desk
  consumers:
  - svc-stock
"""
TABLE = """## Outbound calls

| Service | Calls |
|---|---|
| svc-shop | svc-pay |
| svc-mail | svc-post |

svc-pay is old. It is kept.
"""
LIST = """**Consumers of these events:**

- `order.placed` -> svc-mail

Billing knows of order.cancelled, too.
"""
RECORD = "# 7. Queues\n\n## Status\n\nSuperseded by [Streams](0012-streams.md)\n"


def _row(path: str, text: str, kind: str = "docs") -> IndexedRow:
    metadata = {"kind": kind, "file_path": path, "file_type": "adr" if "adr" in path else "text"}
    return IndexedRow("id", seal(text), {**metadata, "section_heading": ""})


@sweep(
    "query, path, text, worth",
    [
        ("who consumes order.placed", "events.yaml", EVENTS, 1.0),
        ("which services subscribe to order.cancelled", "events.yaml", EVENTS, 1.0),
        ("which service publishes the event order.placed", "events.yaml", EVENTS, 1.0),
        ("which events does svc-stock consume", "events.yaml", EVENTS, 1.0),
        ("who calls svc-post", "calls.md", TABLE, 1.0),
        ("what does svc-shop call", "a.md", TABLE, 1.0),
        ("who consumes order.placed", "a.md", LIST, 1.0),
        ("which component raises stock.low", "shop.md", "events-raised: [stock.low]", 1.0),
        ("what replaced ADR 7", "adr/0007-queues.md", RECORD, 1.0),
        ("which screens call svc-pay", "calls.yaml", "svc-pay:\n- screen: Till\n", 0.5),
        ("who listens to billing", "billing.md", "It is heard by a listener.", 0.5),
    ],
)
def test_a_statement_is_worth_the_names_that_it_has(
    query: str, path: str, text: str, worth: float
) -> None:
    """In a mapping, a table, a list, a sentence; less if the file alone says the rest. Code is left
    to its words."""
    rarities = {term: 1.0 for term, weight in query_terms(query).items() if weight == 1}
    relation = asked_relation(query, rarities)
    assert relation is not None
    rows = [_row(path, text), None, _row(path, text, "code")]
    assert relation_scores(rows, relation).tolist() == [worth, 0.0, 0.0]


@pytest.mark.parametrize("query", ["who consumes order.cancelled", "who publishes order.placed"])
def test_a_name_without_the_relation_states_nothing(query: str) -> None:
    """What stands below a list, or beside another relation, is none of its entries."""
    relation = asked_relation(query, dict.fromkeys(query_terms(query), 1.0))
    assert relation is not None
    assert relation_scores([_row("a.md", LIST)], relation)[0] < 0.7


def test_most_questions_ask_for_no_relation() -> None:
    """Nor does one without a name."""
    assert asked_relation("how long is the lock timeout", {"lock": 1.0}) is None
    assert asked_relation("who consumes", {"consum": 1.0}) is None
