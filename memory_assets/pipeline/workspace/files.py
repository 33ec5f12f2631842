"""The documents among the files of a workspace: walking the directory once for several steps,
noticing changed files, and holding back documents in which a check found something."""

from __future__ import annotations

from collections.abc import Container, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace

from memory_assets.documents import CHUNKER_VERSION
from memory_assets.documents.walk import IGNORE_FILES, FoundFile, Walk, found_at, walk
from memory_assets.errors import ConfigurationError
from memory_assets.pipeline.stage.components import Components
from memory_assets.pipeline.stage.due import Status
from memory_assets.pipeline.stage.report import input_hash
from memory_assets.redaction import KnownValues
from memory_assets.stores.catalog.schema import Quarantined
from memory_assets.stores.lake.schemas import (
    WORKSPACE_CHUNKS,
    WORKSPACE_DOCUMENTS,
    WORKSPACE_EMBEDDINGS,
)
from memory_assets.stores.workspaces import Workspace, Workspaces

STAGE = WORKSPACE_DOCUMENTS.name
DOCUMENTS_VERSION = "documents-3"


def made_with(components: Components, known: int | None = None) -> str:
    """Return the version of documents: of code, rules, settings, and known secrets, which are
    redacted, too, up to the number `known` (None: all)."""
    settings = components.settings
    if known is None:
        known = components.catalog.known_secrets.last_number()
    choices = (settings.workspace_services, settings.workspace_domains, known)
    return input_hash(DOCUMENTS_VERSION, components.ruleset_version, repr(choices))


def known_values(components: Components, after: int = 0) -> KnownValues:
    """Return a search for the known secrets with numbers above `after`."""
    hashes = (value.hash for value in components.catalog.known_secrets.since(after))
    return KnownValues(components.install_key, frozenset(hashes))


class DueDocuments:
    """Decides which documents of a workspace are to be read with this `version`, for the stage and
    for the plan. `products` are the present ones by path."""

    def __init__(self, components: Components, partition: str, version: str) -> None:
        self._components, self._version = components, version
        self.products = components.catalog.products.of_project(STAGE, partition)
        self._held = components.catalog.quarantine.inputs(partition, STAGE)

    def expected(self, mtime_ns: int) -> str:
        """Return the input hash under which a document is held back: it changes with the file, the
        versions of documents and chunks, and the scanner's ignored rules."""
        ignored = self._components.settings.scanner_ignored_rules
        return input_hash(f"{mtime_ns}", self._version, CHUNKER_VERSION, *ignored)

    def status(self, file: FoundFile, is_outdated: bool = False) -> Status:
        """Return the state of a document: current if it was made with this version of a file with
        the present size and time, and the caller does not know better (`is_outdated`)."""
        product = self.products.get(file.path)
        facts = product.facts if product is not None else {}
        made_of = input_hash(facts.get("fingerprint", ""), self._version)
        is_same = (facts.get("size"), facts.get("mtime_ns")) == (file.size, file.mtime_ns)
        if product is not None and product.input_hash == made_of and is_same and not is_outdated:
            return "current"
        is_held = self._held.get(file.path) == self.expected(file.mtime_ns)
        return "held back" if is_held else "due"


_TABLES = (WORKSPACE_DOCUMENTS.name, WORKSPACE_CHUNKS.name, WORKSPACE_EMBEDDINGS.name)
_REMEDY = (
    "change those lines, or leave the file out in .memoryignore; if they hold no secret, and the "
    "independent scanner reports them, list its rule in MEMORY_SCANNER_IGNORED_RULES"
)


def hold_back_documents(
    components: Components, partition: str, reasons: Mapping[str, str], version: str
) -> None:
    """Remove documents of this `version` from the tables of their workspace, and so from its
    indexes, and hold them back for these reasons, by path. A document whose path holds a known
    secret is not named in the quarantine: the next walk leaves it out."""
    catalog = components.catalog
    known = known_values(components)
    due = DueDocuments(components, partition, version)
    products = due.products
    # Outdated first, so that the next run removes or makes them again if this one is killed.
    outdated = (replace(products[path], input_hash="") for path in reasons if path in products)
    catalog.products.put(*outdated, run_id=components.run_id)
    components.lake.remove_sessions(partition, sorted(reasons))
    for path in reasons:
        catalog.products.drop_noted(partition, path, *_TABLES)
    for path, reason in sorted(reasons.items()):
        if path not in products or known.are_in(path):
            continue
        state = due.expected(products[path].facts["mtime_ns"])
        catalog.quarantine.hold(Quarantined(partition, path, STAGE, state, reason, remedy=_REMEDY))


_MOST_PATHS = 50
"""Most changed paths to look at one by one; for more, a walk is cheaper."""


def files_of(components: Components, workspace: Workspace, most: int | None = None) -> Walk:
    """Return the documents of a workspace on disk, or those of the walk that `components` keeps. A
    document whose path holds a secret is only counted, because paths are stored in the catalogue,
    in ids and in the run history. `most`: the walk ends at so many files.

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
    others.append(components.data_dir.resolve())  # else each run would cause another one
    try:
        listing = walk(workspace.root, components.redactor.is_sensitive, others, most)
    except OSError as error:
        raise ConfigurationError(
            f"{workspace.root} cannot be read ({type(error).__name__}); what is on record of "
            f"workspace {workspace.name} stays. `memory forget --workspace {workspace.name}` "
            "removes it."
        ) from None
    exclusion = _Exclusion(components, workspace)
    for path in list(listing.files):
        if reason := exclusion.reason(path):
            del listing.files[path]
            listing.skipped[reason] += 1
    return listing


@contextmanager
def one_walk(components: Components, workspace: Workspace) -> Iterator[None]:
    """Walk a workspace once for all steps within the block.

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
    """Within the block, look at one file on disk, and take all others to be as they are on record.

    Raises:
        ConfigurationError: an ignore file changed, and the directory cannot be read.
    """
    listing = Walk()
    for name, product in components.catalog.products.of_project(STAGE, workspace.partition).items():
        facts = product.facts
        listing.files[name] = FoundFile(name, facts["size"], facts["mtime_ns"])
    for name in components.catalog.quarantine.inputs(workspace.partition, STAGE):
        if file := found_at(workspace.root, name, components.redactor.is_sensitive):
            listing.files[name] = file
    components.walks[workspace.root] = listing
    try:
        look_at(components, workspace, path)
        yield
    finally:
        components.walks.pop(workspace.root, None)


def look_at(components: Components, workspace: Workspace, *paths: str) -> bool:
    """Update some paths in the walk that `components` keeps; return whether anything changed. For
    many paths, as after a switch of branch, the directory is walked again.

    Raises:
        ConfigurationError: the workspace's directory is gone or cannot be read.
    """
    ours = components.data_dir.resolve()
    changed = [path for path in paths if not (workspace.root / path).is_relative_to(ours)]
    if any(path.rpartition("/")[2] in IGNORE_FILES for path in changed):
        walk_again(components, workspace)
        return True
    files = files_of(components, workspace).files
    if len(changed) > _MOST_PATHS:
        walk_again(components, workspace)
        return files_of(components, workspace).files != files
    exclusion = _Exclusion(components, workspace)
    differing = [path for path in changed if _update(components, workspace, path, files, exclusion)]
    return bool(differing)


def _update(
    components: Components,
    workspace: Workspace,
    path: str,
    files: dict[str, FoundFile],
    exclusion: _Exclusion,
) -> bool:
    """Update one path in the walk's `files`; return whether it changed."""
    file = found_at(workspace.root, path, components.redactor.is_sensitive)
    if file is not None:
        if file == files.get(path) or exclusion.reason(path):
            return False
        files[path] = file
        return True
    if (workspace.root / path).is_dir():  # its files have events of their own
        return False
    gone = [path] if path in files else [name for name in files if name.startswith(f"{path}/")]
    for name in gone:
        del files[name]
    return bool(gone)


class _Exclusion:
    """Decides which documents must be left out, by their paths."""

    def __init__(self, components: Components, workspace: Workspace) -> None:
        self._partition, self._redact = workspace.partition, components.redactor.redact
        self._forgotten = components.tombstones.forgotten()
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
