"""Judge a name by its words: `DB_PASSWORD` names a secret, `max_tokens` does not.

A name is read word by word (`camelCase`, `snake_case`, `kebab-case`, dots). Only words are judged
here; `values.py` judges whether the value looks like a secret.
"""

from __future__ import annotations

import re
from enum import IntEnum
from functools import cache, lru_cache

from memory_assets.redaction.rules.judging.vendors import SERVICES
from memory_assets.redaction.rules.token_formats.contextual import CONTEXT_FORMATS
from memory_assets.word_lists import any_of, word_set, words

NO_SECRET = (
    r"(?![^\n]{0,60}?(?<![a-z])(?:commit|hash|digest|sha\d{0,3}|fingerprint|checksum|file|revision)"
    r"(?:e?s)?(?![a-z]))"
)
"""Fails if the rest of the line, after a word for secrets, says what else is below it."""


class NameKind(IntEnum):
    """How strongly a name indicates a secret: the stronger, the less is required of the value."""

    PLAIN = 0
    VENDOR = 1
    TOKEN = 2
    PASSWORD = 3


KEYWORDS = tuple(
    word.encode()
    for word in words(
        "pass pw psw psk shared pin puk code senha kennwort wachtwoord contrase heslo haslo mdp"
        " secret token key auth cred salt pepper"
    )
)
"""Lower-case substrings, one of which every name of kind TOKEN or PASSWORD contains
(short names such as `sid` and vendors' names are left to the token-run scan)."""

_PASSWORD_WORDS = word_set(
    "password passwd passphrase pass pwd passcode passwort motdepasse userpass dbpass"
    " rootpass adminpass mypass sshpass userpwd dbpwd pswd pswrd psword passwrd"
    " mysqlpass pgpass postgrespass redispass ftppass smtppass mailpass ldappass sqlpass proxypass"
    " authpass loginpass wifipass sudopass requirepass masterauth passwords pw senha kennwort"
    " wachtwoord contrase heslo haslo mdp passe"
)
_TOKEN_WORDS = word_set(
    "secret secrets token tokens auth authorization credential credentials creds cred"
    " apikey authkey secretkey accesskey privatekey accesstoken authtoken apitoken apisecret"
    " clientsecret appsecret jwt bearer oauth pat dsn sas webhook usersecret consumersecret"
    " masterkey sessionkey encryptionkey authtok privkey salt pepper"
)
KEY_QUALIFIERS = word_set(
    "api app access private secret auth account master service deploy license write read"
    " admin signing encryption decryption crypto cipher shared storage subscription project client"
    " server session security token user consumer application sdk integration ingest insert"
    " license rest live test personal root unseal recovery aes hmac jwt webhook rsa ssh gpg"
    " tls ssl env prod production staging connection function host functions registration"
    " routing record query instrumentation"
)
_PUBLIC_WORDS = word_set(
    "public publishable pub foreign primary cache sort partition map row object group"
    " unique index hot arrow short keyboard lookup foreignkey idempotency storage dedup"
    " dedupe hash max min num count total avg special mask pad eos bos unk cls sep stop"
    " input output prompt completion reasoning thinking context cached budget remaining used"
    " next page starting continuation csrf xsrf sync resume cancellation cancel design color colour"
    " theme syntax lexer parser per fake sitekey mock dummy run cursor element react"
)
_COPIES = word_set("primary secondary")
"""Words for one of two keys of an account, which are secrets (`primaryMasterKey`): but a database's
`primary_key` is none."""
_TAIL_WORDS = word_set(
    "id ids name names url uri urls path paths file files filename dir directory type types"
    " kind count counts length len size sizes limit limits usage index idx expires expiry"
    " expiration expired ttl age field fields label labels placeholder hint help error"
    " errors message messages msg title description desc prefix suffix pattern patterns"
    " regex env var variable variables ref refs reference location provider providers"
    " manager store storage context policy policies method methods mode header headers param"
    " params cost costs budget window required enabled disabled valid invalid exists present"
    " set status state source sources target format algorithm alg version length strength"
    " visible visibility input form page reset change changed check checker test tests spec"
    " request response endpoint server host domain issuer audience scope scopes handler"
    " helper callback flow mapping map list array table column columns schema model models"
    " config settings options option arn accessor selector pair pairs press pressed down up"
    " code codes event events binding bindings vault rotation fingerprint thumbprint"
    " checksum hash digest sum estimate estimates rate sha shasum sha1 sha256 sha512 md5"
    " integrity commit etag rev revision hex ratio per second seconds minutes at by in is"
    " has line lines offset position start end mgr verification"
)
_WRITTEN_AS = word_set("hex b64 base64 encoded plain plaintext raw str utf8 bytes cleartext clear")
"""Last words of names that say how the value is written."""
_OF_PAGE = re.compile(
    r"(?i)(?:\w{0,24}[_-]?cursor|(?:next|page|prev(?:ious)?|continuation|sync|pagination)[_-]?"
    r"(?:page[_-]?)?token)"
)
_VERBS = word_set("export list no show print allow skip has is needs count find delete remove")
KEYLIKE = word_set("api license licence access login")
"""Last words of names, such as `acme_api`, whose values are sometimes keys."""
_PASSWORD_ENDS = ("password", "passwd", "passphrase", "pwd")
_TOKEN_ENDS = ("secret", "apikey", "accesskey", "privatekey", "secretkey", "token")
PASSWORDS = _PASSWORD_WORDS.union(_PASSWORD_ENDS)
"""Words of which every name of kind PASSWORD contains one."""
SPEAKING = PASSWORDS.union(_TOKEN_WORDS, _TOKEN_ENDS, ("key", "psk", "shared"))
"""Words of which every name of kind TOKEN or PASSWORD contains one, as a word or at the end of one,
with no letter of the same case after it."""
_NAMED_VENDORS = words(
    "baidu beamer brave branch canva cerebras checkout civo clay clickhouse clickup cloudsmith"
    " couchbase coze databricks deepseek definednetworking delighted devin duffel easypost"
    " elevenlabs exoscale fileio filezilla fireworks fleetbase flutterwave foursquare frameio"
    " friendli gcp github gitlab gitter google grafana groq harness hashicorp infomaniak"
    " infracost ionic kagi kaggle keenio kimi kling kubernetes lighton linear lob minimax"
    " moonshot npm nvidia octopus ollama openrouter outlook perplexity pinecone planetscale"
    " pscale poly polymarket posthog prefect pulumi razorpay replicate retell runpod runway"
    " scale scalingo sendgrid sidekiq slack square stripe sumo supabase surge tailscale tavily"
    " telegram telnyx terraform tineye together travisci upstage wakatime woocommerce xai xray"
    " yelp zai zapier zenserp zhipu zoho"
)
"""Vendors that no row of `CONTEXT_FORMATS` names."""
ALSO_WORDS = word_set(
    "apollo ark bamboo bandwidth baseten beamer bing blynk bootstrap box brave branch canva"
    " checkout clay cloudant coda cognitive comet conda consul conjur cypress cronitor delighted"
    " docker drone duo elastic exa expo falcon gemini greenhouse guardian harness harvest hass"
    " heap here hudson hume hunter intercom intuit iterable keen kraken leonardo line linear lob"
    " looker metaphor modal monday mux notion npm oracle oura outlook owm particle phrase pinata"
    " plex poly polygon private_key privatekey pusher quay railway render replicate sanity sauce"
    " scale secret_key segment sinch spark split square stability statuspage steam stream surge"
    " tenor toggl together uploadcare vast vault wallet watson weights wise wix zoom mnemonic"
    " deployer"
)
"""Vendors whose name is also a word of code and prose, or the beginning of one: `branch: <sha>` is
not a key of this vendor, `branch_key` may be."""
_CONTEXT_WORDS = tuple(word for row in CONTEXT_FORMATS for word in words(row[1]))
_ALL_VENDORS = tuple(dict.fromkeys((*_NAMED_VENDORS, *_CONTEXT_WORDS, *SERVICES)))
VENDORS: tuple[str, ...] = tuple(word for word in _ALL_VENDORS if word not in ALSO_WORDS)
"""Lower-case beginnings of words that name someone who hands out keys and nothing else."""

_WORD = re.compile(r"[A-Z]{2,}(?=[A-Z][a-z]|[^A-Za-z]|$)|[A-Z]?[a-z]+|[A-Z]+|\d+")
_KEY_OF_MAP = re.compile(r"[a-z]Key\d*$")
VENDOR_END = (
    r"(?:(?![a-z])|(?=access|account|ai|api|app|auth|bot|client|cloud|com|cred|dev|hq|hub|id|io|key"
    r"|labs|license|org|pass|pat|private|prod|project|sdk|secret|server|service|site|test|token|url"
    r"|user|web))"
)
"""What may follow a vendor's name in lower case, which is not the rest of another word."""


@cache
def _any_of(vendors: tuple[str, ...]) -> re.Pattern[str]:
    return re.compile(f"(?<![a-z])(?:{any_of(vendors)}){VENDOR_END}")


@cache
def _vendor() -> re.Pattern[str]:
    """Return what matches a vendor's name: compiled when it is needed, because it takes 20 ms."""
    return _any_of(VENDORS)


def _says_how(parts: list[str]) -> bool:
    """Return True if the last word says how the value is written."""
    return parts[-1] in _WRITTEN_AS and (len(parts) > 2 or parts[0] in _SHORT_NAMES)


@lru_cache(maxsize=8_192)
def name_kind(name: str) -> NameKind:
    """Return how strongly `name` indicates that its value is a secret."""
    parts = [word.lower() for word in _WORD.findall(name[-80:])]
    while parts and (parts[-1].isdigit() or _says_how(parts)):
        parts.pop()
    if not parts:
        return NameKind.PLAIN
    last = parts[-1]
    if last in _PASSWORD_WORDS or parts[-2:] == ["pass", "phrase"] or _is_short_joined(last):
        return NameKind.PASSWORD
    if last in ("psk", "preshared") or parts[1:] == ["shared"]:
        return NameKind.TOKEN
    if _KEY_OF_MAP.search(name) and parts[-2:-1] and parts[-2] in _PASSWORD_WORDS:
        return NameKind.TOKEN  # a key of a map that has the password, unless it looks drawn
    if last in _TAIL_WORDS or parts[0] in _VERBS or is_public(parts):
        return NameKind.PLAIN
    if not _PASSWORD_WORDS.isdisjoint(part for part in parts if part != "pass"):
        return NameKind.PASSWORD
    if last.endswith(_PASSWORD_ENDS):
        return NameKind.PASSWORD
    if _TOKEN_WORDS.intersection(parts) or last.endswith(_TOKEN_ENDS) or _is_key_joined(last):
        return NameKind.TOKEN
    vendor = has_vendor(name)
    if "key" in parts or last == "keys":
        is_qualified = (
            _any_of(_ALL_VENDORS).search(lower_ascii(name))
            or len(parts) == 1
            or KEY_QUALIFIERS.intersection(parts)
        )
        return NameKind.TOKEN if is_qualified else NameKind.VENDOR
    keylike = last in KEYLIKE and name[-len(last) - 1 : -len(last)] in ("_", "-")
    return NameKind.VENDOR if vendor or keylike else NameKind.PLAIN


_SERVICES = word_set(
    "db database sql mysql postgres postgresql pg mongo mongodb redis mariadb mssql oracle ldap ftp"
    " sftp smtp imap mail ssh root admin rabbitmq amqp mqtt bind keystore truststore sudo vnc rdp"
    " wifi wpa wlan proxy backup jdbc datasource elastic kafka sa service svc grafana jenkins"
    " become"
)


_LABELS = word_set(
    "forgot forgotten reset change changed confirm confirmation repeat verify enter show hide"
    " toggle invalid wrong incorrect missing new old current update generate check match matches"
    " mismatch weak strong no empty enable disable require requires required use uses with"
    " without by via validate hash encrypt label placeholder title hint help error text message"
    " button msg str lbl type of kind reveal copy set get is to test wrong bad expected actual"
    " input raw plain my"
)
"""First words of names of labels, messages and functions that speak of passwords."""
_SHORT_NAMES = word_set("pass pw pwd")
"""Words for passwords that are often something else where nothing says whose they are."""
_OF_BOARD = re.compile(r"(?i)(?<![a-z])(?:led|gpio)[ ]$")
NUMBERS = word_set("pin puk code")
"""Words for numbers that may be secrets."""
_OF_CODES = word_set(
    "door alarm gate unlock access safe entry admin lock keypad garage security pass"
)
"""Words before "code" in names of secrets."""
_OF_CERTAIN = word_set(
    "my ota rcon app user db api git smb nas vpn router door nvr cam camera switch printer server"
    " client alarm gate device remote login member master guest iot ap ftp http https web cert key"
    " node game bot irc irssi sip voip tel unlock safe site vault zip rar pdf disk luks backup org"
    " sim card bank self new default current this"
    " test dev prod staging local host dba sys super su operator owner maint shop pos mysql maria"
)
_OF_SECRETS = word_set(
    "client app application jwt session cookie shared signing webhook consumer master hmac oauth"
    " auth token csrf flask django rails nextauth enable radius encryption api access user bot"
    " admin db"
)
"""Words before "secret" in names whose value is one, and not the name of one."""

CHOSEN_TOKENS = word_set("master_key masterkey k3s_token cluster_token join_token bootstrap_token")
"""Ends of names of keys and tokens that whoever sets a service up chooses."""


def _is_short_joined(word: str) -> bool:
    """Return True for `adminpw`: whose password it is, and a short word for it, in one."""
    stem = word.removesuffix("pass") if word.endswith("pass") else word.removesuffix("pw")
    return stem != word and (stem in _SERVICES or stem in _OF_CERTAIN)


@lru_cache(maxsize=4_096)
def says_secret(name: str) -> bool:
    """Return True if `name` says without doubt that its value is a password: not what a label, a
    message or a function is about."""
    parts = [word.lower() for word in _WORD.findall(name[-80:])]
    while parts and (parts[-1].isdigit() or _says_how(parts)):
        parts.pop()
    if not parts or parts[0] in _LABELS or parts[0] in _VERBS:
        return False
    last = parts[-1]
    if last in _SHORT_NAMES:
        beside = _SERVICES.union(_OF_CERTAIN)
        return len(parts) > 1 and (name.isupper() or parts[-2] in beside)
    if last in ("psk", "preshared") or parts[-2:] == ["shared", "key"]:
        return True
    if parts[-2:] == ["secret", "key"]:
        return name.isupper()
    if name.lower().endswith(tuple(CHOSEN_TOKENS)):
        return True
    if last == "secret":
        return _OF_SECRETS.issuperset(parts[-2:-1]) and (len(parts) > 1 or name == "SECRET")
    return (
        _is_short_joined(last)
        or last in _PASSWORD_WORDS
        or last.endswith(_PASSWORD_ENDS)
        or parts[-2:] == ["pass", "phrase"]
    )


def names_number(name: str) -> bool:
    """Return True if `name` is one for a PIN or the code of a door."""
    words_of = [word.lower() for word in _WORD.findall(name[-80:])]
    parts = list(words_of)
    while parts and (parts[-1].isdigit() or parts[-1] == "code"):
        parts.pop()
    if not parts:
        return False
    if len(parts) < len(words_of) and parts[-1] in _OF_CODES:
        return "postal" not in parts
    if parts[-1] not in NUMBERS:
        return False
    return len(parts) == 1 or parts[-2] in _OF_CERTAIN or parts[-2] in _SERVICES


def is_of_board(before: str) -> bool:
    """Return True if the pin whose name follows `before` is one of a circuit board."""
    return _OF_BOARD.search(before) is not None


def name_of_service(name: str) -> bool:
    """Return True if `name` says whose password it is, as names of settings do and labels do
    not."""
    return not _SERVICES.isdisjoint(word.lower() for word in _WORD.findall(name))


def names_page(name: str) -> bool:
    """Return True if `name` is that of a place in a list, which its reader hands back to go on from
    there: `page_token`, `nextCursor`."""
    return _OF_PAGE.fullmatch(name) is not None


def is_public(parts: list[str]) -> bool:
    """Return True if a name of these words, in lower case, says that its value is no secret."""
    public = _PUBLIC_WORDS.intersection(parts)
    if public <= _COPIES and parts[-1:] == ["key"] and KEY_QUALIFIERS.intersection(parts[-2:-1]):
        return False
    return bool(public)


def says_public(name: str) -> bool:
    """Return True if `name` speaks of a secret's word, but as of something public: a token of a
    page, a key of a cache."""
    return is_public([word.lower() for word in _WORD.findall(name[-80:])])


def _is_key_joined(word: str) -> bool:
    """Return True for `writekey`, `tokenkey`: a key's qualifier and `key` in one word, but not for
    Git's `signingkey`, which is an id."""
    return word.endswith("key") and word[:-3] in KEY_QUALIFIERS - {"signing"}


def has_vendor(text: str) -> bool:
    """Return True if `text` names a vendor that issues keys."""
    return _vendor().search(lower_ascii(text)) is not None


def lower_ascii(text: str) -> str:
    """Return `text` in lower case, but the Kelvin sign and the dotted capital I are not turned into
    `k` and `i`: a vendor's name is ASCII."""
    return text.replace("\u212a", "?").replace("\u0130", "?").lower()
