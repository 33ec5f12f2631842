"""Records of a turn as lines of text."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from memory_assets.serving.answer_lines import clock


def record_lines(records: Iterable[Mapping[str, Any]]) -> Iterator[str]:
    """Yield each record under a line that says what it is, turn by turn; an edit as a diff."""
    turn = ""
    for record in records:
        if record["turn_id"] != turn:
            turn = record["turn_id"]
            yield f"## {turn}"
        what = [
            record["kind"],
            record["subtype"],
            record["tool"],
            "failed" if record["is_error"] else "",
        ]
        if record["agent_id"]:
            what += ["" if record["kind"] == "subagent" else "subagent", record["agent_id"]]
        head = " ".join(filter(None, what))
        yield f"[{record['seq']}] {head}  {clock(record['time'])}"
        if record["diff"] is not None:
            yield from (f"--- {path}" for path in record["paths"])
        yield f"{record['diff'] or record['text']}\n"


def page_note(answer: Mapping[str, Any]) -> Iterator[str]:
    """Yield where the page of an answer stands, if there are several."""
    if answer["pages"] > 1:
        more = f"; --page {answer['page'] + 1} goes on" if answer["page"] < answer["pages"] else ""
        yield f"Page {answer['page']} of {answer['pages']}{more}."
    if any(record["kind"] == "subagent" for record in answer["records"]):
        yield "Subagents are folded; --subagents prints their records."
