"""Load the engine that finds candidate positions: Hyperscan if it is installed, else the standard
library."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from importlib.util import find_spec
from pathlib import Path

from memory_assets.errors import RedactionUnavailable
from memory_assets.install_key import user_cache_dir
from memory_assets.redaction.engine.scanner import Scanner
from memory_assets.redaction.engine.token_runs import TokenFormat
from memory_assets.redaction.rules.anchored import AnchoredRule
from memory_assets.redaction.settings import ENGINES


def load_scanner(
    formats: Iterable[TokenFormat],
    anchored: Sequence[AnchoredRule],
    engine: str = "auto",
    cache: Path | None = None,
    on_compile: Callable[[], None] | None = None,
) -> Scanner:
    """Return a scanner over the rules. What it finds does not depend on `engine`.

    `engine`: `hyperscan`, `re`, or `auto` for the first that is installed. `cache`: where
    compiled patterns are kept (None: the user's cache directory). `on_compile` is called
    before patterns are compiled, which takes some seconds, once per machine and ruleset.

    Raises:
        RedactionUnavailable: Hyperscan is asked for and not installed, or does not load;
            or the engine is unknown.
    """
    formats = tuple(formats)
    if engine not in ENGINES:
        raise RedactionUnavailable(f"unknown redaction engine {engine!r}")
    if engine == "re" or (engine == "auto" and find_spec("hyperscan") is None):
        return Scanner(formats, anchored)
    from memory_assets.redaction.engine.hyperscan_triggers import HyperscanTriggers

    templates = [template for each in formats for template in each.templates]
    try:
        triggers = HyperscanTriggers(templates, anchored, cache or user_cache_dir(), on_compile)
    except ImportError as error:
        if engine == "auto":
            return Scanner(formats, anchored)
        raise RedactionUnavailable(f"Hyperscan cannot be loaded: {error}") from None
    return Scanner(formats, anchored, triggers)
