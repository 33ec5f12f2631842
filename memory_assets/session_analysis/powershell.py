"""PowerShell command lines: split into pipelines, each of which is one command.

Semicolons, pipes and newlines within braces, parentheses and strings separate nothing; of a
statement (`for`, `if`, `try`, ...) the commands in its blocks count. This is a scanner, as in
`shell.py`; nothing is run.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field

from memory_assets.redacted_text import RedactedText
from memory_assets.word_lists import word_set

_VERBS = (
    "Add Clear Compare Compress ConvertFrom ConvertTo Copy Disable Enable Expand Export Find "
    "ForEach Format Get Group Import Install Invoke Join Measure Move New Out Pop Push Read "
    "Receive Remove Rename Resolve Restart Select Set Sort Split Start Stop Tee Test Update Wait "
    "Where Write"
)
_IN_FRONT = "|".join(rf"(?<=(?<![\w./\\-]){verb}-)" for verb in _VERBS.split())
_POWERSHELL = (
    re.compile(rf"-(?=[A-Z]\w)(?:{_IN_FRONT})"),
    re.compile(r"\$(?:env:\w|_\.\w|PS\w|LASTEXITCODE)"),
    re.compile(r"^[^\S\n]*(?:\$\w+\s*=\s|&\s+[\"'.\\$])", re.MULTILINE),
)
"""Syntax of PowerShell alone. All but the last begin with a character that is found fast."""
_STARTS_POWERSHELL = re.compile(
    r"\s*(?:powershell|pwsh)(?:\.exe)?"
    r"(?:\s+-(?:NoProfile|NoLogo|NonInteractive|ExecutionPolicy\s+\w+))*\s+-(?:Command|c)\s+",
    re.IGNORECASE,
)
_STARTS_CMD = re.compile(r"\s*cmd(?:\.exe)?\s+/c\s+", re.IGNORECASE)
_UNIX_SHELL = re.compile(r"<<-?\s*[\"']?\w|[;\n][^\S\n]*(?:then|do)\s+(?!\{)|\besac\b|\$\{|\[\[")
"""Syntax of Unix shells alone."""
_TOKEN = re.compile(
    r"(?P<space>[ \t\r]++|`\r?\n)|(?P<here>@(?P<mark>[\"'])[ \t]*\r?\n.*?\n(?P=mark)@)"
    r"|(?P<string>\"(?:[^\"`]|`.|\"\")*+\"?|'(?:[^']|'')*+'?)|(?P<comment>#[^\n]*+)"
    r"|(?P<open>[$@]?\(|@?\{)|(?P<close>[)}])|(?P<break>\|\||&&|[|;\n])|(?P<call>&)"
    r"|(?P<redirect>[\d*]?>>?(?:&\d)?)"
    r"|(?P<word>(?:[^\s\"'`(){}|;&>]|`.)++)|(?P<other>.)",
    re.DOTALL,
)
_STATEMENTS = word_set(
    "for foreach while do if elseif else try catch finally switch function filter begin process "
    "end trap until"
)
_ASSIGNS = re.compile(r"(?:\[[\w.\[\]]+\])?\$[\w:.{}]+(?:\s*[+*/-]?=|$)")
_COMMAND = re.compile(r"[A-Za-z_.~\\/][\w.:~\\/@+-]*")
_VALUES = word_set("return throw break continue exit param using")
_GOES_ON = re.compile(r"\s*\|(?!\|)")
_CONTINUED = re.compile(
    r"(?<![ \t])[ \t]*+(?<!\|)\|[ \t\r]*\n\s*|(?<!\s)[^\S\n]*+\n\s*+\|(?!\|)\s*"
)
"""A pipe at the end of a line, or at the beginning of the next."""
_DEEPEST = 12


def unwrapped(command: RedactedText) -> tuple[RedactedText, bool]:
    """Return the command that a call of a Windows shell runs, else the line itself, and whether it
    is PowerShell, by the call or by syntax that only PowerShell has."""
    starts = _STARTS_POWERSHELL.match(command)
    inside = starts or _STARTS_CMD.match(command)
    line = _unquoted(command.cut(inside.end()).trimmed()) if inside else command
    return line, starts is not None or _is_powershell(line)


def _is_powershell(command: str) -> bool:
    is_its_own = any(sign.search(command) for sign in _POWERSHELL)
    return is_its_own and _UNIX_SHELL.search(command) is None


@dataclass(slots=True)
class Pipeline:
    """A pipeline: its text, and the words of its first command, quotes taken off."""

    text: RedactedText
    words: list[RedactedText]


@dataclass(slots=True)
class _Statement:
    """A parsed statement: the words of each part of its pipeline, strings with their quotes; the
    parts whose first word is called by `&`; and its blocks."""

    parts: list[list[RedactedText]] = field(default_factory=lambda: [[]])
    called: set[int] = field(default_factory=set)
    blocks: list[RedactedText] = field(default_factory=list)


def pipelines(command: RedactedText, depth: int = 0) -> Iterator[Pipeline]:
    """Yield the pipelines of a command line."""
    statement = _Statement()
    opened: list[tuple[str, int]] = []
    at = start = 0
    while at < len(command):
        token = _TOKEN.match(command, at)
        if token is None:
            break
        begin, at, kind = at, token.end(), token.lastgroup
        kind = "here" if token["here"] else kind
        if kind == "open":
            opened.append((token.group(), at))
        elif kind == "close":
            if opened:
                brace, inside = opened.pop()
                if not opened and brace == "{":
                    statement.blocks.append(command.cut(inside, begin))
        elif kind == "call" and not opened and not statement.parts[-1]:
            statement.called.add(len(statement.parts) - 1)
        elif opened or kind in ("space", "comment", "redirect", "call"):
            continue
        elif kind == "break":
            if token.group() == "|":
                statement.parts.append([])
                continue
            ends = statement.parts[1:] and not statement.parts[-1]
            goes_on = statement.parts[0] and _GOES_ON.match(command, at)
            if token.group() == "\n" and (ends or goes_on):
                continue
            yield from _pipelines_of(command.cut(start, begin), statement, depth)
            statement, start = _Statement(), at
        else:
            statement.parts[-1].append(command.cut(begin, at))
    yield from _pipelines_of(command.cut(start), statement, depth)


def _pipelines_of(text: RedactedText, statement: _Statement, depth: int) -> Iterator[Pipeline]:
    """Yield the pipeline of a statement, or the pipelines in its blocks."""
    first = statement.parts[0]
    while first and (target := _ASSIGNS.match(first[0])):
        value = first[0].cut(target.end())
        is_spaced = first[1:2] in (["="], ["+="], ["-="])
        if not (is_spaced or target.group().endswith("=")):
            break
        if value:  # `$x=Get-Item`
            first = [value, *first[1:]]
        elif is_spaced:
            first = first[2:]
        else:
            first = first[1:]
    statement.parts[0] = first
    if first and first[0].lower() in _STATEMENTS:
        for block in statement.blocks if depth < _DEEPEST else ():
            yield from pipelines(block, depth + 1)
        return
    for place, part in enumerate(statement.parts):
        if part and (place in statement.called or _is_command(part[0])):
            yield Pipeline(
                text.trimmed().sub(_CONTINUED, " | "), [_unquoted(word) for word in part]
            )
            return


def _is_command(word: RedactedText) -> bool:
    return _COMMAND.fullmatch(word) is not None and word.lower() not in _VALUES


def _unquoted(word: RedactedText) -> RedactedText:
    quoted = len(word) > 1 and word[0] in "\"'" and word[-1] == word[0]
    return word.cut(1, len(word) - 1) if quoted else word
