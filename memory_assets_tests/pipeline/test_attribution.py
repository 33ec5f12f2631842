"""A record that stands in several files belongs to the oldest session, whatever the order."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import replace

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from memory_assets.pipeline.ownership.attribution import (
    SessionKey,
    SessionRecords,
    copied_records,
    owners,
)
from memory_assets.record_identity import RecordIdentity
from memory_assets.stores.catalog.records import RECORD_DTYPE

IDENTITY = RecordIdentity(bytes(32))
PREFIX = {"r1": 1, "r2": 2, "r3": 3}


def _id(name: str) -> int:
    return IDENTITY.id_of(name)


def _session(
    session_id: str,
    records: Mapping[str, int],
    *,
    project: str = "p",
    named: str | None = None,
    parent: str | None = None,
    on_record: bool = False,
    unreadable: bool = False,
    earlier_owners: Collection[SessionKey] = (),
    says: str | None = "",
) -> SessionRecords:
    """A file with these records: name and time, in file order. What they say follows from
    their names and `says`; it is not known if that is None."""
    rows = [
        (_id(name), time, 0 if says is None else IDENTITY.content_of(f"{name}{says}".encode()))
        for name, time in records.items()
    ]
    return SessionRecords(
        project,
        session_id,
        np.array(rows, dtype=RECORD_DTYPE),
        named=named or session_id,
        parent=parent,
        on_record=on_record,
        unreadable=unreadable,
        earlier_owners=frozenset(earlier_owners),
    )


def _copied(*sessions: SessionRecords) -> dict[str, set[str]]:
    """The names of the copies in each file, by session (`project/session` outside `p`)."""
    names = {
        _id(name): name for name in ("r1", "r2", "r3", "r4", "o1", "f1", "f2", "g1", *"abcdefgh")
    }
    return {
        session_id if project == "p" else f"{project}/{session_id}": {
            names[int(record_id)] for record_id in ids
        }
        for (project, session_id), ids in copied_records(sessions).items()
    }


def test_a_fork_that_kept_the_session_id_names_the_original() -> None:
    """The name decides, even where the original went on later than the fork."""
    original = _session("original", {**PREFIX, "o1": 90})
    fork = _session("fork", {**PREFIX, "f1": 20}, named="original")
    assert _copied(original, fork) == {"fork": {"r1", "r2", "r3"}}


def test_a_fork_that_says_where_it_came_from_gives_way() -> None:
    """Though it went on first, and most of its records name itself."""
    original = _session("original", {**PREFIX, "o1": 90})
    fork = _session("fork", {**PREFIX, "f1": 20}, parent="original")
    assert _copied(original, fork) == {"fork": {"r1", "r2", "r3"}}


def test_a_file_that_is_gone_goes_on_giving_way() -> None:
    """The lake lacks its copies: if it owned them from now on, they would be nowhere."""
    original = _session("original", {**PREFIX, "o1": 90}, on_record=True)
    fork = _session("fork", {**PREFIX, "f1": 20}, earlier_owners=[("p", "original")])
    gone = replace(fork, unreadable=True, on_record=True)
    assert _copied(original, gone) == {"fork": {"r1", "r2", "r3"}}
    named = replace(original, named="fork", parent="fork")
    assert _copied(named, gone) == {"fork": {"r1", "r2", "r3"}}


def test_copies_need_not_stand_at_the_beginning() -> None:
    """A fork may open with records of its own; times unknown do not decide."""
    original = _session("original", {"r1": 1, "o1": 10})
    fork = _session("fork", {"f1": 0, "r1": 1, "f2": 20})
    assert _copied(original, fork) == {"fork": {"r1"}}


def test_the_owners_of_copies_are_named() -> None:
    """The original owns what it wrote, the first fork what it added."""
    sessions = [
        _session("original", {"r1": 1, "o1": 3}),
        _session("fork", {"r1": 1, "f1": 10}),
        _session("second", {"r1": 1, "f1": 10, "g1": 20}),
    ]
    assert owners(sessions, copied_records(sessions)) == {
        ("p", "fork"): [("p", "original")],
        ("p", "second"): [("p", "fork"), ("p", "original")],
    }


def test_one_session_in_two_projects_is_counted_in_one_of_them() -> None:
    """A moved or copied directory: one file keeps its records, only the other gives way."""
    here = _session("s", {"r1": 1, "r2": 2}, project="p")
    there = _session("s", {"r1": 1, "r2": 2, "r3": 3}, project="q")
    assert _copied(here, there) == {"q/s": {"r1", "r2"}}
    same = _session("s", {"r1": 1, "r2": 2}, project="q")
    assert _copied(here, same) == _copied(same, here) == {"q/s": {"r1", "r2"}}
    at_home = replace(same, at_home=True)
    assert _copied(here, at_home) == {"s": {"r1", "r2"}}
    gone = replace(same, on_record=True, unreadable=True)
    assert _copied(here, gone) == {"s": {"r1", "r2"}}
    settled = _session("s", {"r1": 1, "r2": 2}, project="p", earlier_owners=[("q", "s")])
    assert _copied(settled, replace(same, unreadable=True)) == {"s": {"r1", "r2"}}


def test_a_record_that_says_something_else_is_no_copy() -> None:
    """An older file with another one's ids and other text takes nothing from it, nor does it
    own what a true fork copied."""
    innocent = _session("innocent", {**PREFIX, "o1": 90})
    forged = _session("forged", {"f1": 1, **PREFIX}, says="!")
    assert _copied(innocent, forged) == {}
    fork = _session("fork", {**PREFIX, "g1": 100})
    sessions = [forged, innocent, fork]
    assert _copied(*sessions) == {"fork": {"r1", "r2", "r3"}}
    assert owners(sessions, copied_records(sessions)) == {("p", "fork"): [("p", "innocent")]}


def test_a_record_of_unknown_content_keeps_its_copies_away() -> None:
    """Its file was gone when contents began to be noted: a fork goes on giving way."""
    gone = _session("gone", {**PREFIX, "o1": 10}, says=None, on_record=True)
    fork = _session("fork", {**PREFIX, "f1": 20})
    assert _copied(gone, fork) == {"fork": {"r1", "r2", "r3"}}


def test_a_record_of_unknown_content_gives_way_only_where_it_did() -> None:
    """What the lake has of a file that is gone is not lost to an older file with its ids."""
    older = _session("older", {**PREFIX, "o1": 10})
    gone = _session("gone", {**PREFIX, "f1": 20}, says=None, on_record=True)
    assert _copied(older, gone) == {}
    fork = _session("gone", {**PREFIX, "f1": 20}, says=None, earlier_owners=[("p", "older")])
    assert _copied(older, fork) == {"gone": {"r1", "r2", "r3"}}


def test_a_file_with_an_id_twice_loses_neither_text_to_a_copy_of_one() -> None:
    """Only where all that it says under an id is a copy is the id one."""
    one, other = _session("one", {"r1": 1, "o1": 2}), _session("one", {"r1": 1}, says="!")
    both = _session("both", {"r1": 1, "f1": 9})
    both = replace(both, records=np.concatenate([both.records, other.records]))
    assert _copied(one, both) == {}


def test_one_session_in_two_projects_is_told_by_ids_alone() -> None:
    """Its turns have the same ids in both, so it counts once whatever was changed in one."""
    here = _session("s", {"r1": 1, "r2": 2}, project="p", on_record=True)
    there = _session("s", {"r1": 1, "r2": 2}, project="q", says="!")
    assert _copied(here, there) == {"q/s": {"r1", "r2"}}


@st.composite
def _families(draw: st.DrawFn) -> tuple[list[SessionRecords], dict[str, str]]:
    """Sessions that fork each other, and who wrote each record.

    Each fork copies a beginning of an older session and goes on from there; time moves on.
    """
    clock = 0
    files: list[list[tuple[str, int]]] = []
    writer: dict[str, str] = {}
    names = draw(st.permutations([f"s{number}" for number in range(draw(st.integers(2, 6)))]))
    for name in names:
        records: list[tuple[str, int]] = []
        if files:
            parent = draw(st.sampled_from(files))
            records = parent[: draw(st.integers(0, len(parent)))]
        for _ in range(draw(st.integers(1, 3))):
            clock += 1
            writer[f"r{clock}"] = name
            records = [*records, (f"r{clock}", clock)]
        files.append(records)
    made = [_session(name, dict(file)) for name, file in zip(names, files, strict=True)]
    return made, writer


@given(family=_families(), data=st.data())
@settings(max_examples=150, deadline=None)
def test_each_record_belongs_to_the_session_that_wrote_it(
    family: tuple[list[SessionRecords], dict[str, str]], data: st.DataObject
) -> None:
    """In every family of forks, in any order of the files: one owner, the true one."""
    sessions, writer = family
    copied = copied_records(data.draw(st.permutations(sessions)))
    for session in sessions:
        mine = {int(value) for value in session.records["id"]}
        copies = {int(value) for value in copied.get(session.key, ())}
        wrote = {_id(name) for name, who in writer.items() if who == session.session_id}
        assert mine - copies == wrote


_ANY_SESSION = st.builds(
    _session,
    st.sampled_from(["s1", "s2", "s3", "s4", "s5"]),
    st.dictionaries(st.sampled_from("abcdefgh"), st.integers(0, 5)),
    project=st.sampled_from(["p", "q"]),
    named=st.sampled_from([None, "s1", "s2", "s3"]),
    parent=st.sampled_from([None, "s1", "s2", "s3"]),
    on_record=st.booleans(),
    unreadable=st.booleans(),
    earlier_owners=st.lists(st.tuples(st.sampled_from(["p", "q"]), st.sampled_from(["s1", "s2"]))),
)


@given(
    sessions=st.lists(_ANY_SESSION, max_size=5, unique_by=lambda session: session.key),
    forked_from=st.sampled_from([None, "s1", "s2", "s3"]),
)
@settings(max_examples=150, deadline=None)
def test_a_file_that_is_gone_gets_nothing_back_that_it_gave_away(
    sessions: list[SessionRecords], forked_from: str | None
) -> None:
    """Its copies are in no store: their former owner, or yet another session, owns them, even
    where that one is younger than the one and older than the other."""
    records = {name: number for number, name in enumerate("abc", 1)}
    gone = _session("a-gone", {**records, "d": 9}, earlier_owners=[("p", "z-owner")])
    gone = replace(gone, unreadable=True, on_record=True)
    owner = _session("z-owner", {**records, "e": 99}, parent=forked_from)
    younger = [
        replace(each, unreadable=False, parent="a-gone" if number % 2 else each.parent)
        for number, each in enumerate(sessions)
    ]
    copies = copied_records([gone, owner, *younger])[gone.key]
    assert {_id(name) for name in records} <= {int(value) for value in copies}


@given(
    sessions=st.lists(_ANY_SESSION, max_size=6, unique_by=lambda session: session.key),
    data=st.data(),
)
@settings(max_examples=150, deadline=None)
def test_whatever_the_files_each_record_counts_once(
    sessions: list[SessionRecords], data: st.DataObject
) -> None:
    """Even where the evidence contradicts itself: one owner, in any order of the files."""
    copied = copied_records(sessions)
    again = copied_records(data.draw(st.permutations(sessions)))
    assert {key: list(ids) for key, ids in copied.items()} == {
        key: list(ids) for key, ids in again.items()
    }
    owned = [
        int(record_id)
        for session in sessions
        for record_id in np.setdiff1d(session.records["id"], copied.get(session.key, []))
    ]
    everything = {int(value) for session in sessions for value in session.records["id"]}
    assert sorted(owned) == sorted(everything)
