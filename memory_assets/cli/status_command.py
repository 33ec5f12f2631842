"""`memory status`, printed without rich, whose import takes longer than the status."""

from __future__ import annotations

import contextlib
import json
import os
import sys
from collections.abc import Iterator
from typing import Any

from memory_assets.errors import NotFound
from memory_assets.serving.visible_text import visible, visible_payload
from memory_assets.settings import Settings
from memory_assets.status import held_back, in_words, status, totals

_LISTED = 20


def show_status(settings: Settings, *, as_json: bool) -> None:
    """Print the status as lines or as JSON.

    Raises:
        NotFound: nothing was ever ingested there.
        StoreError: the catalogue cannot be read.
    """
    if not (settings.data_dir / "catalog.db").exists():
        raise NotFound(f"there is no memory in {settings.data_dir} yet; run `memory ingest` first")
    current = status(settings)
    if as_json:
        sys.stdout.write(json.dumps(visible_payload(current), indent=2, ensure_ascii=False) + "\n")
        return
    with contextlib.suppress(BrokenPipeError):
        for line in lines_of(current):
            sys.stdout.write(visible(line).replace("\n", " ") + "\n")
        sys.stdout.flush()
        return
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # the reader of a pipe is gone


def lines_of(current: dict[str, Any]) -> Iterator[str]:
    """Yield the status in lines for a human."""
    yield f"Memory in {current['data_dir']}"
    yield totals(current)
    pending = current["freshness"]["pending_files"]
    yield from (line for well, line in in_words(current["coverage"]) if not (well and pending))
    yield from _freshness(current["freshness"], len(current["unlisted"]))
    archive = current["archive"]
    yield (
        f"Archive: {archive['sessions_source_gone']} sessions kept although their file is gone, "
        f"{archive['sessions_prompts_only']} of which only prompts are left, "
        f"{archive['sessions_retained']} cut down to prompts and summary."
    )
    if archive["retention_unfinished"]:
        yield "Retention is running or was interrupted; `memory retain` completes it."
    yield from _runs(current["runs"])
    yield from _watcher(current["watcher"])
    chroma, sizes = current["chroma"], current["sizes"]
    yield f"Chroma: {chroma['state']} {chroma['url'] or ''}".rstrip()
    for path in chroma["set_aside"]:
        yield f"Chroma was damaged and rebuilt; the damaged files in {path} can be deleted."
    yield "MB: " + ", ".join(f"{name} {size / 1e6:.1f}" for name, size in sizes.items())
    yield "Versions: " + ", ".join(
        f"{name} {value}" for name, value in current["versions"].items() if isinstance(value, str)
    )
    yield from _projects(current["projects"])
    yield from (f"held back: {line}" for line in held_back(current))


def _freshness(fresh: dict[str, Any], unlisted: int) -> Iterator[str]:
    pending = fresh["pending_files"]
    unread = f"{unlisted} files or directories cannot be read" if unlisted else "all ingested"
    behind = f"{pending} changed and not yet ingested, {fresh['lag_seconds']:.0f} s behind"
    yield (
        f"Files: {fresh['files']} on disk, {behind if pending else unread}; newest written "
        f"{fresh['newest_source_at'] or 'never'}, newest indexed "
        f"{fresh['newest_indexed_at'] or 'never'}."
    )


def _runs(runs: dict[str, Any]) -> Iterator[str]:
    last = runs.get("last")
    if last:
        yield (
            f"Last run: {last['status'].lower()} {last['ended_at']}, {last['project'] or 'all'}, "
            f"{last['seconds']} s; {runs['failed_in_7_days']} failed in 7 days, "
            f"{runs['under_way']} running."
        )
    for run in runs.get("failed", ()):
        yield f"failed: run {run['run_id'][:8]} of {run['project']} at {run['ended_at']}"


def _watcher(state: dict[str, Any] | None) -> Iterator[str]:
    if state is None:
        yield "Watcher: none (`memory ingest --watch`)."
        return
    yield (
        f"Watcher: process {state['pid']} since {state['since']}, {state['mode']}, "
        f"{state['runs']} runs, {state['waiting']} projects waiting."
    )
    for directory, reason in state["notes"].items():
        yield f"  {directory} is polled: {reason}"
    for project, reason in state["failing"].items():
        yield f"  failing: {project}: {reason}"


def _projects(projects: dict[str, dict[str, int]]) -> Iterator[str]:
    if not projects:
        return
    names = sorted(projects, key=lambda name: -projects[name]["bytes"])
    width = min(60, max(len(name) for name in names))
    yield f"{'project':{width}} sessions  files prompts      MB   gone"
    for name in names[:_LISTED]:
        each = projects[name]
        yield (
            f"{name[:width]:{width}} {each['sessions']:8} {each['files']:6} {each['prompts']:7} "
            f"{each['bytes'] / 1e6:7.1f} {each['gone']:6}"
        )
    if len(names) > _LISTED:
        yield f"... and {len(names) - _LISTED} more (--json lists all)"
