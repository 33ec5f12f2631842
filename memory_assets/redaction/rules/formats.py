"""Token formats as templates, compiled to patterns and to samples of themselves.

A template is literal text and runs of characters: `ghp_{a:36,}` is the literal `ghp_`
and 36 or more letters and digits; `{h:32}` is exactly 32 lower-case hex digits. The
same row gives the pattern that finds a token and the made-up token that proves, in the
self-test, that the pattern works.
"""

from __future__ import annotations

import re
import string
from dataclasses import dataclass
from functools import cache

ALPHABETS = {
    "a": "A-Za-z0-9",
    "w": "A-Za-z0-9_\\-",
    "W": "A-Za-z0-9_",
    "l": "a-z0-9",
    "u": "A-Z0-9",
    "h": "0-9a-f",
    "x": "0-9A-Fa-f",
    "d": "0-9",
    "b": "A-Za-z0-9+/",
    "e": "A-Za-z0-9+/=_\\-",
    "s": "A-Za-z0-9_.=\\-",
    "t": "A-Za-z0-9_.~\\-",
}
"""Letter of the template -> the inside of a character class."""

_RUN = re.compile(r"\{(?P<alphabet>[a-zA-Z]):(?P<least>\d+)(?P<comma>,(?P<most>\d*))?\}")
_UUID = "{x:8}-{x:4}-{x:4}-{x:4}-{x:12}"
_LONGEST = 4_000


@dataclass(frozen=True, slots=True)
class Template:
    """One compiled template: `pattern` source without boundaries, literal `prefix`, `sample`."""

    prefix: str
    pattern: str
    sample: str


@cache
def _pool(inside: str) -> str:
    member = re.compile(f"[{inside}]")
    return "".join(filter(member.match, string.ascii_letters + string.digits))


def sample_characters(inside: str, count: int, shift: int = 0) -> str:
    """Return `count` made-up letters and digits of a character class, well mixed."""
    pool = _pool(inside)
    return "".join(pool[(number * 23 + shift * 7 + 5) % len(pool)] for number in range(count))


def compile_template(source: str) -> Template:
    """Return the template as pattern, leading literal and sample.

    Raises:
        ValueError: an unknown alphabet or a stray brace.
    """
    expanded = source.replace("{uuid}", _UUID)
    pattern, sample, prefix, position = "", "", None, 0
    for run in _RUN.finditer(expanded):
        literal = expanded[position : run.start()]
        if prefix is None:
            prefix = literal
        inside = ALPHABETS[run["alphabet"]]
        least = int(run["least"])
        most = _LONGEST if run["comma"] and not run["most"] else int(run["most"] or least)
        pattern += f"{re.escape(literal)}[{inside}]{{{least},{most}}}"
        sample += literal + sample_characters(inside, least, shift=len(sample))
        position = run.end()
    tail = expanded[position:]
    if "{" in tail or "}" in tail:
        raise ValueError("stray brace in a token format")
    return Template(
        prefix=tail if prefix is None else prefix,
        pattern=pattern + re.escape(tail),
        sample=sample + tail,
    )
