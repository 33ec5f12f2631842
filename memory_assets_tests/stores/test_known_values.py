"""The catalogue knows which sessions were searched for which secrets, by hash."""

from __future__ import annotations

from dataclasses import replace

import pytest

from memory_assets.stores.catalog.catalog import Catalog
from memory_assets.stores.catalog.known_secrets import Redaction
from memory_assets_tests.stores.conftest import HELD, PRODUCT

AUDIT = replace(PRODUCT, stage="redaction_audit", output_hash="audit")
HASH, OTHER = b"h" * 16, b"o" * 16


def test_a_value_is_known_once_by_hash_and_rule(catalog: Catalog) -> None:
    """Finding it again adds nothing; numbers only grow."""
    assert catalog.known_secrets.add("s", {HASH: "github-token"}) == 1
    assert catalog.known_secrets.add("t", {HASH: "other-rule", OTHER: "npm-token"}) == 1
    assert catalog.known_secrets.rules() == {HASH: "github-token", OTHER: "npm-token"}
    first, second = catalog.known_secrets.since(0)
    assert first.number < second.number
    assert catalog.known_secrets.since(first.number) == [second]


def test_a_session_is_free_of_its_own_values(catalog: Catalog) -> None:
    """What it gave away was taken out of it; what others give away later was not."""
    catalog.redactions.put(Redaction(PRODUCT, AUDIT, 0, {HASH: "github-token"}))
    assert not catalog.known_secrets.has_unchecked_sessions()
    catalog.known_secrets.add("elsewhere", {OTHER: "npm-token"})
    (session,) = catalog.known_secrets.unchecked_sessions()
    assert (session.project, session.session_id, session.output_hash) == ("p", "s", "out")
    assert [value.hash for value in catalog.known_secrets.since(session.through)] == [OTHER]


def test_a_value_that_came_in_between_is_still_to_be_looked_for(catalog: Catalog) -> None:
    """Another process found it while the session was being redacted without it."""
    catalog.known_secrets.add("elsewhere", {OTHER: "npm-token"})
    catalog.redactions.put(Redaction(PRODUCT, AUDIT, 0, {HASH: "github-token"}))
    (session,) = catalog.known_secrets.unchecked_sessions()
    assert session.through == 0


@pytest.mark.parametrize("kept", [0, 3])
def test_sessions_noted_together_are_free_of_the_values_of_those_before(
    catalog: Catalog, kept: int
) -> None:
    """Each was redacted with them; rows that were kept were not searched for them."""
    later, audit = (replace(each, session_id="t") for each in (PRODUCT, AUDIT))
    catalog.redactions.put(
        Redaction(PRODUCT, AUDIT, 0, {HASH: "github-token"}),
        Redaction(later, audit, 0, {OTHER: "npm-token"}, kept=kept),
    )
    unchecked = {each.session_id for each in catalog.known_secrets.unchecked_sessions()}
    assert unchecked == ({"s", "t"} if kept else {"s"})


def test_a_mark_stays_until_the_session_is_redacted_again(catalog: Catalog) -> None:
    """A later search that finds nothing new does not take it away."""
    catalog.redactions.put(Redaction(PRODUCT, AUDIT, 0, {}))
    catalog.known_secrets.add("elsewhere", {HASH: "github-token"})
    (session,) = catalog.known_secrets.unchecked_sessions()
    catalog.known_secrets.note_checked(session, 1, holds=True)
    catalog.known_secrets.note_checked(session, 2, holds=False)
    assert catalog.known_secrets.affected_sessions("p") == {("p", "s"): 2}
    assert catalog.known_secrets.affected_sessions("q") == {}
    catalog.redactions.put(Redaction(PRODUCT, AUDIT, 1, {}))
    assert catalog.known_secrets.affected_sessions() == {}


def test_a_session_that_is_no_more_holds_nothing(catalog: Catalog) -> None:
    """Neither marked nor to be searched once its product is dropped."""
    catalog.redactions.put(Redaction(PRODUCT, AUDIT, 0, {}))
    catalog.known_secrets.add("elsewhere", {HASH: "github-token"})
    (session,) = catalog.known_secrets.unchecked_sessions()
    catalog.known_secrets.note_checked(session, 1, holds=True)
    catalog.products.drop("redacted_records", "p", "s")
    assert catalog.known_secrets.affected_sessions() == {}
    assert catalog.known_secrets.unchecked_sessions() == []


def test_both_products_of_a_redaction_are_noted_or_neither(catalog: Catalog) -> None:
    """One transaction, which also releases the session from quarantine."""
    catalog.quarantine.hold(HELD)
    with pytest.raises(TypeError):
        unfit = replace(AUDIT, facts={"rules": object()})  # type: ignore[typeddict-item]
        catalog.redactions.put(Redaction(PRODUCT, unfit, 0, {}))
    assert catalog.products.of_session("p", "s") == {}
    assert catalog.quarantine.entries("p")
    catalog.redactions.put(Redaction(PRODUCT, AUDIT, 0, {}))
    assert catalog.products.of_session("p", "s").keys() == {"redacted_records", "redaction_audit"}
    assert catalog.quarantine.entries("p") == []
