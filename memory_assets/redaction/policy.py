"""What happens to the contents of files: which calls carry them, and what may stay.

Contents over the size limit, and those of files that exist to hold secrets, become
`<redacted-file-contents-of-N-bytes>`, N being the UTF-8 bytes replaced. Paths on the
allowlist stay, whatever their size. What stays is scanned like all other text.
"""

from __future__ import annotations

import posixpath
import re
import shlex
from collections.abc import Iterable, Iterator
from fnmatch import fnmatch, fnmatchcase
from functools import lru_cache

from memory_assets.models import Record
from memory_assets.redaction.settings import RedactionSettings
from memory_assets.redaction.wordlist import words

READ_TOOLS = frozenset(
    words(
        "read readfile read_file readmanyfiles read_many_files notebookread view viewfile view_file"
        " open openfile open_file cat getfile get_file_contents"
    )
)
WRITE_TOOLS = frozenset(
    words(
        "write writefile write_file create createfile create_file edit editfile edit_file multiedit"
        " multi_edit notebookedit notebook_edit apply_patch applypatch str_replace_editor"
        " str_replace_based_edit_tool str_replace replace replace_in_file insert patch"
    )
)
"""Names of tools, lower-case, of Claude Code, Codex, Pi and their kin."""

CONTENT_KEY = re.compile(
    r"^(?:content|contents|file_text|text|old_string|new_string|old_str|new_str|oldText|newText"
    r"|new_source|insert_text|edits|patch|diff|input)(?::\n|: )",
    re.MULTILINE,
)
"""Where, in a writing call's rendered input, the contents begin."""

READ_PROGRAMS = frozenset(
    words(
        "cat head tail sed nl less more bat batcat tac awk grep egrep fgrep rg strings base64 xxd"
        " hexdump od type gc get-content"
    )
)
_WITH_SCRIPT = frozenset(words("sed awk grep egrep fgrep rg"))
_NEUTRAL_PROGRAMS = frozenset(words("cd echo printf true pwd export set ls wc sleep : sudo"))
_FILTERS = READ_PROGRAMS | frozenset(words("sort uniq tr cut column jq yq fold expand tee wc"))

SENSITIVE_NAMES = words(
    ".env .env.* *.env *.pem *.key *.p12 *.pfx *.jks *.keystore *.kdbx *.ppk .netrc _netrc .pgpass"
    " .my.cnf .htpasswd .git-credentials .npmrc .pypirc .dockercfg id_rsa* id_dsa* id_ecdsa*"
    " id_ed25519* kubeconfig shadow credentials credentials.json secrets.json secrets.y*ml"
    " secrets.toml *service-account*.json *service_account*.json *.tfvars wp-config.php"
)
_HARMLESS_NAMES = words("*.example *.sample *.template *.dist *.pub *-example *.md")

_SENSITIVE_HINT = re.compile(
    r"(?i)\.env|\.pem|\.key|\.p12|\.pfx|\.jks|keystore|\.kdbx|\.ppk|netrc|pgpass|\.my\.cnf|htpasswd"
    r"|git-credentials|npmrc|pypirc|dockercfg|id_|kubeconfig|shadow|credential|secrets|service.account"
    r"|tfvars|wp-config"
)
"""Occurs in every path that SENSITIVE_NAMES matches; a quick way to say no."""
_CONTENTS_TAG = re.compile(r"<redacted-file-contents-of-\d+-bytes>")
_HEREDOC = re.compile(
    r"<<-?[ \t]{0,4}['\"]?(?P<word>[A-Za-z_]\w{0,40})['\"]?[^\n]{0,400}\n"
    r"(?P<body>.*?)\n[ \t]{0,40}(?P=word)\b",
    re.DOTALL,
)


def contents_tag(contents: str) -> str:
    """Return what stands in place of `contents`."""
    return f"<redacted-file-contents-of-{byte_length(contents)}-bytes>"


def byte_length(text: str) -> int:
    """Return the length of `text` in UTF-8, a lone surrogate counting as three bytes."""
    return len(text.encode("utf-8", "surrogatepass"))


class ContentPolicy:
    """Decides which stretches of a record are file contents that may not stay."""

    def __init__(self, settings: RedactionSettings) -> None:
        self._limit = settings.max_file_bytes
        self._allowlist = tuple(pattern.replace("\\", "/") for pattern in settings.allowlist)

    def cut_contents(self, text: str, paths: Iterable[str], roots: Iterable[str] = ()) -> bool:
        """Return whether `text`, contents of `paths`, is to be replaced.

        `roots` are directories that relative paths and relative globs are read from.
        """
        known, bases = tuple(paths), tuple(root for root in roots if root)
        if not text or _CONTENTS_TAG.fullmatch(text.strip()):
            return False
        if known and all(self._is_allowed(path, bases) for path in known):
            return False
        if any(is_sensitive(path) for path in known):
            return True
        return len(text) * 3 > self._limit and byte_length(text) > self._limit

    def cuts(self, record: Record, project_root: str = "") -> tuple[tuple[int, int], ...]:
        """Return the stretches of `record.text` that are to be replaced, in order."""
        text, roots = record.text, (record.cwd, project_root)
        tool = record.tool_name.rsplit("__", 1)[-1].casefold()
        if record.kind == "tool_use":
            if tool in WRITE_TOOLS:
                begins = CONTENT_KEY.search(text)
                start = begins.end() if begins else 0
                return self._cut_one(text, start, record.paths, roots)
            return tuple(self.heredocs(text))
        if record.kind == "tool_result":
            if tool in READ_TOOLS or tool in WRITE_TOOLS:
                if record.is_error and byte_length(text) <= self._limit:
                    return ()
                return self._cut_one(text, 0, record.paths, roots)
            if not self._may_cut(text, record.command):
                return ()
            files = files_read(record.command)
            return self._cut_one(text, 0, files, roots) if files else ()
        if record.kind == "attachment" and record.paths and record.subtype != "plan":
            return self._cut_one(text, 0, record.paths, roots)
        return ()

    def heredocs(self, command: str) -> Iterator[tuple[int, int]]:
        """Yield the bodies of here-documents over the limit: files written by a command."""
        if "<<" not in command or byte_length(command) <= self._limit:
            return
        for heredoc in _HEREDOC.finditer(command):
            if self.cut_contents(heredoc["body"], ()):
                yield heredoc.span("body")

    def _may_cut(self, text: str, command: str) -> bool:
        """Return False, cheaply, where `cut_contents` could not say yes."""
        return len(text) * 3 > self._limit or _SENSITIVE_HINT.search(command) is not None

    def _cut_one(
        self, text: str, start: int, paths: Iterable[str], roots: Iterable[str]
    ) -> tuple[tuple[int, int], ...]:
        return ((start, len(text)),) if self.cut_contents(text[start:], paths, roots) else ()

    def _is_allowed(self, path: str, roots: tuple[str, ...]) -> bool:
        if not self._allowlist:
            return False
        spellings = tuple(_spellings(path, roots))
        return any(fnmatch(s, pattern) for s in spellings for pattern in self._allowlist)


def _spellings(path: str, roots: tuple[str, ...]) -> Iterator[str]:
    """Yield `path` without `..`, as it is and relative to each root it lies under."""
    plain = path.replace("\\", "/").removeprefix("file://")
    yield posixpath.normpath(plain)
    for root in roots:
        base = posixpath.normpath(root.replace("\\", "/"))
        whole = posixpath.normpath(posixpath.join(base, plain))
        yield whole
        if whole.startswith(base.rstrip("/") + "/"):
            yield posixpath.relpath(whole, base)


@lru_cache(maxsize=8_192)
def is_sensitive(path: str) -> bool:
    """Return whether `path` names a file that exists to hold secrets."""
    name = posixpath.basename(posixpath.normpath(path.replace("\\", "/"))).casefold()
    if any(fnmatchcase(name, pattern) for pattern in _HARMLESS_NAMES):
        return False
    return any(fnmatchcase(name, pattern) for pattern in SENSITIVE_NAMES)


def files_read(command: str) -> tuple[str, ...]:
    """Return the files whose contents a shell command prints, or () if it does other work.

    `cd a && cat b | head -50` prints b; `pytest | tail` runs tests and prints no file.
    """
    files: list[str] = []
    for stage, piped in _stages(command):
        program = posixpath.basename(stage[0]).casefold() if stage else ""
        if not program or program in _NEUTRAL_PROGRAMS or (piped and program in _FILTERS):
            continue
        if program not in READ_PROGRAMS:
            return ()
        named = [word for word in stage[1:] if not word.startswith("-") and not word.isdigit()]
        if program in _WITH_SCRIPT:
            named = named[1:]
        files.extend(named)
    return tuple(dict.fromkeys(files))


def _stages(command: str) -> Iterator[tuple[list[str], bool]]:
    """Yield the simple commands of a shell line, each with whether it reads a pipe."""
    if not command or len(command) > 20_000:
        return
    lexer = shlex.shlex(command.replace("\n", " ; "), posix=True, punctuation_chars=";|&")
    lexer.whitespace_split = True
    lexer.commenters = ""
    stage: list[str] = []
    piped = False
    try:
        for word in lexer:
            if word and set(word) <= set(";|&"):
                yield stage, piped
                stage, piped = [], word == "|"
            elif stage or "=" not in word:
                stage.append(word)
    except ValueError:
        return  # an open quote: what was read so far stands
    yield stage, piped
