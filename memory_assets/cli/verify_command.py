"""`memory verify`: check that all data is complete, undamaged and free of secrets.

Neither Dagster nor Great Expectations is imported, so that the result does not depend on
the code that ran the pipeline.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from itertools import chain
from pathlib import Path
from typing import Any

from rich.console import Console

from memory_assets.cli import exit_codes
from memory_assets.cli.printing import rendering
from memory_assets.errors import ConfigurationError
from memory_assets.install_key import KEY_FILE
from memory_assets.paths import SAMPLE_DIR, user_cache_dir, user_config_dir
from memory_assets.pipeline.checks.checks import (
    CHECKS,
    Verified,
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
from memory_assets.project_names import with_spoken_projects
from memory_assets.recall.names import resolve_projects
from memory_assets.redaction.known_secrets import KnownValues
from memory_assets.settings import Settings
from memory_assets.status.words import counted
from memory_assets.stores.files.shared import require_writable
from memory_assets.stores.stores import require_memory

_SHOWN_HITS = 50
_WRITES = (
    "A verification locks each project and asks Chroma's server, which both write files there."
)


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
    require_memory(settings.data_dir)
    require_writable(settings.data_dir, _WRITES)
    components = Components(settings)
    all_projects = projects_on_record(components)
    standing = user_config_dir() / CANARIES_FILE
    given = [canary_file] if canary_file is not None else []
    canaries = [*given, *([standing] if standing.exists() else [])] if deep else []
    values = read_canaries(canaries)
    checked_projects = [
        name
        for project in projects
        for name in resolve_projects(components.catalog, project, all_projects)
    ] or all_projects
    if not as_json:
        projects_text = counted(len(checked_projects), "project")
        rendering.print_lines([f"Checking {projects_text}, then reading their transcripts again."])
    verified = _verify_projects(components, checked_projects, console)
    with rendering.progress_bar(console) as bar:
        task = bar.add_task("reading the agents' files again", total=None)
        sources = count_sources(
            components,
            checked_projects,
            lambda size, total: bar.update(task, advance=size, total=total),
        )
    scan = _scan(settings, components, values, canaries, console) if deep else None
    passed = not any(check.failed for check in verified) and (scan is None or scan.passed)
    passed = passed and sources.passed
    answer = _as_json(verified, sources, scan, passed)
    spoken = components.catalog.spoken_projects()
    scanned = _scanned(scan) if scan is not None else ()
    report = chain(_checked(verified, spoken), _counted(sources, spoken), scanned)
    rendering.print_answer(answer, as_json, report)
    return exit_codes.FINE if passed else exit_codes.CHECK_FAILED


def _verify_projects(
    components: Components, projects: Sequence[str], console: Console
) -> list[Verified]:
    verified: list[Verified] = []
    with rendering.progress_bar(console) as bar:
        task = bar.add_task("verifying", total=len(projects) * len(CHECKS))
        for project in projects:
            for check in verify_project(components, project):
                verified.append(check)
                bar.update(task, advance=1, description=rendering.escaped(f"{check.name}"))
    return verified


def _scan(
    settings: Settings,
    components: Components,
    values: Sequence[tuple[str, str]],
    canaries: Sequence[Path],
    console: Console,
) -> DeepScan:
    dagster_home = Path(os.environ.get("DAGSTER_HOME") or settings.dagster_dir)
    roots = [settings.data_dir, dagster_home, user_cache_dir(), user_config_dir()]
    excluded = [
        user_config_dir() / KEY_FILE,
        *canaries,
        SAMPLE_DIR,
        *chain.from_iterable(settings.transcript_roots().values()),
    ]
    known_values = KnownValues(components.install_key, components.catalog.known_secrets.hashes())
    total = sum(path.stat().st_size for path in files_under(roots, excluded))
    with rendering.progress_bar(console) as bar:
        task = bar.add_task("every byte at rest", total=total)
        return deep_scan(
            roots,
            values,
            known_values,
            excluded=excluded,
            progress=lambda count: bar.update(task, advance=count),
        )


def _checked(verified: Sequence[Verified], spoken: Mapping[str, str]) -> Iterator[str]:
    groups: dict[tuple[str, str], list[Verified]] = {}
    for check in verified:
        groups.setdefault((check.subject, check.name), []).append(check)
    for (subject, name), group in groups.items():
        failing = [check for check in group if not check.verdict.passed]
        broken = any(check.failed for check in failing)
        mark = "ok"
        if failing:
            mark = "fails" if broken else "warns"
        totals: Counter[str] = Counter()
        for check in group:
            counts = check.verdict.counts.items()
            totals.update({key: count for key, count in counts if isinstance(count, int)})
        yield f"{mark:<5} {subject}.{name} {_counts(totals)}".rstrip()
    for check in verified:
        if not check.verdict.passed:
            mark = "fails" if check.failed else "warns"
            numbers = _counts(check.verdict.counts)
            project = spoken.get(check.project, check.project)
            yield f"{mark} {project}: {check.subject}.{check.name} {numbers}"
            yield f"  {with_spoken_projects(check.verdict.remedy, spoken)}"
    failed = sum(check.failed for check in verified)
    projects = counted(len({check.project for check in verified}), "project")
    yield f"{counted(len(verified), 'check')} of {projects}: {failed} failed."


def _counts(counts: Mapping[str, object]) -> str:
    return ", ".join(
        f"{name} {value}" for name, value in counts.items() if value or name == "files_scanned"
    )


def _scanned(scan: DeepScan) -> Iterator[str]:
    speed = scan.searched / 1e6 / scan.seconds if scan.seconds else 0.0
    yield (
        f"Every byte of {counted(scan.files, 'file')} ({scan.bytes / 1e6:.1f} MB, "
        f"{scan.searched / 1e6:.1f} MB unpacked) in {scan.seconds:.1f} s ({speed:.0f} MB/s) "
        f"searched for {scan.canaries} canaries and {scan.known_values} known values, in plain, "
        "escaped, percent-encoded, base64 and UTF-16 form."
    )
    yield f"  Looked in: {', '.join(scan.roots)}"
    yield f"  Left out: {', '.join(scan.excluded) or 'nothing'}"
    for hit in scan.hits[:_SHOWN_HITS]:
        place = f" ({hit.place})" if hit.place else ""
        yield f"{hit.what}, {hit.form}: {hit.path}{place} at byte {hit.offset}"
    yield from (f"cannot be read: {path}" for path in scan.unreadable)
    yield f"{len(scan.hits)} found."
    if scan.hits:
        yield (
            "Run `memory ingest --full`, then verify again. If a session's records still contain "
            "one, remove the session with `memory forget`."
        )


def _counted(sources: SourceCount, spoken: Mapping[str, str]) -> Iterator[str]:
    yield (
        f"{counted(sources.files, 'file')} of {counted(sources.sessions, 'session')} "
        f"({sources.bytes / 1e6:.1f} MB) read again; "
        f"{counted(sources.archived, 'session')} skipped, whose file is gone, "
        f"{sources.without_main} of subagents alone."
    )
    yield "  Turns with a prompt, once where forks repeat it; `memory status` counts all there are."
    for name, count in sources.sets.items():
        present = ", ".join(f"{count.found[place]} in {place}" for place in PLACES)
        unit = "sessions" if name == "summaries" else "turns"
        yield f"  {name}: {count.at_source} {unit} at the source; {present}"
    for gap in sources.gaps:
        missing = ", ".join(f"{number} missing in {place}" for place, number in gap.missing.items())
        extra = f"{gap.extra} extra" if gap.extra else ""
        line = "; ".join(part for part in (missing, extra, gap.reason) if part)
        project = spoken.get(gap.project, gap.project)
        yield f"{'warns' if gap.reason else 'fails'} {gap.session_id} {project}: {line}"
    for path in sources.unlisted:
        yield f"cannot be read: {path.path} ({path.agent}): {path.reason}; to do: {path.remedy}"
    if any(gap.missing["file"] for gap in sources.gaps) or sources.unlisted:
        yield "Files that could not be read may contain sessions that are not in memory."
    if any(not gap.reason for gap in sources.gaps):
        yield "Run `memory ingest --full` for these projects, then verify again."


def _as_json(
    verified: Sequence[Verified], sources: SourceCount, scan: DeepScan | None, passed: bool
) -> dict[str, Any]:
    return {
        "passed": passed,
        "sources": sources.to_dict(),
        "checks": [
            {
                "project": check.project,
                "subject": check.subject,
                "check": check.name,
                "passed": check.verdict.passed,
                "warning": check.verdict.warning,
                "counts": dict(check.verdict.counts),
                "remedy": "" if check.verdict.passed else check.verdict.remedy,
            }
            for check in verified
        ],
        "deep": None if scan is None else {**asdict(scan), "passed": scan.passed},
    }
