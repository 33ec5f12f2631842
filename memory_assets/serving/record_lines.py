"""Records of a turn as lines of text."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from memory_assets.serving.answer_lines import clock


def record_lines(records: Iterable[Mapping[str, Any]]) -> Iterator[str]:
    """Yield each record under a line that says what it is, turn by turn; an edit as a diff."""
    turn = ""
    for each in records:
        if each["turn_id"] != turn:
            turn = each["turn_id"]
            yield f"## {turn}"
        what = [each["kind"], each["subtype"], each["tool"], "failed" if each["is_error"] else ""]
        if each["agent_id"]:
            what += ["" if each["kind"] == "subagent" else "subagent", each["agent_id"]]
        head = " ".join(filter(None, what))
        yield f"[{each['seq']}] {head}  {clock(each['time'])}"
        if each["diff"] is not None:
            yield from (f"--- {path}" for path in each["paths"])
        yield f"{each['diff'] or each['text']}\n"


def page_note(answer: Mapping[str, Any]) -> Iterator[str]:
    """Yield where the page of an answer stands, if there are several."""
    if answer["pages"] > 1:
        more = f"; --page {answer['page'] + 1} goes on" if answer["page"] < answer["pages"] else ""
        yield f"Page {answer['page']} of {answer['pages']}{more}."
    if any(each["kind"] == "subagent" for each in answer["records"]):
        yield "Subagents are folded; --subagents prints their records."
