"""The answer of each MCP tool: structured, and as framed lines; if it was cut, with the call that
goes on."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from memory_assets.errors import ConfigurationError, NotFound
from memory_assets.recall import Memory
from memory_assets.recall.names import parse_id, shortest_id
from memory_assets.recall.search.excerpts import excerpt
from memory_assets.recall.sessions.records import records_behind
from memory_assets.recall.show import whole_text
from memory_assets.requests.arguments import Arguments
from memory_assets.requests.questions import (
    BlameRequest,
    FrictionRequest,
    GetRequest,
    HowRequest,
    LinkRequest,
    RestoreRequest,
    SessionRequest,
    SessionsRequest,
    StatusRequest,
    TimelineRequest,
    UsageRequest,
)
from memory_assets.requests.search import FEW_HITS, CrossQueryRequest, SearchRequest
from memory_assets.serving.agent_memory import link_to_commit
from memory_assets.serving.answer_lines import (
    answering_turn_id,
    clock,
    correction_lines,
    empty_days_note,
    filter_lines,
    held_back_notes,
    hit_lines,
    how_notes,
    link_line,
    next_calls,
    project_notes,
    record_lines,
    restore_notes,
    session_lines,
    timeline_lines,
    usage_lines,
    usage_notes,
    with_spoken_names,
)
from memory_assets.serving.answer_size import (
    LISTED_TOKENS,
    cut_to_fit,
    estimate_tokens,
    fit_around,
    page_slices,
    text_pages,
)
from memory_assets.serving.views import (
    AgentText,
    blame_view,
    cross_query_view,
    friction_view,
    how_view,
    sessions_view,
)
from memory_assets.serving.visible_text import Frame, snippet, visible, visible_payload
from memory_assets.status.words import (
    chroma_notes,
    counted,
    held_back,
    in_words,
    named_documents,
    shares_of,
    waiting_sessions,
)
from memory_assets.status.workspaces import workspace_lines, workspaces_on_record

SNIPPET = 240
_SNIPPETS = (700, SNIPPET, 160, 110)
"""Characters of the first three hits and of each later one. The first holds the answer twice as
often as all others together: docs/retrieval.md, "Excerpts"."""
PAGE_CHARACTERS = 12_000
_DOCUMENT_SNIPPET = 500
_DOCUMENT_FIELDS = (
    *("file_path", "line_start", "line_end", "file_type", "section_heading", "copies"),
)
_RECORD_FIELDS = ("record", "tool", "line")
"""Where the text of an exact search stands in a turn."""
_IDS = ("id", "turn_id")
_FORM_ARGUMENTS = ("records", "subagents")
_FULL_ITEM = 1_500
_LISTED_ITEMS = 50
_LISTED_PROJECTS = 30
_LISTED_FILES = 5
_LISTED_HELD_BACK = 20
_MOST_ECHOED = 300


@dataclass(frozen=True)
class _Answer:
    """The answer of a tool before framing: `structured` and `lines` have the same content, as it
    was recorded.

    `instead` is the text of an answer without lines; `after` are lines that follow the frame.
    """

    structured: dict[str, Any]
    lines: Sequence[str]
    instead: str = "Nothing found."
    after: Sequence[str] = ()


def answer_tool(memory: Memory, name: str, arguments: Arguments) -> tuple[dict[str, Any], str]:
    """Return the answer of a tool for programs (a JSON object) and for readers (framed lines),
    without invisible characters.

    Raises:
        MemoryAssetsError: it cannot; the message says what to do.
    """
    answer = _TOOLS[name](memory, arguments)
    if name == "link_session_to_commit":  # confirms the link, and recalls nothing
        return visible_payload(answer.structured), visible(answer.instead)
    frame = Frame()
    text = frame.lines(answer.lines) if answer.lines else visible(answer.instead)
    after = visible("\n".join(answer.after))
    return frame.payload(answer.structured), f"{text}\n{after}".strip()


def _recall(memory: Memory, request: SearchRequest) -> _Answer:
    payload = memory.ask(request)
    query_words = " ".join([request.query, *payload["corrected"].values()])
    hits = [
        {
            "id": hit["id"],
            "turn_id": hit["turn_id"],
            "score": round(hit["score"], 2),
            "weak": hit["weak"],
            "time": hit["metadata"].get("timestamp") or None,
            "project": hit["metadata"].get("project"),
            "session_id": hit["metadata"].get("session_id"),
            **({"later": hit["later"]} if hit["later"] else {}),
            **{
                name: hit["metadata"][name]
                for name in (*_DOCUMENT_FIELDS, *_RECORD_FIELDS, "memory")
                if name in hit["metadata"]
            },
            "text": _hit_text(hit, rank, None if payload["mode"] == "exact" else query_words),
        }
        for rank, hit in enumerate(payload["hits"])
    ]
    hits = _with_short_ids(memory, hits)
    shown = page_slices([2 * estimate_tokens(hit) for hit in hits])
    if request.page > len(shown):
        raise ConfigurationError(
            f"there is no page {request.page}; the last is {len(shown)}. For more hits give a "
            "larger n"
        )
    more = len(hits) == request.n and request.page == len(shown)
    on_page = shown[request.page - 1]
    hits, project = _without_common_project(hits[on_page])
    answering = [
        _short_turn(memory, turn_id) for turn_id in map(answering_turn_id, hits[:1]) if turn_id
    ]
    next_call = next_calls(hits, request.n if more else None, answering)
    if request.page < len(shown):
        next_call += f" Next: recall(..., n={request.n}, page={request.page + 1}) of {len(shown)}."
    others = {name: value for name, value in payload.items() if name != "hits"}
    notes = [
        *filter_lines(with_spoken_names(payload["filters"], memory.catalog.spoken_projects)),
        *correction_lines(payload),
        *_notes(payload["coverage"], payload["degraded"]),
    ]
    if (payload["weak"] or not payload["hits"]) and "workspace" not in request.kinds:
        on_record = workspaces_on_record(memory.settings.data_dir)
        if chunks := sum(workspace["chunks"] for workspace in on_record):
            notes.append(f"{counted(chunks, 'chunk')} of documents: ask kind=workspace.")
    structured = {
        **others,
        **({"project": project} if project else {}),
        "hits": hits,
        "next": next_call,
    }
    brief = request.n <= FEW_HITS
    lines = [f"Project {project}"] if project else []
    lines += hit_lines(
        hits, on_page.start + 1, payload["missing"], weak=payload["weak"], brief=brief
    )
    return _Answer(structured, lines, after=[*notes, next_call])


def _hit_text(hit: Mapping[str, Any], rank: int, query_words: str | None) -> str:
    """Return the stretch of a hit's text that answers; all of it without `query_words`."""
    text = visible(hit["text"])
    if query_words is None:
        return text
    is_document = "file_path" in hit["metadata"]
    room = _DOCUMENT_SNIPPET if is_document else _SNIPPETS[min(rank, len(_SNIPPETS) - 1)]
    prompt_length = len(visible(hit["text"][: hit["prompt_length"]]))
    return excerpt(text, query_words, room, prompt_length, visible(hit["beside"]))


def _notes(coverage: Mapping[str, Any], degraded: str | None) -> list[str]:
    notes = []
    if degraded:
        notes.append(f"Degraded: {degraded}.")
    if coverage["ingest"]:
        notes.append(f"Incomplete: {coverage['ingest']}.")
    elif coverage["waiting"]:
        notes.append(f"Incomplete: {waiting_sessions(coverage['waiting'])}.")
    elif not coverage["complete"]:
        notes.append(
            f"Incomplete: {coverage['indexed']} of {coverage['rows']} passages can be found."
        )
    return [*notes, *held_back_notes(coverage)]


def _timeline(memory: Memory, request: TimelineRequest) -> _Answer:
    payload = memory.ask(request)
    for part in payload["sessions"]:
        part["items"] = [_short_item(memory, item, part["session_id"]) for item in part["items"]]
    items = [item for part in payload["sessions"] for item in part["items"]]
    cut = {item["id"] for item in items if len(item["text"]) > _FULL_ITEM}
    for item in items:
        if item["id"] in cut:
            item["text"] = f"{item['text'][:_FULL_ITEM].rstrip()}…"
    _keep_nearest(payload, items)
    kept = [item for part in payload["sessions"] for item in part["items"]]
    ends = [(item["time"] or "", item["id"]) for item in kept]
    lines = list(timeline_lines(payload, AgentText(memory).project, cut))
    next_call = _next_on_timeline(payload["more"], sorted(ends), request)
    notes = [f"No {kind}: {why}." for kind, why in payload["missing"].items()]
    notes += filter(None, [empty_days_note(payload)])
    return _Answer({**payload, "next": next_call}, lines, "Nothing there.", [*notes, next_call])


def _keep_nearest(payload: dict[str, Any], items: Sequence[Mapping[str, Any]]) -> None:
    """Leave in a timeline only the items nearest to its anchor that an answer has room for."""
    in_order = sorted(items, key=lambda item: item["time"] or "")
    anchor_at = next(
        (anchor_at for anchor_at, item in enumerate(in_order) if item["anchor"]), payload["before"]
    )
    nearest = fit_around(
        [2 * estimate_tokens(item) for item in in_order], min(anchor_at, max(len(items) - 1, 0))
    )
    inside = {item["id"] for item in in_order[nearest]}
    for part in payload["sessions"]:
        part["items"] = [item for item in part["items"] if item["id"] in inside]
    payload["sessions"] = [part for part in payload["sessions"] if part["items"]]
    cut = {"before": nearest.start > 0, "after": nearest.stop < len(items)}
    payload["more"] = [side for side in cut if cut[side] or side in payload["more"]]
    payload["before"] -= nearest.start
    payload["after"] -= len(items) - nearest.stop


def _next_on_timeline(
    more: Sequence[str], ends: Sequence[tuple[str, str]], request: TimelineRequest
) -> str:
    if not ends or not more:
        return ""
    same = f', scope="{request.scope}"' if request.scope else ""
    same += ", full=true" if request.detail == "full" else ""
    calls = {
        "before": f'timeline(anchor="{ends[0][1]}", before=10, after=0{same})',
        "after": f'timeline(anchor="{ends[-1][1]}", before=0, after=10{same})',
    }
    return "Next: " + "; ".join(f"{calls[side]} for what is {side}" for side in more) + "."


def _get(memory: Memory, request: GetRequest) -> _Answer:
    """Return one page of full texts. The pages are cut from all texts in a row, so that they have
    about the same size: first the `text` of each id, then the `rest` of each, which has what was
    said on the way, and calls."""
    entries = []
    missing = {}
    for any_id in dict.fromkeys(request.ids):
        try:
            ask = partial(_full_text, any_id=any_id, request=request)
            entries.append(memory.first_with(any_id, ask))
        except (NotFound, ConfigurationError) as error:
            missing[any_id] = str(error)
    if not entries:
        raise NotFound("; ".join(missing.values()))
    text_sizes, rest_sizes = _page_sizes(entries, "text"), _page_sizes(entries, "rest")
    page_count = len(text_sizes) + len(rest_sizes) or 1
    if request.page > page_count:
        raise ConfigurationError(f"there is no page {request.page}; the last is {page_count}")
    if request.page <= max(len(text_sizes), 1):
        name, page, own_sizes = "text", request.page, text_sizes
    else:
        name, page, own_sizes = "rest", request.page - len(text_sizes), rest_sizes
    items = _items_on_page(entries, name, sum(own_sizes[: page - 1]), sum(own_sizes[:page]))
    ids = [item["id"] for item in _with_short_ids(memory, entries)]
    next_call = ""
    if request.page < page_count:
        listed = ", ".join(f'"{any_id}"' for any_id in ids)
        form = "".join(f", {name}=true" for name in _FORM_ARGUMENTS if getattr(request, name))
        continues = ": what was said on the way, calls" if request.page >= len(text_sizes) else ""
        next_call = (
            f"Next: get(ids=[{listed}], page={request.page + 1}{form}) of {page_count}{continues}."
        )
    elif len(ids) == 1 and ids[0].startswith("summary::"):
        next_call = f'Next: summarize_session(session="{ids[0]}") for its turns.'
    shown, project = _without_common_project(_with_short_ids(memory, items))
    lines = [f"Project {project}"] if project else []
    for item in shown:
        lines.append(f"## {item['id']}  {clock(item['time'])}  {item.get('project', '')}".rstrip())
        lines.append(item["text"])
    structured = {
        "items": shown,
        **({"project": project} if project else {}),
        "page": request.page,
        "pages": page_count,
        "missing": missing,
        "next": next_call,
    }
    absent = (f"Not there: {why}" for why in missing.values())
    return _Answer(structured, lines, after=[*absent, next_call])


def _page_sizes(entries: Sequence[Mapping[str, Any]], name: str) -> list[int]:
    """Return the characters of each page of all texts `name` in a row."""
    text = "".join(entry[name] for entry in entries)
    return [len(part) for part in text_pages(text, PAGE_CHARACTERS, LISTED_TOKENS // 2) if part]


def _full_text(memory: Memory, any_id: str, request: GetRequest) -> dict[str, Any]:
    """Return what an id names in full, or every record behind it."""
    item = {"rest": "", **whole_text(memory, any_id)}
    if request.records:
        records = records_behind(memory, any_id, subagents=request.subagents)
        item |= {"text": "\n".join(record_lines(records)), "rest": ""}
    return {**item, "text": visible(item["text"]), "rest": visible(item["rest"])}


def _items_on_page(
    wholes: Sequence[Mapping[str, Any]], name: str, first: int, last: int
) -> list[dict[str, Any]]:
    """Return the items with characters `first` to `last` of all texts in a row. Each has those
    characters as `text`, and in `from_character` where they begin in its own text `name`."""
    items = []
    offset = 0
    for item in wholes:
        text = item[name]
        start = max(first - offset, 0)
        end = min(last - offset, len(text))
        if start < end or (name == "text" and not text and first <= offset < max(last, 1)):
            kept = {key: item[key] for key in item if key != "rest"}
            items.append({**kept, "text": text[start:end], "from_character": start})
        offset += len(text)
    return items


def _with_short_ids(memory: Memory, rows: Iterable[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Return hits or items with the shortest ids and project names that every tool takes, without
    the fields that these ids contain."""
    spoken = memory.catalog.spoken_projects()
    shortened_rows = []
    for row in rows:
        short = dict(row)
        if project := short.get("project"):
            short["project"] = spoken.get(project, project)
        if session_id := str(short.pop("session_id", "") or ""):
            short |= _short_item(memory, short, session_id)
            if row["id"].startswith("session::"):
                short.pop("turn_id", None)
        shortened_rows.append(short)
    return shortened_rows


def _short_item(memory: Memory, item: Mapping[str, Any], session_id: str) -> dict[str, Any]:
    """Return an item of a session with the shortest ids that every tool takes."""
    short = {name: shortest_id(memory, item[name], session_id) for name in _IDS if item.get(name)}
    return {**item, **short}


def _with_short_turns(memory: Memory, value: Any) -> Any:
    """Return a list or an object whose ids of turns are the shortest that every tool takes."""
    if isinstance(value, list):
        return [_with_short_turns(memory, part) for part in value]
    if not isinstance(value, dict):
        return value
    short: dict[str, Any] = {}
    for name, part in value.items():
        if name == "turns" and part and isinstance(part[0], str):
            short[name] = [_short_turn(memory, turn_id) for turn_id in part]
        elif name == "turn_id" and part:
            short[name] = _short_turn(memory, part)
        else:
            short[name] = _with_short_turns(memory, part)
    return short


def _short_turn(memory: Memory, turn_id: str) -> str:
    return shortest_id(memory, turn_id, parse_id(turn_id).session_id)


def _without_common_project(rows: Sequence[dict[str, Any]]) -> tuple[list[dict[str, Any]], str]:
    """Return rows without their project, and that project, if all have the same; else the rows as
    they are, and ""."""
    projects = {row.get("project") for row in rows}
    if len(projects) != 1 or not (project := projects.pop()):
        return list(rows), ""
    return [{name: row[name] for name in row if name != "project"} for row in rows], str(project)


def _cross_query(memory: Memory, request: CrossQueryRequest) -> _Answer:
    payload, left_out = cut_to_fit(memory.ask(request), ("documents", "sessions", "overlap"))
    for name in ("query", "corpus_query", "session_query"):
        payload[name] = snippet(payload[name], _MOST_ECHOED)
    turns = [turn for session in payload["sessions"] for turn in session["turns"]]
    short = [_short_turn(memory, turn["id"]) for turn in turns[:1]]
    next_call = next_calls([{"id": turn_id} for turn_id in short], None)
    notes = [*_notes(payload["coverage"], payload["degraded"]), *_rest_note(left_out, request.n)]
    lines = list(cross_query_view(AgentText(memory), payload))
    return _with_next(payload, lines, notes, next_call)


def _summarize(memory: Memory, request: SessionRequest) -> _Answer:
    payload = memory.ask(request)
    kinds = ("turns", "observations", "commits")
    session_id = payload["session_id"]
    listed = {
        kind: [_short_item(memory, item, session_id) for item in payload[kind][:_LISTED_ITEMS]]
        for kind in kinds
    }
    shown, _ = cut_to_fit({**payload, **listed}, kinds)
    next_call = ""
    if turns := shown["turns"]:
        next_call = f'Next: get(ids=["{turns[0]["id"]}"]) for a turn in full'
        if len(turns) < len(payload["turns"]):
            next_call += (
                f'; timeline(anchor="{turns[-1]["id"]}", before=0, after=20) for more turns'
            )
        next_call += "."
    project = AgentText(memory).project(shown["project"])
    lines = list(session_lines(shown, project, {kind: len(payload[kind]) for kind in kinds}))
    return _with_next(shown, lines, [], next_call)


def _how(memory: Memory, request: HowRequest) -> _Answer:
    payload = _with_short_turns(memory, memory.ask(request))
    payload, left_out = cut_to_fit(payload, ("commands", "failed"))
    ids = [command["turn_id"] for command in [*payload["commands"], *payload["failed"]]]
    lines = list(how_view(AgentText(memory), payload)) if ids else []
    notes = [*how_notes(_spoken(memory, payload)), *_rest_note(left_out, request.n)]
    return _with_next(payload, lines, notes, _whole_turn(ids))


def _friction(memory: Memory, request: FrictionRequest) -> _Answer:
    payload, left_out = cut_to_fit(_with_short_turns(memory, memory.ask(request)), ("errors",))
    turns = [error["turns"][0] for error in payload["errors"]]
    lines = list(friction_view(AgentText(memory), payload)) if turns else []
    notes = [*project_notes(_spoken(memory, payload)), *_rest_note(left_out, request.n)]
    if not turns and request.sessions > 2:
        rarer = 'ask(verb="friction", sessions=2) takes more errors'
        notes.append(f"No error was met in {request.sessions} sessions; {rarer}.")
    return _with_next(payload, lines, notes, _whole_turn(turns))


def _sessions(memory: Memory, request: SessionsRequest) -> _Answer:
    payload = memory.ask(request)
    for session in payload["sessions"]:
        changed = session["files_modified"]
        session["files_modified"] = changed[:_LISTED_FILES]
        session["files_in_all"] = len(changed)
    payload, _ = cut_to_fit(payload, ("sessions",))
    listed = payload["sessions"]
    next_call = ""
    if listed:
        next_call = f'Next: summarize_session(session="{listed[0]["short_id"]}") for what was done.'
    notes = list(project_notes(_spoken(memory, payload)))
    if older := payload["total"] - len(listed):
        notes.append(f"{counted(older, 'more session')}: ask for more with n, or narrower.")
    lines = list(sessions_view(AgentText(memory), payload)) if listed else []
    return _with_next(payload, lines, notes, next_call)


def _usage(memory: Memory, request: UsageRequest) -> _Answer:
    payload, left_out = cut_to_fit(memory.ask(request), ("groups",))
    notes = [*usage_notes(_spoken(memory, payload)), *_rest_note(left_out, 0)]
    return _Answer(payload, list(usage_lines(payload)), after=notes)


def _blame(memory: Memory, request: BlameRequest) -> _Answer:
    payload = _with_short_turns(memory, memory.ask(request))
    payload, left_out = cut_to_fit(payload, ("commits", "turns"))
    sessions = [session for commit in payload["commits"] for session in commit["sessions"]]
    ids = [named["turn_id"] or named["session_id"] for named in [*sessions, *payload["turns"]]]
    next_call = f'Next: get(ids=["{ids[0]}"]) for the full text.' if ids else ""
    lines = list(blame_view(AgentText(memory), payload))
    return _with_next(payload, lines, _rest_note(left_out, 0), next_call)


def _restore(memory: Memory, request: RestoreRequest) -> _Answer:
    """Return a file as it was; of one that is too long its beginning, and where the rest is."""
    payload = memory.ask(request)
    whole_text = payload["text"]
    beginning = next(text_pages(visible(whole_text), PAGE_CHARACTERS, LISTED_TOKENS // 2))
    payload, _ = cut_to_fit({**payload, "text": beginning}, ("events",), LISTED_TOKENS // 2)
    notes = list(restore_notes(payload))
    if len(beginning) < len(whole_text):
        notes.append(
            f"Cut: {len(beginning)} of {len(whole_text)} characters. `memory restore "
            f"{payload['file']}` prints all."
        )
    return _Answer(payload, beginning.split("\n"), after=notes)


def _with_next(
    payload: Mapping[str, Any], lines: Sequence[str], notes: Sequence[str], next_call: str
) -> _Answer:
    """Return an answer that ends with the call that goes on from it."""
    return _Answer({**payload, "next": next_call}, lines, after=[*notes, next_call])


def _whole_turn(turn_ids: Sequence[str]) -> str:
    if not turn_ids:
        return ""
    return f'Next: get(ids=["{turn_ids[0]}"], records=true) for all of the turn.'


def _spoken(memory: Memory, payload: Mapping[str, Any]) -> dict[str, Any]:
    return with_spoken_names(payload, memory.catalog.spoken_projects)


def _rest_note(count: int, n: int) -> list[str]:
    remedy = f": ask for less than n={n}, or narrower" if n else ""
    return [f"{count} more did not fit{remedy}."] if count else []


def _link(memory: Memory, request: LinkRequest) -> _Answer:
    linked = link_to_commit(memory, request)
    return _Answer(linked, (), f"Linked session {link_line(linked)}.")


def _status(memory: Memory, request: StatusRequest) -> _Answer:
    payload = memory.ask(request)
    projects = sorted(payload["projects"].items(), key=lambda pair: -pair[1]["sessions"])
    held = list(held_back(payload, memory.catalog.spoken_projects()))
    structured = {
        "sessions": payload["sessions"],
        "agents": payload["agents"],
        "projects": {name: counts["sessions"] for name, counts in projects[:_LISTED_PROJECTS]},
        "projects_in_all": len(projects),
        "coverage": payload["coverage"],
        "chroma": payload["chroma"],
        "held_back": len(payload["quarantined"]) + len(payload["unlisted"]),
        "held_back_reasons": held[:_LISTED_HELD_BACK],
    }
    named = AgentText(memory).project
    covered = payload["coverage"]["sessions"]
    in_all = counted(payload["sessions"]["total"], "session")
    if shares := shares_of(payload["sessions"]):
        in_all += f" ({shares})"
    lines = [
        f"{in_all}, {counted(covered['turns'], 'turn')}, "
        f"{counted(covered['rows'], 'passage')} in {counted(len(projects), 'project')}; "
        f"as of {clock(covered['as_of'])}; {structured['held_back']} held back; "
        f"{payload['chroma']['store']} {payload['chroma']['state']}.",
        *(line for well, line in in_words(payload["coverage"]) if not well),
        *named_documents(payload["stages"].get("workspace_chunks", {}).get("by_name") or 0),
        *chroma_notes(payload),
        *(f"Held back: {line}" for line in held[:_LISTED_HELD_BACK]),
        "Projects (sessions): "
        + ", ".join(f"{named(name)} ({n})" for name, n in structured["projects"].items())
        + (f", and {more} more" if (more := len(projects) - _LISTED_PROJECTS) > 0 else ""),
    ]
    return _Answer(structured, lines)


def _workspaces(memory: Memory, request: StatusRequest) -> _Answer:
    workspaces = workspaces_on_record(memory.settings.data_dir)
    structured = {"workspaces": workspaces, "coverage": memory.ask(request)["coverage"]}
    nothing = "No workspace is on record; `memory index ROOT` adds one."
    return _Answer(structured, list(workspace_lines(workspaces)), nothing)


_TOOLS: dict[str, Callable[[Memory, Any], _Answer]] = {
    "recall": _recall,
    "timeline": _timeline,
    "get": _get,
    "cross_query": _cross_query,
    "summarize_session": _summarize,
    "link_session_to_commit": _link,
    "how": _how,
    "friction": _friction,
    "sessions": _sessions,
    "usage": _usage,
    "blame": _blame,
    "restore": _restore,
    "status": _status,
    "workspace_index_stats": _workspaces,
}
