"""What people and programmers write is no secret: sentences without blanks, names of code. Lists of
passwords go whole, and a line that does not come to rest goes alone."""

from __future__ import annotations

import pytest

from memory_assets.redaction import Redactor, value_hash
from memory_assets.redaction.rules.judging.written import reads_as_words
from memory_assets_tests.redaction.goes import stays
from memory_assets_tests.redaction.test_records import plain_record
from memory_assets_tests.redaction.test_time_budget import ENDLESS
from memory_assets_tests.sweep import sweep

KEY = bytes(32)

SENTENCES = (
    "你有这两个 API Key 吗？如果有，我可以帮你完成配置。",
    "看起来 LLM API key 没有配置。让我创建一个不依赖 LLM API 的测试脚本，只测试工具调用。",
    "第一个名称是线程名称，>>> 和 <<< 中间的名称是进程名称。通常是包名（如 com.example.app）。",
    "见 https://wiki.example.com/edit/#/catalog/20102?autoJump=%E6%B7%BB%E5%8A%A0)，并且希望为该状态赋予互斥关系",
    "API key: 请在控制台创建，然后复制到配置文件2里。",
    "APIキー: 設定画面で作成して、環境変数にコピーしてください2回。",
    "API key: 콘솔에서만든다음,설정파일2에복사하세요。",
    "token: โปรดสร้างในคอนโซลแล้วคัดลอกไปที่ไฟล์2",
)
BESIDE_SENTENCES = (
    ("密码：Harbor4711!，请不要外传", "Harbor4711!"),
    ("密钥为8Qd3kPz0XvR2mNw7LtYb，请保密", "8Qd3kPz0XvR2mNw7LtYb"),
    ("API key: 8Qd3kPz0XvR2mNw7LtYb，请保密", "8Qd3kPz0XvR2mNw7LtYb"),
    (
        "secret: 7d9f1c2e-4b6a-4f3e-9a1d-0c5b7e8f2a34，不要外传",
        "7d9f1c2e-4b6a-4f3e-9a1d-0c5b7e8f2a34",
    ),
    ("curl -H 'X-Api-Key: 3f2b9c1d8e7a6b5c4d3e2f1a0b9c8d7e，'", "3f2b9c1d8e7a6b5c4d3e2f1a0b9c8d7e"),
)
IDENTIFIERS = (
    "Vet188SharePreferences.user188token",
    "UserV2Session.getAccess2Token",
    "OAuth2Client.refreshTokenV2()",
    "auth::Session2Token::readOnly",
)
PASSWORDS = tuple(
    f"{first}{number}!{last}"
    for first, number, last in (
        ("iKZWeq", 25, "W"), ("CEPyYn", 22, "b"), ("yBMWXa", 99, "r"), ("UZoLgu", 13, "b"),
        ("PIayRn", 64, "b"), ("HoWCFJ", 39, "o"), ("RoWDsb", 63, "P"), ("glOUsh", 52, "T"),
        ("GBGQmt", 46, "F"), ("GzLcEp", 61, "Q"), ("lxJSXR", 57, "C"), ("QGgXkH", 60, "F"),
    )
)  # fmt: skip
LISTS = (
    ("passwords: ", ", "),
    ("Passwörter: ", "; "),
    ("passwords:\n", "\n"),
    ("the passwords:\n- ", "\n- "),
    ("Passwort ", " "),
    ('passwords: ["', '", "'),
    ("mots de passe: ", " / "),
    ("| password |\n|---|\n| ", " |\n| "),
)


test_a_sentence_without_blanks_stays = stays(
    "Behind a word for secrets, too.",
    *SENTENCES,
)


@sweep("text, secret", BESIDE_SENTENCES)
def test_a_secret_beside_such_a_sentence_goes_alone(
    text: str, secret: str, redactor: Redactor
) -> None:
    """The sentence around it stays."""
    (finding,) = redactor.find(text)
    assert text[finding.start : finding.end] == secret


@sweep("name", IDENTIFIERS)
def test_a_dotted_name_of_code_is_no_token(name: str, redactor: Redactor) -> None:
    """In prose and in code."""
    for text in (f"- User token: `{name}`", f"access_token = {name}", f"the token is {name}"):
        assert redactor.redact(text).text == text


def test_a_name_of_code_is_never_a_known_secret() -> None:
    """Neither now, nor where an earlier version has made it one."""
    name, drawn = "Vet188SharePreferences", "8Qd3kPz0XvR2mNw7LtYb"
    assert value_hash(name, KEY) is None
    assert value_hash("release-notes-for-2026-spring", KEY) is None
    assert value_hash(drawn, KEY) is not None
    assert not reads_as_words(drawn)


@sweep("head, separator", LISTS)
def test_a_list_of_passwords_goes_whole(head: str, separator: str, redactor: Redactor) -> None:
    """However they are separated, and however many they are; what stands around them stays."""
    for passwords in (PASSWORDS, tuple(f"{word}{n}" for n in range(100) for word in PASSWORDS)):
        text = f"before\n{head}{separator.join(passwords)}\nafter that, all is well"
        redacted = redactor.redact(text).text
        assert not [password for password in passwords if password in redacted]
        assert redacted.startswith(f"before\n{head}<redacted:")
        assert redacted.endswith("after that, all is well")


def test_a_list_ends_where_ordinary_words_begin(redactor: Redactor) -> None:
    """The next sentence is no part of it."""
    text = f"passwords: {PASSWORDS[0]}, {PASSWORDS[1]}, and then we ran v2.3.1 of build-4711 there"
    assert redactor.redact(text).text.endswith(", and then we ran v2.3.1 of build-4711 there")


def test_one_password_is_no_list(redactor: Redactor) -> None:
    """Ordinary names with a number behind it stay, unless passwords are announced."""
    rest = ", utf8, x86_64, python3, main.py, sha256 and md5sum"
    assert redactor.redact(f"password: Foo12!xy{rest}").text.endswith(f">{rest}")
    assert "hunter22" not in redactor.redact("passwords: Foo12!xy, hunter22, winter23").text


@pytest.mark.parametrize("lines", [1, 40])
def test_only_the_lines_that_do_not_come_to_rest_are_withheld(
    lines: int, redactor: Redactor
) -> None:
    """What stands on other lines of the text stays, and the record is counted."""
    around = [f"line {number} is ordinary" for number in range(lines)]
    record = plain_record(text="\n".join([*around, ENDLESS, *around]))
    redaction = redactor.session("s").redact_record(record, project="p", project_root="/srv")
    kept = [line for line in redaction.record.text.splitlines() if "<redacted" not in line]
    assert kept == [*around, *around]
    assert "unsettled" in {finding.rule for finding in redaction.findings}
