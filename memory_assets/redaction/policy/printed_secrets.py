"""Secrets that a command prints bare, whose name stands in the command alone: `printenv API_TOKEN`,
`python -c "print(os.environ['API_TOKEN'])"`, `jq -r .access_token`, `cat deploy-token.txt`."""

from __future__ import annotations

import re
from collections.abc import Iterator

from memory_assets.redaction.rules.anchored.rule import drawn_value, spoken_password
from memory_assets.redaction.rules.judging.likelihood import is_generated
from memory_assets.redaction.rules.judging.names import KEYWORDS, NameKind, name_kind

_NAMED = re.compile(
    r"(?:\bprintenv(?: -0)?[ ]|\$(?:env:|\{)?|environ(?:\.get)?[\[(]\s?[\"']|getenv\([\"']"
    r"|\bENV(?:\[|\.fetch\()[\"']|process\.env(?:\.|\[[\"'])"
    r"|\bjq [^\n|;]{0,80}?\.(?=[\w\"'\])|;} ]*(?:\s|$))"
    r"|\b(?:cat|head|tail|type|Get-Content)[ ](?:-\w+[ ]){0,2}(?:[\w.~$/-]*/)?)"
    r"(?P<name>[A-Za-z_][\w-]{2,60})(?!\w)(?!\.(?!txt|key|token|secret))"
)
"""A command or expression that prints a value, and the value's name."""
_WORDS = tuple(word.decode() for word in KEYWORDS)
_SHOWN = re.compile(
    r"(?m)^[ \t]{0,8}(?:=>[ ]|Out\[\d{1,4}\]:[ ])?b?[\"'`]?"
    r"(?P<value>[^\s\"'`<>$(){}\[\]][^\s\"'`<>]{5,4000})[\"'`]?[ \t]{0,4}\r?$"
)
"""A line that is one value, as it is or as a language writes it."""
_LONGEST_COMMAND = 20_000
_MOST_LINES = 200
_ORDINARY = -8


def printed_secrets(command: str, text: str) -> Iterator[tuple[int, int]]:
    """Yield the ranges of `text`, what `command` printed, that are secrets by the name that the
    command gives and by their look; only values alone on their line."""
    if len(command) > _LONGEST_COMMAND or not _tells(command):
        return  # most commands
    lines = "\n".join(filter(_tells, command.split("\n")))
    kinds = (name_kind(named["name"]) for named in _NAMED.finditer(lines))
    kind = max(kinds, default=NameKind.PLAIN)
    if not kind:
        return
    for number, shown in enumerate(_SHOWN.finditer(text)):
        if number == _MOST_LINES:
            return
        value = shown["value"]
        if drawn_value(value) or (
            kind is NameKind.PASSWORD and spoken_password(value) and is_generated(value, _ORDINARY)
        ):
            yield shown.span("value")


def _tells(command: str) -> bool:
    """Return True if a word of `command` may name a secret."""
    return any(map(command.lower().__contains__, _WORDS))
