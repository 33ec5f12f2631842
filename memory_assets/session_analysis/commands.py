"""The commands worth listing, the most telling first: tests, commits, builds, deploys."""

from __future__ import annotations

import re

from memory_assets.redacted_text import RedactedText
from memory_assets.session_analysis.phrases import names, shorten
from memory_assets.session_analysis.session import SessionTurns
from memory_assets.session_analysis.shell import SEARCHERS, VIEWERS, Segment, meaningful

MOST_COMMANDS = 20
_COMMAND_LIMIT = 140
_HEREDOC = re.compile(r"(?:\s+-{1,2}[\w-]+[ =]?)?\s*[\"']?(?:\$\(cat\s*|-\s+)?<<.*$")
_REDIRECTED = re.compile(r"(?:\s*\d?>(?:&\d|\s?/dev/null))+$")

_TESTERS = names(
    "pytest tox nox jest vitest mocha playwright cypress phpunit rspec ctest unittest behave"
)
_CHECKERS = names(
    "mypy ruff eslint tsc biome prettier black flake8 pylint pyright golangci-lint gofmt clippy "
    "shellcheck cmake gcc g++ clang rustc javac webpack vite rollup esbuild xcodebuild"
)
_OPERATORS = names(
    "docker docker-compose podman kubectl helm terraform tofu ansible alembic flyway psql mysql "
    "sqlite3 redis-cli aws gcloud az fly vercel wrangler netlify heroku systemctl ssh scp rsync "
    "pulumi prisma"
)
_WITH_VERBS = names(
    "npm pnpm yarn bun go cargo make mvn gradle gradlew dotnet mise just task swift mix rake "
    "python python3 node deno uv poetry pip pip3 hatch"
)
_LOOKING = (
    VIEWERS
    | SEARCHERS
    | names(
        "ls find tree which type stat file du df ps env id uname whoami diff cmp jq awk sort uniq "
        "wc xargs test [ [[ man apply_patch cut tr basename dirname readlink realpath hexdump xxd "
        "md5sum sha256sum strings kill pkill lsof cp mv rm chmod ln for rmdir tee history return "
        "break continue case esac elif local function exit read let"
    )
)
LOOKING_GIT = names(
    "status log diff show branch blame ls-files rev-parse remote config add stash fetch ls-tree "
    "cat-file describe reflog rev-list for-each-ref shortlog grep merge-base -C"
)


def commands(session: SessionTurns) -> tuple[RedactedText, ...]:
    """Return distinct commands by how much they tell, at most `MOST_COMMANDS`."""
    ranked: dict[RedactedText, tuple[int, int]] = {}
    for place, record in enumerate(session.records):
        if record.kind != "tool_use" or not record.command:
            continue
        for segment in meaningful(record.command):
            rank = _rank(segment)
            if rank is not None:
                text = shown(segment)
                ranked.setdefault(text, (rank, place))
    order = sorted(ranked, key=lambda text: (ranked[text], text))
    return tuple(order[:MOST_COMMANDS])


def shown(segment: Segment) -> RedactedText:
    """Return the first line, without the start of a here-document and without redirections."""
    line = segment.text.lines()[0].sub(_HEREDOC, "").sub(_REDIRECTED, "")
    return shorten(line.squeezed(), _COMMAND_LIMIT)


def _rank(segment: Segment) -> int | None:
    """0 tests, 1 commits and the like, 2 builds and checks, 3 operations, 4 other programs."""
    program = segment.program
    verb = segment.words[1] if len(segment.words) > 1 else ""
    if not program or program in _LOOKING or not (program[0].isalnum() or program[0] in "._"):
        return None
    if program in _TESTERS or (program in _WITH_VERBS and _names_a_test(segment)):
        return 0
    if program == "git":
        return None if verb in LOOKING_GIT or verb.startswith("-") else 1
    if program == "gh":
        return 1 if "create" in segment.words or "merge" in segment.words else 4
    if program in _CHECKERS:
        return 2
    if program in _WITH_VERBS:
        return 5 if verb in ("-c", "-e", "-", "") or "install" in segment.words[1:3] else 2
    return 3 if program in _OPERATORS else 4


def _names_a_test(segment: Segment) -> bool:
    return any("test" in word.lower() for word in segment.words[1:3]) or (
        segment.program.startswith("python") and "unittest" in segment.words
    )
