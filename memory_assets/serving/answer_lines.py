"""Answers as lines of text, for the tools of MCP and for the command line.

The lines hold recalled text as it was recorded: who prints or sends them makes it visible
(`visible_text.py`).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from itertools import islice
from typing import Any

from memory_assets.project_names import short_name
from memory_assets.recall.rows import summary_text
from memory_assets.recall.search.answer import MOST_HELD_BACK
from memory_assets.requests.search import MAX_HITS
from memory_assets.requests.times import days_named, spoken_time
from memory_assets.status.words import counted, duration_text, shares_of, waiting_sessions

LISTED = 20
_MOST_HELD_BACK = 3
_MOST_CHARACTERS = 600
_MOST_COPIES = 3
_MOST_WEAK = 3
"""Hits of a brief answer that are told though they are weak."""
NOT_SURE = "not sure"
"""What readers are told of a weak hit, and of an answer whose hits are all weak."""
_MOST_MISSING = 3
"""Words named that occur nowhere."""
_TIMES = {"since", "until"}
RECORD_WORDS = {"tool_result": "output", "tool_use": "call", "assistant_text": "answer"}
ITEM_WORDS = {
    **{"prompt": "Asked", "turn": "Answer", "observation": "Noted", "commit": "Commit"},
    "summary": "Ended",
}
"""Kinds of records, and of items of a timeline, in the words of a person, where these differ."""


def clock(time: str | None) -> str:
    """Return the time of a row in the local zone, which it names."""
    return spoken_time(datetime.fromisoformat(time)) if time else "no time"


def local_time(time: str) -> datetime:
    """Return a time of a row in the local zone."""
    return datetime.fromisoformat(time).astimezone()


def age(time: str | None, now: datetime) -> str:
    """Return how long ago a time of a row was, in words."""
    if not time:
        return "no time"
    return f"{duration_text((now - datetime.fromisoformat(time)).total_seconds())} ago"


def project_name(row: Mapping[str, Any]) -> str:
    """Return the name of a row's project for people."""
    return short_name(str(row["project"]), str(row.get("project_root") or ""))


def distinct_project_names(rows: Sequence[Mapping[str, Any]]) -> list[str]:
    """Return the name of each row's project, with its directory where others have that name."""
    names = [project_name(row) for row in rows]
    times = Counter(names)
    return [
        f"{name}  {row['project_root']}" if times[name] > 1 else name
        for name, row in zip(names, rows, strict=True)
    ]


def first_lines(lines: Iterable[str]) -> Iterator[str]:
    """Yield the first lines, and how many more there are."""
    rest = iter(lines)
    yield from islice(rest, LISTED)
    if more := sum(1 for _ in rest):
        yield f"... and {more} more (--json lists all)"


def unsure_note(missing: Sequence[str]) -> str:
    """Return the note above hits that are all weak, with the query's words that occur nowhere."""
    note = NOT_SURE.capitalize()
    if not missing:
        return f"{note}; nearest:"
    words = [f"'{word}'" for word in missing[:_MOST_MISSING]]
    if len(words) == 1:
        return f"{note}: {words[0]} is nowhere in memory. Nearest:"
    return f"{note}: {', '.join(words[:-1])} and {words[-1]} are nowhere in memory. Nearest:"


def hit_lines(
    hits: Sequence[Mapping[str, Any]],
    first: int = 1,
    missing: Sequence[str] = (),
    *,
    weak: bool = False,
    brief: bool = False,
) -> Iterator[str]:
    """Yield hits of an answer, best first, each with its rank (that of the first one is given),
    its id and its text; weak ones are marked, or announced where the answer is `weak`, with the
    words that are `missing`. If it shall be `brief`, weak ones after the third are named by their
    ids alone: of 264 questions with an answer 2 have it there alone."""
    if weak:
        yield unsure_note(missing)
    named: list[str] = []
    for rank, hit in enumerate(hits, start=first):
        if brief and hit["weak"] and rank > _MOST_WEAK:
            named.append(hit["id"])
            continue
        mark = f"{NOT_SURE}  " if hit["weak"] and not weak else ""
        score = f"{hit['score']:.2f}  {mark}" if hit["score"] else ""
        yield f"{rank}. {hit['id']}  {score}{_place(hit)}"
        yield f"   {hit['text']}"
        yield from (f"   {line}" for line in later_lines(hit))
    if named:
        yield f"Also {NOT_SURE}: {', '.join(named)}"


def later_lines(hit: Mapping[str, Any]) -> Iterator[str]:
    """Yield the later turn that answers, reverts or fixes a hit, if one is known: by number if it
    is of the hit's session, else by id."""
    if later := hit.get("later"):
        session, _, number = later["turn_id"].removeprefix("session::").rpartition("::turn::")
        own = session.startswith(hit["id"].removeprefix("session::").split(":")[0])
        place = f"turn {number}" if own else later["turn_id"]
        yield f"{later['how'].capitalize()} in {place}: {later['text']}"


def answering_turn_id(hit: Mapping[str, Any]) -> str:
    """Return the id of the turn that answers a hit's question; "" if none is known."""
    later = hit.get("later") or {"how": ""}
    return str(later["turn_id"]) if later["how"] == "answered" else ""


def next_calls(
    hits: Sequence[Mapping[str, Any]], n: int | None, answering: Sequence[str] = ()
) -> str:
    """Return the calls that go on from hits with short ids: the full text of the first one and of
    the turns `answering` it; if there may be more than `n`, for more."""
    if not hits:
        return "Try other words, another kind, or fewer filters; status says what is in memory."
    first = hits[0]
    ids = ", ".join(f'"{any_id}"' for any_id in (first["id"], *answering))
    around = f'timeline(anchor="{first.get("turn_id", first["id"])}") for what was around it'
    if "file_path" in first:
        around = (
            f'cross_query(collection="workspace", document="{first["id"]}") for the sessions that '
            "touched the file"
        )
    more = f"; recall(..., n={min(MAX_HITS, 2 * n)}) for more hits" if n and n < MAX_HITS else ""
    return f"Next: get(ids=[{ids}]) for the full text; {around}{more}."


def copies_note(metadata: Mapping[str, Any]) -> str:
    """Return the ids of the first copies of a document's hit in words; "" if it has none."""
    copies = metadata.get("copies", ())
    more = f" and {len(copies) - _MOST_COPIES} more" if len(copies) > _MOST_COPIES else ""
    return f"(also {', '.join(copies[:_MOST_COPIES])}{more})" if copies else ""


def _place(hit: Mapping[str, Any]) -> str:
    """Return when and in which project something was, or where it is in a workspace."""
    if "file_path" in hit:
        lines = f"{hit['line_start']}-{hit['line_end']}"
        place = f"{hit['file_path']}:{lines}  {hit['section_heading']}".rstrip()
        return f"{place}  {copies_note(hit)}".rstrip()
    agent = f"{hit['agent']}  " if "agent" in hit else ""
    turns = f"  turns {hit['first_turn']} to {hit['last_turn']}" if "first_turn" in hit else ""
    place = f"  {place_in_turn(hit)}" if "record" in hit else ""
    memory = f"  in {hit['memory']}" if "memory" in hit else ""
    return f"{clock(hit['time'])}  {agent}{hit.get('project', '')}{turns}{place}{memory}".rstrip()


def place_in_turn(hit: Mapping[str, Any]) -> str:
    """Return in which record of a turn a line stands that was searched for, and where in that."""
    tool = f" of {hit['tool']}" if hit["tool"] else ""
    return f"{RECORD_WORDS.get(hit['record'], hit['record'])}{tool}, line {hit['line']}"


def search_lines(
    answer: Mapping[str, Any], named: Callable[[str], str] = str, *, full: bool = False
) -> Iterator[str]:
    """Yield the hits of a search with the beginning of each text, or with all of it, and their
    projects as they are `named`."""
    most = None if full else _MOST_CHARACTERS
    yield from hit_lines(
        [
            {
                **hit["metadata"],
                **hit,
                "time": hit["metadata"].get("timestamp"),
                "project": named(hit["metadata"].get("project", "")),
                "text": _text_beginning(hit, most),
            }
            for hit in answer["hits"]
        ],
        missing=answer["missing"],
        weak=answer["weak"],
    )
    if not answer["hits"]:
        yield "Nothing found."


def _text_beginning(hit: Mapping[str, Any], most: int | None) -> str:
    text: str = hit["text"]
    cut = " ..." if most is not None and len(text) > most else ""
    lines = f"{text[:most].rstrip()}{cut}".splitlines()
    return "\n   ".join(line for line in lines if line.strip()) + "\n"


def filter_lines(filters: Mapping[str, str]) -> Iterator[str]:
    """Yield one line with the filters of a search, if there are any; times name their zone."""
    if filters:
        shown = {**filters, **{name: clock(filters[name]) for name in _TIMES & filters.keys()}}
        yield f"Filters: {', '.join(f'{name} {value}' for name, value in shown.items())}."


def search_notes(answer: Mapping[str, Any]) -> Iterator[str]:
    """Yield the filters as they were understood, what was searched for instead of a word, and a
    line for each thing that the answer of a search may lack."""
    yield from filter_lines(answer["filters"])
    yield from correction_lines(answer)
    if answer["degraded"]:
        yield f"{answer['degraded']}: {answer['reason'] or ''}"
    elif answer["reason"] and answer["mode"] == "exact":
        yield f"note: {answer['reason']}."
    if answer["older"]:
        yield f"{counted(answer['older'], 'older hit')}; omit --recent to see more."
    if answer["machine"]:
        left_out = counted(answer["machine"], "turn")
        yield f"{left_out} of programs left out; `memory search --machine` has them, too."
    coverage = answer["coverage"]
    if coverage["ingest"]:
        yield f"{coverage['ingest']}."
    elif coverage["waiting"]:
        yield f"{waiting_sessions(coverage['waiting'])}."
    elif not coverage["complete"]:
        share = f"{coverage['indexed']} of {coverage['rows']}"
        yield f"Only {share} rows can be found yet; run `memory ingest`."
    yield from held_back_notes(coverage)


def held_back_notes(coverage: Mapping[str, Any]) -> Iterator[str]:
    """Yield the sessions held back that a search concerns, with reason and remedy."""
    lines = coverage["held_back"]
    for line in lines[:_MOST_HELD_BACK]:
        yield f"held back, so not searched: {line}"
    more = max(len(lines) - _MOST_HELD_BACK, 0) + max(coverage["quarantined"] - MOST_HELD_BACK, 0)
    if more:
        yield f"{more} more held back; `memory status` lists them."


def correction_lines(answer: Mapping[str, Any]) -> Iterator[str]:
    """Yield a line for each word of the query that was corrected."""
    for typed, meant in answer["corrected"].items():
        yield f"Searched for {meant} instead of {typed}."


def timeline_lines(
    answer: Mapping[str, Any], named: Callable[[str], str], cut: Container[str] = ()
) -> Iterator[str]:
    """Yield the sessions of a timeline, with their projects as they are `named`, and their items;
    the texts of the ids in `cut` go on."""
    for part in answer["sessions"]:
        project = named(part["project"])
        yield f"# {part['session_id']} {part['agent']} {project} {part['title']}"
        for item in part["items"]:
            mark = ">" if item["anchor"] else "-"
            more = f' [cut: get(ids=["{item["id"]}"])]' if item["id"] in cut else ""
            yield f"{mark} {clock(item['time'])} {item['kind']} {item['id']}: {item['text']}{more}"


def empty_days_note(answer: Mapping[str, Any]) -> str:
    """Return a note that nothing happened on the days that a timeline was asked for, with the
    nearest days on which something did; "" if it was asked for something else, or the days are not
    empty."""
    anchor = answer["anchor"]
    days = days_named(anchor["given"].removeprefix("time:")) if anchor["kind"] == "time" else None
    if days is None or not answer["sessions"]:
        return ""
    items = [item for part in answer["sessions"] for item in part["items"] if item["time"]]
    days_with_items = sorted(local_time(item["time"]).date() for item in items)
    if any(days[0] <= day < days[1] for day in days_with_items):
        return ""
    named = f"{days[0]:%A, %d %B %Y}"
    if (days[1] - days[0]).days > 1:
        named = f"the {(days[1] - days[0]).days} days from {named} on"
    before = [day for day in days_with_items if day < days[0]]
    near = [f"the last day before is {before[-1]}"] if before else []
    after = [day for day in days_with_items if day >= days[1]]
    near += [f"the first day after is {after[0]}"] if after else []
    return f"Nothing on {named}; {' and '.join(near) or 'nor near it'}."


def timeline_notes(answer: Mapping[str, Any]) -> Iterator[str]:
    """Yield that nothing happened then; or what else the anchor can mean, and why kinds are
    missing."""
    if empty := empty_days_note(answer):
        yield empty
        return
    if answer["anchor"]["also"]:
        yield f"Other matches: {', '.join(answer['anchor']['also'])}"
    yield from answer["missing"].values()


def session_lines(
    answer: Mapping[str, Any], project: str, total_counts: Mapping[str, int]
) -> Iterator[str]:
    """Yield a session's summary in order of use, and the first items of each kind, but for commits
    that the summary names and the notes of them; `total_counts` is how many there are."""
    yield f"# {answer['session_id']} {answer['agent']} {project}"
    named_commits: set[str] = set()
    if summary := answer["summary"]:
        branch = f" on {summary['git_branch']}" if summary["git_branch"] else ""
        took = duration_text(summary["duration_seconds"])
        yield f"ended {clock(summary['ended_at'])} after {took}{branch}"
        yield summary_text(summary)
        named_commits = {
            part for line in summary["commits"] for part in (line, line.partition(" ")[2])
        }
    if (usage := answer.get("usage")) and usage["tokens"]:
        price = dollars_in_words(usage)
        yield f"Usage: {short_count(usage['tokens'])} tokens, {price} dollars by list prices"
    for kind in ("turns", "observations", "commits"):
        for item in answer[kind]:
            if (
                item["text"] not in named_commits
                and item["text"].partition(": ")[2] not in named_commits
            ):
                yield f"- {item['kind']} {item['id']}: {item['text']}"
        if total_counts[kind] > len(answer[kind]):
            yield f"- and {total_counts[kind] - len(answer[kind])} more {kind}"


def missing_title(answer: Mapping[str, Any]) -> str:
    """Return what stands for a title in a list of sessions."""
    return "(no title yet)" if answer["ingest"] else "(no title: too little is said in it)"


def pin_line(pinned: Mapping[str, Any], title: str) -> str:
    """Return what is pinned on one line: the turn, if it is one, and the note, unless that is the
    session's title, as without a note."""
    turn = pinned["id"].partition("::turn::")[2]
    note = " ".join(pinned["text"].split())
    return f"pinned{f' turn {turn}' if turn else ''}{f': {note}' if note != title else ''}"


def usage_lines(answer: Mapping[str, Any]) -> Iterator[str]:
    """Yield the usage of each model, project, agent, session or day, and the total."""
    yield f"{'tokens':>9}  {'dollars':>9}  {'time':>11}  {answer['by']}"
    groups = answer["groups"]
    by_project = answer["by"] == "project"
    names = distinct_project_names(groups) if by_project else [group["name"] for group in groups]
    for group, name in zip(groups, names, strict=True):
        if answer["by"] == "session":
            name = f"{group['short_id']}  {group['title'] or '(no title)'}"
        yield _usage_in_words(group, name or "(not said)")
    yield _usage_in_words(answer, counted(answer["sessions"], "session"))


def _usage_in_words(entry: Mapping[str, Any], name: str) -> str:
    price = dollars_in_words(entry)
    seconds = duration_text(entry["seconds"])
    return f"{short_count(entry['tokens']):>9}  {price:>9}  {seconds:>11}  {name}"


def dollars_in_words(entry: Mapping[str, Any]) -> str:
    """Return a price, with a `+` where models without one are among what it is for."""
    if entry["unpriced"] and not entry["dollars"]:
        return "?"
    return f"{entry['dollars']:,.2f}{'+' if entry['unpriced'] else ''}"


def short_count(count: int) -> str:
    """Return a count in three digits: 950, 12.3 k, 4.56 M, 1.18 B."""
    for size, name in ((10**9, " B"), (10**6, " M"), (10**3, " k")):
        if count >= size:
            return f"{count / size:.3g}{name}" if count < 1000 * size else f"{count // size}{name}"
    return str(count)


def with_spoken_names(
    answer: Mapping[str, Any], spoken_projects: Callable[[], Mapping[str, str]]
) -> dict[str, Any]:
    """Return an answer, or its filters, with its projects by the names that readers are told."""
    if not answer.get("project"):
        return {**answer}
    spoken = spoken_projects()
    names = (spoken.get(project, project) for project in answer["project"].split(", "))
    return {**answer, "project": ", ".join(names)}


def project_notes(answer: Mapping[str, Any]) -> Iterator[str]:
    """Yield which projects an answer is about, if the name that was given is that of several."""
    if ", " in (answer["project"] or ""):
        yield f"Of several projects of that name: {answer['project']}."


def usage_notes(answer: Mapping[str, Any]) -> Iterator[str]:
    """Yield the date of the prices, the models without one, and the projects of a usage answer."""
    yield from project_notes(answer)
    if not answer["groups"]:
        yield "No session says what it took."
        return
    if number := answer["without_usage"]:
        yield f"{counted(number, 'more session')} say{'s' * (number == 1)} nothing of it."
    yield f"Prices as the providers listed them in {answer['prices_of']}, whatever was paid."
    if answer["unpriced"]:
        models = ", ".join(name or "(not said)" for name in list(answer["unpriced"])[:5])
        yield f"Without a price (+): {models}. MEMORY_MODEL_PRICES takes more prices."


def sessions_notes(answer: Mapping[str, Any]) -> Iterator[str]:
    """Yield the projects of a list of sessions, how many more there are, and the next commands."""
    yield from project_notes(answer)
    listed_here = answer["sessions"]
    if answer["ingest"]:
        yield f"{answer['ingest'][:1].upper()}{answer['ingest'][1:]}; titles follow."
    if (more := answer["total"] - len(listed_here)) > 0:
        yield f"{counted(more, 'older session')}; -n {min(answer['total'], 1_000)} lists them."
    if answer["machine"]:
        yield f"{counted(answer['machine'], 'session')} of programs left out; --machine lists all."
    if answer["hidden"]:
        yield f"{counted(answer['hidden'], 'hidden session')} left out; --hidden lists them."
    counts = answer["in_memory"]
    if shares := shares_of(counts):
        scope = "In memory" if answer["project"] is None else "In all"
        yield f"{scope}: {counted(counts['total'], 'session')}, {shares}."
    if listed_here:
        first = listed_here[0]["short_id"]
        yield f"memory summarize {first}: what was done; memory resume {first}: go on with it"


def link_line(link: Mapping[str, Any]) -> str:
    """Return a link between a session and a commit on one line, with the commit's subject."""
    subject = f" ({link['subject']})" if link["subject"] else ""
    return f"{link['session_id']} to commit {link['commit']}{subject}, {link['evidence']}"


def run_lines(
    runs: Sequence[Mapping[str, Any]], named: Callable[[str], str] = str
) -> Iterator[str]:
    """Yield a line for each run behind the stages, once: what it was, with its project as it is
    `named`, and whether its page is still there."""
    for run in {run["run_id"]: run for run in runs if run["run_id"]}.values():
        history = {"kept": f"{run['page']} (`memory dev`)", "pruned": "run pruned"}.get(
            run["history"], ""
        )
        times = " to ".join(map(clock, filter(None, (run["started_at"], run["ended_at"]))))
        version = run["versions"].get("memory_assets", "")
        parts = (
            *(run["job"], named(run["partition"]), run["status"].lower(), times),
            *(f"memory_assets {version}" if version else "", history),
        )
        yield f"run {run['run_id']}: {', '.join(filter(None, parts))}"


def record_lines(records: Iterable[Mapping[str, Any]]) -> Iterator[str]:
    """Yield each record under a line that says what it is, turn by turn; an edit as a diff."""
    turn = ""
    for record in records:
        if record["turn_id"] != turn:
            turn = record["turn_id"]
            yield f"## {turn}"
        facts = [
            record["kind"],
            record["subtype"],
            record["tool"],
            "failed" if record["is_error"] else "",
        ]
        if record["agent_id"]:
            facts += ["" if record["kind"] == "subagent" else "subagent", record["agent_id"]]
        head = " ".join(filter(None, facts))
        yield f"[{record['seq']}] {head}  {clock(record['time'])}"
        if record["diff"] is not None:
            yield from (f"--- {path}" for path in record["paths"])
        yield f"{record['diff'] or record['text']}\n"


def page_note(answer: Mapping[str, Any]) -> Iterator[str]:
    """Yield where the page of an answer stands, if there are several."""
    if answer["pages"] > 1:
        more = f"; --page {answer['page'] + 1} goes on" if answer["page"] < answer["pages"] else ""
        yield f"Page {answer['page']} of {answer['pages']}{more}."
    if any(record["kind"] == "subagent" for record in answer["records"]):
        yield "Subagents are folded; --subagents prints their records."


def uses_in_words(worked: Mapping[str, Any]) -> str:
    """Return in how many sessions a command worked, how often, and in how many wordings."""
    times = f", {worked['times']} times" if worked["times"] > worked["sessions"] else ""
    others = worked["variants"] - 1
    more = f" (and {counted(others, 'other')} like it)" if others else ""
    return f"worked in {counted(worked['sessions'], 'session')}{times}{more}"


def how_notes(answer: Mapping[str, Any]) -> Iterator[str]:
    """Yield the projects of the commands, and whether older sessions were not read."""
    yield from project_notes(answer)
    if (left := answer["sessions_in_all"] - answer["sessions"]) > 0:
        yield f"There are {counted(left, 'older session')} that were not read; try one project."


def restore_notes(answer: Mapping[str, Any]) -> Iterator[str]:
    """Yield path and time of a restored text, and which parts are not on record."""
    when = f"{clock(answer['time'])}, session {answer['session_id']}"
    whole = "whole" if answer["complete"] else "not whole"
    yield f"{answer['file']} as of {when}: {whole}"
    yield from (f"note: {why}" for why in answer["missing"])
