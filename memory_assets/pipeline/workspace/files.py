"""The files of a workspace that are documents, walked once for all that is done with them."""

from __future__ import annotations

from collections.abc import Container, Iterator
from contextlib import contextmanager

from memory_assets.documents.walk import IGNORE_FILES, FoundFile, Walk, found_at, walk
from memory_assets.errors import ConfigurationError
from memory_assets.pipeline.ownership.removed_records import tombstones
from memory_assets.pipeline.stage.components import Components
from memory_assets.pipeline.workspace.state import STAGE, held_back, known_values
from memory_assets.stores.workspaces import Workspace, Workspaces

_MOST_LOOKS = 50
"""Changed paths that are looked at one by one; more cost more than a walk."""


def files_of(components: Components, workspace: Workspace, most: int | None = None) -> Walk:
    """Return the documents of a workspace on disk, or those of the walk that `components` keeps.
    One whose path holds a secret is only counted: paths stand in the catalogue, in ids and in the
    run history. `most`: the walk ends at so many files.

    Raises:
        ConfigurationError: its directory is gone or cannot be read; what is on record stays.
    """
    if (kept := components.walks.get(workspace.root)) is not None:
        return kept
    others = [
        other.root
        for other in Workspaces(components.data_dir).all()
        if other.root != workspace.root
    ]
    others.append(components.data_dir.resolve())  # what a run writes is no reason for another one
    try:
        listing = walk(workspace.root, components.redactor.is_sensitive, others, most)
    except OSError as error:
        raise ConfigurationError(
            f"{workspace.root} cannot be read ({type(error).__name__}); what is on record of "
            f"workspace {workspace.name} stays. `memory forget --workspace {workspace.name}` "
            "removes it."
        ) from None
    left_out = _LeftOut(components, workspace)
    for path in list(listing.files):
        if reason := left_out.reason(path):
            del listing.files[path]
            listing.skipped[reason] += 1
    return listing


@contextmanager
def one_walk(components: Components, workspace: Workspace) -> Iterator[None]:
    """Walk a workspace once for all that is done with it within the block.

    Raises:
        ConfigurationError: its directory is gone or cannot be read.
    """
    components.walks[workspace.root] = files_of(components, workspace)
    try:
        yield
    finally:
        components.walks.pop(workspace.root, None)


def walk_again(components: Components, workspace: Workspace) -> None:
    """Walk a workspace, and keep the walk.

    Raises:
        ConfigurationError: its directory is gone or cannot be read.
    """
    components.walks.pop(workspace.root, None)
    components.walks[workspace.root] = files_of(components, workspace)


@contextmanager
def one_file(components: Components, workspace: Workspace, path: str) -> Iterator[None]:
    """Take the files to be as they are on record within the block, but for one, at which is
    looked.

    Raises:
        ConfigurationError: what may be ignored changed, and the directory cannot be read.
    """
    listing = Walk()
    for name, product in components.catalog.products.of_project(STAGE, workspace.partition).items():
        facts = product.facts
        listing.files[name] = FoundFile(name, facts["size"], facts["mtime_ns"])
    for name in held_back(components, workspace.partition):
        if file := found_at(workspace.root, name, components.redactor.is_sensitive):
            listing.files[name] = file
    components.walks[workspace.root] = listing
    try:
        look_at(components, workspace, path)
        yield
    finally:
        components.walks.pop(workspace.root, None)


def look_at(components: Components, workspace: Workspace, *paths: str) -> bool:
    """Look at some paths again, and correct the walk that is kept; return whether anything differs.
    Many paths, as after a switch of branch, are one walk.

    Raises:
        ConfigurationError: the workspace's directory is gone or cannot be read.
    """
    ours = components.data_dir.resolve()
    changed = [path for path in paths if not (workspace.root / path).is_relative_to(ours)]
    if any(path.rpartition("/")[2] in IGNORE_FILES for path in changed):
        walk_again(components, workspace)
        return True
    files = files_of(components, workspace).files
    if len(changed) > _MOST_LOOKS:
        walk_again(components, workspace)
        return files_of(components, workspace).files != files
    left_out = _LeftOut(components, workspace)
    differing = [path for path in changed if _differs(components, workspace, path, files, left_out)]
    return bool(differing)


def _differs(
    components: Components,
    workspace: Workspace,
    path: str,
    files: dict[str, FoundFile],
    left_out: _LeftOut,
) -> bool:
    """Correct what is known of one path; return whether it was not so."""
    file = found_at(workspace.root, path, components.redactor.is_sensitive)
    if file is not None:
        if file == files.get(path) or left_out.reason(path):
            return False
        files[path] = file
        return True
    if (workspace.root / path).is_dir():  # its files have events of their own
        return False
    gone = [path] if path in files else [name for name in files if name.startswith(f"{path}/")]
    for name in gone:
        del files[name]
    return bool(gone)


class _LeftOut:
    """Says why a document must not be taken in, by its path."""

    def __init__(self, components: Components, workspace: Workspace) -> None:
        self._partition, self._redact = workspace.partition, components.redactor.redact
        self._forgotten = tombstones(components).forgotten()
        self._known = known_values(components)
        products = components.catalog.products
        self._on_record: Container[str] = products.hashes(STAGE, workspace.partition)

    def reason(self, path: str) -> str:
        """Return the reason, "" if there is none."""
        if (self._partition, path) in self._forgotten:
            return "forgotten"
        redacted = path not in self._on_record and self._redact(path).text != path
        if redacted or self._known.are_in(path):
            return "path that holds a secret"
        return ""
