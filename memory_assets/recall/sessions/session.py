"""One session: its summary, and its events as items of a timeline (prompts, turns, observations,
commits and the summary), in the session's order."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from typing import TYPE_CHECKING, Any

from memory_assets.commits.attribution import SURE
from memory_assets.recall.names import resolve_session
from memory_assets.recall.rows import (
    LINE_CHARACTERS,
    UNTIMED,
    iso_time,
    not_in_memory,
    one_line,
    rows_of,
    summary_text,
    with_iso_times,
)
from memory_assets.recall.sessions.usage import session_usage
from memory_assets.requests.questions import ITEM_KINDS
from memory_assets.stores.lake.lake import Lake
from memory_assets.stores.lake.schemas import (
    COMMIT_LINKS,
    OBSERVATIONS,
    SESSION_COMMITS,
    SESSION_SUMMARIES,
    TURN_CHUNKS,
    USER_PROMPTS,
    Table,
)

if TYPE_CHECKING:
    from memory_assets.stores.stores import Stores

_AFTER_LAST_TURN = 1 << 30
_PULL_REQUEST = "pull request "
_TURN_KINDS = ("prompts", "turns")
_RANK: dict[str, int] = {kind: rank for rank, kind in enumerate(ITEM_KINDS)}
_TURN_COLUMNS = [
    *("id", "turn_id", "part", "project", "agent", "session_id", "turn_index"),
    *("role", "timestamp", "text", "tools_used", "files"),
]
_OTHER_TABLES = {
    "observations": (OBSERVATIONS,),
    "commits": (SESSION_COMMITS, COMMIT_LINKS),
}

Order = tuple[datetime, str, int, int, int]

_LISTED = tuple(kind for kind in ITEM_KINDS if kind not in ("prompts", "summaries"))
_HIDDEN = frozenset({"content_hash", "text"})
_ACTION_TYPES = ("bugfix", "feature", "refactor", "change")
"""The types of observations that say what was made."""


@dataclass(frozen=True)
class Item:
    """One event. `time` is None if the transcript has none; `at` is the position in time that it is
    sorted by. `text` is one line, or the full text if that was requested."""

    id: str
    kind: str
    project: str
    agent: str
    session_id: str
    turn_id: str
    turn_index: int
    time: datetime | None
    text: str
    at: datetime = UNTIMED
    number: int = 0

    @property
    def order(self) -> Order:
        """The key that sorts items of several sessions."""
        return (self.at, self.session_id, self.turn_index, _RANK[self.kind], self.number)

    def to_dict(self) -> dict[str, Any]:
        """Return the JSON contract of one item."""
        return {
            "id": self.id,
            "kind": self.kind.rstrip("s") if self.kind != "summaries" else "summary",
            "turn_id": self.turn_id or None,
            "time": iso_time(self.time),
            "text": self.text,
        }


def missing_kinds(lake: Lake, kinds: tuple[str, ...]) -> dict[str, str]:
    """Return the reason for each kind that this memory has no rows of."""
    reasons = {}
    for kind, tables in _OTHER_TABLES.items():
        if kind in kinds and not any(lake.projects(table) for table in tables):
            reasons[kind] = f"this memory has no {kind} yet; `memory ingest` makes them"
    return reasons


def sessions_of_same_files(
    lake: Lake, project: str, session_id: str
) -> tuple[dict[str, Any] | None, dict[str, Any] | None]:
    """Return the last session of the project before a session, and the first after it, that changed
    a file which it changed: `session_id`, `title`, `ended_at` and the `files` of both."""
    columns = ["session_id", "title", "ended_at", "files_modified"]
    rows = lake.read_partition(SESSION_SUMMARIES, project, columns).to_pylist()
    rows = sorted((row for row in rows if row["ended_at"]), key=lambda row: row["ended_at"])
    at = next((at for at, row in enumerate(rows) if row["session_id"] == session_id), None)
    if at is None:
        return None, None
    own = set(rows[at]["files_modified"])

    def first(others: Iterable[dict[str, Any]]) -> dict[str, Any] | None:
        for row in others:
            if files := sorted(own.intersection(row["files_modified"])):
                return {**with_iso_times(row), "files": files}
        return None

    return first(reversed(rows[:at])), first(rows[at + 1 :])


def session_items(
    lake: Lake, project: str, session_id: str, kinds: tuple[str, ...], *, full: bool
) -> list[Item]:
    """Return the items of a session, of these kinds, in its order."""
    entries = list(_items(lake, project, session_id, kinds, full))
    entries.sort(key=lambda item: (item.turn_index, _RANK[item.kind], item.number))
    return list(_with_positions(entries))


def commits_that_stand(lake: Lake, project: str, session_id: str) -> list[Item]:
    """Return the commits of a session in its order, without those that later ones replaced, then
    its pull requests."""
    rows = rows_of(lake, SESSION_COMMITS, project, session_id, ["id", "replaced_by"])
    replaced = {row["id"] for row in rows if row["replaced_by"]}
    items = session_items(lake, project, session_id, ("commits",), full=False)
    standing = [item for item in items if item.id not in replaced]
    return sorted(standing, key=lambda item: item.text.startswith(_PULL_REQUEST))


def _with_positions(items: list[Item]) -> Iterator[Item]:
    """Yield items with a position in time that never decreases within the session."""
    times = [item.time for item in items if item.time is not None]
    last = min(times, default=UNTIMED)
    for item in items:
        at = max(last, item.time) if item.time is not None else last
        if item.kind in _TURN_KINDS:
            last = at
        yield replace(item, at=at)


def _items(
    lake: Lake, project: str, session_id: str, kinds: tuple[str, ...], full: bool
) -> Iterator[Item]:
    def read(table: Table, columns: list[str] | None = None) -> list[dict[str, Any]]:
        return rows_of(lake, table, project, session_id, columns)

    prompts = _join_passages(read(USER_PROMPTS)) if {"prompts", "turns"} & {*kinds} else {}
    if "prompts" in kinds:
        for row in prompts.values():
            identity = f"prompt::{session_id}::{row['turn_index']}"
            yield _item(row, "prompts", identity, row["text"] if full else one_line(row["text"]))
    if "turns" in kinds:
        for turn_id, row in _join_passages(read(TURN_CHUNKS, _TURN_COLUMNS)).items():
            typed = prompts[turn_id]["text"] if turn_id in prompts else ""
            yield _item(row, "turns", turn_id, row["text"] if full else _turn_line(row, typed))
    if "observations" in kinds:
        for number, row in enumerate(read(OBSERVATIONS)):
            row["timestamp"] = row["ended_at"]  # it belongs to the turn that completed it
            text = _observation_text(row, full)
            yield _item(row, "observations", row["id"], text if full else one_line(text), number)
    if "commits" in kinds:
        for number, row in enumerate([*read(SESSION_COMMITS), *read(COMMIT_LINKS)]):
            if "linked_at" in row:  # a human's word; of when and in which turn it says nothing
                row |= {"agent": "", "turn_id": "", "turn_index": _AFTER_LAST_TURN - 1}
            text = _commit_text(row)
            yield _item(row, "commits", row["id"], text if full else one_line(text), number)
    if "summaries" in kinds:
        for row in read(SESSION_SUMMARIES):
            row |= {"turn_index": _AFTER_LAST_TURN, "timestamp": row["ended_at"], "turn_id": ""}
            line = one_line(row["title"] or row["request"] or row["text"])
            yield _item(row, "summaries", row["id"], summary_text(row) if full else line)


def _observation_text(row: Mapping[str, Any], full: bool) -> str:
    head = f"{row['type']}: {row['title']}"
    return "\n".join([head, row["narrative"], *row["facts"]]).strip() if full else head


def _commit_text(row: Mapping[str, Any]) -> str:
    """Return the commit's short SHA, its subject, and in parentheses what is uncertain about it."""
    name = row["commit"][:12] or f"{_PULL_REQUEST}{row['pull_request']}"
    if "linked_at" in row:
        how = row.get("evidence", "by-hand").replace("-", " ")
        return " ".join(filter(None, (name, row.get("subject"), f"(linked {how})")))
    sure = "" if row["score"] >= SURE else "probably its own"
    replaced = str(row.get("replaced_by") or "")
    if replaced not in ("", "amended", "reset"):
        replaced = f"replaced by {replaced[:12]}"
    doubts = "; ".join(filter(None, (sure, replaced)))
    return f"{name} {row['subject']}".rstrip() + (f" ({doubts})" if doubts else "")


def _turn_line(row: Mapping[str, Any], typed: str) -> str:
    """Return a turn on one line: the beginning of the reply, the tools and the files."""
    text = row["text"]
    reply = text[len(typed) :] if typed and text.startswith(typed.strip()[:200]) else text
    used = ", ".join(row["tools_used"][:3])
    files = ", ".join(re.split(r"[/\\]", path)[-1] for path in row["files"][:3])
    did = one_line(f"{used}: {files}" if used and files else used or files, LINE_CHARACTERS // 2)
    head = one_line(reply, LINE_CHARACTERS - len(did) - 3)
    return f"{head or '(no reply)'} [{did}]" if did else head or "(no reply)"


def _join_passages(rows: list[dict[str, Any]]) -> dict[str, dict[str, Any]]:
    """Return one row a turn, with the texts of its passages joined."""
    by_turn: dict[str, dict[str, Any]] = {}
    for row in sorted(rows, key=lambda row: (row["turn_index"], row["part"])):
        first = by_turn.setdefault(row["turn_id"], row)
        if first is not row:
            first["text"] = f"{first['text']}\n{row['text']}"
    return by_turn


def _item(row: Mapping[str, Any], kind: str, identity: str, text: str, number: int = 0) -> Item:
    names = ("project", "agent", "session_id", "turn_id", "turn_index")
    own = {name: row[name] for name in names}
    return Item(identity, kind, **own, time=row.get("timestamp"), text=text, number=number)


Turns = Mapping[str, tuple[str, str]]
"""The ids of turns, each with its project and session."""


def done_in(lake: Lake, turns: Turns) -> dict[str, str]:
    """Return the first action of each turn by turn id: the title of its first observation that is
    no decision or discovery."""
    done: dict[str, str] = {}
    for row in _rows_of_turns(lake, OBSERVATIONS, turns, ["type", "title"]):
        if row["type"] in _ACTION_TYPES:
            done.setdefault(row["turn_id"], row["title"])
    return done


def asked_in(lake: Lake, turns: Turns) -> dict[str, str]:
    """Return the first prompt of each turn, by turn id."""
    asked: dict[str, str] = {}
    for row in _rows_of_turns(lake, USER_PROMPTS, turns, ["text"]):
        asked.setdefault(row["turn_id"], row["text"])
    return asked


def prompt_of(lake: Lake, turn: Mapping[str, Any]) -> str:
    """Return all prompts of the turn that a row belongs to, joined."""
    rows = rows_of(lake, USER_PROMPTS, turn["project"], turn["session_id"])
    return "\n".join(row["text"] for row in rows if row["turn_index"] == turn["turn_index"])


def _rows_of_turns(
    lake: Lake, table: Table, turns: Turns, columns: list[str]
) -> Iterator[dict[str, Any]]:
    for session in set(turns.values()):
        rows = rows_of(lake, table, *session, ["turn_id", *columns])
        yield from (row for row in rows if row["turn_id"] in turns)


def session_title(lake: Lake, project: str, session_id: str) -> str:
    """Return a session's title, "" if it has no summary."""
    rows = rows_of(lake, SESSION_SUMMARIES, project, session_id, ["title"])
    return str(rows[0]["title"]) if rows else ""


def session_overview(memory: Stores, session: str) -> dict[str, Any]:
    """Return one session as the JSON of `memory summarize`: its summary (None if it has none), its
    turns, observations and commits, one line each, and why there are none of a kind.

    `session` is its id, the beginning of the id, or the id of any of its rows.

    Raises:
        NotFound: there is no such session.
    """
    project, session_id = resolve_session(memory, session)
    items = session_items(memory.lake, project, session_id, _LISTED, full=False)
    rows = rows_of(memory.lake, SESSION_SUMMARIES, project, session_id)
    summary = None
    if rows:
        shown = with_iso_times(rows[0]).items()
        summary = {name: value for name, value in shown if name not in _HIDDEN}
    if summary is None and not items:
        silent = f"session {session_id} has no turns: nobody says anything in it"
        raise not_in_memory(memory, project, session_id, "summary", silent)
    return {
        "session_id": session_id,
        "project": project,
        "agent": str(summary["agent"]) if summary else items[0].agent,
        "summary": summary,
        "usage": session_usage(memory.lake, project, session_id),
        **{kind: [item.to_dict() for item in items if item.kind == kind] for kind in _LISTED},
        "missing": missing_kinds(memory.lake, _LISTED),
    }
