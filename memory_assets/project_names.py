"""Projects are directories: one spelling for each directory, and one name for each project.

A name is the slug that Claude Code gives to its folders, with the letters of a directory that has
others than ASCII. It is taken once, and stays whatever comes later.
"""

from __future__ import annotations

import os
import posixpath
import re
import shlex
import unicodedata
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from memory_assets.path_spelling import as_compared, is_of_windows
from memory_assets.paths import project_slug

_HOME = re.compile(r"/(?:home|Users)/([^/]+)(?=/|$)|/(root)(?=/|$)")
_HASH = re.compile(r"[0-9a-f]{32}|[0-9a-f]{64}")
_NOT_IN_WORDS = re.compile(r"[\W_]")
_COMMANDS_PROJECT = re.compile(r"(?<=--project=)[^\s`]+")
_WORK_TREE = re.compile(r"([^/]+)(?:/\.claude)?/\.?worktrees/([^/]+)$")


def spelled(directory: str) -> str:
    """Return a directory in the one spelling in which directories are compared; "" for none.

    Drives and slashes of Windows, WSL's names of its drives, accents, links that are there, and
    the place of a user's home count for nothing; Windows has no upper and lower case.
    """
    path = unicodedata.normalize("NFC", directory.strip())
    if not path:
        return ""
    if is_of_windows(path) or as_compared(path) != path:
        return posixpath.normpath(as_compared(path))
    if path.startswith("/") and os.path.isdir(path):  # noqa: PTH112 - False where it is not allowed
        path = unicodedata.normalize("NFC", os.path.realpath(path))
    path = posixpath.normpath(path)
    home = str(Path.home())
    if path == home or path.startswith(f"{home}{os.sep}"):
        return f"~{posixpath.basename(home)}{path[len(home) :]}"
    if of_user := _HOME.match(path):
        return f"~{of_user[1] or of_user[2]}{path[of_user.end() :]}"
    return path


def short_name(project: str, directory: str) -> str:
    """Return what people are shown for a project: the last name of its directory, or of the project
    where none is known; of a work tree in a repository, the repository's too."""
    place = directory.replace("\\", "/").rstrip("/")
    if work_tree := _WORK_TREE.search(place):
        return "/".join(work_tree.groups())
    return place.rpartition("/")[2] or project.rpartition("-")[2]


def spoken_names(directories: Mapping[str, str]) -> dict[str, str]:
    """Return by project what readers are told, and what means it when they say it: the last name
    of its directory, or as many of its names as tell it from all others; of one without a directory
    ("") or beside another in two homes, the project itself."""
    ends = {project: _ends(project, directory) for project, directory in directories.items()}
    times = Counter(folded(end) for of_one in ends.values() for end in of_one)
    return {
        project: next(
            (end for end in of_one if times[folded(end)] == 1 and end not in directories), project
        )
        for project, of_one in ends.items()
    }


def with_spoken_projects(line: str, spoken: Mapping[str, str]) -> str:
    """Return a line of a report or an error in which the commands that it names, and the project
    and colon that it may begin with, have the project by the name that readers are told."""
    first, colon, rest = line.partition(": ")
    named = f"{spoken.get(first, first)}{colon}{rest}"
    return _COMMANDS_PROJECT.sub(lambda key: shlex.quote(spoken.get(key[0], key[0])), named)


def _ends(project: str, directory: str) -> list[str]:
    """Return what a directory may be called, the shortest first; a home alone is everybody's."""
    names = directory.replace("\\", "/").strip("/").split("/")
    if names in ([""], ["~"]):
        return []
    whole = ("/".join(names[-count:]) for count in range(1, len(names) + 1))
    return list(dict.fromkeys([short_name(project, directory), *whole]))


def folded(name: str) -> str:
    """Return what two names that look alike have in common."""
    return unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", name).casefold())


def stands_in(project: str) -> bool:
    """Return whether a project is named after a hash, because nobody knew its directory when its
    first session was found."""
    return _HASH.fullmatch(project) is not None


def readable_name(directory: str, slug: str) -> str:
    """Return the name that a project would like to have: its slug, in which letters that are not
    ASCII are kept."""
    plain = unicodedata.normalize("NFC", directory)
    return slug if plain.isascii() else _NOT_IN_WORDS.sub("-", plain)


@dataclass
class ProjectNames:
    """The names of projects, and their directories in one spelling.

    `folders` are folders of transcripts by what names look like, with the project of sessions that
    were moved there.
    """

    names: dict[str, str] = field(default_factory=dict)
    """By what they look like."""
    directories: dict[str, str] = field(default_factory=dict)
    """Names by directory."""
    folders: dict[str, str] = field(default_factory=dict)
    _with_directory: set[str] = field(default_factory=set)

    @classmethod
    def of_record(cls, known: Iterable[tuple[str, str]]) -> ProjectNames:
        """Return the names of projects on record, each with one of its directories ("": none)."""
        names = cls()
        for name, directory in sorted(known):
            names.note(name, directory)
        return names

    def name(self, directory: str, slug: str, cwd: str = "") -> str:
        """Return the name of the project of a directory (`cwd` as it was written), from now on; of
        a folder alone where no directory is known."""
        if known := self.directories.get(directory) if directory else None:
            return known
        wanted = readable_name(cwd or directory, slug)
        if moved := self.folders.get(folded(slug)):
            wanted = moved
        elif directory and folded(wanted) in self._with_directory:
            wanted = next(
                name
                for number in range(2, 10_000)
                if folded(name := f"{wanted}-{number}") not in self.names
            )
        wanted = self.names.get(folded(wanted), wanted)
        self.note(wanted, directory)
        return wanted

    def note_folder(self, folder: str, project: str) -> None:
        """Note that sessions of a project are in a folder which is called otherwise."""
        if folded(folder) not in self.names:
            self.folders.setdefault(folded(folder), project)

    def note(self, name: str, directory: str) -> None:
        """Note a project's name, and a directory of it, unless that has a project already."""
        self.names.setdefault(folded(name), name)
        if directory:
            self.directories.setdefault(directory, self.names[folded(name)])
            self._with_directory.add(folded(name))


def directory_of_folder(folder: str, directories: Iterable[str]) -> str:
    """Return the directory after which Claude Code called a folder, among these and those that
    they are in; else the first of them, if it is not another one of which the folder is a part (a
    working tree inside of a repository, in which a session goes on). "" if there is none."""
    known = list(dict.fromkeys(directories))
    if not known:
        return ""
    for directory in known:
        path = directory
        while path:
            if folded(project_slug(path)) == folded(folder):
                return path
            path = re.sub(r"[/\\]*[^/\\]*\Z", "", path)
    inside = folded(folder).startswith(f"{folded(project_slug(known[0]))}-")
    return "" if inside else known[0]
