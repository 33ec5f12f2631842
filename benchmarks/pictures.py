"""Write the pictures of README: pages over the sample sessions, by headless Chromium.

python benchmarks/pictures.py [DIRECTORY]
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

from sample_site import REPORTS, sample_site

from memory_assets_tests.browser import chromium

_SEARCH = "/?q=why+is+the+report+wrong+after+the+clocks+changed"
_PICTURES = (
    ("search", _SEARCH, 1100, 760, False),
    ("session", f"/page/session/{REPORTS}", 1100, 900, True),
    ("phone", f"{_SEARCH}&n=3", 390, 760, True),
)
"""Name, address, width, height, and whether it is dark."""
_MOST_BYTES = 200_000


def main() -> None:
    """Write each picture."""
    into = Path(sys.argv[1] if len(sys.argv) > 1 else "docs/pictures")
    into.mkdir(parents=True, exist_ok=True)
    with (
        tempfile.TemporaryDirectory() as directory,
        sample_site(Path(directory)) as url,
        chromium(Path(directory) / "profile") as browser,
    ):
        for name, address, width, height, dark in _PICTURES:
            browser.size(width, height, dark=dark)
            browser.open(f"{url}{address}")
            browser.evaluate("document.querySelector('details.filters')?.removeAttribute('open')")
            file = into / f"{name}.png"
            browser.picture(file)
            size = file.stat().st_size
            print(f"{file}: {size} bytes")
            if size > _MOST_BYTES:
                raise SystemExit(f"{file} has more than {_MOST_BYTES} bytes")


if __name__ == "__main__":
    main()
