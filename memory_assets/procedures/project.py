"""What the sessions of one project have in common: commands, the style of commit subjects, and the
documents that they read."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime

from memory_assets.procedures.purposes import script_of, task_of
from memory_assets.procedures.uses import Seen, Use, uses
from memory_assets.session_analysis import SessionTurns
from memory_assets.session_analysis.commits import commits_made_by
from memory_assets.session_analysis.files import touched_files
from memory_assets.session_analysis.session import Calls
from memory_assets.word_lists import word_set

LONGEST = 300
_LAST_TURNS = 2
"""Turns of a session that are kept as sources."""
_MOST_COMMANDS = 3
_GOES_ON = " …"
_FILE = re.compile(r"\S*/\S*\.\w{1,5}|\S*[._]test[._]\S*|test_\S+|\S*::\S*")
_CHOOSING = word_set("-run --run -k -t --grep --testNamePattern --test-name-pattern --only")
_PLAIN = tuple(
    re.compile(pattern)
    for pattern in (
        r"(?:npm|pnpm|yarn|bun)(?: run)? "
        r"(?:test|build|lint|dev|start|format|check|typecheck|type-check)",
        r"(?:npm|pnpm|yarn|bun) (?:i|install|ci|add|test)(?: .*)?",
        r"go (?:test|build|vet|fmt|run|generate|install|mod tidy)"
        r"(?: -(?:v|race|short|count=\d|(?:timeout|run|o) \S+)| [^-\s]\S*)*",
        r"(?:gofmt|goimports|gofumpt)(?: -\w+)*(?: .*)?",
        r"cargo (?:test|build|check|clippy|fmt|run)(?: --(?:release|all|workspace|check))*",
        r"(?:python3? -m )?(?:pytest|mypy|ruff|black|pip)"
        r"(?: (?:-\w+|--tb=\w+|check|format|install.*|\.|tests?/?))*",
        r"(?:cd \S+ && )?(?:npx |bunx )?tsc"
        r"(?: --?(?:noEmit|skipLibCheck|pretty|p|b) ?(?:\.|tsconfig\.json)?)*",
        r"(?:npx |bunx )?(?:eslint|prettier|biome|vitest|jest|playwright)(?: \w+)?"
        r"(?: --?[\w-]+(?:=\S+)?)*(?: \.)?",
        r"(?:golangci-lint|shellcheck)(?: [^-\s]\S*)*",
        r"make|swift (?:build|test)|(?:pip|pip3|uv|poetry) (?:install|sync|add)(?: .*)?",
        r"(?:bash|sh|zsh) -n .*|node (?:--check|-c) .*",
        r"(?:(?:bash|sh|zsh|python3?|node|bun|deno run|tsx) )?[~.\w/-]+\.\w{1,4}",
    )
)
"""Commands that anybody would try first, so that they are not worth remembering."""


@dataclass(frozen=True, slots=True)
class Lasting:
    """A statement that sessions support, one for each `topic` of a project. `confidence` is 0 to 1,
    `at` the last time it was seen, `sources` the ids of turns that show it (the last two of each
    session), `type` that of the memory it may become."""

    topic: str
    text: str
    confidence: float
    at: datetime | None
    sources: tuple[str, ...]
    type: str = "project"


def shown_by(topic: str, text: str, evidence: Iterable[Seen]) -> Lasting:
    """Return a statement with its evidence; more sessions and turns give a higher confidence."""
    turns: dict[str, dict[str, None]] = defaultdict(dict)
    times = []
    for piece in evidence:
        turns[piece.session_id].pop(piece.turn_id, None)
        turns[piece.session_id][piece.turn_id] = None
        if piece.at is not None:
            times.append(piece.at)
    count = sum(map(len, turns.values()))
    confidence = min(0.7 + 0.05 * (len(turns) - 1) + 0.02 * (count - 1), 0.95)
    sources = [turn for of_session in turns.values() for turn in list(of_session)[-_LAST_TURNS:]]
    return Lasting(topic, text, round(confidence, 2), max(times, default=None), tuple(sources))


@dataclass(frozen=True, slots=True)
class Shown:
    """A command and the uses in which it worked."""

    command: str
    uses: tuple[Use, ...]

    @property
    def turns(self) -> int:
        """The number of turns in which it worked."""
        return len({use.turn_id for use in self.uses})

    @property
    def sessions(self) -> int:
        """The number of sessions in which it worked."""
        return len({use.session_id for use in self.uses})

    @property
    def rank(self) -> tuple[int, int, str]:
        """Sort key: commands of most sessions and turns first."""
        return -self.sessions, -self.turns, self.command


def procedures(uses: Sequence[Use]) -> list[Lasting]:
    """Return the procedures of a project, one for each purpose."""
    by_purpose: dict[str, list[Use]] = defaultdict(list)
    for use in uses:
        by_purpose[use.purpose].append(use)
    lasting: list[Lasting] = []
    for purpose, of_purpose in by_purpose.items():
        shown = filter(_is_worth_remembering, _repeated_commands(of_purpose))
        best = sorted(shown, key=lambda command: command.rank)[:_MOST_COMMANDS]
        if best:
            commands = ", ".join(f"`{command.command}`" for command in best)
            text = f"{_heading(purpose)}: {commands}."
            evidence = [use for command in best for use in command.uses]
            lasting.append(shown_by(purpose, text, evidence))
    return lasting


def _repeated_commands(uses: Iterable[Use]) -> list[Shown]:
    """Return the commands that were repeated: exact repetitions, then, among the others, commands
    with the same beginning, whose ends are shown as "…"."""
    exact = _group_uses(uses, lambda use: use.command if use.text else "")
    kept = [
        shown
        for shown in exact
        if _repeated(shown) and len(shown.command) <= LONGEST and not names_files(shown.uses[0])
    ]
    whole = {shown.command for shown in kept}
    further_uses = [use for shown in exact if shown.command not in whole for use in shown.uses]
    begun = _group_uses(further_uses, beginning)
    kept += [
        Shown(shown.command + _GOES_ON, shown.uses)
        for shown in begun
        if shown.command not in whole and _repeated(shown) and len(shown.command) <= LONGEST
    ]
    return kept


def _group_uses(uses: Iterable[Use], key: Callable[[Use], str]) -> list[Shown]:
    """Return uses by `key`, in the order of the keys' first use; those with "" are left out."""
    groups: dict[str, list[Use]] = defaultdict(list)
    for use in uses:
        groups[key(use)].append(use)
    return [Shown(command, tuple(group)) for command, group in groups.items() if command]


def _repeated(shown: Shown) -> bool:
    """Return True if a command worked in two turns, or twice in one turn unless it runs a script:
    many scripts are written for one turn."""
    return shown.turns > 1 or (len(shown.uses) > 1 and not script_of(list(shown.uses[0].words)))


def names_files(use: Use) -> bool:
    """Return True if a command names files or tests to work on, which differ the next time."""
    words = list(use.words)
    script = script_of(words)
    if use.purpose == "tests" and _CHOOSING & set(words):
        return True
    return any(_FILE.fullmatch(word) for word in words[1:] if word.removeprefix("./") != script)


def beginning(use: Use) -> str:
    """Return a command up to the word that names its task or script; "" if that is all of it."""
    words = list(use.words)
    arguments = [word for word in words[1:] if not word.startswith("-")]
    program = words[0].rsplit("/", 1)[-1]
    verb = arguments[0] if program == "git" and arguments else ""
    last_word = verb or script_of(words) or task_of(program, arguments)
    position = (
        use.command.find(last_word, len(use.command) - len(use.text))
        if last_word and use.text
        else -1
    )
    start = use.command[: position + len(last_word)]
    return start if position >= 0 and use.command[len(start) : len(start) + 1] == " " else ""


def _is_worth_remembering(shown: Shown) -> bool:
    """Return True if a command is not one that anybody would try first."""
    command = shown.command.removesuffix(_GOES_ON)
    return not any(pattern.fullmatch(command) for pattern in _PLAIN)


def _heading(purpose: str) -> str:
    kind, _, name = purpose.partition(" ")
    if kind in ("script", "task"):
        return f"The {kind} {name} is run so in this project"
    return f"{purpose.capitalize()} in this project"


_HOME = re.compile(r"|~|/root|(?:[A-Za-z]:|/[A-Za-z])?[\\/](?:home|Users)[\\/][^\\/]+")
_FEWEST = 5
_FEWEST_SESSIONS = 2
_SHARE = 0.85
_CONVENTIONAL = re.compile(r"(?P<type>[a-z]+)(?P<scope>\([^)]*\))?!?: \S")
_FEWEST_READERS = 3
_SHARE_OF_SESSIONS = 1 / 3
_MOST_LISTED = 4
_DOCUMENT = re.compile(r"\.(?:md|mdx|rst|txt|adoc|pdf)$", re.IGNORECASE)
_LOADED = re.compile(
    r"(?:^|/)(?:README|CLAUDE|AGENTS|GEMINI|MEMORY|SKILL|CHANGELOG|LICENSE)(?:[.-][\w.-]*)?$"
    r"|^~/\.|/\.claude/|/\.codex/|^/tmp/|^/private/|^/var/|requirements[\w-]*\.txt$",
    re.IGNORECASE,
)
"""Documents that agents read by themselves, or that are their own."""


@dataclass(frozen=True)
class Findings:
    """The commands, commits and read documents of one session."""

    uses: tuple[Use, ...]
    commits: tuple[Committed, ...]
    reads: tuple[Read, ...]


def findings(session: SessionTurns) -> Findings | None:
    """Return the findings of a session; None if it ran in a home directory, which is no project."""
    if _HOME.fullmatch(str(session.project_root).rstrip("/\\")):
        return None
    return Findings(tuple(uses(session)), tuple(committed(session)), tuple(documents_read(session)))


def lasting_of(sessions: Iterable[Findings]) -> list[Lasting]:
    """Return what the sessions of a project have in common, by falling confidence."""
    all_findings = list(sessions)
    lasting = [
        *procedures([use for session in all_findings for use in session.uses]),
        *commit_style([commit for session in all_findings for commit in session.commits]),
        *documents([read for session in all_findings for read in session.reads]),
    ]
    return sorted(lasting, key=lambda trait: (-trait.confidence, trait.topic))


@dataclass(frozen=True, slots=True)
class Committed(Seen):
    """A commit that a turn made."""

    subject: str


def committed(session: SessionTurns) -> Iterator[Committed]:
    """Yield the commits of a session, in order."""
    calls = Calls()
    for turn in session.turns:
        for record in turn.records:
            for commit in commits_made_by(record, calls.ended(record)):
                yield Committed(session.session_id, turn.id, record.timestamp, str(commit.subject))


def commit_style(commits: Sequence[Committed]) -> list[Lasting]:
    """Return the style of commit subjects if nearly all are conventional commits; else nothing."""
    matched = [(commit, _CONVENTIONAL.match(commit.subject)) for commit in commits]
    conventional = [(commit, match) for commit, match in matched if match]
    sessions = {commit.session_id for commit, _ in conventional}
    fewest = max(_FEWEST, _SHARE * len(commits))
    if len(conventional) < fewest or len(sessions) < _FEWEST_SESSIONS:
        return []
    types = Counter(match["type"] for _, match in conventional)
    scoped = sum(match["scope"] is not None for _, match in conventional)
    scope = " with a scope" if scoped >= _SHARE * len(conventional) else ""
    listed = ", ".join(f"`{name}`" for name in sorted(dict(types.most_common(4))))
    text = f"Commit subjects here are conventional commits{scope}; types used: {listed}."
    return [shown_by("commit subjects", text, [commit for commit, _ in conventional])]


@dataclass(frozen=True, slots=True)
class Read(Seen):
    """A document that a turn read."""

    path: str


def documents_read(session: SessionTurns) -> Iterator[Read]:
    """Yield the documents that each turn of a session read."""
    for turn in session.turns:
        for path in touched_files(session, turn.records).read:
            name = str(path).replace("\\", "/")
            if _DOCUMENT.search(name) and not _LOADED.search(name):
                at = turn.records[0].timestamp if turn.records else None
                yield Read(session.session_id, turn.id, at, name)


def documents(reads: Sequence[Read]) -> list[Lasting]:
    """Return one sentence on the documents that at least three sessions read, and a third of those
    that read any; nothing if there are none."""
    by_path: dict[str, list[Read]] = defaultdict(list)
    for read in reads:
        by_path[read.path].append(read)
    sessions = len({read.session_id for read in reads})
    least = max(_FEWEST_READERS, sessions * _SHARE_OF_SESSIONS)
    often_read: list[tuple[int, str]] = []
    for path, of_path in by_path.items():
        readers = len({read.session_id for read in of_path})
        if readers >= least:
            often_read.append((-readers, path))
    if not often_read:
        return []
    best = [path for _, path in sorted(often_read)[:_MOST_LISTED]]
    listed = ", ".join(f"`{path}`" for path in best)
    text = f"Documents that sessions of this project read before they work: {listed}."
    return [shown_by("documents", text, [read for path in best for read in by_path[path]])]
