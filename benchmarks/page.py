"""What the pages of a large memory cost: a generated one, without vectors.

    python benchmarks/page.py [--sessions 10000] [--megabytes 40] [--projects 300]

Prints for each kind of page its bytes, as they are and compressed, and the median CPU milliseconds
of the server over some requests, the first left out; search as you type is each beginning of a
question. Then, where Chromium is installed, what loading the first page takes: requests, bytes,
and milliseconds until the first paint.
"""

from __future__ import annotations

import argparse
import gzip
import json
import os
import statistics
import sys
import tempfile
import time
from datetime import UTC, datetime, timedelta
from pathlib import Path
from uuid import UUID

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from lifelike import generate
from scale import environment, ingest
from starlette.testclient import TestClient

from memory_assets.serving.pages.site import build_site
from memory_assets.settings import load_settings
from memory_assets_tests.browser import CHROMIUM, chromium, served

_QUESTION = "why does the importer fail after the last migration"
_ROUNDS = 5
_LONG = "99999999-0000-4000-8000-000000000001"
_PAINTED = "performance.getEntriesByName('first-contentful-paint')[0]?.startTime"


def main() -> None:
    """Run the benchmark and print its figures as Markdown tables."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--sessions", type=int, default=10_000)
    parser.add_argument("--megabytes", type=int, default=40)
    parser.add_argument("--projects", type=int, default=300)
    parser.add_argument("--turns", type=int, default=2_000, help="Of one more session.")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        scratch = Path(name)
        roots = scratch / "transcripts"
        generate(roots, 1, given.megabytes * 1_000_000, given.sessions, given.projects)
        variables = environment(scratch, roots, "memory", 1)
        _write_long_session(roots, given.turns)
        ingest(variables)
        os.environ |= {key: variables[key] for key in variables if key.startswith("MEMORY_")}
        os.environ["HOME"] = variables["HOME"]
        site = build_site(load_settings())
        _measure(TestClient(site, base_url="http://127.0.0.1"))
        if CHROMIUM is not None:
            with served(site) as url, chromium(scratch / "profile") as browser:
                browser.size(1200)
                browser.open(f"{url}/?q=importer")
                browser.forget()
                browser.open(f"{url}/")
                painted = browser.wait_for(_PAINTED)
                print(f"\nFirst page: {len(browser.requested)} requests, {painted:.0f} ms to paint")


def _write_long_session(roots: Path, turns: int) -> None:
    """Write a session of so many turns, each a question, a command with its output, and a reply."""
    start, lines = datetime(2026, 5, 4, 8, tzinfo=UTC), list[str]()
    for turn in range(turns):
        said = [
            ("user", f"How do we import order {turn} of the harbour?"),
            ("assistant", [{"type": "tool_use", "id": f"t{turn}", "name": "Bash"}]),
            ("user", [{"type": "tool_result", "tool_use_id": f"t{turn}", "content": "ok\n" * 9}]),
            ("assistant", [{"type": "text", "text": f"Order {turn} is imported by its number."}]),
        ]
        said[1][1][0]["input"] = {"command": f"make import ORDER={turn}"}  # type: ignore[index]
        for part, (role, content) in enumerate(said):
            line = {
                **{"type": role, "sessionId": _LONG, "cwd": "/home/mara/code/harbour"},
                "uuid": str(UUID(int=4 * turn + part + 1)),
                "timestamp": (start + timedelta(seconds=60 * turn + part)).isoformat(),
                "message": {"role": role, "content": content},
            }
            lines.append(json.dumps(line) + "\n")
    folder = roots / "claude" / "projects" / "-home-mara-code-harbour"
    folder.mkdir(parents=True, exist_ok=True)
    (folder / f"{_LONG}.jsonl").write_text("".join(lines))


def _measure(client: TestClient) -> None:
    projects = client.get("/status").json()["projects"]
    largest = max(projects, key=lambda name: projects[name]["prompts"])
    session = client.get("/search", params={"project": largest, "sort": "date"}).json()["hits"][0]
    typed = [_QUESTION[:length] for length in range(3, len(_QUESTION))]
    kinds = {
        "first page": ["/"] * _ROUNDS,
        "its overview": ["/page/overview/parts"] * _ROUNDS,
        "its newest sessions": ["/page/side"] * _ROUNDS,
        "sessions": ["/page/sessions"] * _ROUNDS,
        "usage": ["/page/usage"] * _ROUNDS,
        "timeline": ["/page/timeline"] * _ROUNDS,
        "palette": ["/page/palette?q=imp"] * _ROUNDS,
        "the longest session": [f"/page/session/{_LONG}"] * _ROUNDS,
        "the middle of it": [f"/page/session/{_LONG}?turn=1000"] * _ROUNDS,
        "search as you type": [f"/page/hits?q={each}" for each in typed],
        "session": [f"/page/session/{session['metadata']['session_id']}"] * _ROUNDS,
        "projects": ["/page/projects"] * _ROUNDS,
        "the largest project": [f"/page/project/{largest}"] * _ROUNDS,
        "observations": ["/page/observations"] * _ROUNDS,
        "health": ["/page/health"] * _ROUNDS,
    }
    print("| page | kB | kB, gzip | CPU ms, median | most |\n|---|---|---|---|---|", flush=True)
    for kind, addresses in kinds.items():
        body, times = b"", []
        for address in [addresses[-1], *addresses]:
            start = time.process_time()
            response = client.get(address)
            times.append(1_000 * (time.process_time() - start))
            if response.status_code != 200:
                raise SystemExit(f"{address}: {response.status_code}")
            body = response.content
        size, packed = len(body) / 1_000, len(gzip.compress(body)) / 1_000
        median, most = statistics.median(times[1:]), max(times[1:])
        print(f"| {kind} | {size:.0f} | {packed:.0f} | {median:.0f} | {most:.0f} |", flush=True)


if __name__ == "__main__":
    main()
