"""Judge a value: placeholder, reference to a secret, or secret.

Each function judges one string, without its quotes.
"""

from __future__ import annotations

import base64
import re
import zlib

from memory_assets.word_lists import word_set, words

_STAND_INS = words(
    "none null nil undefined true false yes no on off void any never unknown string str text bool"
    " boolean int integer number float bytes object optional required default empty enabled"
    " disabled hidden masked secret password passwd passphrase pass token tokens key apikey"
    " api-key api_key access-token access_token credential credentials auth bearer basic oauth"
    " oauth2 user username admin root test testing foo foobar bar baz value plaintext encrypted"
    " hashed private public session cookie jwt file env input prompt not-set not_set n/a tbd"
    " missing invalid expired valid local dev prod production staging"
)
"""Placeholders: words in place of a secret, or words that describe it."""

_PLACEHOLDER = re.compile(
    r"""(?ix)
      ^ (?: <.{0,200}> | \[.{0,200}\] | \{.{0,200}\} | %[sdr(].{0,60} | __\w{1,60}__ | @\w{1,60}@ )$
    | ^ <redacted | \[?redacted | [.]{3} | [•*…]{3} | x{5} | \#\{ | <%
    | change_?-?me | replace_?-?(?:me|with|this) | place_?-?holder
    | ^(?:your|my|an?|the)[-_ ]
    | (?<![A-Za-z0-9])(?:your|my|an?|the)[-_ ](?:\w{1,12}[-_ ]){0,2}
      (?:pass|pw|secret|token|key|value|api|env|vault|auth|cred|user|db|database|real|actual|own|one)
    | ^(?-i:your[A-Z]|my[A-Z][A-Za-z]*$)
    | ^example | example(?:key)?$ | example[-_. ] | [-_. ]example | dummy | sample
    | (?-i:fake|Fake|FAKE)
    | _here$ | -here$ | ^insert | ^todo | ^fixme
    | ^(?:STAND_INS)!?$
    """.replace("STAND_INS", "|".join(_STAND_INS))
)
STAND_IN_WORDS = frozenset(_STAND_INS)
_EXAMPLE_PIECE = re.compile(r"[^\W_]+")
_REFERENCE = re.compile(
    r"""(?x)
      ^ \$\(? [A-Za-z_({] | ^\$\{ | \$\{\{? | ^%[A-Za-z_]\w*% | \{\{ | ^\$env: | ^@[A-Za-z_]
    | process\.env | os\.environ | getenv | import\.meta | (?:^|[^A-Za-z])env(?:iron)?[.\[(]
    | ^(?:op|vault|ref\+|secretsmanager|ssm|keyvault|aws-sm|gcp|file|env|arn|https?|data|sops)\+?:
    | ^secrets?\. | ^var\. | ^data\. | ^local\. | ^module\. | ^!
    """
)
_DOTTED_NAME = re.compile(r"^[A-Za-z_$@][\w$]{0,60}(?:(?:\??\.|->|::)[A-Za-z_$][\w$]{0,60}){1,8}$")
_LETTERS = re.compile(r"^[A-Za-z_$][A-Za-z_]*$")
_SLUG = re.compile(r"^[A-Za-z0-9]{0,16}(?:[-_.][A-Za-z0-9]{0,16})+$")
_UUID = re.compile(r"^[0-9A-Fa-f]{8}(?:-[0-9A-Fa-f]{4}){3}-[0-9A-Fa-f]{12}$")
_GROUPED = re.compile(r"^[0-9A-Za-z]{8}(?:-[0-9A-Za-z]{4}){3}-[0-9A-Za-z]{12}$")
_WORDED = re.compile(
    r"^[A-Za-z]{4,30}(?P<number>\d{2,8})$|^(?=.{0,30}[a-z]\d[a-z])[A-Za-z][A-Za-z0-9]{7,39}$"
)
_HYPHENATED = re.compile(
    r"(?!(?i:.*(?:^|[-_.+])(?:v|sha|aes|rsa|utf|iso|des|gcm|cbc|tls|ssl|http|oauth|gpt|claude|sonnet|opus"
    r"|haiku|python|node|ubuntu|debian|prod|test|step|part|section|version|page|port|rc|beta)[-_.+]?\d))"
    r"[A-Za-z]{3,12}(?:[-_.+][A-Za-z]{3,12}){1,4}[-_.+]?\d{1,4}[!#$%*?]{0,2}"
)
"""Words and a number, unless the word before the number tells what is counted."""
_SIGNED = re.compile(
    r"(?=\S*\d)(?=\S*[A-Za-z]\S?[A-Za-z])(?!\S*%[0-9A-F]{2})(?!\S*#\d{1,7}$)"
    r"(?=\S*[!#$^*~%+]\w|(?=\S*[a-z])(?=\S*[A-Z]))"
    r"[A-Za-z0-9][\w.-]*(?:[!#$%^*~+][\w.-]+){0,4}[!#$%^*~]{0,3}"
)
_JOINED = re.compile(
    r"(?:[A-Z][a-z]{3,11}){2,5}|[A-Za-z][a-z]{2,11}(?:[!#$%^*~+&?][A-Za-z][a-z]{2,11}){1,4}"
    r"|[a-z]{4,11}(?:([-.])[a-z]{4,11})(?:\1[a-z]{4,11}){2,4}"
)
CODE_WORDS = word_set(
    "abstract access account action additional address admin agent allow amazon ansible append"
    " application argument array arrow assembly async attribute audio auth authentication"
    " authenticator auto azure base basic binary block body buffer build builder bundle button"
    " byte cache call callback candidate capture card case cell certificate change changed"
    " channel char character check cipher class client close code codec collection column command"
    " compare compile complex component compute conf config configuration confirm confirmation"
    " connect connection console consumer container content context control controller"
    " convertible cookie copy core count create credential crypto current curve custom dark data"
    " dataclass date debug decoder default define definition delay delete dependencies dependency"
    " description device dialog dict dictionary diff directory disable dispatch display"
    " distribution distutils docker document draw edge element email enable encoder encoding"
    " encrypted endpoint enter entity entry environment error eval event exception exec exists"
    " exit expand expired export expression extended extension external extra factory field file"
    " filter find finder first flag float folder font forgot format formatter forward found frame"
    " framework free from full func function game generate generator github glob global google"
    " grafana grant graph group handle handler hash hashed header helm help helper hint history"
    " hook html http identifier ignore image import include incorrect index info information init"
    " input insert install installation integer interface internal interval invalid item iterator"
    " java javascript jenkins json keep kill kubernetes label lambda language last layout leave"
    " left legacy length level lexer library light limit line linear link list listener literal"
    " load loader local location lock login logon long lookup macro main make manifest mapping"
    " margin marker match math matrix medium memory menu merge message meta metadata method"
    " missing mock mode model modify module mongo move mutable mysql name named native next node"
    " null nullable number object observable only opaque open operation option oracle ordered"
    " other output overflow override pack package page panel parameter params parse parser"
    " passcode passphrase passwd password patch path pattern phone plain platform playback player"
    " plugin point pointer policy pool position post postgres print printer private prober"
    " process product program progress project prometheus promise prompt prop properties property"
    " proto prototype provider proxy public push pydantic python query queue quote random range"
    " read reader real redis reference regex remote remove render reply report repository request"
    " required requirement reset resource response result retry return right root rotation rule"
    " runtime save scalar scope screen script search secret section selection send sequence"
    " server session setting shared shell show sign signal signature signin simple single size"
    " slack slate socket some sort sound source space speaker spec stack start state stats status"
    " stop stream strength string struct studio style subtable symbol sync syntax system table"
    " target team temp template terminal terraform test text thread tier time timeout token toml"
    " tool transform trie true trust tuple type undefined unicode unit unknown unsupported update"
    " user username util validator value variable variant vector version view visual vote warning"
    " wave weak wheel width window with word wrapper write xcode"
)
"""Words of four letters or more that names of classes in code and labels are made of: the most
frequent ones of 7,787 different names in 40 MB of packages, and those around passwords."""
_HEX = re.compile(r"^(?:0x)?[0-9A-Fa-f]+$")
_BASE64 = re.compile(r"^[A-Za-z0-9+/]{24,}={0,2}$")
_COMMON_PAIRS = word_set(
    "th he in er an re on at en nd ti es or te of ed is it al ar st to nt ng se ha as ou io"
    " le ve co me de hi ri ro ic ne ea ra ce li ch ll be ma si om ur ca el ta la ns di fo ho"
    " pe ec pr no ct us ac ot il tr ly nc et ut ss so rs un lo wa ge ie wh ee wi em ad ol rt"
    " po we na ul ni ts mo ow pa im mi ai sh ir su id os iv ia am fi ci vi pl ig tu ev ld ry"
    " mp fe bl ab gh ty op wo sa ay ex ke fr oo av ag if ap gr od bo sp rd do uc bu ei ov by"
    " rm ep tt oc fa ef cu rn sc gi da yo cr cl du"
)
"""The pairs of letters that are most frequent in English text."""
_WORDLIKE = 0.48
"""Share of common pairs that all but 0.1 % of names in code reach, and 99 % of random
letters do not (measured on 778 names of 20 to 50 letters)."""
_PIECE = re.compile(r"[A-Za-z0-9]+")
_FRAGMENT = re.compile(r"[A-Z]?[a-z]+|[A-Z]+|[0-9]+")
_WORDS = re.compile(r"^[A-Za-z]{2,}(?:[-_ .][A-Za-z]{2,})+$")
_APP_PASSWORD = re.compile(r"^[a-z]{4}(?: [a-z]{4}){3}$")
_PHRASE = re.compile(r"^[a-z0-9!#$%&*+@^-]{3,16}(?: [a-z0-9!#$%&*+@^-]{1,16}){2,6}$")
_NUMBERED = re.compile(r"[\w!#$%&*+@^-]{2,24}(?: [\w!#$%&*+@^-]{2,24}){1,5}")
_NUMBERED_WORD = re.compile(r"[A-Za-z]{4,20}\d{3,8}[!#$%*?]{0,2}")
_MESSAGE = re.compile(
    r"(?i)\b(?:must|least|most|are|required?|enter|your|the|and|for|not|invalid|wrong|incorrect|please"
    r"|should|too|short|long|weak|characters?|fields?|match|reset|changed?|forgot|confirm|new|old"
    r"|current|user|only|with|from|this|that|value|string|optional|default|has|have|was|can|cannot"
    r"|quotes?|spaces?|passwords?|passphrase|secret|login|sign|account|show|hide)\b"
)
"""Words of messages and labels, which are no passphrases."""
_CHOSEN = re.compile(
    r"(?=[^a-z]*[a-z])(?=[^A-Z]*[A-Z])(?=(?:\D*\d){2})(?=.*[!#$%^*?])[A-Za-z][\w!#$%^*?@&.-]{7,39}"
    r"|(?!(?i:sha|base|utf|md|aes|rsa|es|http|ascii|x)\d)[A-Za-z]{4,20}\d{2,6}[!#$%*]{1,2}"
)
_VERSION = re.compile(r"^v?\d{1,9}(?:\.\d{1,9})+$")
_DIGEST = re.compile(
    r"(?i)^(?:(?:sha\d{1,3}|md5|h1|blake\w{0,4}|xxh\w{0,4})[-:_=]"
    r"|(?:pip|npm|yarn|pnpm|cargo|maven|gradle|node|venv|poetry|uv|ccache|deps)-(?:[\w.]{1,16}-){0,3}"
    r"[0-9a-f]{32,64}$)"
    r"|^(?!\S*(?:key|token|secret|live|test|prod|sk|pat)[-_])(?:[a-z][a-z0-9.]{0,16}-){2,8}"
    r"[0-9a-f]{40,64}$|^-*\w{0,24}boundary|^v\d{1,4}\.\d{1,4}\.\d{1,4}-(?:[\w.]{1,20}\.)?\d{14}-[0-9a-f]{12}(?:\W|$)|^urn:|^[a-z]\w{0,40}::"
    r"|(?-i:^MI[A-Za-z0-9+/]{1,8}(?:BgkqhkiG9w0BAQEFAAO|0GCSqGSIb3DQEBAQUAA4))"
    r"|(?-i:^RW[A-Za-z0-9+/]{54}$)|(?-i:^M(?:FkwEwYHKoZIzj0CAQ|HYwEAYHKoZIzj0CAQ|CowBQYDK2Vw))"
)
"""Hashes that say so or end the key of a cache, lines between the parts of a form, versions that Go
makes of commits, names of resources, and public keys in DER (RFC 5280, 8410), which extensions of
browsers carry."""
_CHECKSUM = re.compile(r"\b(?i:SHA-?\d{1,3}(?:-?\d{3})?|MD5|BLAKE2\w?|RMD160) \([^()\n]{0,120}$")
_KEY_OF_ELEMENT = re.compile(
    r"(?:<[A-Za-z][\w.]{0,40}(?:\s[^<>]{0,60})?\s(?:data-)?|\b(?:React|data-)\s?)key(?:=[{\"'`]{0,3})?$"
    r"|\"(?:x|y|n|x5t)\"\s?:\s?\"$|\bdid:key$"
    r"|(?i:cache (?:restored|saved|hit|miss(?:ed)?|found|not found)[^\n:]{0,24})\bkey(?::\s?)?$"
)
_ID_OF_THING = re.compile(r"[a-z]{3,20}-[0-9a-f]{8,40}")
_AGENT_ID = re.compile(
    r"^(?:toolu|msg|req|call|resp|chatcmpl|fp|srvtoolu|rs|fc|run|thread|asst|batch|file|cmpl|gen|ig"
    r"|session|turn|agent|wf|evt|step|ctc|item|ws|mcp|mcpr|lsh|apc|ci)_[A-Za-z0-9]"
    r"|^(?:chatcmpl|gen|cmpl|file|agent|rollout)-"
)
_JWT_HEADER = re.compile(r"^eyJ(?:hbGci|0eXAi)[\w-]{10,60}$")
"""The first part of a JSON web token without the rest: it says the algorithm, no secret."""
_FILE_NAME = re.compile(
    r"\.[A-Za-z]{1,5}$|^[.~]?/|^[A-Za-z]:\\|^(?![^/]*[+=])[\w.@-]+/[\w.@-]+(?:/|$)"
)


def is_placeholder(value: str) -> bool:
    """Return True if `value` is written in place of a secret."""
    return _is_monotonous(value) or _PLACEHOLDER.search(value) is not None


def _is_monotonous(value: str) -> bool:
    """Return True if `value` repeats so few characters as no word or password does."""
    different = len(set(value))
    return different <= 2 or (different == 3 and not (value.isalpha() and 4 <= len(value) <= 7))


def is_example(value: str) -> bool:
    """Return True if `value` is a placeholder, or is made of words such as these and short numbers
    (`dev-secret`, `test-key-12345`), which everybody would guess."""
    pieces = _EXAMPLE_PIECE.findall(value)
    return is_placeholder(value) or all(
        piece.lower() in STAND_IN_WORDS or (piece.isdigit() and len(piece) <= 5) for piece in pieces
    )


def is_reference(value: str) -> bool:
    """Return True if `value` refers to a secret elsewhere (`${X}`, `os.environ[...]`)."""
    return _REFERENCE.search(value) is not None


def is_code(value: str) -> bool:
    """Return True if unquoted `value` looks like a name in code rather than data."""
    return _LETTERS.match(value) is not None or _DOTTED_NAME.match(value) is not None


def is_identifier_of_something(value: str) -> bool:
    """Return True if `value` is a digest, an agent's own id or a path, and so never a secret."""
    return (
        _DIGEST.match(value) is not None
        or _AGENT_ID.match(value) is not None
        or _JWT_HEADER.match(value) is not None
        or (_FILE_NAME.search(value) is not None and not _is_base64_with_slash(value))
    )


def _is_base64_with_slash(value: str) -> bool:
    """Return True if `value` looks like a path only because base64 contains a slash: one segment
    mixes cases and digits as no directory's name does."""
    return _BASE64.match(value) is not None and any(
        is_random(segment, 12) and any(map(str.isupper, segment)) and any(map(str.islower, segment))
        for segment in value.split("/")
    )


def is_key_of_element(before: str) -> bool:
    """Return True if `before`, which may go on after the name, ends in the name of a key that tells
    an element of a page from its neighbours (`<li key=`, `React key=`) or a cache from others, or
    of a number that is a part of a public key (RFC 7517)."""
    return _KEY_OF_ELEMENT.search(before) is not None


def is_id_of_thing(value: str) -> bool:
    """Return True if `value` is a word and hex digits, as a bare `key` has that tells things apart:
    `element-f7b26aecf0f0152f`."""
    return _ID_OF_THING.fullmatch(value) is not None


def is_checksum(before: str, value: str) -> bool:
    """Return True if `value` is the hash of a file, whose name `before` ends in, as in
    `SHA256 (FILE) = ...`."""
    return len(value) >= 32 and is_hex(value) and _CHECKSUM.search(before) is not None


def is_chosen(value: str) -> bool:
    """Return True if `value` has the form that rules for passwords ask people for: both cases,
    digits and a sign, as in `Harbor4711!`, or a word, a number and a sign. Names in code have it as
    good as never."""
    return _CHOSEN.fullmatch(value) is not None


def is_slug(value: str) -> bool:
    """Return True if `value` is short words joined by hyphens, dots or underscores, few of them
    with digits."""
    if not _SLUG.match(value):
        return False
    segments = re.split("[-_.]", value)
    return sum(map(has_digit, segments)) < len(segments) / 2


def is_gibberish(value: str) -> bool:
    """Return True if `value` contains a long sequence of letters that is no words."""
    return any(
        len(piece) >= 20 and piece.isalpha() and not _is_wordlike(piece)
        for piece in _PIECE.findall(value)
    )


def is_drawn(value: str) -> bool:
    """Return True if a long piece of `value` has digits among letters that are no words."""
    return any(
        len(piece) >= 16
        and len(letters := "".join(filter(str.isalpha, piece))) >= 8
        and has_digit(piece.strip("0123456789"))
        and not is_hex(piece)
        and not _is_wordlike(letters)
        for piece in _PIECE.findall(value)
    )


def _is_wordlike(letters: str) -> bool:
    """Return True if the letters form pairs as frequent as in English."""
    return _common_pairs(letters) >= _WORDLIKE


def _common_pairs(letters: str) -> float:
    lower = letters.lower()
    pairs = [lower[at : at + 2] for at in range(len(lower) - 1)]
    return sum(pair in _COMMON_PAIRS for pair in pairs) / max(len(pairs), 1)


def is_scrambled(value: str) -> bool:
    """Return True if `value` is letters of both cases, but neither words nor a name in code."""
    if not 8 <= len(value) <= 64 or not value.isascii() or not value.isalpha():
        return False
    fragments = len(_FRAGMENT.findall(value))
    if fragments < 3 or value.islower() or value.isupper():
        return False
    return is_random(value, 8) or (len(value) <= fragments * 5 and _common_pairs(value) < 0.4)


def is_quoted_password(value: str) -> bool:
    """Return True if quoted `value`, assigned to the name of a password, is one."""
    if any(character.isspace() for character in value):
        return _APP_PASSWORD.match(value) is not None or (
            (_PHRASE.match(value) is not None or _is_phrase_with_number(value))
            and _MESSAGE.search(value) is None
        )
    if is_joined(value):
        return True
    if not any(map(str.isalnum, value)) or _VERSION.match(value) is not None:
        return False
    if value.isalpha() and value.isascii():
        return len(value) >= 6 and (value.islower() or value.isupper() or is_scrambled(value))
    if is_code(value) or _WORDS.match(value) is not None:
        return False
    return not is_identifier_of_something(value) or is_random(value)


def _is_phrase_with_number(value: str) -> bool:
    """Return True if `value` is a few words, one of which has the form of a chosen password."""
    return _NUMBERED.fullmatch(value) is not None and any(map(is_chosen_word, value.split(" ")))


def is_chosen_word(value: str) -> bool:
    """Return True if `value`, a word of a passphrase, is letters and a number of three digits or
    more, or looks drawn."""
    return _NUMBERED_WORD.fullmatch(value) is not None or is_chosen(value) or is_random(value, 8)


def is_serial(value: str) -> bool:
    """Return True if a long piece of `value` has groups of digits among its letters."""
    return any(
        len(piece) >= 16
        and 3 <= sum(map(str.isdigit, piece)) < len(piece)
        and has_digit(piece.strip("0123456789"))
        and len(_FRAGMENT.findall(piece)) >= 4
        for piece in _PIECE.findall(value)
    )


def is_basic_credential(value: str) -> bool:
    """Return True if `value` is base64 of `user:password` (RFC 7617)."""
    try:
        return b":" in base64.b64decode(value + "=" * (-len(value) % 4), validate=True)
    except ValueError:
        return False


def is_uuid(value: str) -> bool:
    """Return whether `value` is a UUID."""
    return _UUID.match(value) is not None


def is_hash_or_uuid(value: str) -> bool:
    """Return whether `value` has the form of Git's or SHA-256's hashes, or of a UUID."""
    return (len(value) in (40, 64) and is_hex(value)) or is_uuid(value)


def is_grouped(value: str) -> bool:
    """Return whether `value` has digits and is grouped like a UUID, of any letters."""
    return _GROUPED.match(value) is not None and has_digit(value)


def is_worded(value: str, quoted: bool) -> bool:
    """Return whether `value` is words and a number in one, as in `mySuperSecret42`; quoted, digits
    may also stand for letters, as in `pl4yground`."""
    worded = _WORDED.match(value)
    return worded is not None and (quoted or worded["number"] is not None)


def is_hyphenated(value: str) -> bool:
    """Return whether `value` is two words or more and a number, as in `otter-copper-98`."""
    return _HYPHENATED.fullmatch(value) is not None


def is_joined(value: str) -> bool:
    """Return whether `value` is words in one, as in `HarborWalnut`, `harbor!walnut` or, if they are
    four, `harbor-walnut-otter-zebra`, and none that code and labels are made of."""
    return _JOINED.fullmatch(value) is not None and not any(
        word in CODE_WORDS or word.removesuffix("s") in CODE_WORDS
        for word in map(str.lower, _FRAGMENT.findall(value))
    )


def is_signed(value: str) -> bool:
    """Return whether `value` is letters and digits with a sign of passwords in it or at its end."""
    return (
        len(value) >= 7
        and not value.isalnum()
        and any(map("!#$%^*~+".__contains__, value))
        and _SIGNED.fullmatch(value) is not None
    )


def is_hex(value: str) -> bool:
    """Return whether `value` is nothing but hexadecimal digits."""
    return _HEX.match(value) is not None and not value.isdigit()


def is_random(value: str, least: int = 12) -> bool:
    """Return True if `value` looks generated: its characters change class often.

    In random base62, groups of digits, lower and upper case have two characters on average, as have
    groups of digits and letters in random hex; in identifiers and prose they have five or six.
    """
    for piece in _PIECE.findall(value):
        if len(piece) < least:
            continue
        fragments = len(_FRAGMENT.findall(piece))
        if fragments >= 4 and len(piece) <= fragments * (3.0 if has_digit(piece) else 2.4):
            return True
    return False


def has_digit(value: str) -> bool:
    """Return whether `value` has a digit."""
    return any(map(str.isdigit, value))


def is_dense(value: str) -> bool:
    """Return whether `value` is one long word of letters with digits inside it."""
    digits = sum(map(str.isdigit, value))
    if not value.isalnum() or digits == len(value):
        return False
    inside = sum(map(str.isdigit, value.rstrip("0123456789")))
    return (len(value) >= 20 and digits >= 4) or (len(value) >= 24 and inside >= 2)


def is_mixed(value: str) -> bool:
    """Return whether `value` mixes letters with digits or symbols, as passwords do."""
    return any(map(str.isalpha, value)) and not value.isalpha()


def is_plausible_token(body: str) -> bool:
    """Return True if the part of a token after its vendor's prefix is no placeholder."""
    if len(set(body)) < 5 or body.endswith("EXAMPLE"):
        return False
    if "xxxxx" in body.lower() or "ABCDEFGHIJKLMNOPQRSTUVWXYZ" in body[:40]:
        return False
    if body.isalpha() and not is_hex(body):
        return len(body) < 16 or not _is_wordlike(body)
    return body.isalnum() or has_digit(body) or is_random(body)


_BASE62 = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
CHECKED = frozenset(("github-token", "npm-token"))
"""Rules whose classic tokens end in six base62 digits, the CRC-32 of the thirty characters after
the prefix ("Behind GitHub's new authentication token formats", GitHub's blog, 2021)."""


def checksum(random_part: str) -> str:
    """Return the six base62 digits of the checksum of a token's random part."""
    number, digits = zlib.crc32(random_part.encode()), ""
    while number:
        number, digit = divmod(number, len(_BASE62))
        digits = _BASE62[digit] + digits
    return digits.rjust(6, "0")


def is_proven(rule: str, token: str) -> bool:
    """Return True if `token`, found by `rule`, ends in its own checksum, which proves it whatever
    words it happens to contain. A wrong one proves nothing: invented tokens are redacted, too."""
    body = token.partition("_")[2]
    is_whole = rule in CHECKED and body.isascii() and len(body) == 36
    return is_whole and checksum(body[:30]) == body[30:]
