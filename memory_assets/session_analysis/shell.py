"""Shell commands: split into segments with program, arguments and redirected files; and those
worth listing, the most telling first: tests, commits, builds, deploys.

This is a scanner, not a shell: it parses quotes, here-documents, pipes and lists; other
syntax stays part of a word. PowerShell has one of its own (`powershell.py`). Nothing is run."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from threading import Lock

from memory_assets.redacted_text import RedactedText
from memory_assets.session_analysis.phrases import shorten
from memory_assets.session_analysis.powershell import pipelines, unwrapped
from memory_assets.session_analysis.session import SessionTurns
from memory_assets.word_lists import word_set

MAX_SCANNED = 4_000
_CACHED_CHARACTERS = 4_000_000
"""Characters of commands whose segments are cached, some 80 MB. The limit is no count, because one
turn may have 50,000 commands of 70 characters, or as many of a hundred kilobytes."""
_TOKEN = re.compile(
    r"(?:[ \t]|\\\n)*+(?:(?P<heredoc><<-?\s*[\"']?(?P<tag>\w+)[\"']?)"
    r"|(?P<redirect>\d?>>?&?\d?|&>>?|<)|(?P<break>\|\|?|&&?|;|\n)"
    r"|(?P<word>(?:\"(?:[^\"\\]|\\.)*\"?|'[^']*'?|\\.|\$\((?:[^()]|\([^()]*\))*\)|[^\s\"'\\|&;<>])+)"
    r"|(?P<other>.)|$)",
    re.DOTALL,
)
_ASSIGNMENT = re.compile(r"\w+=")
_WRAPPERS = word_set(
    "sudo rtk time timeout nice env nohup command npx bunx pnpx xvfb-run exec stdbuf then do if "
    "while"
)
_RUNNERS = (
    *("uv run", "poetry run", "pnpm exec", "mise exec", "mise x"),
    *("bundle exec", "yarn exec", "npm exec"),
)
_WINDOWS_PROGRAMS = (".exe", ".cmd", ".bat")
_WRAPPER_ARGUMENT = re.compile(r"-.*|\d+[smh]?$|\w+=.*|--$")
VIEWERS = word_set("cat head tail less more nl bat sed Get-Content gc")
SEARCHERS = word_set("rg grep egrep ag ack fgrep findstr Select-String sls")
_FILTERS = (
    VIEWERS | SEARCHERS | word_set("sort uniq wc awk tr cut tee xargs jq column fold rev tac")
)
_SETTING_UP = word_set(
    "cd echo printf export set source . true false : pwd sleep mkdir touch wait fi done else unset "
    "shopt trap pushd popd date clear chcp cls Set-Location Push-Location Pop-Location Write-Host "
    "Write-Output Start-Sleep Out-Null Import-Module Set-StrictMode"
)
MOST_COMMANDS = 20
_COMMAND_LIMIT = 140
_VERB = re.compile(r"[a-z][a-z:-]{0,20}")
_MOST_VERBS = 2
_ASSIGNED = re.compile(r"(?<==).*")
_HEREDOC = re.compile(r"(?:\s+-{1,2}[\w-]+[ =]?)?\s*[\"']?(?:\$\(cat\s*|-\s+)?<<.*$")
_REDIRECTED = re.compile(r"(?:\s*\d?>(?:&\d|\s?/dev/null))+$")

_TESTERS = word_set(
    "pytest tox nox jest vitest mocha playwright cypress phpunit rspec ctest unittest behave"
)
_CHECKERS = word_set(
    "mypy ruff eslint tsc biome prettier black flake8 pylint pyright golangci-lint gofmt clippy "
    "shellcheck cmake gcc g++ clang rustc javac webpack vite rollup esbuild xcodebuild"
)
_OPERATORS = word_set(
    "docker docker-compose podman kubectl helm terraform tofu ansible alembic flyway psql mysql "
    "sqlite3 redis-cli aws gcloud az fly vercel wrangler netlify heroku systemctl ssh scp rsync "
    "pulumi prisma"
)
_VERB_PROGRAMS = word_set(
    "npm pnpm yarn bun go cargo make mvn gradle gradlew dotnet mise just task swift mix rake "
    "python python3 node deno uv poetry pip pip3 hatch"
)
_READ_ONLY = (
    VIEWERS
    | SEARCHERS
    | word_set(
        "ls find tree which type stat file du df ps env id uname whoami diff cmp jq awk sort uniq "
        "wc xargs test [ [[ man apply_patch cut tr basename dirname readlink realpath hexdump xxd "
        "md5sum sha256sum strings kill pkill lsof cp mv rm chmod ln for rmdir tee history return "
        "break continue case esac elif local function exit read let"
    )
)
LOOKING_GIT = word_set(
    "status log diff show branch blame ls-files rev-parse remote config add stash fetch ls-tree "
    "cat-file describe reflog rev-list for-each-ref shortlog grep merge-base -C"
)


@dataclass(frozen=True, slots=True)
class Segment:
    """One simple command: its words (quotes taken off) and the file it writes to, if any."""

    text: RedactedText
    words: tuple[RedactedText, ...]
    writes: RedactedText | None
    piped: bool
    """Whether it reads another command's output."""
    program: str
    """The program's base name."""

    @property
    def arguments(self) -> list[RedactedText]:
        """The words after the program that are not options."""
        return [word for word in self.words[1:] if not word.startswith("-")]


_recent: dict[RedactedText, tuple[Segment, ...]] = {}
_recent_characters = 0
_lock = Lock()


def segments(command: RedactedText) -> tuple[Segment, ...]:
    """Return the simple commands of a command line, wrappers and assignments taken off.

    In PowerShell a pipeline is one command. Segments of recent commands are cached, because several
    callers read each session.
    """
    global _recent_characters
    known = _recent.get(command)
    if known is not None:
        return known
    found = tuple(_segments(command))
    with _lock:
        _recent_characters += len(command)
        if _recent_characters > _CACHED_CHARACTERS:
            forget_segments()
            _recent_characters = len(command)
        return _recent.setdefault(command, found)


def forget_segments() -> None:
    """Empty the cache of segments."""
    global _recent_characters
    _recent.clear()
    _recent_characters = 0


def _segments(command: RedactedText) -> Iterator[Segment]:
    command, is_powershell = unwrapped(command)
    if not is_powershell:
        return _scan(command.cut(0, MAX_SCANNED))
    found = pipelines(command.cut(0, MAX_SCANNED))
    segments = (_segment(pipeline.text, pipeline.words, None, piped=False) for pipeline in found)
    return (segment for segment in segments if segment is not None)


def _scan(command: RedactedText) -> Iterator[Segment]:
    words: list[RedactedText] = []
    writes: RedactedText | None = None
    start = at = 0
    piped = redirecting = False
    heredocs: list[str] = []
    while at < len(command):
        token = _TOKEN.match(command, at)
        if token is None:
            break
        at = token.end()
        kind = token.lastgroup
        if kind == "word":
            word = command.cut(*token.span(kind))
            if len(word) > 1 and word[0] in "\"'" and word[-1] == word[0]:
                word = word.cut(1, len(word) - 1)
            if redirecting:
                writes = word if not word.startswith("/dev/") else writes
                redirecting = False
            else:
                words.append(word)
        elif kind == "break":
            if segment := _segment(command.cut(start, token.start(kind)), words, writes, piped):
                yield segment
            words, writes, redirecting = [], None, False
            piped = token.group(kind) == "|"
            if token.group(kind) == "\n" and heredocs:
                at = _after_heredocs(command, at, heredocs)
                heredocs = []
            start = at
        elif kind == "redirect":
            redirecting = not token.group().endswith(("1", "2"))
        elif kind == "heredoc":
            heredocs.append(token.group("tag"))
    if segment := _segment(command.cut(start), words, writes, piped):
        yield segment


def _after_heredocs(command: str, at: int, tags: list[str]) -> int:
    for tag in tags:
        end = re.compile(rf"^[ \t]*{re.escape(tag)}[ \t]*$", re.MULTILINE).search(command, at)
        at = min(end.end() + 1, len(command)) if end else len(command)
    return at


def _segment(
    text: RedactedText, words: list[RedactedText], writes: RedactedText | None, piped: bool
) -> Segment | None:
    kept = _without_wrappers(words)
    if not kept:
        return None
    program = _program(kept[0])
    return Segment(text.trimmed(), tuple(kept), writes, piped, program)


def _program(word: RedactedText) -> str:
    """Return the base name of a program, of either kind of system."""
    base = word.rsplit("/", 1)[-1].rsplit("\\", 1)[-1]
    return base[:-4] if base[-4:].lower() in _WINDOWS_PROGRAMS else base


def _without_wrappers(words: list[RedactedText]) -> list[RedactedText]:
    at = 0
    while at < len(words):
        word = words[at]
        following = words[at + 1] if at + 1 < len(words) else ""
        if _ASSIGNMENT.match(word):
            at += 1
        elif word in _WRAPPERS:
            at += 1
            while at < len(words) and _WRAPPER_ARGUMENT.match(words[at]):
                at += 1
        elif f"{word} {following}" in _RUNNERS:
            at += 2
            while at < len(words) and words[at].startswith("-"):
                at += 1
        elif following == "-m" and _program(word) in ("python", "python3", "py"):
            at += 2
        else:
            break
    return words[at:]


def working_segments(command: RedactedText) -> list[Segment]:
    """Return the segments that do something: not `cd`, `echo`, setting up, or filtering."""
    return [
        segment
        for segment in segments(command)
        if segment.program not in _SETTING_UP
        and not (segment.piped and segment.program in _FILTERS)
    ]


def significant_commands(session: SessionTurns) -> tuple[RedactedText, ...]:
    """Return distinct commands, the most significant first, at most `MOST_COMMANDS`."""
    ranked: dict[RedactedText, tuple[int, int]] = {}
    for place, record in enumerate(session.records):
        if record.kind != "tool_use" or not record.command:
            continue
        for segment in working_segments(record.command):
            rank = _rank(segment)
            if rank is not None:
                text = display_text(segment)
                ranked.setdefault(text, (rank, place))
    order = sorted(ranked, key=lambda text: (ranked[text], text))
    return tuple(order[:MOST_COMMANDS])


def display_text(segment: Segment) -> RedactedText:
    """Return the first line, without the start of a here-document and without redirections."""
    line = segment.text.lines()[0].sub(_HEREDOC, "").sub(_REDIRECTED, "")
    return shorten(line.squeezed(), _COMMAND_LIMIT)


def form_of(segment: Segment) -> str:
    """Return a command without parts that differ between uses: the first two arguments stay if they
    are words, as in `docker compose up`; options lose their values."""
    kept, verbs = [segment.program], 0
    for word in segment.words[1:]:
        if word.startswith("-"):
            kept.append(_ASSIGNED.sub("_", word))
            continue
        verbs += 1
        if verbs <= _MOST_VERBS and _VERB.fullmatch(word):
            kept.append(str(word))
        elif kept[-1] != "_":
            kept.append("_")
    return " ".join(kept)


def _rank(segment: Segment) -> int | None:
    """Return 0 for tests, 1 for commits and the like, 2 for builds and checks, 3 for operations, 4
    for other programs, 5 for scripts and installations; None for commands not worth listing."""
    program = segment.program
    verb = segment.words[1] if len(segment.words) > 1 else ""
    if not program or program in _READ_ONLY or not (program[0].isalnum() or program[0] in "._"):
        return None
    if program in _TESTERS or (program in _VERB_PROGRAMS and _names_a_test(segment)):
        return 0
    if program == "git":
        return None if verb in LOOKING_GIT or verb.startswith("-") else 1
    if program == "gh":
        return 1 if "create" in segment.words or "merge" in segment.words else 4
    if program in _CHECKERS:
        return 2
    if program in _VERB_PROGRAMS:
        return 5 if verb in ("-c", "-e", "-", "") or "install" in segment.words[1:3] else 2
    return 3 if program in _OPERATORS else 4


def _names_a_test(segment: Segment) -> bool:
    return any("test" in word.lower() for word in segment.words[1:3]) or (
        segment.program.startswith("python") and "unittest" in segment.words
    )
