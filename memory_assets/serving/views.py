"""Render answers as lines of text for a terminal, a pipe or a tool, with local times and the
shortest ids that commands understand."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from functools import cached_property
from itertools import groupby
from typing import TYPE_CHECKING, Any

from memory_assets.errors import ConfigurationError
from memory_assets.recall.names import OF_SESSIONS, parse_id, short_form
from memory_assets.serving.answer_lines import (
    ITEM_WORDS,
    RECORD_WORDS,
    clock,
    dollars_in_words,
    empty_days_note,
    local_time,
    missing_title,
    pin_line,
    project_name,
    run_lines,
    short_count,
    usage_lines,
    uses_in_words,
)
from memory_assets.serving.layout import ENDLESS, Layout, cells
from memory_assets.serving.visible_text import printable, snippet, without_tool_names
from memory_assets.status.words import counted, duration_text
from memory_assets.tool_names import digest_lines

if TYPE_CHECKING:
    from memory_assets.recall import Memory

View = Callable[["Terminal", Mapping[str, Any]], Iterator[str]]
_MOST_ITEMS = 12
# Of a cross-query: characters of each text, and how many turns of each session are shown.
_DOCUMENT_CHARACTERS = 240
_TURN_CHARACTERS = 160
_TURNS_EACH = 3
_PAIRS = 5
"""Pairs of a document and a turn on a terminal; a pipe gets all."""
_SUMMARY = (
    *(("Asked", "request"), ("Looked at", "investigated"), ("Learned", "learned")),
    *(("Done", "completed"), ("Next", "next_steps"), ("Notes", "notes")),
)
_SUMMARY_LISTS = (
    *(("Changed", "files_modified", "file"), ("Commits", "commits", "commit")),
    *(("Read", "files_read", "file"), ("Ran", "commands", "command")),
)
_SPOKEN = ("prompt", "assistant_text", "thinking")
_HIDDEN_FIELDS = {
    *("id", "project", "project_root", "passages", "text", "content_hash", "agent", "title"),
    *("session_id", "turn_id", "turn_index", "timestamp", "ended_at", "started_at", "type"),
    *("turn_ids", "prompt_ids", "narrative", "facts", "files_modified", "files_read", "subject"),
    *("anchor_seq", "observer_id", "attribution_version", "git_branch", "branch"),
}


class Terminal:
    """The layout of a terminal, and the short forms of a memory's ids and project names."""

    def __init__(self, memory: Memory, layout: Layout) -> None:
        self.layout = layout
        self.memory = memory
        self._short: dict[str, str] = {}
        self._roots: dict[str, str] = {}

    def short(self, any_id: str | None) -> str:
        """Return an id with the session's part cut to the shortest unique beginning."""
        if not any_id or not any_id.startswith(OF_SESSIONS):
            return any_id or ""
        with suppress(ConfigurationError):
            session = parse_id(any_id).session_id
            if session not in self._short:
                self._short |= self.memory.short_ids([session])
            return printable(short_form(any_id.replace(session, self._short[session], 1)))
        return printable(any_id)

    def project(self, project: str) -> str:
        """Return what a person calls a project."""
        if not self._roots:
            self._roots = self.memory.catalog.sources.project_roots()
        root = self._roots.get(project, "")
        return printable(project_name({"project": project, "project_root": root}))


class AgentText(Terminal):
    """The layout of a tool's answer to an agent: lines of any width, and projects by names that are
    unique in the memory."""

    def __init__(self, memory: Memory) -> None:
        super().__init__(memory, Layout(ENDLESS, full=True))

    def project(self, project: str) -> str:
        """Return what an agent calls a project."""
        return self._spoken.get(project, project)

    @cached_property
    def _spoken(self) -> dict[str, str]:
        return self.memory.catalog.spoken_projects()


def rows_view(terminal: Terminal, answer: Mapping[str, Any]) -> Iterator[str]:
    """Yield the rows of `memory show`: turns, summaries, and what has other fields."""
    for at, row in enumerate(answer["rows"]):
        yield from [""] if at else []
        if "passages" in row:
            yield from _turn(terminal, row)
        elif row["id"].startswith("summary::"):
            yield from _summary(terminal, row, f"session::{row['session_id']}")
        elif "file_path" in row:
            yield from _document(terminal, row)
        else:
            yield from _other_row(terminal, row)


def _turn(terminal: Terminal, row: Mapping[str, Any]) -> Iterator[str]:
    layout = terminal.layout
    title = f"Turn {row['turn_index']} of {_title(terminal, row) or row['session_id']}"
    yield from layout.title(title, *_facts(terminal, row), shown_id=terminal.short(row["id"]))
    prompt, answer = _prompt_and_reply(terminal, row)
    yield ""
    yield from layout.labelled_text("Asked", prompt)
    yield from [""] if prompt and answer else []
    yield from layout.labelled_text("Answer", answer)
    yield ""
    yield from layout.labelled_list("Files", row["files"], "file")
    yield from layout.labelled_list("Ran", row["commands"], "command")
    yield from layout.labelled_list("Errors", row["errors"], "error")
    yield f"memory show {terminal.short(row['id'])} --records: with all tool output"


def _prompt_and_reply(terminal: Terminal, row: Mapping[str, Any]) -> tuple[str, str]:
    """Return the typed prompt of a turn, and the rest of its text without the commands and files
    at its end, which the view lists below."""
    from memory_assets.recall.sessions.session import prompt_of

    text = "\n".join(row["passages"])
    prompt = prompt_of(terminal.memory.lake, row).strip()
    if not prompt or not text.startswith(prompt[:200]):
        return "", text
    rest = text[len(prompt) :].strip()
    listed = row["commands"] or row["files"] or row["errors"]
    lines = rest.split("\n")
    return prompt, "\n".join(lines[: len(lines) - digest_lines(rest)]) if listed else rest


def records_view(terminal: Terminal, answer: Mapping[str, Any]) -> Iterator[str]:
    """Yield each record of the turns behind an id under a line that says what it is; an edit as a
    diff."""
    layout = terminal.layout
    for turn_id, records in groupby(answer["records"], key=lambda record: record["turn_id"]):
        yield layout.heading(terminal.short(turn_id))
        for record in records:
            kind = RECORD_WORDS.get(record["kind"], record["kind"])
            title = (
                f"{kind} of {record['tool']}" if record["tool"] else f"{kind} {record['subtype']}"
            )
            failed = "failed" if record["is_error"] else ""
            agent = f"subagent {record['agent_id']}" if record["agent_id"] else ""
            yield from layout.joined_facts("", title.strip(), failed, agent, clock(record["time"]))
            if record["diff"] is not None:
                yield from layout.labelled_list("File", record["paths"], "file")
            prose = record["text"] if record["kind"] in _SPOKEN else ""
            yield from layout.text(layout.prose(prose) or record["diff"] or record["text"])
            yield ""


def _summary(terminal: Terminal, row: Mapping[str, Any], shown_id: str) -> Iterator[str]:
    layout = terminal.layout
    facts = [
        *_facts(terminal, row),
        duration_text(row["duration_seconds"]),
        counted(row["turns"], "turn"),
    ]
    title = row["title"] or "(no title: too little is said in it)"
    yield from layout.title(title, *facts, shown_id=terminal.short(shown_id))
    yield ""
    for label, name in _SUMMARY:
        yield from layout.labelled_text(label, row[name] or "")
    for label, name, what in _SUMMARY_LISTS:
        yield from layout.labelled_list(label, row[name] or (), what)
    errors = (f"{error['text']} ({error['outcome']})" for error in row["errors"] or ())
    yield from layout.labelled_list("Errors", errors, "error")


def _in_words(item: object) -> str:
    return " - ".join(map(str, item.values())) if isinstance(item, dict) else str(item)


def _document(terminal: Terminal, row: Mapping[str, Any]) -> Iterator[str]:
    """Yield a document of a workspace, or a chunk of one."""
    layout = terminal.layout
    lines = f":{row['line_start']}-{row['line_end']}" if "line_start" in row else ""
    title = f"{row['file_path']}{lines}  {row.get('section_heading', '')}".rstrip()
    about = (clock(row["timestamp"]), row["file_type"], row["kind"], row["service"], row["domain"])
    yield from layout.title(title, *about, shown_id=row["id"])
    yield ""
    yield from layout.text(row["text"])


def _other_row(terminal: Terminal, row: Mapping[str, Any]) -> Iterator[str]:
    """Yield an observation, a commit, a link, or a memory or message of an agent."""
    layout = terminal.layout
    kind = row["id"].partition("::")[0]
    own = row.get("title") or row.get("subject") or ""
    title = f"{row.get('type') or kind}: {own}" if own else str(row.get("type") or kind)
    yield from layout.title(title, *_facts(terminal, row), shown_id=terminal.short(row["id"]))
    yield ""
    yield from layout.labelled_text("Learned", row.get("narrative") or "")
    yield from layout.labelled_list("Facts", row.get("facts") or (), "fact")
    yield from layout.labelled_list("Changed", row.get("files_modified") or (), "file")
    yield from layout.labelled_list("Read", row.get("files_read") or (), "file")
    yield from layout.labelled_list("Turns", map(terminal.short, row.get("turn_ids") or ()), "turn")
    for name, value in row.items():
        if value and name not in _HIDDEN_FIELDS:
            values = value if isinstance(value, list | dict) else [value]
            yield from layout.labelled_list(
                name.replace("_", " ").capitalize(), map(_in_words, values)
            )
    if not row.get("narrative") and not own and (text := row.get("text")):
        yield from layout.text(text)


def _facts(terminal: Terminal, row: Mapping[str, Any]) -> list[str]:
    time = row.get("timestamp") or row.get("started_at") or row.get("ended_at")
    branch = str(row.get("git_branch") or row.get("branch") or "")
    return [
        clock(time),
        terminal.project(row["project"]),
        branch,
        str(row.get("agent") or ""),
    ]


def _title(terminal: Terminal, row: Mapping[str, Any]) -> str:
    session = row["session_id"]
    return terminal.memory.titles([(row["project"], session)]).get(session, "")


def session_view(terminal: Terminal, answer: Mapping[str, Any]) -> Iterator[str]:
    """Yield a session's summary, what it took, and what happened in it."""
    layout = terminal.layout
    session = answer["session_id"]
    if summary := answer["summary"]:
        texts = (item["text"] for item in answer["commits"])  # the summary's own list may be cut
        commits = list(dict.fromkeys([*summary["commits"], *texts]))
        yield from _summary(terminal, {**summary, "commits": commits}, f"session::{session}")
    else:
        title = "(no summary: too little is said in it)"
        facts = (terminal.project(answer["project"]), answer["agent"])
        yield from layout.title(title, *facts, shown_id=terminal.short(f"session::{session}"))
    if (used := answer.get("usage")) and used["tokens"]:
        price = f"{dollars_in_words(used)} dollars by list prices"
        yield from layout.labelled_list("Took", [f"{short_count(used['tokens'])} tokens, {price}"])
    for kind in ("turns", "observations", *(() if summary else ("commits",))):
        if items := answer[kind]:
            yield from ["", layout.heading(kind.capitalize())]
            shown = items if layout.full else items[:_MOST_ITEMS]
            for item in shown:
                yield from layout.hanging(_reference(item), layout.prose(_line(item)))
            if len(shown) < len(items):
                yield f"  … {counted(len(items), kind.rstrip('s'))} in all; --full lists them"
    short = terminal.short(f"session::{session}")
    yield from ["", f"memory show {short}:0: a turn; memory resume {short}: go on"]


def _line(item: Mapping[str, Any]) -> str:
    return without_tool_names(item["text"]) if item["kind"] == "turn" else str(item["text"])


def _reference(item: Mapping[str, Any]) -> str:
    """Return the last part of an item's id; the title above has its session's."""
    return "  " if item["kind"] == "commit" else f"  {item['id'].rpartition('::')[2]:>4}  "


def timeline_view(terminal: Terminal, answer: Mapping[str, Any]) -> Iterator[str]:
    """Yield the sessions of a timeline with their items by day; the anchor is marked."""
    layout = terminal.layout
    if empty := empty_days_note(answer):
        yield from layout.hanging("", empty)
        return
    for at, part in enumerate(answer["sessions"]):
        yield from [""] if at else []
        facts = (terminal.project(part["project"]), part["agent"])
        shown_id = terminal.short(f"session::{part['session_id']}")
        yield from layout.title(
            layout.prose(part["title"]) or "(no title)", *facts, shown_id=shown_id
        )
        for day, items in groupby(part["items"], key=_local_day):
            yield layout.heading(day)
            for item in items:
                yield from layout.hanging(_item_head(item), layout.prose(_line(item)))
    if not answer["sessions"]:
        yield "Nothing there."


def _item_head(item: Mapping[str, Any]) -> str:
    mark = ">" if item["anchor"] else " "
    hour = f"{local_time(item['time']):%H:%M}" if item["time"] else "     "
    number = "" if item["kind"] in ("summary", "commit") else item["id"].rpartition("::")[2]
    return f"{mark} {hour}  {ITEM_WORDS.get(item['kind'], item['kind']):<7}{number:>5}  "


def _local_day(item: Mapping[str, Any]) -> str:
    return f"{local_time(item['time']):%A, %d %B %Y (%Z)}" if item["time"] else "Without a time"


def cross_query_view(terminal: Terminal, answer: Mapping[str, Any]) -> Iterator[str]:
    """Yield the documents, the sessions with three turns each, and what is alike in both."""
    layout = terminal.layout
    if answer["documents"]:
        yield layout.styled("Documents", "cyan")
    for row in answer["documents"]:
        score = "" if row["score"] is None else f"{row['score']:.2f}"
        heading = row["metadata"].get("section_heading") or "Document"
        yield from layout.hanging("", heading, style="bold")
        yield from layout.joined_facts("  ", row["id"], score)
        yield from layout.hanging("  ", snippet(layout.prose(row["text"]), _DOCUMENT_CHARACTERS))
    if answer["sessions"]:
        yield layout.styled("Sessions", "cyan")
    for row in answer["sessions"]:
        yield from layout.hanging("", row["title"] or "(no title)", style="bold")
        shown_id = terminal.short(f"session::{row['session_id']}")
        facts = (", ".join(row["why"]), terminal.project(row["project"]), shown_id)
        yield from layout.joined_facts("  ", *facts)
        for turn in row["turns"][:_TURNS_EACH]:
            said = snippet(layout.prose(turn["text"]), _TURN_CHARACTERS)
            yield from layout.hanging(f"  {terminal.short(turn['id'])}  ", said)
    pairs = answer["overlap"]
    shown = pairs if layout.width == ENDLESS else pairs[:_PAIRS]
    if pairs:
        yield layout.styled("Alike in both", "cyan")
    for row in shown:
        touched = f" (touched {row['touched']})" if row["touched"] else ""
        touched += " (retrieved)" if row["retrieved"] else ""
        alike = f"{row['similarity']:.2f}  {', '.join(row['shared_terms'])}{touched}".rstrip()
        pair = f"{row['document']} ~ {terminal.short(row['turn_id'])}"
        yield from layout.hanging("  ", f"{pair}  {alike}")
    if len(shown) < len(pairs):
        yield f"  … {counted(len(pairs), 'pair')} in all; --json lists them"
    if not answer["documents"] and not answer["sessions"]:
        yield "Nothing found."


def how_view(terminal: Terminal, answer: Mapping[str, Any]) -> Iterator[str]:
    """Yield by project the commands that worked, with what had failed before; then what failed."""
    layout = terminal.layout
    by_name: dict[str, dict[str, Mapping[str, Any]]] = {}
    for command in answer["commands"]:  # of several directories of one name, the one with most uses
        by_command = by_name.setdefault(terminal.project(command["project"]), {})
        by_command.setdefault(command["command"], command)
    for name, commands in by_name.items():
        yield layout.heading(name)
        for command in commands.values():
            yield from layout.hanging("  ", command["command"], style="cyan")
            last = f"last {clock(command['last'])} {terminal.short(command['turn_id'])}"
            yield from layout.hanging("    ", f"{uses_in_words(command)}, {last}")
            for failed in command["before"]:
                yield from layout.hanging("    after ", f"{failed['command']}: {failed['error']}")
    if answer["failed"]:
        yield layout.heading("Failed, and did not work later in the session")
    for command in answer["failed"]:
        yield from layout.hanging("  ", command["command"], style="cyan")
        place = f"{clock(command['time'])} {terminal.short(command['turn_id'])}"
        yield from layout.hanging("    ", f"{command['error']} ({place})")
    if not answer["commands"] and not answer["failed"]:
        yield "Nothing found."


def friction_view(terminal: Terminal, answer: Mapping[str, Any]) -> Iterator[str]:
    """Yield the errors met in several sessions, and how each ended."""
    layout = terminal.layout
    if answer["errors"]:
        yield from layout.text("Errors met in several sessions, and what came before they ended:")
    for error in answer["errors"]:
        yield ""
        yield from layout.hanging("", error["error"], style="bold")
        yield from layout.hanging("  ", error["command"], style="cyan")
        met = f"met in {counted(error['sessions'], 'session')}, {_ended_note(error)}"
        yield from layout.hanging(
            "  ", f"{met}; last {clock(error['last'])} {terminal.short(error['turns'][0])}"
        )
        endings = error["endings"] if layout.full else error["endings"][:2]
        for ending in endings:
            actions = [*ending["ran"], *(f"changing {path}" for path in ending["changed"])]
            after = f", after {'; '.join(actions)}" if actions else ""
            place = terminal.short(ending["turn_id"])
            yield from layout.hanging("  ended by ", f"{ending['command']}{after} ({place})")
        if len(endings) < len(error["endings"]):
            unlisted = error["ended"] > len(error["endings"])
            rest = f"the newest {len(error['endings'])}" if unlisted else "them"
            yield f"  … {error['ended']} in all; --full shows {rest}"
    if not answer["errors"]:
        yield "Nothing found."


def _ended_note(error: Mapping[str, Any]) -> str:
    """Return in how many of the sessions that met an error it ended."""
    if error["ended"] in (0, error["sessions"]):
        return "ended in all of them" if error["ended"] else "ended in none"
    return f"ended in {error['ended']} of them"


def blame_view(terminal: Terminal, answer: Mapping[str, Any]) -> Iterator[str]:
    """Yield the commits with the sessions behind them, or the turns that changed a file."""
    from memory_assets.recall.files.blame import UNPROVEN, proof_in_words

    layout = terminal.layout
    unknown = [entry for entry in answer["commits"] if not entry["sessions"]]
    for commit in answer["commits"]:
        if not commit["sessions"] and len(answer["commits"]) > 1 and not layout.full:
            continue
        lines = f", {counted(len(commit['lines']), 'line')}" if commit["lines"] else ""
        day = f"{clock(commit['committed_at'])[:10]}  " if commit["committed_at"] else ""
        head = f"{commit['commit'][:12]}  {day}"
        yield from layout.hanging(head, f"{commit['subject'] or 'no session is known'}{lines}")
        for session in commit["sessions"]:
            place = terminal.short(session["turn_id"] or f"session::{session['session_id']}")
            yield from layout.hanging("  ", session["title"] or "(no title)", style="bold")
            yield from layout.hanging("    ", f"{place}, {proof_in_words(session)}")
    if unknown and len(answer["commits"]) > 1 and not layout.full:
        yield f"{counted(len(unknown), 'commit')} of no known session; --full lists them"
    for turn in answer["turns"]:
        elsewhere = "" if turn["here"] else f", in {terminal.project(turn['project'])}"
        yield from layout.hanging("", turn["title"] or "(no title)", style="bold")
        place = f"{clock(turn['timestamp'])} {terminal.short(turn['turn_id'])}"
        yield from layout.hanging("  ", f"{place} changed {turn['path']}{elsewhere}")
    for note in answer["notes"]:
        if not (unknown and note.startswith(UNPROVEN)):  # said above
            yield from layout.hanging("note: ", note)


def memories_view(terminal: Terminal, answer: Mapping[str, Any]) -> Iterator[str]:
    """Yield what agents remember, each with the beginning of its id, which is taken wherever it
    is."""
    from memory_assets.recall.agent_rows import short_memory_ids

    layout = terminal.layout
    short = short_memory_ids(terminal.memory)
    for row in answer["memories"]:
        yield from layout.hanging("", row["text"], style="bold")
        is_note = row["type"] == "note"  # of a person, on what it names
        named = ", ".join(map(terminal.short, row["entities"]))
        certainty = f"on {named}" if is_note else f"{row['confidence']:g} sure"
        project = terminal.project(row["project"]) if row["project"] else ""
        facts = [row["type"], certainty, clock(row["ts"]), project]
        facts += [f"archived: {row['archived']}"] if row["archived"] else []
        yield from layout.joined_facts("  ", *facts, short.get(row["memory_id"], row["memory_id"]))
        for other in row["also"]:
            yield from layout.hanging("  also: ", other)
        for other, why in zip(row["contradicts"], row["differences"], strict=True):
            yield from layout.hanging(f"  contrary to {short.get(other, other)}: ", why)
    if not answer["memories"]:
        yield "Nothing is remembered yet."
        yield 'memory remember "Prices have no cents": agents are told it from then on'


def sessions_view(terminal: Terminal, answer: Mapping[str, Any]) -> Iterator[str]:
    """Yield two lines or more for each session: its title; when, how long and where it was."""
    layout = terminal.layout
    for session in answer["sessions"]:
        title = layout.prose(session["title"]) or missing_title(answer)
        yield from layout.hanging(f"{session['short_id']}  ", title, style="bold")
        commits = len(session["commits"])
        facts = [
            f"ended {clock(session['ended_at'])}, {duration_text(session['duration_seconds'])}",
            counted(session["turns"], "turn"),
            counted(commits, "commit") if commits else "",
            project_name(session),
            session["git_branch"],
            *(session["models"][:1] or [session["agent"]]),
            f"{short_count(session['usage']['tokens'])} tokens"
            if session["usage"]["tokens"]
            else "",
        ]
        indent = " " * (cells(session["short_id"]) + 2)
        yield from layout.joined_facts(indent, *facts)
        for pinned in session["pinned"]:
            yield from layout.hanging(indent, pin_line(pinned, session["title"]))
    if not answer["sessions"]:
        yield "No session."


def usage_view(terminal: Terminal, answer: Mapping[str, Any]) -> Iterator[str]:
    """Yield the usage of each model, project, agent, session or day, and the total."""
    yield from usage_lines(answer)


def audit_view(terminal: Terminal, answer: Mapping[str, Any]) -> Iterator[str]:
    """Yield the sources and the products of a row, or the places of a tag."""
    layout = terminal.layout
    if "tag" in answer:
        yield from _tag(terminal, answer)
        return
    facts = (terminal.project(answer["project"]), answer["agent"])
    shown_id = terminal.short(answer["id"])
    yield from layout.title(f"Origin of a {answer['kind']}", *facts, shown_id=shown_id)
    yield ""
    for (state, *notes), rows in groupby(answer["rows"], key=_audited_row):
        first, *others = (terminal.short(row["id"]) for row in rows)
        more = f" and {counted(len(others), 'more passage')}" if others else ""
        verb = "agree with their hashes" if others else "agrees with its hash"
        yield from layout.labelled_list("Row", [f"{first}{more} {state or verb}", *notes])
    for source in answer["sources"]:
        span = f"bytes {source['byte_start']}..{source['byte_end']}"
        if source.get("line_start") is not None:
            span = f"lines {source['line_start']} to {source['line_end']}, {span}"
        path = source["path"] or "path unknown"
        yield from layout.labelled_list("Source", [path, f"{source['state']}; {span}"])
    for change in answer["trail"]:
        origins = f" from {', '.join(change['of'])}" if change["of"] else ""
        event = f"{change['what']} {clock(change['at'])} by {change['who']}{origins}"
        yield from layout.labelled_list("Trail", [f"{event}: {change['why']}"])
    yield from _audited_records(terminal, answer)
    yield from _audited_runs(terminal, answer["runs"])
    yield "A secret that redaction missed? `memory forget --containing --cut` asks for it."


def _audited_row(row: Mapping[str, Any]) -> tuple[str, ...]:
    """Return the key by which rows of the same state are listed together: whether they differ from
    their hash, then notes on their collection, version and file."""
    return (
        "" if row["hash_matches"] else "differs from its hash",
        f"{row['collection'] or 'no collection'}: {row['document']} {row['reason']}".strip(),
        f"made by version {row['version']} {row['embedder_id']}".strip(),
        row["file"],
    )


def _audited_records(terminal: Terminal, answer: Mapping[str, Any]) -> Iterator[str]:
    layout = terminal.layout
    records = answer["records"]
    if answer["kind"] == "document":
        spans = (f"{record['line_start']}-{record['line_end']}" for record in records)
        yield from layout.labelled_list("Lines", spans, "span")
        return
    rows = [
        (
            record["seq"],
            f"{record['byte_start']}..{record['byte_end']}",
            record["redactions"],
            RECORD_WORDS.get(record["kind"], record["kind"]),
        )
        for record in records
    ]
    shown = rows if layout.full else rows[:_MOST_ITEMS]
    yield ""
    yield from layout.table(("record", "bytes", "redactions", "kind"), shown)
    if len(shown) < len(rows):
        yield f"… {counted(len(rows), 'record')} in all; --full lists them"
    yield ""
    redacted = [
        (entry["tag"], entry["count"], ", ".join(entry["fields"])) for entry in answer["redactions"]
    ]
    if redacted:
        yield from layout.table(("redacted as", "times", "in"), redacted)
    else:
        yield "Nothing was redacted in these records."
    yield ""


def _audited_runs(terminal: Terminal, runs: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    layout = terminal.layout
    rows = []
    passed_checks = 0
    for run in runs:
        failed = [f"{name} {state}" for name, state in run["checks"].items() if state != "passed"]
        passed_count = len(run["checks"]) - len(failed)
        passed_checks += passed_count
        passed = f"{counted(passed_count, 'check')} passed" if run["checks"] else "-"
        if failed or layout.full:
            rows.append((run["stage"], clock(run["made_at"]), ", ".join([passed, *failed])))
    yield from layout.table(("made as", "at", "checks"), rows) if rows else ()
    if len(rows) < len(runs):
        steps = counted(len(runs), "step")
        yield f"{counted(passed_checks, 'check')} of {steps} passed; --full lists them"
    for line in run_lines(runs, terminal.project):
        yield from layout.hanging("", line)
    yield ""


def _tag(terminal: Terminal, answer: Mapping[str, Any]) -> Iterator[str]:
    layout = terminal.layout
    occurs = f"occurs {counted(answer['count'], 'time')}"
    yield from layout.title(answer["tag"], occurs)
    for entry in answer["sessions"]:
        shown_id = terminal.short(f"session::{entry['session_id']}")
        fields_note = f"{counted(entry['count'], 'time')} in {', '.join(entry['fields'])}"
        yield from layout.hanging(
            "  ", f"{shown_id}  {fields_note}, by {', '.join(entry['rules'])}"
        )
    for entry in answer["others"]:
        yield from layout.hanging("  ", f"{entry['id']}  {counted(entry['count'], 'time')}")
