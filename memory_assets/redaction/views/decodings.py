"""Views that undo an encoding: terminal escapes, JSON's escapes, percent signs, entities of HTML,
quoted-printable, base64, hex."""

from __future__ import annotations

import base64
import html
import re
from collections.abc import Callable, Iterator

from memory_assets.redaction.views.views import Piece, View

_TERMINAL_ESCAPE = re.compile(
    r"\x1b(?:\[[0-9;?:]{0,40}[ -/]{0,4}[@-~]|\][^\x07\x1b\n]{0,500}(?:\x07|\x1b\\)|[@-Z\\-_])"
)
_JSON_ESCAPE = re.compile(r"\\(?:[\"\\/nrt]|u[0-9A-Fa-f]{4}|x[0-9A-Fa-f]{2})")
_JSON_PLAIN = {'\\"': '"', "\\/": "/", "\\n": "\n", "\\r": "\r", "\\t": "\t"}
_CODE_POINT = re.compile(r"\\(?:u([0-9A-Fa-f]{4})|x([0-9A-Fa-f]{2}))")
_CONTINUED = re.compile(r"[ \t]?\\\r?\n[ \t]*")
_CONTINUED_LINES = re.compile(r"(?m)^[^\n]*\\\r?\n(?:[^\n]*\\\r?\n)*[^\n]*")
"""Lines that a backslash at the end joins, as in commands."""
_PERCENT = re.compile(r"%([0-9A-Fa-f]{2})")
ENTITY = r"&(?:lt|gt|quot|apos|#[0-9]{2,3}|#x[0-9A-Fa-f]{2});"
"""An entity of HTML that stands for one character."""
_ENTITY = re.compile(ENTITY)
PRINTABLE = "=3D"
"""The equals sign in quoted-printable, which says that a text is it."""
_PRINTABLE = re.compile(r"=([0-9A-F]{2})")
HEX_TEXT = r"(?:[2-7][0-9A-Fa-f]|0[9AaDd]){12}"
"""The beginning of hexadecimal digits that encode readable text; of random ones three in a hundred
million begin so."""
_HEX_TEXT = re.compile(
    r"(?:[2-7][0-9A-Fa-f]|0[9AaDd]){12,4000}(?![0-9A-Fa-f])"
    r"|(?<![0-9A-Fa-f])(?:[2-7][0-9A-Fa-f] ){9,2000}[2-7][0-9A-Fa-f](?![0-9A-Fa-f])"
)

_DUMPED = re.compile(
    r"(?m)^[^\S\n]{0,8}(?:[0-9A-Fa-f]{4,16}:?[ \t]{1,4})?"
    r"(?P<bytes>(?:[0-9A-Fa-f]{2} ?){1,32}(?: (?:[0-9A-Fa-f]{2} ?){1,16})?)(?=[ \t|]|\r?$)"
    r"[^\n]{0,100}$"
)
"""A line of a hex dump, with or without its place and its text."""
DUMPS = ("000010[: ]", "xxd")
"""What stands in hex dumps: the place of the second line, or the program's name."""
_HAS_DUMP = re.compile("|".join(DUMPS))
_SHORTEST_DUMPED = 12
_NO_TEXT = re.compile(r"[^\t\n\r -~]")

_BASE64 = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"
_ALNUM_MASK = bytes(1 if chr(byte) in _BASE64[:62] else 0 for byte in range(256))
_BASE64_RUN = re.compile(r"[A-Za-z0-9+/]*")
SHORTEST_BLOB = 24


def _digits(*groups: Callable[[int], bool]) -> str:
    """Return a pattern of base64 digits, one for each condition on its value."""
    return "".join(
        f"[{''.join(re.escape(digit) for value, digit in enumerate(_BASE64) if encodes(value))}]"
        for encodes in groups
    )


_ASCII = _digits(
    lambda value: value in (2, 3) or 8 <= value < 32,
    lambda value: not value & 8,
    lambda value: not value & 2,
    lambda value: True,
)
"""Four digits that encode ASCII: the top bit of each of the three bytes is zero, and the first one
is no control character but a tab or a line end. One group in nine of random base64 is so, six in a
row by chance never."""
_UTF_16 = _digits(
    lambda value: value in (2, 3) or 8 <= value < 32,
    lambda value: not value & 15,
    lambda value: value < 2,
    lambda value: True,
    lambda value: not value,
    lambda value: value < 8,
    lambda value: not value & 3,
    lambda value: not value,
)
"""Eight digits that encode three ASCII characters in UTF-16, as PowerShell's `-EncodedCommand`
takes them."""
_IS_UTF_16 = re.compile(f"(?:{_UTF_16}){{3}}")
BLOB_START = re.compile(f"(?:{_ASCII}){{6}}|(?:{_UTF_16}){{3}}")
"""The beginning of base64 that may encode readable text."""
TEXT_IN_BASE64 = re.compile(
    f"(?:(?:{_UTF_16}){{3,}}(?:[A-Za-z0-9+/]{{4}})?|(?:{_ASCII}){{6,}})"
    r"(?:[A-Za-z0-9+/]{2,3}(?![A-Za-z0-9+/]))?"
)
LONGEST_WHOLE = 2_000
"""Base64 up to this length is removed as a whole; of longer base64 only the part with the
secret."""


def without_terminal_escapes(text: str) -> View | None:
    """Return `text` without the escapes that colour it, which split tokens and attach letters to
    their beginnings; None if there are none."""
    if "\x1b" not in text or _TERMINAL_ESCAPE.search(text) is None:
        return None
    return View(_TERMINAL_ESCAPE.sub("", text), lambda: _uncoloured(text))


def _uncoloured(source: str) -> Iterator[Piece]:
    length = position = 0
    for cut in _TERMINAL_ESCAPE.finditer(source):
        if cut.start() > position:
            yield Piece(length, position, cut.start())
            length += cut.start() - position
        position = cut.end()
    yield Piece(length, position, len(source))


def _of_lines(
    source: str, lines: list[tuple[int, int]], escape: re.Pattern[str]
) -> Iterator[Piece]:
    """Yield the pieces of some lines of the source; each escape sequence becomes one character."""
    length = position = 0
    for start, end in lines:
        after_gap = length > 0 and start != position
        position = start
        for match in escape.finditer(source, start, end):
            yield Piece(length, position, match.start(), after_gap=after_gap)
            length += match.start() - position
            yield Piece(length, *match.span(), per=0)
            length += 1
            position = match.end()
            after_gap = False
        yield Piece(length, position, end + 1, after_gap=after_gap)
        length += end + 1 - position
        position = end + 1


def _lines_with(text: str, mark: str, escape: re.Pattern[str]) -> list[tuple[int, int]]:
    """Return (start, end) of the lines of `text` that contain some `escape`; each escape begins
    with `mark`."""
    lines: list[tuple[int, int]] = []
    position = text.find(mark)
    while position >= 0:
        if escape.match(text, position) is None:
            position = text.find(mark, position + 1)
            continue
        end = text.find("\n", position)
        end = len(text) if end < 0 else end
        lines.append((text.rfind("\n", 0, position) + 1, end))
        position = text.find(mark, end)
    return lines


def json_unescaped(text: str) -> View | None:
    """Return the lines of `text` that contain JSON escapes, unescaped."""
    lines = _lines_with(text, "\\", _JSON_ESCAPE)
    if not lines:
        return None
    plain = "\n".join([text[start:end] for start, end in lines]).replace("\\\\", "\0")
    for escape, character in _JSON_PLAIN.items():
        plain = plain.replace(escape, character)
    if "\\u" in plain or "\\x" in plain:
        plain = _CODE_POINT.sub(lambda escape: chr(int(escape[1] or escape[2], 16)), plain)
    return View(plain.replace("\0", "\\"), lambda: _of_lines(text, lines, _JSON_ESCAPE))


def lines_continued(text: str) -> View | None:
    """Return the lines of `text` that end in a backslash, each with the next one as one line."""
    lines = [lines.span() for lines in _CONTINUED_LINES.finditer(text)]
    if not lines:
        return None
    plain = "\n".join([_CONTINUED.sub(" ", text[start:end]) for start, end in lines])
    return View(plain, lambda: _of_lines(text, lines, _CONTINUED))


def percent_decoded(text: str) -> View | None:
    """Return the lines of `text` that contain percent-encoded characters, decoded."""
    return _lines_decoded(text, "%", _PERCENT, _of_number)


def entities_decoded(text: str) -> View | None:
    """Return the lines of `text` that contain entities of HTML, as the characters they are."""
    return _lines_decoded(text, "&", _ENTITY, lambda entity: html.unescape(entity.group()))


def printable_decoded(text: str) -> View | None:
    """Return the lines of `text` that contain characters in quoted-printable, decoded."""
    return _lines_decoded(text, "=", _PRINTABLE, _of_number) if PRINTABLE in text else None


def _of_number(escape: re.Match[str]) -> str:
    return chr(int(escape[1], 16))


def _lines_decoded(
    text: str, mark: str, escape: re.Pattern[str], decoded: Callable[[re.Match[str]], str]
) -> View | None:
    """Return the lines of `text` that contain some `escape`, each of which is one character and
    begins with `mark`; None if there are none."""
    lines = _lines_with(text, mark, escape)
    if not lines:
        return None
    plain = escape.sub(decoded, "\n".join([text[start:end] for start, end in lines]))
    return View(plain, lambda: _of_lines(text, lines, escape))


def base64_decoded(text: str) -> View | None:
    """Return the decoded base64 of `text`, where it decodes to text."""
    blobs = list(_blobs(text))
    if not blobs:
        return None
    texts = [_decoded(text[start:end]) for start, end, _, _ in blobs]
    return View("\n".join(texts), lambda: _of_blobs(text, blobs, texts), "encoded-secret")


def _blobs(text: str) -> Iterator[tuple[int, int, int, int]]:
    """Yield (start, end) of base64 that decodes to text, and of the run that contains it.

    Runs are searched by letters and digits alone: `+` and `/` are rare in encoded text and common
    in paths.
    """
    copy = text.encode("ascii", "replace")
    mask = copy.translate(_ALNUM_MASK)
    least = b"\1" * SHORTEST_BLOB
    start, done = mask.find(least), 0
    while start >= 0:
        end = mask.find(b"\0", start + SHORTEST_BLOB)
        end = len(mask) if end < 0 else end
        run = copy[start:end]
        if not run.islower() and not run.isalpha():
            floor = max(start - LONGEST_WHOLE, done)
            before = _BASE64_RUN.match(text[floor:start][::-1])
            after = _BASE64_RUN.match(text, end)
            start -= before.end() if before else 0
            end = after.end() if after else end
            for blob in TEXT_IN_BASE64.finditer(text, start, end):
                yield (*blob.span(), start, end)
        start, done = mask.find(least, end), end


def _of_blobs(
    source: str, blobs: list[tuple[int, int, int, int]], texts: list[str]
) -> Iterator[Piece]:
    """Yield the pieces of decoded ranges of base64, one after the other."""
    length = 0
    for (start, end, run_start, run_end), text in zip(blobs, texts, strict=True):
        while source.startswith("=", run_end) and run_end - end < 3:
            run_end += 1
        if run_end - run_start <= LONGEST_WHOLE:
            yield Piece(length, run_start, run_end, per=0, after_gap=length > 0)
        else:
            digits = 8 if _IS_UTF_16.match(source, start) else 4
            yield Piece(length, start, end, per=3, of=digits, after_gap=length > 0)
        length += len(text) + 1


def _decoded(blob: str) -> str:
    data = base64.b64decode(blob + "=" * (-len(blob) % 4))
    if _IS_UTF_16.match(blob):
        return data[: len(data) // 2 * 2].decode("utf-16-le", "replace")
    return data.decode("latin-1")


def hex_decoded(text: str) -> View | None:
    """Return the decoded hex dumps of `text` (`xxd`, `xxd -p`, `hexdump -C`), where they decode to
    text."""
    if _HAS_DUMP.search(text) is None:
        return None
    texts: list[str] = []
    dumps: list[list[tuple[int, int, int]]] = []
    for lines, data in _dumps(text):
        if len(data) >= _SHORTEST_DUMPED and _NO_TEXT.search(data) is None:
            dumps.append(lines)
            texts.append(data)
    if not dumps:
        return None
    return View("\n".join(texts), lambda: _of_dumps(dumps), "encoded-secret")


def hex_text_decoded(text: str) -> View | None:
    """Return the runs of hexadecimal digits of `text` that encode readable text, decoded."""
    runs = [run.span() for run in _HEX_TEXT.finditer(text)]
    if not runs:
        return None
    texts = [bytes.fromhex(text[start:end]).decode("ascii") for start, end in runs]

    def pieces() -> Iterator[Piece]:
        length = 0
        for (start, end), plain in zip(runs, texts, strict=True):
            yield Piece(length, start, end, per=0, after_gap=length > 0)
            length += len(plain) + 1

    return View("\n".join(texts), pieces, "encoded-secret")


def _dumps(text: str) -> Iterator[tuple[list[tuple[int, int, int]], str]]:
    """Yield for each dump the (start, end, number of bytes) of its lines, and what they encode."""
    lines: list[tuple[int, int, int]] = []
    data = ""
    for line in _DUMPED.finditer(text):
        if lines and line.start() > lines[-1][1] + 1:
            yield lines, data
            lines, data = [], ""
        decoded = bytes.fromhex(line["bytes"]).decode("latin-1")
        lines.append((*line.span(), len(decoded)))
        data += decoded
    yield lines, data


def _of_dumps(dumps: list[list[tuple[int, int, int]]]) -> Iterator[Piece]:
    """Yield a piece for each line of some dumps."""
    length = 0
    for lines in dumps:
        for number, (start, end, count) in enumerate(lines):
            yield Piece(length, start, end, per=0, after_gap=number == 0 and length > 0)
            length += count
        length += 1
