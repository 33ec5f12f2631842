"""Private keys in other dress than PEM. Rows as `table.py` describes them.

JSON Web Keys: RFC 7517/7518. DER prefixes: RFC 8017 (PKCS#1), RFC 5208 (PKCS#8), RFC 5915
(EC), RFC 8410 (Ed25519), RFC 7292 (PKCS#12), each with the object identifier of its kind.
"""

from __future__ import annotations

import re

from memory_assets.redaction.rules.anchored.rule import (
    FILL,
    HEX,
    AnchoredRule,
    key_material,
    random_value,
    rule,
)
from memory_assets.redaction.rules.judging.phrases import is_function
from memory_assets.word_lists import word_set

_BREAK = r"(?:\r?\n|\\n)[ \t]{0,8}"
_BASE64 = (
    rf"[A-Za-z0-9+/]{{40,9000}}={{0,2}}(?:{_BREAK}[A-Za-z0-9+/]{{40,80}}={{0,2}}){{0,120}}"
    rf"(?:{_BREAK}[A-Za-z0-9+/]{{1,79}}={{1,2}})?"
)
_SHORT_BASE64 = r"[A-Za-z0-9+/]{30,300}={0,2}"

_ANY_LENGTH = r"MII[A-Za-z0-9+/]{3}"
_NUMBER = r"(?:\d\d?[.)][ ]?)?"
_MNEMONIC = (
    r"[^\n]{0,60}?(?:[:=|>(]|\b(?:is|are|was)\s)\s{0,4}[\"'`]?(?P<secret>"
    rf"(?-i:{_NUMBER}[a-z]{{3,8}}(?:[\s,-]{{1,5}}{_NUMBER}[a-z]{{3,8}}(?!\w)){{11,23}}))"
)
"""BIP-39: 12 to 24 words of three to eight letters."""
NO_PHRASE = word_set("the and for are was not you your with from has have its but which must")
"""Common words that BIP-39 does not have."""
_DER = (
    ("IBADANBgkqhkiG9w0BAQEFAASC", "MIIEvQ", _ANY_LENGTH, _BASE64),
    ("IBAAKCAQEA", "MIIEpA", _ANY_LENGTH, _BASE64),
    ("IBAAKCAgEA", "MIIJKg", _ANY_LENGTH, _BASE64),
    ("IBAAKBgQ", "MIICXQ", _ANY_LENGTH, _BASE64),
    ("IBAzCC", "MIIKYQ", _ANY_LENGTH, _BASE64),
    ("AgEAMBMGByqGSM49", "MIGH", "MIG[A-Z0-9]", _SHORT_BASE64),
    ("AgEAMBAGByqGSM49", "MIG2", "MIG[A-Z0-9]", _SHORT_BASE64),
    ("MHcCAQEEI", "", "", _SHORT_BASE64),
    ("MC4CAQAwBQYDK2V", "", "", r"[A-Za-z0-9+/]{40,60}={0,2}"),
    ("b3BlbnNzaC1rZXktdjEA", "", "", _BASE64),
    ("BgkqhkiG9w0BBQ0w", "MIIFHDBO", r"MI[A-Za-z0-9+/]{4,6}", _BASE64),
)
"""A mark that stands in every such key, what stands before it (an
instance and a pattern), the rest of the key."""


def _words_of_a_phrase(value: str) -> bool:
    """Return True if the words are no sentence: of a common English word that BIP-39 does not
    contain there is none, and of those that join words few."""
    listed = re.findall("[a-z]+", value)
    return NO_PHRASE.isdisjoint(listed) and 4 * sum(map(is_function, listed)) < len(listed)


PRIVATE_KEYS: tuple[AnchoredRule, ...] = (
    *(rule("private-key-der", mark.lower(), key_material, rf"(?P<secret>{before}{mark}{rest})",
           sample + mark + FILL, len(sample))
      for mark, sample, before, rest in _DER),
    rule("private-key-der", "300d06092a864886f70d01010105000482", key_material,
         r"(?P<secret>3082[0-9a-f]{4}020100300d06092a864886f70d01010105000482[0-9a-f]{40,12000})",
         "30820277020100300d06092a864886f70d01010105000482" + HEX, 14),
    *(rule("json-web-key", f'"{member}"', random_value,
           rf"\"{member}\"\s{{0,4}}:\s{{0,4}}\"(?P<secret>[A-Za-z0-9_-]{{40,1400}})\"",
           f'{{"kty": "RSA", "{member}": "{FILL[:43]}"}}')
      for member in ("d", "p", "q", "dp", "dq", "qi")),
    rule("json-web-key", '"oct"', random_value,
         r"\"oct\"[^{}]{0,200}?\"k\"\s{0,4}:\s{0,4}\"(?P<secret>[\w-]{16,400})\"",
         '{"kty": "oct", "k": "' + FILL[:43] + '"}'),
    rule("xml-private-key", "</exponent>", key_material,
         r"</Exponent>\s{0,40}(?P<secret><P>[A-Za-z0-9+/=<>\s]{40,9000}</D>)",
         "<Exponent>AQAB</Exponent><P>" + FILL[:44] + "</P><D>" + FILL + "</D>"),
    rule("ssh2-private-key", "begin ssh2 encrypted private key", key_material,
         r"(?i)begin ssh2 encrypted private key ----"
         r"(?P<secret>(?:(?:\r?\n|\\n)(?!----)[^\n\\]{1,100}){1,120})",
         '---- BEGIN SSH2 ENCRYPTED PRIVATE KEY ----\nComment: "x"\n' + FILL),
    rule("openvpn-static-key", "begin openvpn static key", key_material,
         r"(?i)begin openvpn static key V1-----(?P<secret>(?:(?:\r?\n|\\n)[0-9a-f]{16,64}){1,32})",
         "-----BEGIN OpenVPN Static key V1-----\n" + HEX[:32] + "\n" + HEX[8:40]),
    rule("signify-secret-key", "secret key", key_material,
         r"secret key(?:\r?\n|\\n)(?P<secret>RW[A-Za-z0-9+/]{60,400}={0,2})",
         "untrusted comment: signify secret key\nRWRCSw" + FILL),
    *(rule("private-key-numbers", anchor.lower(), key_material,
           rf"{anchor}(?P<secret>(?:\s{{1,12}}(?:[0-9a-f]{{2}}:?){{4,20}}){{1,80}})",
           f"{anchor}\n    " + ":".join(HEX[at : at + 2] for at in range(0, 30, 2)))
      for anchor in ("privateExponent:", "prime1:", "prime2:", "exponent1:", "exponent2:",
      "coefficient:", "priv:")),
    *(rule("recovery-phrase", word, _words_of_a_phrase, rf"(?i:{word})" + _MNEMONIC,
           f"{word}: " + "ocean zebra vault magic ladder kitten " * 2 + "jungle")
      for word in ("phrase", "mnemonic", "recovery word", "seed word", "wallet word")),
)  # fmt: skip
