"""What is never read: directories, projects and agents that MEMORY_EXCLUDE, or a forgetting with
`--exclude`, names."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path
from typing import TYPE_CHECKING

from memory_assets.errors import ConfigurationError
from memory_assets.paths import on_this_machine
from memory_assets.project_names import folded, spelled
from memory_assets.settings import Settings
from memory_assets.stores.files.shared import replace_text

if TYPE_CHECKING:
    from memory_assets.transcripts import Source

FILE_NAME = "excluded.txt"
"""Where in the data directory forgettings note what they exclude: a pattern a line."""
_SPECIAL = re.compile(r"([*?[])")


@dataclass(frozen=True)
class Exclusions:
    """Patterns (`*`, `?`, `[...]`) of agents, of projects' names and folders, and of directories,
    which stand for all that is in them."""

    patterns: tuple[str, ...] = ()

    @classmethod
    def of(cls, settings: Settings) -> Exclusions:
        """Return those of the settings and of the data directory.

        Raises:
            ConfigurationError: what the data directory excludes cannot be read; until it can,
                nothing may be ingested.
        """
        path = settings.data_dir / FILE_NAME
        try:
            noted = path.read_text("utf-8").splitlines()
        except FileNotFoundError:
            noted = []
        except (PermissionError, IsADirectoryError, UnicodeDecodeError) as error:
            raise ConfigurationError(
                f"cannot read {path}, which names what is never ingested"
                f" ({getattr(error, 'strerror', None) or 'it is not UTF-8'});"
                " make it readable, or correct it, and try again"
            ) from error
        except OSError:  # a limit of the machine: read nothing, and lose nothing, until it passes
            noted = ["*"]
        return cls(tuple(filter(None, map(_normalize, (*settings.exclude, *noted)))))

    def cover(self, agent: str, project: str, directory: str, path: str) -> bool:
        """Return whether a transcript is of what they exclude: by its agent, its project, the
        directory of its records in one spelling, or the folder of its file."""
        if not self.patterns:
            return False
        folder = os.path.basename(os.path.dirname(path))  # noqa: PTH119, PTH120 - of every file
        values = [folded(name) for name in (agent, project, folder, directory) if name]
        return any(
            fnmatchcase(value, pattern) or fnmatchcase(value, f"{pattern}/*")
            for pattern in self.patterns
            for value in values
        )

    def cover_source(self, source: Source) -> bool:
        """Return whether a transcript on disk is of what they exclude."""
        return self.cover(source.agent, source.project, source.directory, str(source.path))


NOTHING_EXCLUDED = Exclusions()


def exclude(data_dir: Path, names: Iterable[str]) -> list[str]:
    """Add these projects and directories to the exclusions; return the lines that were added."""
    lines = [_SPECIAL.sub(r"[\1]", name) for name in names]
    add_lines(data_dir, lines)
    return lines


def add_lines(data_dir: Path, lines: Iterable[str]) -> None:
    """Add lines to what the data directory excludes."""
    path = data_dir / FILE_NAME
    before = path.read_text("utf-8").splitlines() if path.exists() else []
    replace_text(path, "".join(f"{line}\n" for line in dict.fromkeys([*before, *lines])))


def _normalize(pattern: str) -> str:
    pattern = pattern.strip()
    is_path = pattern.startswith("~") or "/" in pattern or "\\" in pattern
    return folded(spelled(str(on_this_machine(pattern))) if is_path else pattern)
