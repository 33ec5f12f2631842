"""Observations from errors that ended: a failed run, and the first later one that succeeded."""

from __future__ import annotations

import re
from bisect import bisect
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import islice

from memory_assets.models import RedactedRecord
from memory_assets.observations.moments import Moment, Type, only_tests, quoted
from memory_assets.redacted_text import RedactedText, compose
from memory_assets.session_analysis import SessionTurns
from memory_assets.session_analysis.failures import Run, all_runs
from memory_assets.session_analysis.files import touched
from memory_assets.session_analysis.phrases import (
    Phrase,
    base_name,
    distinct,
    listing,
    names,
    shorten,
)
from memory_assets.session_analysis.scores import cause_score
from memory_assets.session_analysis.shell import LOOKING_GIT, Segment, meaningful, segments, shown
from memory_assets.session_analysis.statements import Said

_THAT_HELP = names(
    "npm pnpm yarn bun pip pip3 uv poetry apt apt-get brew docker docker-compose git chmod mkdir "
    "systemctl gem bundle nvm corepack mise"
)
_MOVES_ABOUT = names("checkout switch add rm restore reset stash branch worktree clone fetch")
_LINTS = Phrase(r"\b(?:lint\w*|format|fmt|biome|prettier|eslint|ruff|knip|black)\b")
_LOOPS = re.compile(r"\$\{?[\w#@*]|^\W|^(?:for|while|do|if)\b")
_TELLS = Phrase(
    r"error|fail|not found|denied|cannot|can't|refused|exist|missing|invalid|undefined|unable|"
    r"no such|fatal|panic|exception|unexpected|unknown|conflict|rejected|timed? ?out|TS\d{4}|"
    r"not (?:a|an|allowed|available|installed|defined)|required|unresolved|abort|assert"
)
_BARE = Phrase(
    r"\W*(?:FAIL(?:ED|URE)?|error|fatal|exit status \d+|script failed|command aborted|"
    r"error:\s+(?:should be (?:true|false)|not equal|an error is expected).*|"
    r".*invalid hunk.*|.*apply_patch.*|.*sandbox denied.*|.*operation not permitted.*)\W*$"
)
_ENDING = re.compile(r"[.:; ]+\Z")
_ANY_TARGET, _ALL_TARGETS = "\0any", "\0all"
_HEAD_LIMIT = 110
_COMMAND_LIMIT = 70


def merged(moments: Sequence[Moment]) -> list[Moment]:
    """Return the moments in order, those of type change that were complete in one turn as one:
    the last of them, with the facts, records and turns of all."""
    kept: dict[object, Moment] = {}
    for moment in moments:
        key: object = moment.turns[-1].id if moment.type == "change" else id(moment)
        if earlier := kept.pop(key, None):
            turns = {turn.id: turn for turn in (*earlier.turns, *moment.turns)}
            moment = replace(
                moment,
                began=earlier.began,
                turns=tuple(sorted(turns.values(), key=lambda turn: turn.turn_index)),
                facts=distinct([*earlier.facts, *moment.facts]),
                records=(*earlier.records, *moment.records),
            )
        kept[key] = moment
    return list(kept.values())


def fixes(session: SessionTurns, said: Mapping[str, Sequence[Said]]) -> Iterator[Moment]:
    """Yield one moment for each success that ended errors: a bugfix where files were changed
    in between, a discovery where another command helped. An error that went away by itself
    (the same command again, nothing in between) is none. `said` is what the agent said, by
    turn."""
    runs = all_runs(session)
    records = [record for turn in session.turns for record in turn.records]
    place = {id(record): number for number, record in enumerate(records)}
    ended: dict[int, list[Run]] = {}
    for number, later in _ends(runs):
        ended.setdefault(later, []).append(runs[number])
    for last, failures in sorted(ended.items()):
        success = runs[last]
        between = records[place[id(failures[0].record)] : place[id(success.record)] + 1]
        moment = _moment(session, success, failures, between, said)
        if moment is not None:
            yield moment


def _ends(runs: Sequence[Run]) -> Iterator[tuple[int, int]]:
    """Yield the number of each error that tells something, with that of the first later success, in
    the same directory, that covers it. Successes are looked up by what they can cover: a turn may
    have tens of thousands of runs."""
    told = [number for number, run in enumerate(runs) if _tells(run)]
    programs = {runs[number].key[0] for number in told}
    places: dict[tuple[str, str, str], list[int]] = {}
    for number, run in enumerate(runs):
        program, targets = run.key
        if run.failed or program not in programs:
            continue
        where = _where(run)
        for target in {_ANY_TARGET, _ALL_TARGETS if run.covers_all else "", *targets} - {""}:
            places.setdefault((where, program, target), []).append(number)
    for number in told:
        run = runs[number]
        program, targets = run.key
        by_target = (
            places.get((_where(run), program, target), ()) for target in targets or (_ANY_TARGET,)
        )
        everything = places.get((_where(run), program, _ALL_TARGETS), ())
        later = [
            next(
                (at for at in islice(found, bisect(found, number), None) if runs[at].covers(run)),
                len(runs),
            )
            for found in (min(by_target, key=len), everything)
        ]
        if min(later) < len(runs):
            yield number, min(later)


def _tells(run: Run) -> bool:
    """Return True if a run failed with a line that names the error, not only that there was one,
    and is work by itself: no checking out of a branch, staging of a file, loop over variables."""
    if not run.failed or run.segment is None or _LOOPS.search(run.segment.text):
        return False
    if run.segment.program == "git" and _MOVES_ABOUT & set(run.segment.words[1:3]):
        return False
    return _TELLS.search(run.head) is not None and not _BARE.match(run.head)


def _moment(
    session: SessionTurns,
    success: Run,
    failures: Sequence[Run],
    between: Sequence[RedactedRecord],
    said: Mapping[str, Sequence[Said]],
) -> Moment | None:
    if success.segment is None:
        return None
    last = failures[-1]
    command = _shown(success.segment)
    modified = touched(session, between).modified
    heads = distinct(shorten(run.head, _HEAD_LIMIT).sub(_ENDING, "") for run in failures)
    facts = [compose("{} failed: {}", quoted(run.command), run.head) for run in failures[:3]]
    if modified:
        names = listing(distinct(base_name(path) for path in modified), 4)
        facts.append(compose("Changed in between: {}.", listing(modified, 8)))
        title = compose("{}: fixed by changing {}", heads[-1], names)
        helped = compose("After changes to {} {} succeeded.", names, quoted(command))
        concepts = [compose("problem-solution")]
    else:
        steps = _steps(between, last, success)
        if not steps:
            return None
        title = compose("{}: {} helped", heads[-1], quoted(steps[-1]))
        helped = compose("What helped: {}.", listing([quoted(step) for step in steps], 4))
        concepts = [compose("problem-solution"), compose("gotcha")]
    facts.append(compose("{} succeeded.", quoted(command)))
    turns = {run.turn.id: run.turn for run in (*failures, success)}
    within = {id(record) for record in between}
    why = [
        one.text
        for turn_id in turns
        for one in said[turn_id]
        if id(one.record) in within and not one.recap and cause_score(one) >= 1.2
    ][-2:]
    return Moment(
        type=_type(modified, success),
        anchor=success.record,
        began=failures[0].record,
        turns=tuple(turns.values()),
        title=title,
        narrative=[compose("{} failed with: {}.", quoted(last.command), heads[-1]), *why, helped],
        facts=facts,
        concepts=concepts,
        records=tuple(between),
    )


def _type(modified: Sequence[RedactedText], success: Run) -> Type:
    """Files changed make a fix; of tests alone, or for a linter or
    git's hooks, a change."""
    if not modified:
        return "discovery"
    segment = success.segment
    checked = segment is not None and (segment.program == "git" or _LINTS.search(segment.text))
    return "change" if checked or only_tests(modified) else "bugfix"


def _steps(between: Sequence[RedactedRecord], last: Run, success: Run) -> list[RedactedText]:
    """The commands after the last failure that helped: installing, fetching, making; and the
    success itself, first, if it was asked otherwise."""
    own: list[RedactedText] = []
    helping: list[RedactedText] = []
    start = next((n for n, record in enumerate(between) if record is last.record), len(between))
    for record in between[start:]:
        if record.kind != "tool_use" or not record.command:
            continue
        for segment in meaningful(record.command):
            if segment.program == "git" and LOOKING_GIT & set(segment.words[1:2]):
                continue
            if record.tool_use_id == success.record.tool_use_id:
                own.append(_shown(segment))
            elif segment.program in _THAT_HELP:
                helping.append(_shown(segment))
    mine = [step for step in own if success.segment and step == _shown(success.segment)]
    failed = shorten(last.command, _COMMAND_LIMIT)
    return [step for step in distinct([*mine, *helping]) if step != failed]


def _shown(segment: Segment) -> RedactedText:
    return shorten(shown(segment), _COMMAND_LIMIT)


def _where(run: Run) -> str:
    """Return the directory of a run: the one it changed to, else the working directory."""
    words = [part.words for part in segments(run.record.command)]
    moved = [given[1] for given in words if given[0] == "cd" and len(given) > 1]
    return moved[-1] if moved else run.record.cwd
