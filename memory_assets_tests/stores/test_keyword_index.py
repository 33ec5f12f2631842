"""The keyword index's file: what is written is read, and what is removed is gone."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from memory_assets.errors import NotFound, StoreError
from memory_assets.redacted_text import RedactedText, seal
from memory_assets.stores.keyword_index.blocks import BLOCK_ROWS, KeywordRow, unpack_postings
from memory_assets.stores.keyword_index.files import open_for_reading, open_for_writing
from memory_assets.stores.keyword_index.index import KeywordIndex

WHERE = ("sessions", "-p", "s1", "claude-code")


def _row(number: int, word: str = "lighthouse", text: str | None = None) -> KeywordRow:
    said: RedactedText = seal(text or f"{word} number {number}")
    return KeywordRow(
        id=f"session::s1::turn::{number}",
        turn_index=number,
        part=0,
        ts_epoch=1.0 + number,
        text=said,
        metadata={"turn_id": f"session::s1::turn::{number}"},
        terms={word: 4, f"only{number}": 4},
        marks=["tool=bash"],
        length=3,
        symbols=0.0,
        vector=np.eye(1, 384, number % 384, dtype=np.float32)[0],
        row_hash=f"{word}{number}",
    )


def _write(index: KeywordIndex, rows: list[KeywordRow], session: str = "s1") -> int:
    """Write a session's rows; return how many were written anew."""
    kind, project, _, agent = WHERE
    kept, first = index.unchanged_blocks(kind, project, session, [row.row_hash for row in rows])
    index.write(kind, project, session, agent, kept, rows[first:], "embedder")
    return len(rows) - first


def _holders(index: KeywordIndex, term: str) -> list[str]:
    bases = {each.block: each.block * BLOCK_ROWS for each in index.blocks("sessions")}
    found = index.postings(term)
    rows, _ = unpack_postings([bases[block] for block, _ in found], [blob for _, blob in found])
    read = index.rows([divmod(int(row), BLOCK_ROWS) for row in rows])
    return [row.id for row in read if row is not None]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """Where the index of a test is."""
    return tmp_path / "data" / "keywords.db"


def test_rows_are_found_by_their_terms_with_text_metadata_and_vector(path: Path) -> None:
    """As they were written, across several blocks."""
    rows = [_row(number) for number in range(150)]
    with closing(open_for_writing(path)) as index:
        assert _write(index, rows) == 150
        assert len(_holders(index, "lighthouse")) == 150
        assert _holders(index, "only77") == ["session::s1::turn::77"]
        assert index.ids("sessions", "-p") == {row.id for row in rows}
        block = index.blocks("sessions")[1].block
        (shown,) = index.rows([(block, 13)])
        assert shown is not None and shown.text == "lighthouse number 77"
        assert shown.metadata == {"turn_id": "session::s1::turn::77"}
        embedder_id, packed = index.vectors([block])[block]
        stored = np.frombuffer(packed, np.float16).reshape(-1, 384)[13]
        assert embedder_id == "embedder" and stored.argmax() == 77


@pytest.mark.parametrize(
    "harm",
    [
        "UPDATE digests SET digest = CAST(x'FFFE' AS TEXT)",
        "UPDATE digests SET digest = x''",
        "UPDATE blocks SET columns = 7",
        "UPDATE blocks SET columns = CAST(x'FFFE' AS TEXT)",
        "UPDATE vectors SET data = 'text'",
        "UPDATE rows SET text = CAST(x'FFFE' AS TEXT)",
    ],
)
def test_a_block_with_a_value_of_another_kind_or_digest_is_changed(path: Path, harm: str) -> None:
    """Which is no error: SQLite keeps any value in any column."""
    with closing(open_for_writing(path)) as index:
        _write(index, [_row(number) for number in range(3)])
        (block,) = (block.block for block in index.blocks("sessions"))
        assert index.changed([block]) == set()
        with closing(sqlite3.connect(path)) as file, file:
            file.execute(harm)
        assert index.changed([block]) == {block}


def test_a_session_that_grew_has_only_its_end_written(path: Path) -> None:
    """Full blocks stay as they are; the last one and what follows are written."""
    with closing(open_for_writing(path)) as index:
        _write(index, [_row(number) for number in range(150)])
        before = [each.block for each in index.blocks("sessions")]
        written = _write(index, [_row(number) for number in range(160)])
        assert written == 160 - 2 * BLOCK_ROWS
        assert [each.block for each in index.blocks("sessions")][:2] == before[:2]
        assert len(_holders(index, "lighthouse")) == 160
        assert _write(index, [_row(number) for number in range(160)]) == 0


def test_what_is_written_together_is_seen_together_or_not_at_all(path: Path) -> None:
    """A reader sees none of it before the end, and never any of what failed on the way."""
    with closing(open_for_writing(path)) as index, closing(open_for_reading(path)) as reader:
        with index.one_transaction():
            _write(index, [_row(1)])
            _write(index, [_row(2)], "s2")
            assert reader.places("sessions", "-p").keys() == set()
        assert reader.places("sessions", "-p").keys() == {"s1", "s2"}
        with pytest.raises(TypeError), index.one_transaction():
            _write(index, [_row(3)], "s3")
            _write(index, [replace(_row(4), text="plain")], "s4")  # type: ignore[arg-type]
        assert index.places("sessions", "-p").keys() == {"s1", "s2"}
        _write(index, [_row(5)], "s5")
        assert reader.places("sessions", "-p").keys() == {"s1", "s2", "s5"}


def test_what_is_written_and_replaced_together_leaves_no_term_behind(path: Path) -> None:
    """Terms are written last, in one go: those of rows that are gone by then are not."""
    with closing(open_for_writing(path)) as index:
        with index.one_transaction():
            _write(index, [_row(1)])
            index.remove([("-p", "s1")], "sessions")
            with index.one_transaction():
                _write(index, [_row(2)])
            _write(index, [_row(3)])
        assert _holders(index, "only3") == ["session::s1::turn::3"]
        assert index.postings("only1") == index.postings("only2") == []


@pytest.mark.parametrize("most_waiting", [1, 69, 1_000])
def test_terms_are_found_and_removed_wherever_their_postings_are(
    path: Path, monkeypatch: pytest.MonkeyPatch, most_waiting: int
) -> None:
    """All in the large table, all among the new ones, or some here and some there."""
    monkeypatch.setattr("memory_assets.stores.keyword_index.index._NEW_POSTINGS", most_waiting)
    with closing(open_for_writing(path)) as index:
        _write(index, [_row(number) for number in range(BLOCK_ROWS)])
        for number in (100, 101):
            _write(index, [_row(number)], f"s{number}")
        with closing(sqlite3.connect(path)) as connection:
            (waiting,) = connection.execute("SELECT COUNT(*) FROM new_postings").fetchone()
        assert waiting == {1: 0, 69: 3, 1_000: BLOCK_ROWS + 2 + 2 * 3}[most_waiting]
        assert len(_holders(index, "lighthouse")) == BLOCK_ROWS + 2
        assert index.terms_with("only10") == ["only10", "only100", "only101"]
        assert sorted(index.occurring(["only3", "only100", "only99"])) == ["only100", "only3"]
        index.remove([("-p", "s1"), ("-p", "s100")], "sessions")
        assert _holders(index, "lighthouse") == ["session::s1::turn::101"]
        assert index.terms_with("only") == ["only101"]


def test_a_write_that_fails_leaves_nothing_for_the_next_one(path: Path) -> None:
    """Neither its rows nor their terms, which wait until the end of the transaction."""
    unfit = replace(_row(BLOCK_ROWS), metadata={"turn_id": object()})  # type: ignore[dict-item]
    with closing(open_for_writing(path)) as index:
        with pytest.raises(TypeError):
            _write(index, [*(_row(number) for number in range(BLOCK_ROWS)), unfit])
        _write(index, [_row(200)])
        assert _holders(index, "lighthouse") == ["session::s1::turn::200"]
        assert index.postings("only7") == []


def test_a_changed_row_replaces_the_old_one_and_its_terms(path: Path) -> None:
    """Nothing of it can be found any more."""
    with closing(open_for_writing(path)) as index:
        _write(index, [_row(number) for number in range(5)])
        _write(index, [_row(number, "harbour") for number in range(4)])
        assert _holders(index, "lighthouse") == [] == _holders(index, "only4")
        assert len(_holders(index, "harbour")) == 4


def test_sessions_are_removed_by_themselves(path: Path) -> None:
    """Others keep their rows; kinds can be removed one by one."""
    with closing(open_for_writing(path)) as index:
        _write(index, [_row(1)])
        _write(index, [_row(2)], session="s2")
        assert index.places("sessions", "-p").keys() == {"s1", "s2"}
        assert index.remove([("-p", "s1")], "prompts") == 0
        assert index.remove([("-p", "s1")], "sessions") == 1
        assert index.places("sessions", "-p").keys() == {"s2"}
        assert _holders(index, "only1") == []


def test_a_reader_sees_one_state_while_a_writer_goes_on(path: Path) -> None:
    """Before and after, never between."""
    with closing(open_for_writing(path)) as writer, closing(open_for_reading(path)) as reader:
        _write(writer, [_row(1)])
        with reader.reading():
            generation = reader.generation
            _write(writer, [_row(1), _row(2)])
            assert reader.generation == generation
            assert len(_holders(reader, "lighthouse")) == 1
        assert reader.generation > generation
        assert len(_holders(reader, "lighthouse")) == 2


@pytest.mark.parametrize("damage", ["garbage", "layout"])
def test_a_damaged_index_is_made_anew_by_a_writer_and_told_by_a_reader(
    path: Path, damage: str
) -> None:
    """It is another incarnation, so that nothing counts as being in it."""
    with closing(open_for_writing(path)) as index:
        _write(index, [_row(1)])
        before = index.incarnation
    if damage == "garbage":
        path.write_bytes(b"garbage" * 4_000)
    else:
        with closing(sqlite3.connect(path)) as connection, connection:
            connection.execute("UPDATE about SET value = '0' WHERE name = 'layout'")
    with pytest.raises((NotFound, StoreError), match="memory ingest"):
        open_for_reading(path)
    with closing(open_for_writing(path)) as index:
        assert index.incarnation != before
        assert index.blocks("sessions") == []


def test_a_file_that_is_being_created_is_no_index_yet(tmp_path: Path) -> None:
    """A search in the moment between the file and its tables is not told to delete it."""
    with closing(sqlite3.connect(tmp_path / "keywords.db")) as connection:
        connection.execute("PRAGMA journal_mode = WAL")
    with pytest.raises(NotFound, match=r"no keyword index in .* yet"):
        open_for_reading(tmp_path / "keywords.db")
