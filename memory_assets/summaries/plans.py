"""The agent's own to-do list as it last stood: TodoWrite, update_plan, TaskCreate/TaskUpdate."""

from __future__ import annotations

import re

from memory_assets.redacted_text import RedactedText
from memory_assets.session_analysis.phrases import squeeze, unescaped
from memory_assets.session_analysis.session import SessionTurns

_WHOLE_LISTS = frozenset({"todowrite", "update_plan", "todo_write"})
_OBJECT = re.compile(r"\{(?:[^{}\"]|\"(?:[^\"\\]|\\.)*\")*\}")
_TASK = re.compile(r"\"(?:content|step|title|task)\":\s*\"((?:[^\"\\]|\\.)*)\"")
_STATUS = re.compile(r"\"status\":\s*\"(\w+)\"")
_SUBJECT_LINE = re.compile(r"^subject: (.+)$", re.MULTILINE)
_CREATED = re.compile(r"Task #?(\d+) created")
_TASK_ID = re.compile(r"^taskId: \"?(\d+)", re.MULTILINE)
_STATUS_LINE = re.compile(r"^status: (\w+)", re.MULTILINE)
_OPEN = frozenset({"pending", "in_progress", "todo", "open"})


def open_items(session: SessionTurns) -> list[RedactedText]:
    """Return the items that were neither completed nor dropped, in the list's order."""
    whole: list[RedactedText] = []
    tasks: dict[str, RedactedText] = {}
    statuses: dict[str, str] = {}
    subjects: dict[str, RedactedText] = {}
    for record in session.records:
        if record.agent_id is not None or record.kind not in ("tool_use", "tool_result"):
            continue
        name = record.tool_name.lower()
        if record.kind == "tool_use" and name in _WHOLE_LISTS:
            whole = _open_in(record.text)
        elif record.kind == "tool_use" and name == "taskcreate":
            subject = _SUBJECT_LINE.search(record.text)
            if subject:
                subjects[record.tool_use_id] = record.text.cut(*subject.span(1))
        elif record.kind == "tool_result" and name == "taskcreate":
            created = _CREATED.search(record.text)
            if created and record.tool_use_id in subjects:
                tasks[created.group(1)] = subjects[record.tool_use_id]
        elif record.kind == "tool_use" and name == "taskupdate":
            task, status = _TASK_ID.search(record.text), _STATUS_LINE.search(record.text)
            if task and status:
                statuses[task.group(1)] = status.group(1)
    still = [text for task, text in tasks.items() if statuses.get(task, "pending") in _OPEN]
    return [squeeze(text) for text in (*whole, *still) if text.strip()]


def _open_in(text: RedactedText) -> list[RedactedText]:
    found: list[RedactedText] = []
    for item in _OBJECT.finditer(text):
        part = text.cut(*item.span())
        task, status = _TASK.search(part), _STATUS.search(part)
        if task and status and status.group(1) in _OPEN:
            found.append(unescaped(part.cut(*task.span(1))))
    return found
