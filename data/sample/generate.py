"""Write the sample sessions and expected.json. Deterministic; needs only Python.

python data/sample/generate.py [--into DIRECTORY]
"""

from __future__ import annotations

import argparse
import hashlib
import json
import re
import sys
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))

from generator import harbor_migration, harbor_reports, harbor_worker, lantern, tidepool  # noqa: E402
from generator.claude import ClaudeSession  # noqa: E402
from generator.codex import CodexSession  # noqa: E402
from generator.pi import PiSession  # noqa: E402
from generator.planted import PLANTED, planted_in  # noqa: E402

Session = ClaudeSession | CodexSession | PiSession
_AGENTS = {ClaudeSession: "claude-code", CodexSession: "codex", PiSession: "pi"}


def sessions() -> list[Session]:
    """Every sample session, oldest first within a project."""
    flaky, records = harbor_reports.flaky_test()
    lock_file = tidepool.lock_file()
    return [
        flaky,
        harbor_reports.forked(flaky, records),
        harbor_migration.locked_migration(),
        harbor_worker.memory_leak(),
        lock_file,
        tidepool.csv_export(lock_file),
        tidepool.oauth_loop(),
        lantern.database_locked(),
        lantern.alpine_crash(),
    ]


def files(session: Session) -> dict[str, str]:
    """Path below data/sample -> contents; the session's own file comes first."""
    ending = "" if session.half_written_lines else "\n"
    written = {session.path: "\n".join(session.lines) + ending}
    if isinstance(session, ClaudeSession):
        folder = session.path.removesuffix(".jsonl")
        for agent_id, child in session.subagents.items():
            written[f"{folder}/subagents/agent-{agent_id}.jsonl"] = "\n".join(child.lines) + "\n"
    return written


def _facts(session: Session) -> dict[str, Any]:
    lines = list(session.lines)
    if isinstance(session, ClaudeSession):
        lines += [line for child in session.subagents.values() for line in child.lines]
    return {
        "session_id": session.session_id,
        "agent": _AGENTS[type(session)],
        "path": session.path,
        "human_prompts": session.prompts,
        "copied_prompts": session.copied_prompts,
        "bad_lines": session.bad_lines,
        "glued_lines": session.glued_lines,
        "half_written_lines": session.half_written_lines,
        "unknown_records": session.unknown_records,
        "subagents": len(session.subagents) if isinstance(session, ClaudeSession) else 0,
        "planted": planted_in(lines),
    }


def expected(made: list[Session]) -> dict[str, Any]:
    """What a correct reader finds, by project. A prompt copied by a fork counts once."""
    projects: dict[str, Any] = {}
    for session in made:
        project = re.sub(r"[^A-Za-z0-9]", "-", session.cwd)
        facts = projects.setdefault(project, {"cwd": session.cwd, "agents": [], "sessions": []})
        facts["sessions"].append(_facts(session))
        facts["agents"] = sorted({*facts["agents"], _AGENTS[type(session)]})
    for facts in projects.values():
        held = facts["sessions"]
        facts["human_prompts"] = sum(s["human_prompts"] - s["copied_prompts"] for s in held)
        for count in ("bad_lines", "glued_lines", "half_written_lines", "unknown_records"):
            facts[count] = sum(s[count] for s in held)
        facts["planted"] = len({name for s in held for name in s["planted"]})
    planted = [
        {"name": p.name, "kind": p.kind, "sha256": hashlib.sha256(p.value.encode()).hexdigest()}
        for p in PLANTED.values()
    ]
    return {"projects": projects, "planted_secrets": planted}


def main() -> None:
    """Write everything below `--into` (default: beside this script)."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--into", type=Path, default=HERE)
    into: Path = parser.parse_args().into
    made = sessions()
    for session in made:
        for path, contents in files(session).items():
            target = into / path
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(contents.encode())
    facts = json.dumps(expected(made), indent=2, ensure_ascii=False) + "\n"
    (into / "expected.json").write_text(facts, encoding="utf-8")


if __name__ == "__main__":
    main()
