"""Write the pictures of README: pages over the sample sessions, and Dagster's UI with the lineage
of their index, by headless Chromium.

    python benchmarks/pictures.py [DIRECTORY]
"""

from __future__ import annotations

import argparse
import subprocess
import tempfile
import time
from pathlib import Path

from sample_site import REPORTS, sample_site

from memory_assets_tests.browser import Browser, chromium
from memory_assets_tests.dagster.live_dagster import BIN, memory_dev

_SEARCH = "/?q=why+is+the+report+wrong+after+the+clocks+changed"
_PICTURES = (
    ("search", _SEARCH, 1100, 760, False),
    ("session", f"/page/session/{REPORTS}", 1100, 860, True),
    ("phone", f"{_SEARCH}&n=3", 390, 760, True),
)
"""Name, address, width, height, and whether it is dark."""
_AT_HOME = """
const resume = document.querySelector("#resume");
if (resume) {
  resume.textContent = resume.textContent.replace(/cd \\S+home\\/code/, "cd ~/code");
  resume.parentElement.querySelector(".aside")?.remove();
}
"""
"""The sample's sessions were in another home: what resumes one is shown as it is there."""
_LINEAGE = "/assets/keyword_index?view=lineage&lineageScope=upstream&lineageDepth=4"
_DRAWN_SECONDS = 20
"""How long Dagster's UI may take to ask for the state of each asset."""
_MOST_BYTES = 200_000


def main() -> None:
    """Write each picture: of the pages, then of the graph."""
    options = argparse.ArgumentParser(description="Write the pictures of README.")
    options.add_argument("into", nargs="?", type=Path, default="docs/pictures", metavar="DIRECTORY")
    into = options.parse_args().into
    into.mkdir(parents=True, exist_ok=True)
    with (
        tempfile.TemporaryDirectory() as directory,
        sample_site(Path(directory)) as url,
        chromium(Path(directory) / "profile") as browser,
    ):
        for name, address, width, height, dark in _PICTURES:
            browser.size(width, height, dark=dark)
            browser.open(f"{url}{address}")
            browser.evaluate(_AT_HOME)
            _write(browser, into / f"{name}.png")
    with (
        tempfile.TemporaryDirectory() as directory,
        memory_dev(Path(directory) / "memory") as dagster,
        chromium(Path(directory) / "profile") as browser,
    ):
        subprocess.run([BIN / "memory", "ingest"], env=dagster.environment, check=True)
        browser.size(1500, 900)
        browser.open(f"{dagster.url}{_LINEAGE}")
        browser.wait_for("document.body.innerText.includes('turn_embeddings')")
        time.sleep(_DRAWN_SECONDS)
        _write(browser, into / "graph.png")


def _write(browser: Browser, file: Path) -> None:
    browser.picture(file)
    size = file.stat().st_size
    print(f"{file}: {size} bytes", flush=True)
    if size > _MOST_BYTES:
        raise SystemExit(f"{file} has more than {_MOST_BYTES} bytes")


if __name__ == "__main__":
    main()
