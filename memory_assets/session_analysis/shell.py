"""Split shell commands into segments with program, arguments and redirected files.

This is a scanner, not a shell: it parses quotes, here-documents, pipes and lists; other
syntax stays part of a word. Nothing is run.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache

from memory_assets.redacted_text import RedactedText, join
from memory_assets.session_analysis.phrases import names, unescaped

MAX_SCANNED = 4_000
_TOKEN = re.compile(
    r"(?P<space>[ \t]+|\\\n)|(?P<heredoc><<-?\s*[\"']?(?P<tag>\w+)[\"']?)"
    r"|(?P<redirect>\d?>>?&?\d?|&>>?|<)|(?P<break>\|\|?|&&?|;|\n)"
    r"|(?P<word>(?:\"(?:[^\"\\]|\\.)*\"?|'[^']*'?|\\.|\$\((?:[^()]|\([^()]*\))*\)|[^\s\"'\\|&;<>])+)",
    re.DOTALL,
)
_SCRIPTED = re.compile(r"cmd:\s*\"((?:[^\"\\]|\\.)*)\"")
_ASSIGNMENT = re.compile(r"\w+=")
_WRAPPERS = names(
    "sudo time timeout nice env nohup command npx bunx pnpx xvfb-run exec stdbuf then do if while"
)
_RUNNERS = frozenset(
    {
        ("uv", "run"),
        ("poetry", "run"),
        ("pnpm", "exec"),
        ("mise", "exec"),
        ("mise", "x"),
        ("bundle", "exec"),
        ("yarn", "exec"),
        ("npm", "exec"),
    }
)
_WRAPPER_ARGUMENT = re.compile(r"-.*|\d+[smh]?$|\w+=.*|--$")
VIEWERS = names("cat head tail less more nl bat sed")
SEARCHERS = names("rg grep egrep ag ack fgrep")
_FILTERS = VIEWERS | SEARCHERS | names("sort uniq wc awk tr cut tee xargs jq column fold rev tac")
_SETTING_UP = names(
    "cd echo printf export set source . true false : pwd sleep mkdir touch wait fi done else unset "
    "shopt trap pushd popd date clear"
)


@dataclass(frozen=True, slots=True)
class Segment:
    """One simple command: its words (quotes taken off) and the file it writes to, if any."""

    text: RedactedText
    words: tuple[RedactedText, ...]
    writes: RedactedText | None
    piped: bool
    """Whether it reads another command's output."""

    @property
    def program(self) -> str:
        """The program's base name, or ""."""
        return self.words[0].rsplit("/", 1)[-1] if self.words else ""

    @property
    def arguments(self) -> list[RedactedText]:
        """The words after the program that are not options."""
        return [word for word in self.words[1:] if not word.startswith("-")]


@lru_cache(maxsize=2_000)
def segments(command: RedactedText) -> tuple[Segment, ...]:
    """Return the simple commands of a command line, wrappers and assignments taken off.

    Those of recent commands are cached, because several callers read each session.

    Newer Codex runs commands from a script: those are the commands then.
    """
    if "tools.exec_command(" in command:
        calls = (command.cut(*call.span(1)) for call in _SCRIPTED.finditer(command))
        command = join("\n", (unescaped(call) for call in calls))
    return tuple(_scan(command.cut(0, MAX_SCANNED)))


def _scan(command: RedactedText) -> Iterator[Segment]:
    words: list[RedactedText] = []
    writes: RedactedText | None = None
    start = at = 0
    piped = redirecting = False
    heredocs: list[str] = []
    while at < len(command):
        token = _TOKEN.match(command, at)
        if token is None:
            at += 1
            continue
        at = token.end()
        kind = token.lastgroup
        if kind in ("heredoc", "tag"):
            heredocs.append(token.group("tag"))
        elif kind == "redirect":
            redirecting = not token.group().endswith(("1", "2"))
        elif kind == "word":
            word = _unquoted(command.cut(*token.span()))
            if redirecting:
                writes = word if not word.startswith("/dev/") else writes
                redirecting = False
            else:
                words.append(word)
        elif kind == "break":
            if made := _segment(command.cut(start, token.start()), words, writes, piped):
                yield made
            words, writes, redirecting = [], None, False
            piped = token.group() == "|"
            if token.group() == "\n" and heredocs:
                at = _after_heredocs(command, at, heredocs)
                heredocs = []
            start = at
    if made := _segment(command.cut(start), words, writes, piped):
        yield made


def _after_heredocs(command: str, at: int, tags: list[str]) -> int:
    for tag in tags:
        end = re.compile(rf"^[ \t]*{re.escape(tag)}[ \t]*$", re.MULTILINE).search(command, at)
        at = min(end.end() + 1, len(command)) if end else len(command)
    return at


def _unquoted(word: RedactedText) -> RedactedText:
    if len(word) > 1 and word[0] in "\"'" and word[-1] == word[0]:
        return word.cut(1, len(word) - 1)
    return word


def _segment(
    text: RedactedText, words: list[RedactedText], writes: RedactedText | None, piped: bool
) -> Segment | None:
    kept = _without_wrappers(words)
    if not kept:
        return None
    return Segment(text.trimmed(), tuple(kept), writes, piped)


def _without_wrappers(words: list[RedactedText]) -> list[RedactedText]:
    at = 0
    while at < len(words):
        word = words[at]
        pair = (word, words[at + 1] if at + 1 < len(words) else "")
        if _ASSIGNMENT.match(word):
            at += 1
        elif word in _WRAPPERS:
            at += 1
            while at < len(words) and _WRAPPER_ARGUMENT.match(words[at]):
                at += 1
        elif pair in _RUNNERS:
            at += 2
            while at < len(words) and words[at].startswith("-"):
                at += 1
        elif word.rsplit("/", 1)[-1] in ("python", "python3") and pair[1] == "-m":
            at += 2
        else:
            break
    return words[at:]


def meaningful(command: RedactedText) -> list[Segment]:
    """Return the segments that do something: not `cd`, `echo`, setting up, or filtering."""
    return [
        segment
        for segment in segments(command)
        if segment.program not in _SETTING_UP
        and not (segment.piped and segment.program in _FILTERS)
    ]
