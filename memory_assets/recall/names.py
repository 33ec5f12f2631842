"""What a person calls a project or a session, resolved to the one in memory.

A project is named by its name, a path in it in any spelling, its repository, a folder to which
its transcripts were moved, or the end of any; a session by its
id, a beginning that no other session has, or the id of any of its rows. Every interface resolves
names here, so that each understands the same and refuses in the same words.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from memory_assets.errors import BadArgument, ConfigurationError, NotFound, UnknownName
from memory_assets.paths import on_this_machine, project_slug
from memory_assets.project_names import folded, short_name, spelled
from memory_assets.recall.rows import rows_of
from memory_assets.stores.agents.partitions import is_agent_memory, project_in
from memory_assets.stores.catalog.catalog import Catalog
from memory_assets.stores.runs.names import is_valid_key
from memory_assets.stores.stores import Stores

if TYPE_CHECKING:
    from memory_assets.stores.lake.lake import Lake

_LISTED = 20
_COMMIT = re.compile(r"[0-9a-f]{7,40}")
_SHORTEST = 8
_WORKTREES = ("/.claude/worktrees/", "/.worktrees/", "/.codex/worktrees/")
"""Where agents make working trees inside of a repository."""
_SHALLOWEST = 4
"""Parts of a path from which on it may be a project: `/home/ada` has three."""


def resolve_project(catalog: Catalog, text: str) -> str:
    """Return the one project that a person means; see `resolve_projects`.

    Raises:
        UnknownName: there is none.
        ConfigurationError: several are called so; lists them.
    """
    names = resolve_projects(catalog, text)
    if len(names) > 1:
        raise _ambiguous(catalog, text, names)
    return names[0]


def resolve_projects(catalog: Catalog, text: str, others: Iterable[str] = ()) -> list[str]:
    """Return the projects that a person means: by a name, a path in it (`.` is the current
    directory), or the end of its name or path, in any case. Several are meant only by the name that
    the directories of all of them have, as of clones of a repository. `others` are projects on disk
    that are not in memory yet.

    Raises:
        UnknownName: there is none.
        ConfigurationError: several end so, and are called otherwise; lists them.
    """
    existing = catalog.projects() | set(others)
    if text in existing:
        return [text]
    candidates = _candidate_projects(catalog, text.strip(), existing) if text.strip() else ()
    meanings: set[str] = next(filter(None, candidates), set())
    # What agents wrote about a project is named as the project is, and is not meant by it.
    meanings -= {
        name for name in meanings if is_agent_memory(name) and project_in(name) in meanings
    }
    if not meanings:
        if text.strip() == ".":
            raise UnknownName(
                "no session of this directory is in memory; `memory sessions` lists those there are"
            )
        roots = catalog.sources.project_roots()
        spoken_names = {short_name(name, roots.get(name, "")) for name in existing}
        raise UnknownName(f"no project {text!r} in memory; known are: {comma_list(spoken_names)}")
    if len(meanings) > 1:
        namesakes = _projects_with_directory_name(catalog, text.strip(), meanings)
        if not namesakes:
            raise _ambiguous(catalog, text, meanings)
        return sorted(namesakes)
    return list(meanings)


def _projects_with_directory_name(catalog: Catalog, text: str, candidates: set[str]) -> set[str]:
    """Return the projects whose directory has that name, or ends with those names."""
    places = (
        *_projects_by_root(catalog, candidates).items(),
        *_projects_by_directory(catalog, candidates).items(),
    )
    return {name for place, names in places if _ends_with(place, text) for name in names}


def _ambiguous(catalog: Catalog, text: str, names: Collection[str]) -> ConfigurationError:
    spoken = catalog.spoken_projects()
    known = comma_list([spoken.get(name, name) for name in names])
    return ConfigurationError(f"project {text!r} can mean {known}; give one of them")


def project_written_about(stores: Stores, text: str) -> str:
    """Return the project that a name or a path means to an agent that writes about it: one that is
    in memory, or, of a path, the one that it would be.

    Raises:
        BadArgument: it cannot be the name of a project.
        ConfigurationError: it can mean several.
    """
    try:
        return _require_project_name(resolve_project(stores.catalog, text))
    except UnknownName:
        return _require_project_name(_slug(text) if os.sep in text or _is_path(text) else text)


def project_from_anywhere(text: str) -> str:
    """Return a name or a path that means the same project from any directory, whatever will be in
    memory when it is looked up.

    Raises:
        BadArgument: it cannot be the name of a project.
    """
    _require_project_name(_slug(text) if os.sep in text else text)
    return str(Path(text).expanduser().absolute()) if _is_path(text) else text


def _is_path(text: str) -> bool:
    """Whether a text is a path, and not the end of a project's, such as `code/app`."""
    begun = text.startswith((".", "~", os.sep)) or "\\" in text
    return begun or (os.sep in text and os.path.lexists(text))


def _slug(path: str) -> str:
    return project_slug(os.path.realpath(on_this_machine(path)))


def _require_project_name(project: str) -> str:
    project = project_in(project) if is_agent_memory(project) else project
    if not is_valid_key(project) or ":" in project:
        raise BadArgument("project: give a project's name, or a path in it")
    return project


def projects_read_about(stores: Stores, text: str) -> list[str]:
    """Return the projects that a name or a path means to an agent that asks what is known: all
    of that name, or the one that would be written about.

    Raises:
        BadArgument, ConfigurationError: as `project_written_about`.
    """
    try:
        names = resolve_projects(stores.catalog, text)
    except UnknownName:
        return [project_written_about(stores, text)]
    return names if len(names) > 1 else [project_written_about(stores, text)]


def _candidate_projects(catalog: Catalog, text: str, projects: set[str]) -> Iterator[set[str]]:
    """Yield the projects that a text can mean, the likeliest meaning first."""
    roots = _projects_by_root(catalog, projects)
    directories = _projects_by_directory(catalog, projects)
    if "/" in text:  # a work tree is shown with its repository
        shown_names = {root: folded(short_name("", root)) for root in roots}
        yield {name for root in roots if shown_names[root] == folded(text) for name in roots[root]}
    if text.startswith(("~", ".")) or "/" in text or "\\" in text:
        path_text = text.rstrip("/\\")
        if spelled(path_text) in directories:
            yield directories[spelled(path_text)]
        # A project whose directories are all known only happens to have the slug of this path.
        yield (projects & {project_slug(path_text)}).difference(*directories.values())
        absolute = os.path.abspath(on_this_machine(text))  # noqa: PTH100 - keeps symbolic links
        for path in dict.fromkeys((absolute, os.path.realpath(absolute))):
            yield directories.get(spelled(path), set())
            yield projects & {project_slug(path)}
            if _is_path(text):
                yield _projects_holding(Path(path), roots, projects, directories)
    slug = project_slug(text).strip("-").lower()
    ending_so = {name for name in projects if slug and f"-{name.lower()}".endswith(f"-{slug}")}
    yield {name for name in ending_so if name.strip("-").lower() == slug}
    yield ending_so
    end = f"-{folded(text)}"
    yield {name for name in projects if folded(f"-{name}").endswith(end)}
    yield {name for root, names in roots.items() if _ends_with(root, text) for name in names}
    for folder, names in _projects_by_folder(catalog, projects).items():
        if slug and f"-{folder.lower()}".endswith(f"-{slug}"):
            yield names


def _projects_holding(
    path: Path,
    roots: Mapping[str, set[str]],
    known: set[str],
    directories: Mapping[str, set[str]],
) -> set[str]:
    """Return the projects of the nearest directory that a path is in. A home directory holds all
    of a user's projects, so it names none of them."""
    for directory in (path, *path.parents):
        if directory in (Path.home(), Path(directory.anchor)):
            break
        projects_here = directories.get(spelled(str(directory)), {project_slug(str(directory))})
        is_deep = len(directory.parts) >= _SHALLOWEST
        if names := roots.get(str(directory)) or (known & projects_here if is_deep else set()):
            return names & projects_here or names
    return set()


def _projects_by_root(catalog: Catalog, projects: set[str]) -> dict[str, set[str]]:
    """Return the projects of each root, which is a Git repository's where that was known."""
    roots: dict[str, set[str]] = {}
    for project, root in catalog.rows(
        "SELECT DISTINCT project, json_extract(facts, '$.project_root') FROM sources"
    ):
        if root and project in projects:
            roots.setdefault(str(on_this_machine(root)), set()).add(str(project))
    return roots


def _projects_by_directory(catalog: Catalog, projects: set[str]) -> dict[str, set[str]]:
    """Return the projects of each directory, which is in its one spelling."""
    by_directory: dict[str, set[str]] = {}
    for directory, project in catalog.rows(
        "SELECT DISTINCT directory, project FROM sources WHERE directory != ''"
    ):
        if project in projects:
            by_directory.setdefault(str(directory), set()).add(str(project))
    return by_directory


def _projects_by_folder(catalog: Catalog, projects: set[str]) -> dict[str, set[str]]:
    """Return the projects of the folders in which sessions of agents lie that have one for each
    project, of those that are called otherwise: it was moved, or a session went on in a working
    tree."""
    by_folder: dict[str, set[str]] = {}
    for project, path, parts in catalog.rows(
        "SELECT project, path, facts ->> '$.parts' FROM sources"
        " WHERE agent IN ('claude-code', 'pi') AND agent_id = ''"
    ):
        for load in (path, *(json.loads(parts) if parts else ())):
            lies_in = os.path.basename(os.path.dirname(load))  # noqa: PTH119, PTH120 - of many
            folder = lies_in.strip("-")
            if folder and folder != str(project).strip("-") and project in projects:
                by_folder.setdefault(folder, set()).add(str(project))
    return by_folder


def with_worktrees(catalog: Catalog, projects: Iterable[str]) -> list[str]:
    """Return projects, each once, with those of the working trees of the repositories that they
    are."""
    trees = worktrees_of(catalog, projects).values()
    return list(dict.fromkeys(name for names in trees for name in names))


def worktrees_of(catalog: Catalog, projects: Iterable[str]) -> dict[str, list[str]]:
    """Return for each project itself, and the projects of its repository's working trees if it is
    the repository's."""
    existing = catalog.projects()
    directories = _projects_by_directory(catalog, existing)
    roots = _projects_by_root(catalog, existing)
    trees: dict[str, list[str]] = {}
    for project in projects:
        own_directories = {own_path for own_path, names in directories.items() if project in names}
        inside = tuple(f"{own_path}{place}" for own_path in own_directories for place in _WORKTREES)
        worktrees = {
            name
            for directory, names in directories.items()
            if inside and directory.startswith(inside)
            for name in names
        }
        for root, names in roots.items():
            if project in names and spelled(root) in own_directories:
                worktrees |= names
        trees[project] = [project, *sorted(worktrees - {project})]
    return trees


def _ends_with(place: str, text: str) -> bool:
    """Whether the last names of a directory are these."""
    return folded(f"/{place}".replace("\\", "/").rstrip("/")).endswith(f"/{folded(text)}")


def listed_projects(projects: Sequence[str] | None) -> str | None:
    """Return the projects of an answer as one text, None for all there are."""
    return ", ".join(projects) if projects else None


def comma_list(names: Collection[str], most: int = _LISTED) -> str:
    """Return names as a list, and how many more there are."""
    more = f" and {len(names) - most} more" if len(names) > most else ""
    return ", ".join(sorted(names)[:most]) + more


@dataclass(frozen=True)
class ResolvedId:
    """Something in memory that has an id: its project, its full id (of a session, its bare id),
    and the parts of the id."""

    project: str
    id: str
    parts: MemoryId

    @property
    def has_row(self) -> bool:
        """Whether it is an observation, a commit or a link, which have a row each."""
        return self.parts.kind in ("observation", "commit", "link")

    @property
    def place(self) -> str:
        """The full id of the session or turn that it is, or is a row of."""
        turn = "" if self.parts.turn_index is None else f"::turn::{self.parts.turn_index}"
        return f"session::{self.parts.session_id}{turn}"


def resolve_id(stores: Stores, text: str) -> ResolvedId:
    """Return what an id names, its session written out: the id may hold, or be, the beginning of a
    session's id, or be a commit.

    Raises:
        ConfigurationError: it looks like no id, or several sessions begin so; lists them.
        NotFound: its session is not in memory.
    """
    text = text.strip()
    parts = parse_id(text)
    try:
        project, session_id = session_with_prefix(stores, parts.session_id)
    except NotFound:
        if parts.kind != "session" or not (rows := rows_of_commit(stores.lake, text)):
            raise
        return ResolvedId(str(rows[0]["project"]), str(rows[0]["id"]), parse_id(str(rows[0]["id"])))
    full = session_id if parts.kind == "session" else text.replace(parts.session_id, session_id, 1)
    if "::" not in text and parts.turn_index is not None:  # SESSION:TURN
        full = f"session::{session_id}::turn::{parts.turn_index}"
    if parts.kind in ("commit", "link"):
        full = _commit_with_prefix(stores.lake, project, session_id, full)
    return ResolvedId(project, full, replace(parts, session_id=session_id))


def _commit_with_prefix(lake: Lake, project: str, session_id: str, text: str) -> str:
    """Return the id of the only commit or link of a session that begins so, or the text itself."""
    from memory_assets.stores.lake.schemas import COMMIT_LINKS, SESSION_COMMITS

    table = COMMIT_LINKS if text.startswith("link") else SESSION_COMMITS
    rows = rows_of(lake, table, project, session_id, ["id"])
    matching = {str(row["id"]) for row in rows if row["id"].startswith(text)}
    return matching.pop() if len(matching) == 1 else text


def row_of_id(lake: Lake, named: ResolvedId) -> dict[str, Any] | None:
    """Return the row of the observation, commit or link that an id names, None if it is not
    there."""
    from memory_assets.stores.lake.schemas import COMMIT_LINKS, OBSERVATIONS, SESSION_COMMITS

    tables = {"observation": OBSERVATIONS, "commit": SESSION_COMMITS, "link": COMMIT_LINKS}
    rows = rows_of(lake, tables[named.parts.kind], named.project, named.parts.session_id)
    return next((row for row in rows if row["id"] == named.id), None)


def short_id(stores: Stores, session_id: str) -> str:
    """Return the shortest beginning of a session's id, of eight characters or more, that no other
    session has."""
    neighbours = stores.catalog.products.sessions_beside(session_id)
    length = _SHORTEST
    while length < len(session_id) and any(
        other.startswith(session_id[:length]) for other in neighbours
    ):
        length += 1
    return session_id[:length]


def shortest_id(stores: Stores, any_id: str, session_id: str) -> str:
    """Return the shortest id that every interface accepts for a row of a session: of a turn or its
    passage `SESSION:TURN`, of another row its id, with the beginning of the session's id."""
    if not any_id.startswith(OF_SESSIONS) or ":" in session_id:
        return any_id
    parts = parse_id(any_id)
    short = short_id(stores, session_id)
    if parts.kind == "turn":
        return f"{short}:{parts.turn_index}"
    return any_id.replace(session_id, short, 1)


def rows_of_commit(lake: Lake, text: str, project: str | None = None) -> list[dict[str, Any]]:
    """Return the rows of a commit, by seven or more digits of its hash, the surest first."""
    from memory_assets.stores.lake.schemas import COMMIT_LINKS, SESSION_COMMITS

    sha = text.lower()
    if not _COMMIT.fullmatch(sha):
        return []
    rows: list[dict[str, Any]] = [
        row
        for table in (SESSION_COMMITS, COMMIT_LINKS)
        for name in ([project] if project else lake.projects(table))
        for row in lake.read_partition(table, name).to_pylist()
        if row["commit"].startswith(sha)
    ]
    # A human's word counts in full.
    return sorted(rows, key=lambda row: -float(row.get("score") or 1.0))


def resolve_session(stores: Stores, text: str) -> tuple[str, str]:
    """Return the project and id of a session, by whatever `resolve_id` takes.

    Raises:
        ConfigurationError, NotFound: see `resolve_id`.
    """
    named = resolve_id(stores, text)
    return named.project, named.parts.session_id


def session_with_prefix(stores: Stores, text: str) -> tuple[str, str]:
    """Return the project and id of the session of this id, or of the only one that begins so.

    Raises:
        ConfigurationError: several sessions begin so; lists them.
        NotFound: none does.
    """
    products = stores.catalog.products
    if (project := products.project_of(text)) is not None:
        return project, text
    matches = products.sessions_beginning(text)
    if len(matches) > 1:
        begun = f"{len(matches)} sessions begin with {text!r}"
        raise ConfigurationError(f"{begun}: {comma_list(matches, 5)}; give more of the id")
    for session_id in matches:
        return products.project_of(session_id) or matches[session_id], session_id
    raise NotFound(f"no session {text} in memory; `memory sessions` lists them")


_FORMS = (
    re.compile(r"(?P<head>session)::(?P<session>.+)::turn::(?P<turn>\d+)(?:::part::\d+)?"),
    re.compile(r"(?P<head>session)::(?P<session>(?:(?!::).)+)"),
    re.compile(r"(?P<head>prompt)::(?P<session>.+?)::(?P<turn>\d+)(?:::\d+)?"),
    re.compile(r"(?P<head>summary)::(?P<session>.+)"),
    re.compile(r"(?P<head>observation|commit|link)::(?P<session>.+?)::.+"),
    re.compile(r"(?P<session>[^\s:]+):(?P<turn>\d+)(?P<head>)"),
)
_PASTED = re.compile(r"[a-z]+::\S+|(?=\S*\d)(?=\S*[a-f])[0-9a-f]{8}[0-9a-f-]*(?::\d+)?")
_SESSION_OR_TURN = re.compile(r"session::([^:\s]+)(?:::turn::(\d+))?")
OF_SESSIONS = ("session::", "prompt::", "summary::", "observation::", "commit::", "link::")
"""Beginnings of the ids of a session's rows."""


def looks_like_id(text: str) -> bool:
    """Return True for a text that looks like an id of docs/contracts.md, or like the beginning of a
    session's id or of a commit's."""
    return _PASTED.fullmatch(text) is not None


@dataclass(frozen=True)
class MemoryId:
    """A parsed id: `kind` is turn, prompt, summary, observation, commit, link (a commit linked by
    hand) or session; `turn_index` is set for turns and prompts."""

    session_id: str
    turn_index: int | None
    kind: str


def parse_id(text: str) -> MemoryId:
    """Return the parsed id of a turn (also `SESSION:TURN`), passage, prompt, summary, observation,
    commit or link, or of a session, with or without `session::`.

    Raises:
        ConfigurationError: it looks like none of these.
    """
    for form in _FORMS:
        if match := form.fullmatch(text):
            parts = match.groupdict()
            turn = parts.get("turn")
            kind = "turn" if parts["head"] in ("session", "") and turn else parts["head"]
            return MemoryId(parts["session"], None if turn is None else int(turn), kind)
    if "::" in text or not text:
        raise ConfigurationError(
            f"{text!r} is not an id of a session or of what is in one; such ids look like "
            "session::ID::turn::N, prompt::ID::N, summary::ID, observation::ID::N, "
            "commit::ID::SHA, or a session's own ID"
        )
    return MemoryId(text, None, "session")


def short_form(any_id: str) -> str:
    """Return the id of a session without what it begins with, of a turn as `SESSION:TURN`: both are
    taken wherever an id is. Other ids stay, and those of sessions with a colon."""
    match = _SESSION_OR_TURN.fullmatch(any_id)
    return ":".join(filter(None, match.groups())) if match else any_id
