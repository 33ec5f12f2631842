"""The errors of a session, and how each ended.

An error is a result of a command or tool that the agent's harness reports as failed; if a pipe or a
later command hid the status, or the harness reported none, the output decides.
It ended "resolved" when the same command (a test or build: the same one over at least the same
targets; a tool: on the same file) succeeded later and something was changed before that,
"passed again" when nothing was, "unresolved" when it ran again and never did, "not retried" when it
did not run again. A tool's housekeeping (a file not yet read, a rejected call, a search without
hits) is no error of the session.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from memory_assets.models import ErrorMet, RedactedRecord, Turn
from memory_assets.redacted_text import RedactedText, compose
from memory_assets.session_analysis.files import tool_kind
from memory_assets.session_analysis.phrases import EMPTY, Phrase, head_and_tail, shorten
from memory_assets.session_analysis.session import Calls, SessionTurns
from memory_assets.session_analysis.shell import (
    LOOKING_GIT,
    SEARCHERS,
    VIEWERS,
    Segment,
    display_text,
    working_segments,
)
from memory_assets.word_lists import word_set

MOST_ERRORS = 20
RESOLVED, PASSED_AGAIN = "resolved", "passed again"
UNRESOLVED, NOT_RETRIED = "unresolved", "not retried"
ENDED = frozenset({RESOLVED, PASSED_AGAIN})
_HEAD_LIMIT = 160
_COMMAND_LIMIT = 60
_SCANNED_CHARACTERS = 10_000
"""Characters at the beginning and at the end of an output that are searched."""

_EXIT = re.compile(
    r"(?:^|\n)\s*(?:Exit code:?|Process exited with code|Command exited with code|"
    r"exited with code) (-?\d+)|\"exit_code\":\s*(-?\d+)"
)
_WRAPPING = re.compile(
    r"\s*(?:Exit code:? -?\d+|Chunk ID: .*|Wall time:? .*|Process exited with code .*|Output:|"
    r"Original token count: .*|Total output lines: .*|Script (?:completed|failed).*|Error:|"
    r"Command exited with code .*|<(?!redacted).*|\[\w+\] .*|> .*|\$ .*|\{\".*|% Total .*|Dload "
    r".*|\W*)$"
)
_HOUSEKEEPING = Phrase(
    r"doesn't want to (?:proceed|take this action)|tool use was rejected|Request interrupted|"
    r"has not been read yet|modified since (?:read|it was)|String to replace not found|"
    r"No changes to make|Sibling tool call|was cancelled|aborted by user|exceeds maximum allowed|"
    r"InputValidationError|No such tool available|Permission to use|requires approval|"
    r"has been denied|User rejected|plan mode|Failed to find expected lines"
)
_FAILING = re.compile(
    r"^(?:--- FAIL|FAIL\b|FAILED |Traceback \(most recent call last\)|panic: |E   |npm (?:ERR!|"
    r"error) |ERR_PNPM|error(?:\[E\d+\])?: |fatal: |make(?:\[\d+\])?: \*\*\*|BUILD FAILED|"
    r"FAILURE: )|error TS\d+|\b[1-9]\d* (?:failed|failing)\b",
    re.MULTILINE,
)
_FAILURES_COUNTED = re.compile(
    r"\b[1-9]\d* (?:failed|failing|fail|failures?)\b|\bfail(?:ed|ures?)?[:=] ?[1-9]", re.IGNORECASE
)
_PASSED = re.compile(
    r"\b0 (?:failed|failing|fail|failures?|errors?)\b|\bfail(?:ed|ures?)?[:=] ?0\b|test result: ok|"
    r"\ball (?:\d+ )?(?:tests|checks|specs) pass|^OK\b|^ok\s+\S",
    re.IGNORECASE | re.MULTILINE,
)
_PIPEFAIL = re.compile(r"\bpipefail\b")
_FOLLOWS = re.compile(r"\s*(?:\)\s*)*(&&|\|\||[|;&\n]|$)")
_LOGGED = re.compile(r"\b(?:LOG|INFO|DEBUG|WARN)\b|\blevel\W{,3}(?:info|debug|warn)\b")
"""What a program says while it runs, on a line of its log."""
_ERROR_LINES = tuple(
    re.compile(pattern, re.MULTILINE)
    for pattern in (
        r"Traceback \(most recent call last\):\n(?:[ \t].*\n|\n)*(?P<text>\S.*)",
        r"^E\s{2,}(?P<text>\S.*)$",
        r"^(?P<text>(?:[\w.]+\.)?\w*(?:Error|Exception)(?:: .+)?)$",
        r"^(?P<text>.*(?:error TS\d+|error\[E\d+\]).*)$",
        r"^[^\S\n]*(?P<text>(?:[Ee]rror|ERROR|fatal|panic|FATAL)(?:\[\w+\])?: .+)$",
        r"^(?P<text>.*\w(?:Error|Exception): .+)$",
        r"^[^\S\n]*(?P<text>[\w./\\-]+\.\w+:\d+:\d+: (?!note|warning).+)$",
        r"^[^\S\n]*(?P<text>(?:npm (?:ERR!|error) (?!code)|ERR_\w+).*)$",
        r"^[^\S\n]*(?P<text>(?:--- FAIL|FAIL(?:ED)?)\b(?!.*\[\w+ failed\]).*)$",
        rf"^(?P<text>(?!.*(?:[│|]|task failed$|\[\w+ failed\]|{_LOGGED.pattern}))"
        r".*\b(?:error|failed|not found|denied|[Cc]annot|unable to|No such file|refused|"
        r"undefined|unexpected|invalid|missing|timed out)\b.*(?<![{};,]))$",
    )
)
_GOES_ON = re.compile(r":\s*\n\s*\S.*")
"""Behind a line that only says that something failed, the one that says what."""
_EXACT = word_set("-c -e -")
_SINGLE = word_set(
    "pytest tox nox jest vitest mocha playwright phpunit rspec tsc eslint ruff mypy pyright biome "
    "prettier golangci-lint gofmt flake8 black shellcheck"
)
_VERBS = word_set(
    "git npm pnpm yarn bun go cargo make mvn gradle ./gradlew gradlew dotnet mise just task docker "
    "alembic terraform python python3 node deno bash sh ruby php uv pip pip3 poetry swift mix"
)
_CHANGES = re.compile(
    r"\b(?:install|i|add|ci|remove|uninstall|update|upgrade|up|down|start|restart|stop|build|sync|"
    r"migrate|generate|apply|fix|format|fmt|tidy|get|rm|exec|trust|set)\b|--(?:fix|write)\b"
)
_EVERYTHING = frozenset({"./...", ".", "all", "tests", "test"})
_ASKS_FOR_HELP = word_set("--help -h help --version")
_MAY_FAIL = (
    SEARCHERS | VIEWERS | word_set("diff cmp test [ [[ which ls find grep command type pgrep")
)
_NUMBERS = re.compile(r"0x[0-9a-f]+|\b[0-9a-f]{7,40}\b|\d+")


@dataclass(frozen=True, slots=True)
class Run:
    """A finished call; `record` is its result. `command` and `head` (the line that names the error)
    are set only if it failed. `segment` is the decisive part of the command line, None for other
    tools."""

    turn: Turn
    record: RedactedRecord
    key: tuple[str, frozenset[str]]
    """The program with its verb, and its targets, by which runs are compared."""
    failed: bool
    segment: Segment | None = None
    command: RedactedText = EMPTY
    head: RedactedText = EMPTY

    def covers(self, other: Run) -> bool:
        """Return True if success of this run shows that `other` would succeed."""
        (name, targets), (other_name, other_targets) = self.key, other.key
        return name == other_name and (self.covers_all or other_targets <= targets)

    @property
    def covers_all(self) -> bool:
        """Whether its program ran on everything, without chosen targets."""
        return not self.key[1] or bool(self.key[1] & _EVERYTHING)

    @property
    def normal(self) -> str:
        """The error's line in lower case, each number as 0: equal where only numbers differ."""
        return _NUMBERS.sub("0", (self.head or self.command).lower())

    @property
    def text(self) -> RedactedText:
        """The command and the line that names the error."""
        if not self.head:
            return compose("{}: failed", self.command)
        return compose("{}: {}", self.command, self.head)


def errors_met(session: SessionTurns) -> tuple[ErrorMet, ...]:
    """Return the errors, oldest first, each once, at most `MOST_ERRORS`; `turn_id` is the last turn
    in which it occurred."""
    runs = all_runs(session)
    last = {run.normal: place for place, run in enumerate(runs) if run.failed}
    records = [record for _, record in _records(session)]
    places = {id(record): place for place, record in enumerate(records)}
    met = [
        ErrorMet(runs[place].turn.id, runs[place].text, _outcome(runs, place, records, places))
        for place in sorted(last.values())
    ]
    if len(met) > MOST_ERRORS:
        open_first = sorted(range(len(met)), key=lambda n: (met[n].outcome in ENDED, -n))
        met = [met[n] for n in sorted(open_first[:MOST_ERRORS])]
    return tuple(met)


def all_runs(session: SessionTurns) -> Sequence[Run]:
    """Return in order every call whose success or failure is known."""
    return session.once(_all_runs)


def _all_runs(session: SessionTurns) -> Sequence[Run]:
    calls = Calls()
    runs: list[Run] = []
    for turn, record in _records(session):
        run = _run(turn, record, calls.ended(record), calls)
        if run is not None:
            runs.append(run)
    return runs


def _records(session: SessionTurns) -> Iterator[tuple[Turn, RedactedRecord]]:
    return ((turn, record) for turn in session.turns for record in turn.records)


def may_change(record: RedactedRecord) -> bool:
    """Return True for a call that changes files, or a command that may change the state for others:
    not one that checks, shows or searches."""
    if record.kind != "tool_use":
        return False
    kind = tool_kind(record)
    return kind == "write" or (
        kind == "shell"
        and any(
            not (part.program in _MAY_FAIL or part.program in _SINGLE or _checks(part))
            for part in working_segments(record.command)
        )
    )


def _checks(segment: Segment) -> bool:
    """Return True for a command with a verb that checks or looks."""
    words = " ".join(segment.words[1:3])
    if segment.program == "git":
        return segment.words[1:2] != () and segment.words[1] in LOOKING_GIT
    return segment.program in _VERBS and not _CHANGES.search(words)


def _outcome(
    runs: Sequence[Run], place: int, records: Sequence[RedactedRecord], places: Mapping[int, int]
) -> str:
    failed = runs[place]
    later = [run for run in runs[place + 1 :] if run.covers(failed)]
    passed = next((run for run in later if not run.failed), None)
    if passed is not None:
        between = slice(places[id(failed.record)], places[id(passed.record)])
        is_changed = any(map(may_change, records[between]))
        return RESOLVED if is_changed else PASSED_AGAIN
    earlier = [run for run in runs[:place] if run.failed and run.normal == failed.normal]
    return UNRESOLVED if later or earlier else NOT_RETRIED


def _run(turn: Turn, record: RedactedRecord, command: RedactedText, calls: Calls) -> Run | None:
    """Return the run of a tool result; None if its failure would mean nothing."""
    if record.kind != "tool_result":
        return None
    if record.is_error and _HOUSEKEEPING.search(record.text[:400]):
        return None
    if command:
        return _command_run(turn, record, command)
    if not record.tool_name or tool_kind(record) or record.tool_name == "write_stdin":
        # Still running, or a wrong guess at a path or a stale edit: no error of the session.
        return None
    call_text = calls.asked.get(record.tool_use_id, EMPTY)
    key = f"{record.tool_name} {' '.join(record.paths) or call_text}", frozenset[str]()
    if not record.is_error:
        return Run(turn, record, key, False)
    return Run(turn, record, key, True, None, record.tool_name, _head(record.text))


def _command_run(turn: Turn, record: RedactedRecord, command: RedactedText) -> Run | None:
    parts = working_segments(command)
    if not parts or _ASKS_FOR_HELP & set(parts[-1].words):
        return None
    decisive = next((part for part in reversed(parts) if _is_runner(part)), parts[-1])
    code = _EXIT.search(record.text[:600]) or _EXIT.search(record.text[-300:])
    failed = record.is_error or (code is not None and int(code.group(1) or code.group(2)) != 0)
    is_git, is_runner = decisive.program == "git", _is_runner(decisive)
    if failed and (decisive.program in _MAY_FAIL or (is_git and not is_runner)):
        return None
    if not failed and is_runner and not is_git:
        silent = code is None and record.agent == "codex"
        failed = (silent or _hides_status(command, decisive)) and _reads_as_failed(record.text)
    if not failed:
        return Run(turn, record, _comparison_key(decisive), False, decisive)
    text = shorten(display_text(decisive), _COMMAND_LIMIT)
    return Run(turn, record, _comparison_key(decisive), True, decisive, text, _head(record.text))


def _hides_status(command: RedactedText, decisive: Segment) -> bool:
    """Return True if a command line can succeed although the `decisive` command failed, because a
    pipe or another command after it decides the exit status."""
    at = command.rfind(decisive.text)
    follows = _FOLLOWS.match(command, at + len(decisive.text)) if at >= 0 else None
    if follows is None or follows.group(1) in ("", "&&"):
        return False
    return not (follows.group(1) == "|" and _PIPEFAIL.search(command))


def _reads_as_failed(output: RedactedText) -> bool:
    """Return True if the output of tests or a build reports a failure. A count of failures, or a
    report that all passed, outweighs a line that looks like an error; what the tested program logs
    does not count."""
    lines = head_and_tail(output, _SCANNED_CHARACTERS, _SCANNED_CHARACTERS).split("\n")
    scanned = "\n".join(line for line in lines if not _LOGGED.search(line))
    if _FAILURES_COUNTED.search(scanned):
        return True
    return _FAILING.search(scanned) is not None and _PASSED.search(scanned) is None


def _is_runner(segment: Segment) -> bool:
    """Return True for a test, a build, or another command with verbs that is run repeatedly."""
    if segment.program in _SINGLE:
        return True
    if segment.program not in _VERBS or not segment.arguments:
        return False
    verb = segment.words[1]
    if segment.program == "git":
        return verb not in LOOKING_GIT - {"add", "stash", "fetch"}
    return verb not in _EXACT


def _comparison_key(segment: Segment) -> tuple[str, frozenset[str]]:
    """Return tests and builds by program, verb and targets; git by verb; all else by its text."""
    program, arguments = segment.program, [str(word) for word in segment.arguments]
    if not _is_runner(segment):
        return " ".join(segment.text.split()), frozenset()
    verbs = 0 if program in _SINGLE else 1
    if program == "git":
        return f"git {arguments[0]}", frozenset()
    if verbs and arguments[0] == "run" and len(arguments) > 1:
        verbs = 2
    return " ".join([program, *arguments[:verbs]]), frozenset(arguments[verbs:])


def _head(text: RedactedText) -> RedactedText:
    """Return the line that names the error."""
    scanned = head_and_tail(text, _SCANNED_CHARACTERS, _SCANNED_CHARACTERS)
    for pattern in _ERROR_LINES:
        if hit := pattern.search(scanned):
            start, end = hit.span("text")
            further = _GOES_ON.match(scanned, end - 1)
            line = scanned.cut(start, further.end() if further else end)
            return shorten(line.squeezed(), _HEAD_LIMIT)
    lines = scanned.lines()
    own = (line for line in lines if not (_WRAPPING.match(line) or _LOGGED.search(line)))
    return shorten(next(own, EMPTY).squeezed(), _HEAD_LIMIT)
