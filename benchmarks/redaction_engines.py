"""The redactor on each engine that this machine has, and the time of its first step."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from importlib.util import find_spec
from pathlib import Path
from tempfile import gettempdir

from memory_assets.redaction import RedactionSettings, Redactor, load_redactor
from memory_assets.redaction.engine.hyperscan_triggers import HyperscanTriggers
from memory_assets.redaction.engine.scanner import load_scanner
from memory_assets.redaction.engine.token_runs import compile_formats
from memory_assets.redaction.engine.triggers import PlainTriggers
from memory_assets.redaction.rules.anchored.table import ANCHORED_RULES
from memory_assets.redaction.rules.token_formats.tokens import TOKEN_FORMATS

KEY = bytes(32)
"""Benchmarks write nothing, so their tags need no key of the installation."""
DATABASES = ("places", "runs", "joints")
"""Those that read whole texts."""
CACHE = Path(gettempdir()) / "memory-assets-benchmark"


def engines() -> dict[str, Redactor]:
    """Return a redactor by engine, the one that users get first."""
    names = ("hyperscan", "re") if find_spec("hyperscan") else ("re",)
    return {name: load_redactor(RedactionSettings(engine=name), KEY) for name in names}


def print_steps(name: str, texts: Sequence[str], rounds: int) -> None:
    """Print MB/s of CPU time of finding places to look at, and of the whole scan of the
    plain text: what confirming costs is the difference. Of Hyperscan, each database that
    reads whole texts comes first, alone: nothing is done about what it finds."""
    formats = compile_formats(TOKEN_FORMATS)
    find: Callable[[str], object] = PlainTriggers(ANCHORED_RULES).find
    steps: dict[str, Callable[[str], object]] = {}
    if name == "hyperscan":
        templates = [template for row in formats for template in row.templates]
        finder = HyperscanTriggers(templates, ANCHORED_RULES, CACHE)
        find = finder.find
        steps |= {f"database `{each}`": _alone(finder, each) for each in DATABASES}
    scanner = load_scanner(formats, ANCHORED_RULES, name, CACHE)
    steps |= {"triggers": find, "triggers and rules, plain text": scanner.scan}
    total = sum(len(text.encode("utf-8", "surrogatepass")) for text in texts) / 1e6
    print(f"\n| {name}, over {total:.1f} MB of record text | MB/s of CPU |")
    print("|---|---|")
    for step, call in steps.items():
        best = float("inf")
        for _ in range(rounds):
            begin = time.process_time()
            for text in texts:
                call(text)
            best = min(best, time.process_time() - begin)
        print(f"| {step} | {total / best:.1f} |")


def _alone(finder: HyperscanTriggers, name: str) -> Callable[[str], object]:
    """Return what scans a text's ASCII copy with one database and drops what it finds."""
    scan = finder._databases.scanner(name)

    def alone(text: str) -> None:
        scan(text.encode("ascii", "replace"), lambda *_: None)

    return alone
