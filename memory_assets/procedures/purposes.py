"""The purpose of a command: tests, lint, a build, ...; "" if it only reads or is no work."""

from __future__ import annotations

import re

from memory_assets.session_analysis.shell import Segment
from memory_assets.word_lists import word_set

_RUNNERS = word_set(
    "npm pnpm yarn bun deno node make mise just task rake mix cargo go gradle gradlew mvn dotnet "
    "swift uv poetry hatch nx turbo invoke tox nox corepack"
)
"""Programs whose first words name a task."""
_CHECKED = (
    "lint|linter|clippy|eslint|golangci-lint|vet|biome|ruff|knip|oxlint|shellcheck|swiftlint|"
    "check|dup"
)
_TASKS = tuple(
    (purpose, re.compile(rf"(?:^|[\W_])(?:{words})(?:$|[\W_])"))
    for purpose, words in (
        ("tests", r"tests?|e2e|vitest|jest|pytest|playwright|unittest|ctest|mocha|phpunit|rspec"),
        ("type checks", r"typecheck|types|tsc|tsgo|mypy|pyright|basedpyright"),
        ("formatting", r"fmt|format|prettier|gofmt|gofumpt|goimports|black|oxfmt|rustfmt"),
        ("migrations", r"migrate|migrations?|alembic|prisma|seed|flyway"),
        ("code generation", r"generate|gen|codegen|proto|protoc|buf"),
        ("deployment", r"deploy|wrangler|fly|vercel|netlify|helm|terraform|pulumi"),
        ("release", r"publish|release|goreleaser|version"),
        ("checks", _CHECKED),
        ("build", r"build|compile|bundle|xcodebuild|webpack|rollup|esbuild|tsup|assemble\w*"),
        ("server", r"dev|start|serve|preview|storybook|uvicorn|runserver|gunicorn|streamlit"),
        ("installation", r"install|sync|setup|bootstrap|ci|restore|add"),
    )
)
_SCRIPT = re.compile(r"(?:\.{1,2}/|~/)?[\w.@/-]+\.(?:sh|py|ts|mts|mjs|js|cjs|rb|ps1|bash|pl)")
_FOREIGN = re.compile(r"node_modules|site-packages|^/|^~/|\.\./")
_INTERPRETERS = word_set("python python3 node bun deno bash sh zsh ruby tsx ts-node pwsh perl uv")
_OWN = word_set("test [ [[ memory")
"""Programs that do no work of a project: the shell's own tests, and this memory."""


def purpose_of(segment: Segment) -> str:
    """Return the purpose of a command, by its program and the words that name its task; `script
    PATH` for a script, `task NAME` for another task."""
    words = [str(word) for word in segment.words]
    arguments = [word for word in words[1:] if not word.startswith("-")]
    if segment.program in _OWN:
        return ""
    if script := script_of(words):
        return f"script {script}"
    task = task_of(segment.program, arguments)
    for purpose, pattern in _TASKS:
        if pattern.search(task):
            return purpose
    if segment.program in _RUNNERS and arguments[:1] == ["run"] and len(arguments) > 1:
        return f"task {arguments[1]}"
    return ""


def task_of(program: str, arguments: list[str]) -> str:
    """Return the word that names the task of a program; its own name unless it runs tasks."""
    if program not in _RUNNERS:
        return program
    task_words = (
        arguments[1:]
        if arguments[:1] in (["run"], ["exec"], ["x"], ["dlx"], ["pnpm"])
        else arguments
    )
    task_words = task_words[1:] if task_words[:1] in (["run"], ["exec"]) else task_words
    return " ".join(task_words[:1])


def script_of(words: list[str]) -> str:
    """Return the path of the script that a command runs; "" if it runs none."""
    arguments = [word for word in words[1:] if not word.startswith("-")]
    program = words[0].rsplit("/", 1)[-1]
    if program not in _INTERPRETERS:
        candidates = words[:1] if "/" in words[0] else []
    else:
        candidates = arguments[1:2] if arguments[:1] == ["run"] else arguments[:1]
    paths = (path for path in candidates if _SCRIPT.fullmatch(path) and not _FOREIGN.search(path))
    return next(paths, "").removeprefix("./")
