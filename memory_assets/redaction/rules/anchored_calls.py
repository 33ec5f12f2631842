"""Secrets passed to calls without a name. Rows as in `anchored.py`."""

from __future__ import annotations

from memory_assets.redaction.rules.anchored_rule import (
    AnchoredRule,
    anchored_rule,
    plausible_key,
    quoted_password,
    random_value,
    strong_value,
)
from memory_assets.redaction.rules.formats import sample_characters

_FILL = sample_characters("A-Za-z0-9", 60)
_QUOTED = r"(?:\"[^\"\n]{1,80}\"|'[^'\n]{1,80}')"
_SECRET = r"\\?[\"'](?P<secret>[^\"'\n\\]{4,100})\\?[\"']"


def _aws_secret(value: str) -> bool:
    return plausible_key(value) and "EXAMPLE" not in value


CALLS: tuple[AnchoredRule, ...] = (
    *(
        anchored_rule(
            "set-password",
            anchor.encode(),
            rf"(?i){anchor}\({_SECRET}",
            quoted_password,
            f"x.{anchor}(" + '"' + _FILL[:12] + '")',
        )
        for anchor in ("setpassword", "set_password", "setpasswd", "withpassword", "setsecret")
    ),
    *(
        anchored_rule(
            "set-password",
            anchor.encode(),
            rf"(?i)pass(?:word|wd)?{quote}\)\.(?:send_?keys|fill|type|clear\(\)\.type)\({_SECRET}",
            quoted_password,
            f"find({quote}{anchor}.send_keys({quote}{_FILL[:12]}{quote})",
        )
        for quote in "\"'"
        for anchor in (f"password{quote})", f"passwd{quote})")
    ),
    *(
        anchored_rule(
            "default-password",
            f"password{quote},".encode(),
            rf"(?i)password{quote},[^\n]{{0,100}}?\bdefault\s?=\s?{_SECRET}",
            quoted_password,
            f"add_argument({quote}--password{quote}, default={quote}{_FILL[:12]}{quote})",
        )
        for quote in "\"'"
    ),
    anchored_rule(
        "login-call",
        b"login(",
        rf"(?i)login\(\s{{0,8}}{_QUOTED},\s{{0,8}}{_SECRET}\s{{0,8}}\)",
        strong_value,
        'smtp.login("app@corp.io", "' + _FILL[:12] + '")',
    ),
    anchored_rule(
        "login-call",
        b"auth=(",
        rf"(?i)auth=\(\s{{0,8}}{_QUOTED},\s{{0,8}}{_SECRET}\s{{0,8}}\)",
        quoted_password,
        'get(url, auth=("app", "' + _FILL[:12] + '"))',
    ),
    anchored_rule(
        "login-call",
        b"basicauth(",
        rf"(?i)basicauth\(\s{{0,8}}{_QUOTED},\s{{0,8}}{_SECRET}\s{{0,8}}\)",
        quoted_password,
        'HTTPBasicAuth("app", "' + _FILL[:12] + '")',
    ),
    anchored_rule(
        "login-call",
        b"connect(",
        rf"(?i)connect\([^()\n]{{1,120}},\s{{0,8}}{_QUOTED},\s{{0,8}}{_SECRET}\s{{0,8}}[,)]",
        strong_value,
        'mysql_connect("localhost", "root", "' + _FILL[:12] + '");',
    ),
    anchored_rule(
        "login-call",
        b"getconnection(",
        rf"(?i)getconnection\([^()\n]{{1,160}},\s{{0,8}}{_QUOTED},\s{{0,8}}{_SECRET}\s{{0,8}}\)",
        quoted_password,
        'DriverManager.getConnection(url, "app", "' + _FILL[:12] + '");',
    ),
    anchored_rule(
        "login-call",
        b"credentials(",
        rf"(?i)credentials\(\s{{0,8}}(?:{_QUOTED},\s{{0,8}}){{1,3}}{_SECRET}\s{{0,8}}\)",
        strong_value,
        'credentials += Credentials("Realm", "host", "app", "' + _FILL[:12] + '")',
    ),
    anchored_rule(
        "token-call",
        b"access_token(",
        rf"(?i)access_token\(\s{{0,8}}{_QUOTED},\s{{0,8}}[\"'](?P<secret>[\w.-]{{20,200}})[\"']",
        random_value,
        'auth.set_access_token("app", "' + _FILL[:45] + '")',
    ),
    anchored_rule(
        "aws-key-pair",
        b"akia",
        r"AKIA[A-Z0-9]{16}[\"']?[\s,;:|]{1,4}[\"']?(?P<secret>[A-Za-z0-9+/]{40})(?![A-Za-z0-9+/=])",
        _aws_secret,
        'client("AKIA' + _FILL[:16].upper() + '", "' + _FILL[:40] + '")',
    ),
    anchored_rule(
        "environment-default",
        b"env.",
        r"(?i)env\.\w{0,60}(?:pass|pwd|secret|token|key|phrase)\w{0,24}\s?(?:\|\||\?\?)\s?"
        + _SECRET,
        quoted_password,
        "process.env.APP_SECRET || '" + _FILL[:20] + "'",
    ),
)
