"""Words of a question that occur nowhere are read as the words that they nearly are."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import closing
from pathlib import Path

import pytest

from memory_assets.recall.search.corpus import Corpora
from memory_assets.recall.search.spelling import Vocabulary, corrections, in_english, replaced
from memory_assets.serving.answer_lines import search_notes
from memory_assets.stores.keyword_index.files import open_for_writing
from memory_assets.writing_systems import in_one_form
from memory_assets_tests.recall.conftest import Asked
from memory_assets_tests.recall.test_ranking import add_session

SAID = (
    "the pods on kubernetes did not receive the secret",
    "all migrations ran, and the window of the editor was turning grey",
    "authentication of the router failed",
    "the table of the lake was damaged",
)


def _corrected(path: Path, query: str, said: Sequence[str] = SAID, **scope: str) -> dict[str, str]:
    with closing(open_for_writing(path / "keywords.db")) as index:
        add_session(index, "a", said)
        add_session(index, "b", ["the parliament of owls"], project="-owls")
        corpora = Corpora(index)
        with index.reading():
            vocabulary = Vocabulary(corpora, ["sessions"], scope.get("project"))
            return corrections(query, vocabulary)


@pytest.mark.parametrize(
    ("typed", "meant"),
    [
        ("recieve", "receive"),
        ("kuberntes", "kubernetes"),
        ("Kubernetis", "kubernetes"),
        ("migratoins", "migrations"),
        ("authentification", "authentication"),
        ("wnidow", "window"),
        ("iwndow", "window"),
        ("tturning", "turning"),
        ("roter", "router"),
    ],
)
def test_letters_left_out_added_changed_or_swapped_are_corrected(
    tmp_path: Path, typed: str, meant: str
) -> None:
    """One error, in long words two, the first letter being right or swapped with the second."""
    assert _corrected(tmp_path, f"what about the {typed}?") == {typed: meant}


@pytest.mark.parametrize(
    "query",
    [
        "did the migration receive the kubernets",  # the stems of these occur
        "mabel's",  # two errors in a short word
        "tables and cables and a tale",  # right, though "table" is near to "tale"
        "xouter",  # the first letter
        "TABEL",
        "src/tabel.py",
        "my-tabel",
        "tabel_of",
        "zzzzqqqq",
        "thier",  # a misspelt question word is near no word of content
        "",
    ],
)
def test_other_words_stay_as_they_are(tmp_path: Path, query: str) -> None:
    """Those that occur, acronyms, identifiers, paths, and what is near to nothing."""
    assert _corrected(tmp_path, query) == {}


@pytest.mark.parametrize(
    ("typed", "meant"),
    [
        ("Rechnungsnummer", "rechnung nummer"),
        ("Straßenverzeichnis", "strasse verzeichnis"),
        ("Datenbankverbindung", "datenbank verbindung"),
        ("backpressure", "back pressure"),
        ("Lieferung", "lieferungsadresse"),
        ("Größenangabe", "grossenangaben"),
    ],
)
def test_a_compound_is_found_by_its_parts_and_by_its_beginning(
    tmp_path: Path, typed: str, meant: str
) -> None:
    """As German and its like write words together, with or without a letter between them."""
    said = [
        "die Nummer der Rechnung fehlt",
        "ein Verzeichnis je Straße, zur Datenbank ist die Verbindung weg",
        "put back the pressure, die Lieferungsadresse ist leer",
        "falsche Größenangaben",
    ]
    found = _corrected(tmp_path, in_one_form(f"wo ist {typed}?"), said)
    assert list(found.values()) == [meant]


def test_of_words_equally_near_the_one_with_all_letters_typed_is_meant(tmp_path: Path) -> None:
    """Two are swapped, or one is left out, more often than one is mistaken for another."""
    said = ["the psu was replaced", "push to origin", "a list of lists", "this list", "the limit"]
    assert _corrected(tmp_path, "psuh limt", said) == {"psuh": "push", "limt": "limit"}


def test_of_words_equally_near_the_more_frequent_is_meant(tmp_path: Path) -> None:
    """Whatever their order."""
    said = ["the lake", "the late train", "late again"]
    assert _corrected(tmp_path, "lafe", said) == {"lafe": "late"}


def test_a_project_is_asked_in_its_own_words(tmp_path: Path) -> None:
    """What another project says corrects nothing, and is no mistake."""
    assert _corrected(tmp_path, "parlament") == {"parlament": "parliament"}
    assert _corrected(tmp_path / "owls", "kuberntes parliamemt", project="-owls") == {
        "parliamemt": "parliament"
    }
    said = ["the owl", "a mouse"]
    assert _corrected(tmp_path / "mice", "parliament owlz", said, project="-p") == {"owlz": "owl"}


def test_only_whole_words_are_replaced() -> None:
    """A word within another stays."""
    assert replaced("tabel tabels my-tabel", {"tabel": "table"}) == "table tabels my-tabel"


@pytest.mark.parametrize("mode", ["hybrid", "semantic", "keyword"])
def test_a_search_finds_what_was_meant_and_says_so(asked: Asked, mode: str) -> None:
    """The answer is that of the right spelling; query and note name what was typed."""
    right = asked.memory.search("lighthouse keeping", mode=mode)
    found = asked.memory.search("lihgthouse keeping", mode=mode)
    assert found.query == "lihgthouse keeping"
    assert found.corrected == {"lihgthouse": "lighthouse"} and right.corrected == {}
    assert [hit.id for hit in found.hits] == [hit.id for hit in right.hits]
    assert "Searched for lighthouse instead of lihgthouse." in search_notes(found.to_dict())


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
