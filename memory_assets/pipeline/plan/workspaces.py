"""Finding the workspaces that have work to do: a stat for each file, and a few queries."""

from __future__ import annotations

from collections.abc import Iterator

from memory_assets.pipeline.indexes.collections import forget_lost_store
from memory_assets.pipeline.plan.plan import ProjectPlan, derived_reason
from memory_assets.pipeline.stage.components import Components
from memory_assets.pipeline.stage.report import input_hash
from memory_assets.pipeline.workspace.files import files_of
from memory_assets.pipeline.workspace.state import (
    STAGE,
    held_back,
    held_state,
    is_current,
    made_with,
)
from memory_assets.status import counted
from memory_assets.stores.workspaces import Workspace, Workspaces


def plan_workspace(components: Components, workspace: Workspace) -> ProjectPlan | None:
    """Return the work that a workspace has, or None.

    Raises:
        ConfigurationError: its directory is gone or cannot be read.
    """
    forget_lost_store(components)
    partition, version = workspace.partition, made_with(components)
    found = files_of(components, workspace)
    changed, gone = changed_documents(components, workspace)
    if changed or gone:
        reason = counted(len(changed) + len(gone), "new, changed or deleted file")
    else:
        reason = derived_reason(components, partition)
    if not reason:
        return None
    states = (f"{path}:{found.files[path].mtime_ns}" for path in sorted(changed))
    return ProjectPlan(partition, reason, input_hash(version, reason, *states, *sorted(gone)))


def changed_documents(
    components: Components, workspace: Workspace
) -> tuple[list[str], frozenset[str]]:
    """Return the documents of a workspace that are to be read, and those that are gone.

    Raises:
        ConfigurationError: its directory is gone or cannot be read.
    """
    partition, version = workspace.partition, made_with(components)
    found = files_of(components, workspace)
    products = components.catalog.products.of_project(STAGE, partition)
    held = held_back(components, partition)
    changed = [
        path
        for path, file in found.files.items()
        if not is_current(products.get(path), file, version)
        and not (
            path in held and held[path].input_hash == held_state(components, file.mtime_ns, version)
        )
    ]
    return changed, frozenset(products.keys() - found.files.keys())


def plan_outdated(components: Components) -> Iterator[ProjectPlan]:
    """Yield the workspaces of which something on record is made by other code, rules or another
    model than the present ones. Their directories are not looked at: `memory index` does that."""
    for workspace in Workspaces(components.data_dir).all():
        partition, version = workspace.partition, made_with(components)
        products = components.catalog.products.of_project(STAGE, partition)
        if not products:
            continue
        forget_lost_store(components)
        held = held_back(components, partition)
        present = workspace.root.is_dir()  # else no document can be read again
        count = sum(
            present
            and name not in held
            and each.input_hash != input_hash(each.facts.get("fingerprint", ""), version)
            for name, each in products.items()
        )
        reason = f"{counted(count, 'document')} made by other rules" if count else ""
        reason = reason or derived_reason(components, partition)
        if reason:
            yield ProjectPlan(partition, reason, input_hash(version, reason))
