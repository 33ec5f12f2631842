"""The events before and after an anchor (an id, a session, a commit, a file or a time), over the
sessions of a project.

The catalogue has the first and last time of each session; only sessions near the anchor are read
from the lake, nearest first, until there are enough items on either side.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime, timedelta
from typing import TYPE_CHECKING, Any

from memory_assets.errors import ConfigurationError, NotFound
from memory_assets.recall.names import (
    resolve_id,
    rows_of_commit,
    session_with_prefix,
    with_worktrees,
)
from memory_assets.recall.rows import UNTIMED, iso_time, not_in_memory
from memory_assets.recall.sessions.session import Item, missing_kinds, session_items, session_title
from memory_assets.requests.questions import ITEM_KINDS, TimelineRequest
from memory_assets.requests.times import Reach, parse_time

if TYPE_CHECKING:
    from memory_assets.recall.searchable import Searchable
    from memory_assets.stores.stores import Stores


MAX_ITEMS = 200
"""Most items a side when a length of time is requested."""
_LAST = datetime.max.replace(tzinfo=UTC)


@dataclass(frozen=True)
class SessionPart:
    """The items of one session in a timeline, in order."""

    session_id: str
    project: str
    agent: str
    title: str
    items: tuple[Item, ...]


@dataclass(frozen=True)
class Timeline:
    """The items around an anchor, by session. `anchor_id` is the id of the anchor's item, None for
    a moment; `more` names the sides that have further items; `missing` says why there are none of a
    kind."""

    anchor: Anchor
    anchor_time: datetime | None
    anchor_id: str | None
    scope: str
    detail: str
    before: int
    after: int
    more: tuple[str, ...]
    sessions: tuple[SessionPart, ...]
    missing: dict[str, str]

    def to_dict(self) -> dict[str, Any]:
        """Return the JSON contract of `memory timeline`."""
        return {
            "anchor": {
                "given": self.anchor.given,
                "kind": self.anchor.kind,
                "id": self.anchor_id,
                "time": iso_time(self.anchor_time),
                "also": list(self.anchor.also),
            },
            "project": self.anchor.project,
            "scope": self.scope,
            "detail": self.detail,
            "before": self.before,
            "after": self.after,
            "more": list(self.more),
            "missing": self.missing,
            "sessions": [
                {
                    **vars(part),
                    "items": [
                        {**item.to_dict(), "anchor": item.id == self.anchor_id}
                        for item in part.items
                    ],
                }
                for part in self.sessions
            ],
        }


def timeline(memory: Searchable, anchor: str | TimelineRequest, **arguments: Any) -> Timeline:
    """Return the events before and after an anchor, the anchor included: for a `TimelineRequest`,
    or for an anchor with the request's other arguments. Without an anchor, those of the newest
    local day on which a turn was begun.

    Raises:
        ConfigurationError: a value makes no sense; says what would.
        NotFound: nothing in memory is called so.
    """
    request = TimelineRequest(anchor, **arguments) if isinstance(anchor, str) else anchor
    projects = memory.projects_named(request.project) or []
    if request.anchor is None:
        day = _newest_day(memory, projects).isoformat()
        request = replace(request, anchor=day, before=0, after=timedelta(days=1))
    resolved = _anchor_in(memory, str(request.anchor), projects)
    return _TimelineReader(memory, resolved, request, projects).read()


def _newest_day(memory: Searchable, projects: Sequence[str]) -> date:
    """Return the last local day on which a turn of these projects, or of any, was begun."""
    from memory_assets.recall.sessions.activity import activity

    last = max(
        (of.last_day for of in activity(memory) if not projects or of.project in projects),
        default=date.min,
    )
    if last == date.min:
        raise NotFound("no turn in memory has a time, so no day is the newest")
    return last


def _anchor_in(memory: Searchable, text: str, projects: Sequence[str]) -> Anchor:
    """Return the anchor in the first of `projects` that has it."""
    *others, last = projects or (None,)
    for project in others:
        with suppress(NotFound):
            return resolve_anchor(memory, text, project)
    return resolve_anchor(memory, text, last)


@dataclass(frozen=True)
class _Span:
    """The first and last time of a session; an unknown time is the earliest or the latest
    possible."""

    start: datetime
    end: datetime
    project: str
    session_id: str


class _TimelineReader:
    """The sessions in scope, read when they are needed."""

    def __init__(
        self, memory: Searchable, anchor: Anchor, request: TimelineRequest, projects: Sequence[str]
    ) -> None:
        self._memory, self._lake = memory, memory.lake
        self._anchor, self._request = anchor, request
        self._scope = request.scope or ("project" if anchor.project else "all")
        needed = {"session": anchor.session_id, "project": anchor.project, "all": ""}[self._scope]
        if needed is None:
            raise ConfigurationError(
                f"a time is in no {self._scope}; say which project, or scope all"
            )
        kinds = request.kinds or ITEM_KINDS
        self._wanted = tuple(kind for kind in ITEM_KINDS if kind in kinds)
        own = anchor.item_kind
        self._kinds = self._wanted if own is None or own in kinds else (*self._wanted, own)
        self._loaded: dict[tuple[str, str], list[Item]] = {}
        self._spans = _spans(memory, anchor, self._scope, projects)

    def read(self) -> Timeline:
        """Return the timeline; see `timeline`."""
        item = self._anchor_item()
        moment = item.at if item is not None else self._anchor.time or UNTIMED
        middle: tuple[Any, ...] = item.order if item is not None else (moment,)
        earlier, more_before = self._read_side(self._request.before, moment, middle, before=True)
        later, more_after = self._read_side(self._request.after, moment, middle, before=False)
        chosen = [*earlier, *([item] if item is not None else []), *later]
        sides = (("before", more_before), ("after", more_after))
        return Timeline(
            anchor=self._anchor,
            anchor_time=moment if moment > UNTIMED else None,
            anchor_id=item.id if item is not None else None,
            scope=self._scope,
            detail=self._request.detail,
            before=len(earlier),
            after=len(later),
            more=tuple(side for side, more in sides if more),
            sessions=self._group_by_session(chosen),
            missing=missing_kinds(self._lake, self._wanted),
        )

    def _anchor_item(self) -> Item | None:
        anchor = self._anchor
        if anchor.session_id is None or anchor.project is None:
            return None
        items = self._items(anchor.project, anchor.session_id)
        if anchor.item_id is None:  # a session: its first item
            wanted = [item for item in items if item.kind in self._wanted]
            if not wanted:
                none = f"session {anchor.session_id} has nothing of the kinds asked for"
                raise not_in_memory(self._memory, anchor.project, anchor.session_id, "turns", none)
            return wanted[0]
        for item in items:
            if item.id == anchor.item_id:
                return item
        raise not_in_memory(self._memory, anchor.project, anchor.session_id, anchor.item_id)

    def _read_side(
        self, reach: Reach, moment: datetime, middle: tuple[Any, ...], *, before: bool
    ) -> tuple[list[Item], bool]:
        """Return the items of one side of `middle` in order, and whether there are more."""
        most = reach if isinstance(reach, int) else MAX_ITEMS
        farthest = reach if isinstance(reach, timedelta) else timedelta.max

        def distance(start: datetime, end: datetime) -> timedelta:
            return moment - end if before else start - moment

        there = [
            (distance(span.start, span.end), number, span)
            for number, span in enumerate(self._spans)
            if (span.start <= moment if before else span.end >= moment)
        ]
        nearest: list[Item] = []
        for away, _, span in sorted(there):
            last = distance(nearest[most].at, nearest[most].at) if len(nearest) > most else farthest
            if away > last:
                break
            fresh = [
                item
                for item in self._items(span.project, span.session_id)
                if item.kind in self._wanted
                and (item.order < middle if before else item.order > middle)
                and distance(item.at, item.at) <= farthest
            ]
            both = [*nearest, *fresh]
            nearest = sorted(both, key=lambda item: item.order, reverse=before)[: most + 1]
        kept = nearest[:most]
        return (kept[::-1] if before else kept), len(nearest) > most

    def _items(self, project: str, session_id: str) -> list[Item]:
        key = (project, session_id)
        if key not in self._loaded:
            full = self._request.detail == "full"
            self._loaded[key] = session_items(self._lake, *key, self._kinds, full=full)
        return self._loaded[key]

    def _group_by_session(self, items: list[Item]) -> tuple[SessionPart, ...]:
        groups: dict[tuple[str, str], list[Item]] = {}
        for item in items:
            groups.setdefault((item.project, item.session_id), []).append(item)
        return tuple(
            SessionPart(
                session_id,
                project,
                group[0].agent,
                session_title(self._lake, project, session_id),
                tuple(group),
            )
            for (project, session_id), group in groups.items()
        )


def _spans(memory: Searchable, anchor: Anchor, scope: str, requested: Sequence[str]) -> list[_Span]:
    """Return the sessions in scope that have turns and are not hidden, with their times; the
    project of an anchor is one of those `requested` for, if any."""
    projects: list[str | None] = [anchor.project if scope != "all" else None]
    if scope == "project" and anchor.project:
        named = requested if anchor.project in requested else (anchor.project,)
        projects = [*with_worktrees(memory.catalog, named)]
    session_id = anchor.session_id if scope == "session" else None
    hidden = memory.hidden.all() - {(anchor.project or "", anchor.session_id or "")}
    return [
        _Span(
            datetime.fromisoformat(first) if first else UNTIMED,
            datetime.fromisoformat(last) if last else _LAST,
            of_project,
            of_session,
        )
        for project in projects
        for of_project, of_session, first, last in memory.catalog.products.spans(
            project, session_id
        )
        if (of_project, of_session) not in hidden
    ]


_SESSION_HEAD = 8
"""Characters of a session's id from which on it is that rather than a commit or a time."""
_ANCHOR_FORMS = (
    "a turn, prompt, summary, observation or session id, a commit, a file's path, "
    "or a time such as 2d, yesterday, 2026-11-01 or 2026-11-01T09:30"
)
_PREFIX = re.compile(r"(file|commit|time|session):(?!:)(.+)", re.DOTALL)
_FILE_PATTERN = re.compile(r"[/\\]|\w\.\w|^\.\w")
_TURN = re.compile(r"[^\s:]+:\d+")
_MOST_OTHERS = 5


@dataclass(frozen=True)
class Anchor:
    """The middle of a timeline: an item of a session (`item_id`), or a moment (`time`). `also` are
    other turns that fit the given name, newest first."""

    given: str
    kind: str
    project: str | None = None
    session_id: str | None = None
    item_id: str | None = None
    time: datetime | None = None
    also: tuple[str, ...] = ()

    @property
    def item_kind(self) -> str | None:
        """The kind of the anchor's item, or None for a moment."""
        if self.item_id is None:
            return None
        kinds = {"prompt": "prompts", "summary": "summaries", "observation": "observations"}
        head = self.item_id.partition("::")[0]
        return "commits" if self.kind == "commit" else kinds.get(head, "turns")


def anchor_of_id(memory: Stores, text: str) -> Anchor:
    """Return the item that an id names; of a session, the session.

    Raises:
        ConfigurationError: it is no id, or several sessions begin so.
        NotFound: its session is not in memory.
    """
    named = resolve_id(memory, text)
    parts = named.parts
    kind = "commit" if parts.kind == "link" else parts.kind
    items = {
        "turn": f"session::{parts.session_id}::turn::{parts.turn_index}",
        "prompt": f"prompt::{parts.session_id}::{parts.turn_index}",
        "session": None,
    }
    return Anchor(text, kind, named.project, parts.session_id, items.get(kind, named.id))


def _session_anchor(memory: Stores, text: str, project: str | None) -> Anchor | None:
    try:
        of_project, session_id = session_with_prefix(memory, text)
    except NotFound:
        return None
    return Anchor(text, "session", of_project, session_id)


def resolve_anchor(memory: Searchable, text: str, project: str | None = None) -> Anchor:
    """Return the anchor that `text` names; a prefix `file:`, `commit:`, `time:` or `session:`
    decides if several could fit.

    Raises:
        ConfigurationError: it is nothing that can be meant.
        NotFound: nothing in memory is called so.
    """
    text = text.strip()
    if not text:
        raise ConfigurationError(f"the anchor is empty; give {_ANCHOR_FORMS}")
    prefixed = _PREFIX.fullmatch(text)
    if prefixed is not None:
        by_name = {
            "file": _file_anchor,
            "commit": _commit_anchor,
            "session": _session_anchor,
            "time": _time_anchor,
        }
        anchor = by_name[prefixed[1]](memory, prefixed[2].strip(), project)
        if anchor is None:
            raise NotFound(f"no {prefixed[1]} {prefixed[2].strip()!r} in memory")
        return anchor
    if "::" in text:
        return anchor_of_id(memory, text)
    if _TURN.fullmatch(text):
        with suppress(NotFound):  # it may be a file and a line
            return anchor_of_id(memory, text)
    meanings = [_commit_anchor, _time_anchor]
    meanings.insert(0 if len(text) >= _SESSION_HEAD else 2, _session_anchor)
    for resolve in (*meanings, *([_file_anchor] if _FILE_PATTERN.search(text) else [])):
        if (anchor := resolve(memory, text, project)) is not None:
            return anchor
    raise NotFound(f"nothing in memory is called {text!r}; give {_ANCHOR_FORMS}")


def _commit_anchor(memory: Searchable, text: str, project: str | None) -> Anchor | None:
    rows = rows_of_commit(memory.lake, text, project)
    if not rows:
        return None
    best, *others = rows
    also = tuple(row["turn_id"] for row in others[:_MOST_OTHERS] if row.get("turn_id"))
    return Anchor(text, "commit", best["project"], best["session_id"], best["id"], also=also)


def _time_anchor(memory: Searchable, text: str, project: str | None) -> Anchor | None:
    try:
        moment = parse_time(text)
    except ConfigurationError:
        return None
    return Anchor(text, "time", project, time=moment)


def _file_anchor(memory: Searchable, text: str, project: str | None) -> Anchor | None:
    """Return the newest turn that touched a file."""
    hits = memory.search(file=text, project=project, n=1 + _MOST_OTHERS).hits
    if not hits:
        return None
    newest = resolve_id(memory, hits[0].turn_id)
    also = tuple(hit.turn_id for hit in hits[1:])
    session_id = newest.parts.session_id
    return Anchor(text, "file", newest.project, session_id, newest.id, also=also)
