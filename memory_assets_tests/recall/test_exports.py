"""`memory export` and what the page saves: sessions for other programs."""

from __future__ import annotations

import csv
import json
import re
from io import StringIO
from pathlib import Path
from typing import Any

from starlette.testclient import TestClient

from memory_assets.cli import exit_codes
from memory_assets.requests.questions import ExportRequest, SessionsRequest
from memory_assets.serving.exports import COLUMNS, exported, sessions_csv
from memory_assets.serving.pages.site import build_site
from memory_assets_tests.command_line import run_here
from memory_assets_tests.recall.conftest import HARBOR, LONG, Asked


def test_a_list_has_each_session_once(asked: Asked) -> None:
    """As CSV and JSON, the newest first, with what it took; as `memory sessions` lists them."""
    listed = asked.memory.ask(SessionsRequest(n=1_000))["sessions"]
    rows = list(csv.DictReader(StringIO("".join(exported(asked.memory, SessionsRequest(), "csv")))))
    assert [row["session_id"] for row in rows] == [each["session_id"] for each in listed]
    assert tuple(rows[0]) == COLUMNS
    assert rows[0]["tokens"] == str(listed[0]["usage"]["tokens"])
    told = json.loads("".join(exported(asked.memory, SessionsRequest(), "json")))
    assert told == json.loads(json.dumps(listed))


def test_no_cell_is_a_formula() -> None:
    """Titles and branches are text of transcripts; a number stays one. Nor is what a spreadsheet
    takes for a cell where its country separates them by semicolons."""
    session: dict[str, Any] = dict.fromkeys(COLUMNS, "") | {"usage": {}, "turns": -1}
    session |= {"title": "=cmd|' /C calc'!A0", "git_branch": "@SUM(1)"}
    session |= {"files_modified": ["+1", "b"]}
    (row,) = csv.DictReader(StringIO(sessions_csv([session])))
    assert row["title"] == "'=cmd|' /C calc'!A0" and row["git_branch"] == "'@SUM(1)"
    assert row["turns"] == "-1" and row["files_modified"] == "'+1; b"
    for title in ("a;=1", " =1", "＝1", "\n=1", "\ufeff=1"):
        lines = sessions_csv([session | {"title": title}])
        rows = csv.reader(StringIO(lines), delimiter=";")
        assert not any(cell.lstrip().startswith(("=", "＝")) for row in rows for cell in row)


def test_a_project_is_one_file(asked: Asked) -> None:
    """Of HTML, which runs nothing and leads nowhere in the memory, or of Markdown: every session of
    it with every prompt."""
    of_project = SessionsRequest(project=HARBOR, n=1_000)
    sessions = asked.memory.ask(of_project)["sessions"]
    page = "".join(exported(asked.memory, of_project, "html"))
    text = "".join(exported(asked.memory, of_project, "markdown"))
    assert page.count("<h1") == len(re.findall(r"(?m)^# ", text)) == len(sessions) > 1
    assert (
        "default-src &#39;none&#39;" in page and "<script" not in page and 'href="/page' not in page
    )
    ids = re.findall(r' id="([^"]+-turn-\d+)"', page)
    assert len(ids) == len(set(ids)) > len(sessions)
    for each in sessions:
        assert each["session_id"] in text


def test_one_session_is_exported_by_its_id(asked: Asked) -> None:
    """By a beginning that no other one has, in any form."""
    one = ExportRequest(session=LONG[:8]).sessions
    (row,) = csv.DictReader(StringIO("".join(exported(asked.memory, one, "csv"))))
    assert row["session_id"] == LONG
    assert "".join(exported(asked.memory, one, "markdown")).count("\n# ") <= 1


def test_a_file_is_written_once(asked: Asked, tmp_path: Path) -> None:
    """Over one that exists only with --force; without --output it is printed. The page saves the
    same."""
    environment = {"MEMORY_DATA_DIR": str(asked.settings.data_dir)}
    target = tmp_path / "sessions.csv"
    given = ("export", "--project", "harbor-api", "--output", str(target))
    assert run_here(environment, *given).returncode == exit_codes.FINE
    refused = run_here(environment, *given)
    assert refused.returncode == exit_codes.USAGE and "exists" in refused.stderr
    printed = run_here(environment, "export", "--project", "harbor-api")
    assert printed.stdout.replace("\r\n", "\n") == target.read_text()
    client = TestClient(build_site(asked.settings), base_url="http://127.0.0.1:8765")
    saved = client.get("/page/sessions/file?format=csv&project=harbor-api")
    assert saved.text.replace("\r\n", "\n") == target.read_text()
    assert 'filename="sessions.csv"' in saved.headers["content-disposition"]
    assert (
        "/page/sessions/file?format=html&amp;project="
        in client.get("/page/project/harbor-api").text
    )
