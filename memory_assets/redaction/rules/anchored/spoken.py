"""Chosen passwords, if only a word and a number, where their place says what they are: in sentences
about logins, in settings of routers and telephones, in the codes that share a network. Rows as in
`table.py`."""

from __future__ import annotations

from memory_assets.redaction.rules.anchored.rule import (
    FILL,
    AnchoredRule,
    any_value,
    likely_password,
    mixed_password,
    rule,
)
from memory_assets.redaction.rules.wordlist import words

_END = r"(?=[.,;:!?)\]]{0,2}(?:[\s\"'`]|$))"
_VALUE = rf"[\"'`]?(?P<secret>[^\s\"'`<>(){{}}\[\],;|&=]{{5,60}}?){_END}"
_BEFORE_PASS = "|".join(
    rf"(?<={system} )"
    for system in words(
        "db database mongo mysql postgres redis sql ldap root admin vpn wifi wi-fi ssh sudo ftp"
        " sftp smtp imap mail grafana jenkins router server user login account service keepass box"
        " host default staging prod"
    )
)
"""Words for what has a password, before "pass" in that sense: tests pass, too."""
_GIVEN = r"(?:[^\n:=.;]{0,40}?(?:[ ]?(?:=|:|->|→)[ ]?|[ ](?:is|was|to)(?: now)?[ ])|[ ])"
"""What stands between "pass" and its value: a sign, a verb, or a blank alone."""


def _from_and_to(value: str) -> bool:
    """Return True if `value` is two passwords, the old and the new one."""
    return all(map(likely_password, value.split(" to ")))


SPOKEN: tuple[AnchoredRule, ...] = (
    rule("spoken-password", "pass", likely_password,
         rf"(?i)(?:{_BEFORE_PASS})pass(?![a-z]){_GIVEN}{_VALUE}",
         "db pass for staging = " + FILL[:12]),
    *(rule("spoken-password", f"{word} ", likely_password,
           rf"(?i)(?<![\w-]){word} (?!for ){_VALUE}",
           f"ops, {word} {FILL[:12]}")
      for word in ("password", "passphrase", "passwort", "pw", "pwd", "passwd")),
    *(rule("spoken-password", f"{word} (", likely_password,
           rf"(?i)(?<![\w-]){word} \([\"'`]?(?P<secret>[^\s()\"'`,]{{5,60}})[\"'`]?\)",
           f"its {word} ({FILL[:12]}) was")
      for word in ("password", "passphrase", "pass", "pw")),
    rule("spoken-password", "password from ", _from_and_to,
         rf"(?i)password from [\"'`]?(?P<secret>[^\s\"'`]{{5,60}} to [^\s\"'`]{{5,60}}?){_END}",
         f"password from {FILL[:12]} to {FILL[12:24]}"),
    *(rule("spoken-password", f"{word} ", likely_password,
           rf"(?i){word} (?:with|as|using) [\w.@+-]{{1,60}}(?:[ ](?:and|with)[ ]|,[ ]|[ ]?/[ ]?)"
           rf"(?:pass(?:word)? )?{_VALUE}", f"{word} with app and {FILL[:12]}")
      for word in ("log in", "login", "sign in")),
    *(rule("spoken-password", word, likely_password,
           rf"(?i){word}\b[^\n:/]{{0,60}}[ ](?:are|is|were)[ ][\"'`]?[\w.@+-]{{1,60}}[ ]?[:/][ ]?"
           + _VALUE,
           f"the {word} of it are app:{FILL[:12]}")
      for word in ("creds", "credentials", "login", "panel", "console")),
    rule("wifi-key", "wifi:", any_value,
         r"(?i)wifi:(?:[a-oq-z]:[^;\n]{0,80};){0,4}p:\"?(?P<secret>[^;\n\"]{4,63})\"?;",
         "WIFI:T:WPA;S:home;P:" + FILL[:12] + ";;"),
    *(rule("host-login", scheme, mixed_password,
           rf"(?i)(?<!\w){scheme}[\w.+-]{{1,60}}:(?P<secret>[^\s:@\"'<>]{{4,64}})@(?=[\w\[])",
           f"{scheme}app:{FILL[:12]}@pbx.example.com")
      for scheme in ("sip:", "sips:")),
    *(rule("device-password", anchor, mixed_password,
           rf"(?i)(?<![\w-]){before}[\"']?(?P<secret>[^\s\"';]{{4,100}})[\"']?(?=[\s;]|$)",
           f"{sample}{FILL[:12]}")
      for anchor, before, sample in (
          ("enable ", r"enable (?:secret|password)(?: level \d{1,2})? (?:[05-9] )?",
           "enable secret 0 "),
          ("username ",
           r"username \S{1,60} (?:privilege \d{1,2} )?(?:secret|password) (?:[05-9] )?",
           "username app privilege 15 secret 0 "),
          ("neighbor ", r"neighbor \S{1,60} password (?:[0-9] )?", "neighbor 192.0.2.1 password "),
          ("password 0 ", r"password 0 ", "ppp chap password 0 "),
          ("pre-shared-key ", r"pre-shared-key (?:ascii-text |hex |local |remote |[0-9] )?",
           "pre-shared-key "),
          ("key-string ", r"key-string (?:[0-9] )?", "key-string "),
          ("wpa-psk ", r"wpa-psk (?:ascii|hex) (?:[0-9] )?", "wpa-psk ascii 0 "),
          ("set passwd ", r"set passwd ", "set passwd "),
          ("plain-text-password-value ", r"plain-text-password-value ",
           "plain-text-password-value "))),
    rule("device-password", "isakmp key ", mixed_password,
         r"(?i)isakmp key (?:[06] )?(?P<secret>[^\s\"';]{4,100})(?= (?:address|hostname))",
         "crypto isakmp key " + FILL[:12] + " address 192.0.2.1"),
)  # fmt: skip
