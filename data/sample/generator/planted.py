"""Made-up secrets, each derived from a label, so that no literal token stands in this source.

They have the shape that a vendor's tokens have (prefix, length, alphabet) and nothing
behind them: every character comes from SHA-256 of a label.
"""

from __future__ import annotations

import base64
import hashlib
import json
import string
from dataclasses import dataclass

_ALNUM = string.ascii_letters + string.digits
_BASE64 = _ALNUM + "+/"
_URLSAFE = _ALNUM + "-_"
_BASE32 = string.ascii_uppercase + "234567"


@dataclass(frozen=True)
class Planted:
    """One made-up secret. `vendor` tokens are written with one character escaped in JSON."""

    name: str
    kind: str
    value: str
    vendor: bool = False


def _characters(label: str, count: int, alphabet: str = _ALNUM) -> str:
    drawn: list[str] = []
    block = 0
    while len(drawn) < count:
        digest = hashlib.sha256(f"harbor sample {label} {block}".encode()).digest()
        drawn.extend(alphabet[byte % len(alphabet)] for byte in digest)
        block += 1
    return "".join(drawn[:count])


def _digits(label: str, count: int) -> str:
    return "1" + _characters(label, count - 1, string.digits)


def _jwt() -> str:
    def part(value: dict[str, object]) -> str:
        packed = json.dumps(value, separators=(",", ":")).encode()
        return base64.urlsafe_b64encode(packed).rstrip(b"=").decode()

    header = part({"alg": "HS256", "typ": "JWT"})
    claims = part({"sub": "u_4821", "aud": "tidepool-web", "iat": 1782200000, "exp": 1782203600})
    return ".".join((header, claims, _characters("jwt", 43, _URLSAFE)))


def _pem() -> str:
    body = "MIIEpAIBAAKCAQEA" + _characters("pem", 64 * 12 - 16 - 2, _BASE64) + "=="
    lines = [body[at : at + 64] for at in range(0, len(body), 64)]
    kind = "RSA PRIVATE" + " KEY"
    return "\n".join([f"-----BEGIN {kind}-----", *lines, f"-----END {kind}-----"])


def _slack_webhook() -> str:
    path = "/".join(
        (
            "T" + _characters("hook-team", 10, string.ascii_uppercase + string.digits),
            "B" + _characters("hook-app", 10, string.ascii_uppercase + string.digits),
            _characters("hook", 24),
        )
    )
    return "https://hooks." + "slack.com/services/" + path


def _openai() -> str:
    return (
        "sk-"
        + "proj-"
        + _characters("oa1", 74, _URLSAFE)
        + "T3Blbk"
        + "FJ"
        + _characters("oa2", 74, _URLSAFE)
    )


def _slack_bot() -> str:
    return "-".join(("xo" + "xb", _digits("sb1", 12), _digits("sb2", 13), _characters("sb3", 24)))


PLANTED: dict[str, Planted] = {
    planted.name: planted
    for planted in (
        Planted("aws_id", "aws-access-key-id", "AK" + "IA" + _characters("aws", 16, _BASE32), True),
        Planted("aws_secret", "aws-secret-access-key", _characters("awss", 40, _BASE64), True),
        Planted("github", "github-token", "gh" + "p_" + _characters("github", 36), True),
        Planted("gitlab", "gitlab-token", "gl" + "pat-" + _characters("gitlab", 20), True),
        Planted("openai", "openai-key", _openai(), True),
        Planted(
            "anthropic",
            "anthropic-key",
            "sk-" + "ant-api03-" + _characters("ant", 93, _URLSAFE) + "AA",
            True,
        ),
        Planted("google_key", "google-api-key", "AI" + "za" + _characters("google", 35), True),
        Planted(
            "google_oauth",
            "google-oauth-client-secret",
            "GOC" + "SPX-" + _characters("oauth", 28),
            True,
        ),
        Planted("slack_bot", "slack-bot-token", _slack_bot(), True),
        Planted("slack_hook", "slack-webhook", _slack_webhook(), True),
        Planted("stripe", "stripe-secret-key", "sk_" + "live_" + _characters("st", 24), True),
        Planted("npm", "npm-token", "npm" + "_" + _characters("npm", 36), True),
        Planted(
            "pypi",
            "pypi-token",
            "pypi-" + "AgEIcHlwaS5vcmc" + _characters("pypi", 120, _URLSAFE),
            True,
        ),
        Planted("jwt", "jwt", _jwt()),
        Planted("pem", "private-key", _pem(), True),
        Planted("bearer", "bearer-header", _characters("bearer", 40)),
        Planted("db_password", "url-userinfo-password", _characters("dbpw", 18)),
        Planted("session_secret", "key-value-assignment", _characters("sess", 48)),
        Planted("staging_password", "key-value-assignment", _characters("stag", 16)),
    )
}


def secret(name: str) -> str:
    """The made-up value planted under `name`."""
    return PLANTED[name].value


def _escaped(planted: Planted) -> tuple[str, str]:
    """The token as JSON writes it, and the same with one character as an escape."""
    plain = json.dumps(planted.value)[1:-1]
    at = plain.index("slack") if "slack" in plain else 2
    return plain, f"{plain[:at]}\\u{ord(plain[at]):04x}{plain[at + 1 :]}"


def dump(record: object) -> str:
    """`record` as one line of JSON, with one character of each vendor's token escaped.

    A hosting site's push protection matches raw bytes and would refuse the commit;
    a JSON parser gives the token back unchanged.
    """
    line = json.dumps(record, ensure_ascii=False, separators=(",", ":"))
    for planted in PLANTED.values():
        if planted.vendor:
            line = line.replace(*_escaped(planted))
    return line


def planted_in(lines: list[str]) -> list[str]:
    """The names of the secrets that these JSON lines hold once parsed."""
    text = "\n".join(lines)
    return [
        planted.name
        for planted in PLANTED.values()
        if any(form in text for form in _escaped(planted))
    ]
