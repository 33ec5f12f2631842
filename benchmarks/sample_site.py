"""The pages of a memory of the sample sessions, served while a block lasts."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from memory_assets.serving.pages.site import build_site
from memory_assets.settings import load_settings
from memory_assets.stores.chroma import server as chroma_server
from memory_assets_tests.browser import served
from memory_assets_tests.command_line import environment_of, run_here
from memory_assets_tests.conftest import copy_sample, settings_of_copy

REPORTS = "3d0f6a52-8c1e-4b7d-9f32-6a1f0c9be741"
PAGES = (
    "/",
    "/?q=why+is+the+report+wrong+after+the+clocks+changed",
    "/?q=how+long+must+bread+rise&in=all",
    f"/page/session/{REPORTS}",
    "/page/projects",
    "/page/project/harbor-api",
    "/page/observations",
    "/page/memories",
    "/page/conversation/clocks",
    f"/page/timeline?anchor={REPORTS}",
    "/page/timeline",
    "/page/overview",
    "/page/sessions",
    "/page/usage",
    "/page/health",
    f"/page/audit/session::{REPORTS}::turn::0",
    "/page/nowhere",
)
"""An address of each kind of page."""


@contextmanager
def sample_site(directory: Path) -> Iterator[str]:
    """Ingest the sample into a directory and yield the address of its pages."""
    home = directory / "home"
    (home / "code" / "harbor-api").mkdir(parents=True)  # else its sessions could not be resumed
    kept = {name: value for name, value in os.environ.items() if name.startswith("MEMORY_")}
    for name in kept:
        del os.environ[name]
    os.environ["HOME"] = str(home)
    copy_sample(directory / "transcripts")
    settings = settings_of_copy(directory)
    where = environment_of(settings)
    remembered = ("remember", "Reports are cut at local midnight.", "--conversation", "clocks")
    for command in (remembered, ("ingest",)):
        done = run_here(where, *command)
        if done.returncode:
            raise SystemExit(done.stderr)
    try:
        with served(build_site(load_settings(**vars(settings)))) as url:
            yield url
    finally:
        chroma_server.stop(settings.data_dir)
