"""The version of the rules: it changes whenever a text could be redacted differently."""

from __future__ import annotations

import dataclasses
import hashlib
import importlib
import pkgutil
import re
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from types import ModuleType

from memory_assets.redaction.rules.anchored import table as anchored
from memory_assets.redaction.rules.anchored.table import AnchoredRule
from memory_assets.redaction.rules.token_formats import tokens
from memory_assets.redaction.settings import RedactionSettings

ENGINE_VERSION = "re-28"
"""Raised by hand whenever code (not data) changes findings or replacements."""

_WITHOUT_EFFECT = re.compile(
    r"hyperscan|selftest|version|byte_patterns|pattern_cache|trigger|at_rest"
)
"""Modules whose constants do not change findings, only speed and self-checks."""
_LITERAL = (str, bytes, int, float, type(None))


def ruleset_version(settings: RedactionSettings | None = None) -> str:
    """Return the version of the shipped rules under `settings`, without compiling anything and
    without a key. Equal to the loaded redactor's `ruleset_version`."""
    return version_of(
        settings or RedactionSettings(), tokens.TOKEN_FORMATS, anchored.ANCHORED_RULES
    )


def version_of(
    settings: RedactionSettings,
    format_rows: Iterable[tuple[str, ...]],
    anchored_rules: tuple[AnchoredRule, ...],
) -> str:
    """Return the version of the given rules under `settings`."""
    digest = hashlib.sha256()
    # all engines find the same, and a limit of time is no rule
    settings = dataclasses.replace(settings, engine="auto", record_seconds=0.0)
    for part in (ENGINE_VERSION, settings, tuple(format_rows), anchored_rules):
        digest.update(_plain(part).encode())
    constants = {constant for module in _modules() for constant in _constants(module)}
    for constant in sorted(constants):
        digest.update(constant.encode())
    return f"{ENGINE_VERSION}-{digest.hexdigest()[:12]}"


def _modules() -> Iterator[ModuleType]:
    """Yield the package's modules whose constants (patterns, word lists, limits) are part of the
    version."""
    package = f"{__package__}."
    for walk_package in pkgutil.walk_packages([str(Path(__file__).parent)], package):
        if not _WITHOUT_EFFECT.search(walk_package.name.removeprefix(package)):
            yield importlib.import_module(walk_package.name)


def _constants(module: ModuleType) -> Iterator[str]:
    """Yield name and value of each constant, without its module, so that moving a constant does not
    redact every memory again."""
    for name, value in vars(module).items():
        if name.isupper() and name != "TYPE_CHECKING":
            yield f"{name}={_plain(value)};"


def _plain(value: object) -> str:
    """Return a text that is equal for equal data in every process."""
    if isinstance(value, _LITERAL):  # nearly all: asked first
        return repr(value)
    if isinstance(value, re.Pattern):
        return f"{value.flags}:{value.pattern!r}"
    if isinstance(value, (frozenset, set)):
        return repr(sorted(map(_plain, value)))
    if isinstance(value, (tuple, list)):
        return repr([_plain(item) for item in value])
    if isinstance(value, Mapping):
        return repr([(_plain(key), _plain(item)) for key, item in value.items()])
    if isinstance(value, AnchoredRule):
        return _plain((value.name, value.anchor, value.source, value.lead))
    if isinstance(value, RedactionSettings):
        return repr(value)
    return ""  # no data; of a logger even the type depends on the process (Dagster sets its own)
