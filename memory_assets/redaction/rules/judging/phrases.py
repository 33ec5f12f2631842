"""Judge words: is it a passphrase, or a password of one word, or part of a sentence or label?"""

from __future__ import annotations

import re

from memory_assets.redaction.rules.judging import values
from memory_assets.redaction.rules.wordlist import word_set

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
    " strong such supplied sure system take taken temporary text than that the their them then"
    " there"
    " these they thing things this those three through time times to today together token tokens"
    " too"
    " tried true twice two type typed under unique unknown unless unset until up upper used user"
    " username users using usual valid value values very wanted was way weak well were what"
    " whatever"
    " when where whether which while who whole whose why will with within without word words work"
    " sorry works would write wrong yes yet you your zero abgelaufen falsch richtig leer"
    " gleich nicht"
    " vac?o incorrecto"
)
"""Words of sentences, labels and messages about passwords. Ends of words stand in `_FORM`."""
_FORM = re.compile(
    r"(?i)\w+(?:ed|ing|ly|tion|tions|able|ible|ment|ments|ness|ity|ized|ise|ize|ies|ive|ous|less"
    r"|ful|ance|ence|ency|ates|ert|isch|lich)"
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
    " channel"
)
"""Names of types, algorithms, protocols, stores and programs, which no password begins with."""
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
    " el los y no es"
)
"""Words that no passphrase has, if a sentence goes on."""
_WORD = re.compile(r"[^\W\d_]{2,14}\d{0,4}")
_LONGEST = 9
_SHORTEST_WORD = 5


def is_said(word: str) -> bool:
    """Return True if `word` is one that sentences and labels about passwords are made of."""
    word = word.lower().removesuffix("'s")
    return (
        word in _SAID
        or _FORM.fullmatch(word) is not None
        or (len(word) > 3 and values.is_placeholder(word))
        or word in values.CODE_WORDS
    )


def is_technical(value: str) -> bool:
    """Return True if `value` is the name of a type, an algorithm, a store or a program, also with a
    number: `varchar255`, `Chrome90`, `PBKDF2WithHmac`; not with a word besides
    (`docker99kessel`)."""
    first, *others = _LETTERS.findall(value) or [""]
    words = [other for other in others if other.islower() and len(other) >= _SHORTEST_WORD]
    return _LETTERS.match(value) is not None and _TECHNICAL.issuperset([first.lower(), *words])


def phrase_length(text: str, least: int) -> int:
    """Return how many characters of `text`, words with one blank between them, are a passphrase
    from its beginning: `least` words or more that no sentence about passwords is made of; else
    0."""
    length = count = said = 0
    for word in text.split(" "):
        if count == _LONGEST or _WORD.fullmatch(word) is None or word.lower() in _JOINING:
            break
        length += len(word) + (count > 0)
        count += 1
        said += is_said(word)
    return length if count >= least and 4 * said <= count else 0


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
        and not is_said(letters[-1])
        and not all(map(is_technical, letters))
        and not (value.islower() and values.STAND_IN_WORDS.intersection(letters))
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
