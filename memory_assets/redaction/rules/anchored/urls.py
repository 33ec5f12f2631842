"""Secrets in pieces of addresses, where no host need stand before them (`GET /hooks/...`), and the
passwords behind users. Whole addresses are judged in `addresses/`. Rows as in `table.py`.
"""

from __future__ import annotations

from memory_assets.redaction.rules.addresses.places import DRAWN_STEPS, PARAMETERS, SESSIONS, STEPS
from memory_assets.redaction.rules.anchored.rule import (
    FILL,
    AnchoredRule,
    any_value,
    mixed_password,
    rule,
    typed_password,
)
from memory_assets.redaction.rules.judging import values
from memory_assets.redaction.rules.judging.likelihood import is_generated

_PARAMETER_BITS = 12
_PATH_BITS = 20
_SHORTEST_HEX = 16
_DRAWN_STEP_BITS = 25
"""Bits of evidence that values of these kinds need."""
_NO_FILE = r"(?!\w|@[\w.-]{1,80}/|[\w/+]{0,80}\.(?!ics|xml|rss|json|sh\b)\w)"


def _is_password(value: str) -> bool:
    """Return True if `value`, behind a user, is a password: `my_` begins stand-ins, but none with a
    number."""
    return any_value(value) or (value.startswith("my_") and mixed_password(value[3:]))


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
