"""Personal data: identifies a person, but gives no access.

User names in home directories (`/home/alice/x` becomes `~/x`) and e-mail addresses by default;
international phone numbers and public IPv4 addresses by setting. Accounts without a person
(`runner`, `ubuntu`) and addresses of roles and of documentation are kept.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from ipaddress import AddressValueError, IPv4Address

from memory_assets.redaction.edits import HOME_DIRECTORY, Edit
from memory_assets.redaction.engine.triggers import ADDRESSES
from memory_assets.word_lists import word_set

_NOBODY = word_set(
    "user users username user1 youruser your_user your-user yourname your-name your_name"
    " you me name someone somebody person runner runneradmin ubuntu vscode node app"
    " codespace codespaces"
    " dev developer devuser admin administrator root debian fedora centos alpine arch ec2-user"
    " azureuser cloudshell-user vagrant jovyan docker circleci jenkins gitlab-runner gitpod"
    " coder"
    " sandbox claude agent codex opc pi git www-data nobody guest default public shared"
    " linuxbrew container containeruser containeradministrator builder build ci bot test tester"
    " testuser nonroot appuser nodejs nginx postgres mysql airflow dagster spark hadoop bitnami"
    " webapp service deploy deployer workspace project projects work data example foo bar page"
    " index about login logout dashboard home settings profile contact search news products"
)
"""Accounts, lower-case, that name no person, and what follows `/home/` in web addresses."""

_ROOTS = ("/home", "/Users", "\\Users")
_ROOTS_OF_WINDOWS = ("\\home", "/users", "\\users")
"""Roots that count only after a drive or the name of a distribution of WSL."""
_ALL_ROOTS = (*_ROOTS, *_ROOTS_OF_WINDOWS)
_HOMES = tuple(root for root in _ALL_ROOTS if "home" in root)
_USERS = tuple(root for root in _ALL_ROOTS if "sers" in root)
_NAME = re.compile(
    r"""(?x)
    (?: / | \\{1,4} ) (?:home|[Uu]sers)
    (?: \\{0,2}/ | \\{1,4} (?P<back>) )
    (?: (?P<spaced> (?(back) [^\W\d] [\w.\- ]{1,40} (?=\\) | (?!) ) )
      | (?P<plain> \w [\w.\-]{0,63} ) )
    """
)
_BEFORE = re.compile(
    r"""(?x)
    (?: (?<![\w~.\-)\]}*>%/\\]) | (?<=//) | (?<=\s-[A-Z]) | (?<=\\[nrt]) | (?<=[0-9;]m) )
    (?: /(?:usr|var|export|data|host_mnt|mnt|mnt/[a-z]|[a-z]|System/Volumes/Data) | [A-Za-z]: )?
    \\{0,3} $
    """
)
"""What precedes a home directory: a mount or a drive, but no part of another path."""
_BEFORE_ON_WINDOWS = re.compile(
    r"""(?x)
    (?: (?<!\w) [A-Za-z]:
      | (?:/{2}|\\{2,8}) (?i:wsl(?:\$|\.localhost)) [/\\]{1,4} [\w.\-]{1,24} )
    \\{0,3} $
    """
)
_LONGEST_BEFORE = 48
_BOUNDARIES = frozenset(" \t\n\"'`(=,<|")
"""Characters before `/home` that need no second look."""
_FILE_NAME = re.compile(r"\.(?:html?|[jt]sx?|vue|php|py|css|json|png|jpe?g|svg|md)$")

_LOCAL = re.compile(r"[\w.+\-]{1,64}")
_DOMAIN = re.compile(
    r"@((?:[A-Za-z0-9](?:[A-Za-z0-9-]{0,61}[A-Za-z0-9])?\.){1,5}([A-Za-z]{2,24}))"
    r"(?![\w@(-]|\.\w|:[\w~/.])"
)
_VERSION = re.compile(r"\d+\.\d")
_USER_INFO = re.compile(r"//[^\s/]{0,200}:$")
_TOP_LEVEL = word_set(
    "com org net edu gov mil int biz info name pro dev app xyz online site tech store cloud"
    " email"
    " systems solutions agency studio software team group global network company live news"
    " today world space art blog design digital consulting engineering foundation academy"
    " school university institute health care expert services zone works city center club fun"
    " shop codes computer technology ventures capital finance bank law legal media social chat"
    " travel asia berlin london paris nyc tokyo mobi jobs cat aero coop museum"
)
_NO_COUNTRY = word_set("py js ts md gz rb sh cs go so hs kt vb")
_NO_PERSON = word_set(
    "noreply no-reply no_reply donotreply do-not-reply notifications notification git hg svn"
    " support info security help contact hello sales admin administrator abuse postmaster"
    " webmaster hostmaster root team press legal privacy bot user username you your name email"
    " someone somebody me test tester foo bar baz example youremail your-email your_email"
    " your.email john.doe jane.doe johndoe janedoe"
)
_NO_DOMAIN = re.compile(
    r"(?i)(?:^|\.)(?:example(?:\.\w+)?|test(?:\.\w+)?|invalid|local|localhost|localdomain|internal"
    r"|domain\.\w+|email\.com|company\.com|your[\w-]*\.\w+|acme\.\w+|foo\.\w+|bar\.\w+)$"
)
_PHONE = re.compile(r"(?<![\w.+\-/])\+[1-9]\d{0,2}(?:[ .\-]?\(?\d{1,4}\)?){2,5}(?![\w\-])")
_IPV4 = re.compile(r"(?<![\w.\-])(?:\d{1,3}\.){3}\d{1,3}(?![\w\-]|\.\d)")


class PersonalData:
    """The search for the enabled kinds of personal data."""

    def __init__(self, kinds: Sequence[str]) -> None:
        self._wants_directories = HOME_DIRECTORY in kinds
        self._others = tuple(_OTHERS[kind] for kind in kinds if kind in _OTHERS)
        self.always = 0 if _WITH_CLUES.issuperset(kinds) else ADDRESSES
        """Clues that each text is taken to have, because kinds are enabled that have none."""

    def directories(self, text: str) -> list[Edit]:
        """Return the home directories in `text`, each up to the end of the user's name."""
        if not self._wants_directories:
            return []
        edits: list[Edit] = []
        for root in _roots_in(text):
            position = text.find(root)
            while position >= 0:
                home = _directory(text, position)
                if home is not None:
                    edits.append(home)
                position = text.find(root, position + len(root))
        return edits

    def others(self, text: str) -> list[Edit]:
        """Return all other personal data in `text`, kind by kind."""
        return [edit for search in self._others for edit in search(text)]


def _roots_in(text: str) -> Sequence[str]:
    """Return the roots that a text may have: two searches instead of six in nearly all texts."""
    if "home" in text:
        return _ALL_ROOTS if "sers" in text else _HOMES
    return _USERS if "sers" in text else ()


def _is_person(name: str) -> bool:
    return (
        bool(name)
        and name.lower() not in _NOBODY
        and not name.isdigit()
        and _FILE_NAME.search(name) is None
    )


def _directory(text: str, start: int) -> Edit | None:
    """Return the range of a person's home directory whose `/home` is at `start`, or None."""
    home = _NAME.match(text, start)
    if home is None:
        return None
    number = home.lastindex or 0
    name = home[number].rstrip(".- ")
    if not _is_person(name):
        return None
    is_windows = text.startswith(_ROOTS_OF_WINDOWS, start)
    if is_windows or (start and text[start - 1] not in _BOUNDARIES):
        least = max(start - _LONGEST_BEFORE, 0)
        before = None if is_windows else _BEFORE.search(text, least, start)
        before = before or _BEFORE_ON_WINDOWS.search(text, least, start)
        if before is None:
            return None
        start = before.start()
    return Edit(start, home.start(number) + len(name), HOME_DIRECTORY, name)


def _emails(text: str) -> Iterator[Edit]:
    at = text.find("@")
    while at >= 0:
        domain = _DOMAIN.match(text, at)
        email = None if domain is None else _email(text, at, domain)
        if email is not None:
            yield email
        at = text.find("@", at + 1)


def _email(text: str, at: int, domain: re.Match[str]) -> Edit | None:
    """Return the range of a person's address whose `@` is at `at`, or None."""
    top = domain[2].lower()
    if top not in _TOP_LEVEL and (len(top) != 2 or top in _NO_COUNTRY):
        return None
    if _NO_DOMAIN.search(domain[1]) or _VERSION.match(domain[1]):
        return None
    local = _LOCAL.match(text[max(at - 65, 0) : at][::-1])
    if local is None:
        return None
    start = at - local.end()
    before = text[max(start - 200, 0) : start]
    if before.endswith("\\") and text[start] in "nrt":
        start += 1
    while start < at and not text[start].isalnum():
        start += 1
    if start == at or text[start:at].lower() in _NO_PERSON:
        return None
    if before.endswith(("/", "@", "%")) or (before.endswith(":") and _USER_INFO.search(before)):
        return None
    return Edit(start, domain.end(), "email", text[start : domain.end()].lower())


def _phones(text: str) -> Iterator[Edit]:
    if "+" not in text:
        return
    for phone in _PHONE.finditer(text):
        digits = re.sub(r"\D", "", phone.group())
        if 8 <= len(digits) <= 15:
            yield Edit(*phone.span(), "phone", digits)


def _addresses(text: str) -> Iterator[Edit]:
    for address in _IPV4.finditer(text):
        try:
            is_public = IPv4Address(address.group()).is_global
        except AddressValueError:
            continue
        if is_public:
            yield Edit(*address.span(), "ipv4", address.group())


_WITH_CLUES = frozenset((HOME_DIRECTORY, "email"))
_OTHERS: dict[str, Callable[[str], Iterator[Edit]]] = {
    "email": _emails,
    "phone": _phones,
    "ipv4": _addresses,
}
