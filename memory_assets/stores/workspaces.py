"""The workspaces on record: directories whose documents and code are memory, too.

Each has a name, which its ids begin with, and is one partition. They are noted in
`workspaces.json` in the data directory: the lake has redacted paths only.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from hashlib import blake2b
from pathlib import Path

from memory_assets.errors import ConfigurationError, NotFound, StoreError, UnknownName
from memory_assets.stores.files.shared import locked, replace_text

AGENT = "workspace"
"""The value of the column `agent` in rows of workspaces, which no agent wrote."""
_PREFIX = "workspace:"
_FILE_NAME = "workspaces.json"
_HEADS = ("session", "prompt", "summary", "observation", "commit", "link")
"""Ids of other rows begin with these."""
_NOT_IN_A_NAME = re.compile(r"[^\w.-]+")


def is_workspace(partition: str) -> bool:
    """Whether a partition key is that of a workspace, not of a project of transcripts."""
    return partition.startswith(_PREFIX)


@dataclass(frozen=True)
class Workspace:
    """A directory whose files are indexed, and the name that the ids of its rows begin with."""

    name: str
    root: Path

    @property
    def partition(self) -> str:
        """The partition key."""
        return f"{_PREFIX}{self.name}"


class Workspaces:
    """The workspaces of one data directory."""

    def __init__(self, data_dir: Path) -> None:
        self._path = data_dir / _FILE_NAME

    def all(self) -> list[Workspace]:
        """Return the workspaces on record, by name.

        Raises:
            StoreError: their file is damaged.
        """
        try:
            known = json.loads(self._path.read_text("utf-8"))
            return [Workspace(name, Path(root)) for name, root in sorted(known.items())]
        except FileNotFoundError:
            return []
        except (OSError, ValueError, AttributeError, TypeError, RecursionError):
            raise StoreError(
                f"{self._path} cannot be read. Move it away and run `memory index ROOT` for each "
                "workspace: nothing is embedded again."
            ) from None

    def of_partition(self, partition: str) -> Workspace:
        """Return the workspace of a partition.

        Raises:
            NotFound: none is on record.
        """
        for workspace in self.all():
            if workspace.partition == partition:
                return workspace
        raise NotFound(
            f"no workspace {partition.removeprefix(_PREFIX)} on record; run `memory index ROOT`"
        )

    def named(self, text: str) -> Workspace:
        """Return the workspace of this name, or the innermost one that contains this path.

        Raises:
            UnknownName: there is none; lists those on record.
        """
        known = {workspace.name: workspace for workspace in self.all()}
        if text in known:
            return known[text]
        try:
            return self.of_file(Path(text).expanduser().resolve())
        except NotFound:
            names = ", ".join(known) or "none, run `memory index ROOT`"
            raise UnknownName(f"no workspace {text!r} on record; there are: {names}") from None

    def of_root(self, root: Path) -> Workspace:
        """Return the workspace of a directory, whether noted already or not. A second directory of
        one name gets a name with a hash of its path.

        Raises:
            ConfigurationError: it is no directory.
        """
        root = root.expanduser().resolve()
        if not root.is_dir():
            what = "is a file" if root.exists() else "does not exist"
            raise ConfigurationError(f"{root} {what}; give the directory of a workspace")
        known = self.all()
        for workspace in known:
            if workspace.root == root:
                return workspace
        return Workspace(_unique_name(root, [entry.name for entry in known]), root)

    def of_file(self, path: Path) -> Workspace:
        """Return the innermost workspace that a file is in, or was in.

        Raises:
            NotFound: it is in none.
        """
        containing = [workspace for workspace in self.all() if path.is_relative_to(workspace.root)]
        if not containing:
            raise NotFound(f"{path} is in no workspace on record; run `memory index ROOT`")
        return max(containing, key=lambda workspace: len(workspace.root.parts))

    def add(self, root: Path) -> Workspace:
        """Note a directory as a workspace, and return it.

        Raises:
            ConfigurationError: it is no directory.
            StoreBusy, StoreError: the file cannot be written.
        """
        with locked(self._path.with_suffix(".lock"), 30.0, f"{self._path} is being written"):
            workspace, known = self.of_root(root), self.all()
            if workspace not in known:
                self._write([*known, workspace])
        return workspace

    def remove(self, name: str) -> None:
        """Forget that a directory is a workspace."""
        with locked(self._path.with_suffix(".lock"), 30.0, f"{self._path} is being written"):
            self._write([workspace for workspace in self.all() if workspace.name != name])

    def _write(self, workspaces: Sequence[Workspace]) -> None:
        roots = {workspace.name: str(workspace.root) for workspace in workspaces}
        replace_text(self._path, json.dumps(roots, indent=1, sort_keys=True))


def _unique_name(root: Path, taken: Sequence[str]) -> str:
    name = _NOT_IN_A_NAME.sub("-", root.name).strip("-.") or "workspace"
    if name not in (*taken, *_HEADS):
        return name
    return f"{name}-{blake2b(str(root).encode(), digest_size=3).hexdigest()}"
