"""What each MCP tool answers: structured, and the same in framed lines; compact, with the
next call named where something was left out."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from memory_assets.errors import ConfigurationError, NotFound
from memory_assets.recall import Memory
from memory_assets.recall.cross_query import cross_query
from memory_assets.recall.get import whole
from memory_assets.recall.search.excerpts import excerpt
from memory_assets.recall.summarize import session_overview
from memory_assets.recall.timeline.anchor import find_session
from memory_assets.recall.timeline.timeline import timeline
from memory_assets.requests.arguments import Arguments
from memory_assets.requests.by_id import GetRequest, LinkRequest, SessionRequest
from memory_assets.requests.cross_query import CrossQueryRequest
from memory_assets.requests.search import MAX_HITS, SearchRequest
from memory_assets.requests.timeline import TimelineRequest
from memory_assets.serving.framing import Frame, snippet
from memory_assets.serving.visible_text import visible, visible_payload
from memory_assets.status import held_back, in_words

SNIPPET = 240
PAGE_CHARACTERS = 12_000
_FULL_ITEM = 1_500
_LISTED_PROJECTS = 30
_LISTED_HELD_BACK = 20


@dataclass(frozen=True)
class ToolAnswer:
    """An answer for programs (`structured`, a JSON object) and the same for readers."""

    structured: dict[str, Any]
    text: str


@dataclass(frozen=True)
class _Told:
    """What a tool found: `structured`, and the same in `lines`, both still as recorded.

    `instead` is said where there are no lines; `after` follows the frame.
    """

    structured: dict[str, Any]
    lines: Sequence[str]
    instead: str = "Nothing found."
    after: Sequence[str] = ()


def answer_tool(memory: Memory, name: str, arguments: Arguments) -> ToolAnswer:
    """Return what a tool answers, in a frame, with nothing in it that cannot be seen.

    Raises:
        MemoryAssetsError: it cannot; the message says what to do.
    """
    told = _TOOLS[name](memory, arguments)
    if name == "link_session_to_commit":  # confirms what was asked, and recalls nothing
        return ToolAnswer(visible_payload(told.structured), visible(told.instead))
    frame = Frame()
    text = frame.lines(told.lines) if told.lines else visible(told.instead)
    after = visible("\n".join(told.after))
    return ToolAnswer(frame.payload(told.structured), f"{text}\n{after}".strip())


def _recall(memory: Memory, asked: SearchRequest) -> _Told:
    told = memory.search(asked).to_dict()
    hits = [
        {
            "id": hit["id"],
            "turn_id": hit["turn_id"],
            "score": hit["score"],
            "time": hit["metadata"].get("timestamp") or None,
            "project": hit["metadata"].get("project"),
            "text": excerpt(visible(hit["text"]), asked.query, SNIPPET),
        }
        for hit in told["hits"]
    ]
    more = len(hits) == asked.n
    next_call = _next_after(hits, asked.n if more else None)
    kept = {name: value for name, value in told.items() if name != "hits"}
    lines = [
        f"{rank}. {hit['id']}  {_score(hit)}{str(hit['time'])[:16]}  {hit['project']}\n"
        f"   {hit['text']}"
        for rank, hit in enumerate(hits, start=1)
    ]
    notes = _notes(told["coverage"], told["degraded"])
    return _Told({**kept, "hits": hits, "next": next_call}, lines, after=[*notes, next_call])


def _score(hit: Mapping[str, Any]) -> str:
    return f"{hit['score']:.2f}  " if hit["score"] else ""


def _next_after(hits: Sequence[Mapping[str, Any]], n: int | None) -> str:
    if not hits:
        return "Try other words, another kind, or fewer filters; status says what is in memory."
    first = hits[0]
    calls = f'get(ids=["{first["id"]}"]) for the full text; timeline(anchor="{first["turn_id"]}")'
    more = f"; recall(..., n={min(MAX_HITS, 2 * n)}) for more hits" if n and n < MAX_HITS else ""
    return f"Next: {calls} for what was around it{more}."


def _notes(coverage: Mapping[str, Any], degraded: str | None) -> list[str]:
    notes = []
    if degraded and degraded != "semantic-only":
        notes.append(f"Degraded: {degraded}.")
    if not coverage["complete"]:
        notes.append(
            f"Incomplete: {coverage['indexed']} of {coverage['rows']} passages can be found."
        )
    return notes


def _timeline(memory: Memory, asked: TimelineRequest) -> _Told:
    told = timeline(memory, asked).to_dict()
    lines = []
    ends = []
    for part in told["sessions"]:
        lines.append(f"# {part['session_id']} {part['agent']} {part['project']} {part['title']}")
        for item in part["items"]:
            item["text"], cut = _cut(item["text"], _FULL_ITEM)
            mark = ">" if item["anchor"] else "-"
            more = f' [cut: get(ids=["{item["id"]}"])]' if cut else ""
            when = str(item["time"] or "no time")[:16]
            lines.append(f"{mark} {when} {item['kind']} {item['id']}: {item['text']}{more}")
            ends.append((item["time"] or "", item["id"]))
    next_call = _next_on_timeline(told["more"], sorted(ends))
    notes = [f"No {kind}: {why}." for kind, why in told["missing"].items()]
    return _Told({**told, "next": next_call}, lines, "Nothing there.", [*notes, next_call])


def _next_on_timeline(more: Sequence[str], ends: Sequence[tuple[str, str]]) -> str:
    if not ends or not more:
        return ""
    calls = {
        "before": f'timeline(anchor="{ends[0][1]}", before=10, after=0)',
        "after": f'timeline(anchor="{ends[-1][1]}", before=0, after=10)',
    }
    return "Next: " + "; ".join(f"{calls[side]} for what is {side}" for side in more) + "."


def _cut(text: str, most: int) -> tuple[str, bool]:
    return (text, False) if len(text) <= most else (f"{text[:most].rstrip()}…", True)


def _get(memory: Memory, asked: GetRequest) -> _Told:
    """Pages are cut from all texts in a row, so that each has about the same size."""
    found, missing = [], {}
    for any_id in dict.fromkeys(asked.ids):
        try:
            item = whole(memory, any_id)
            found.append({**item, "text": visible(item["text"])})
        except (NotFound, ConfigurationError) as error:
            missing[any_id] = str(error)
    if not found:
        raise NotFound("; ".join(missing.values()))
    total = sum(len(item["text"]) for item in found)
    pages = max(1, -(-total // PAGE_CHARACTERS))
    if asked.page > pages:
        raise ConfigurationError(f"there is no page {asked.page}; the last is {pages}")
    first, last = (asked.page - 1) * PAGE_CHARACTERS, asked.page * PAGE_CHARACTERS
    items, at = [], 0
    for item in found:
        start, end = max(first - at, 0), min(last - at, len(item["text"]))
        if start < end or (not item["text"] and first <= at < last):
            items.append({**item, "text": item["text"][start:end], "from_character": start})
        at += len(item["text"])
    next_call = ""
    if asked.page < pages:
        listed = ", ".join(f'"{any_id}"' for any_id in asked.ids)
        next_call = f"Next: get(ids=[{listed}], page={asked.page + 1}) of {pages}."
    lines = [
        f"## {item['id']}  {str(item['time'])[:16]}  {item['project']}\n{item['text']}"
        for item in items
    ]
    notes = [f"Not there: {why}" for why in missing.values()]
    structured = {
        "items": items, "page": asked.page, "pages": pages, "missing": missing, "next": next_call,
    }  # fmt: skip
    return _Told(structured, lines, after=[*notes, next_call])


def _cross_query(memory: Memory, asked: CrossQueryRequest) -> _Told:
    told = cross_query(memory, asked).to_dict()
    documents = [
        f"document {each['id']}  {each['score']:.2f}\n   {snippet(each['text'], SNIPPET)}"
        for each in told["documents"]
    ]
    sessions = [
        f"session {each['session_id']}  {', '.join(each['why'])}  {each['project']}\n"
        + "\n".join(f"   {turn['id']}: {snippet(turn['text'], 160)}" for turn in each["turns"][:3])
        for each in told["sessions"]
    ]
    overlap = [
        f"overlap {each['document']} ~ {each['turn_id']}  {each['similarity']:.2f}  "
        f"{', '.join(each['shared_terms'])}"
        f"{' (touched ' + each['touched'] + ')' if each['touched'] else ''}"
        for each in told["overlap"]
    ]
    lines = [*documents, *sessions, *overlap]
    next_call = _next_after(
        [{"id": turn["id"], "turn_id": turn["id"]} for turn in _turns(told)], None
    )
    notes = _notes(told["coverage"], told["degraded"])
    return _Told({**told, "next": next_call}, lines, after=[*notes, next_call])


def _turns(told: Mapping[str, Any]) -> list[dict[str, Any]]:
    return [turn for each in told["sessions"] for turn in each["turns"]]


def _summarize(memory: Memory, asked: SessionRequest) -> _Told:
    told = session_overview(memory, asked.session).to_dict()
    summary = told["summary"] or {}
    lines = [f"# {told['session_id']} {told['agent']} {told['project']}"]
    for name, value in summary.items():
        if value and name not in ("id", "session_id", "project", "agent", "summarizer_id"):
            lines.append(f"{name}: {snippet(_words(value), 1_000)}")
    shown = {kind: told[kind][:50] for kind in ("turns", "observations", "commits")}
    for kind, items in shown.items():
        lines += [f"- {item['kind']} {item['id']}: {item['text']}" for item in items]
        if len(items) < len(told[kind]):
            lines.append(f"- and {len(told[kind]) - len(items)} more {kind}")
    next_call = ""
    if told["turns"]:
        next_call = f'Next: get(ids=["{told["turns"][0]["id"]}"]) for a turn in full.'
    structured = {**told, **shown, "next": next_call}
    return _Told(structured, lines, after=[next_call])


def _words(value: object) -> str:
    if isinstance(value, list):
        return "; ".join(_words(item) for item in value)
    if isinstance(value, dict):
        return " - ".join(str(item) for item in value.values())
    return str(value)


def _link(memory: Memory, asked: LinkRequest) -> _Told:
    """The commit is looked up in the repository that the server was started in."""
    from memory_assets.pipeline.stage.components import Components
    from memory_assets.pipeline.tables.session_commits import link_commit
    from memory_assets.settings import Settings, load_settings

    given = memory.settings
    settings = given if isinstance(given, Settings) else load_settings(data_dir=given.data_dir)
    _, session_id = find_session(memory, asked.session)
    made = link_commit(Components(settings), session_id, asked.commit, Path.cwd())
    told = {"session_id": made.session_id, "commit": made.commit}
    return _Told(told, (), f"Linked session {made.session_id} to commit {made.commit}.")


def _status(memory: Memory, _: Arguments) -> _Told:
    told = memory.status()
    projects = sorted(told["projects"].items(), key=lambda pair: -pair[1]["sessions"])
    held = list(held_back(told))
    structured = {
        "agents": told["agents"],
        "projects": {name: counts["sessions"] for name, counts in projects[:_LISTED_PROJECTS]},
        "projects_in_all": len(projects),
        "coverage": told["coverage"],
        "chroma": told["chroma"],
        "held_back": len(held),
        "held_back_reasons": held[:_LISTED_HELD_BACK],
    }
    covered = told["coverage"]["sessions"]
    lines = [
        f"{covered['sessions']} sessions, {covered['turns']} turns, {covered['rows']} passages in "
        f"{len(projects)} projects; as of {covered['as_of'] or 'never'}; "
        f"{len(held)} held back; Chroma {told['chroma']['state']}.",
        *(line for well, line in in_words(told["coverage"]) if not well),
        *(f"Held back: {line}" for line in held[:_LISTED_HELD_BACK]),
        "Projects (sessions): "
        + ", ".join(f"{name} ({n})" for name, n in structured["projects"].items()),
    ]
    return _Told(structured, lines)


_TOOLS: dict[str, Callable[[Memory, Any], _Told]] = {
    "recall": _recall,
    "timeline": _timeline,
    "get": _get,
    "cross_query": _cross_query,
    "summarize_session": _summarize,
    "link_session_to_commit": _link,
    "status": _status,
}
