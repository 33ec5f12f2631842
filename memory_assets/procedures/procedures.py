"""How work is done in a project: the commands that worked again and again, by what they are for."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from memory_assets.procedures.lasting import Lasting, shown_by
from memory_assets.procedures.purposes import script_of, task_of
from memory_assets.procedures.uses import Use
from memory_assets.word_lists import word_set

LONGEST = 300
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
"""Commands that anybody would try first: nobody needs to remember them."""


@dataclass(frozen=True, slots=True)
class Shown:
    """A command and the uses in which it worked."""

    command: str
    uses: tuple[Use, ...]

    @property
    def turns(self) -> int:
        """In how many turns it worked."""
        return len({use.turn_id for use in self.uses})

    @property
    def sessions(self) -> int:
        """In how many sessions it worked."""
        return len({use.session_id for use in self.uses})

    @property
    def rank(self) -> tuple[int, int, str]:
        """Sorts commands, those of most sessions and turns first."""
        return -self.sessions, -self.turns, self.command


def procedures(uses: Sequence[Use]) -> list[Lasting]:
    """Return the procedures of a project, one a purpose."""
    by_purpose: dict[str, list[Use]] = defaultdict(list)
    for use in uses:
        by_purpose[use.purpose].append(use)
    lasting = []
    for purpose, of_purpose in by_purpose.items():
        shown = sorted(filter(_tells, _commands(of_purpose)), key=lambda command: command.rank)
        best = shown[:_MOST_COMMANDS]
        if best:
            text = f"{_heading(purpose)}: {_listing(best)}."
            lasting.append(shown_by(purpose, text, _uses(best)))
    return lasting


def _commands(uses: Iterable[Use]) -> list[Shown]:
    """Return the commands that were repeated: first the same commands, then, of the rest, those
    with the same beginning, whose different ends are shown as "…"."""
    exact = _grouped(uses, lambda use: use.command if use.text else "")
    kept = [
        shown
        for shown in exact
        if _repeated(shown) and len(shown.command) <= LONGEST and not names_files(shown.uses[0])
    ]
    whole = {shown.command for shown in kept}
    rest = [use for shown in exact if shown.command not in whole for use in shown.uses]
    begun = _grouped(rest, lambda use: start if (start := beginning(use)) not in whole else "")
    kept += [
        Shown(shown.command + _GOES_ON, shown.uses)
        for shown in begun
        if _repeated(shown) and len(shown.command) <= LONGEST
    ]
    return kept


def _grouped(uses: Iterable[Use], key: Callable[[Use], str]) -> list[Shown]:
    groups: dict[str, list[Use]] = defaultdict(list)
    for use in uses:
        groups[key(use)].append(use)
    return [Shown(command, tuple(of)) for command, of in groups.items() if command]


def _repeated(shown: Shown) -> bool:
    """Whether a command worked in two turns, or twice in one; a script's in two turns, because
    many are written for one."""
    return shown.turns > 1 or (len(shown.uses) > 1 and not script_of(list(shown.uses[0].words)))


def names_files(use: Use) -> bool:
    """Whether a command names files or tests to work on, which are others the next time."""
    words = list(use.words)
    script = script_of(words)
    if use.purpose == "tests" and _CHOOSING & set(words):
        return True
    return any(_FILE.fullmatch(word) for word in words[1:] if word.removeprefix("./") != script)


def beginning(use: Use) -> str:
    """Return a command up to the word that names its task or script, "" if all of it is that."""
    words = list(use.words)
    given = [word for word in words[1:] if not word.startswith("-")]
    program = words[0].rsplit("/", 1)[-1]
    verb = given[0] if program == "git" and given else ""
    last = verb or script_of(words) or task_of(program, given)
    at = use.command.find(last, len(use.command) - len(use.text)) if last and use.text else -1
    start = use.command[: at + len(last)]
    return start if at >= 0 and use.command[len(start) : len(start) + 1] == " " else ""


def _tells(shown: Shown) -> bool:
    """Whether a command is not the one that anybody would try first."""
    command = shown.command.removesuffix(_GOES_ON)
    return not any(pattern.fullmatch(command) for pattern in _PLAIN)


def _heading(purpose: str) -> str:
    kind, _, name = purpose.partition(" ")
    if kind in ("script", "task"):
        return f"The {kind} {name} is run so in this project"
    return f"{purpose.capitalize()} in this project"


def _listing(shown: Iterable[Shown]) -> str:
    return ", ".join(f"`{group.command}`" for group in shown)


def _uses(shown: Iterable[Shown]) -> list[Use]:
    return [use for command in shown for use in command.uses]
