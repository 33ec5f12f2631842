"""Run axe-core over every page of the sample, light, dark and on a phone, and print what it finds.

    make node_modules/axe-core/axe.min.js
    python benchmarks/accessibility.py

Exits with 1 if a page violates a rule (WCAG 2.2 A and AA, and best practices).
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from pathlib import Path

from sample_site import PAGES, sample_site

from memory_assets_tests.browser import chromium

_VIEWS = ((1200, False), (1200, True), (390, False))
"""Width, and whether it is dark."""


def main() -> int:
    """Print each violation; return the exit code."""
    argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0]).parse_args()
    violations = 0
    with (
        tempfile.TemporaryDirectory() as directory,
        sample_site(Path(directory)) as url,
        chromium(Path(directory) / "profile") as browser,
    ):
        for width, dark in _VIEWS:
            browser.size(width, dark=dark)
            for path in PAGES:
                browser.open(f"{url}{path}")
                browser.wait_for("document.querySelector('[data-more$=parts]') === null")
                browser.evaluate("document.querySelectorAll('details').forEach(d => d.open = true)")
                for found in browser.violations():
                    violations += 1
                    print(f"{path} {'dark' if dark else 'light'}: {found}")
    print(f"{len(_VIEWS) * len(PAGES)} pages, {violations} violations")
    return 1 if violations else 0


if __name__ == "__main__":
    sys.exit(main())
