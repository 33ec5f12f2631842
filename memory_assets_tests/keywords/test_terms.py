"""How a text becomes terms, so that it is found however it is asked for."""

from __future__ import annotations

import time
from datetime import UTC, datetime

import pytest

from memory_assets.keywords import (
    WEAK,
    content_words,
    date_terms,
    indexed_terms,
    named_words,
    query_terms,
    symbol_share,
    text_terms,
)
from memory_assets_tests.sweep import sweep


@sweep(
    "said, asked",
    [
        ("readFooter returned None", "readfooter"),
        ("readFooter returned None", "read footer"),
        ("HTTPServerError", "http server error"),
        ("the_default_branch()", "default branch"),
        ("in src/stores/lake_files.py", "lake_files.py"),
        ("in src/stores/lake_files.py", "src/stores/lake_files.py"),
        ("in src/stores/lake_files.py", "lake files"),
        ("ECONNREFUSED 127.0.0.1:5432", "5432"),
        ("error E0382: borrow of moved value", "E0382"),
        ("interleukin IL-10", "IL-10"),
        ("she rebuilt it", "rebuild"),
        ("we chose SQLite", "choose sqlite"),
        ("migrations were failing", "migration failed"),
        ("サーバーが落ちた", "サーバー"),
        ("don't retry", "don't"),
        ("the straße table", "STRASSE"),
        ("Łódź, Größe, naïve", "lodz grosse naive"),
        ("ΑΘΉΝΑ", "αθήνα"),
        ("Tiếng Việt", "tieng viet"),
        ("שָׁלוֹם עולם", "שלום"),
        ("отчёт о складе", "ОТЧЕТ СКЛАД"),
        ("мой край", "край"),
        ("ﬁle ＡＰＩ ﾃﾞｰﾀ", "file api データ"),
        ("\u1112\u1161\u11a8 책이", "학"),
        ("先看日志", "看"),
        ("ລາຍງານ", "ງານ"),
        ("हिन्दी में", "हिन्दी"),
        ("foo\u00adbar", "foobar"),
        ("変数foo_barを", "foo_bar"),
        ("ファイルlake/files.pyを", "lake/files.py"),
        ("エラー・ログ", "ログ"),
        ("e\u2011mail, don’t", "e-mail don't"),
        ("سرور كابل", "سرور کابل"),
        ("𠮷野家", "𠮷野"),
        ("Σίσυφος", "ΣΊΣΥΦΟΣ"),
    ],
)
def test_what_was_said_is_found_by_what_is_asked(said: str, asked: str) -> None:
    """Every term of the question is a term that the text is indexed by."""
    assert set(query_terms(asked)) <= set(indexed_terms(said))


@pytest.mark.parametrize(
    "tag", ["<redacted:named-secret:aa09bd8298b8>", "<redacted-file-contents-of-20480-bytes>"]
)
def test_the_words_of_a_redaction_tag_are_none_of_the_text(tag: str) -> None:
    """Neither of what is indexed nor of what is asked."""
    assert list(indexed_terms(f"key={tag}, said")) == list(indexed_terms("key=, said"))
    assert query_terms(f"the key {tag}") == query_terms("the key")


def test_letters_that_differ_are_not_one() -> None:
    """й is another letter than и, and a word of Thai is more than its letters."""
    assert set(text_terms("йод")) != set(text_terms("иод"))
    assert not set(query_terms("รายงาน")) & set(text_terms("ภาษี"))


@pytest.mark.timeout(60)
@sweep(
    "hostile",
    [
        "a" + "\u0327\u0301" * 50_000,
        "ก" + "\u0e48\u0e38" * 50_000,
        "\u1ab0\u0327" * 50_000,
        "\ufdfa" * 20_000,
        "가" * 50_000,
    ],
)
def test_marks_that_follow_each_other_take_no_ages(hostile: str) -> None:
    """To sort 100,000 of them takes minutes."""
    assert sum(1 for _ in indexed_terms(hostile)) < 1_000_000


def test_words_that_make_it_a_question_weigh_little() -> None:
    """But they are kept, for texts that differ in nothing else."""
    weights = query_terms("Why did the upload fail?")
    assert weights["upload"] == weights["fail"] == 1.0
    assert weights["the"] == weights["do"] == WEAK
    assert set(query_terms("what is it").values()) == {WEAK}


def test_a_time_is_found_by_month_year_and_day() -> None:
    """In the form that a question's own words take; an unknown time by nothing."""
    terms = set(date_terms(datetime(2025, 10, 3, 9, 30, tzinfo=UTC)))
    for asked in ("in October", "2025", "on 2025-10-03"):
        assert {term for term, weight in query_terms(asked).items() if weight == 1} & terms
    assert date_terms(None) == ()


@pytest.mark.parametrize(
    ("zone", "day"),
    [
        ("Asia/Tokyo", "2025-11-01"),
        ("America/New_York", "2025-10-31"),
        ("UTC", "2025-10-31"),
        ("Asia/Kathmandu", "2025-11-01"),
    ],
)
def test_a_day_is_that_of_the_users_clock(
    zone: str, day: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """And so are month and year."""
    monkeypatch.setenv("TZ", zone)
    time.tzset()
    terms = date_terms(datetime(2025, 10, 31, 22, 0, tzinfo=UTC))
    monkeypatch.undo()
    time.tzset()
    assert terms == (next(text_terms("November" if day[5:7] == "11" else "October")), "2025", day)


def test_the_last_part_of_a_compound_finds_it_in_german_alone() -> None:
    """Of texts in other languages no term is added; nor is an end that no word begins like."""
    said = "Der Rechnungslauf ist fertig, die Fehlermeldung kam vom Druckertreiber."
    added = set(indexed_terms(said)) - set(text_terms(said))
    assert {*text_terms("Meldung"), *text_terms("Treiber")} <= added
    assert not added & {"gslauf", "rtreiber", "ngslauf"}
    english = "The configuration of the subdirectory breaks the misunderstanding."
    assert list(indexed_terms(english)) == list(text_terms(english))


def test_terms_are_bounded() -> None:
    """A key of a thousand characters is no word; a million of anything takes no ages."""
    assert max(map(len, text_terms("x" * 1_000 + " " + "a/" * 500))) <= 64
    assert sum(1 for _ in text_terms("word " * 200_000)) == 200_000


def test_code_has_more_symbols_than_prose() -> None:
    """By which ranking tells them apart."""
    code = "def run(self, name: str) -> None:\n    self._rows[name] = {'a': 1}"
    prose = "Run it once more tomorrow, she said, and it will be fine."
    assert symbol_share(code) > 0.1 > 0.02 > symbol_share(prose)
    assert symbol_share("") == 0.0


def test_words_that_carry_content_are_kept_as_typed() -> None:
    """Question words and single letters carry none."""
    assert content_words("why did the upload of e-mails to S3 time out, I asked") == [
        "upload",
        "e-mails",
        "S3",
        "time",
        "asked",
    ]


def test_names_are_capitalised_words_after_the_first() -> None:
    """The first word of a sentence is capitalised whatever it is."""
    assert named_words("Does Harbor run on FreeBSD? I asked The team") == ["Harbor", "FreeBSD"]
    assert named_words("does harbor run on freebsd?") == []
