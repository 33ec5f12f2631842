"""Secrets behind a label: `admin pw (temporary): X`, `PSK X on both ends`, `Enter passphrase:` over
X, recovery codes under words that announce them.

The label says without doubt what stands behind it, so only the exceptions are judged
(`judging/named_values.py`). For the engine: `find_labelled` is asked at every word for passwords of
`mentioned/` and at `KEYWORDS`; it looks at the line, and at the lines below.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from memory_assets.redaction.rules.anchored.rule import mixed_password
from memory_assets.redaction.rules.judging import values
from memory_assets.redaction.rules.judging.likelihood import is_generated
from memory_assets.redaction.rules.judging.named_values import (
    Place,
    is_named_secret,
    is_number,
    is_passphrase,
)
from memory_assets.redaction.rules.judging.names import (
    NameKind,
    is_of_board,
    name_kind,
    says_secret,
)
from memory_assets.redaction.rules.judging.password_look import LIKELY, UNUSUAL, shape
from memory_assets.redaction.rules.judging.phrases import is_function, is_listed
from memory_assets.word_lists import words

KEYWORDS = tuple(
    word.encode()
    for word in (
        *words("psk puk passcode"),
        *(f"{word}{sign}" for word in ("secret", "pass", "code", "key", "token", "cookie")
          for sign in (":", "=", " =", " (", " is:", " ->", " ..", " >>", " ?")),
        "pass ", "secret ", "codes",
    )
)  # fmt: skip
"""Lower-case words, besides those of sentences, that begin or end labels."""
_WORD = re.compile(
    r"(?i)(?:(?P<certain>(?:pas+w(?:or[dt]|d)s?|pass ?phrase|passwort|kennwort|contrase\w{1,2}a"
    r"|mots? de passe|senha|wachtwoord|has[lł]o|heslo|l.senord|пароль|пароля|密码|パスワード"
    r"|(?<![a-z])(?:pass|pwd?|psk)|(?<=enable )secret|(?<=shared )secret|(?<=client )secret"
    r"|(?<=radius )secret|(?<=jwt )secret|(?<=signing )secret|(?<=webhook )secret"
    r"|(?<=fi )key|(?<=wifi )key|(?<=wlan )key|(?<=network )key)(?:\d{1,2})?)"
    r"|(?P<number>(?<![a-z])(?:pin|puk)\d?|passcode|(?<=unlock )code|(?<=door )code|(?<=gate )code"
    r"|(?<=access )code|(?<=alarm )code|(?<=safe )code|(?<=security )code|(?<=entry )code)"
    r"|(?P<weak>(?<![a-z])(?:secret|token|cookie)))"
    r"(?![\w-])"
)
_REMARK = r"(?:[ ]?\([^()\n]{1,60}\)|\*\*|`)?"
_SIGN = re.compile(
    rf"{_REMARK}(?:[ \t]*(?::(?=[ \t\"'`“«*]|(?<=ss:)\S|(?<=\):)\S)|=(?![=>])|->|→|=>|>>|~>|：)"
    r"|[ \t]?\.{3,60}:?|[ ](?i:is|ist):)"
    r"[ \t]*(?P<quote>[\"'`“«*]{0,3})(?=\S)"
)
_BLANK = re.compile(r"[ \t]{1,4}(?:[05-9] (?=\S))?(?P<quote>[\"'`“«*]{0,3})(?=[^\s:=(])")
_REST = re.compile(
    r"(?P<value>\S{2,100}?(?:[ ]\S{1,40}?){0,8}?)"
    r"(?=[ \t]*\r?(?:\n|$)|[ \t]+(?:\(|#|//|-{1,2}[ ]|—|–|<|[/|\[][ ])|[ \t]*[,;](?:\s|$)|[ ]{2,}"
    r"|\.(?:\s|$))"
)
_CLOSING = {"“": "”", "«": "»"}
_ASKED = re.compile(
    r"(?:[ ](?:for|of|to|on)[ ][^\n:?]{1,60}|[ ]\([^()\n]{1,40}\))?:[ \t]*\r?\n(?:[ \t]*\r?\n)?"
    r"[ \t>]{0,12}(?P<value>\S[^\n]{2,80}?)[ \t]*(?=\r?\n|$)"
)
"""A prompt, and the line that was typed below it."""
_INDENTED = re.compile(r"(?:^|\n)[ \t]*$")
_DRAWN_ALONE = re.compile(r"(?=\S*[!#$%&+*@^?])\S{4,100}(?=[ \t]*(?:[\r\n]|$))")
_OF_ROUTER = re.compile(r"[ \t]*(?:enable|username \S{1,40}|neighbor \S{1,40}) ")
_USER = re.compile(r"(?i)(?<![a-z])(?:user|login|account|ssid)")
_NOT_TYPED = re.compile(
    r".*[@~:\]\\].*[#$%>]|[A-Za-z]:\\.*|\S+@\S+\.\S+|-.*|[`~]{3}.*|[\w.\[\]]+[ ]?[:+]?=[^=].*"
)
"""What stands below a prompt but is no answer: a shell, an address, a fence, an assignment."""
_OF_COLUMN = re.compile(r"[ \t]{0,4}\.{3,60}:?[ \t]*|[ \t]{2,}")
"""What fills a line of a list between a name and its value."""
_HEAD = re.compile(
    r"(?:^|[,;/|(]|[.:][ ]|[ ]-[ ])[ \t>*#•|+-]*(?P<words>(?:[^\W_][\w.'’&+-]*[ ]){0,4})(?:\w+\.)?$"
)
"""What stands before a label: the beginning of the line or of a part of it, and a few words."""
_CODES_OF = re.compile(
    r"(?i)(?:recovery|backup|scratch|one-time|emergency|2fa|mfa|activation)[ _-]$"
)
_CODE_LINE = re.compile(
    r"[ \t>*•-]*(?:\d{1,2}[.):][ \t]+)?[\"']?(?P<value>(?=[^\n]{0,40}\d)[A-Za-z0-9]{4,12}"
    r"(?:[ -][A-Za-z0-9]{3,12}){0,3})[\"']?,?[ \t]*\r?"
)
_QUOTED_CODE = re.compile(
    r"[\"'](?P<value>(?=[^\"'\n]{0,30}\d)[A-Za-z0-9]{4,12}(?:-[A-Za-z0-9]{3,12}){0,3})[\"']"
)
_CODE_BEHIND = re.compile(
    r"(?<![\w-])(?=[\w-]{0,40}\d)[A-Za-z0-9]{4,12}(?:-[A-Za-z0-9]{3,12}){1,3}(?![\w-])"
)
_LONGEST_CUE = 20
_OF_CODE = re.compile(r"[()\[\]{}<>;\"'`]|&$|,$|^&")
_DRAWN = 12
_MOST_CODES = 30
_MOST_OTHERS = 3
"""Lines without a code before the first line with one."""
_LONGEST = 200
"""Characters of a line that are read."""


def find_labelled(text: str, position: int) -> Iterator[tuple[int, int]]:
    """Yield the ranges of the secrets behind the label that ends with the word at `position`."""
    if text.startswith(("code", "Code", "CODE"), position):
        yield from _recovery_codes(text, position)
    label = _WORD.match(text, position)
    if label is None:
        return
    if label.group().lower() == "pass" and not _is_password(text, position):
        yield from _in_column(text, position, label.end())
        return
    line_start = max(position - _LONGEST, 0)
    line_start = max(text.rfind("\n", line_start, position) + 1, line_start)
    head = _HEAD.search(text[line_start:position])
    if head is None or (label["number"] and is_of_board(head["words"])):
        return
    sign = _SIGN.match(text, label.end())
    if sign is not None:
        span = _value_after(text, label, sign)
        if span is not None:
            yield span
        return
    prompt = _ASKED.match(text, label.end()) if label["certain"] else None
    if prompt is not None:
        value = prompt["value"]
        if not _NOT_TYPED.fullmatch(value) and _is_asked(value, label.group()):
            yield prompt.span("value")
        return
    blank = _BLANK.match(text, label.end())
    if blank is not None and not label["weak"]:
        span = _value_after(text, label, blank)
        if span is not None and _is_alone(text, line_start, label, head["words"], span):
            yield span


def _in_column(text: str, first: int, end: int) -> Iterator[tuple[int, int]]:
    """Yield the range of a drawn value in the column beside the label from `first` to `end`, if the
    line has nothing else."""
    filled = _OF_COLUMN.match(text, end)
    if filled is None or not _INDENTED.search(text[max(first - 80, 0) : first]):
        return
    value = _DRAWN_ALONE.match(text, filled.end())
    if (
        value is not None
        and mixed_password(value.group())
        and is_named_secret(value.group(), Place.LINE)
    ):
        yield value.span()


def _is_password(text: str, position: int) -> bool:
    """Return True if `pass` is short for a password: behind whose it is, or beside a user."""
    if text.startswith("PASS", position):
        return False
    before = text[max(position - 80, 0) : position]
    beside = before.rstrip().rpartition(" ")[2].rpartition("\n")[2]
    return _USER.search(before) is not None or says_secret(f"{beside}_pass")


def _is_asked(value: str, label: str) -> bool:
    phrase = "hrase" in label.lower()
    return (phrase and is_passphrase(value, quoted=False)) or (
        " " not in value and is_named_secret(value, Place.LINE)
    )


def _value_after(text: str, label: re.Match[str], link: re.Match[str]) -> tuple[int, int] | None:
    """Return the range of the value that a label and a link give, if it is a secret."""
    start = link.end()
    quote = link["quote"]
    line_end = text.find("\n", start, start + _LONGEST)
    line_end = min(len(text), start + _LONGEST) if line_end < 0 else line_end
    end = -1
    if quote:
        closing = "".join(_CLOSING.get(sign, sign) for sign in reversed(quote))
        end = text.find(closing, start, line_end)
    if end < 0:
        line_rest = _REST.match(text, start, line_end)
        if line_rest is None:
            return None
        end = line_rest.end()
    if text[start - 1] == "=" and " " in text[start:end]:  # other settings follow
        end = text.index(" ", start)
    if link.re is _BLANK and shape(text[start:end].partition(" ")[0]) >= LIKELY:
        end = start + len(text[start:end].partition(" ")[0])
    value = text[start:end]
    return (start, end) if _is_secret(value, label, quoted=bool(quote)) else None


def _is_secret(value: str, label: re.Match[str], *, quoted: bool) -> bool:
    if not quoted and _OF_CODE.search(value) is not None:
        return False
    if label["number"]:
        return is_number(value) or (
            " " not in value
            and values.has_digit(value)
            and not value[0].isalpha()
            and is_named_secret(value, Place.LINE)
        )
    if " " in value:
        sure = "hrase" in label.group().lower()
        if label["weak"] and not (quoted and label.group().lower() == "secret"):
            return False
        return is_passphrase(value, quoted=quoted or sure) and (
            quoted
            or sure
            or not (
                any(is_function(word) or is_listed(word) for word in value.split())
                or value.istitle()
            )
        )
    return is_named_secret(value, Place.LINE) and (not label["weak"] or _is_worded(value))


def _is_worded(value: str) -> bool:
    """Return True if `value`, of a name for tokens, is of three parts or more, with a number."""
    return value.count("-") > 1 and values.has_digit(value) and not values.is_uuid(value)


def _is_alone(
    text: str, line_start: int, label: re.Match[str], before: str, span: tuple[int, int]
) -> bool:
    """Return True if a value behind a blank is no word that goes on: `password reset`."""
    value = text[slice(*span)]
    if _OF_ROUTER.fullmatch(text, line_start, label.start()):
        return text[span[1] : span[1] + 1] in ("", "\n", "\r")
    if name_kind(f"password_{value}") is NameKind.PLAIN or " " in value:
        return False
    if any(is_function(word) or (value.isalpha() and is_listed(word)) for word in before.split()):
        return False
    if len(before.split()) > 2:
        return False
    if label["number"]:
        return True
    if not value.isalpha():
        return shape(value) >= UNUSUAL or is_generated(value, _DRAWN)
    following = text[span[1] : span[1] + 1]
    line = text[line_start : label.start()].lower()
    if following == ",":
        return "user" in line
    if following not in ("", "\n", "\r"):
        return False
    if label.group().lower() in ("pw", "psk", "pwd"):
        return not line.strip() or says_secret(f"{line.split()[-1]}_pw")
    if line.strip():
        return False
    above = text[max(line_start - 80, 0) : line_start].rstrip().rpartition("\n")[2]
    return _USER.match(above.lstrip()) is not None


def _recovery_codes(text: str, position: int) -> Iterator[tuple[int, int]]:
    """Yield the codes below or behind words that announce codes for recovery."""
    if _CODES_OF.search(text[max(position - 12, 0) : position]) is None:
        return
    end = text.find("\n", position, position + _LONGEST)
    line = text[position : end if end >= 0 else position + _LONGEST]
    if "[" in line or '"' in line:
        for quoted in _QUOTED_CODE.finditer(text, position, position + 5 * _LONGEST):
            yield quoted.span("value")
        return
    behind = line.find(":")
    if 0 < behind < _LONGEST_CUE:
        for listed in _CODE_BEHIND.finditer(text, position + behind, position + len(line)):
            yield listed.span()
    codes: list[tuple[int, int]] = []
    other_lines = 0
    while end >= 0 and other_lines <= _MOST_OTHERS and len(codes) < _MOST_CODES:
        start = end + 1
        end = text.find("\n", start, start + _LONGEST)
        code = _CODE_LINE.fullmatch(
            text, start, end if end >= 0 else min(len(text), start + _LONGEST)
        )
        if code is not None:
            codes.append(code.span("value"))
        elif codes:
            break
        else:
            other_lines += 1
    if len(codes) > 1:
        yield from codes
