"""Parse shell commands: simple commands, redirections, here-documents.

Enough of the grammar of POSIX shells and PowerShell to know which files a command prints or writes.
Nothing raises, and all is linear in the command's length: what cannot be parsed is parsed as far as
possible.
"""

from __future__ import annotations

import posixpath
import re
from bisect import bisect_left
from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from typing import NamedTuple

from memory_assets.redaction.time_budget import within_budget
from memory_assets.word_lists import word_set

_TOKEN = re.compile(
    r"""
      (?P<space>(?:[ \t\r]|\\\n)++)
    | (?P<comment>\#[^\n]*+)
    | (?P<op>\n|&&|\|\|?&?|;;?|&>>?|<<<|<<-?|\d?>>?[|&]?|<|[()&;])
    | (?P<word>(?:[^\s;|&()<>"'\\`]++|\\.|"(?:[^"\\]|\\.)*+"?|'[^']*+'?|`[^`]*+`?|\\)++)
    """,
    re.VERBOSE | re.DOTALL,
)
_ANY = re.compile(r".", re.DOTALL)
_QUOTED = re.compile(
    r"\"((?:[^\"\\]|\\.)*+)\"?|'([^']*+)'?|\\(?=[\"'\\$` \n])(.)|`([^`]*+)`?", re.DOTALL
)
_SUBSTITUTION = re.compile(r"\$\(([^()]*(?:\([^()]*\)[^()]*)*)\)|`([^`]*)`")
_HEREDOC = re.compile(
    r"(?<!<)<<-?[ \t]{0,4}\\?(?P<quote>['\"]?)(?P<word>[A-Za-z_]\w{0,40})(?P=quote)"
)
_ENDS = re.compile(r"\n[ \t]{0,40}(?P<word>[A-Za-z_]\w{0,40})(?!\w)")
_ASSIGNMENT = re.compile(r"[A-Za-z_]\w*\+?=")
_QUOTED_COMMAND = re.compile(r"(?:--?\w[\w-]*=)?\$?(?P<quote>[\"'])")

SEARCHERS = word_set("grep egrep fgrep zgrep rg ag ack findstr select-string sls")
READ_PROGRAMS = SEARCHERS | word_set(
    "cat head tail sed nl less more bat batcat tac awk gawk strings base64 xxd hexdump hexyl od"
    " type gc get-content zcat jq yq rev fold column cut sort uniq paste"
)
"""Programs whose output is what they read from files."""
SHELLS = word_set("bash sh zsh dash ash fish ksh powershell pwsh cmd eval ssh su watch")
"""Programs that take commands as an argument."""
WRAPPERS = word_set(
    "sudo doas env time nice nohup command builtin exec timeout stdbuf xargs busybox docker"
    " podman kubectl docker-compose compose wsl find fd do then else if elif while until for !"
    " { dotenvx npx uv poetry direnv oc nerdctl lxc incus vagrant gcloud fly flyctl heroku"
    " chroot nsenter unshare parallel setsid ionice chrt taskset flock unbuffer script strace"
    " caffeinate winpty coproc"
)
"""Words that another command may follow."""
_KEYWORDS = word_set("do then else if elif while until ! { sudo time command nohup builtin")
_DECLARATIONS = word_set("export declare local readonly typeset set")
_VALUE_OPTIONS = {
    "sudo": word_set(
        "-u --user -g --group -h --host -p --prompt -C --close-from -T --command-timeout -r"
        " --role -t --type -D --chdir -R --chroot -U --other-user"
    ),
    "time": word_set("-f --format -o --output"),
}
"""Options of such words that take the next word as their value."""
_NESTING = 3
_SHELL_AMONG = 24
"""Words of a simple command among which a shell is looked for."""


class Word(NamedTuple):
    """One word of a command: its value without quotes, and its position."""

    value: str
    start: int
    end: int


@dataclass
class Stage:
    """One simple command. `bodies` are its here-documents; `caller` is the program that takes its
    output as an argument (`name=$` for a variable), None if the output is printed; `assigned` are
    the variables set before its program."""

    words: list[Word] = field(default_factory=list)
    piped: bool = False
    reads: list[str] = field(default_factory=list)
    writes: list[str] = field(default_factory=list)
    bodies: list[tuple[int, int]] = field(default_factory=list)
    assigned: list[Word] = field(default_factory=list)
    caller: str | None = None

    @property
    def program(self) -> str:
        """The program's name, lower-case, without directories; "" if there is none."""
        return program_name(self.words[0].value) if self.words else ""

    def direct(self) -> Stage:
        """Return the stage without words such as `do` and `sudo` before its program."""
        index = 0
        while index < len(self.words) - 1 and program_name(self.words[index].value) in _KEYWORDS:
            value_options = _VALUE_OPTIONS.get(program_name(self.words[index].value), frozenset())
            index += 1
            while index < len(self.words) - 1 and self.words[index].value.startswith("-"):
                index += 2 if self.words[index].value in value_options else 1
        return replace(self, words=self.words[min(index, len(self.words) - 1) :]) if index else self


def program_name(word: str) -> str:
    """Return the normalised name of a program, from the word that called it."""
    return posixpath.basename(word.replace("\\", "/")).casefold().removesuffix(".exe")


def pipelines(stages: Iterable[Stage]) -> Iterator[list[Stage]]:
    """Yield the simple commands pipeline by pipeline; each takes the output of the one before."""
    pipeline: list[Stage] = []
    for stage in stages:
        if not stage.piped and pipeline:
            yield pipeline
            pipeline = []
        pipeline.append(stage)
    yield pipeline


def stages(command: str, depth: int = 0) -> Iterator[Stage]:
    """Yield the simple commands of `command` in order, each followed by those in its arguments."""
    bodies = dict(heredocs(command))
    skeleton = _blank_out(command, bodies.values())
    parsed = list(_Parser(skeleton, bodies).stages())
    yield from parsed
    if depth < _NESTING:
        for stage in within_budget(parsed):
            yield from _commands_in_words(stage, skeleton, depth)


def heredocs(command: str) -> Iterator[tuple[int, tuple[int, int]]]:
    """Yield, for each here-document, the position of its `<<` and the range of its body."""
    begins = list(_HEREDOC.finditer(command)) if "<<" in command else []
    if not begins:
        return
    end_words = {begin["word"] for begin in begins}
    ends: dict[str, list[int]] = defaultdict(list)
    for end in _ENDS.finditer(command):
        if end["word"] in end_words:
            ends[end["word"]].append(end.start())
    reached = 0
    for begin in begins:
        if begin.start() < reached:
            continue
        line = command.find("\n", begin.end())
        candidates = ends[begin["word"]]
        index = bisect_left(candidates, max(line, reached)) if line >= 0 else len(candidates)
        if index < len(candidates):
            # an empty document ends with the newline that it begins with
            reached = max(candidates[index], line + 1)
            yield begin.start(), (min(line + 1, reached), reached)


def _blank_out(command: str, ranges: Iterable[tuple[int, int]]) -> str:
    """Return a command with blanks in these ranges."""
    pieces: list[str] = []
    position = 0
    for start, end in ranges:
        pieces += (command[position:start], " " * (end - start))
        position = end
    return "".join((*pieces, command[position:]))


def _commands_in_words(stage: Stage, skeleton: str, depth: int) -> Iterator[Stage]:
    """Yield the commands inside a stage's words: `bash -c '...'`, `"$(...)"`, backquotes."""
    most = _SHELL_AMONG if stage.program in WRAPPERS else 1  # `docker exec x sh -c`
    takes_commands = any(program_name(word.value) in SHELLS for word in stage.words[:most])
    for word in stage.words:
        raw = skeleton[word.start : word.end]
        quoted = _QUOTED_COMMAND.match(raw) if takes_commands and " " in raw else None
        if quoted:
            inner = raw[quoted.end() :].removesuffix(quoted["quote"])
            yield from _commands_in_range(inner, word.start + quoted.end(), None, depth)
        elif "$(" in raw or "`" in raw:
            yield from _commands_in_substitutions(word, raw, stage.program, depth)
    for word in stage.assigned:
        raw = skeleton[word.start : word.end]
        yield from _commands_in_substitutions(
            word, raw, f"{raw.split('=')[0].rstrip('+')}=$", depth
        )


def _commands_in_substitutions(word: Word, raw: str, caller: str, depth: int) -> Iterator[Stage]:
    """Yield the commands whose output becomes part of a word."""
    declared = _ASSIGNMENT.match(raw) if caller in _DECLARATIONS else None
    if declared:
        caller = f"{declared.group()}$"
    for inner in _SUBSTITUTION.finditer(raw):
        group = inner.lastindex or 1
        yield from _commands_in_range(inner[group], word.start + inner.start(group), caller, depth)


def _commands_in_range(inner: str, shift: int, caller: str | None, depth: int) -> Iterator[Stage]:
    """Yield the commands of `inner`, a part of the command that begins at `shift`."""
    for stage in stages(inner, depth + 1):
        yield replace(
            stage,
            words=[Word(w.value, w.start + shift, w.end + shift) for w in stage.words],
            bodies=[(start + shift, end + shift) for start, end in stage.bodies],
            caller=stage.caller or caller,
        )


class _Parser:
    """One pass over the tokens of a command."""

    def __init__(self, text: str, bodies: dict[int, tuple[int, int]]) -> None:
        self._text = text
        self._bodies = bodies
        self._open: list[Stage] = []
        self._stage = Stage()
        self._redirect = ""

    def stages(self) -> Iterator[Stage]:
        for token in within_budget(self._tokens()):
            if token.lastgroup == "word":
                self._word(token.group(), token.start())
            elif token.lastgroup == "op":
                yield from self._operator(token.group(), token.start())
        yield self._stage
        yield from reversed(self._open)

    def _tokens(self) -> Iterator[re.Match[str]]:
        position = 0
        while token := _TOKEN.match(self._text, position) or _ANY.match(self._text, position):
            position = token.end()
            yield token

    def _word(self, raw: str, start: int) -> None:
        value = _QUOTED.sub(lambda q: next((g for g in q.groups() if g is not None), ""), raw)
        if self._redirect in ("<<", "<<-"):
            pass
        elif self._redirect == "<<<":
            self._stage.bodies.append((start, start + len(raw)))
        elif self._redirect == "<":
            self._stage.reads.append(value)
        elif self._redirect:
            duplicates = self._redirect.endswith("&") and (value.isdigit() or value == "-")
            if not (
                self._redirect.startswith("2") or duplicates or value.startswith(("&", "/dev/std"))
            ):
                self._stage.writes.append(value)
        elif self._stage.words or not _ASSIGNMENT.match(raw) or raw.endswith("=$"):
            self._stage.words.append(Word(value, start, start + len(raw)))
        elif "$(" in raw or "`" in raw:
            self._stage.assigned.append(Word(value, start, start + len(raw)))
        self._redirect = ""

    def _operator(self, operator: str, start: int) -> Iterator[Stage]:
        if operator[-1] in "<>" or operator.endswith((">|", ">&", "<<-")):
            # what `2>&1` duplicates is no file
            self._redirect = operator
            if operator.startswith("<<") and start in self._bodies:
                self._stage.bodies.append(self._bodies[start])
            return
        self._redirect = ""
        if operator == "(" and self._text[start - 1 : start] == "$":
            self._open.append(self._stage)
            self._stage = Stage(caller=self._caller())
        elif operator == ")" and self._open:
            yield self._stage
            self._stage = self._open.pop()
        else:
            caller = self._stage.caller
            yield self._stage
            self._stage = Stage(piped=operator in ("|", "|&"), caller=caller)

    def _caller(self) -> str:
        """Return the receiver of a substitution's output: a program, or `name=$`."""
        last_word = self._stage.words[-1].value if self._stage.words else ""
        program = self._stage.program
        assigns = last_word.endswith("=$") and (
            len(self._stage.words) == 1 or program in _DECLARATIONS
        )
        return last_word if assigns else program
