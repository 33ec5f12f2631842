"""Chosen passwords, if only a word and a number, where their place says what they are: in sentences
about logins, in settings of routers and telephones, in the codes that share a network. Rows as in
`table.py`."""

from __future__ import annotations

from memory_assets.redaction.rules.anchored.rule import (
    FILL,
    HEX,
    AnchoredRule,
    any_value,
    drawn_or_chosen,
    likely_password,
    mixed_password,
    placed_password,
    random_value,
    rule,
    rule_above,
)
from memory_assets.redaction.rules.judging.named_values import Place, is_named_secret
from memory_assets.redaction.rules.judging.phrases import is_line_of_words
from memory_assets.redaction.rules.mentioned.in_sentences import passwords_around
from memory_assets.word_lists import words

_END = r"(?=[.,;:!?)\]]{0,2}(?:[\s\"'`]|$))"
_VALUE = rf"[\"'`]?(?P<secret>[^\s\"'`<>(){{}}\[\],;|&=]{{5,60}}?){_END}"
_BEFORE_PASS = "|".join(
    rf"(?<={before})"
    for before in (
        *(
            f"{system} "
            for system in words(
                "db database mongo mysql postgres redis sql ldap root admin vpn wifi wi-fi ssh sudo"
                " ftp sftp smtp imap mail grafana jenkins router server user login account service"
                " keepass box host default staging prod truststore keystore smb nas bluetooth"
                " printer its and with requires needs the my new old"
            )
        ),
        ", ", "; ", "/ ", "'s ", r"\(",
    )
)  # fmt: skip
"""What stands before "pass" where it is a password: tests pass, too."""
_NO_PASS = (
    r"(?:[ ](?:rates?|counts?|fail|through|criteria|threshold|it|the|on|in|by|all|this|that)\b"
    r"|\)[ ](?!is|was)\w)"
)
"""What stands behind "pass" where a test does, `(pass) reads a file` among others."""
_ADVERB = (
    r"(?: (?:still|now|currently|just|always|again|actually|simply|probably|only|temporarily|really"
    r"|set to|changed to|reset to|also|noch|jetzt|ahora|toujours))"
)
_IS = (
    r"(?:[ ](?:is|was|are|be|becomes?|stays?|remains?|ist|war|lautet|es|est|é|è|jest|je)"
    rf"{_ADVERB}{{0,2}}[ ]"
    r"|[ ](?:set|changed|changing|reset|rotated|updated|switched|back|moved|password|it)[ ]to[ ]"
    r"|[ ]?(?:=>|->|→|~>)[ ]?|[ ]=[ ]|[ ]?:[ ])"
)
"""A sign or a verb between what has a value and the value."""
_NO_OTHER = (
    r"(?!\W{0,2}(?:hash|digest|length|polic|file|field|reset|manager|prompt|input|strength|salt|id\b"
    r"|type|format|env|var|column|name|hint|rules?\b|check|valid|protect|auth))"
)
"""Fails where the word for a password only tells what something else is for."""
_CLAUSE = r"(?:[ ](?!(?:is|was|and|but|because|if|when)\b)[^\s:=.;,!?()]{1,24}){1,7}"


def _is_code(value: str) -> bool:
    """Return True if `value`, where a code for emergencies stands, mixes letters and digits."""
    return mixed_password(value) and any(map(str.isalpha, value))


_NO_SENTENCE = r"(?=[a-z]*[^\sa-z\"';]|[a-z]+[\"']?(?:;|[ \t]*(?:[\r\n]|$)))"
"""Before a word alone, if it ends its line."""


def _is_community(value: str) -> bool:
    """Return True if `value`, a community of SNMP, is none that everybody knows."""
    return is_named_secret(value, Place.LINE) and value.lower() not in ("public", "private")


def _from_and_to(value: str) -> bool:
    """Return True if `value` is two passwords, the old and the new one."""
    return all(map(likely_password, value.split(" to ")))


SPOKEN: tuple[AnchoredRule, ...] = (
    rule_above("spoken-password", "pass", passwords_around,
               rf"(?i)(?:{_BEFORE_PASS})pass(?!{_NO_PASS})[^a-z/_.-]",
               "db pass for staging = " + FILL[:12]),
    rule("spoken-password", "password from ", _from_and_to,
         rf"(?i)password from [\"'`]?(?P<secret>[^\s\"'`]{{5,60}} to [^\s\"'`]{{5,60}}?){_END}",
         f"password from {FILL[:12]} to {FILL[12:24]}"),
    *(rule("spoken-password", word, likely_password,
           rf"(?i)(?<![\w/.-]){word}(?:[ ]?:| ->| =| \(| is)[ ]?[\"'`]?[\w.@+-]{{1,40}}"
           rf"(?:[ ]/[ ]|:){_VALUE}", f"{word}: app / {FILL[:12]}")
      for word in ("grafana", "jenkins", "rdp", "vnc", "ssh", "ftp", "smb", "vpn", "wifi", "router",
                   "switch", "nas", "staging", "prod", "demo", "console", "dashboard", "kibana",
                   "gitlab", "connection", "login", "oracle", "argocd", "portainer",
                   "identifiants", "zugangsdaten", "credenciales", "credenziali")),
    *(rule("device-password", f"{word} ", likely_password,
           rf"(?i)(?<![a-z]){word} (?:string |shared )?(?:community|psk|pre-shared key|secret|key)"
           rf"(?: string)?(?: is|:| =| to)?[ ]{_VALUE}", f"{word} key is {FILL[:12]}")
      for word in ("snmp", "ipsec", "radius", "tacacs", "l2tp")),
    *(rule("spoken-password", word, likely_password,
           rf"(?i)(?<![\w.-]){word}(?: is| with| as|:)[ ][\"'`]?[\w.@+-]{{1,40}}[ ]?[:/][ ]?"
           + _VALUE,
           f"{word} is app/{FILL[:12]}")
      for word in ("user/pass", "username/password", "user/password", "u/p", "auth", "creds")),
    *(rule("host-login", f"{user}:", likely_password,
           rf"(?i)(?<![^\n]){user}:(?P<secret>[^\s:\"'`<>(){{}}\[\],;|]{{5,64}})"
           r"(?=[ \t]{0,4}(?:\r?\n|$))", f"{user}:{FILL[:12]}")
      for user in ("root", "admin", "administrator", "postgres", "sa")),
    *(rule("spoken-secret", f"{word} ", drawn_or_chosen,
           rf"(?i){word} (?:is|was|:|=) [\"'`]?(?P<secret>[^\s\"'`<>]{{8,200}}?)"
           r"(?=[\"'`]?[.,;)]?(?:\s|$))",
           f"the {word} is {FILL[:9]}!{FILL[9:17]}")
      for word in ("signing key", "signing secret", "encryption key", "jwt secret", "hmac key")),
    *(rule("spoken-secret", f"{word} ", random_value,
           rf"(?i)(?<![\w-]){word} [\"'`]?(?P<secret>[\w.+/=-]{{20,200}}?)"
           r"(?=[\"'`]?[.,;!)]?(?:\s|$))",
           f"{word} {FILL[:24]}")
      for word in ("key is", "rotate", "revoke")),
    rule("device-password", "community", _is_community,
         r"(?i)community[\"']?(?:(?:(?<=snmp.community)|(?<=snmp.community[\"'])|[ _-]string)[\"']?"
         rf"\s{{0,3}}[:=]\s{{0,3}}|(?<=snmp-server community) ){_VALUE}",
         "community string: " + FILL[:12]),
    *(rule("spoken-secret", word, drawn_or_chosen,
           rf"(?i)(?<![a-z]){word}\b[^\n]{{0,80}}(?:here it is|here you go|this is it|reads|voici"
           rf"|(?<=[(,;.] )it(?:['’]s| is)|(?<=[(])it(?:['’]s| is)|still works| here)[: ]{{1,2}}"
           r"[\"'`]?(?P<secret>[^\s\"'`<>(){}\[\],;]{12,400}?)(?=[.,;:!?)]{0,2}(?:[\s\"'`]|$))",
           f"the {word} in it (it is {FILL[:24]})")
      for word in ("token", "key", "secret", "code", "jwt", "pat")),
    rule("spoken-password", "u: ", likely_password,
         rf"(?i)(?<!\w)u: \S{{1,60}}?[ ,;/]{{1,3}}p: ?{_VALUE}", "u: app p: " + FILL[:12]),
    rule("host-login", "register ", placed_password,
         r"(?i)register (?:=> ?)?[\w.+-]{1,60}:(?P<secret>[^\s:@\"'<>]{4,64})@(?=[\w\[])",
         "register => app:" + FILL[:12] + "@pbx.example.com"),
    *(rule("spoken-password", word, is_line_of_words,
           rf"(?i)(?<![a-z]){word}[ ]?=[ ]?(?P<secret>[^\s\"'$][^\n\"'$=]{{6,62}}?)[ \t]*(?=\r?\n"
           rf"|$)",
           f"{word}=ocean zebra vault 77")
      for word in ("password", "passphrase", "psk")),
    rule("wifi-key", "wifi:", any_value,
         r"(?i)wifi:(?:[a-oq-z]:[^;\n]{0,80};){0,4}p:\"?(?P<secret>[^;\n\"]{4,63})\"?;",
         "WIFI:T:WPA;S:home;P:" + FILL[:12] + ";;"),
    *(rule("host-login", scheme, placed_password,
           rf"(?i)(?<!\w){scheme}[\w.+-]{{1,60}}:(?P<secret>[^\s:@\"'<>]{{4,64}})@(?=[\w\[])",
           f"{scheme}app:{FILL[:12]}@pbx.example.com")
      for scheme in ("sip:", "sips:")),
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
    *(rule("spoken-secret", f"{word}", drawn_or_chosen,
           rf"(?i)(?<![\w-]){word}s?(?!\w){_NO_OTHER}"
           rf"(?:{_CLAUSE}|[ ]\([^()\n]{{1,24}}\)){{1,2}}{_IS}"
           r"[\"'`]?(?P<secret>[^\s\"'`<>(){}\[\],;]{12,400}?)(?=[.,;:!?)]{0,2}(?:[\s\"'`]|$))",
           f"the {word} (1 of 3) for it is {FILL[:24]}")
      for word in ("api key", "access key", "secret key", "private key", "unseal key", "token",
                   "secret", "jeton", "license key", "deploy key", "auth key", "account key",
                   "master key")),
    *(rule("spoken-secret", anchor, random_value,
           rf"(?i)(?<!\w)(?<!public ){word}(?: for|(?= lautet)){_NO_OTHER}(?:{_CLAUSE})?{_IS}"
           r"[\"'`]?(?P<secret>[^\s\"'`<>(){}\[\],;]{16,400}?)(?=[.,;:!?)]{0,2}(?:[\s\"'`]|$))",
           f"{word} for it: {FILL[:24]}")
      for anchor, word in (("key", "key"), ("schl?ssel", "schlüssel"))),
    *(rule("spoken-secret", anchor, drawn_or_chosen,
           rf"(?i){word}(?:[ ][^\s:=.;,!?()]{{1,24}}){{0,3}}(?:{_IS}|[ ](?:to|är|er|on)[ ])"
           r"[\"'`]?(?P<secret>[^\s\"'`<>(){}\[\],;]{16,400}?)(?=[.,;:!?)]{0,2}(?:[\s\"'`]|$))",
           f"{sample} api: {FILL[:24]}")
      for anchor, word, sample in (
          *((f"{word} ", rf"(?<![a-z]){word}", word) for word in ("chiave", "chave", "klucz")),
          ("schl?ssel ist", "(?:(?<=api-)|(?<=zugangs))schlüssel(?= ist)", "api-schlüssel ist"),
          ("sleutel", "(?:(?<=api-)|(?<=toegangs))sleutel", "api-sleutel"),
          ("nyckel", "(?:(?<=api-)|(?<=åtkomst))nyckeln?", "api-nyckel"),
          ("n?gle", "(?:(?<=api-)|(?<=adgangs))nøglen?", "api-nøgle"),
          ("anahtar", "anahtarı?", "api anahtarı"))),
    *(rule("wifi-key", word, likely_password,
           rf"(?i)(?<![a-z]){word}(?![a-z])[^\n.?!;]{{0,60}}?\b(?:key|code|pass|psk)"
           rf"(?:{_IS}|[ ]){_VALUE}",
           f"{word} is Home and the key is {FILL[:12]}")
      for word in ("wi-fi", "wifi", "wlan", "ssid", "hotspot")),
    *(rule("recovery-codes", word, _is_code,
           rf"(?i)(?<![a-z]){word}[^\n.;:]{{0,40}}?\bcode(?:{_IS}|[ ])[\"'`]?"
           r"(?P<secret>[a-z0-9]{4,10}(?:-[a-z0-9]{4,10}){1,4})(?![\w-])",
           f"{word} code {HEX[:5]}-{HEX[5:10]}")
      for word in ("recovery", "backup", "mfa", "2fa", "rescue", "scratch")),
    rule("device-password", "isakmp key ", placed_password,
         r"(?i)isakmp key (?:[06] )?(?P<secret>[^\s\"';]{4,100})(?= (?:address|hostname))",
         "crypto isakmp key " + FILL[:12] + " address 192.0.2.1"),
)  # fmt: skip
