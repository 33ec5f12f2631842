"""Tell generated values from ordinary text: how much likelier a value is to be drawn at random.

`evidence` compares two explanations of a value, in bits: characters drawn evenly from the letters
and digits, and names and words as they occur in code and prose. It is a sum over pairs of
neighbours, so it grows with the value's length and takes time in proportion to it.
"""

from __future__ import annotations

import re

from memory_assets.redaction.rules.judging import values

_SYMBOLS = "abcdefghijklmnopqrstuvwxyz0_"
"""Letters without case, `0` for any digit, `_` for an edge and for any other character."""
_RANKS = {symbol: rank for rank, symbol in enumerate(_SYMBOLS)}
_RANKS |= {letter.upper(): rank for letter, rank in _RANKS.items()}
_RANKS |= dict.fromkeys("123456789", _RANKS["0"])
_EDGE = _RANKS["_"]
_SURPRISE = (
    "h988hfakane687n9n675befedjk9",
    "6dae7ghj89j5eg8chaaf7ljk9hh6",
    "7ief7gi7bo88ei4ejad6agjlfok7",
    "7cea4egi6kkagg9fncacaijifnj3",
    "ag99dbdjgni7a7gcd668ide9dml5",
    "8hed99gl5mg9he7gm9cbanjneqi3",
    "bheg4gba8mlbdacgo87cahjoghk3",
    "5hgf4iki8nieee6im9d8cmknfim4",
    "bc89ac9nimh8946bib76hcpdrbqb",
    "9ieh4ijhahchii6big6h7jfkhjj4",
    "bhec3edg7jjaicffie9ediangll3",
    "7gfb56jk6oi8ih7erhb99flqcko6",
    "5afe4ikk8picbb76qh9dbklpcnm6",
    "8h877b7haleegb9elh76cckngnn5",
    "cb98hdcldkc884a8q6aa9dbfkkn8",
    "6hec5gee9qh8ji78k7b8bhik9sl6",
    "gihhiljigni4ifiggddh1khjllk6",
    "7hcc4fbl7nedbc7epa89bdhnbpo5",
    "ckbh4igb9oeeghaadh95aigmcpo4",
    "8hce4fj97qieeh9do8abcighahm4",
    "b9bc7ccmapl776e8m786glojpmgd",
    "4hgj2gij6nnjehcinhfgkhiljlh8",
    "6iec8fia5ljdg97gl69fjibglml5",
    "be7d8clg9mkfcif7nhe5jijcbjc4",
    "debdbehidljbb9d5lf78gfdiggl2",
    "8ige2dif6lhcce9flfdhgigfcch6",
    "ddedcdkkkikjjjihmkiilllall84",
    "9b7999bc9geaaaa9g968bcceihg6",
)
"""Half bits by which a symbol (column) surprises after another (row) in ordinary names and words,
in base 36: from 237,000 different tokens of 2,120 modules of the standard library and of packages
this project depends on. Digits count as ten different characters."""
_PAIRS = tuple(tuple(int(column, 36) / 2 for column in row) for row in _SURPRISE)
_DRAWN = 5.17
"""Bits of one character of 36."""
_CASES = {(False, False): -0.86, (False, True): 2.43, (True, False): -0.37, (True, True): 0.49}
"""Bits for and against drawing, by case of two neighbouring letters, in values of both cases: drawn
cases are even, in names nine of ten lower-case letters precede another one."""
_COUNTING = -3.0
"""Bits for each character that goes on with `ab` or `34`, as in alphabets and made-up examples."""
_SIGN = 2.0
"""Bits for a sign among letters and digits, other than those that join words."""
_JOINING = frozenset("_-./:,;@ \t'()[]{}<>\\|\"")
_LONGEST = 400
_TIME = re.compile(r"\d{4}-\d\d-\d\d(?:[T_ -]|$)|\d{8}T\d{4}|\d\d:\d\d:\d\d")


def evidence(value: str) -> float:
    """Return by how many bits `value` is likelier drawn than written: above zero, it is; 20 bits
    are as good as certain. Hexadecimal digits and digits alone say nothing of their purpose."""
    value = value[:_LONGEST]
    total = 0.0
    mixed = not (value.islower() or value.isupper())
    previous, before, counted = _EDGE, "", False
    for character in value:
        rank = _RANKS.get(character, _EDGE)
        if rank != _EDGE:
            counts_up = before != "" and ord(character) - ord(before) == 1
            total += _COUNTING if counts_up and counted else _PAIRS[previous][rank] - _DRAWN
            counted = counts_up
            if mixed and character.isalpha() and before.isalpha():
                total += _CASES[before.isupper(), character.isupper()]
        elif character not in _JOINING and before not in ("", character):
            total += _SIGN
        previous, before = rank, character
    return total


def is_generated(value: str, bits: float) -> bool:
    """Return True if `value` is drawn by at least so many bits, and no hash, UUID, time, path or
    agent's id."""
    return (
        evidence(value) >= bits
        and not values.is_hex(value)
        and not values.is_uuid(value)
        and not values.is_identifier_of_something(value)
        and not is_time(value)
    )


def is_time(value: str) -> bool:
    """Return True if `value` is a date, a time or both."""
    return _TIME.search(value) is not None
