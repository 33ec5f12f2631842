"""Answers of commands: a bare value is judged by the name that stands in the call."""

from __future__ import annotations

import dataclasses

from memory_assets.models import Record
from memory_assets.redaction import Redactor
from memory_assets_tests.records import record
from memory_assets_tests.sweep import sweep

TOKEN = "kJ8mN2pQ7rT4vX9zB3cD6fG1"
HEXADECIMAL = "9f8b7c6d5e4f3a2b1c0d9e8f7a6b5c4d"


def answer(command: str, text: str) -> Record:
    """Return what a command printed."""
    return dataclasses.replace(record(text), command=command)


PRINTING = (
    "printenv ACME_TOKEN",
    "docker exec app printenv DB_PASSWORD",
    "echo $API_KEY",
    'echo "${ACME_KEY}"',
    "python3 -c \"import os; print(repr(os.environ['ACME_TOKEN']))\"",
    "node -p process.env.ACME_TOKEN",
    "node -e \"console.log(process.env['ACME_SECRET'])\"",
    "ruby -e \"puts ENV['ACME_TOKEN']\"",
    "php -r \"echo getenv('ACME_TOKEN');\"",
    'pwsh -c "$env:ACME_TOKEN"',
    "jq -r .auth.access_token state.json",
    "cat notes/deploy-token.txt",
)


@sweep("command", PRINTING)
@sweep("form", ["{s}", "'{s}'\n", "b'{s}'", "ok\n{s}\ndone"])
@sweep("value", [TOKEN, HEXADECIMAL])
def test_a_bare_answer_is_judged_by_the_name_in_its_call(
    command: str, form: str, value: str, redactor: Redactor
) -> None:
    """A value alone on its line goes if the command names a secret, and everywhere else, too."""
    session = redactor.session("s")
    said = record(f"now use {value} there")
    given = (answer(command, form.replace("{s}", value)), said)
    first = [session.redact_record(each, project="p", project_root="/r") for each in given]
    texts = [str(session.propagate(done).record.text) for done in first]
    assert all(value not in text for text in texts)
    assert "<redacted:printed-secret:" in texts[0]


@sweep(
    "command",
    [
        "echo $TOKEN_COUNT",
        "printenv PATH",
        "cat src/token.py",
        "jq .tokens.total x.json",
        "git rev-parse HEAD",
        "echo $CACHE_KEY",
    ],
)
def test_an_answer_stays_whose_call_names_no_secret(command: str, redactor: Redactor) -> None:
    """Counts, paths, hashes of Git: the same line, asked for otherwise."""
    done = redactor.session("s").redact_record(
        answer(command, HEXADECIMAL), project="p", project_root="/r"
    )
    assert done.record.text == HEXADECIMAL
