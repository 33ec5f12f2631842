"""Home directories and e-mail addresses go by default; what names nobody stays."""

from __future__ import annotations

import pytest

from memory_assets.redaction import RedactionSettings, Redactor, load_redactor
from memory_assets_tests.redaction.goes import stays
from memory_assets_tests.sweep import sweep

KEY = bytes(32)
ALICE = "alice.smith@" + "corp-mail.io"


@sweep(
    "text, kept",
    [
        ("/home/alice/x", "~/x"),
        ("cd /Users/alice.smith && ls", "cd ~ && ls"),
        ("PATH=/home/alice/bin:/usr/bin", "PATH=~/bin:/usr/bin"),
        ('"cwd":"/home/alice"', '"cwd":"~"'),
        ("cc -I/home/alice/include", "cc -I~/include"),
        ("file:///home/alice/x", "file://~/x"),
        ("/mnt/c/Users/alice/x", "~/x"),
        ("/var/home/alice/x", "~/x"),
        ("C:\\Users\\alice\\x", "~\\x"),
        ("C:\\\\Users\\\\alice\\\\x", "~\\\\x"),
        ("C:/Users/alice/x", "~/x"),
        ("c:/users/alice/x", "~/x"),
        ("c:\\users\\alice", "~"),
        ("//wsl$/Ubuntu/home/alice/x", "~/x"),
        ("\\\\wsl.localhost\\Ubuntu-24.04\\home\\alice\\x", "~\\x"),
        ("D:\\Users\\Alice Smith\\Desktop", "~\\Desktop"),
        ("\\/home\\/alice\\/x", "~\\/x"),
        ("error\\n/home/alice/x", "error\\n~/x"),
        ("\x1b[32m/home/alice/y", "\x1b[32m~/y"),
    ],
)
def test_home_directories_become_a_tilde(text: str, kept: str, redactor: Redactor) -> None:
    """The path up to the user's name goes; what lies below stays; nothing of it is a secret."""
    result = redactor.redact(text)
    assert result.text == kept
    assert result.findings == ()
    assert {(found.rule, found.tag) for found in result.personal} == {("home-directory", "~")}
    assert redactor.redact(kept).text == kept


test_accounts_of_nobody_and_web_addresses_stay = stays(
    "Generic accounts, variables and paths of web sites name nobody.",
    "/root/x",
    "/home/runner/work/app",
    "/Users/Shared/x",
    "/home/ubuntu",
    "C:\\Users\\Public\\x",
    "src/home/alice.tsx",
    "https://example.net/home/alice",
    "GET /Users/123/posts",
    "GET /users/alice/posts",
    "x\\users\\alice",
    "/home/index.html",
    "/home/$USER/x",
    "/home/<user>/x",
    "~/x and ./home/y",
)


@pytest.mark.parametrize("text", ["{s}", "<{s}>", "mailto:{s}", "Author: A <{s}>", "x\\n{s},"])
def test_addresses_of_people_go(text: str, redactor: Redactor) -> None:
    """An e-mail address is tagged, its span is that of the address alone."""
    given = text.replace("{s}", ALICE)
    result = redactor.redact(given)
    (found,) = result.personal
    assert given[found.start : found.end] == ALICE
    assert result.text == given.replace(ALICE, found.tag)
    assert found.tag.startswith("<redacted:email:")
    assert result.findings == ()


test_what_merely_holds_an_at_sign_stays = stays(
    "Remotes, versions, decorators, roles and examples are no addresses of people.",
    "git@github.com:acme/app.git",
    "Co-Authored-By: Claude <noreply@anthropic.com>",
    "you@example.com",
    "dev@app.test",
    "react@18.2.0",
    "pkg@1.0.0-rc.dev",
    "ssh alice@host",
    "scp a.txt alice@build.corp.io:/srv/x",
    "@app.route",
    "logo@2x.png",
    "https://user:password@db.corp.io/x",
    "support@corp.io",
)


def test_an_address_is_tagged_per_session(redactor: Redactor) -> None:
    """Equal within a session, however its case; not to be matched across sessions."""
    tags = {
        redactor.redact(text, session_id=session).personal[0].tag
        for text, session in ((ALICE, "a"), (ALICE.upper(), "a"), (ALICE, "b"))
    }
    assert len(tags) == 2


def test_a_secret_wins_over_an_address(redactor: Redactor) -> None:
    """Where both would stand, the secret is reported and no address."""
    result = redactor.redact("postgres://app:" + "Tr0ub4dor3" + "@db.corp.io:5432/app")
    assert [found.rule for found in result.findings] == ["url-password"]
    assert result.personal == ()


def test_kinds_can_be_chosen() -> None:
    """Each kind goes by setting; secrets go whatever it says."""
    text = "+49 170 1234567 at 93.184.216.34 and 10.0.0.1, /home/alice, 1.2.3 " + ALICE
    nothing = load_redactor(RedactionSettings(personal=()), KEY)
    assert nothing.redact(text).text == text
    others = load_redactor(RedactionSettings(personal=("phone", "ipv4")), KEY).redact(text)
    assert [found.rule for found in others.personal] == ["phone", "ipv4"]
    assert "10.0.0.1, /home/alice, 1.2.3" in others.text
    assert nothing.find("DB_PASSWORD=" + "Tr0ub4dor" + "3x")


def test_an_unknown_kind_is_refused() -> None:
    """A kind that does not exist would silently do nothing."""
    with pytest.raises(ValueError, match="fax"):
        RedactionSettings(personal=("fax",))
