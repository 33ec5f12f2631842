"""Secrets in tables: cells under a column, and values of an INSERT, whose name speaks of secrets.

For the engine: `find_cells` is asked where a line of hyphens begins under a line that has a bar and
a telling word, at `insert into`, and in or below a line in which `COLUMN` stands alone between
blanks, tabs, commas or semicolons. It reads a bounded part of the text once.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from memory_assets.redaction.rules.anchored.rule import mixed_password, typed_password
from memory_assets.redaction.rules.judging import values
from memory_assets.redaction.rules.judging.likelihood import is_generated
from memory_assets.redaction.rules.judging.named_values import Place, is_named_secret, is_number
from memory_assets.redaction.rules.judging.names import NameKind, name_kind
from memory_assets.redaction.rules.judging.phrases import is_type
from memory_assets.word_lists import word_set

_LONGEST_LINE = 1_000
_MOST_ROWS = 2_000
_BOX = {ord(sign): "|" for sign in "│┃║"} | {ord(sign): "-" for sign in "─━═"}
_BOX |= {ord(sign): "+" for sign in "├┼┤╞╪╡┣╋┫╠╬╣┝┿┥╟╫╢└┴┘┌┬┐╚╩╝╔╦╗┏┳┓┗┻┛╭╮╰╯"}
"""Signs that draw a table, as those that stand for them in plain ones."""
_RULER = re.compile(r"[ \t]*+[|+]?(?:[ \t]*+:?-{2,}+:?[ \t]*+[|+]?)++[ \t]*+\r?$")
"""Possessive, or a line of hyphens that ends in a word would take a time that doubles with each."""
_FOREIGN = re.compile(
    r"(?i)passwor|kennwort|contrase|senha|wachtwoord|has[lł]o|mot de passe|\bpw\b"
)
_INSERT = re.compile(
    r"(?i)insert\s{1,4}into\s{1,4}(?P<table>[\w.\"`\[\]]{1,80})\s{0,4}"
    r"(?:\((?P<columns>[^()]{1,1000})\)\s{0,8})?values\s{0,8}(?=\()"
)
COLUMN = (
    rb"(?i:(?:[a-z]{2,12}[ _-])?(?:passw(?:or[dt]s?|d)|pwd?|pass|passphrase|kennwort|senha"
    rb"|secrets?(?:[ _-]key)?"
    rb"|pin|psk|puk|key|code|(?:api|auth|access|admin)[ _-]?(?:keys?|tokens?)|tokens?"
    rb"|credentials?))"
)
_SEPARATED = re.compile(
    r"\ufeff?\"?[\w .#/-]{1,40}\"?(?:(?P<sign>[,;\t])\"?[\w .#/-]{1,40}\"?){1,30}\r?"
)
_ALIGNED = re.compile(r"\S+(?:[ ]\S+)*")
_WORD = re.compile(r"\S+")
_HEAD = re.compile(r"[A-Za-z#][\w ./#-]{0,30}(?<!\.)")
_RULES = re.compile(r"[-=+ \t]+\r?")
_AMBIGUOUS = frozenset(("key", "keys", "auth", "pass"))
"""Columns of all kinds of tables."""
_OF_NAMES = re.compile(r"(?i)(?:secret|credential|token|password|api key)s?(?: name)?")
"""Columns of names of secrets, if another one has their values."""
_LOGINS = word_set(
    "user username login account email name host server service system adminlogin device device"
    " user benutzer nutzer konto usuario utilisateur who ssid"
)
"""Columns beside which one called "pass" has passwords."""
_OF_LOGINS = re.compile(
    r"(?:(?:admin|default|login|user|web|root|device|service|wifi|wlan|unlock|door|access)[ _-]?"
    r"(?:pass|secret|key|pin|code|psk|puk)|secret|pin|psk|puk)"
)
"""Columns that have passwords beside those."""
_OF_PERSONS = frozenset(("pass", "key", "code"))
"""Columns that have secrets of any look beside persons, and drawn ones beside the other logins, but
names, states and places as well."""
_PERSONS = word_set("user username login email benutzer nutzer usuario utilisateur who ssid")
_OF_CODES = word_set("name service server email")
"""Columns beside which codes, keys and tests are listed as well."""
_TYPES = word_set("type value required description default example")
_NUMBERED = re.compile(r"(?i)(?<![a-z])(?:pin|puk|code)s?$")
_SECRET_TABLE = re.compile(r"(?i)user|account|credential|secret|token|login|member|admin|password")
_OF_SECRETS = re.compile(r"(?i)credential|secret|token|password|api_?key")
_OF_TIME = re.compile(r"(?:[A-Za-z]{1,20}:? )?\d{4}-\d\d-\d\d(?:[T ][\w:.+-]{1,40})?")
"""A date, as lists of secrets have instead of their values: `updated 2026-09-01`."""
_LITERAL = re.compile(
    r"[(,]\s{0,8}[ENXB]?(?:'(?P<text>(?:[^'\n\\]|''|\\.){0,400})'|[^',()]{0,200}(?:\([^()]{0,80}\))?)"
)
_LONGEST_INSERT = 20_000
_DRAWN = 12


def find_cells(text: str, position: int) -> tuple[list[tuple[int, int]], int]:
    """Return the ranges of the secrets in the table or INSERT at `position`, and where it ends."""
    insert = _INSERT.match(text, position)
    if insert is not None:
        return _inserted(text, insert)
    start = text.rfind("\n", max(position - _LONGEST_LINE, 0), position) + 1
    if "|" not in text[start : _line_end(text, start)].translate(_BOX):
        beside = _beside_name(text, start)
        if beside is not None:
            return beside
        above = text.rfind("\n", max(start - _LONGEST_LINE, 0), max(start - 1, 0)) + 1
        for header in (above, start) if above < start else (start,):
            cells = _below_names(text, header)
            if cells is not None:
                return cells
    return _under_columns(text, position)


def _below_names(text: str, header: int) -> tuple[list[tuple[int, int]], int] | None:
    """Return the cells below telling names of the header line that begins at `header`, and where
    the table ends; None if that line is no header with such a name."""
    end = _line_end(text, header)
    line = text[header:end]
    separated = _SEPARATED.fullmatch(line)
    sign = separated["sign"] if separated else ""
    heads = _cells_of(line, sign)
    names = [line[start:stop].strip(' \r"\ufeff') for start, stop in heads]
    if len(names) < 2 or not all(map(_HEAD.fullmatch, names)):
        return None
    if not sign and any(map(is_type, names)):  # fields of a structure
        return None
    kinds = _judge_columns(names)
    if max(kinds) < NameKind.TOKEN:
        return None
    secrets = []
    for _ in range(_MOST_ROWS):
        start = _next_line(text, end)
        end = _line_end(text, start)
        line = text[start:end]
        cells = _cells_of(line, sign)
        if not cells:
            break
        if _RULES.fullmatch(line) or (sign and len(cells) != len(heads)):
            continue
        in_order = bool(sign) or len(cells) == len(heads)
        if not in_order:
            cells = [word.span() for word in _WORD.finditer(line)]
        for at, cell in enumerate(cells):
            number = at if in_order else _column(heads, cell)
            value = line[slice(*cell)].strip(" \t\r\"'`")
            if 0 <= number < len(kinds) and kinds[number] >= NameKind.TOKEN and value:
                secrets.append((number, text.index(value, start + cell[0]), value))
    return _secret_cells(secrets, kinds, names), end


def _beside_name(text: str, start: int) -> tuple[list[tuple[int, int]], int] | None:
    """Return the second cell of the line at `start`, and the line's end, if the first is a telling
    name and the second a secret: lists of names and values, as `vault kv get` prints them."""
    end = _line_end(text, start)
    line = text[start:end]
    cells = _cells_of(line, "")
    if len(cells) != 2 or not _is_cell(line[slice(*cells[1])], _kind(line[slice(*cells[0])])):
        return None
    return [(start + cells[1][0], start + cells[1][1])], end


def _cells_of(line: str, sign: str) -> list[tuple[int, int]]:
    """Return the ranges of a line's cells, which `sign` or, if it is empty, two blanks separate."""
    if not sign:
        return [cell.span() for cell in _ALIGNED.finditer(line)]
    cells, start = [], 0
    for cell in line.split(sign) if line.strip() else ():
        cells.append((start, start + len(cell)))
        start += len(cell) + 1
    return cells


def _column(heads: list[tuple[int, int]], cell: tuple[int, int]) -> int:
    """Return the number of the column that a cell is aligned with on either side, or -1."""
    for number, (start, end) in enumerate(heads):
        if start == cell[0] or end == cell[1]:
            return number
    return -1


def _under_columns(text: str, ruler: int) -> tuple[list[tuple[int, int]], int]:
    """Return the cells under telling columns of a table whose line of hyphens begins at `ruler`."""
    header_start = text.rfind("\n", max(ruler - _LONGEST_LINE, 0), max(ruler - 1, 0)) + 1
    end = _line_end(text, ruler)
    if not _RULER.fullmatch(text[ruler:end].translate(_BOX)):
        return [], ruler
    header = text[header_start : ruler - 1].translate(_BOX)
    names = [name.strip(" \t\r`*+") for name in header.split("|")]
    kinds = _judge_columns(names)
    first = names[0] or (names[1:] or [""])[0]
    if _OF_NAMES.fullmatch(first) and "value" in map(str.lower, names):
        kinds = [NameKind.TOKEN if name.lower() == "value" else NameKind.PLAIN for name in names]
    if max(kinds, default=NameKind.PLAIN) < NameKind.TOKEN:
        return [], ruler
    cells = []
    for _ in range(_MOST_ROWS):
        start = _next_line(text, end)
        end = _line_end(text, start)
        line = text[start:end].translate(_BOX)
        if "|" not in line:
            break
        at = start
        for number, cell in enumerate(line.split("|")):
            value = _undecorated(cell)
            if number < len(kinds) and kinds[number] >= NameKind.TOKEN and value:
                cells.append((number, at + cell.index(value), value))
            at += len(cell) + 1
    return _secret_cells(cells, kinds, names), end


def _secret_cells(
    cells: list[tuple[int, int, str]], kinds: list[NameKind], names: list[str]
) -> list[tuple[int, int]]:
    """Return the ranges of those cells, each with its column's number and where it begins, that are
    secrets: in a table of logins, all but stand-ins."""
    heads = {name.lower() for name in names}
    place = Place.LINE if _LOGINS.isdisjoint(heads) or "type" in heads else Place.ALONE
    return [
        (begin, begin + len(value))
        for number, begin, value in cells
        if _is_cell(value, kinds[number], place)
        or (_NUMBERED.search(names[number]) is not None and is_number(value))
    ]


def _judge_columns(names: list[str]) -> list[NameKind]:
    """Return the kind of each column's name: one called "pass", "key" or "PIN" beside users is one
    of passwords, and not the number of tests or names of entries."""
    lower = [name.lower() for name in names]
    kinds = [_kind(name) for name in names]
    of_persons = not _PERSONS.isdisjoint(lower)
    if "pass" in lower:
        kinds[lower.index("pass")] = NameKind.TOKEN
    if "secret" in lower and not _LOGINS.isdisjoint(lower):
        kinds[lower.index("secret")] = NameKind.PASSWORD
    if _TYPES.isdisjoint(lower) and not _OF_CODES.issuperset(_LOGINS.intersection(lower)):
        for number, name in enumerate(lower):
            if _OF_LOGINS.fullmatch(name) is not None:
                kinds[number] = NameKind.PASSWORD
            elif name in _OF_PERSONS:
                kinds[number] = NameKind.PASSWORD if of_persons else NameKind.TOKEN
    return kinds


def _undecorated(cell: str) -> str:
    """Return a cell's value without the signs that set it in bold or as code on both sides."""
    value = cell.strip()
    while len(value) > 2 and value[0] == value[-1] and value[0] in "`*'\"":
        value = value[1:-1]
    return value


def _line_end(text: str, start: int) -> int:
    """Return the end of the line at `start`, or of as much as is read of it."""
    limit = start + _LONGEST_LINE
    end = text.find("\n", start, limit)
    return min(limit, len(text)) if end < 0 else end


def _next_line(text: str, end: int) -> int:
    """Return where the line behind the one begins that is looked at up to `end`, however long it
    is; behind the text if there is none."""
    newline = text.find("\n", end)
    return (newline if newline >= 0 else len(text)) + 1


def _kind(name: str) -> NameKind:
    """Return how strongly a column's name indicates secrets."""
    if len(name) > 40 or name.lower() in _AMBIGUOUS:
        return NameKind.PLAIN
    return NameKind.PASSWORD if _FOREIGN.match(name) else name_kind(name.replace(" ", "_"))


def _is_cell(value: str, kind: NameKind, place: Place = Place.LINE) -> bool:
    """Return True if `value` is a secret under a column of this kind."""
    if kind is NameKind.PASSWORD:
        return _OF_TIME.fullmatch(value) is None and is_named_secret(value, place)
    if kind < NameKind.TOKEN or len(value) < 5 or any(map(str.isspace, value)):
        return False
    if values.is_hyphenated(value):
        return typed_password(value)
    return typed_password(value) and (
        is_generated(value, _DRAWN)
        or values.is_joined(value)
        or values.is_chosen(value)
        or values.is_worded(value, quoted=False)
        or (values.is_hex(value) and len(value) >= 20)
    )


def _inserted(text: str, insert: re.Match[str]) -> tuple[list[tuple[int, int]], int]:
    """Return the values of an INSERT that are secrets by their column, or by their look in a table
    of users or secrets."""
    columns = insert["columns"]
    names = [name.strip(' \t\r\n"`[]') for name in columns.split(",")] if columns else []
    kinds = [_kind(name) for name in names]
    if not (kinds and max(kinds) >= NameKind.TOKEN) and not (
        not columns and _SECRET_TABLE.search(insert["table"])
    ):
        return [], insert.end()
    for_secrets = _OF_SECRETS.search(insert["table"]) is not None
    limit = min(insert.end() + _LONGEST_INSERT, len(text))
    spans: list[tuple[int, int]] = []
    number, end = 0, insert.end()
    for literal in _literals(text, insert.end(), limit):
        end = literal.end()
        number = 0 if text[literal.start()] == "(" else number + 1
        value = literal["text"]
        if value is None:
            continue
        if columns:
            is_secret = number < len(kinds) and _is_cell(value, kinds[number])
        else:
            is_secret = mixed_password(value) and (
                is_generated(value, _DRAWN)
                or values.is_chosen(value)
                or (for_secrets and values.is_hex(value) and len(value) >= 20)
            )
        if is_secret:
            spans.append(literal.span("text"))
    return spans, end


def _literals(text: str, start: int, limit: int) -> Iterator[re.Match[str]]:
    """Yield the values of all rows, each with the comma or bracket before it."""
    while True:
        literal = _LITERAL.match(text, start, limit)
        if literal is None:
            return
        yield literal
        start = literal.end()
        while start < limit and text[start] in " \t\r\n)":
            start += 1
        if start < limit and text[start] == "," and text[literal.end() : start].strip() == ")":
            start += 1
            while start < limit and text[start] in " \t\r\n":
                start += 1
