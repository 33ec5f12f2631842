"""Secrets in the lines below what names them: lists and blocks under a name, here-documents that
feed a command, what is typed after `read -s` and at prompts. Rows as in `table.py`; what a row's
pattern matches ends where the lines begin."""

from __future__ import annotations

import re
from collections.abc import Iterator

from memory_assets.redaction.rules.anchored.rule import (
    FILL,
    AnchoredRule,
    Inside,
    drawn_value,
    likely_password,
    login_password,
    rule_above,
    typed_password,
)
from memory_assets.redaction.rules.judging import values
from memory_assets.redaction.rules.judging.names import NameKind, name_kind
from memory_assets.redaction.rules.judging.phrases import is_mixture, is_said, is_words
from memory_assets.redaction.rules.mentioned.tokens import is_something_else

_LONGEST_LINE = 500
_SHORTEST = 8
_LONGEST_COMMENT = 100
_OF_OTHERS = re.compile(r"(?i)publi|example|\bids?\b|hash|name|sample|fake|dummy")
_MOST_LINES = 200
_MOST_OTHERS = 4
"""So many lines in a row without a secret end a list."""
_ITEM = re.compile(
    r"[ \t|>]*(?P<mark>(?:[-*•+]|\d{1,3}[.)])[ \t]{1,4})?"
    r"(?:[\"'`]?(?P<key>[\w.-]{1,60})[\"'`]?[ \t]?(?::|=>?)[ \t]{0,8})?"
    r"(?:[bru]|[|>][+-]?$)?[\[({]?(?:[\w.@-]{1,40}:(?=\S))?[\"'`]?(?P<value>[^\s\"'`,;<>{}\[\]()]{4,400})[\"'`]?[\])},;]{0,2}"
    r"[ \t]*\\?\r?"
)
_LAST_NAME = re.compile(r"[\w.-]{0,40}\Z")
_QUOTED = re.compile(r"[\"'](?P<value>[^\s\"'\\]{4,400})[\"']")
_OF_VALUE = re.compile(
    r"(?i)(?:\w*_)?(?:value|secret|password|pass|pw|token|key|data|content|default)"
)
_NAME = (
    r"(?:(?:pass(?:word|wd|phrase|code)|pwd|secret|token|credential)s?"
    r"|(?:(?<=[_-])|(?<![^\n]))(?:pass|pw|key)"
    r"|(?:api|access|secret|private|auth|signing|encryption|license|master|client|deploy)[ _-]?"
    r"(?:key|secret|token)s?)"
)
_OPENS = (
    r"(?:[ \t]{0,4}(?::|=>?|:=)[ \t]{0,4}(?:[|>][+-]?\d?|[\[({]{1,2}|\"{3}|'{3}"
    r"|\\)?[ \t]{0,8}\\?\r?\n"
    r"|[ \t]{0,4}(?::|=>?)[ \t]{0,4}[\[(]{1,2}[ \t]{0,4}(?=[\"'])"
    r"|[ \t]{0,2}[|>][+-]?[ \t]{0,4}\r?\n)"
)
_DELIMITER = r"<<-?[ ]?\\?[\"']?(?P<end>\w{1,20})[\"']?[^\n]{0,100}\r?\n"
_FED = (
    r"(?:--?pass(?:word|phrase|wd)?-?(?:stdin|file[= ]-|fd[= ]\d)|--with-token|--token-stdin"
    r"|(?:secrets?|credentials?|token|env|password) (?:set|put|add|create|store|insert|update"
    r"|versions)\b"
    r"|\b(?:ch|smb|ht|vnc|ldap|k|mosquitto_)?passwd|\bkinit|\bcryptsetup|\bkubeseal|\bpass insert"
    r"|\bvault login|\bsecret-tool|\bsudo -S|\bauth login|\blogin -"
    r"|(?:passw(?:or)?d|passphrase|secret|token|credential|\.pass|\.pw"
    r"|_pass)s?(?:\.\w{1,5})?(?=[\"']? <<|\n))"
)


def _lines(text: str, start: int) -> Iterator[tuple[int, int]]:
    """Yield the ranges of the lines from `start` on."""
    for _ in range(_MOST_LINES):
        end = text.find("\n", start, start + _LONGEST_LINE)
        if end < 0:
            if start < len(text) <= start + _LONGEST_LINE:
                yield start, len(text)
            return
        yield start, end
        start = end + 1


def _is_listed(value: str, of_password: bool) -> bool:
    """Return True if `value`, in a list under a name for secrets, is one."""
    if of_password and (likely_password(value) or is_mixture(value) or is_words(value)):
        return True
    return len(value) >= _SHORTEST and (
        drawn_value(value)
        or (likely_password(value) and values.has_digit(value))
        or (values.is_uuid(value) and not of_password)
    )


def _listed(text: str, head: re.Match[str]) -> Iterator[tuple[int, int]]:
    """Yield the secrets in the lines that belong to a name."""
    of_password = head.group()[:2].lower() in ("pa", "pw")
    begins = text.rfind("\n", max(head.start() - _LONGEST_LINE, 0), head.start()) + 1
    line = text[begins : head.start()]
    qualifier = _LAST_NAME.search(line)
    stem = "password" if of_password else head["name"].removesuffix("s")
    if name_kind((qualifier[0] if qualifier else "") + stem) is NameKind.PLAIN:
        return
    indent = len(line) - len(line.lstrip(" \t"))
    others = 0
    for number, (start, end) in enumerate(_lines(text, head.end())):
        line = text[start:end]
        if head.group()[-1] != "\n" and number == 0:
            for quoted in _QUOTED.finditer(line):
                if _is_listed(quoted["value"], of_password):
                    yield start + quoted.start("value"), start + quoted.end("value")
            if "]" in line or ")" in line:
                return
            continue
        if not line.strip() or line.lstrip().startswith(("#", ";", "//")):
            if number > 0:
                return
            continue
        item = _ITEM.fullmatch(line)
        deeper = len(line) - len(line.lstrip(" \t")) > indent
        if not (deeper or (item is not None and item["mark"]) or number == 0):
            return
        if item is None or not _is_item(item, of_password):
            others += 1
            if others > _MOST_OTHERS:
                return
            continue
        others = 0
        yield start + item.start("value"), start + item.end("value")
        if not deeper and not item["mark"]:
            return


def _is_item(item: re.Match[str], of_password: bool) -> bool:
    """Return True if a line of a list under a name for secrets has one."""
    key = item["key"]
    if key and not _OF_VALUE.fullmatch(key) and is_something_else(key):
        return False
    return _is_listed(item["value"], of_password)


def _fed(text: str, head: re.Match[str]) -> Iterator[tuple[int, int]]:
    """Yield the lines of a here-document that are secrets, without the user before a colon."""
    for start, end in _lines(text, head.end()):
        line = text[start:end].strip()
        if line == head["end"] or not line:
            return
        if any(map(str.isspace, line)):
            continue
        user, colon, password = line.partition(":")
        value = password if colon and user.isalnum() else line
        if typed_password(value) and not is_said(value):
            begin = text.index(value, start)
            yield begin, begin + len(value)


def _typed(text: str, head: re.Match[str]) -> Iterator[tuple[int, int]]:
    """Yield the line that was typed after a command that reads a secret: where another prompt
    follows, any that is one value; else one that looks like a password."""
    for start, end in _lines(text, head.end()):
        line = text[start:end].strip()
        value = line.rpartition(": ")[2] if ": " in line else line
        if any(map(str.isspace, value)) or not login_password(value) or value[0] in "$#%>":
            return
        prompted = re.match(r"\s*(?:[\w@:~/.-]{0,60}[$#%>][ ]|$)", text[end : end + 80])
        if likely_password(value) or drawn_value(value) or (prompted and typed_password(value)):
            yield end - len(line) + len(line) - len(value), end
        return


def _before_comment(text: str, head: re.Match[str]) -> Iterator[tuple[int, int]]:
    """Yield the literal that a comment at the end of its line calls a secret."""
    begins = text.rfind("\n", max(head.start() - _LONGEST_LINE, 0), head.start()) + 1
    comment = text[head.start() : head.end() + _LONGEST_COMMENT].partition("\n")[0]
    if _OF_OTHERS.search(comment) is not None:
        return
    literals = list(_QUOTED.finditer(text, begins, head.start()))
    if literals and drawn_value(literals[-1]["value"]):
        yield literals[-1].span("value")


def _row(name: str, anchor: str, inside: Inside, pattern: str, sample: str) -> AnchoredRule:
    return rule_above(name, anchor, inside, pattern, sample)


BELOW: tuple[AnchoredRule, ...] = (
    *(_row("listed-secret", anchor, _listed, rf"(?i)(?P<name>{_NAME})[\"'`*\])]{{0,3}}{_OPENS}",
           f"app:\n  {sample}:\n    - {FILL[:20]}\n")
      for anchor, sample in (("pass", "passwords"), ("pwd", "pwd"), ("secret", "secrets"),
                             ("token", "tokens"), ("credential", "credentials"),
                             ("api", "api_keys"), ("access", "access_keys"), ("key", "app_key"),
                             ("pw", "app_pw"))),
    *(_row("command-secret", anchor, _fed, rf"(?i)(?:{_FED})[^\n|;<]{{0,120}}{_DELIMITER}",
           f"{sample} <<E\n{FILL[:12]}\nE\n")
      for anchor, sample in (("--pass", "docker login --password-stdin"),
                             ("--with-token", "gh auth login --with-token"),
                             ("secret", "cli secret set app"), ("passwd", "passwd app"),
                             ("credential", "cli credential add app"), ("login", "vault login -"),
                             ("sudo -s", "sudo -S"), ("cryptsetup", "cryptsetup open x"),
                             ("kinit", "kinit app"), (".pass", "cat > app.pass"),
                             ("token", "cat > app-token"), ("kubeseal", "kubeseal --raw"))),
    *(_row("named-secret", mark, _before_comment,
           rf"(?i){mark} (?:\w{{1,20}} ){{0,3}}(?:token|secret|key|password)(?!\w)",
           f'f("{FILL[:20]}") {mark} api token, part 1')
      for mark in ("//", "#", "--")),
    _row("command-secret", "read -", _typed,
         r"(?<!\w)read -(?:\w{0,4}s\w{0,3}|\w{1,2} -s)\b[^\n]{0,160}\r?\n",
         f"$ read -s APP\n{FILL[:12]}\n"),
)  # fmt: skip
