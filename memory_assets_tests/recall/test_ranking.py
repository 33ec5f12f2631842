"""What ranking does that the parts it is made of do not: neighbours, names, dates, code."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path

import numpy as np
import pytest

from memory_assets.keywords import date_terms, query_terms, symbol_share, text_terms
from memory_assets.recall.search.corpus import Corpora, Corpus
from memory_assets.recall.search.ranking import (
    best,
    keyword_scores,
    meaning_scores,
    meaning_weight,
    worded_for_meaning,
)
from memory_assets.redacted_text import seal
from memory_assets.stores.keyword_index.blocks import TERM_UNIT, KeywordRow
from memory_assets.stores.keyword_index.files import open_for_writing
from memory_assets.stores.keyword_index.index import KeywordIndex


@pytest.fixture
def index(tmp_path: Path) -> Iterator[KeywordIndex]:
    """An empty index."""
    with closing(open_for_writing(tmp_path / "keywords.db")) as opened:
        yield opened


def add_session(
    index: KeywordIndex,
    session: str,
    turns: Sequence[str],
    project: str = "-p",
    at: datetime | None = None,
) -> None:
    """Write texts as the turns of a session; `|` parts the passages of a turn."""
    rows = []
    passages = [
        (number, part, text)
        for number, turn in enumerate(turns)
        for part, text in enumerate(turn.split("|"))
    ]
    for number, part, text in passages:
        said = Counter(text_terms(text))
        terms = {term: count * TERM_UNIT for term, count in said.items()}
        terms.update(dict.fromkeys(date_terms(at), TERM_UNIT))
        turn_id = f"session::{session}::turn::{number}"
        rows.append(
            KeywordRow(
                id=f"{turn_id}::part::{part}" if part else turn_id,
                turn_index=number,
                part=part,
                ts_epoch=at.timestamp() if at else 0.0,
                text=seal(text),
                metadata={"turn_id": turn_id},
                terms=terms,
                marks=[],
                length=said.total(),
                symbols=symbol_share(text),
                vector=None,
                row_hash=turn_id + text,
            )
        )
    index.write("sessions", project, session, "claude-code", [], rows, "")


def _asked(index: KeywordIndex, query: str, project: str | None = None) -> list[str]:
    corpus = Corpora(index).corpus("sessions")
    scores = keyword_scores(corpus, query_terms(query), corpus.scope(project)).turns
    found = best(np.where(scores > 0, scores, -np.inf).astype(np.float32), 10)
    rows = corpus.rows_at(np.searchsorted(corpus.turn, found).tolist())
    return [row.id.removeprefix("session::") for row in rows if row is not None]


def _corpus(index: KeywordIndex) -> Corpus:
    return Corpora(index).corpus("sessions")


def test_a_short_turn_is_understood_by_its_neighbours(index: KeywordIndex) -> None:
    """Half of the question's words are in the turn before the answer: it beats a turn with
    the same half alone. A neighbour in another session does not count."""
    add_session(index, "a", ["the upload of large videos", "fixed by a longer timeout", "thanks"])
    add_session(index, "b", ["a longer timeout for the lock"])
    add_session(index, "c", ["the weather is fine"])
    add_session(index, "d", ["nothing to see"] * 3)
    assert _asked(index, "timeout of the video upload")[:2] == ["a::turn::0", "a::turn::1"]
    assert _asked(index, "weather timeout").index("c::turn::0") < 3


def test_neighbours_matter_less_to_a_long_turn(index: KeywordIndex) -> None:
    """What a long turn says itself decides."""
    filler = " ".join(f"word{number}" for number in range(600))
    add_session(index, "a", ["migration of the ledger", f"rollback {filler}"])
    add_session(index, "b", ["migration of the ledger", "rollback done"])
    order = _asked(index, "ledger migration rollback")
    assert order.index("b::turn::1") < order.index("a::turn::1")


@pytest.mark.parametrize("question", ["ledger rollback", "why is the rollback of the ledger late"])
def test_words_that_stand_together_count_more(index: KeywordIndex, question: str) -> None:
    """Of two long turns with the same words the one with all of them in one passage is first."""
    add_session(index, "a", ["the ledger|a lamp burns|its rollback"])
    add_session(index, "b", ["the lamp|its ledger rollback|burns"])
    add_session(index, "c", ["nothing to see"] * 5)
    assert _asked(index, question)[:2] == ["b::turn::0", "a::turn::0"]


def test_a_turn_of_one_passage_keeps_the_words_of_its_neighbours(index: KeywordIndex) -> None:
    """Its passage is the turn, so that what is around it counts in full."""
    add_session(index, "a", ["the upload of videos", "a timeout", "thanks"])
    add_session(index, "b", ["the upload of videos", "a|timeout", "thanks"])
    corpus = _corpus(index)
    scores = keyword_scores(corpus, query_terms("timeout of uploads"), corpus.scope(None))
    whole, several = scores.turns[[1, 4]]
    assert whole > several > scores.rows[corpus.turn == 4].max()


def test_a_question_about_a_time_finds_what_was_said_then(index: KeywordIndex) -> None:
    """Though the turn does not name it."""
    add_session(index, "a", ["we went sailing"], at=datetime(2025, 3, 4, tzinfo=UTC))
    add_session(index, "b", ["we went sailing"], at=datetime(2025, 10, 4, tzinfo=UTC))
    assert _asked(index, "who went sailing in October 2025")[0] == "b::turn::0"
    assert _asked(index, "sailing in March")[0] == "a::turn::0"


def test_names_that_are_everywhere_are_left_out_of_the_meaning(index: KeywordIndex) -> None:
    """But kept for the words; and rare names, and common words, stay."""
    for number in range(8):
        add_session(index, f"s{number}", [f"Hey Mara, about topic{number}", "Mara said yes"])
    add_session(index, "t", ["Bruno called", "and then left"])
    corpus = _corpus(index)
    everything = corpus.scope(None)
    asked = "What did Mara's cousin say to Bruno about sailing?"
    worded = worded_for_meaning(asked, corpus, everything)
    assert worded == "What did cousin say to Bruno about sailing?"
    assert worded_for_meaning("Mara", corpus, everything) == "Mara"


def test_how_rare_a_word_is_is_judged_within_the_project(index: KeywordIndex) -> None:
    """A filter by project gives the order that the project alone would give."""
    for number in range(6):
        add_session(index, f"p{number}", [f"deploy number{number}"], project="-p")
        add_session(index, f"q{number}", [f"something else{number}"], project="-q")
    add_session(index, "p9", ["deploy the lamp"], project="-p")
    corpus = _corpus(index)
    scope = corpus.scope("-p")
    assert scope.stop - scope.start == 7
    scores = keyword_scores(corpus, query_terms("deploy lamp"), scope).turns
    assert scores[scope].max() > 0.9 or _asked(index, "deploy lamp", "-p")[0] == "p9::turn::0"
    assert corpus.scope("-nowhere") == slice(0, 0)


def test_the_rarest_words_that_occur_are_looked_for_in_each_turn(index: KeywordIndex) -> None:
    """Two of them; words that occur nowhere and question words are none."""
    add_session(index, "a", ["the lamp and the lens", "the lamp burns", "oil", "the lamp and oil"])
    corpus = Corpora(index).corpus("sessions")
    asked = query_terms("which lamp has a lens but no oil nor zanzibar")
    scores = keyword_scores(corpus, asked, corpus.scope(None))
    assert scores.rarest.tolist() == [0.5, 0, 0.5, 0.5]
    nothing = keyword_scores(corpus, query_terms("zanzibar"), corpus.scope(None))
    assert not nothing.rarest.any()


def test_code_is_compared_by_meaning_and_prose_by_both(index: KeywordIndex) -> None:
    """The weight follows the share of symbols in what is near."""
    add_session(index, "prose", ["She said it would rain tomorrow, and so it did."])
    add_session(index, "code", ["def f(self, a: int) -> None: self._x[a] = {'b': (a, 1)}"])
    corpus = _corpus(index)
    (code,) = np.flatnonzero(corpus.symbols > 0.1)
    near = np.zeros(corpus.turns, dtype=np.float32)
    weights = [
        meaning_weight(corpus, near, np.arange(corpus.turns) == turn) for turn in (code, 1 - code)
    ]
    assert weights[0] == pytest.approx(0.95) and weights[1] < 0.45


def test_a_turn_that_answers_twice_beats_one_that_answers_once(index: KeywordIndex) -> None:
    """By a little: many weak passages do not beat one good one."""
    add_session(index, "a", ["one"])
    corpus = _corpus(index)
    several = Corpus(
        **{
            **vars(corpus),
            "turn": np.array([0, 0, 1]),
            "session": np.array([0, 0]),
            "passages": np.array([2, 1]),
        }
    )
    twice, once = meaning_scores(several, np.array([0.6, 0.6, 0.6], dtype=np.float32))
    assert twice > once
    weak, good = meaning_scores(several, np.array([0.4, 0.4, 0.6], dtype=np.float32))
    assert good > weak


def test_equal_scores_keep_their_order_and_the_excluded_stay_out() -> None:
    """So that an answer is the same each time."""
    scores = np.array([0.5, -np.inf, 0.7, 0.5, 0.5], dtype=np.float32)
    assert best(scores, 3).tolist() == [2, 0, 3]
    assert best(scores, 10).tolist() == [2, 0, 3, 4]
