"""`memory verify`: check that all data is complete, undamaged and free of secrets.

Neither Dagster nor Great Expectations is imported, so that the result does not depend on
the code that ran the pipeline.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

from memory_assets.cli import exit_codes, rendering
from memory_assets.errors import ConfigurationError, NotFound
from memory_assets.install_key import KEY_FILE, user_cache_dir, user_config_dir
from memory_assets.pipeline.checks.checks import (
    CHECKS,
    Verified,
    forget_notes,
    projects_on_record,
    verify_project,
)
from memory_assets.pipeline.checks.deep_scan import (
    CANARIES_FILE,
    DeepScan,
    deep_scan,
    files_under,
    read_canaries,
)
from memory_assets.pipeline.checks.source_turns import PLACES, SourceCount, count_sources
from memory_assets.pipeline.stage.components import Components
from memory_assets.redaction.known_secrets import KnownValues
from memory_assets.settings import SAMPLE_DIR, Settings

_SHOWN_HITS = 50


def verify_memory(
    settings: Settings,
    *,
    projects: Sequence[str],
    deep: bool,
    canary_file: Path | None,
    as_json: bool,
) -> int:
    """Verify projects (all if none is given), with `deep` every byte on disk as well; print a
    report and return the exit code: 4 if a check failed.

    Raises:
        NotFound: nothing is in memory yet.
        ConfigurationError: a project is unknown, or the canaries cannot be used.
    """
    console = rendering.open_console(stderr=as_json)
    if canary_file is not None and not deep:
        raise ConfigurationError("--canary-file works with `memory verify --deep` only")
    components = Components(settings)
    if not components.exists:
        raise NotFound(f"there is no memory in {settings.data_dir} yet; run `memory ingest`")
    known = projects_on_record(components)
    unknown = sorted(set(projects) - set(known))
    if unknown:
        raise ConfigurationError(f"no project {unknown[0]!r}; known are: {', '.join(known)}")
    canaries = _canary_files(canary_file) if deep else []
    values = read_canaries(canaries)
    wanted = list(projects) or known
    for project in wanted if deep else ():
        forget_notes(components, project)
    verified = _verify_projects(components, wanted, console)
    with console.status("reading the agents' files again"):
        sources = count_sources(components, wanted)
    scan = _scan(settings, components, values, canaries, console) if deep else None
    passed = not any(made.failed for made in verified) and (scan is None or scan.passed)
    passed = passed and sources.passed
    if as_json:
        rendering.print_json(_as_json(verified, sources, scan, passed))
    else:
        _print_verified(verified, console)
        _print_sources(sources, console)
        if scan is not None:
            _print_scan(scan, console)
    return exit_codes.FINE if passed else exit_codes.CHECK_FAILED


def _verify_projects(
    components: Components, projects: Sequence[str], console: Console
) -> list[Verified]:
    verified: list[Verified] = []
    with rendering.progress_bar(console, transient=True) as bar:
        task = bar.add_task("verifying", total=len(projects) * len(CHECKS))
        for project in projects:
            for made in verify_project(components, project):
                verified.append(made)
                bar.update(task, advance=1, description=rendering.escaped(f"{made.name}"))
    return verified


def _scan(
    settings: Settings,
    components: Components,
    values: Sequence[tuple[str, str]],
    canaries: Sequence[Path],
    console: Console,
) -> DeepScan:
    roots = [settings.data_dir, _dagster_home(settings), user_cache_dir(), user_config_dir()]
    excluded = [
        user_config_dir() / KEY_FILE,
        *canaries,
        SAMPLE_DIR,
        *settings.transcript_roots().values(),
    ]
    known = KnownValues(components.install_key, frozenset(components.catalog.known_secrets.rules()))
    total = sum(path.stat().st_size for path in files_under(roots, excluded))
    with rendering.progress_bar(console, transient=True) as bar:
        task = bar.add_task("every byte at rest", total=total)
        return deep_scan(
            roots,
            values,
            known,
            excluded=excluded,
            progress=lambda count: bar.update(task, advance=count),
        )


def _canary_files(given: Path | None) -> list[Path]:
    standing = user_config_dir() / CANARIES_FILE
    return [path for path in (given, standing if standing.exists() else None) if path is not None]


def _dagster_home(settings: Settings) -> Path:
    home = os.environ.get("DAGSTER_HOME")
    return Path(home) if home else settings.dagster_dir


def _print_verified(verified: Sequence[Verified], console: Console) -> None:
    table = Table("", "table or collection", "check", "projects", "counts", box=None)
    table.columns[2].no_wrap = True
    for (subject, name), group in _by_check(verified).items():
        failing = [made for made in group if not made.verdict.passed]
        broken = any(made.failed for made in failing)
        mark = "[red]fails[/red]" if broken else "[yellow]warns[/yellow]" if failing else "ok"
        table.add_row(mark, subject, name, str(len(group)), rendering.escaped(_totals(group)))
    console.print(table)
    for made in verified:
        if not made.verdict.passed:
            console.print(
                f"[red]{rendering.escaped(made.project)}: {made.subject}.{made.name}[/red] "
                f"{rendering.escaped(_counts(made))}"
            )
            console.print(f"  {rendering.escaped(made.verdict.remedy)}")
    failed = sum(made.failed for made in verified)
    projects = len({made.project for made in verified})
    console.print(f"{len(verified)} checks of {projects} projects: {failed} failed.")


def _by_check(verified: Sequence[Verified]) -> dict[tuple[str, str], list[Verified]]:
    groups: dict[tuple[str, str], list[Verified]] = {}
    for made in verified:
        groups.setdefault((made.subject, made.name), []).append(made)
    return groups


def _totals(group: Sequence[Verified]) -> str:
    totals: dict[str, int] = {}
    for made in group:
        for name, count in made.verdict.counts.items():
            if isinstance(count, int):
                totals[name] = totals.get(name, 0) + count
    return ", ".join(f"{name} {count}" for name, count in totals.items() if count)


def _counts(made: Verified) -> str:
    return ", ".join(f"{name} {value}" for name, value in made.verdict.counts.items() if value)


def _print_scan(scan: DeepScan, console: Console) -> None:
    speed = scan.searched / 1e6 / scan.seconds if scan.seconds else 0.0
    console.print(
        f"Every byte of {scan.files} files ({scan.bytes / 1e6:.1f} MB, {scan.searched / 1e6:.1f} "
        f"MB unpacked) in {scan.seconds:.1f} s ({speed:.0f} MB/s) searched for {scan.canaries} "
        f"canaries and {scan.known_values} known values, in plain, escaped, percent-encoded, "
        "base64 and UTF-16 form."
    )
    console.print(f"  Looked in: {rendering.escaped(', '.join(scan.roots))}")
    console.print(f"  Left out: {rendering.escaped(', '.join(scan.excluded)) or 'nothing'}")
    for hit in scan.hits[:_SHOWN_HITS]:
        place = f" ({hit.place})" if hit.place else ""
        console.print(
            f"[red]{hit.what}[/red], {hit.form}: "
            f"{rendering.escaped(f'{hit.path}{place}')} at byte {hit.offset}"
        )
    for path in scan.unreadable:
        console.print(f"[red]cannot be read[/red]: {rendering.escaped(path)}")
    console.print(f"{len(scan.hits)} found.")
    if scan.hits:
        console.print(
            "Run `memory ingest --full`, then verify again. If a session's records still contain "
            "one, remove the session with `memory forget`."
        )


def _print_sources(sources: SourceCount, console: Console) -> None:
    console.print(
        f"{sources.files} files of {sources.sessions} sessions ({sources.bytes / 1e6:.1f} MB) read "
        f"again; {sources.archived} sessions whose file is gone were skipped."
    )
    for name, counted in sources.sets.items():
        found = ", ".join(f"{counted.found[place]} in {place}" for place in PLACES)
        unit = "sessions" if name == "summaries" else "turns"
        console.print(f"  {name}: {counted.at_source} {unit} at the source; {found}")
    for gap in sources.gaps:
        missing = ", ".join(f"{count} missing in {where}" for where, count in gap.missing.items())
        extra = f"{gap.extra} extra" if gap.extra else ""
        line = "; ".join(part for part in (missing, extra, gap.reason) if part)
        color = "yellow" if gap.reason else "red"
        console.print(f"[{color}]{rendering.escaped(gap.session_id)}[/{color}] ", end="")
        console.print(rendering.escaped(f"{gap.project}: {line}"))
    for path in sources.unlisted:
        line = f"{path.path} ({path.agent}): {path.reason}; to do: {path.remedy}"
        console.print(f"[red]not readable[/red] {rendering.escaped(line)}")
    if any(gap.missing["file"] for gap in sources.gaps) or sources.unlisted:
        console.print("Files that could not be read may contain sessions that are not in memory.")
    if any(not gap.reason for gap in sources.gaps):
        console.print("Run `memory ingest --full` for these projects, then verify again.")


def _as_json(
    verified: Sequence[Verified], sources: SourceCount, scan: DeepScan | None, passed: bool
) -> dict[str, Any]:
    return {
        "passed": passed,
        "sources": sources.to_dict(),
        "checks": [
            {
                "project": made.project,
                "subject": made.subject,
                "check": made.name,
                "passed": made.verdict.passed,
                "warning": made.verdict.warning,
                "counts": dict(made.verdict.counts),
                "remedy": "" if made.verdict.passed else made.verdict.remedy,
            }
            for made in verified
        ],
        "deep": None if scan is None else {**asdict(scan), "passed": scan.passed},
    }
