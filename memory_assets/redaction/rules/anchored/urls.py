"""Secrets in pieces of addresses, where no host need stand before them (`GET /hooks/...`), and the
passwords behind users. Whole addresses are judged in `addresses/`. Rows as in `table.py`.
"""

from __future__ import annotations

import re

from memory_assets.redaction.rules.addresses.places import DRAWN_STEPS, PARAMETERS, SESSIONS, STEPS
from memory_assets.redaction.rules.anchored.rule import (
    FILL,
    AnchoredRule,
    any_value,
    login_password,
    mixed_password,
    rule,
    typed_password,
)
from memory_assets.redaction.rules.judging import values
from memory_assets.redaction.rules.judging.likelihood import evidence, is_generated

_PARAMETER_BITS = 12
_PATH_BITS = 20
_SHORTEST_HEX = 16
_DRAWN_STEP_BITS = 25
"""Bits of evidence that values of these kinds need."""
_SIGNED_BITS = 5
_CERTAIN_BITS = 20
_ODD_BITS = 12
"""Bits of evidence that passwords with such signs need."""
_REFERS = re.compile(r"\$[{(]|\{\{|#\{|<%|%\w+%")
_ODD_SIGN = re.compile(r"[\"'<>`\\]")
_TWO_TEXTS = re.compile(
    r"^\d{2,5}(?!\w)|\\(?![$!&;#*?|~^%@])|[\"'`][\s,;:)\]}>+.=]|[\s,;:(\[{<+=][\"'`]|[\"'`]$|^[\"'`<]"
    r"|</|<[\w-]+>|/>|\$[{(]|[#{]\{|<%|\)\s"
)
"""What is in a text between two addresses, and in no password."""
_NAMED_HOST = r"[\w.-]{1,80}:\d{2,5}\b|localhost\b|[\w-]{1,40}(?:\.[\w-]{1,40}){1,5}(?=[/\s\"'?]|$)"
_NO_FILE = r"(?!\w|@[\w.-]{1,80}/|[\w/+]{0,80}\.(?!ics|xml|rss|json|sh\b)\w)"


def _is_password(value: str) -> bool:
    """Return True if `value`, behind a user, is a password: `my_` begins stand-ins, but none with a
    number."""
    return (
        any_value(value)
        or (value.startswith("my_") and mixed_password(value[3:]))
        or _begins_with_sign(value)
    )


def _begins_with_sign(value: str) -> bool:
    """Return True if `value` was drawn, and begins with a sign that stand-ins begin with, too."""
    return (
        value[0] in "!$[{<.*%#&"
        and _REFERS.search(value) is None
        and (evidence(value[1:]) >= _CERTAIN_BITS or login_password(value))
        and evidence(value) >= _SIGNED_BITS
    )


def _has_odd_signs(value: str) -> bool:
    """Return True if `value`, behind a user, is a drawn password that has quotes, angle brackets or
    escaped signs, and not the end of one text and the beginning of another."""
    return (
        _ODD_SIGN.search(value) is not None
        and _TWO_TEXTS.search(value) is None
        and evidence(value) >= _ODD_BITS
    )


def _is_parameter(value: str) -> bool:
    """Return True if `value`, of a parameter, was drawn."""
    return values.is_uuid(value) or _is_session(value)


def _is_session(value: str) -> bool:
    """Return True if `value`, of a parameter, was drawn and is no UUID."""
    if not typed_password(value):
        return False
    return is_generated(value, _PARAMETER_BITS) or (
        values.is_hex(value) and len(value) >= _SHORTEST_HEX
    )


def _is_step(value: str) -> bool:
    """Return True if `value`, a part of a path, was drawn."""
    return any(
        is_generated(part, _PATH_BITS)
        or values.is_uuid(part)
        or (values.is_hex(part) and len(part) >= 20)
        for part in value.split("/")
    )


def _is_drawn_step(value: str) -> bool:
    """Return True if `value`, a part of a path that may be an id, was drawn."""
    return is_generated(value, _DRAWN_STEP_BITS)


URLS: tuple[AnchoredRule, ...] = (
    rule("url-password", "://", _is_password,
         r"://[^\s/:\"'<>`\\]{0,120}:(?P<secret>[^\s/\"'<>`\\]{1,1800})@(?=[\w\[$%{/\"'`<+(:*?-])",
         "postgres://app:" + FILL[:14] + "@db.internal:5432/app"),
    rule("url-password", "://", _has_odd_signs,
         r"://[^\s/:\"'<>`\\]{0,60}:(?P<secret>\S{6,100})@(?:" + _NAMED_HOST + ")",
         "postgres://app:p'" + FILL[:14] + "@db.internal:5432/app"),
    rule("url-password", "://", login_password,
         r"://[^\s/:\"'<>`\\]{0,120}:\$\{\w{1,60}:[-=]?(?P<secret>[^\s{}$\"'<>`]{3,100})\}@",
         "postgres://app:${DB_PASS:-" + FILL[:12] + "}@db:5432/app"),
    *(rule("url-password", anchor, login_password,
           r"(?i)(?<=[\w%.+-])&(?:[\w.-]{1,30}(?:\[|%5B))?pass\w{0,6}(?:\]|%5D)?="
           r"(?P<secret>[^\s&\"'<>`\\]{4,100})(?=[&\s\"'<`\\]|$)",
           f"user=app{anchor}word={FILL[:12]}")
      for anchor in ("&pass", "&user[pass")),
    *(rule("url-password", anchor, login_password,
           rf"{re.escape(anchor)}[^\"'\n]{{0,80}}[\"']\s?{call}\s{{0,4}}"
           r"(?:[\"'][^\"'\n]{1,60}[\"']|[\w.]{1,40}),\s{0,4}[\"'](?P<secret>[^\"'\n]{4,100})[\"']",
           f'x = "postgres{anchor}db/app"{sample}"app", "{FILL[:12]}")')
      for anchor, call, sample in (("://%s:%s@", r"(?:%\s?\(|,)", " % ("),
          ("://{}:{}@", r"\.format\(", ".format("))),
    rule("url-password", "//", typed_password,
         r"(?<![\w:/.*])//[\w.%+-]{0,60}:(?P<secret>[^\s/\"'<>`\\@:]{4,100})@[\w-]{1,60}[.:/]",
         f"//app:{FILL[:14]}@db.example.com/app"),
    rule("ldap-password", "bindpw=", typed_password,
         r"(?i)bindpw=(?P<secret>[^\s,&\"'<>]{4,100})", "ldap://x/????X-BINDPW=" + FILL[:12]),
    *(rule("url-parameter", f"{name}=", accept,
           rf"(?i)(?<=[?&;#]){name}=(?P<secret>[\w%.~+/=-]{{10,600}})", f"/cb?{name}={FILL[:32]}")
      for names, accept in ((PARAMETERS, _is_parameter), (SESSIONS, _is_session))
      for name in names),
    *(rule("url-step", step, _is_step,
           rf"(?i){step}[\w-]{{0,24}}(?:/[\w.@-]{{1,60}}){{0,2}}?(?:/|\?\w{{1,12}}=)"
           r"(?P<secret>(?=[^/?#&\s]{0,40}\d)[\w.~%+-]{16,4000}={0,2}"
           r"(?:/[\w%+-]{16,4000})?)" + _NO_FILE, f"GET {step}/{FILL[:32]}")
      for step in STEPS),
    *(rule("url-step", f"{step}/", _is_drawn_step,
           rf"(?i)(?<=\w){step}/(?P<secret>(?=[^/?#&\s]{{0,40}}\d)[\w.~%+-]{{16,4000}})"
           + _NO_FILE, f"example.com{step}/{FILL[:32]}")
      for step in DRAWN_STEPS),
    rule("url-step", "/live/", mixed_password,
         r"/live/[\w.@-]{1,60}/(?P<secret>[\w.@!$~-]{4,80})/\d{1,9}(?:\.(?:ts|m3u8))?(?![\w/.-])",
         f"http://tv.example.com/live/app/{FILL[:10]}/17.ts"),
    *(rule("one-time-code", f"{name}=", str.isdigit,
           rf"(?i)(?<=[?&;]){before}{name}=(?P<secret>\d{{4,8}})(?![\w.%-])",
           f"https://example.com/verify?{sample}{name}=904172", lead)
      for name, before, sample, lead in (("otp", "", "", 0), ("pin", "", "", 0),
          ("passcode", "", "", 0), ("cation_code", "verifi", "verifi", 6))),
)  # fmt: skip
