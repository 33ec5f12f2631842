"""`memory search --exact`: text as it is written, wherever a session kept it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from memory_assets.errors import ConfigurationError
from memory_assets.recall.memory import Memory
from memory_assets.requests.search import SearchRequest
from memory_assets.stores.catalog.schema import HELD_BY_CHECK, Quarantined
from memory_assets.stores.lake.schemas import REDACTED_RECORDS
from memory_assets_tests.recall.conftest import Asked
from memory_assets_tests.recall.worked import Call, Worked, shell
from memory_assets_tests.sweep import sweep

APP, SITE = "/srv/app", "/srv/site"
TRACE = 'Traceback:\n  File "tide.py", line 7, in ebb\n    raise Low("no [water] (yet)")\n'
LONG = "x" * 5_000 + " the needle of the haystack " + "y" * 5_000
SECRET = "ghp_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"


@pytest.fixture(scope="module")
def memory(tmp_path_factory: pytest.TempPathFactory) -> Memory:
    """Sessions whose tool output holds a trace, long lines, a secret and an earlier answer."""
    worked = Worked(tmp_path_factory.mktemp("exact"))
    worked.session(
        "1", shell("python tide.py", TRACE, failed=True), shell("make big", LONG), cwd=APP
    )
    again = Call(text="Once more, please.")
    worked.session("2", again, shell("python tide.py", f"{TRACE}{TRACE}"), cwd=SITE, days=2)
    recalled = shell("memory search tide", "<recalled-memory v1 1f> It says:\n" + TRACE)
    worked.session("3", recalled, cwd=SITE, days=3)
    read = Call("Read", {"file_path": "/srv/site/low.md"}, "Low tide is at noon,\n  on Sundays.")
    worked.session("4", read, cwd=SITE, days=4)
    return worked.memory()


def _found(memory: Memory, query: str, **more: Any) -> list[dict[str, Any]]:
    hits: list[dict[str, Any]] = memory.ask(SearchRequest(query, exact=True, **more))["hits"]
    return hits


@pytest.mark.parametrize(
    "line", ['  File "tide.py", line 7, in ebb', "raise Low(", "[water] (yet)"]
)
def test_a_line_of_tool_output_is_found_newest_first(memory: Memory, line: str) -> None:
    """Whatever characters it has; each turn once, with the line, where it stands, and how many
    records of the turn have it. What this memory answered earlier is no hit."""
    newest, oldest = _found(memory, line)
    assert newest["turn_id"] == "session::00000002-0000-4000-8000-000000000001::turn::1"
    assert oldest["turn_id"].startswith("session::00000001")
    assert line.strip() in newest["text"] and "\n" not in newest["text"]
    where = newest["metadata"]
    assert (where["record"], where["tool"]) == ("tool_result", "Bash")
    assert where["line"] == TRACE[: TRACE.index(line.strip())].count("\n") + 1
    assert newest["why"] == {"records": 1} and not newest["weak"]


def test_a_session_that_a_check_holds_back_is_no_hit_and_is_said(memory: Memory) -> None:
    """Its records are stored, and nobody knows yet whether they hold a secret."""
    held = Quarantined("-srv-site", "00000004-0000-4000-8000-000000000001", HELD_BY_CHECK, "", "?")
    assert _found(memory, "Low tide is at noon")
    memory.catalog.quarantine.hold(held)
    answer = memory.ask(SearchRequest("Low tide is at noon", exact=True))
    assert (answer["hits"], answer["coverage"]["quarantined"]) == ([], 1)
    memory.catalog.quarantine.release(held.project, held.session_id, held.stage)


def test_what_is_typed_otherwise_is_found_and_said(memory: Memory) -> None:
    """Other capitals, other blanks, and line breaks in other places; the text as it is comes
    first."""
    for typed in ('FILE   "TIDE.PY", line 7', "low tide is at noon, on sundays", "raise\nlow"):
        answer = memory.ask(SearchRequest(typed, exact=True))
        assert answer["hits"] and "other spaces or capitals" in answer["reason"], typed
    assert memory.ask(SearchRequest("Low tide is at noon,", exact=True))["reason"] is None


def test_a_secret_is_found_by_what_redaction_made_of_it(tmp_path: Path) -> None:
    """Who pastes a line as the terminal showed it need not know what was redacted in it."""
    worked = Worked(tmp_path)
    worked.session("1", shell("make login", f"token={SECRET} is set"), cwd=APP)
    answer = worked.memory().ask(SearchRequest(f"token={SECRET}", exact=True))
    (hit,) = answer["hits"]
    assert SECRET not in hit["text"] and "redact" in answer["reason"]


def test_of_a_long_line_the_match_is_shown(memory: Memory) -> None:
    """With what stands around it: a line may be a whole file."""
    (hit,) = _found(memory, "needle of the haystack")
    assert "needle of the haystack" in hit["text"] and len(hit["text"]) <= 300


def test_a_long_query_is_found_by_its_beginning_and_its_end(memory: Memory) -> None:
    """More than 2,000 characters lose their middle, which then does not count."""
    pasted = LONG[3_000:7_000]
    asked = SearchRequest.from_values("cli", {"query": pasted, "--exact": True})
    assert [hit["turn_id"][:17] for hit in memory.ask(asked)["hits"]] == ["session::00000001"]
    other = SearchRequest.from_values("cli", {"query": pasted[:-5] + "z" * 5, "--exact": True})
    assert memory.ask(other)["hits"] == []


@pytest.mark.parametrize(
    ("filters", "sessions"),
    [
        ({"project": "site"}, "2"),
        ({"project": APP}, "1"),
        ({"until": "2026-03-31"}, "1"),
        ({"since": "2026-03-31"}, "2"),
        ({"session": "00000001"}, "1"),
        ({"agent": "codex"}, ""),
        ({"tool": "bash"}, "21"),
        ({"tool": "Read"}, ""),
        ({"kinds": "prompts"}, ""),
        ({"kinds": "all"}, "21"),
        ({"n": 1}, "2"),
        ({"recent": True}, ""),
    ],
)
def test_the_filters_of_a_search_hold(memory: Memory, filters: Any, sessions: str) -> None:
    """Those that records have."""
    hits = _found(memory, "raise Low", **filters)
    assert "".join(hit["metadata"]["session_id"][7] for hit in hits) == sessions


def test_double_quotes_around_a_question_ask_for_the_text(memory: Memory) -> None:
    """Around all of it, unless a mode is given; the words alone are a question."""
    quoted = memory.ask(SearchRequest('"raise Low"'))
    assert quoted["mode"] == "exact" and quoted["query"] == "raise Low" and quoted["hits"]
    assert SearchRequest('"raise" or "ebb"').literal is None
    assert SearchRequest("raise Low").literal is None
    assert SearchRequest('"raise Low"', mode="keyword").literal is None
    with pytest.raises(ConfigurationError, match="exact text is found in"):
        SearchRequest('"raise Low"', kinds=("observations",))
    with pytest.raises(ConfigurationError, match="empty"):
        SearchRequest("  ", exact=True)


def test_rows_are_there_once_while_they_are_moved(memory: Memory) -> None:
    """A killed writer leaves rows in two files; who reads file by file sees each once."""
    lake, project = memory.lake, "-srv-site"

    def numbers() -> list[Any]:
        def every(rows: pa.Table) -> Any:
            return pa.array(range(len(rows)))

        columns = ["session_id", "seq"]
        tables = lake.select(REDACTED_RECORDS, project, ["seq"], every, columns)
        return sorted(tuple(row.values()) for rows in tables for row in rows.to_pylist())

    once = numbers()
    own = lake.read_rows(REDACTED_RECORDS, project, "00000002-0000-4000-8000-000000000001")
    directory = lake.partition_dir(REDACTED_RECORDS, project)
    before = {path: path.read_bytes() for path in directory.glob("*.parquet")}
    lake.write(REDACTED_RECORDS, project, own[0].session_id, own)
    for path, content in before.items():
        path.write_bytes(content)
    assert numbers() == once


PRINTED = (
    "psycopg.errors.DeadlockDetected: deadlock detected",
    "fatal: The current branch fix/report-day-bounds has no upstream branch.",
    "harbor/reports/days.py:6: NameError",
    "npm error Missing: next@16.1.1 from lock file",
)


@pytest.mark.parametrize("mode", ["hybrid", "keyword"])
@pytest.mark.parametrize("line", PRINTED)
def test_a_printed_line_finds_its_turn(asked: Asked, line: str, mode: str) -> None:
    """At the first place, whatever else speaks of such things, and it is not weak."""
    first = asked.memory.search(line, mode=mode).hits[0]
    turns = {row["turn_id"]: row["error_lines"] for row in asked.rows("turn_chunks")[::-1]}
    assert any(line[:40] in printed for printed in turns[first.turn_id])
    assert float(first.why["pasted"]) > 0.5 and not first.weak


def test_words_of_a_pasted_line_are_no_typing_errors(asked: Asked) -> None:
    """They occur, if not in what is said."""
    assert asked.memory.search(f"zz {PRINTED[1]}").corrected == {}


SAID = (
    "is red on CI since this morning but green on my laptop",
    "no wait, not from your side. I'll do it. only change the migration",
    "Migrations now set lock_timeout = '3s', so a blocked ALTER fails after three seconds",
)


@pytest.mark.parametrize("mode", ["hybrid", "keyword"])
@pytest.mark.parametrize("line", SAID)
def test_a_line_that_was_said_finds_its_turn(asked: Asked, line: str, mode: str) -> None:
    """A sentence of a prompt or a reply that is pasted is found like a line of output."""
    first = asked.memory.search(line, mode=mode).hits[0]
    assert float(first.why["pasted"]) > 0.9 and not first.weak


@sweep(
    "pasted, line, least, most",
    [
        (f"$ python backfill.py\nzorgle frabjous bandersnatch\n{PRINTED[0]}\n", PRINTED[0], 1, 1),
        (PRINTED[1].replace("fix/report-day-bounds", "feature/other"), PRINTED[1], 0.5, 0.99),
        (f"so why {SAID[0]}?", SAID[0], 0.65, 0.99),
    ],
)
def test_a_line_is_found_among_others_and_with_other_words(
    asked: Asked, pasted: str, line: str, least: float, most: float
) -> None:
    """A trace is pasted with what stands above it, an error with another number or path: nearly all
    of its terms are needed, not all."""
    first = asked.memory.search(pasted).hits[0]
    assert first.turn_id == asked.memory.search(line).hits[0].turn_id
    assert least <= float(first.why["pasted"]) <= most


@sweep(
    "question, mode",
    [
        ("what was the deadlock in the backfill", "hybrid"),
        ("why has the branch no upstream?", "hybrid"),
        (" ".join(reversed(SAID[0].split())), "hybrid"),
        (PRINTED[1], "semantic"),
    ],
)
def test_what_is_no_pasted_line_is_ranked_as_if_there_were_none(
    asked: Asked, question: str, mode: str
) -> None:
    """Prose that shares words with an error, the words of a line in another order; by meaning alone
    scores are cosines."""
    assert not any("pasted" in hit.why for hit in asked.memory.search(question, mode=mode).hits)
