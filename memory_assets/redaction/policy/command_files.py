"""The files that a shell command prints, and those that it writes."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import pairwise
from typing import NamedTuple

from memory_assets.redaction.policy import shell_commands
from memory_assets.redaction.policy.shell_commands import (
    READ_PROGRAMS,
    SEARCHERS,
    Stage,
    Word,
    pipelines,
    program_name,
    stages,
)
from memory_assets.redaction.time_budget import within_budget
from memory_assets.word_lists import word_set, words

_WITH_SCRIPT = SEARCHERS | word_set("sed awk gawk jq yq")
_OTHER_PRINTERS = word_set(
    "diff sdiff comm cmp openssl gpg age sops ansible-vault plutil dd tr xmllint dotenv"
)

_NEUTRAL = word_set(
    "cd echo printf true false pwd export set ls wc sleep : [ [[ test for done fi esac case"
    " find fd local declare unset pushd popd shopt trap which exit write-output write-host"
)
_FILTERS = READ_PROGRAMS | word_set("tr expand tee wc xargs")
_WRITERS = word_set("echo printf print write-output write-host")
_FILE_WRITERS = word_set("tee set-content add-content out-file new-item sc ac")
_SHOWS_SUBSTITUTION = word_set("echo printf print write-output write-host cat")
_NO_CONTENTS = re.compile(r"-[a-zA-Z]*[qlLc]|--(?:quiet|silent|count|files|list)[a-z-]*")
_MANY_FILES = re.compile(r"-[a-zA-Z]*[rR]|--recursive|--with-filename")
_NO_FILE_NAMES = re.compile(r"-[a-zA-Z]*[hI]|--no-filename")
_PATH_OPTION = re.compile(r"(?i)-(?:literal)?(?:file)?path")
_IN_PLACE = re.compile(r"-[a-zA-Z]*i|--in-place")
_INLINE_CODE = re.compile(r"-[a-zA-Z]*[cer]|--eval|--print")
_INTERPRETERS = re.compile(r"(?:python|node|ruby|perl|php|deno|bun)[\d.]*")
_READS_IN_CODE = re.compile(r"(?i)open|read|slurp|get_contents|load")
_MOST_TARGETS = 32
"""Files, or simple commands, of a pipeline up to which each command gets ranges of its own."""
_QUOTED_PATH = re.compile(r"""['"`]([^'"`\n]{1,300})['"`]""")
_REVISION = re.compile(r"[^:\s]*:(?!/)(.+)", re.DOTALL)
_SEARCH_WORDS = words("grep rg ag ack findstr elect-")
_SEARCH = re.compile(
    r"(?:^|[;&({\n\"'`]|\b(?:git|sudo|xargs|do|then|exec)\b[^|;\n]{0,80})[ \t]*+"
    r"(?:" + "|".join(sorted(SEARCHERS)) + r")\s"
)
"""A search that does not merely filter what another program printed."""


class Written(NamedTuple):
    """A range of a command that is written into files; `paths` is empty if none is named."""

    start: int
    end: int
    paths: tuple[str, ...]


def files_read(command: str) -> tuple[str, ...]:
    """Return the files that a shell command prints, or () if it does anything else.

    `cd a && cat b | head -50` prints b; `pytest | tail` runs tests and prints no file.
    """
    files: list[str] = []
    for stage in map(Stage.direct, stages(command)):
        program = stage.program
        if not program or program in _NEUTRAL or (stage.piped and program in _FILTERS):
            continue
        if stage.writes or stage.caller is not None:
            continue
        if program not in READ_PROGRAMS:
            return ()
        if _edits_in_place(stage):
            continue
        files += _file_arguments(stage.words) or (["."] if program in SEARCHERS else [])
    return tuple(dict.fromkeys(files))


def files_shown(command: str) -> Iterator[str]:
    """Yield every file whose contents may be in a command's output, whatever else it does.

    Searches that print the file's name before each line are left out: their lines are judged by it.
    """
    for stage in map(Stage.direct, within_budget(stages(command))):
        if stage.writes or (stage.caller and stage.caller not in _SHOWS_SUBSTITUTION):
            continue
        index = _printer_index(stage)
        if index is not None:
            yield from stage.reads
            program = program_name(stage.words[index].value)
            if program not in SEARCHERS or not _prints_file_names(stage.words[index:]):
                yield from (w.value for w in stage.words if not w.value.startswith("-"))
        elif stage.program in ("done", "mapfile", "readarray"):
            yield from stage.reads
        elif stage.program == "git":
            revisions = (_REVISION.fullmatch(word.value) for word in stage.words[2:])
            yield from (revision[1] for revision in revisions if revision is not None)
        elif _INTERPRETERS.fullmatch(stage.program):
            yield from _named_in_code(command, stage)


def searches(command: str) -> bool:
    """Return True if a command may print lines that begin with the name of their file."""
    return any(map(command.__contains__, _SEARCH_WORDS)) and bool(_SEARCH.search(command))


def written(command: str) -> Iterator[Written]:
    """Yield the ranges of a command that it writes into files."""
    for pipeline in within_budget(pipelines(stages(command))):
        yield from _pipeline_writes([stage.direct() for stage in pipeline])


def _pipeline_writes(pipeline: list[Stage]) -> Iterator[Written]:
    """Yield the ranges that each simple command of a pipeline writes into its own files and those
    of later commands; one range over all of them if there are too many."""
    targets = [tuple(_target_files(stage)) for stage in pipeline]
    count = sum(map(len, targets))
    if count and max(count, len(pipeline)) > _MOST_TARGETS:
        all_paths = tuple(dict.fromkeys(path for target in targets for path in target))
        parts = [
            part for stage in pipeline for part in _written_ranges(stage, frozenset(all_paths))
        ]
        if parts:
            yield Written(min(parts)[0], max(end for _, end in parts), all_paths)
        return
    for at, stage in enumerate(pipeline):
        later = (path for target in targets[at:] for path in target) if count else ()
        paths = tuple(dict.fromkeys(later))
        for start, end in _written_ranges(stage, frozenset(paths)):
            yield Written(start, end, paths)


def _written_ranges(stage: Stage, paths: frozenset[str]) -> Iterator[tuple[int, int]]:
    """Yield the ranges of a simple command that it writes into `paths`."""
    yield from stage.bodies
    if not paths or len(stage.words) < 2:
        return
    if stage.program in _WRITERS or stage.program in _FILE_WRITERS - {"tee"}:
        for word in stage.words[1:]:
            if not word.value.startswith("-") and word.value not in paths:
                yield word.start, word.end
    elif stage.program in ("sed", "perl"):
        script = next((w for w in stage.words[1:] if not w.value.startswith("-")), None)
        if script is not None and script.value not in paths:
            yield script.start, script.end


def _target_files(stage: Stage) -> Iterator[str]:
    """Yield the files that a simple command writes."""
    yield from (path for path in stage.writes if not path.startswith("/dev/"))
    arguments = [word.value for word in stage.words[1:] if not word.value.startswith("-")]
    if stage.program == "tee":
        yield from arguments
    elif stage.program in _FILE_WRITERS:
        named = [
            after.value
            for before, after in pairwise(stage.words)
            if _PATH_OPTION.fullmatch(before.value)
        ]
        yield from named or arguments[:1]
    elif _edits_in_place(stage):
        yield from arguments[1:]
    elif stage.bodies and stage.program in shell_commands.SHELLS:
        for argument in arguments:  # `ssh host 'cat > file' <<EOF`
            for nested in stages(argument):
                yield from _target_files(nested)


def _edits_in_place(stage: Stage) -> bool:
    """Return True if a simple command is sed or perl and overwrites its files."""
    return stage.program in ("sed", "perl") and any(
        _IN_PLACE.match(word.value) for word in stage.words[1:]
    )


def _file_arguments(command: list[Word]) -> list[str]:
    """Return the words of a reading program that name files."""
    program = program_name(command[0].value)
    named = [w.value for w in command[1:] if w.value[:1] != "-" and not w.value.isdigit()]
    return named[1:] if program in _WITH_SCRIPT else named


def _printer_index(stage: Stage) -> int | None:
    """Return the index of the word that is a program which prints files; None if there is none."""
    for index, word in enumerate(stage.words):
        name = program_name(word.value)
        if name in READ_PROGRAMS or name in _OTHER_PRINTERS:
            options = [w.value for w in stage.words[index + 1 :] if w.value.startswith("-")]
            silent = name in SEARCHERS and any(_NO_CONTENTS.fullmatch(option) for option in options)
            in_place = name == "sed" and any(_IN_PLACE.match(option) for option in options)
            return None if silent or in_place else index
        if index == 0 and name not in shell_commands.WRAPPERS | shell_commands.SHELLS:
            return None
    return None


def _prints_file_names(search: list[Word]) -> bool:
    """Return True if a search prints the file's name before each line."""
    options = [word.value for word in search[1:] if word.value.startswith("-")]
    if any(_NO_FILE_NAMES.fullmatch(option) for option in options):
        return False
    files = _file_arguments(search)
    return len(files) != 1 or any(_MANY_FILES.fullmatch(option) for option in options)


def _named_in_code(command: str, stage: Stage) -> Iterator[str]:
    """Yield the paths that a script on the command line may open and print."""
    codes = [command[start:end] for start, end in stage.bodies]
    if any(_INLINE_CODE.fullmatch(word.value) for word in stage.words[1:]):
        codes += [word.value for word in stage.words[1:]]
    for code in codes:
        if _READS_IN_CODE.search(code):
            yield from (quoted[1] for quoted in _QUOTED_PATH.finditer(code))
