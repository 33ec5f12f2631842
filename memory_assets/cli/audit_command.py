"""`memory audit`: print the source bytes, run and redactions of an id, or the sessions that
contain a tag."""

from __future__ import annotations

from rich.console import Console
from rich.table import Table

from memory_assets.cli.rendering import escaped, open_console, print_json
from memory_assets.install_key import load_install_key
from memory_assets.recall import open_memory
from memory_assets.recall.audit import Audit, audit
from memory_assets.recall.tag_holders import TagAudit, is_tag, tag_holders

_LISTED = 20
_GOOD = frozenset({"present", "none", "unchanged", "grown"})


def print_audit(any_id: str, *, as_json: bool) -> bool:
    """Print the origin of an id, or the sessions of a tag; return True if every document of
    the id is in Chroma and equals the lake's.

    Raises:
        ConfigurationError: it is neither an id nor a tag.
        NotFound: it is not in memory.
    """
    memory = open_memory()
    if is_tag(any_id):
        holders = tag_holders(memory.lake, any_id)
        if as_json:
            print_json(holders.to_dict())
        else:
            _print_holders(holders)
        return True
    found = audit(memory, any_id, load_install_key())
    if as_json:
        print_json(found.to_dict())
    else:
        _print_audit(found)
    return found.intact


def _print_holders(found: TagAudit) -> None:
    console = open_console()
    count = sum(holder.count for holder in found.holders)
    sessions = len(found.holders)
    console.print(f"{escaped(found.tag)} occurs {count} times in {sessions} sessions")
    for holder in found.holders:
        console.print(
            f"[cyan]{escaped(holder.session_id)}[/cyan]  {holder.count} times  "
            f"{escaped(holder.agent)}  {escaped(holder.project)}  "
            f"in {', '.join(holder.fields)}, by {', '.join(holder.rules)}"
        )


def _print_audit(found: Audit) -> None:
    console = open_console()
    console.print(
        f"[bold]{escaped(found.id)}[/bold]  {found.kind}  {found.agent}  {escaped(found.project)}"
    )
    for row in found.rows:
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
    _print_records(console, found)
    for source in found.sources:
        bounds = f"bytes {source.byte_start}..{source.byte_end}"
        sizes = f"{source.size_read} bytes when read, {source.size_now or 0} now"
        console.print(
            f"[bold]source[/bold] {_state(source.state)} {escaped(source.path or 'path unknown')}"
            f" ({bounds}; {sizes})"
        )
    _print_redactions(console, found)
    runs = Table("stage", "made at", "Dagster run", box=None)
    for run in found.runs:
        runs.add_row(run["stage"], run["made_at"], run["run_id"] or "outside Dagster")
    console.print(runs)


def _print_records(console: Console, found: Audit) -> None:
    console.print(f"\n[bold]redacted_records[/bold] {len(found.records)} records")
    table = Table("seq", "kind", "bytes", "redactions", "record", box=None)
    for record in found.records[:_LISTED]:
        table.add_row(
            str(record["seq"]),
            record["kind"],
            f"{record['byte_start']}..{record['byte_end']}",
            str(record["redactions"]),
            escaped(record["record_uuid"]),
        )
    console.print(table)
    if len(found.records) > _LISTED:
        console.print(f"  and {len(found.records) - _LISTED} more; --json lists all")


def _print_redactions(console: Console, found: Audit) -> None:
    if not found.redactions:
        console.print("[bold]redactions[/bold] none in these records")
        return
    table = Table("redacted as", "times", "in", "rules", box=None)
    for entry in found.redactions:
        table.add_row(
            escaped(entry["tag"]),
            str(entry["count"]),
            ", ".join(entry["fields"]),
            entry["ruleset_version"],
        )
    console.print(table)


def _state(word: str) -> str:
    return f"[{'green' if word in _GOOD else 'yellow'}]{word}[/]"
