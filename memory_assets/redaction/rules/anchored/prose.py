"""Secrets in sentences, in several languages. Rows as in `table.py`. An unquoted value in a
sentence must look generated, or at least mix letters and digits."""

from __future__ import annotations

import re
from collections.abc import Iterator

from memory_assets.redaction.rules.anchored.rule import (
    FILL,
    HEX,
    AnchoredRule,
    drawn_or_chosen,
    placed_password,
    quoted_password,
    random_value,
    rule,
    rule_above,
    spoken_password,
    typed_password,
)
from memory_assets.redaction.rules.judging import values
from memory_assets.redaction.rules.judging.likelihood import evidence, is_generated
from memory_assets.redaction.rules.judging.names import NO_SECRET
from memory_assets.redaction.rules.mentioned.in_sentences import FOREIGN, passwords_around

_BARE = r"(?P<secret>[^\s\"'`\\<>(){}\[\],;]{5,79}[^\s\"'`\\<>(){}\[\],;.:!?])"
_SAID = r"(?P<secret>[^\s\"'`()\[\]]{6,200}?)(?=[.,;:]{0,2}(?:[\s\"'`)\]]|$))"
_ASCII = r"(?P<secret>[!#-&*+\-/-9<-Z^-z|~]{4,80})"


def _each_case(words: str) -> str:
    """Return alternatives with each case apart: a search that ignores case takes fifteen times as
    long, as does one with groups in it."""
    return "|".join(
        dict.fromkeys(
            form for word in words.split("|") for form in (word, word.capitalize(), word.upper())
        )
    )


_FOREIGN_KEYS = frozenset(("токен", "ключ", "密钥", "ログイン", "登录", "와이파이"))
"""Words of `FOREIGN` for tokens and keys, and words for logging in."""
_GIVEN = r"[\"']?\s{0,4}(?:=>|[:=：])\s{0,4}[\"'`“]?"


_SIGNED_BITS = 22
_SOLE_SEED_BITS = 10
_PUBLIC_KEY = "ANBgkqhkiG9w0BAQEFAAOC"
"""Near the beginning of RSA public keys in base64 (RFC 8017)."""


def _is_seed(value: str) -> bool:
    """Return True if `value`, in groups of four, is base32 and no words."""
    return (value.isupper() or value.islower()) and (
        values.has_digit(value) or evidence(value) >= 8
    )


def _is_sole_seed(value: str) -> bool:
    """Return True if `value`, without groups, is base32 and no word."""
    return values.has_digit(value) and evidence(value) >= _SOLE_SEED_BITS


def _is_key_body(value: str) -> bool:
    """Return True if `value`, lines of base64 below words for a private key, was drawn."""
    return values.is_random(value) and "PUBLIC" not in value


def _has_sign(value: str) -> bool:
    """Return True if `value`, a sign among its characters, was drawn."""
    return is_generated(value, _SIGNED_BITS) and typed_password(value)


def _announced_key(value: str) -> bool:
    """Return True if `value`, announced as a key, is no hash, id or path."""
    return (
        drawn_or_chosen(value)
        and not values.is_hash_or_uuid(value)
        and _PUBLIC_KEY not in value[:40]
        and not values.is_identifier_of_something(value)
    )


def _are_codes(value: str) -> bool:
    """Return True if of `value`, a list of codes, two thirds have digits and some have letters."""
    codes = value.replace(",", " ").split()
    return 3 * sum(map(values.has_digit, codes)) >= 2 * len(codes) and any(map(str.isalpha, value))


_WORDS = (
    "senha|contraseña|contrasena|clave|mot de passe|mot_de_passe|kennwort|wachtwoord|lösenord|hasło"
    "|haslo|zugangsschluessel|zugangsschlüssel|api-schlüssel|geheimer schlüssel|clave_secreta"
    "|clave secreta|clave de api|chave secreta|chave de api|chiave segreta|clé secrète|clé api"
    "|heslo|şifre|şifresi|mật khẩu|jelszó|apikye|tokne|secert|sercet"
)
"""Words for a password or key, misspelt ones too."""

_DIRECTLY = re.compile(
    r"[\"'」]?[ \t]{0,2}(?:=>|[:=：是为為は는은가])[ \t]{0,4}[\"'`「“]?"
    r"(?P<secret>(?=[!-~]{0,40}[0-9!@#$%])[!#-&*+\-/-9<-Z^_a-z|~]{6,100})"
)


def _values_after(text: str, word: re.Match[str]) -> Iterator[tuple[int, int]]:
    """Yield what follows a word in any script: directly behind a sign or a verb without a blank,
    as a value is judged that is assigned; else as a sentence tells it."""
    assigned = _DIRECTLY.match(text, word.end())
    accept = drawn_or_chosen if word.group().lower() in _FOREIGN_KEYS else spoken_password
    if assigned is not None and accept(assigned["secret"]):
        yield assigned.span("secret")
    yield from passwords_around(text, word)


_ABOVE = (
    r"(?:[ ][^\n:=]{1,24}:|s?:|\w{0,24}[\"']?[ ]{0,4}(?:[:=]|\{\s[^{}]{0,80}?default[ ]{0,8}=)[ ]?"
    r"(?:\"{3}\\?|'{3}\\?|<<[-~]?\w{1,20}))"
)
"""What stands between a word for secrets and the end of the line, above the value's."""
_WORD_BEGINS = r"(?-i:(?<![A-Za-z])|(?<=[a-z])(?=[A-Z])|(?<=api)|(?<=access)|(?<=secret))"
"""No `monkey`, but `apiKey` and `apikey`."""

PROSE: tuple[AnchoredRule, ...] = (
    *(rule("foreign-password", word.encode("ascii", "replace").decode(), spoken_password,
           rf"(?i:{word}){_GIVEN}{_ASCII}", f"{word}: {FILL[:12]}")
      for word in _WORDS.split("|")),
    rule_above("foreign-password", "??", _values_after,
               _each_case("ログイン|登录|와이파이|" + FOREIGN), "ops пароль " + FILL[3:15]),
    rule("foreign-secret", "??", bool,
         r"(?:ключ|токен|密钥)[^\n:=]{0,24}[:=][ ]?(?P<secret>[0-9a-f]{32,64})(?!\w)",
         "ключ доступа: " + HEX[:32]),
    rule("foreign-secret", "??", drawn_or_chosen,
         r"(?:キー|トークン|シークレット|토큰|키|令牌|金鑰)[」\"'`]?"
         r"[ ]{0,2}[:=：是为為は는은가][ ]{0,4}[\"'`「“]?"
         r"(?P<secret>[A-Za-z0-9][A-Za-z0-9_+/=.~!@#$%&*-]{14,200})",
         "APIキーは" + FILL[:24]),
    *(rule("one-time-seed", anchor, _is_seed,
           rf"(?i){anchor}[^\n:=]{{0,30}}(?:[:= ]|:?(?:\r?\n){{1,2}})[ \t]{{0,8}}[\"'`]?"
           r"(?P<secret>(?:[A-Z2-7]{4}[ -]){3,15}[A-Z2-7]{4})(?![A-Z0-9])",
           f"{anchor} seed: JBSW Y3DP EHPK 3PXP")
      for anchor in ("2fa", "otp", "authenticator", "mfa", "key", "secret", "seed", "code")),
    *(rule("one-time-seed", f"{anchor} ", _is_sole_seed,
           rf"(?i){anchor}(?:[ ]\w{{1,12}}){{0,2}}[ ]?[:= ][ ]?[\"'`]?"
           r"(?P<secret>(?-i:[A-Z2-7]{16,64}))(?![A-Za-z0-9])",
           f"{anchor} seed {FILL[:26].upper().translate({48: 50, 49: 51, 56: 52, 57: 53})}")
      for anchor in ("2fa", "otp", "authenticator", "mfa")),
    rule("private-key-body", "private", _is_key_body,
         r"(?i)private[ _-]?key[^\n]{0,60}\r?\n(?:[ \t]{0,8}\r?\n)?"
         r"(?P<secret>(?:[ \t>]{0,8}[A-Za-z0-9+/]{40,80}={0,2}\r?\n){1,120}"
         r"[ \t>]{0,8}[A-Za-z0-9+/]{16,80}={0,2})"
         r"(?![^\s\"'`])", f"private key:\n{FILL}\n{FILL}\n"),
    rule("bind-password", "bindpw ", typed_password,
         r"(?i)(?<!\S)bindpw[ \t]{1,8}[\"']?(?P<secret>[^\s\"']{4,100})(?=[\"'\s]|$)",
         "bindpw " + FILL[:12]),
    *(rule("named-secret", anchor, drawn_or_chosen,
           rf"(?i)(?<![\w.$-]){anchor}[ ]?[\"']?"
           r"(?P<secret>[A-Za-z0-9+/]{20,64}={0,2})(?![\w+/.(-])",
           f"{anchor}{FILL[:24]}")
      for anchor in ("sk=", "sk:", "ak=", "ak:")),
    rule("pin", "pin", str.isdigit,
         r"(?:(?:(?<![A-Za-z])PIN|(?i:(?<![a-z])pin[- ]?code))(?i: (?:is|code|ist|was|to))?"
         r"[ ]?[:=]?[ ]?|(?i:(?<![a-z_])pin[\"']?[ ]?[:=][ ]?)(?=[\"'`]|\d{6}(?!\d)))"
         r"[\"'`]?(?P<secret>\d{4,8})"
         r"(?![\d\w%-]|\.\d)", "PIN: 90210"),
    *(rule("spoken-secret", f"{word} is", drawn_or_chosen,
           rf"(?i)(?:{before}){word} is(?: now| set to)?:?\s{{1,3}}"
           r"[`\"']?(?P<secret>[\w.~+/=-]{16,200})",
           f"the {sample} {word} is {HEX[:32]}, and", lead)
      for word, before, sample, lead in (("key", "api[ _-]|ess[ _-]|ret[ _-]|ate[ _-]", "api", 4),
          ("token", "", "access", 0), ("secret", "", "client", 0))),
    *(rule("spoken-secret", f"{word}` to `", placed_password,
           rf"(?i){word}` to `(?P<secret>[^\s`]{{4,200}})`",
           f"set `APP_{word.upper()}` to `{FILL[:20]}` in")
      for word in ("password", "secret", "token", "key")),
    *(rule("login-password", name, quoted_password,
           rf"(?i){name}(?:name)?: ?[\w.@-]{{1,60}}\r?\n[ \t]{{0,20}}pass(?:word|wd)?: ?"
           r"(?P<secret>[^\s\"'`,;<>(){}\[\]]{5,80})(?=\s|$)",
           f"{name}: admin\nPassword: {FILL[:12]}")
      for name in ("user", "login", "email")),
    *(rule("login-password", word, placed_password,
           rf"(?i)(?<![a-z]){word}(?: details| data)?:?[ ]?\r?\n[ \t]{{0,8}}[\w.@+-]{{1,60}}\r?\n"
           r"[ \t]{0,8}(?P<secret>[^\s\"'`,;<>(){}\[\]]{5,80})(?=[ \t]*(?:\r?\n|$))",
           f"{word}:\nadmin\n{FILL[:12]}\n")
      for word in ("creds", "credentials", "login")),
    *(rule("spoken-secret", f"{word} (", drawn_or_chosen,
           rf"(?i){word} \((?P<secret>[^\s()\"'`,]{{8,200}})\)", f"the GitLab {word} ({FILL[:24]})")
      for word in ("pat", "token", "key", "secret")),
    *(rule("spoken-secret", f"{word} {quote}", drawn_or_chosen,
           rf"(?i){word} {quote}(?P<secret>[^\s\"'`]{{8,200}}){quote}",
           f"{word} {quote}{FILL[:9]}!{FILL[9:17]}{quote}")
      for word in ("token", "secret") for quote in "'`"),
    *(rule("spoken-secret", f"{word} ", values.is_chosen,
           rf"(?i)(?<![a-z]){word} [\"'`]?"
           r"(?P<secret>[a-z][\w$%&*-]{3,30}\d{2,6}[!#$%*?]{1,2})(?=[\s\"'`.,;)]|$)",
           f"the {word} Harbor4711!")
      for word in ("psk", "key", "token", "secret")),
    *(rule("spoken-secret", f"{word} ", _has_sign,
           rf"(?i)(?<![a-z]){word} (?P<secret>(?=\S{{8}})(?!\w{{1,24}}=)[\w.+*=%~-]{{0,30}}"
           r"[!#$%*+][\w!#$%*+=.-]{0,60})(?=[\s.,;)]|$)",
           f"the {word} {FILL[:9]}!{FILL[9:17]}")
      for word in ("key", "token", "secret")),
    *(rule("announced-secret", word, _announced_key if word == "key" else drawn_or_chosen,
           rf"(?i){_WORD_BEGINS}{word}{NO_SECRET}{_ABOVE}"
           r"[ \t]{0,4}\r?\n(?:[ \t]{0,8}(?:```\w{0,12})?\r?\n)?"
           r"[ \t>]{0,24}[`\"']?(?P<secret>[^\s\"'`<>,;|]{8,400})"
           r"[`\"']{0,3}[ \t]{0,8}(?=\r?\n|$)",
           f"The {word}:\n{FILL[:20]}\n")
      for word in ("secret", "token", "key", "credential", "password")),
    *(rule("spoken-secret", word, drawn_or_chosen,
           rf"(?i){word}s?\)?[ ]?[:=][ ]?[\w.@-]{{1,60}}(?:[ ][/|+][ ]|[,;][ ]?){_SAID}",
           f"id/{word}: app / {FILL[:24]}")
      for word in ("secret", "token")),
    rule("login-password", "user", spoken_password,
         r"(?i)user(?:name)?[ :=]{1,3}[\w.@-]{1,60}[ ,;/]{1,3}(?:and )?pass(?:word|wd)?[ :=]{1,3}"
         + _BARE,
         "user app pass " + FILL[:12]),
    *(rule("spoken-secret", f"{word} provided: ", drawn_or_chosen,
           rf"(?i){word} provided: [\"'`]?{_SAID}", f"Invalid {word} provided: {FILL[:24]}.")
      for word in ("key", "token", "secret", "credentials")),
    *(rule("spoken-secret", f"api {word} ", drawn_or_chosen,
           rf"(?i)api {word} [\"'`]?{_SAID}", f"with the api {word} {FILL[:9]}!{FILL[9:17]}")
      for word in ("key", "token")),
    *(rule("login-password", f"{word} for ", spoken_password,
           rf"(?i){word} for (?:user )?[\w.@+-]{{1,60}}/" + _BARE,
           f"invalid {word} for app/{FILL[:12]}")
      for word in ("credentials", "login", "password")),
    rule("login-password", "ftp", typed_password,
         r"(?i)ftp\b[^\n]{0,80}<<[^\n]{1,20}\n(?:[^\n]{0,100}\n){0,3}?user \S{1,60} "
         r"(?P<secret>\S{4,80})(?=\s|$)", "ftp -n h <<E\nuser app " + FILL[:12] + "\nE"),
    *(rule("host-login", f"{user}{sign}", drawn_or_chosen,
           rf"(?i)(?<![\w/.@-]){user}{sign}"
           r"(?P<secret>[^\s:\"'`<>(){}\[\],;|]{6,64})(?=[\s\"'`]|$)",
           f"{user}{sign}{FILL[:16]}")
      for user in ("root", "admin", "administrator") for sign in (":", " / ")),
    *(rule("license-key", word, _is_seed,
           rf"(?i){word}[^\n]{{0,16}}?[ =:\"']"
           r"(?P<secret>(?:[A-Z0-9]{4,8}-){3,7}[A-Z0-9]{4,8})(?![\w-])",
           f"{word}: {FILL[:5]}-{FILL[5:10]}-{FILL[10:15]}-{FILL[15:20]}".upper())
      for word in ("license", "licence", "serial", "product key", "activation")),
    *(rule("recovery-codes", f"{word} code", _are_codes,
           rf"(?i){word} codes?[^\n]{{0,40}}?[:\n][\s>*-]{{0,8}}"
           r"(?P<secret>[a-z0-9]{4,10}(?:-[a-z0-9]{4,10}){0,3}"
           r"(?:[\s,]{1,8}(?:[*-] )?[a-z0-9]{4,10}(?:-[a-z0-9]{4,10}){0,3}){0,19})(?![\w-])",
           f"{word} codes:\n{HEX[:5]}-{HEX[5:10]}\n{HEX[10:15]}-{HEX[15:20]}")
      for word in ("recovery", "backup")),
    rule("redis-login", "auth ", random_value,
         r"(?<![^\n>])AUTH (?P<secret>[A-Za-z0-9]{12,64})(?=\s|$)", "AUTH " + FILL[:18]),
)  # fmt: skip
