"""Find the values assigned to names of secrets, in every common syntax.

`KEY=value` (env, shell, INI), `key: value` (YAML, headers), `"key": "value"` (JSON, also
escaped), `key = "value"` and `key: str = "value"` (code, TOML), `f("key", "value")`,
`--key value`, `<key>value</key>`, `<add key="..." value="..."/>`, `name: KEY` over
`value: ...`. Only the value is reported. The scan starts from keyword positions that
the caller found; each step from there looks at a bounded stretch of text.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from memory_assets.redaction.rules.anchored.rule import (
    likely_password,
    mixed_password,
    spoken_password,
)
from memory_assets.redaction.rules.judging import values
from memory_assets.redaction.rules.judging.likelihood import evidence, is_generated
from memory_assets.redaction.rules.judging.named_values import (
    Place,
    is_name,
    is_named_secret,
    is_number,
)
from memory_assets.redaction.rules.judging.names import (
    NameKind,
    is_of_board,
    name_kind,
    names_number,
    says_secret,
)
from memory_assets.redaction.rules.judging.phrases import Look, is_mixture, is_words, look_of
from memory_assets.word_lists import words

RULES = {
    NameKind.PASSWORD: "assigned-password",
    NameKind.TOKEN: "assigned-secret",
    NameKind.VENDOR: "assigned-secret",
}

_NAME_BEFORE = re.compile(r"[\w.\-]{0,48}")
_AFTER = re.compile(
    r"""(?x)
    (?P<name> [\w.\-]{2,60} )
    (?P<close> \\{0,3} (?: ["'`] | &quot; | \*\* )? (?: \[\d{0,4}\] | :protected | :private )?
      [\])]{0,2} )
    (?:
        (?P<typed> : [ \t]{0,24} [A-Za-z&][\w.\[\]<>|?\ ]{0,40} = [ \t]{0,24} (?=["'`]) )
      | [ \t]{0,24}
        (?P<sep> :{0,3}= (?:>|={0,2}) | [?.+|]{1,2}= | !={1,2} | <- | : | =>? | -[ ] ) [ \t]{0,24}
        (?: \\?\r?\n [ \t]{1,24} (?=["']) )?
      | (?P<pair> [ \t]{0,8} , \s{0,24} (?=\\{0,3}["'`]) )
      | (?P<serial> ;s:\d{1,4}: (?=\\?") )
      | (?P<item> [ \t]{0,8} \r?\n [ \t]{0,24} -[ \t]{1,4} (?!-) )
      | (?P<label> </\w{1,10}> :? \s{0,24} <\w{1,10}(?:[ ][^<>\n]{0,80})?> \s{0,24} )
      | (?P<xml> (?:[ ][\w:.-]{1,30}=["'][^"'<>]{0,60}["']){0,3} > \s{0,24} )
      | (?P<named> \s{1,24} (?:value|default) [ \t]{0,8} [:=] [ \t]{0,8}
                 | [ ]\{\s{1,24} (?: (?!default) \w{1,20} [ ]{0,12} = [^\n{}]{1,100} \s{1,24} ){0,4}
                   default [ ]{0,8} = [ ]{0,8} )
      | (?P<call> (?: \( | [ \t]{0,4} \{ ) [ \t]{0,4} (?=["'`]) )
      | (?P<space> [ \t]{1,8} )
    )
    """
)
_QUOTES = frozenset("'\"")
_QUOTE = re.compile(
    r"(?:\[\]byte\(|(?:un|from)hex\(|\s{0,24}string\(\d{1,4}\)[ ]"
    r"|(?:new )?[A-Z]\w{0,24}(?:(?:::|\.)\w{1,16})?\(|[rRbBfFuUN@]{0,2})(\\{0,3}[\"'`]|&quot;)"
)
SCHEMES = words(
    "bearer basic token apikey api-key key digest negotiate oauth ssws splunk geniekey bot discogs"
    " accesskey snyk flyv1 shippotoken klaviyo-api-key zoho-oauthtoken rest-token"
)
_SCHEME = re.compile(
    rf"(?i)(?:{'|'.join(SCHEMES)})[ \t]{{1,4}}(?:(?:token|key|api_key|access_token)=)?(?=\S)"
)
_BARE = re.compile(r"[^\s\"'`<>,;(){}\[\]|\\&]{1,2000}")
_ELEMENT = re.compile(r"(?=[^<>\s]{0,100}&(?:\w{2,5}|#\d{2,5});)[^<>\s]{4,200}(?=</)")
"""A value with entities in it, all of an element."""
_LINE_VALUE = re.compile(
    r"(?!\d{4})[^\s\"'`<>,;(){}\[\]|\\&=]{4}(?=[^\s\"'`=]{0,95}[<>,;(){}\[\]|\\&])"
    r"[^\s\"'`=]{4,96}(?<![,;])(?=[,;]?[ \t]*(?:\r?\n|$))"
)
"""A value with signs that mean something to shells, alone in the rest of its line."""
_CERTAIN_LINE = re.compile(
    r"(?=\S{1,60}\d)[^\W_](?:[\w.!#%*+@^~:?/-]|[,;|&'\"`](?=\w)){4,60}"
    r"(?=[ \t]*(?:\r?\n|$|[ \t]#))"
)
"""A value that is alone in the rest of its line, with such signs or quotes inside, for a name that
leaves no doubt."""
_DIVIDING = re.compile(r"[,;|&]|['\"`](?=[^'\"`]*$)")
_LINE_BEGINS = re.compile(r"(?:^|\n)[ \t]*(?:export |- |ENV )?$")
_LINE_BITS = 20
_INTERPOLATED = re.compile(r"\{[A-Za-z_][\w.()\[\]]{0,60}\}|\$[{(]|%[sd]|<[\w -]{1,60}>")
_DECLARES = re.compile(r"(?:[Ss]tring(?:_view)?|auto|char|QByteArray|CString)[ \t]{1,4}[*&]?$")
"""What stands before a variable of C++ that is declared with its value: `std::string name("...")`.
"""
_CALL_BEFORE = re.compile(r"\(\s{0,4}\\{0,3}[\"'`]$")
_CONNECTION = re.compile(
    r"(?i)(?:server|data source|host|uid|user(?:name| ?id)?|database|initial catalog|dbname"
    r"|driver|provider|account(?:name)?|endpoint)\s?=[^\r\n]{0,160};\s{0,4}$"
)
_OF_PHRASES = re.compile(
    r"(?i)(?:salt|pepper|(?:shared|signing|jwt|client|session|app|webhook|cookie)[_-]?secret"
    r"|signing_?key|secret_?key(?:_base)?)$"
)
_LONG_WORDS = re.compile(r"(?:[^\W\d_]+[-_.]){2}")
"""Three words or more, which are given to names of drawn values as passwords are."""
_WEAK_NAMES = frozenset({"key", "pw", "keys", "auth", "pass", "token", "tokens", "secrets"})
_JOINT = re.compile(
    r"[\"'][ \t]{0,4}(?:(?:\r?\n[ \t]{0,40})?[+.]\s{0,40}|\\?\r?\n[ \t]{1,40})[\"']"
)
_JOINED = re.compile(rf"(?:{_JOINT.pattern}[^\"'\n\\]{{1,400}}(?=[\"'])){{1,40}}")
"""The literals that code joins to the value before them."""
_MORE = re.compile(r"[,;|][ ]?[\w+/=.~-]{6,200}(?=[,;|\s\"'\])]|$)")
"""A further value of a list without quotes."""
_LONGEST_VALUE = 4_000
_LONG_VALUE = 128
_MOST_LISTED = 40
_SHORTEST_TOKEN = 8
"""`_is_token` accepts no shorter value."""
_BASE64 = re.compile(r"[A-Za-z0-9+/]{12,88}={0,2}$")
_SALT = re.compile(
    r"(?=(?:[^\W_]*[^\w\s]){5})(?=.*\d)(?=.*[a-z])(?=.*[A-Z])(?!.*[a-z]{6})\S+(?: \S+){1,4}(?<="
    r".{24})"
)
"""Drawn characters with blanks among them."""
_BASE64_BITS = 15
"""Bits of evidence that base64 must have where a slash makes it look like a path."""
_SHORTEST_NUMBER = 20
_VERSION = re.compile(r"\d\.\d")
_TOKEN_BITS = 5
_CALL_BITS = 12
"""Bits of evidence that the argument of a call must have: `setToken("...")`."""
_LETTERS_BITS = 12
"""Bits of evidence that a password of letters alone must have where code may stand."""
_VENDORS_KEY = 20
"""Bits of evidence that a value with a name of kind VENDOR must have."""
_CERTAIN_BITS = 40
"""Bits of evidence after which even a weak name's value with hyphens is a secret."""


class Assignment(NamedTuple):
    """The result at a keyword: where to continue, and the secret's range and rule, "" if it is
    none."""

    resume: int
    start: int = 0
    end: int = 0
    rule: str = ""


def find_assignment(text: str, position: int) -> Assignment | None:
    """Return the secret assigned to the name around `position`; None if nothing is assigned.

    `resume` is after further keywords of the same name, and after a long value that is no secret:
    judging it again at each keyword in it would take quadratic time.
    """
    after = _AFTER.match(text, position)
    preceding = text[max(position - 49, 0) : position]
    if after is None or _has_no_sign(text, after, preceding):
        return None
    before = _NAME_BEFORE.match(preceding[::-1])
    head = before.group()[::-1] if before is not None else ""
    first = position - len(head)
    name = head + after["name"]
    if not _is_assignment(text, first, name, after):
        return None
    kind = name_kind(name.strip(".-"))
    around = text[max(position - 80, 0) : position + len("key")]
    of_number = kind is NameKind.PLAIN and names_number(name)
    if kind is NameKind.PLAIN and not of_number:
        return None
    if name.endswith("key") and values.is_key_of_element(around):
        return None
    span = _value_span(text, first, after.end(), name)
    if span is None:
        return None
    start, end, quoted = span
    value = text[start:end]
    if of_number:
        number = Assignment(end, start, end, RULES[NameKind.PASSWORD])
        return number if is_number(value) else Assignment(after.end())
    if ")" in after["close"] and values.is_checksum(text[max(first - 140, 0) : first], value):
        return None
    if quoted and (kind is NameKind.PASSWORD or end - start >= _SHORTEST_TOKEN):
        end = _end_of_joined(text, end)
        value = _JOINT.sub("", text[start:end])
    quoted = quoted or after["xml"] is not None or after["label"] is not None
    if _MORE.match(text, end) and name.lower().endswith("s"):
        end = _end_of_list(text, end)
    if after["call"] is not None and not _may_take(text, first, (name, kind), after, value):
        return Assignment(after.end())
    if name.startswith("-") and _OPTION.fullmatch(value):
        return Assignment(after.end())
    if _is_named_secret(text, first, (name, kind), after, (start, end), quoted):
        return Assignment(end, start, end, RULES[kind])
    no_secret = Assignment(after.end() if quoted or end - start <= _LONG_VALUE else end)
    if not _is_secret(value, kind, quoted, text[end : end + 1]) and not (
        (text[start - 6 : start - 1].lower() == "basic" and values.is_basic_credential(value))
        or _is_query_value(text, first, value, kind)
        or _is_header_value(name, after["sep"], value)
        or (_OF_PHRASES.search(name) is not None and _is_of_words(value, quoted))
    ):
        return no_secret
    if name.lower() in _WEAK_NAMES and not _is_weakly_named(text, position, value, quoted):
        return no_secret
    return Assignment(end, start, end, RULES[kind])


def _may_take(
    text: str, first: int, named: tuple[str, NameKind], after: re.Match[str], value: str
) -> bool:
    """Return True if the value in brackets may be the name's: of a variable of C++, in braces or in
    parentheses behind its type; or of a call, if it was drawn."""
    if "{" in after["call"] or _DECLARES.search(text[max(first - 24, 0) : first]) is not None:
        return True
    name, kind = named
    of_keyboard = name.endswith("keys")
    return kind >= NameKind.TOKEN and not of_keyboard and is_generated(value, _CALL_BITS)


def _has_no_sign(text: str, after: re.Match[str], preceding: str) -> bool:
    """Return True if a blank follows the name, and it is neither a flag nor `PASSWORD '...'`."""
    first = text[after.end() : after.end() + 1]
    return after.lastgroup == "space" and "-" not in preceding and first not in _QUOTES


def _end_of_joined(text: str, end: int) -> int:
    """Return the end of the literals that code joins to the one that ends at `end`."""
    joined = _JOINED.match(text, end)
    return joined.end() if joined else end


def _end_of_list(text: str, end: int) -> int:
    """Return the end of the list of values without quotes that goes on at `end`."""
    for _ in range(_MOST_LISTED):
        more = _MORE.match(text, end)
        if more is None or not values.has_digit(more.group()):
            break
        end = more.end()
    return end


def _is_assignment(text: str, first: int, name: str, after: re.Match[str]) -> bool:
    """Return True if the separator after `name`, which begins at `first`, is one of an
    assignment."""
    if text.startswith("<redacted:", first - 10):
        return False  # a tag's own name
    if is_of_board(text[max(first - 8, 0) : first]) and names_number(name):
        return False
    if after["space"] is not None:
        return _is_flag(name, text, first)
    if after["item"] is not None:
        return name.startswith("-")
    if after["pair"] is not None:
        is_flag = name.startswith("-")
        return is_flag or _CALL_BEFORE.search(text[max(first - 8, 0) : first]) is not None
    if after["sep"] == "- ":
        return text[after.end() : after.end() + 1] in _QUOTES
    if after["sep"] == ":" and text[after.end("sep") : after.end("sep") + 1] == ":":
        return False  # `Secret::name`, a scope
    if after["sep"] == ":" and _OF_RESOURCE.search(text, max(first - 2, 0), first) is not None:
        return False  # `arn:aws:...:123456789012:secret:name`
    return not (after["sep"] == ":" and name.startswith("--"))  # a CSS variable


_OPTION = re.compile(r"--[a-z][a-z-]*")
_QUOTED_NEXT = re.compile(r"[ \t]{1,8}[\"']")
_QUOTED_LINE = re.compile(r"[ \t]{1,8}([\"'])[^\"'\n]{4,100}\1[ \t;]*(?:\r?\n|$)")
_BEGINS_LINE = re.compile(r"(?:^|\n)[ \t]*(?:seta? )?$")
_DEFINES = re.compile(r"#define[ \t]{1,8}$")
_SETTING_BEGINS = re.compile(
    r"[ \t>$#+*|-]*(?:\d{1,5}[→:|][ \t]*)?"
    r"(?:(?:export|set|ENV|ARG|-e|env|local|readonly|setenv|declare -x|var) )?\[?$"
)
"""What stands before a setting on its line."""
_LINE_ENDS = re.compile(r"[ \t]*(?:$|\r?\n|[ \t](?:#|;|//|--|\(|<))")
_ARGUMENT_ENDS = re.compile(r"$|[ \t]*[\n\r|;&<>\"'`\\)]|[ \t]+[-/]")
_BEGINS_SETTING = frozenset(("", " ", "\t", '"', "'", "[", ";", "+", "#", "→", "\ufeff"))
_IN_A_ROW = re.compile(
    r"^[^(){}\[\],;]*(?:\w=[^\s=(]{1,40}[ ]|-[eFd] [\"']?|--\w[\w-]{1,20} [\"']?"
    r"|[ ](?:put|patch|write|add|create|login) (?:[\w./-]{1,60} )?)$"
)
"""What stands before one of several settings without brackets and commas."""
_OF_RESOURCE = re.compile(r"\d:$")
_OUTER = re.compile(r"(?P<name>\w{1,30})[\"']\]\[[\"']$")
"""The key before one of nested keys: `['smtp']['pass']`."""
_OF_LOGINS = frozenset(("pass", "pw", "pwd", "secret"))
"""Names of passwords where a user or a host stands beside them."""
_LOGIN = re.compile(
    r"(?i)(?<![a-z])(?:user(?:name)?|login|host(?:name)?|server|account|ssid|dbname)"
    r"[\"'\])]{0,3}[ \t]{0,8}(?:=>|[:=](?![:=]))"
)
_BESIDE = 100
_VARIABLE = re.compile(r"(?:TF_VAR_\w+|[^a-z]+)")
_VARIABLE_ENDS = re.compile(r"$|[\s;,\]\"']")


def _is_named_secret(
    text: str,
    first: int,
    named: tuple[str, NameKind],
    after: re.Match[str],
    span: tuple[int, int],
    quoted: bool,
) -> bool:
    """Return True if the value is a secret because its name means one and its place rarely holds
    anything else."""
    name, kind = named
    in_form = name == "pwd" and text[first - 1 : first] in ("?", "&")
    outer = _OUTER.search(text, max(first - 40, 0), first)
    full_name = f"{outer['name']}_{name}" if outer is not None else name.strip(".-")
    if name.startswith("--"):
        full_name = full_name.removeprefix("new-")
    if not (
        in_form
        or says_secret(full_name)
        or (name == "PASS" and after["sep"] == "=")
        or (
            name.lower() in _OF_LOGINS
            and (after["sep"] != ":" or name != "secret")
            and _is_beside_login(text, first, span[1])
        )
    ):
        return False
    place = _place_of_value(text, first, name, after, span, quoted)
    if kind is not NameKind.PASSWORD:
        if values.is_hex(text[slice(*span)]):
            return False
        is_label = place is Place.LITERAL and (after["sep"] or ":") in (":", "=>")
        if is_label and name.lower().endswith("secret"):
            return False
        place = place and Place.LINE
    return place is not None and is_named_secret(text[slice(*span)], place)


def _is_beside_login(text: str, first: int, end: int) -> bool:
    """Return True if a member before or behind the one from `first` to `end` is a user or a
    host, and none is the number of tests that fail."""
    around = text[max(first - _BESIDE, 0) : first] + "\n" + text[end : end + _BESIDE]
    return _LOGIN.search(around) is not None and "fail" not in around.lower()


def _place_of_value(
    text: str, first: int, name: str, after: re.Match[str], span: tuple[int, int], quoted: bool
) -> Place | None:
    """Return where the value stands; None among code."""
    end = span[1]
    if after["xml"] is not None or after["label"] is not None:
        closed = text[end : end + 40].lstrip().startswith(f"</{name}>")
        return Place.ELEMENT if closed else None
    if quoted:
        is_argument = name.startswith("-") and after["pair"] is None
        return Place.ARGUMENT if is_argument else Place.LITERAL
    if text[first - 1 : first] in ("?", "&"):
        return Place.ALONE
    if name.startswith("-"):
        if after["sep"] == "=":
            return Place.ALONE
        return Place.LINE if _ARGUMENT_ENDS.match(text, end) is not None else None
    line = text[max(first - 240, 0) : first].rpartition("\n")[2]
    if after["sep"] == "=" and _CONNECTION.search(line) is not None:
        return Place.ALONE
    if after["sep"] == "=" and after.end() - after.end("close") == 1 and _VARIABLE.fullmatch(name):
        is_own = line[-1:] in _BEGINS_SETTING and _VARIABLE_ENDS.match(text, end)
        return Place.ALONE if is_own else None
    if _IN_A_ROW.search(line) is not None and after["sep"] == "=":
        return Place.LINE if _VARIABLE_ENDS.match(text, end) else None
    if _SETTING_BEGINS.match(line) is None or after["sep"] not in (":", "=", "=>"):
        return None
    spaced = after.end() - after.end("close") > 1
    if _LINE_ENDS.match(text, end) is None:
        return None
    if after["sep"] == ":":
        return (Place.ALONE if name.isupper() else Place.LINE) if spaced else None
    is_code = spaced and after["sep"] == "=" and (line[:1].isspace() or "." in name)
    return None if is_code else Place.LINE


def _is_query_value(text: str, first: int, value: str, kind: NameKind) -> bool:
    """Return True if the value is in a URL's query and mixes letters and digits."""
    if text[first - 1 : first] not in ("?", "&"):
        return False
    if value.isdigit():
        return False
    return (len(value) >= 8 and values.is_random(value, 6)) or (
        len(value) >= (10 if kind is NameKind.VENDOR else _SHORTEST_TOKEN)
        and mixed_password(value)
        and not values.is_slug(value)
    )


def _is_header_value(name: str, separator: str | None, value: str) -> bool:
    """Return True if `value` is that of a header for credentials, and mixes letters and digits."""
    return (
        separator == ":"
        and ("-" in name or name.lower() == "authorization")
        and len(value) >= _SHORTEST_TOKEN
        and (" " not in value or (value.isascii() and name.lower() == "authorization"))
        and spoken_password(value)
        and not (values.is_slug(value) or values.is_joined(value))
    )


def _is_of_words(value: str, quoted: bool) -> bool:
    """Return True if `value`, of a name whose values are drawn or chosen, is three words or more
    and no name of code."""
    return (
        (quoted or "-" in value)
        and not value.isupper()
        and _LONG_WORDS.search(value) is not None
        and is_words(value)
    )


def _is_weakly_named(text: str, position: int, value: str, quoted: bool) -> bool:
    """Return True if a bare `key:` or Go's `--- PASS:` is followed by a secret after all."""
    if text[max(position - 7, 0) : position].lower() in ("public ", "pubkey "):
        return False
    if values.is_id_of_thing(value):
        return False
    in_query = text[position - 1 : position] in ("?", "&")
    if (
        not in_query
        and text.startswith(("pass", "Pass", "PASS"), position)
        and (
            (value.isalpha() and not values.is_joined(value))
            or not (quoted or (text[position] != "P" and spoken_password(value)))
        )
    ):
        return False
    return (
        ("-" not in value and "\\" not in value)
        or (quoted and values.is_hyphenated(value))
        or (quoted and values.is_random(value))
        or is_generated(value, _CERTAIN_BITS)
    )


def _is_flag(name: str, text: str, start: int) -> bool:
    """Return True if a name followed by a space is a command-line flag, SQL's PASSWORD, C's
    constant, or one of a file that has a name and a quoted value on each line."""
    if name.startswith("-"):
        return start == 0 or text[start - 1] in " \t\n\"'[(,`"
    end = start + len(name)
    if _QUOTED_NEXT.match(text, end) is None:
        return False
    if text[start - 1 : start] in (":", "(") and (says_secret(name) or names_number(name)):
        return True  # `:pin "..."`, `set(NAME "...")`
    return (
        name in ("PASSWORD", "password")
        or _DEFINES.search(text[max(start - 16, 0) : start]) is not None
        or (
            says_secret(name)
            and _BEGINS_LINE.search(text[max(start - 16, 0) : start]) is not None
            and _QUOTED_LINE.match(text, end) is not None
        )
    )


def _value_span(text: str, first: int, start: int, name: str) -> tuple[int, int, bool] | None:
    """Return the range of the value of the `name` at `first`, without quotes and scheme, and
    whether it is quoted."""
    quote = _QUOTE.match(text, start)
    if quote is not None:
        opening = quote.end()
        end = _quoted_end(text, opening, quote[1])
        if end is not None:
            scheme = _SCHEME.match(text, opening, end)
            return (scheme.end() if scheme else opening), end, True
        start = opening
    scheme = _SCHEME.match(text, start)
    if scheme is not None:
        start = scheme.end()
    element = _ELEMENT.match(text, start) if text[start - 1] == ">" else None
    if element is not None:
        return start, element.end(), False
    bare = _BARE.match(text, start)
    end = start if bare is None else bare.end()
    if text[end : end + 1].strip():
        line_end = _end_of_line_value(text, first, start, name)
        if line_end:
            return start, line_end, False
    return (start, start + len(bare.group().rstrip(".:")), False) if bare is not None else None


def _end_of_line_value(text: str, first: int, start: int, name: str) -> int:
    """Return the end of a value with dividing signs or quotes inside that is alone in the rest of
    its line; 0 if there is none."""
    line = _LINE_VALUE.match(text, start)
    certain = _CERTAIN_LINE.match(text, start)
    if line is certain or _LINE_BEGINS.search(text[max(first - 24, 0) : first]) is None:
        return 0
    if line is not None and is_generated(line.group(), _LINE_BITS):
        return line.end()
    if certain is None or _DIVIDING.search(certain.group()) is None:
        return 0
    return certain.end() if says_secret(name.strip(".-")) else 0


def _quoted_end(text: str, opening: int, quote: str) -> int | None:
    """Return the end of the quoted value, or None if it does not end on this line."""
    limit = opening + _LONGEST_VALUE
    line_end = text.find("\n", opening, limit)
    limit = limit if line_end < 0 else line_end
    end = text.find(quote, opening, limit)
    while end > opening and len(quote) == 1 and text[end - 1] == "\\":
        end = text.find(quote, end + 1, limit)
    return end if end >= 0 else None


def _is_secret(value: str, kind: NameKind, quoted: bool, following: str) -> bool:
    """Return True if `value` is a secret, given the kind of its name."""
    if value.startswith("?"):
        return False  # `${NAME:?must be set}`
    if len(value) < (4 if kind is NameKind.PASSWORD else _SHORTEST_TOKEN):
        return False
    if kind is NameKind.VENDOR and not is_generated(value, _VENDORS_KEY + 5 * (not quoted)):
        return False
    judge = _is_password if kind is NameKind.PASSWORD else _is_token
    return (
        judge(value, quoted, following)  # cheap: it goes first
        and not values.is_placeholder(value)
        and not values.is_reference(value)
        and not (quoted and _INTERPOLATED.search(value) and not values.is_random(value, 16))
    )


def _is_password(value: str, quoted: bool, following: str) -> bool:
    if quoted:
        return values.is_quoted_password(value) or is_words(value) or is_mixture(value)
    if any(character.isspace() for character in value) or not any(map(str.isalnum, value)):
        return False
    if following not in ("(", "[", "{", ".") and len(value) >= 10 and values.is_scrambled(value):
        return True
    if following in ("(", "[", "{"):
        return False
    if values.is_joined(value) and following != ".":
        return True
    if values.is_code(value):
        return following != "." and is_generated(value, _LETTERS_BITS)
    if values.is_identifier_of_something(value) and not values.is_random(value):
        return False
    if not values.has_digit(value) and is_name(value):
        return False
    return len(value) >= 5 and values.is_mixed(value)


def _is_token(value: str, quoted: bool, following: str) -> bool:
    if _BASE64.match(value) is not None and evidence(value) >= _BASE64_BITS:
        return True
    if values.is_identifier_of_something(value):
        return False
    if not quoted and (following in ("(", "[") or ":/" in value or "~/" in value):
        return False
    if any(character.isspace() for character in value):
        return quoted and _SALT.fullmatch(value) is not None
    return (
        values.is_grouped(value)
        or (value.isdigit() and len(value) >= _SHORTEST_NUMBER)
        or values.is_worded(value, quoted)
        or values.is_random(value, 10)
        or values.is_dense(value)
        or (values.is_hex(value) and len(value) >= 16)
        or values.is_gibberish(value)
        or values.is_drawn(value)
        or values.is_serial(value)
        or values.is_chosen(value)
        or (value.isascii() and look_of(value) is Look.CHOSEN and likely_password(value))
        or (
            (value.lower() != value or values.has_digit(value))
            and is_generated(value, _TOKEN_BITS + 5 * (not quoted))
            and (quoted or not (values.is_slug(value) or _VERSION.search(value)))
        )
        or (
            len(value) >= 12
            and value.isascii()
            and values.has_digit(value)
            and len({character for character in value if not character.isalnum()}) >= 4
        )
    )
