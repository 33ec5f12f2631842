"""Detect shell commands that print secrets of a password manager or a cloud.

The words of each simple command are compared with the table. Options may be anywhere. If it is
unknown whether an option takes a value, the next word is tried both as its value and as an
argument, and one match suffices: a secret that stays is worse than an output that is removed.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from fnmatch import translate
from functools import cache
from typing import NamedTuple

from memory_assets.redaction.policy.shell_commands import (
    READ_PROGRAMS,
    SHELLS,
    WRAPPERS,
    Stage,
    pipelines,
    program_name,
    stages,
)
from memory_assets.redaction.policy.vault_table import (
    EXTENDS,
    PROGRAM_NAMES,
    RELEASE_TRACKS,
    SWALLOWS,
    VALUE_OPTIONS,
    VAULT_COMMANDS,
)
from memory_assets.redaction.time_budget import within_budget
from memory_assets.word_lists import any_of, word_set

_RUNNERS = (
    WRAPPERS
    | SHELLS
    | word_set(
        "npx pnpm pnpx yarn bun bunx deno uv uvx pipx poetry pdm hatch rye pipenv conda mamba"
        " bundle php ruby mise asdf nix nix-shell devbox aws-vault aws-okta chamber doppler"
        " infisical op teller summon envchain dotenvx dotenv direnv just tsh microk8s k3s"
        " minikube rancher railway wsl & ."
    )
) - {"for"}
"""Programs, and other first words of a simple command, that run a program named later."""
_RUNS_BY_SUBCOMMAND = word_set("docker kubectl oc lxc incus vagrant gcloud fly heroku compose")
_RUN = word_set("run exec debug rsh ssh console kubectl --")
"""Programs that run others by one of these words."""
_SSH_VALUES = word_set("-b -c -D -E -e -F -I -i -J -L -l -m -O -o -p -Q -R -S -W -w -B")
_PRINTERS = word_set("echo printf print write-output write-host cat for")
"""Programs that print their arguments, and the keyword of loops over them."""
_VARIABLE = re.compile(r"(?i)\$(?:env:)?\{?(\w+)")
_QUIET_SEARCH = re.compile(r"-[a-zA-Z]*[qc]|--(?:quiet|silent|count)")
_MODULE = re.compile(r"(?:python|py)[\d.]*")
_CONTINUED = re.compile(r"[`^][ \t]*\r?\n")
"""A line that goes on in PowerShell or in cmd."""
_EXTENSION = re.compile(r"\.(?:exe|cmd|bat|ps1|com)$")
_SEVERAL = re.compile(r"[,/.]")
_ANY_NUMBER = "**"
_MOST_WORDS = 128
_MOST_PROGRAMS = 16
"""Most programs of the table in one simple command; with more, its output is always removed."""
_NESTING = 3


class _Term(NamedTuple):
    """The words that match one place in a row of the table."""

    exact: frozenset[str]
    globs: re.Pattern[str] | None
    negated: bool

    def matches(self, forms: Sequence[str]) -> bool:
        """Return True if an argument, the first of its `forms`, matches this term."""
        if self.negated:
            return forms[0] not in self.exact
        if not self.exact.isdisjoint(forms):
            return True
        return self.globs is not None and self.globs.match(forms[0]) is not None


class _Row(NamedTuple):
    """One command of the table: its subcommands, and the options that it must and must not have."""

    terms: tuple[_Term | None, ...]
    needed: tuple[frozenset[str], ...]
    excluded: tuple[frozenset[str], ...]


class _End(NamedTuple):
    """Where the output of a simple command goes.

    `kept_by` are files and variables (`name=$`), () for another program, None if it is printed;
    `runs_input` is True if it, or a command after it, is a shell that runs its input.
    """

    kept_by: tuple[str, ...] | None
    runs_input: bool


_Argument = tuple[str, tuple[str, ...]]
"""A word after the program, and the forms in which it is compared with terms (lower case, and the
first part of each of several names); no forms for an option. A single dash is no option."""


def opens_vault(command: str) -> bool:
    """Return True if the output of a command contains secrets from a vault."""
    plain = command.casefold().replace("'", "").replace('"', "")
    if _hints().search(plain) is None:
        return False
    if _opens(command, 0):
        return True
    joined = _CONTINUED.sub(lambda line: " " * len(line.group()), command)
    return joined != command and _opens(joined, 0)


def _opens(command: str, depth: int) -> bool:
    """Return True if a command, nested `depth` times, prints secrets of a vault."""
    kept: set[str] = set()  # variables (`name=$`) and files that hold a secret
    for pipeline in within_budget(pipelines(stages(command))):
        for stage, end in zip(pipeline, _output_ends(pipeline), strict=True):
            if (
                depth < _NESTING
                and end.runs_input
                and any(_opens(command[start:stop], depth + 1) for start, stop in stage.bodies)
            ):
                return True
            if not _is_vault(stage):
                continue
            if end.kept_by is None:
                return True
            kept.update(end.kept_by)
    return bool(kept) and _prints_kept(stages(command), kept)


def _output_ends(pipeline: Sequence[Stage]) -> list[_End]:
    """Return where the output of each simple command of a pipeline goes."""
    ends: list[_End] = []
    written: tuple[str, ...] = ()
    swallowed = runs_input = False
    for stage in reversed(pipeline):
        runs_input |= any(program_name(word.value) in SHELLS for word in stage.words[:24])
        written = tuple(stage.writes) or written
        kept_by: tuple[str, ...] | None = None
        if written or swallowed:
            kept_by = written
        elif stage.caller is not None and stage.caller not in _PRINTERS:
            kept_by = (stage.caller.replace("+=", "="),)
        ends.append(_End(kept_by, runs_input))
        swallowed |= stage.piped and _swallows(stage)
    return ends[::-1]


def _swallows(stage: Stage) -> bool:
    """Return True if a simple command takes a secret from a pipe and does not print it."""
    program = stage.direct().program
    options = [word.value for word in stage.words if word.value.startswith("-")]
    if program in ("gpg", "gpg2"):
        return "--import" in options
    if program.endswith("grep"):
        return any(map(_QUIET_SEARCH.fullmatch, options))
    return program in SWALLOWS


def _prints_kept(stages: Iterable[Stage], kept: set[str]) -> bool:
    """Return True if a command prints a variable or a file that contains a secret."""
    printers = _PRINTERS | READ_PROGRAMS
    for stage in map(Stage.direct, stages):
        if stage.program not in printers or stage.writes or stage.caller is not None:
            continue
        for word in stage.words[1:]:
            variables = _VARIABLE.findall(word.value)
            if word.value in kept or any(f"{name}=$" in kept for name in variables):
                return True
    return False


def _is_vault(stage: Stage) -> bool:
    """Return True if a simple command is one of the table."""
    words = [word.value for word in stage.words]
    tried = 0
    for index in _program_indexes(words):
        for program in _table_programs(words[index]):
            tried += 1
            if tried > _MOST_PROGRAMS:
                return True
            arguments = _arguments(program, words[index + 1 : index + 1 + _MOST_WORDS])
            if _matches_any(_rows()[program], VALUE_OPTIONS.get(program, frozenset()), arguments):
                return True
    return False


def _program_indexes(words: Sequence[str]) -> Iterator[int]:
    """Yield the indexes of the words of a simple command that may be the program it runs."""
    if not words:
        return
    yield 0
    first = _bare_program_name(words[0])
    if _MODULE.fullmatch(first):
        yield from (index + 1 for index, word in enumerate(words[:-1]) if word == "-m")
    elif first in _RUNNERS:
        begin = 1
        if first in _RUNS_BY_SUBCOMMAND:
            begin = next((index for index, word in enumerate(words) if word in _RUN), len(words))
        elif first == "ssh":
            begin = _host_index(words) + 1
        yield from range(begin, len(words))


def _host_index(words: Sequence[str]) -> int:
    """Return the index of the host in the words of `ssh ...`, as it may be named like a program."""
    index = 1
    while index < len(words) and words[index].startswith("-"):
        index += 2 if words[index] in _SSH_VALUES else 1
    return index


def _table_programs(word: str) -> tuple[str, ...]:
    """Return the programs of the table that a word may run."""
    name = _bare_program_name(word)
    if name.startswith(("docker-credential-", "git-credential-")):
        name = "-".join(name.split("-")[:2])
    candidates = (name, EXTENDS.get(name, ""))
    return tuple(candidate for candidate in candidates if candidate in _rows())


def _bare_program_name(word: str) -> str:
    """Return the name of a program without its path, registry and version."""
    lower = word.casefold()
    package = "@" + lower[1:].split("@")[0] if lower.startswith("@") else lower
    if package in PROGRAM_NAMES:
        return PROGRAM_NAMES[package]
    name = _EXTENSION.sub("", program_name(lower).strip("${}\"'"))
    if len(name) > 1 and name[0] not in "@:":
        name = name.split("@")[0].split(":")[0]
    return PROGRAM_NAMES.get(name, name)


def _arguments(program: str, words: Sequence[str]) -> list[_Argument]:
    arguments: list[_Argument] = []
    skipped = RELEASE_TRACKS.get(program, frozenset())
    for word in words:
        if word[:1] == "-" and len(word) > 1:
            arguments.append((word, ()))
        elif word not in skipped:
            lower = word.casefold()
            parts = (_SEVERAL.split(part)[0] for part in lower.split(","))
            arguments.append((word, (lower, *parts)))
    return arguments


def _matches_any(
    rows: Iterable[_Row], with_value: frozenset[str], arguments: Sequence[_Argument]
) -> bool:
    """Return True if a command with these arguments is in one of the rows."""
    options = [word for word, forms in arguments if not forms]
    if "--help" in options:
        return False
    return any(
        all(_has_option(names, options) for names in row.needed)
        and not any(_has_option(names, options) for names in row.excluded)
        and _begins_with_terms(row.terms, with_value, arguments)
        for row in rows
    )


def _has_option(names: Iterable[str], options: Iterable[str]) -> bool:
    """Return True if one of the options is given, also as `-xyz` or `--x=y`."""
    exact = frozenset(names)
    letters = {name[1] for name in exact if len(name) == 2}
    for option in options:
        name = option.split("=")[0]
        if name in exact or (len(name) > 2 and name.casefold() in exact):
            return True
        if option[:2] != "--" and len(name) <= 6 and not letters.isdisjoint(name[1:]):
            return True
    return False


def _begins_with_terms(
    terms: Sequence[_Term | None], with_value: frozenset[str], arguments: Iterable[_Argument]
) -> bool:
    """Return True if the arguments begin with the terms, ignoring options between them.

    A state is the number of terms met, and whether the next word may be an option's value.
    """
    if not terms:
        return True
    states = {(0, False)}
    is_value = False
    for word, forms in arguments:
        if is_value:  # the value of an option that takes one
            is_value = False
            continue
        if not forms:
            named = "=" not in word
            is_value = named and word in with_value
            if named and not is_value and word != "--":
                states |= {(met, True) for met, _ in states}
            continue
        next_states: set[tuple[int, bool]] = set()
        for met, may_be_value in states:
            if may_be_value:
                next_states.add((met, False))
            next_states.update((reached, False) for reached in _terms_met_after(terms, met, forms))
        if (len(terms), False) in next_states:
            return True
        if not next_states:
            return False
        states = next_states
    return False


def _terms_met_after(
    terms: Sequence[_Term | None], met: int, forms: Sequence[str]
) -> Iterator[int]:
    """Yield the number of terms met after an argument; None as a term matches any number."""
    term = terms[met]
    if term is not None:
        if term.matches(forms):
            yield met + 1
        return
    yield met
    yield from _terms_met_after(terms, met + 1, forms)


@cache
def _rows() -> Mapping[str, list[_Row]]:
    """Return the rows of the table by program."""
    by_program: dict[str, list[_Row]] = defaultdict(list)
    for programs, *words in VAULT_COMMANDS:
        options = [word for word in words if word[0] == "-" and len(word) > 1]
        without = [word[1:] for word in words if word[0] == "~"]
        row = _Row(
            tuple(_term(word) for word in words if word[0] not in "-~" or word == "-"),
            tuple(frozenset(word.split("|")) for word in options),
            tuple(frozenset(word.split("|")) for word in without),
        )
        for program in programs.split("|"):
            by_program[program].append(row)
    return dict(by_program)


def _term(word: str) -> _Term | None:
    if word == _ANY_NUMBER:
        return None
    negated = word.startswith("!")
    alternatives = word.removeprefix("!").split("|")
    globs = [alternative for alternative in alternatives if any(c in alternative for c in "*?[")]
    return _Term(
        frozenset(alternatives) - frozenset(globs),
        re.compile("|".join(map(translate, globs))) if globs else None,
        negated,
    )


@cache
def _hints() -> re.Pattern[str]:
    """Return a pattern of the names of all programs of the table."""
    names = {*_rows(), *EXTENDS}
    names |= {name for name, program in PROGRAM_NAMES.items() if program in names}
    longest_first = sorted(names, key=len, reverse=True)
    return re.compile(rf"(?<![\w.-])(?:{any_of(longest_first)})(?!\w)")
