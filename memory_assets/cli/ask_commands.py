"""The commands that ask, and what they print. What each may be asked is declared in `requests/`,
and `Memory.ask` answers it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.table import Table

from memory_assets.cli import exit_codes, rendering, start
from memory_assets.cli.rendering import escaped
from memory_assets.cli.request_options import Json, takes
from memory_assets.requests.arguments import Arguments
from memory_assets.requests.questions import (
    AuditRequest,
    BlameRequest,
    CrossQueryRequest,
    SearchRequest,
    SessionRequest,
    ShowRequest,
    TimelineRequest,
)

_MOST_LINES = 3
_LISTED = 20
_GOOD = frozenset({"present", "none", "unchanged", "grown"})


def _answer(
    asked: Arguments, as_json: bool, show: Callable[[dict[str, Any]], None]
) -> dict[str, Any]:
    """Ask the memory, print the answer, and return it."""
    from memory_assets.recall import open_memory

    answer = open_memory().ask(asked)
    (rendering.print_json if as_json else show)(answer)
    return answer


def _require(*found: object) -> None:
    """Exit with the code for "nothing found" unless there is something."""
    if not any(found):
        raise typer.Exit(exit_codes.NOTHING_FOUND)


@takes(SearchRequest)
def search(asked: SearchRequest, as_json: bool) -> None:
    """Search by words and meaning.

    Prints the best hits, each with the id that `memory show` takes.
    """
    raise typer.Exit(start.run_search(asked, as_json=as_json))


@takes(ShowRequest)
def show(asked: ShowRequest, as_json: bool) -> None:
    """Print one search hit in full.

    Accepts the id of a turn, prompt, summary, observation or commit; for a session, prints its
    summary.
    """
    _answer(asked, as_json, lambda found: rendering.print_rows(found["rows"], asked.id))


@takes(TimelineRequest)
def timeline(asked: TimelineRequest, as_json: bool) -> None:
    """Show what happened around an event.

    Lists prompts, turns, observations, commits and summaries before and after the anchor, grouped
    by session.
    """
    _require(_answer(asked, as_json, _print_timeline)["sessions"])


@takes(SessionRequest)
def summarize(asked: SessionRequest, as_json: bool) -> None:
    """Show a session's summary and an index of it."""
    _answer(asked, as_json, _print_session)


@takes(CrossQueryRequest)
def cross_query(asked: CrossQueryRequest, as_json: bool) -> None:
    """Search sessions and another collection.

    The other collection is one of your own in the same Chroma. Prints its documents, the sessions
    that match, and pairs of the two that are about one subject.
    """
    found = _answer(asked, as_json, _print_cross)
    _require(found["documents"], found["sessions"])


@takes(BlameRequest)
def blame(asked: BlameRequest, as_json: bool) -> None:
    """Find the sessions behind code.

    For a commit, a file or a line, lists the sessions and turns that made it, with the evidence.
    """
    found = _answer(asked, as_json, _print_blame)
    _require(found["turns"], *(commit["sessions"] for commit in found["commits"]))


@takes(AuditRequest)
def audit(asked: AuditRequest, as_json: bool) -> None:
    """Trace a hit back to its source.

    Shows the chunk, records, source file and bytes, Dagster runs and redactions behind an id. For
    a redaction tag, lists the sessions that contain it.
    """
    found = _answer(asked, as_json, _print_audit)
    if not found.get("intact", True):
        raise typer.Exit(exit_codes.CHECK_FAILED)


def link(
    session: Annotated[
        str, typer.Argument(help="A session id, its beginning, or the id of one of its rows.")
    ],
    commit: Annotated[
        str, typer.Argument(help="A hash or another revision of the repository you are in.")
    ],
    json: Json = False,
) -> None:
    """Link a session to a commit by hand.

    The link is kept until the session is forgotten.
    """
    from memory_assets.pipeline.stage.components import Components
    from memory_assets.pipeline.tables.session_commits import link_commit
    from memory_assets.recall import open_memory
    from memory_assets.recall.ids import find_session

    memory = open_memory()
    _, session_id = find_session(memory, session)
    made = link_commit(Components(memory.settings), session_id, commit, Path.cwd())
    if json:
        rendering.print_json({"session_id": made.session_id, "commit": made.commit})
    else:
        console = rendering.open_console()
        console.print(f"linked {made.session_id} to {made.commit}", highlight=False)


def _print_session(found: dict[str, Any]) -> None:
    summary = found["summary"] or {"id": found["session_id"], "project": found["project"]}
    rendering.print_rows([summary], "")
    _print_items([*found["turns"], *found["observations"], *found["commits"]])
    _print_missing(found["missing"])


def _print_timeline(found: dict[str, Any]) -> None:
    console = rendering.open_console()
    anchor = found["anchor"]
    if anchor["id"] is None:
        console.print(f"Around {escaped(str(anchor['time']))}")
    for part in found["sessions"]:
        title = escaped(part["title"])
        console.print(f"\n[bold]{escaped(part['session_id'])}[/bold]  {title}")
        _print_items(part["items"])
    notes = rendering.open_console(stderr=True)
    if anchor["also"]:
        notes.print(f"Other matches: {escaped(', '.join(anchor['also']))}")
    if found["more"]:
        notes.print(f"There is more {' and '.join(found['more'])}.")
    _print_missing(found["missing"])


def _print_items(items: Sequence[dict[str, Any]]) -> None:
    console = rendering.open_console()
    for item in items:
        mark = "[bold]>[/bold]" if item.get("anchor") else " "
        when = str(item["time"] or "")[:16].replace("T", " ")
        console.print(
            f"{mark} {when:16}  {item['kind']:11}  [cyan]{escaped(item['id'])}[/cyan]  "
            f"{escaped(item['text'])}"
        )


def _print_missing(missing: dict[str, str]) -> None:
    for why in missing.values():
        rendering.open_console(stderr=True).print(f"[dim]{escaped(why)}[/dim]")


def _print_cross(found: dict[str, Any]) -> None:
    console = rendering.open_console()
    about = found["collection"]
    console.print(f"[bold]{escaped(about['name'])}[/bold] ({about['evidence']})")
    for each in found["documents"]:
        console.print(f"  {each['score']:.2f}  [cyan]{escaped(each['id'])}[/cyan]")
    for each in found["sessions"]:
        console.print(
            f"[bold]{escaped(each['session_id'])}[/bold]  "
            f"{escaped(', '.join(each['why']))}  {escaped(each['project'])}"
        )
        for turn in each["turns"][:3]:
            console.print(f"  {turn['score']:.2f}  [cyan]{escaped(turn['id'])}[/cyan]")
    for each in found["overlap"]:
        shared = [
            *each["shared_terms"],
            *([f"touched {each['touched']}"] if each["touched"] else []),
        ]
        console.print(
            f"{each['similarity']:.2f}  {escaped(each['document'])} ~ "
            f"{escaped(each['turn_id'])}  {escaped(', '.join(shared))}"
        )


def _print_blame(answer: dict[str, Any]) -> None:
    console = rendering.open_console()
    for commit in answer["commits"]:
        lines = _lines(commit["lines"])
        when = (commit["committed_at"] or "")[:10]
        head = f"{commit['commit'][:12]}  {when}  {commit['subject']}{lines}"
        console.print(escaped(head.rstrip()), style="bold", highlight=False)
        for one in commit["sessions"]:
            evidence = f"{one['evidence']}, {one['score']:.2f}"
            where = one["turn_id"] or f"session {one['session_id']}"
            console.print(escaped(f"  {where}  ({evidence})"), highlight=False)
            if one["title"]:
                console.print(escaped(f"    {one['title']}"), style="dim")
    for turn in answer["turns"]:
        where = "" if turn["here"] else "  (another project)"
        line = f"{turn['turn_id']}  {(turn['timestamp'] or '')[:10]}  changed {turn['path']}{where}"
        console.print(escaped(line), highlight=False)
        if turn["title"]:
            console.print(escaped(f"    {turn['title']}"), style="dim")
    for note in answer["notes"]:
        console.print(escaped(f"note: {note}"), style="yellow", highlight=False)


def _lines(numbers: list[int]) -> str:
    if not numbers:
        return ""
    shown = ", ".join(map(str, numbers[:_MOST_LINES]))
    more = f" and {len(numbers) - _MOST_LINES} more" if len(numbers) > _MOST_LINES else ""
    return f"  (line{'s' * (len(numbers) > 1)} {shown}{more})"


def _print_tag(found: dict[str, Any], console: Console) -> None:
    sessions = found["sessions"]
    console.print(
        f"{escaped(found['tag'])} occurs {found['count']} times in {len(sessions)} sessions"
    )
    for each in sessions:
        console.print(
            f"[cyan]{escaped(each['session_id'])}[/cyan]  {each['count']} times  "
            f"{escaped(each['agent'])}  {escaped(each['project'])}  "
            f"in {', '.join(each['fields'])}, by {', '.join(each['rules'])}"
        )


def _print_audit(found: dict[str, Any]) -> None:
    console = rendering.open_console()
    if "tag" in found:
        _print_tag(found, console)
        return
    console.print(
        f"[bold]{escaped(found['id'])}[/bold]  {found['kind']}  {found['agent']}  "
        f"{escaped(found['project'])}"
    )
    for row in found["rows"]:
        good = row["document"] in ("present", "none") and row["hash_matches"]
        console.print(
            f"\n[bold]Chroma[/bold] {escaped(row['collection'] or '-')}: "
            f"{_state(row['document'])} {escaped(row['reason'])}\n"
            f"[bold]{row['table']}[/bold] [cyan]{escaped(row['id'])}[/cyan] "
            f"{'hash agrees' if good else _state('differs')}\n"
            f"  {escaped(row['file'])}\n"
            f"  content {row['content_hash'][:16]}  {escaped(row['version'])}  "
            f"{escaped(row['embedder_id'])}"
        )
    _print_records(console, found["records"])
    for source in found["sources"]:
        console.print(
            f"[bold]source[/bold] {_state(source['state'])} "
            f"{escaped(source['path'] or 'path unknown')} "
            f"(bytes {source['byte_start']}..{source['byte_end']}; "
            f"{source['size_read']} bytes when read, {source['size_now'] or 0} now)"
        )
    _print_redactions(console, found["redactions"])
    runs = Table("stage", "made at", "Dagster run", box=None)
    for run in found["runs"]:
        runs.add_row(run["stage"], run["made_at"], run["run_id"] or "outside Dagster")
    console.print(runs)


def _print_records(console: Console, records: Sequence[dict[str, Any]]) -> None:
    console.print(f"\n[bold]redacted_records[/bold] {len(records)} records")
    table = Table("seq", "kind", "bytes", "redactions", "record", box=None)
    for record in records[:_LISTED]:
        table.add_row(
            str(record["seq"]),
            record["kind"],
            f"{record['byte_start']}..{record['byte_end']}",
            str(record["redactions"]),
            escaped(record["record_uuid"]),
        )
    console.print(table)
    if len(records) > _LISTED:
        console.print(f"  and {len(records) - _LISTED} more; --json lists all")


def _print_redactions(console: Console, redactions: Sequence[dict[str, Any]]) -> None:
    if not redactions:
        console.print("[bold]redactions[/bold] none in these records")
        return
    table = Table("redacted as", "times", "in", "rules", box=None)
    for entry in redactions:
        table.add_row(
            escaped(entry["tag"]),
            str(entry["count"]),
            ", ".join(entry["fields"]),
            entry["ruleset_version"],
        )
    console.print(table)


def _state(word: str) -> str:
    return f"[{'green' if word in _GOOD else 'yellow'}]{word}[/]"
