"""Judge words: is it a passphrase, or a password of one word, or part of a sentence or label?"""

from __future__ import annotations

import re
from enum import IntEnum
from functools import lru_cache

from memory_assets.redaction.rules.judging import values
from memory_assets.word_lists import word_set

_SAID = word_set(
    "about above absent accepted access account actually added after again all allowed alone"
    " already also always among and another any anyone anything are around ask asked asks at back"
    " bad base64 based be because been before behind being below between blank both bottom but by"
    " called came can cannot case changed characters clear clearly close come comes common"
    " compromised contain contains correct could current currently cut date days default derived"
    " did different digits do does done down due each early either else email empty end enough"
    " enter"
    " even ever every everyone everything everywhere exactly expired extra false fast few field"
    " file"
    " files fine first five following for form forgotten four free fresh from full get gets give"
    " given gives go goes gone good got had half handy hard has have having he here hidden high his"
    " hold how however human if in incorrect input instead into invalid is it items its itself just"
    " keep kept key keys kind known last later least leave left length less let letters like likely"
    " line local locked log logged login long longer look lost low made make makes many masked"
    " match may maybe me mean means might minimum missing mixed more most much must my name near"
    " needed needs never new next nine no nobody none not nothing now null of off often ok old on"
    " once one only open optional or other otherwise our out outside over own page part pass"
    " passphrase passphrases password passwords per placeholder plain please point possible present"
    " protected public put quite random rather ready real really required right rotated said"
    " same say"
    " second secret secrets secure see seen sent set seven several shared she short should shown"
    " simple since single six so some someone something sometimes soon specific still stored string"
    " strong strings such supplied sure system take taken temporary text than that the their them"
    " then"
    " there"
    " these they thing things this those three through time times to today together token tokens"
    " too"
    " tried true twice two type typed under unique unknown unless unlock unset until up upper used"
    " user username users using usual valid value values very wanted was way weak well were what"
    " whatever"
    " when where whether which while who whole whose why will with within without word words work"
    " sorry works would write wrong yes yet you your zero abgelaufen falsch richtig leer"
    " gleich nicht"
    " vac?o incorrecto passwort kennwort contraseña senha wachtwoord heslo geslo passord lösenord"
    " anmelden siehe ändern"
)
"""Words of sentences, labels and messages about passwords. Ends of words stand in `_FORM`."""
_FORM = re.compile(
    r"(?i)\w+(?:ed|ing|ly|tion|tions|able|ible|ment|ments|ness|ity|ized|ise|ize|ies|ive|ous|less"
    r"|ful|\w\wance|\w\wence|ency|ates|ert|isch|lich)"
)
"""Forms of words that describe what a password is or does."""
_TECHNICAL = word_set(
    "varchar nvarchar char text string integer int bigint smallint decimal float double boolean"
    " bool blob json jsonb uuid date datetime timestamp bytea enum varbinary clob"
    " bcrypt scrypt argon pbkdf sha md base utf hmac aes rsa ecdsa ed blowfish crypt yescrypt totp"
    " hotp kerberos ldap saml oauth oidc openid openidconnect ntlm radius pam scram passport vault"
    " keyvault keychain keyring secretsmanager secretmanager parameterstore ssm kms bitwarden"
    " lastpass onepassword keepass keepassxc hashicorp okta cognito sops doppler dotenv"
    " chrome chromium firefox safari edge opera windows linux macos ubuntu debian fedora android"
    " office networkmanager apt python node java docker build release version server port"
    " channel webauthn"
)
"""Names of types, algorithms, protocols, stores and programs, which no password begins with."""
_TYPES = word_set(
    "string str text bool boolean int integer number float double bytes byte object array list"
    " dict date char varchar uuid json any void long short"
    " case style type mode theme variant layout format icon button item class panel modal dialog"
    " toggle container wrapper header footer"
)
_LETTERS = re.compile(r"[^\W\d_]+")
_JOINING = word_set(
    "a about after again all also am an and any are as at be been before but by can cannot could"
    " did do"
    " does for from get gets had has have he her here his how i if in into is it its just may me"
    " must my"
    " never no nor not of off on once only or our out please she should so than that the their"
    " them then"
    " there these they this those to too twice until up use used using via was we were what when"
    " where"
    " which while who why will with without would you your der die das und ist nicht im am zu"
    " mit von aus bei siehe le la les"
    " et est pas dans chez pour avec sur du des por para con del see ask"
    " el los y no es muss sein haben wird werden kann darf soll mindestens bitte alle auch nur"
    " man sie"
    " wir ich sich dem den ein eine einen"
)
"""Words that no passphrase has, if a sentence goes on."""
_FUNCTION = word_set(
    "dem den ein eine einer einem man kein keine wird werden muss darf soll bitte hier dort auch"
    " sehr nur so wie was wo wer mein meine dein ihr ihre sein seine alle dann doch schon noch mehr"
    " als à un une mon ma mes ton son ses au aux ce cette doit peut sera fait plus tout que qui se"
    " ne una mi tu su sus este esta hay debe puede ser muy son fue como cuando donde lo"
    " di il gli uno della del nel sul al mio tuo suo deve essere che non"
    " o os um uma do da dos das no na seu sua tem deve em mesmo"
)
"""Further words of sentences, in other languages."""
_LONGEST = 9
_SHORTEST_WORD = 5
_LONGEST_JOINING = 3


@lru_cache(maxsize=2048)  # most words of a sentence are asked about several times
def is_said(word: str) -> bool:
    """Return True if `word` is one that sentences and labels about passwords are made of."""
    return is_listed(word) or _FORM.fullmatch(word) is not None


def is_listed(word: str) -> bool:
    """Return True if `word` itself is one of these, and not only by its ending."""
    word = word.lower().removesuffix("'s")
    return (
        word in _SAID
        or (len(word) > 3 and values.is_placeholder(word))
        or word in values.CODE_WORDS
    )


def is_common_part(word: str) -> bool:
    """Return True if `word`, a part of a value, is one of these; with a capital, which a password
    has for its own sake, its ending says nothing."""
    return is_listed(word) if word[:1].isupper() else is_said(word)


def is_technical(value: str) -> bool:
    """Return True if `value` is the name of a type, an algorithm, a store or a program, also with a
    number: `varchar255`, `Chrome90`, `PBKDF2WithHmac`; not with a word besides
    (`docker99kessel`, `python3Kessel!`)."""
    first, *later_pieces = _LETTERS.findall(value) or [""]
    further_words = [
        piece.lower()
        for piece in later_pieces
        if len(piece) >= _SHORTEST_WORD and (piece.islower() or not value.isalnum())
    ]
    return _LETTERS.match(value) is not None and _TECHNICAL.issuperset(
        [first.lower(), *further_words]
    )


def is_type(word: str) -> bool:
    """Return True if `word` is the name of a type or, as the last of a name, of a style or a part
    of a page: `kebab-case`."""
    return word.lower() in _TYPES


def is_function(word: str) -> bool:
    """Return True if `word` is one that joins others to a sentence."""
    return word.lower() in _JOINING or word.lower() in _FUNCTION


def is_one_word(value: str) -> bool:
    """Return True if `value`, where only a password or what is said of it can stand, is a word of
    letters that is not said of passwords."""
    return (
        value.isalpha()
        and len(value) >= _SHORTEST_WORD
        and not is_said(value)
        and not is_technical(value)
    )


_JOINTS = re.compile(r"[-_./&@+!#$*%~^?]+")
_PIECE = re.compile(r"[^\W\d_]{2,16}\d{0,4}|\d{1,6}")
_FILE = re.compile(r"(?i)\.[a-z]{1,4}$|^[./~@#]|//|\(|^\d|:$")
_MIXED = re.compile(
    r"(?!(?i:sha|md\d|base|utf|argon|pbkdf|bcrypt|oauth|aes|rsa|http|latin|x\d|v\d|python|node|windows|ubuntu"
    r"|debian|ipv|iso|id_|ed\d|secp|pkcs|lib|win|log4|k8s|i18n|h26|mp[34]|s3|ec2|line|page|step|port))"
    r"(?=.*\d)(?=(?:.*?[^\W\d_]){4})[^\W\d_][^\s/:\\|=<>(){}\[\]\"'`,;]{5,39}"
)
_LINE_PIECE = re.compile(r"[^\W_]{1,16}[!?]?")
_LEET = re.compile(r"[^\W\d_]\d[^\W\d_]")


def is_words(value: str) -> bool:
    """Return True if `value`, where a password stands, is words or numbers joined by signs of which
    no name, file or label is made: `lavendel_feld`, `Polder/dijk/9`."""
    pieces = [piece for piece in _JOINTS.split(value) if piece]
    letters = [piece for piece in pieces if piece[0].isalpha()]
    return (
        len(pieces) > 1
        and len(letters) > 0
        and max(map(len, letters)) > 3
        and _FILE.search(value) is None
        and all(map(_PIECE.fullmatch, pieces))
        and not values.is_placeholder(value)
        and not values.is_reference(value)
        and not (
            is_said(letters[-1]) and (len(letters) < 3 or letters[-1] in values.STAND_IN_WORDS)
        )
        and any(map(_is_own_word, letters))
        and 4 * sum(map(_is_own_word, letters)) >= len(letters)
        and not ("/" in value and not values.has_digit(value))
        and not (
            value.islower()
            and values.STAND_IN_WORDS.intersection(
                piece.removesuffix("s") for piece in letters if len(piece) > _LONGEST_JOINING
            )
        )
    )


def _is_own_word(piece: str) -> bool:
    """Return True if `piece` is a word of which sentences, labels and code seldom are made."""
    word = piece.rstrip("0123456789")
    return len(word) > 2 and not is_said(word) and not is_technical(word)


def is_line_of_words(value: str) -> bool:
    """Return True if `value`, all that is on a line behind a name for passwords, is a passphrase:
    a few words and numbers, of which half or more are nobody's message."""
    pieces = value.split(" ")
    own = sum(map(_is_own_word, pieces))
    return (
        1 < len(pieces) <= _LONGEST
        and all(map(_LINE_PIECE.fullmatch, pieces))
        and 2 * own >= len(pieces)
        and (own > 1 or values.has_digit(value))
        and not values.STAND_IN_WORDS.intersection(map(str.lower, pieces))
    )


def is_mixture(value: str) -> bool:
    """Return True if `value`, where a password stands, is letters and digits as people choose them:
    `kupferkessel9`, `M0nkeyBars`, `Himbeere3.14`."""
    return (
        _MIXED.fullmatch(value) is not None
        and not is_technical(value)
        and not values.is_hex(value)
        and not values.is_placeholder(value)
        and not values.is_reference(value)
        and (_LEET.search(value) is not None or not values.is_identifier_of_something(value))
        and not is_said(value.rstrip("0123456789!?.,-_"))
        and (value.lower() != value or value.isalnum() or _LEET.search(value) is not None)
    )


class Look(IntEnum):
    """How much a value in a sentence looks like a password that somebody chose."""

    NONE = 0
    WORDS = 1
    """Words joined by signs, or in one: names of all kinds, too."""
    MIXTURE = 2
    """Letters and digits: few names."""
    CHOSEN = 3
    """A form that names as good as never have."""


_LETTER_RUN = re.compile(r"[^\W\d_]+")
_STRANGE = re.compile(r"\w[!#$%^*+~&?@]+(?:\w|$)")
_CAPITAL = re.compile(r"[A-ZÄÖÜ][a-zäöüßé]{2,}")
_COUNTED = word_set(
    "build chapter customer exercise figure group item milestone module node option phase"
    " question room"
    " row runner sample scenario section server sprint step table task variant version web worker"
    " host"
    " ctrl alt shift cmd meta level page part client customer appendix issue ticket case box team"
    " layer stage quarter week"
)
"""Words that a number follows."""
_NO_VALUE = re.compile(
    r"(?i)\.[a-z]{1,5}(?::\d+)*$|^[./~@#-]|://|^\d|:$|@[\w-]+\.|^[^\W\d_]{1,4}[-_.]?\d{1,3}$|\\|\.\.|^v?\d+\."
)


def look_of(value: str) -> Look:
    """Return how much `value`, in a sentence about a password, looks like one."""
    runs = _LETTER_RUN.findall(value)
    words = [run for run in runs if len(run) > 1]
    if (
        len(value) < 5
        or not words
        or values.is_hex(value)
        or values.is_uuid(value)
        or values.is_placeholder(value)
        or values.is_reference(value)
        or _NO_VALUE.search(value) is not None
    ):
        return Look.NONE
    parts = [part.lower() for word in words for part in _HUMPS.findall(word)]
    are_common = [
        is_said(part) or part in _COUNTED or part in _TECHNICAL for part in parts if len(part) > 2
    ]
    leet = (_LEET.search(value) is not None and value.lower() != value) or _LEET_WORD.search(value)
    digits = sum(map(str.isdigit, value))
    strange = _STRANGE.search(value) is not None
    joined = any(sign in value for sign in "-_.")
    capital = _CAPITAL.search(value) is not None
    if all(are_common) and not values.is_chosen(value):
        dated = capital and joined and digits > 1 and len(words) > 1
        return Look.MIXTURE if dated else Look.NONE
    if is_technical(value) or _MIXED_NOT.match(value) or OF_CODE.search(value):
        return Look.NONE
    if not digits:
        if strange and len(words) > 1:
            return Look.CHOSEN if capital else Look.MIXTURE
        return Look.WORDS if is_words(value) or values.is_joined(value) else Look.NONE
    if value.isupper() and not strange:
        return Look.WORDS if "-" in value else Look.NONE
    if values.is_identifier_of_something(value) and not leet:
        return Look.NONE
    if strange or (leet and not any(are_common)) or not value.isascii():
        return Look.CHOSEN
    if capital and not any(are_common) and (joined or digits > 1 or len(words[0]) > 5):
        return Look.CHOSEN
    if not joined and not any(are_common) and digits > 2:
        return Look.CHOSEN
    return Look.MIXTURE


_HUMPS = re.compile(r"[^\W\d_a-zäöüß]?[a-zäöüßàáâéèêëíîïñóôúûç]+|[^\W\d_]+")
_LEET_WORD = re.compile(r"[a-z]\d[a-z]{2,}|[a-z]{2,}\d[a-z]")
OF_CODE = re.compile(
    r"^sys\$|^(?:self|this|cls|opts|options|cfg|config|os|sys|app|ctx|req|res|env|args|props|data)[.?]"
    r"|[a-z][A-Z]\w*\.\w|\w\.\w*(?:_|[a-z][A-Z])"
    r"|^[A-Za-z_]\w*(?:\.[A-Za-z_]\w*|\[\w*\])+\W?=|^[a-z_][\w.]*\(.*\)$"
)
"""Members of objects, and what is assigned to them, and calls."""
_MIXED_NOT = re.compile(
    r"(?i)(?:sha|md\d|base\d|utf|argon|pbkdf|bcrypt|oauth|aes|rsa|http|latin|x\d|v\d|python|node|windows"
    r"|ubuntu|debian|ipv|iso|id_|ed\d|secp|pkcs|lib|win\d|log4|k8s|i18n|l10n|h26|mp[34]|s3|ec2|arm\d|web\d|wpa\d|wep\d|risc"
    r"|ascii|x509)"
)
