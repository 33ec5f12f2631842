"""Chosen passwords, if only a word and a number, where their place says what they are: in sentences
about logins, in settings of routers and telephones, in the codes that share a network. Rows as in
`table.py`."""

from __future__ import annotations

import re

from memory_assets.redaction.rules.anchored.keys import NO_PHRASE
from memory_assets.redaction.rules.anchored.rule import (
    FILL,
    HEX,
    AnchoredRule,
    any_value,
    drawn_or_chosen,
    likely_password,
    mixed_password,
    random_value,
    rule,
    strong_value,
)
from memory_assets.redaction.rules.judging import values
from memory_assets.redaction.rules.judging.phrases import is_line_of_words
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
_NUMBER = r"(?P<secret>\d{4,10})(?![\w%-]|[.,:]\d)"


def _is_code(value: str) -> bool:
    """Return True if `value`, where a code for emergencies stands, mixes letters and digits."""
    return mixed_password(value) and any(map(str.isalpha, value))


def _is_pin(value: str) -> bool:
    """Return True if `value`, digits, does not count up or repeat one, as examples do."""
    return value not in "01234567890123" and len(set(value)) > 1


def _from_and_to(value: str) -> bool:
    """Return True if `value` is two passwords, the old and the new one."""
    return all(map(likely_password, value.split(" to ")))


def _is_phrase(value: str) -> bool:
    """Return True if `value`, behind a word for passphrases, is words and no sentence."""
    return len(value.split()) > 2 and NO_PHRASE.isdisjoint(value.lower().split())


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
           rf"(?i){word} (?:with|as|using) [\w.@+-]{{1,60}}"
           r"(?:[ ](?:and|with|using)[ ]|,[ ]|[ ]?/[ ]?)"
           rf"(?:pass(?:word)? )?{_VALUE}", f"{word} with app and {FILL[:12]}")
      for word in ("log in", "login", "sign in", "logged in", "connect", "authenticate", "ssh in",
                   "ssh into it", "get in")),
    *(rule("spoken-password", anchor, likely_password, rf"(?i)(?<![a-z]){word} {_VALUE}",
           f"{word} {FILL[:12]}")
      for anchor, word in (("contrase?a ", "contraseña"), ("mot de passe ", "mot de passe"),
                           ("senha ", "senha"), ("kennwort ", "kennwort"),
                           ("wachtwoord ", "wachtwoord"), ("pass is ", "pass is"),
                           ("pass was ", "pass was"))),
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
    *(rule("spoken-password", f"{word} pass ", likely_password,
           rf"(?i)(?<![a-z]){word} pass {_VALUE}", f"ops {word} pass {FILL[:12]}")
      for word in ("and", "with", "requires", "needs", "the", "my", "new", "old")),
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
    *(rule("spoken-password", anchor, likely_password, rf"(?i)(?<![a-z]){said} {_VALUE}",
           f"{sample} {FILL[:12]}")
      for anchor, said, sample in (
          ("heslo ", "heslo(?: je)?", "heslo je"), ("parola ", "parola(?: è| e| este)?", "parola"),
          ("has?o ", "hasło(?: to| jest)?", "hasło"), ("mdp ", "mdp(?: root)?(?: est)?", "mdp est"),
          ("parola:", "parola:", "parola:"),
          ("palavra-passe", "palavra-passe(?::| é)", "palavra-passe:"),
          ("clave es", "clave es", "clave es"))),
    *(rule("spoken-password", f"{verb} ", likely_password,
           rf"(?i)(?<![a-z]){verb} (?:it |them |this |the (?:\w{{1,12}} ){{1,3}})?with (?:the )?"
           rf"(?:password )?{_VALUE}",
           f"{verb} with {FILL[:12]}")
      for verb in ("unlock", "encrypted", "protected", "decrypt")),
    rule("spoken-password", "password? ", likely_password,
         rf"(?i)password\? (?:(?:it.?s|its|that.?s|is|it is) )?{_VALUE}",
         "password? It's " + FILL[:12]),
    rule("spoken-password", "password ", likely_password,
         r"(?i)(?<![\w-])password (?:[a-z]{1,12} ){1,4}"
         r"\([\"'`]?(?P<secret>[^\s()\"'`,]{5,60})[\"'`]?\)",
         f"same password as always ({FILL[:12]})"),
    *(rule("spoken-secret", f"{word} ", random_value,
           rf"(?i)(?<![\w-]){word} [\"'`]?(?P<secret>[\w.+/=-]{{20,200}}?)"
           r"(?=[\"'`]?[.,;!)]?(?:\s|$))",
           f"{word} {FILL[:24]}")
      for word in ("key is", "rotate", "revoke")),
    rule("device-password", "snmp", likely_password,
         rf"(?i)snmp[_-]?community[\"']?\s{{0,3}}[:=]\s{{0,3}}{_VALUE}",
         "snmp_community=" + FILL[:12]),
    *(rule("spoken-password", f"{sign} pass ", likely_password,
           rf"(?i){re.escape(sign)} pass (?:is )?{_VALUE}", f"wifi is Home{sign} pass {FILL[:12]}")
      for sign in ",;/("),
    *(rule("spoken-password", f"{word}:", likely_password,
           rf"(?i){word}: ?[\"'`]?[\w.@+-]{{1,60}}(?:[ ](?:and|with)|,)[ ]{_VALUE}",
           f"admin {word}: app and {FILL[:12]}")
      for word in ("creds", "credentials", "login")),
    *(rule("spoken-password", word, likely_password,
           rf"(?i){word}\b[^\n:/]{{0,60}}[ ](?:are|is|were)[ ][\"'`]?[\w.@+-]{{1,60}}"
           rf"(?:[ ]?[:/][ ]?|[ ]and[ ]){_VALUE}",
           f"the {word} of it are app:{FILL[:12]}")
      for word in ("creds", "credentials", "login", "panel", "console")),
    *(rule("spoken-password", word, likely_password,
           rf"(?i){word}\b[^\n]{{0,80}}\b(?:use|try) [\w.@+-]{{1,40}} (?:with|and|/) {_VALUE}",
           f"its {word}: use app with {FILL[:12]}")
      for word in ("creds", "credentials", "login")),
    *(rule("spoken-password", word, likely_password,
           rf"(?i)(?<![\w-]){word}s?(?:[ ][\w'’-]{{1,16}}){{0,6}}, {_VALUE}(?=,|[.!]?(?:\n|$))",
           f"the same {word} for all of them, {FILL[:12]}.")
      for word in ("password", "passphrase", "passcode")),
    *(rule("spoken-password", word, likely_password,
           rf"(?i)(?<![\w-]){word}[^\n.;]{{0,80}}\bnew (?:one|value|{word})(?: is|:) {_VALUE}",
           f"the old {word} was x, the new one is {FILL[:12]}")
      for word in ("password", "passphrase", "passcode", "pw")),
    *(rule("spoken-password", word, likely_password,
           rf"(?i)(?<![a-z]){word}\w{{0,8}}[\"')\]]{{0,3}}[^\n]{{0,80}}?\b"
           rf"(?:falls? back to|defaults? to|default is|or else) {_VALUE}",
           f'{word}") // falls back to "{FILL[:12]}"')
      for word in ("pass", "password", "pwd")),
    *(rule("spoken-secret", word, drawn_or_chosen,
           rf"(?i)(?<![a-z]){word}\b[^\n]{{0,80}}(?:here it is|here you go|this is it|reads|voici"
           rf"|(?<=[(,;.] )it(?:['’]s| is)|(?<=[(])it(?:['’]s| is)|still works| here)[: ]{{1,2}}"
           r"[\"'`]?(?P<secret>[^\s\"'`<>(){}\[\],;]{12,400}?)(?=[.,;:!?)]{0,2}(?:[\s\"'`]|$))",
           f"the {word} in it (it is {FILL[:24]})")
      for word in ("token", "key", "secret", "code", "jwt", "pat")),
    *(rule("spoken-password", f"{word} question", likely_password,
           rf"(?i){word} question.?s? answer[^\n.:]{{0,60}}(?: is|:) {_VALUE}",
           f"{word} question's answer is {FILL[:12]}") for word in ("secret", "security")),
    *(rule("pin", f"{verb} ", _is_pin,
           rf"(?i)(?<![\w-]){verb} [\"'`]?(?P<secret>\d{{6,8}})[\"'`]? (?:when|at|in|for|as|into)\b"
           r"[^\n.]{0,40}\b(?:authenticator|2fa|mfa|otp|totp|verification|one-time|pin|code)\b",
           f"{verb} 902104 when the authenticator asks") for verb in ("type", "enter", "use")),
    *(rule("spoken-password", f"{verb} ", likely_password,
           rf"(?i)(?<![\w-]){verb} [\"'`]?(?P<secret>[^\s\"'`<>(){{}}\[\],;|&=]{{5,60}})"
           rf"[\"'`]? {link}"
           r"(?:(?!\band\b|user|name)[^\n.,]){0,40}?\b(?:password|passphrase|passcode|pw)\b",
           f"{verb} {FILL[:12]} {sample} password")
      for verb, link, sample in (
          ("use", "(?:as|when|if) ", "as the demo"),
          ("try", "(?:if|as|at|for) ", "as the"),
          ("type", "(?:at|as|in|into|for|when) ", "at the"),
          ("enter", "(?:at|as|in|into|for|when) ", "when asked for a"))),
    *(rule("spoken-password", f"password{sign}s ", likely_password,
           rf"(?i)password.s {_VALUE}", f"its password{sign}s {FILL[:12]}") for sign in "'?"),
    rule("spoken-password", "basic auth ", likely_password,
         r"(?i)basic auth (?:with |as |using |is )?[\w.@+-]{1,60}(?::| ?/ ?| and )" + _VALUE,
         "basic auth with app:" + FILL[:12]),
    rule("spoken-password", "u: ", likely_password,
         rf"(?i)(?<!\w)u: \S{{1,60}}?[ ,;/]{{1,3}}p: ?{_VALUE}", "u: app p: " + FILL[:12]),
    *(rule("spoken-password", "passphrase", _is_phrase,
           rf"(?i)passphrase[^\n:=\"'`]{{0,40}}(?:[ ]is|:|=)[ ]?{quoted}",
           f"the passphrase is {sample}")
      for quoted, sample in (
          (r"[\"'`](?P<secret>[a-z0-9][a-z0-9 -]{11,100})[\"'`]", '"ocean zebra vault"'),
          (r"(?P<secret>(?:[a-z]{3,12}[ ]){2,8}\d{1,6})(?=[\s.,;]|$)", "ocean zebra vault 77"))),
    rule("host-login", "register ", mixed_password,
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
    *(rule("spoken-password", word, likely_password,
           rf"(?i)(?<![\w-]){word.replace('?', '.')}s?(?!\w)(?:['’]s)?{_NO_OTHER}"
           rf"(?:{_CLAUSE})?{_IS}{_VALUE}",
           f"the {word} for the old archive was {FILL[:12]}")
      for word in ("password", "passphrase", "passcode", "passwd", "pwd", "pw", "passwort",
                   "kennwort", "mot de passe", "senha", "contrasena", "contrase?a", "wachtwoord",
                   "haslo", "has?o")),
    *(rule("spoken-password", word, likely_password,
           rf"(?i)(?<![\w-]){word}s?(?!\w){_NO_OTHER}[^\n.?!;]{{0,80}}"
           rf"(?:[.?!;,]|[ ][-–—])[ \n]{{1,2}}(?:(?:so|and|but|ok|now|yes|no)[, ]{{1,2}})?"
           rf"(?:it|that|this|mine|ours)(?:['’]?s|[ ]is|[ ]was){_ADVERB}{{0,2}}[ ]{_VALUE}",
           f"What is the {word}? It's still {FILL[:12]}")
      for word in ("password", "passphrase", "passcode", "account")),
    *(rule("spoken-password", word, likely_password,
           rf"(?i)(?<![\w-]){word}(?!\w)[^\n.?!;]{{0,80}}?\b(?:answer(?:ed)?|respond|reply|enter|type"
           rf"|give it|put|say|supply|provide|paste)(?:[ ](?:with|in|it))?[ :]{{1,2}}{_VALUE}",
           f"at the {word} prompt answer with {FILL[:12]}")
      for word in ("password", "passphrase", "passcode")),
    *(rule("spoken-password", f"{verb} ", likely_password,
           rf"(?i)(?<![\w-]){verb} (?:it |them |us )?[\"'`]?"
           r"(?P<secret>[^\s\"'`<>(){}\[\],;|&=:]{5,60})[\"'`]? (?:for|as|to be) "
           r"(?:[\w'’-]{1,16} ){0,4}(?:password|passphrase|passcode|pw|pass|router|wi-?fi|nas"
           r"|sudo|keepass)\b",
           f"{verb} {FILL[:12]} as its password")
      for verb in ("picked", "chose", "set", "gave", "used", "using", "put", "made", "kept", "with",
                   "typed", "took", "reused", "want", "choose", "pick", "give", "keep", "need",
                   "settled on", "agreed on", "went with", "use", "try", "uses")),
    *(rule("spoken-password", f"{verb} ", drawn_or_chosen,
           rf"(?i){verb} (?:to [\w ]{{1,30}} )?(?:as [\w.@-]{{1,40}} )?(?:with|using|via) "
           rf"(?:[\w.@-]{{1,40}} (?:and|/) )?{_VALUE}",
           f"{verb} with {FILL[:12]}!7")
      for verb in ("get in", "log in", "login", "sign in", "logs in", "logged in", "got in")),
    *(rule("spoken-password", f"{anchor} ", strong_value,
           rf"(?i)(?<![\w-]){anchor} [\"'`]?[\w.@+-]{{1,40}}[\"'`]? (?:and|with|/) {_VALUE}",
           f"{anchor} app and {FILL[:16]}")
      for anchor in ("it's", "creds are", "login is", "logins are", "log in as",
                     "sign in as", "login as", "connect as", "account is")),
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
    *(rule("spoken-password", f"{sign} with {sign}", values.is_signed,
           rf"(?i)(?<=[\w.-]){sign} (?:with|and|/) {sign}(?P<secret>[^\s\"'`]{{6,60}}){sign}",
           f"as {sign}app{sign} with {sign}{FILL[:6]}!{FILL[6:12]}{sign}")
      for sign in "'\"`"),
    *(rule("wifi-key", word, likely_password,
           rf"(?i)(?<![a-z]){word}(?![a-z])[^\n.?!;]{{0,60}}?\b(?:key|code|pass|psk)"
           rf"(?:{_IS}|[ ]){_VALUE}",
           f"{word} is Home and the key is {FILL[:12]}")
      for word in ("wi-fi", "wifi", "wlan", "ssid", "hotspot")),
    *(rule("pin", word, _is_pin,
           rf"(?i)(?<![a-z]){word}(?:[ ][a-z'’]{{1,12}}){{0,5}}?[\"']?(?:{_IS}|[ ]|=)"
           rf"[\"'`]?{_NUMBER}",
           f"the {word} is 902104")
      for word in ("otp", "totp", "pairing code", "verification code", "one-time code", "2fa code",
                   "mfa code", "authenticator code", "login code", "your code", "puk",
                   "passcode", "door code", "gate code", "alarm code", "unlock code", "unlock_pin",
                   "access code", "security code", "keypad code", "safe code", "pin code")),
    rule("pin", "pin", _is_pin,
         rf"(?:(?<=[a-z])Pin[\"']?[ ]?[:=][ ]?[\"']?(?=\d{{5}})"
         rf"|(?<=[A-Z] )PIN\n[>›] )[\"']?{_NUMBER}", "cardPin=902104"),
    rule("pin", "pin", _is_pin,
         rf"(?i)(?<![\w-])pin(?:[ ][a-z'’-]{{1,16}}){{1,6}} (?:is|was|ist|war|est|es) "
         rf"[\"'`]?{_NUMBER}", "the PIN for the card is 902104"),
    *(rule("recovery-codes", word, _is_code,
           rf"(?i)(?<![a-z]){word}[^\n.;:]{{0,40}}?\bcode(?:{_IS}|[ ])[\"'`]?"
           r"(?P<secret>[a-z0-9]{4,10}(?:-[a-z0-9]{4,10}){1,4})(?![\w-])",
           f"{word} code {HEX[:5]}-{HEX[5:10]}")
      for word in ("recovery", "backup", "mfa", "2fa", "rescue", "scratch")),
    rule("device-password", "isakmp key ", mixed_password,
         r"(?i)isakmp key (?:[06] )?(?P<secret>[^\s\"';]{4,100})(?= (?:address|hostname))",
         "crypto isakmp key " + FILL[:12] + " address 192.0.2.1"),
)  # fmt: skip
