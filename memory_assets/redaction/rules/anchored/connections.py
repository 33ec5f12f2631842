"""Passwords of connection strings and of logins without a scheme. Rows as in `table.py`."""

from __future__ import annotations

from memory_assets.redaction.rules.anchored.rule import FILL, AnchoredRule, login_password, rule

_FIELD = r"[\w .:-]{1,40}=[^;\"'\r\n]{0,120};\s?"
_LOGIN = r"user(?:[ _]?(?:id|name))?|uid"
_SERVER = r"server|data source|host|addr|database|initial catalog|driver|dsn"
_VALUE = (
    r"(?P<secret>\{[^{}\r\n\"']{3,100}\}|[^;\s\"'<>]{2,100}[^;\s\"'<>\\])"
    r"(?=\s{0,4}(?:[;\"'`<\r\n]|&quot;|\\|$))"
)
"""A value that ends where a field of a connection string ends."""


def _is_field(value: str) -> bool:
    """Return True if `value`, of a connection string's field for passwords, is one."""
    return login_password(value) and login_password(value.strip("{}"))


CONNECTIONS: tuple[AnchoredRule, ...] = (
    *(rule("login-password", anchor, _is_field,
           rf"(?i)(?:{names})\s?=\s?[^;=\"'\r\n]{{0,120}};\s?(?:{_FIELD}){{0,8}}?"
           rf"(?:[\w :]{{1,30}}[ _])?(?:password|pwd|pass)\s?=\s?{_VALUE}",
           f"{sample};Password=" + FILL[:6] + "{,;")
      for anchor, names, sample in (("user", _LOGIN, "User Id=app"), ("uid", _LOGIN, "Uid=app"),
          ("server", _SERVER, "Server=db"), ("data source", _SERVER, "Data Source=db"),
          ("host", _SERVER, "Host=db"), ("addr", _SERVER, "http::addr=localhost:9000"))),
    *(rule("login-password", anchor, _is_field,
           rf"(?i){anchor}\s?=\s?{_VALUE};\s?(?:{_FIELD}){{0,8}}?(?:{_LOGIN}|{_SERVER})\s?=",
           anchor + "=" + FILL[:6] + "{,;User Id=app")
      for anchor in ("password", "pwd")),
    *(rule("login-password", anchor, login_password,
           rf"(?i)(?<![\w.]){anchor}[^\s,;()\"']{{1,80}}[ ]"
           r"(?:\w{2,30}=[^\s,;()\"']{0,80}[ ]){0,8}?"
           r"password=(?P<secret>(?!')[^\s\"'<>\\]{3,100})(?=[\s\"'`\\]|$)",
           f"{anchor}app password=" + FILL[:12])
      for anchor in ("user=", "host=", "dbname=")),
    *(rule("command-secret", anchor, login_password,
           rf"(?i){pattern}[\"']?\w[\w.$]{{0,60}}/\\?[\"']?(?P<secret>(?<=[\"'])[^\s\"']{{4,100}}?(?=\\?[\"'](?:[@\s]|$))|[^\s\"'@/]{{3,100}}(?=[\"']?@))",
           f"{sample}app/{FILL[:12]}@orcl")
      for anchor, pattern, sample in (
          *((f"{program} ", rf"\b{program} (?:-\w{{1,8}} |userid=|target ){{0,3}}", f"{program} ")
            for program in ("sqlplus", "expdp", "impdp", "sqlldr", "rman", "connect", "conn")),
          ("oracle.connect(", r"oracle\.connect\(", "cx_Oracle.connect("),
          ("oracledb.connect(", r"oracledb\.connect\(", "oracledb.connect("))),
)  # fmt: skip
