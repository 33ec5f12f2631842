"""Secrets in addresses: what lets whoever has an address do something. Rows as in `anchored.py`."""

from __future__ import annotations

from memory_assets.redaction.rules import values
from memory_assets.redaction.rules.anchored_rule import FILL, AnchoredRule, rule, typed_password
from memory_assets.redaction.rules.likelihood import is_generated
from memory_assets.redaction.rules.wordlist import words

_PARAMETERS = words(
    "code ticket appid app_id sig signature sign oobcode otp hmac magic invite invitation"
    " confirmation confirmation_token st dkey k t link auth login_hint_token"
)
"""Names of parameters that are no names of secrets elsewhere."""
_STEPS = words(
    "/magic /reset /verif /confirm /invit /activat /hook /webhook _hooks /receiver /input /ingest"
    " /heartbeat /eth /rpc /key /token /incoming /trigger /deploy /collect /bot /robot"
    " /private- /feed /rss /ical /subscribe /notify /push /send /ping"
    " /passwordless /signin /sso /unlock"
)
"""Beginnings of the part of a path that a secret follows."""
_DRAWN_STEPS = words(
    "/login /sign-in /auth /session /join /share /unsubscribe /calendar /callback /access"
)
"""Those that more often an id follows."""
_PARAMETER_BITS = 12
_PATH_BITS = 20
_DRAWN_STEP_BITS = 25
_ANY_NAME_BITS = 35
"""Bits of evidence that values of the three kinds need."""
_NO_FILE = r"(?![\w/+]{0,80}\.(?!ics|xml|rss)\w)"
_IDS = (
    r"id|cursor|state|nonce|hash|sha\d*|integrity|rev|ref|version|q|query|cb|etag|clid|challenge"
    r"|credential|content|data|text|body|url|uri|redirect\w*|src|image|font|family|next|after|before"
)
"""Ends of names of parameters whose values are drawn and no secrets."""
_PARTS_BITS = 30


def _is_parameter(value: str) -> bool:
    """Return True if `value`, of a parameter, was drawn."""
    if not typed_password(value):
        return False
    return is_generated(value, _PARAMETER_BITS) or (values.is_hex(value) and len(value) >= 24)


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


def _is_certain(value: str) -> bool:
    """Return True if `value` was drawn, whatever is said of it."""
    return is_generated(value, _ANY_NAME_BITS)


def _are_parts(value: str) -> bool:
    """Return True if the parts of `value` together were drawn, and none of them is a hash."""
    parts = value.split("/")
    return is_generated("".join(parts), _PARTS_BITS) and not any(map(values.is_hex, parts))


URLS: tuple[AnchoredRule, ...] = (
    *(rule("url-parameter", f"{name}=", _is_parameter,
           rf"(?i)(?<=[?&;]){name}=(?P<secret>[\w%.~+/=-]{{10,600}})",
           f"https://example.com/callback?{name}={FILL[:32]}")
      for name in _PARAMETERS),
    *(rule("url-step", step, _is_step,
           rf"(?i){step}[\w-]{{0,24}}(?:/[\w.-]{{1,40}}){{0,2}}?(?:/|\?\w{{1,12}}=)"
           r"(?P<secret>(?=[^/?#&\s]{0,40}\d)[\w.~%+-]{16,400}={0,2}"
           r"(?:/[\w%+-]{16,400})?)" + _NO_FILE,
           f"https://example.com/build{step}/{FILL[:32]}")
      for step in _STEPS),
    *(rule("url-step", f"{step}/", _is_drawn_step,
           rf"(?i)(?<=\w){step}/(?P<secret>(?=[^/?#&\s]{{0,40}}\d)[\w.~%+-]{{16,400}})"
           + _NO_FILE, f"https://example.com{step}/{FILL[:32]}")
      for step in _DRAWN_STEPS),
    rule("url-step", "/api/", _is_certain,
         r"/api/(?:[\w.-]{1,24}/){0,3}?(?P<secret>(?=[^/?#&\s]{0,40}\d)[\w~-]{16,200})" + _NO_FILE,
         f"https://example.com/api/v1/{FILL[:24]}/telemetry"),
    rule("url-step", "://", _is_certain,
         r"://(?i:api|push|hooks?|webhooks?|in|logs?|rpc|collect|notify)[\w-]{0,30}\.[\w.-]{1,80}"
         r"(?::\d{2,5})?/(?:[\w.-]{1,24}/){0,3}?(?P<secret>(?=[^/?#&\s]{0,40}\d)[\w~-]{16,200})"
         + _NO_FILE, f"https://api.example.com/{FILL[:24]}/send"),
    rule("url-parameter", "://", _is_certain,
         rf"://[^\s\"'<>`]{{1,300}}?[?&;](?![\w.-]{{0,30}}?(?i:{_IDS})=)[\w.-]{{1,30}}="
         r"(?P<secret>(?=[^&#\s]{0,40}\d)[\w.~+/-]{20,400})(?=[&#\s\"'<>`)]|$)",
         f"https://example.com/?h={FILL[:32]}"),
    rule("webhook-url", "://hook", _are_parts,
         r"://hooks?\.[\w.-]{1,80}/(?:[a-z]{1,16}/){0,3}(?P<secret>[\w-]{6,80}(?:/[\w-]{6,80}){0,4})",
         f"https://hooks.example.com/services/T{FILL[:8]}/B{FILL[8:16]}/{FILL[16:40]}"),
    rule("url-parts", "://", _are_parts,
         r"(?<!http)(?<!https)(?<!file)(?<!op)://(?P<secret>[\w-]{6,80}(?:/[\w-]{6,80}){1,4})(?![\w.@:-])",
         f"chat://{FILL[:9]}/{FILL[9:18]}/{FILL[18:42]}"),
)  # fmt: skip
