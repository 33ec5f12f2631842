"""The answer of each MCP tool: structured, and as framed lines; short, with the next call if
something was left out."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from memory_assets.errors import ConfigurationError, NotFound
from memory_assets.recall import Memory
from memory_assets.recall.files.names import directory_of
from memory_assets.recall.names import session_named
from memory_assets.recall.search.excerpts import excerpt
from memory_assets.recall.sessions.records import records_behind
from memory_assets.recall.show import whole
from memory_assets.requests.actions import HowRequest
from memory_assets.requests.arguments import Arguments
from memory_assets.requests.cross_query import CrossQueryRequest
from memory_assets.requests.questions import (
    GetRequest,
    LinkRequest,
    SessionRequest,
    StatusRequest,
    TimelineRequest,
    UnlinkRequest,
)
from memory_assets.requests.search import MAX_HITS, SearchRequest
from memory_assets.serving.action_lines import how_lines, how_notes
from memory_assets.serving.answer_lines import (
    clock,
    correction_lines,
    cross_query_lines,
    filter_lines,
    held_back_notes,
    hit_lines,
    link_line,
    session_lines,
    timeline_lines,
)
from memory_assets.serving.answer_size import (
    LISTED_TOKENS,
    fitting,
    nearest,
    pages,
    text_pages,
    tokens,
)
from memory_assets.serving.record_lines import record_lines
from memory_assets.serving.visible_text import Frame, snippet, visible, visible_payload
from memory_assets.status import (
    chroma_notes,
    counted,
    held_back,
    in_words,
    named_documents,
    waiting_sessions,
)

SNIPPET = 240
PAGE_CHARACTERS = 12_000
_DOCUMENT_SNIPPET = 500
_OF_A_DOCUMENT = (
    "file_path",
    "line_start",
    "line_end",
    "file_type",
    "section_heading",
    "copies",
)
_OF_A_RECORD = ("record", "tool", "line")
"""Where the text of an exact search stands in a turn."""
_FORMS = ("records", "subagents")
_FULL_ITEM = 1_500
_LISTED_ITEMS = 50
_LISTED_PROJECTS = 30
_LISTED_HELD_BACK = 20
_ECHOED = 300


@dataclass(frozen=True)
class _Answer:
    """What a tool found, before framing: `structured` and `lines` have equal content, as it was
    recorded.

    `instead` is the text of an answer without lines; `after` follows the frame.
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
    asked = " ".join([request.query, *payload["corrected"].values()])
    hits = [
        {
            "id": hit["id"],
            "turn_id": hit["turn_id"],
            "score": hit["score"],
            "weak": hit["weak"],
            "time": hit["metadata"].get("timestamp") or None,
            "project": hit["metadata"].get("project"),
            "later": hit["later"],
            **{
                name: hit["metadata"][name]
                for name in (*_OF_A_DOCUMENT, *_OF_A_RECORD)
                if name in hit["metadata"]
            },
            "text": visible(hit["text"])
            if payload["mode"] == "exact"
            else excerpt(
                visible(hit["text"]),
                asked,
                _DOCUMENT_SNIPPET if "file_path" in hit["metadata"] else SNIPPET,
                len(visible(hit["text"][: hit["prompt_length"]])),
            ),
        }
        for hit in payload["hits"]
    ]
    shown = pages([2 * tokens(hit) for hit in hits])
    if request.page > len(shown):
        raise ConfigurationError(f"there is no page {request.page}; the last is {len(shown)}")
    more = len(hits) == request.n and request.page == len(shown)
    here = shown[request.page - 1]
    hits = hits[here]
    next_call = _next_after(hits, request.n if more else None)
    if request.page < len(shown):
        next_call += f" Next: recall(..., n={request.n}, page={request.page + 1}) of {len(shown)}."
    kept = {name: value for name, value in payload.items() if name != "hits"}
    notes = [
        *filter_lines(payload["filters"]),
        *correction_lines(payload),
        *_notes(payload["coverage"], payload["degraded"]),
    ]
    structured = {**kept, "hits": hits, "next": next_call}
    return _Answer(
        structured,
        list(hit_lines(hits, here.start + 1, payload["missing"])),
        after=[*notes, next_call],
    )


def _next_after(hits: Sequence[Mapping[str, Any]], n: int | None) -> str:
    if not hits:
        return "Try other words, another kind, or fewer filters; status says what is in memory."
    first = hits[0]
    full = f'get(ids=["{first["id"]}"]) for the full text'
    around = f'timeline(anchor="{first["turn_id"]}") for what was around it'
    if "file_path" in first:
        around = (
            f'cross_query(collection="workspace", document="{first["id"]}") for the sessions that '
            "touched the file"
        )
    more = f"; recall(..., n={min(MAX_HITS, 2 * n)}) for more hits" if n and n < MAX_HITS else ""
    return f"Next: {full}; {around}{more}."


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
    items = [item for part in payload["sessions"] for item in part["items"]]
    cut = {item["id"] for item in items if len(item["text"]) > _FULL_ITEM}
    for item in items:
        if item["id"] in cut:
            item["text"] = f"{item['text'][:_FULL_ITEM].rstrip()}…"
    _keep_nearest(payload, items)
    kept = [item for part in payload["sessions"] for item in part["items"]]
    ends = [(item["time"] or "", item["id"]) for item in kept]
    lines = list(timeline_lines(payload, cut))
    next_call = _next_on_timeline(payload["more"], sorted(ends), request)
    notes = [f"No {kind}: {why}." for kind, why in payload["missing"].items()]
    return _Answer({**payload, "next": next_call}, lines, "Nothing there.", [*notes, next_call])


def _keep_nearest(payload: dict[str, Any], items: Sequence[Mapping[str, Any]]) -> None:
    """Leave in a timeline only the items nearest to its anchor that an answer has room for."""
    inside = {item["id"] for item in items}
    in_order = sorted(items, key=lambda item: item["time"] or "")
    at = next((at for at, item in enumerate(in_order) if item["anchor"]), payload["before"])
    kept = nearest([2 * tokens(item) for item in in_order], min(at, max(len(items) - 1, 0)))
    inside = {item["id"] for item in in_order[kept]}
    for part in payload["sessions"]:
        part["items"] = [item for item in part["items"] if item["id"] in inside]
    payload["sessions"] = [part for part in payload["sessions"] if part["items"]]
    cut = {"before": kept.start > 0, "after": kept.stop < len(items)}
    payload["more"] = [side for side in cut if cut[side] or side in payload["more"]]
    payload["before"] -= kept.start
    payload["after"] -= len(items) - kept.stop


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
    """Return one page of full texts. Pages are cut from all texts in a row, so that they have about
    equal size."""
    found, missing = [], {}
    for any_id in dict.fromkeys(request.ids):
        try:
            item = whole(memory, any_id)
            if request.records:
                records = records_behind(memory, any_id, subagents=request.subagents)
                item["text"] = "\n".join(record_lines(records))
            found.append({**item, "text": visible(item["text"])})
        except (NotFound, ConfigurationError) as error:
            missing[any_id] = str(error)
    if not found:
        raise NotFound("; ".join(missing.values()))
    text = "".join(item["text"] for item in found)
    sizes = [len(part) for part in text_pages(text, PAGE_CHARACTERS, LISTED_TOKENS // 2)]
    if request.page > len(sizes):
        raise ConfigurationError(f"there is no page {request.page}; the last is {len(sizes)}")
    first, last = sum(sizes[: request.page - 1]), sum(sizes[: request.page])
    items, at = [], 0
    for item in found:
        start, end = max(first - at, 0), min(last - at, len(item["text"]))
        if start < end or (not item["text"] and first <= at < last):
            items.append({**item, "text": item["text"][start:end], "from_character": start})
        at += len(item["text"])
    next_call = ""
    if request.page < len(sizes):
        listed = ", ".join(f'"{any_id}"' for any_id in request.ids)
        form = "".join(f", {name}=true" for name in _FORMS if getattr(request, name))
        next_call = f"Next: get(ids=[{listed}], page={request.page + 1}{form}) of {len(sizes)}."
    lines = [
        f"## {item['id']}  {clock(item['time'])}  {item['project']}\n{item['text']}"
        for item in items
    ]
    notes = [f"Not there: {why}" for why in missing.values()]
    structured = {
        "items": items,
        "page": request.page,
        "pages": len(sizes),
        "missing": missing,
        "next": next_call,
    }
    return _Answer(structured, lines, after=[*notes, next_call])


def _cross_query(memory: Memory, request: CrossQueryRequest) -> _Answer:
    payload, left_out = fitting(memory.ask(request), ("documents", "sessions", "overlap"))
    for name in ("query", "corpus_query", "session_query"):
        payload[name] = snippet(payload[name], _ECHOED)
    turns = [turn for each in payload["sessions"] for turn in each["turns"]]
    next_call = _next_after([{**turn, "turn_id": turn["id"]} for turn in turns], None)
    notes = [*_notes(payload["coverage"], payload["degraded"]), *_left_out(left_out, request.n)]
    lines = list(cross_query_lines(payload, SNIPPET))
    return _Answer({**payload, "next": next_call}, lines, after=[*notes, next_call])


def _summarize(memory: Memory, request: SessionRequest) -> _Answer:
    payload = memory.ask(request)
    kinds = ("turns", "observations", "commits")
    listed = {kind: payload[kind][:_LISTED_ITEMS] for kind in kinds}
    shown, _ = fitting({**payload, **listed}, kinds)
    next_call = ""
    if turns := shown["turns"]:
        next_call = f'Next: get(ids=["{turns[0]["id"]}"]) for a turn in full'
        if len(turns) < len(payload["turns"]):
            next_call += (
                f'; timeline(anchor="{turns[-1]["id"]}", before=0, after=20) for more turns'
            )
        next_call += "."
    lines = list(session_lines(shown, {kind: len(payload[kind]) for kind in kinds}))
    return _Answer({**shown, "next": next_call}, lines, after=[next_call])


def _how(memory: Memory, request: HowRequest) -> _Answer:
    payload, left_out = fitting(memory.ask(request), ("commands", "failed"))
    ids = [each["turn_id"] for each in [*payload["commands"], *payload["failed"]]]
    next_call = f'Next: get(ids=["{ids[0]}"], records=true) for all of the turn.' if ids else ""
    lines = list(how_lines(payload)) if ids else []
    notes = [*how_notes(payload), *_left_out(left_out, request.n), next_call]
    return _Answer({**payload, "next": next_call}, lines, after=notes)


def _left_out(count: int, n: int) -> list[str]:
    return [f"{count} more did not fit: ask for less than n={n}, or narrower."] if count else []


def _link(memory: Memory, request: LinkRequest) -> _Answer:
    linked = link_to_commit(memory, request)
    return _Answer(linked, (), f"Linked session {link_line(linked)}.")


def link_to_commit(memory: Memory, request: LinkRequest) -> dict[str, Any]:
    """Link a session to a commit of the repository of the current directory, or of the session's
    own, and return the link.

    Raises:
        ConfigurationError, NotFound: the session or the commit is not known, or not unique.
    """
    from memory_assets.pipeline.stage.components import Components
    from memory_assets.pipeline.tables.commit_links import link_commit

    _, session_id = session_named(memory, request.session)
    components = Components(memory.settings)
    made = link_commit(
        components, session_id, request.commit, directory_of(request.commit), force=request.force
    )
    return {name: getattr(made, name) for name in request.answers}


def unlink_from_commit(memory: Memory, request: UnlinkRequest) -> dict[str, Any]:
    """Remove the link between a session and a commit, and return what was removed.

    Raises:
        ConfigurationError, NotFound: the session or the link is not known, or not unique.
    """
    from memory_assets.pipeline.stage.components import Components
    from memory_assets.pipeline.tables.commit_links import unlink_commit

    _, session_id = session_named(memory, request.session)
    gone = unlink_commit(
        Components(memory.settings), session_id, request.commit, directory_of(request.commit)
    )
    return {name: getattr(gone, name) for name in LinkRequest.answers}


def _status(memory: Memory, request: StatusRequest) -> _Answer:
    payload = memory.ask(request)
    projects = sorted(payload["projects"].items(), key=lambda pair: -pair[1]["sessions"])
    held = list(held_back(payload))
    structured = {
        "agents": payload["agents"],
        "projects": {name: counts["sessions"] for name, counts in projects[:_LISTED_PROJECTS]},
        "projects_in_all": len(projects),
        "coverage": payload["coverage"],
        "chroma": payload["chroma"],
        "held_back": len(held),
        "held_back_reasons": held[:_LISTED_HELD_BACK],
    }
    covered = payload["coverage"]["sessions"]
    lines = [
        f"{counted(covered['sessions'], 'session')}, {counted(covered['turns'], 'turn')}, "
        f"{counted(covered['rows'], 'passage')} in {counted(len(projects), 'project')}; "
        f"as of {clock(covered['as_of'])}; {len(held)} held back; "
        f"{payload['chroma']['store']} {payload['chroma']['state']}.",
        *(line for well, line in in_words(payload["coverage"]) if not well),
        *named_documents(payload["stages"].get("workspace_chunks", {}).get("by_name") or 0),
        *chroma_notes(payload),
        *(f"Held back: {line}" for line in held[:_LISTED_HELD_BACK]),
        "Projects (sessions): "
        + ", ".join(f"{name} ({n})" for name, n in structured["projects"].items())
        + (f", and {more} more" if (more := len(projects) - _LISTED_PROJECTS) > 0 else ""),
    ]
    return _Answer(structured, lines)


_TOOLS: dict[str, Callable[[Memory, Any], _Answer]] = {
    "recall": _recall,
    "timeline": _timeline,
    "get": _get,
    "cross_query": _cross_query,
    "summarize_session": _summarize,
    "link_session_to_commit": _link,
    "how": _how,
    "status": _status,
}
