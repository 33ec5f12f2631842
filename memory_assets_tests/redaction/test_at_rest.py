"""A text in which nothing was found is not scanned again; any other text is."""

from __future__ import annotations

import pytest

from memory_assets.redaction import Redactor, load_redactor
from memory_assets.redaction.at_rest import AtRest
from memory_assets.redaction.engine.scanner import Scanner
from memory_assets.redaction.known_secrets import value_hash
from memory_assets_tests.records import record

KEY = bytes(32)
TOKEN = "ghp_" + "a1B2c3D4e5F6" * 3


@pytest.fixture(scope="module", autouse=True)
def at_rest() -> None:
    """Texts at rest are remembered, as they are outside of tests."""


@pytest.fixture
def redactor() -> Redactor:
    """A redactor that has read nothing."""
    return load_redactor(key=KEY)


@pytest.fixture
def scanned(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The texts that a scanner has looked at."""
    texts: list[str] = []
    look = Scanner.look

    def noted(self: Scanner, text: str) -> object:
        texts.append(text)
        return look(self, text)

    monkeypatch.setattr(Scanner, "look", noted)
    return texts


@pytest.mark.parametrize("text", [f"export TOKEN={TOKEN}", "nothing in it", "key: \ud800"])
def test_a_redacted_text_is_scanned_once(redactor: Redactor, scanned: list[str], text: str) -> None:
    """What another redactor finds in it is the same: nothing."""
    once = redactor.redact(text).text
    scanned.clear()
    assert redactor.find(once) == () == load_redactor(key=KEY).find(once)
    assert redactor.redact(once).text == once
    assert scanned == [once]  # by the other one


def test_a_session_scans_no_text_that_another_one_had(
    redactor: Redactor, scanned: list[str]
) -> None:
    """Sessions that go on from one another repeat its records."""
    for name in ("one", "two"):
        session = redactor.session(name)
        session.redact_record(record("the same words"), project="p", project_root="/r")
    assert scanned.count("the same words") == 1


def test_a_text_with_a_secret_is_scanned_each_time(redactor: Redactor, scanned: list[str]) -> None:
    """Neither it nor what differs in one character from a text at rest counts as clean."""
    text = f"export TOKEN={TOKEN}"
    once = redactor.redact(text).text
    assert redactor.find(text) == redactor.find(text) != ()
    scanned.clear()
    assert redactor.find(f"{once}.") == ()
    assert scanned == [f"{once}."]


def test_a_text_at_rest_is_searched_for_known_secrets(redactor: Redactor) -> None:
    """The rules found nothing in it before the value was known."""
    value = "Xk9-qPz4vRw2-mNt7731"
    assert redactor.redact(f"it says {value}").text == f"it says {value}"
    known = value_hash(value, KEY)
    assert known is not None
    session = redactor.session("s", frozenset({known}))
    assert value not in session.redact(f"it says {value}").text


def test_what_is_remembered_is_bounded() -> None:
    """When it is full it begins anew."""
    texts = AtRest(most=2)
    for text in ("a", "b", "c"):
        texts.add(text)
    assert [text for text in ("a", "b", "c") if text in texts] == ["c"]
