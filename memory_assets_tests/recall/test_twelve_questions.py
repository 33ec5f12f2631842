"""benchmarks/notes/twelve-questions.md shows answers as they are today."""

from __future__ import annotations

import shlex
from pathlib import Path

from memory_assets.cli.plain_commands import plain_arguments
from memory_assets.requests.search import SearchRequest
from memory_assets_tests.recall import twelve_questions as asked


def test_the_answers_of_the_document_are_those_of_today(tmp_path: Path) -> None:
    """Twelve questions: what has no answer is said to be weak, and all else is not."""
    with asked.sample_memory(tmp_path) as memory:
        assert (
            asked.DOCUMENT.read_text().split(asked.MARK)[1].strip() == asked.answers(memory).strip()
        )
        for weak, questions in ((False, asked.WITH_AN_ANSWER), (True, asked.WITHOUT)):
            for words in questions:
                request = SearchRequest.given("cli", plain_arguments(shlex.split(words)) or {})
                assert memory.ask(request)["weak"] is weak, words
    assert len(asked.WITH_AN_ANSWER) + len(asked.WITHOUT) == 12
