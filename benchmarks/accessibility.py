"""Run axe-core over every page of the sample, light, dark and on a phone, and print what it finds.

    npm install --prefix /tmp/axe axe-core
    python benchmarks/accessibility.py /tmp/axe/node_modules/axe-core/axe.min.js

Exits with 1 if a page violates a rule (WCAG 2.2 A and AA, and best practices).
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

from sample_site import PAGES, sample_site

from memory_assets_tests.browser import chromium

_RULES = '["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"]'

_VIEWS = ((1200, False), (1200, True), (390, False))
"""Width, and whether it is dark."""


def main() -> int:
    """Print each violation; return the exit code."""
    axe = Path(sys.argv[1]).read_text(encoding="utf-8")
    violations = 0
    with (
        tempfile.TemporaryDirectory() as directory,
        sample_site(Path(directory)) as url,
        chromium(Path(directory) / "profile") as browser,
    ):
        browser.call("Page.setBypassCSP", enabled=True)
        for width, dark in _VIEWS:
            browser.size(width, dark=dark)
            for path in PAGES:
                browser.open(f"{url}{path}")
                browser.evaluate("document.querySelectorAll('details').forEach(d => d.open = true)")
                browser.evaluate(f"{axe}; true")
                found = browser.evaluate(
                    f"axe.run({{runOnly: {_RULES}}}).then((result) => result.violations.map("
                    "(each) => [each.id, each.impact, each.nodes.length, each.nodes[0].html]))"
                )
                violations += len(found)
                for rule, impact, count, html in found:
                    print(
                        f"{path} {'dark' if dark else 'light'}: {rule} ({impact}), {count}: {html}"
                    )
    print(f"{len(_VIEWS) * len(PAGES)} pages, {violations} violations")
    return 1 if violations else 0


if __name__ == "__main__":
    sys.exit(main())
