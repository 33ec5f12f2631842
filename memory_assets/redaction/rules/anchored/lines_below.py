"""Secrets in the lines below what names them: lists and blocks under a name, here-documents that
feed a command, what is typed after `read -s` and at prompts. Rows as in `table.py`; what a row's
pattern matches ends where the lines begin."""

from __future__ import annotations

import re
from collections.abc import Iterator

from memory_assets.redaction.rules.anchored.rule import (
    FILL,
    AnchoredRule,
    drawn_value,
    likely_password,
    login_password,
    quoted_password,
    rule_above,
    typed_password,
)
from memory_assets.redaction.rules.judging import values
from memory_assets.redaction.rules.judging.names import (
    PASSWORDS,
    NameKind,
    name_kind,
    name_of_service,
)
from memory_assets.redaction.rules.judging.phrases import (
    OF_CODE,
    is_line_of_words,
    is_mixture,
    is_one_word,
    is_said,
    is_technical,
    is_words,
)
from memory_assets.redaction.rules.mentioned.tokens import is_something_else

_LONGEST_LINE = 500
_SHORTEST = 8
_MOST_QUOTES = 6
_LONGEST_COMMENT = 100
_OF_OTHERS = re.compile(r"(?i)publi|example|\bids?\b|hash|name|sample|fake|dummy")
_MOST_LINES = 200
_FILE_OF_USERS = 5
"""So many colons are in a line of `/etc/passwd`."""
_MOST_OTHERS = 4
"""So many lines in a row without a secret end a list."""
_ITEM = re.compile(
    r"[ \t|>]*(?P<mark>(?:[-*•+]|\d{1,3}[.)])[ \t]{1,4})?"
    r"(?:[\"'`]?(?P<key>[\w.-]{1,60})[\"'`]?[ \t]?(?::|=>?)[ \t]{0,8})?"
    r"(?:[bru](?=[\"'])|[|>][+-]?$)?[\[({]?(?:[\w.@-]{1,40}(?::(?=\S)"
    r"|[ \t]{1,24}(?=\S)))?[\"'`]?(?P<value>[^\s\"'`,;<>{}\[\]()]{4,400})[\"'`]?[\])},;]{0,2}"
    r"[ \t]*\\?\r?"
)
_LITERAL_LINE = re.compile(r"[ \t]*[brf]?[\"'](?P<value>[^\"'\\]{1,200})[\"'][ \t]*\r?")
_USER = re.compile(r"[\w.-]+:(?=.)")
_CALL = re.compile(r"\w\($")
"""A bracket of arguments, and not of an array of the shell or of a tuple."""
_IDENTIFIER = re.compile(r"(?:[a-z]+_)+[a-z]*\d{0,3}")
_LONGEST_NAME = 40
_LAST_NAME = re.compile(r"[\w.-]*\Z")
_QUOTED = re.compile(r"[\"'](?P<value>[^\s\"'\\]{4,400})[\"']")
_OF_VALUE = re.compile(
    r"(?i)(?:\w*_)?(?:value|val|v|secret|password|pass|pw|token|key|data|content|default|text|example)"
    r"|\w{1,12}value"
)
_OF_NAME = re.compile(r"(?i)\w{0,20}(?:name|key|label|field|title)|id|k|n")
_MEMBER = re.compile(
    r"(?i)[\"',;{}\s/>-]{0,40}[<\"']?(?P<key>\w{1,30})[\"']?[ ]?(?:[:=]|(?=>))[ ]?"
    r"(?:[\"'](?P<quoted>[^\"'\n]{0,400})[\"']|>\s{0,60}(?P<inside>[^<>\s]{4,400})\s{0,60}</"
    r"|(?P<bare>[^\s\"'<>,;{}]{1,400}(?:[ ](?!\w{1,30}[ ]?[:=])[^\s\"'<>,;{}]{1,60}){0,12}))"
)
"""A further member of an object, an attribute or a line of a list."""
_MOST_MEMBERS = 6
_MOST_BLOCK_LINES = 2
_NAME = (
    r"(?:(?:pass(?:word|wd|phrase|code)|pwd|secret|token|credential)s?"
    r"|(?:(?<=[_-])|(?<![^\n]))(?:pass|pw|key)"
    r"|(?:api|access|secret|private|auth|signing|encryption|license|master|client|deploy"
    r"|unseal)[ _-]?"
    r"(?:key|secret|token)s?)"
)
_OPENS = (
    r"(?:(?: from [^\n:]{1,30})?[ \t]{0,4}(?::|=>?|:=)[ \t]{0,4}(?:[|>][+-]?\d?|[\[({]{1,2}"
    r"|\"{3}|'{3}|\\)?[ \t]{0,8}\\?\r?\n"
    r"|[ \t]{0,4}(?::|=>?)[ \t]{0,4}[A-Za-z_][\w:.!]{0,30}\([ \t]{0,4}\r?\n"
    r"|[ \t]{0,4}(?::|=>?)[ \t]{0,4}[\[(]{1,2}[ \t]{0,4}(?=[\"'])"
    r"|=\$\(cat <<-?[\"']?\w{1,20}[\"']?\r?\n"
    r"|(?<=s)[ \t]{0,8}\r?\n(?=[ \t]{1,24}[\w.@-]{1,40}[ \t]{1,24}\S{5,60}[ \t]*(?:\r?\n|$))"
    r"|[ \t]{0,2}[|>][+-]?[ \t]{0,4}\r?\n)"
)
_DELIMITER = r"<<-?[ ]?\\?[\"']?(?P<end>\w{1,20})[\"']?[^\n]{0,100}\r?\n"
_HEAD = re.compile(rf"(?i){_NAME}[\"'`*\])]{{0,3}}{_OPENS}")
_SETTING = re.compile(r"[A-Z_]{2,40}=.|[{\[<]|[\"'][^\"']*[\"']:|.*[{;,(]$|\$")
"""Lines of here-documents with a name of their own, and such of code."""
_FED = (
    r"(?:--?pass(?:word|phrase|wd)?-?(?:stdin|file[= ]-|fd[= ]\d)|--with-token|--token-stdin"
    r"|(?:secrets?|credentials?|token|env|password) (?:set|put|add|create|store|insert|update"
    r"|versions)\b"
    r"|(?:(?<![>/\w])(?<!> )|(?<=\bch)|(?<=\bht)|(?<=\bsmb)|(?<=\bvnc)|(?<=\bldap)|(?<=\bk)"
    r"|(?<=o_))passwd|\bkinit|\bcryptsetup|\bkubeseal|\bpass insert"
    r"|\bvault login|\bsecret-tool|\bsudo -S|\bauth login|\blogin -"
    r"|(?P<file>passw(?:or)?d|passphrase|secret|token|credential|\.pass|\.pw|_pass)s?"
    r"(?:\.(?:txt|pass|pw|key|secret|token|conf|cfg|json|ya?ml|jwt|dat))?(?=[\"']? <<))"
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


def _is_listed(value: str, name: str) -> bool:
    """Return True if `value`, in a list under the last words `name` of a name for secrets, is
    one."""
    if is_technical(value) or OF_CODE.search(value) is not None:
        return False
    if name == "pass":  # also a step of a compiler, or of what draws
        return drawn_value(value)
    if name.startswith(("pa", "pw")):
        return (
            likely_password(value)
            or is_mixture(value)
            or is_words(value)
            or (len(value) >= _SHORTEST and drawn_value(value))
        )
    if len(value) < _SHORTEST or _IDENTIFIER.fullmatch(value) is not None:
        return False
    return (
        drawn_value(value)
        or (likely_password(value) and values.has_digit(value))
        or values.is_uuid(value)
    )


def _listed(text: str, head: re.Match[str]) -> Iterator[tuple[int, int]]:
    """Yield the secrets in the lines that belong to a name, up to one that names others."""
    name = head["name"].lower()
    line = text[max(head.start() - _LONGEST_LINE, 0) : head.start()].rpartition("\n")[2]
    qualifier = _LAST_NAME.findall(line[-_LONGEST_NAME:])[0]
    if name == "pass" and (not qualifier or qualifier.strip("_-").lower() + name in PASSWORDS):
        name = "password"
    stem = "password" if name.startswith(("pa", "pw")) else name.removesuffix("s")
    if name_kind(qualifier + stem) is NameKind.PLAIN:
        return
    indent = len(line) - len(line.lstrip(" \t"))
    opened = head.group().rstrip()
    is_call = _CALL.search(opened) is not None
    if stem == "password" and (block := _block(text, head, indent)):
        yield block
        return
    if opened.endswith("(") and (literals := _literals(text, head.end(), name)):
        yield from literals
        return
    others = 0
    is_apart = False
    for number, (start, end) in enumerate(_lines(text, head.end())):
        line = text[start:end]
        if number and _HEAD.search(text, start, end + 1) is not None:
            return
        if head.group()[-1] != "\n" and number == 0:
            for quoted in _QUOTED.finditer(line):
                if _is_listed(quoted["value"], name):
                    yield start + quoted.start("value"), start + quoted.end("value")
            if "]" in line or ")" in line:
                return
            continue
        if not line.strip() or line.lstrip().startswith(("#", ";", "//")):
            is_apart = is_apart or (number > 0 and not line.strip())
            continue
        item = _ITEM.fullmatch(line)
        if is_call and item is not None and line[item.start("value") - 1] not in "\"'`":
            return
        deeper = len(line) - len(line.lstrip(" \t")) > indent
        if not (deeper or (not is_apart and ((item is not None and item["mark"]) or number == 0))):
            return
        if item is None or not _is_item(item, name):
            others += 1
            if others > _MOST_OTHERS:
                return
            continue
        others = 0
        yield start + item.start("value"), start + item.end("value")
        if not deeper and not item["mark"]:
            return


def _block(text: str, head: re.Match[str], indent: int) -> tuple[int, int] | None:
    """Return the range of a password that is a whole block of one line or two, with blanks or signs
    among it."""
    if head.group().rstrip()[-1] not in "|>+-\"'":
        return None
    spans = list[tuple[int, int]]()
    for start, end in _lines(text, head.end()):
        line = text[start:end].strip("\r")
        if not line.strip() or line.strip() in ('"""', "'''"):
            break
        if (
            line.strip()
            and len(line) - len(line.lstrip(" \t")) <= indent
            and head.group().rstrip()[-1] not in "\"'"
        ):
            break
        if len(spans) == _MOST_BLOCK_LINES:
            return None
        spans.append((start + len(line) - len(line.lstrip(" \t")), start + len(line.rstrip())))
    if not spans:
        return None
    value = " ".join(text[start:end] for start, end in spans)
    if not (
        is_line_of_words(value) or (" " not in value and typed_password(value) and _is_block(value))
    ):
        return None
    return spans[0][0], spans[-1][1]


def _is_block(value: str) -> bool:
    """Return True if `value`, all of a block, is words or numbers with signs between them."""
    return (
        len(value) >= _SHORTEST
        and not value.isalpha()
        and not is_said(value)
        and is_words(value.replace(";", "-"))
    )


def _literals(text: str, at: int, name: str) -> list[tuple[int, int]]:
    """Return the ranges of literals on lines of their own that are one secret together."""
    spans = []
    for start, end in _lines(text, at):
        literal = _LITERAL_LINE.fullmatch(text, start, end)
        if literal is None:
            break
        spans.append(literal.span("value"))
    value = "".join(text[start:end] for start, end in spans)
    is_one = len(spans) > 1 and (_is_listed(value, name) or is_words(value))
    return spans if is_one else []


def _is_item(item: re.Match[str], name: str) -> bool:
    """Return True if a line of a list under a name for secrets has one. What is below a name for
    one secret says how it is, unless it looks drawn."""
    key, value = item["key"], item["value"]
    is_named = key and not _OF_VALUE.fullmatch(key)
    if is_named and (is_something_else(key) or not (name.endswith("s") or drawn_value(value))):
        return False
    return _is_listed(value, name)


def _fed(text: str, head: re.Match[str]) -> Iterator[tuple[int, int]]:
    """Yield the lines of a here-document that are secrets, without the user before a colon; of one
    that is written to a file, the only line."""
    for_users = text.endswith("ch", 0, head.start())
    spans = []
    for start, end in _lines(text, head.end()):
        line = text[start:end].strip()
        if line == head["end"] or not line or "<<" in line:
            break
        user = _USER.match(line) if for_users or head["file"] else None
        value = line[user.end() :] if user else line
        if (
            not any(map(str.isspace, line))
            and (for_users or _SETTING.match(line) is None)
            and line.count(":") < _FILE_OF_USERS
            and typed_password(value)
            and not is_said(value)
        ):
            begin = text.index(line, start) + len(line) - len(value)
            spans.append((begin, begin + len(value)))
        elif head["file"]:
            return
    if len(spans) == 1 or not head["file"]:
        yield from spans


def _typed(text: str, head: re.Match[str]) -> Iterator[tuple[int, int]]:
    """Yield the line that was typed after a command that reads a secret: where another prompt
    follows, any that is one value; else one that looks like a password."""
    start, end = next(_lines(text, head.end()), (0, 0))
    line = text[start:end].strip()
    value = line.rpartition(": ")[2] if ": " in line else line
    if any(map(str.isspace, value)) or not login_password(value) or value[0] in "$#%>":
        return
    prompted = not is_said(value) and re.match(
        r"\s*(?:[\w@:~/.-]{0,60}[$#%>][ ]|$)", text[end : end + 80]
    )
    if likely_password(value) or drawn_value(value) or (prompted and typed_password(value)):
        begin = text.rindex(value, start, end)
        yield begin, begin + len(value)


def _before_comment(text: str, head: re.Match[str]) -> Iterator[tuple[int, int]]:
    """Yield the literal that a comment at the end of its line calls a secret."""
    name = head["name"].lower()
    if name == "key" or name_kind(name.replace(" ", "_")) < NameKind.TOKEN:
        return
    comment = text[head.start() : head.end() + _LONGEST_COMMENT].partition("\n")[0]
    if _OF_OTHERS.search(comment) is not None:
        return
    first = max(head.start() - _LONGEST_LINE, 0)
    begins = max(text.rfind("\n", first, head.start()) + 1, first)
    ends = head.start()
    for _ in range(_MOST_QUOTES):
        ends = max(text.rfind(quote, begins, ends) for quote in "\"'")
        if ends < 0:
            return
        opens = text.rfind(text[ends], begins, ends)
        literal = _QUOTED.match(text, opens) if opens >= 0 else None
        if literal and drawn_value(literal["value"]):
            yield literal.span("value")
            return
        ends = opens if opens >= 0 else ends


def _paired(text: str, head: re.Match[str]) -> Iterator[tuple[int, int]]:
    """Yield what the members or lines behind one that names a secret give as its value."""
    name = head["name"].strip()
    kind = name_kind(name.replace(" ", "_"))
    of_any_key = head.group().lower().startswith("keyname")
    if of_any_key:
        kind = NameKind.TOKEN
    if name.lower().endswith(("pass", "pw")):
        kind = NameKind.PASSWORD
    at = head.end()
    for _ in range(_MOST_MEMBERS if kind >= NameKind.TOKEN else 0):
        member = _MEMBER.match(text, at)
        if member is None:
            return
        at = member.end()
        value = member["quoted"] or member["bare"] or member["inside"]
        if _OF_NAME.fullmatch(member["key"]) or not value:
            return
        if _OF_VALUE.fullmatch(member["key"]) is None:
            continue
        if drawn_value(value) or (
            not of_any_key and _is_valued(value, kind is NameKind.PASSWORD, name)
        ):
            begin = text.rindex(value, member.start(), at)
            yield begin, begin + len(value)
        return


def _is_valued(value: str, is_password: bool, name: str) -> bool:
    """Return True if `value`, in a member beside the `name` of a secret, is one."""
    if not is_password:
        return drawn_value(value) or (likely_password(value) and not is_technical(value))
    return (
        quoted_password(value)
        or _is_listed(value, "password")
        or (name_of_service(name) and is_one_word(value))
    )


LINES_BELOW: tuple[AnchoredRule, ...] = (
    *(rule_above("paired-secret", key, _paired,
           rf"(?i)(?<![a-z])(?:\w{{1,12}}:)?{key}[\"']?\s?[:=]\s?[\"']?"
           r"(?P<name>[\w. -]{0,40}(?:pass(?:word|wd|phrase)?|pwd|pw|secret|token|key"
           r"|credential)s?[\w -]{0,12})"
           r"(?=[\"'\s,;])", f'{{"{key}": "password", "value": "{FILL[:12]}"}}')
      for key in ("name", "key", "field", "label", "id", "k", "title", "variable")),
    rule_above("paired-secret", "keyname", _paired,
         r"(?i)keyname[\"']?\s?[:=]\s?[\"']?(?P<name>[\w.-]{1,60})(?=[\"'\s,;])",
         f'{{"keyName": "key1", "value": "{FILL[:44]}"}}'),
    *(rule_above("listed-secret", anchor, _listed,
           rf"(?i)(?P<name>{_NAME})[\"'`*\])]{{0,3}}{_OPENS}",
           f"app:\n  {sample}:\n    - {FILL[:20]}\n")
      for anchor, sample in (("pass", "passwords"), ("pwd", "pwd"), ("secret", "secrets"),
                             ("token", "tokens"), ("credential", "credentials"),
                             ("api", "api_keys"), ("access", "access_keys"), ("key", "app_key"),
                             ("unseal", "unseal keys"),
                             ("pw", "app_pw"))),
    *(rule_above("command-secret", anchor, _fed, rf"(?i)(?:{_FED})[^\n|;<]{{0,120}}{_DELIMITER}",
           f"{sample} <<E\n{FILL[:12]}\nE\n")
      for anchor, sample in (("--pass", "docker login --password-stdin"),
                             ("--with-token", "gh auth login --with-token"),
                             ("secret", "cli secret set app"), ("passwd", "passwd app"),
                             ("credential", "cli credential add app"), ("login", "vault login -"),
                             ("sudo -s", "sudo -S"), ("cryptsetup", "cryptsetup open x"),
                             ("kinit", "kinit app"), (".pass", "cat > app.pass"),
                             ("token", "cat > app-token"), ("kubeseal", "kubeseal --raw"))),
    *(rule_above("named-secret", mark, _before_comment,
           rf"(?i){mark} (?P<name>(?:\w{{1,20}} ){{0,3}}(?:token|secret|key|password))(?!\w)",
           f'f("{FILL[:20]}") {mark} api token, part 1')
      for mark in ("//", "#", "--")),
    rule_above("command-secret", "read -", _typed,
         r"(?<!\w)read -(?:\w{0,4}s\w{0,3}|\w{1,2} -s)\b[^\n]{0,160}\r?\n",
         f"$ read -s APP\n{FILL[:12]}\n"),
)  # fmt: skip
