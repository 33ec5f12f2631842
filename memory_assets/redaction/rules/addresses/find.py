"""Find what in an address gives access to whoever has it.

Each part is held against the bar of its place: what is ordinary there stays. Passwords behind a
user are found by a row of `anchored/urls.py`, wherever they are.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import TypeAlias

from memory_assets.redaction.rules.addresses import likeness, places
from memory_assets.redaction.rules.addresses.likeness import Bar, is_secret
from memory_assets.redaction.rules.addresses.parts import (
    LONGEST,
    Address,
    Part,
    address_end,
    read_address,
    scheme_before,
)
from memory_assets.redaction.rules.anchored.rule import (
    any_value,
    login_password,
    mixed_password,
    random_value,
    typed_password,
)
from memory_assets.redaction.rules.judging import values
from memory_assets.redaction.rules.judging.likelihood import is_generated
from memory_assets.redaction.rules.judging.names import NameKind, name_kind, names_page

Found: TypeAlias = tuple[int, int, str]
_HINT = re.compile("[0-9@=]")
_CANDIDATE = re.compile(
    r"@|[\w%~+-]{20}|(?<![\w%~+-])(?=[\w%~+-]{6})[A-Za-z_%~+-]*\d"
    r"|[?&;#](?i:p[a-z]{0,7}|[\w.%\[-]{0,24}(?:token|secret|key|auth|pwd?|psw|pass\w{0,6}|wort))"
    r"(?:%5D|\])?="
)
"""What an address has that is worth reading: a user, a long piece, one of six characters with a
digit, or a parameter for passwords or tokens; first a hint of it, which is a cheaper search."""
_SEPARATORS = re.compile("[/@:]")
_USER_BITS = 15
_SHORTEST_USER = 12
_SHORTEST_TOKEN = 6
_SHORTEST_PIN = 4
_SHORTEST_NUMBER = 8
_PLAIN = re.compile(r"[\w%+/=.~!*$@-]+")
_ONE_TIME = re.compile(r"\d{4,8}|[A-Z0-9]{6,8}")
_NEAR = 3
"""How many segments behind a word for secrets are near it."""


def find_in_address(text: str, position: int) -> tuple[Sequence[Found], int]:
    """Return (start, end, rule) of the secrets in the address whose `://` is at `position`, and
    where the address ends."""
    end = address_end(text, position)
    start = position + 3
    if _HINT.search(text, start, end) is None or _CANDIDATE.search(text, start, end) is None:
        return (), end
    begin, stop = position - len(scheme_before(text, position)), end
    if text.startswith("://", end):  # the next address
        stop -= len(scheme_before(text, end))
    spans = _in_address(text[begin : min(stop, begin + LONGEST)])
    return [(begin + first, begin + last, rule) for first, last, rule in spans], end


@lru_cache(maxsize=4_096)
def _in_address(text: str) -> tuple[Found, ...]:
    """Return the secrets of the address `text`. Transcripts repeat addresses often."""
    return tuple(
        (part.start, part.start + len(part.value), rule)
        for part, rule in _secret_parts(read_address(text))
    )


def _secret_parts(address: Address) -> Iterator[tuple[Part, str]]:
    """Yield the parts that give access, each with its rule."""
    scheme = address.scheme.rpartition("+")[2]
    if address.user.value and _is_user(address.user.value, address.password, scheme):
        yield address.user, "url-token"
    if scheme in places.OWN or len(scheme) == 1:
        return
    whole = None if scheme in places.WEB else _of_own_scheme(address.body, scheme)
    if whole is not None:
        yield whole, "url-parts"
        return
    label, _, _ = address.host.value.partition(".")
    if places.GIVING_HOST.search(address.host.value) and values.has_digit(label):
        yield Part(label, address.host.start), "url-host-key"
    for segment in _secret_segments(address):
        yield segment, "url-step"
    for field in _secret_fields(address):
        yield field, "url-parameter"
    for part in address.fragment:
        bar = _field_bar(part.name, is_account=False)
        if is_secret(part.value, bar) or _is_named_secret(part):
            yield part, "url-fragment"


def _is_user(value: str, password: str, scheme: str) -> bool:
    """Return True if `value`, in the place of a user, gives access."""
    if scheme in places.PASSWORD_SCHEMES and (mixed_password(value) or values.is_uuid(value)):
        return True
    if password in places.NO_PASSWORD and len(value) >= _SHORTEST_TOKEN and mixed_password(value):
        return True
    if len(value) < _SHORTEST_USER or not any_value(value):
        return random_value(value)
    return (
        random_value(value)
        or is_generated(value, _USER_BITS)
        or values.is_uuid(value)
        or (values.is_hex(value) and len(value) >= likeness.NEAR_SECRET_WORD.hexadecimal)
    )


def _of_own_scheme(body: Part, scheme: str) -> Part | None:
    """Return the part that gives access of an address whose scheme is not the web's, or None: all
    of it for a service that notifies, and otherwise from the first drawn part to the last."""
    notifies = scheme in places.NOTIFYING
    bar = likeness.NOTIFYING if notifies else likeness.OWN_SCHEME
    if len(scheme) < 3 or "sha256" in body.value:
        return None
    drawn = [part for part in _SEPARATORS.split(body.value) if is_secret(part, bar)]
    if not drawn:
        return None
    start = 0 if notifies else body.value.index(drawn[0])
    end = len(body.value) if notifies else body.value.rindex(drawn[-1]) + len(drawn[-1])
    return Part(body.value[start:end], body.start + start)


def _secret_segments(address: Address) -> Iterator[Part]:
    """Yield the segments of the path that give access, names of files aside."""
    segments = address.segments
    if places.NAMING_HOST.search(address.host.value):
        return
    on_host = _host_bar(address)
    receives = places.RECEIVING_HOST.search(address.host.value)
    before, near = "", 0
    for number, segment in enumerate(segments):
        after = segments[number + 1].value.lower() if number + 1 < len(segments) else ""
        near = _NEAR if places.STRONG_WORD.fullmatch(before) else max(near - 1, 0)
        if near == _NEAR:
            bar = likeness.AFTER_SECRET_WORD
        elif receives:
            bar = likeness.RECEIVING
        elif near or (after in places.REGISTRY and on_host is not likeness.NOWHERE):
            bar = likeness.NEAR_SECRET_WORD
        else:
            bar = _bar_behind(before, on_host)
        before = segment.value
        drawn = not likeness.is_file(before) and is_secret(likeness.stem(before), bar)
        if drawn or places.BOT.match(before):
            yield segment


def _host_bar(address: Address) -> Bar:
    """Return the bar for segments of which the path says nothing."""
    host = address.host.value
    if places.KEYED_HOST.search(host):
        return likeness.AFTER_SECRET_WORD
    if places.PUBLIC_HOST.search(host):
        return likeness.NOWHERE
    if address.scheme in places.STREAMS or places.SPEAKING_HOST.search(host):
        return likeness.NEAR_SECRET_WORD
    return likeness.ANYWHERE


def _bar_behind(before: str, on_host: Bar) -> Bar:
    """Return the bar for a segment behind the segment `before`."""
    if on_host is likeness.NOWHERE:
        return on_host
    if before.lower() in places.SINGULAR or places.PLURAL.fullmatch(before):
        return likeness.COLLECTION
    if places.AUTH.fullmatch(before):
        return likeness.BEHIND_AUTH
    if places.ACTION.fullmatch(before):
        return likeness.BEHIND_ACTION
    return likeness.NEAR_SECRET_WORD if places.WEAK_WORD.fullmatch(before) else on_host


def _secret_fields(address: Address) -> Iterator[Part]:
    """Yield the parameters that give access."""
    path = "/".join((address.host.value, *(segment.value for segment in address.segments)))
    is_account = places.ACCOUNT.search(path) is not None
    has_login = any(places.LOGIN.fullmatch(field.name) for field in address.fields)
    has_user = any(places.USER.fullmatch(field.name) for field in address.fields)
    is_seed = address.scheme.startswith("otpauth")
    is_called = places.SPEAKING_HOST.search(address.host.value) is not None
    for field in address.fields:
        if names_page(field.name):
            continue
        bar = likeness.UNNAMED_FIELD if is_seed else _field_bar(field.name, is_account)
        if bar is likeness.UNNAMED_FIELD and is_called and field.name not in places.SINGULAR:
            bar = likeness.CALL_FIELD
        if (
            is_secret(field.value, bar)
            or _is_named_secret(field)
            or (has_login and _is_password_of_login(field))
            or (has_user and _is_of_user(field))
            or (is_account and field.name == "code" and _ONE_TIME.fullmatch(field.value))
        ):
            yield field


def _is_password_of_login(field: Part) -> bool:
    """Return True if `field` is the password for the login beside it."""
    return field.name.lower() in places.PASSWORDS and login_password(field.value)


def _is_of_user(field: Part) -> bool:
    """Return True if `field` is a token or a signature for the user beside it."""
    if field.name.lower() in places.HASHES:
        return is_secret(field.value, likeness.USERS_HASH)
    return places.SECRET_END.search(field.name) is not None and mixed_password(field.value)


def _field_bar(name: str, is_account: bool) -> Bar:
    """Return the bar for the value of a parameter; `is_account` is True if the path leads to what
    one person may do."""
    lower = name.lower()
    if places.SIGNATURES.fullmatch(name):
        return likeness.SIGNATURE
    if lower in places.PARAMETERS:
        return likeness.CODE
    if places.SECRET_END.search(name):
        return likeness.SECRET_NAME
    if lower in places.SESSIONS or (is_account and lower in places.FOR_ONE_PERSON):
        return likeness.SHORT_NAME
    if places.ORDINARY.match(name):
        return likeness.NOWHERE
    return likeness.SECRET_NAME if name_kind(name) >= NameKind.TOKEN else likeness.UNNAMED_FIELD


def _is_named_secret(field: Part) -> bool:
    """Return True if `field`, under a name for passwords or tokens, is a secret and no placeholder
    of a program. In an address it is a value, no code; words serve as passwords in tests."""
    is_password = places.PASSWORD_END.search(field.name) is not None
    kind = NameKind.PASSWORD if is_password else name_kind(field.name)
    value = field.value
    if kind < NameKind.TOKEN or field.name.lower().rstrip("0123456789_-") in places.KEYS:
        return False
    if value.isdigit():
        return len(value) >= (_SHORTEST_PIN if kind is NameKind.PASSWORD else _SHORTEST_NUMBER)
    if is_password and not places.ASKING.match(field.name) and len(value) >= _SHORTEST_PIN:
        return login_password(value) and _PLAIN.fullmatch(value) is not None
    return (
        len(value) >= _SHORTEST_TOKEN
        and typed_password(value)
        and not values.is_example(value)
        and not values.is_identifier_of_something(value)
        and (_PLAIN.fullmatch(value) is not None)
    )
