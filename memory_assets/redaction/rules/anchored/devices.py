"""Secrets in settings and dialogues of devices and servers: routers, telephones, networks, prompts.
Rows as in `table.py`."""

from __future__ import annotations

import re

from memory_assets.redaction.rules.anchored.rule import (
    FILL,
    AnchoredRule,
    any_value,
    likely_password,
    login_password,
    mixed_password,
    placed_password,
    rule,
    typed_password,
)
from memory_assets.redaction.rules.judging.named_values import Place, is_named_secret
from memory_assets.redaction.rules.judging.phrases import is_said

_END = r"(?=[.,;:!?)\]]{0,2}(?:[\s\"'`]|$))"
_VALUE = rf"[\"'`]?(?P<secret>[^\s\"'`<>(){{}}\[\],;|&=]{{5,60}}?){_END}"
_NO_SENTENCE = r"(?=[a-z]*[^\sa-z\"';]|[a-z]+[\"']?(?:;|[ \t]*(?:[\r\n]|$)))"
"""Before a word alone, if it ends its line."""


def _is_community(value: str) -> bool:
    """Return True if `value`, a community of SNMP, is none that everybody knows."""
    return is_named_secret(value, Place.LINE) and value.lower() not in ("public", "private")


def _is_prompted(value: str) -> bool:
    """Return True if `value`, behind a prompt for passwords or in a form, is one: also a word."""
    return typed_password(value) and login_password(value) and not is_said(value)


DEVICES: tuple[AnchoredRule, ...] = (
    rule("device-password", "community", _is_community,
         r"(?i)community[\"']?(?:(?:(?<=snmp.community)|(?<=snmp.community[\"'])|[ _-]string)[\"']?"
         rf"\s{{0,3}}[:=]\s{{0,3}}|(?<=snmp-server community) ){_VALUE}",
         "community string: " + FILL[:12]),
    *(rule("device-password", anchor, mixed_password if anchor == "enable " else placed_password,
           rf"(?i)(?<![\w-]){before}[\"']?{_NO_SENTENCE}(?P<secret>[^\s\"';]{{4,100}})[\"']?"
           r"(?=[\s;]|$)",
           f"{sample}{FILL[:12]}")
      for anchor, before, sample in (
          ("enable ", r"enable (?:secret|password)(?: level \d{1,2})? (?:[05-9] )?",
           "enable secret 0 "),
          ("username ",
           r"username \S{1,60} (?:privilege \d{1,2} )?(?:secret|password) (?:[05-9] )?",
           "username app privilege 15 secret 0 "),
          ("neighbor ", r"neighbor \S{1,60} password (?:[0-9] )?", "neighbor 192.0.2.1 password "),
          ("password 0 ", r"password 0 ", "ppp chap password 0 "),
          ("pre-shared-", r"pre-shared-(?:key|secret) (?:ascii-text |hex |local |remote |[0-9] )?",
           "pre-shared-key "),
          ("option key ", r"option key (?=[\"'])", "option key '"),
          ("nhrp authentication ", r"nhrp authentication ", "ip nhrp authentication "),
          ("line ", r"line (?:vty|con|aux) [\d ]{1,7}\r?\n(?: [^\n]{1,60}\n){0,4} password (?:0 )?",
           "line vty 0 4\n password "),
          ("key-string ", r"key-string (?:[0-9] )?", "key-string "),
          ("wpa-psk ", r"wpa-psk (?:ascii|hex) (?:[0-9] )?", "wpa-psk ascii 0 "),
          ("set passwd ", r"set passwd ", "set passwd "),
          ("set psksecret ", r"set psksecret ", "set psksecret "),
          ("authentication-key ", r"authentication-key (?:[0-9] )?", "ip ospf authentication-key "),
          ("message-digest-key ", r"message-digest-key \d{1,3} md5 (?:[0-9] )?",
           "message-digest-key 1 md5 "),
          ("auth sha", r"auth sha[ -]?\d{0,3} ", "snmp-server user app g v3 auth sha "),
          ("auth md5 ", r"auth md5 ", "snmp-server user app g v3 auth md5 "),
          ("priv aes", r"priv aes ?(?:\d{3} )?", "v3 auth sha x priv aes 128 "),
          ("radius-server ", r"radius-server (?:host \S{1,60} )?(?:[\w-]{1,20} \d{1,5} ){0,3}"
           r"key (?:[0-9] )?",
           "radius-server host 192.0.2.9 key "),
          ("tacacs-server key ", r"tacacs-server key (?:[0-9] )?", "tacacs-server key "),
          ("snmp community ", r"snmp community ", "set snmp community "),
          ("plain-text-password-value ", r"plain-text-password-value ",
           "plain-text-password-value "))),
    rule("device-password", "isakmp key ", placed_password,
         r"(?i)isakmp key (?:[06] )?(?P<secret>[^\s\"';]{4,100})(?= (?:address|hostname))",
         "crypto isakmp key " + FILL[:12] + " address 192.0.2.1"),
    rule("wifi-key", "wifi:", any_value,
         r"(?i)wifi:(?:[a-oq-z]:[^;\n]{0,80};){0,4}p:\"?(?P<secret>[^;\n\"]{4,63})\"?;",
         "WIFI:T:WPA;S:home;P:" + FILL[:12] + ";;"),
    rule("host-login", "register ", placed_password,
         r"(?i)register (?:=> ?)?[\w.+-]{1,60}:(?P<secret>[^\s:@\"'<>]{4,64})@(?=[\w\[])",
         "register => app:" + FILL[:12] + "@pbx.example.com"),
    *(rule("host-login", scheme, placed_password,
           rf"(?i)(?<!\w){scheme}[\w.+-]{{1,60}}:(?P<secret>[^\s:@\"'<>]{{4,64}})@(?=[\w\[])",
           f"{scheme}app:{FILL[:12]}@pbx.example.com")
      for scheme in ("sip:", "sips:")),
    *(rule("host-login", f"{user}:", likely_password,
           rf"(?i)(?<![^\n]){user}:(?P<secret>[^\s:\"'`<>(){{}}\[\],;|]{{5,64}})"
           r"(?=[ \t]{0,4}(?:\r?\n|$))", f"{user}:{FILL[:12]}")
      for user in ("root", "admin", "administrator", "postgres", "sa")),
    rule("printed-secret", "ugfzc3dvcmq6", any_value,
         r"(?i)ugfzc3dvcmq6\r?\n(?:[CS<>]{1,2}:? ?)?(?P<secret>[a-z0-9+/]{6,200}={0,2})(?=\r?\n|$)",
         f"S: 334 UGFzc3dvcmQ6\nC: {FILL[:12]}\n"),
    *(rule("printed-secret", prompt, _is_prompted,
           rf"(?i){re.escape(prompt)}[^\n:]{{0,80}}: ?"
           r"(?P<secret>[^\s\"'`<>{}\[\](),;=:]{4,64})(?=[ \t]*(?:\r?\n|$))",
           f"{prompt}: harborwalnut\n")
      for prompt in ("sudo] password for ", "enter passphrase", "pem pass phrase")),
)  # fmt: skip
