"""Questions in German, French and Spanish are asked in English, as far as a glossary goes."""

from __future__ import annotations

import pytest

from memory_assets.recall.search.languages import in_english
from memory_assets_tests.recall.conftest import Asked


@pytest.mark.parametrize(
    ("asked", "english"),
    [
        ("warum wurde der Bericht nicht gespeichert?", "why report not save?"),
        ("Welche Sperrdatei ist veraltet?", "which lock file is stale?"),
        ("pourquoi l'erreur d'imprimante dans le rapport ?", "why error printer in report ?"),
        ("¿por qué falla la migración en el servidor?", "¿ why fail migration in server?"),
    ],
)
def test_words_of_the_trade_are_replaced(asked: str, english: str) -> None:
    """Function words too; German compounds are taken apart."""
    translated = in_english(asked, lambda term: False)
    assert translated is not None and translated[0] == english


@pytest.mark.parametrize(
    "asked",
    [
        "why did the report fail",
        "is the die still in /etc/der/das.conf",
        "Fehler",
        "IL-10 production inhibits CD4+ T cells",
        "",
    ],
)
def test_a_question_in_english_stays(asked: str) -> None:
    """Two function words that are no English words make it one in another language."""
    assert in_english(asked, lambda term: False) is None


def test_words_that_occur_stay() -> None:
    """What sessions call by a foreign word is searched as that."""
    translated = in_english("warum ist der Bericht falsch", {"bericht"}.__contains__)
    assert translated == ("why is Bericht wrong", {"falsch": "wrong"})


def test_a_question_in_german_finds_the_turn(asked: Asked) -> None:
    """The answer says by which words it was searched, as with typing errors."""
    german = asked.memory.search("welche Sperrdatei ist veraltet")
    assert german.hits[0].id == asked.memory.search("which lock file is stale").hits[0].id
    assert german.corrected == {"Sperrdatei": "lock file", "veraltet": "stale"}
