"""Commands that failed in a project, and the form of them that worked instead."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from memory_assets.procedures.lasting import Lasting, shown_by
from memory_assets.procedures.procedures import beginning, names_files
from memory_assets.procedures.uses import Use

_ERROR_LIMIT = 140
_FEWEST = 3
_LONGEST = 700
_SHORT = 200
_NOT_FOUND = re.compile(
    r"command not found: (?P<a>[\w.+-]+)|(?P<b>[A-Za-z][\w.+-]*): (?:command )?not found"
    r"|'(?P<c>[\w.+-]+)' is not recognized|exec: (?P<d>[\w.+-]+): not found"
    r"|The term '(?P<e>[\w.+-]+)' is not recognized"
)
_REFUSED = re.compile(
    r"unknown (?:flag|option|command|shorthand|argument)|unrecognized (?:option|argument)"
    r"|unexpected argument|invalid option|illegal option|Missing script|no such (?:option|command)"
    r"|unknown subcommand|not a valid|No such task|no task",
    re.IGNORECASE,
)
_ELSEWHERE = re.compile(
    r"package\.json|go\.mod|cannot find main module|Cargo\.toml|No such file|ENOENT|pyproject"
    r"|Missing script|no Makefile|No rule to make|not a git repository|tsconfig",
    re.IGNORECASE,
)
_SANDBOX = re.compile(
    r"EPERM|operation not permitted|sandbox|read-only file system|Permission denied", re.IGNORECASE
)
_ASSIGNED = re.compile(r"(?:^|\s)([A-Z_]\w*=\S*)")


@dataclass(frozen=True, slots=True)
class _Pair:
    topic: str
    text: str
    failed: Use
    worked: Use | None


def traps(uses: Sequence[Use]) -> list[Lasting]:
    """Return one trap for each command that failed in several turns, or for which another that
    worked was used again, with what worked instead. A command that later worked is none."""
    by_topic: dict[str, list[_Pair]] = defaultdict(list)
    for pair in _pairs(uses):
        by_topic[pair.topic].append(pair)
    lasting = []
    for topic, pairs in by_topic.items():
        last = pairs[-1]
        turns = {pair.failed.turn_id for pair in pairs}
        again = [use for use in uses if last.worked and _as(last.worked, use)]
        other = last.worked is not None and last.worked.command != last.failed.command
        known = len(turns) > 1 or (other and len(again) >= _FEWEST)
        if known and not _worked_later(uses, last) and not _is_there(uses, last):
            evidence = [use for pair in pairs for use in (pair.failed, pair.worked) if use]
            lasting.append(shown_by(topic, last.text, evidence))
    return lasting


def _as(worked: Use, use: Use) -> bool:
    """Whether a use worked as another did: by the program at this path, or in these words."""
    alike = 1 if "/" in worked.words[0] else 3
    return not use.failed and (
        use.words[:alike] == worked.words[:alike]
        and use.text.split()[:1] == worked.text.split()[:1]
    )


def _is_there(uses: Iterable[Use], pair: _Pair) -> bool:
    """Whether a program that was not found was found by its name alone, in a session that ran
    another way or later."""
    name = pair.topic.removeprefix("missing ")
    return name != pair.topic and any(
        use.words[0] == name and not use.failed and not use.text.startswith(("env ", "PATH="))
        for use in uses
        if pair.worked is None or _time(use) > _time(pair.failed)
    )


def _worked_later(uses: Iterable[Use], pair: _Pair) -> bool:
    """Whether a command worked as it was the last time, though nobody left the sandbox for it."""
    if pair.worked is not None and pair.worked.command == pair.failed.command:
        return False
    alike = [use for use in uses if use.command == pair.failed.command and use.text]
    return bool(alike) and not max(alike, key=_time).failed


def _time(use: Use) -> float:
    return use.at.timestamp() if use.at is not None else 0.0


def _pairs(uses: Sequence[Use]) -> Iterable[_Pair]:
    by_session: dict[str, list[Use]] = defaultdict(list)
    for use in uses:
        by_session[use.session_id].append(use)
    for of_session in by_session.values():
        for place, failed in enumerate(of_session):
            if failed.failed:
                later = [use for use in of_session[place + 1 :] if not use.failed]
                if (pair := _pair(failed, later)) and len(pair.text) <= _LONGEST:
                    yield pair


def _pair(failed: Use, later: Sequence[Use]) -> _Pair | None:
    error = _error(failed)
    if name := _missing(failed):
        return _of_missing(name, failed, later)
    for worked in (use for use in later if use.text and failed.text):
        if worked.command == failed.command:
            if not _SANDBOX.search(failed.error) or not (failed.purpose or failed.program == "git"):
                return None
            text = (
                f"`{_short(failed)}` fails in the sandbox (“{error}”); it worked when it was run "
                "again outside of it."
            )
            return _Pair(f"sandbox {failed.purpose or failed.program}", text, failed, worked)
        if _is_other_form(failed, worked):
            text = f"`{_short(failed)}` fails here (“{error}”); `{_short(worked)}` works."
            return _Pair(f"instead of {failed.command}", text, failed, worked)
    return None


def _of_missing(name: str, failed: Use, later: Sequence[Use]) -> _Pair:
    """Return that a program was not found, with the later command that names it otherwise: by its
    path, through another program, or with another search path."""
    for worked in later:
        words = [word.rsplit("/", 1)[-1] for word in worked.words]
        other_way = worked.words[0] != name or worked.text.startswith(("env ", "PATH="))
        if name in words[:4] and other_way and (shown := _calling(name, worked)):
            text = f"`{name}` alone is not found here; `{shown}` works."
            return _Pair(f"missing {name}", text, failed, worked)
    return _Pair(f"missing {name}", f"`{name}` is not installed here.", failed, None)


def _calling(name: str, worked: Use) -> str:
    """Return the beginning of a command up to a program that it calls."""
    if not worked.text:
        return f"{worked.words[0]} …" if worked.program == name else ""
    match = re.search(rf"(?:^|[\s/]){re.escape(name)}(?=\s|$)", worked.text)
    return f"{worked.text[: match.end()]} …" if match else ""


def _missing(failed: Use) -> str:
    match = _NOT_FOUND.search(failed.error)
    return next(filter(None, match.groups()), "") if match else ""


def _is_other_form(failed: Use, worked: Use) -> bool:
    """Whether a command that worked is the one that failed, run otherwise: with variables set, in
    another directory, or without what was refused."""
    assigned, others = (set(_ASSIGNED.findall(use.text)) for use in (failed, worked))
    if failed.words == worked.words:
        return assigned < others or bool(
            failed.where != worked.where and _ELSEWHERE.search(failed.error)
        )
    refused = _REFUSED.search(failed.error)
    return bool(refused and failed.words[:2] == worked.words[:2] and failed.form != worked.form)


def _short(use: Use) -> str:
    """Return a command without the files that it was run on, if it is long or names some."""
    if len(use.command) > _SHORT or names_files(use):
        return f"{start} …" if (start := beginning(use)) else use.command
    return use.command


def _error(failed: Use) -> str:
    error = " ".join(failed.error.split())
    return error if len(error) <= _ERROR_LIMIT else f"{error[:_ERROR_LIMIT]}…"
