"""In which encoding a file is read, or that it is left out, and what it is taken for."""

from __future__ import annotations

import random

import pytest

from memory_assets.documents import KIND_OF, file_type
from memory_assets.documents.chunk import CHUNKERS
from memory_assets.documents.encodings import decoded
from memory_assets_tests.sweep import sweep

_CHINESE = "# 数据库连接配置，请不要修改\nhost = 'localhost'\n# 超时时间（秒）\ntimeout = 30\n"
_TRADITIONAL = "# 資料庫連線設定，請勿修改\nhost = 'localhost'\n"
_JAPANESE = "// データベースの接続設定\nint x = 1; // ソース表示\n"
_KOREAN = "# 데이터베이스 연결 설정\nhost = 'x'\n"
_RUSSIAN = "# Настройки базы данных. Проверьте журнал и перезапустите службу.\nhost = 'x'\n"


@sweep(
    "encoding, text",
    [
        ("utf-8", _CHINESE),
        ("utf-8-sig", _KOREAN),
        ("utf-16", _CHINESE),
        ("utf-16", "服务端的计划"),
        ("utf-32", _JAPANESE),
        ("gb18030", _CHINESE),
        ("gbk", "码头吊机的检修计划：每月第三个星期。"),
        ("big5", _TRADITIONAL),
        ("shift_jis", _JAPANESE),
        ("shift_jis", "係留索の点検は毎月行う。\n"),
        ("euc_jp", "キャッシュの鍵が衝突していたので、猫の写真が消えていた。"),
        ("euc_kr", _KOREAN),
        ("cp1251", _RUSSIAN),
        ("koi8_r", _RUSSIAN),
        ("cp1253", "Ελέγξτε το αρχείο καταγραφής και επανεκκινήστε την υπηρεσία."),
        ("latin-1", "# Kundenadresse prüfen\nsub adresse { return 'Straße ungültig'; }\n"),
        ("cp1252", "Le café est fermé à cause des élèves – “déjà vu”."),
        ("latin-1", "naïve\n"),
        ("big5", "這是測試檔案，請勿刪除。\n"),
        ("iso2022_jp", "係留索の点検は毎月行う。"),
        ("iso8859_5", "Проверьте журнал и перезапустите службу.\n"),
        ("cp866", "Проверьте журнал и перезапустите службу.\n"),
        ("cp1256", "التقرير المالي لا يظهر لأن الفترة مغلقة\n"),
        ("iso8859_2", "Zażółć gęślą jaźń w środę.\n"),
        ("gbk", "# 数据库连接配置，请不要修改\n" * 20_000),
        ("cp1250", "Zażółć gęślą jaźń w środę, żeby sprawdzić łódź."),
    ],
)
def test_a_text_is_read_as_what_it_is(encoding: str, text: str) -> None:
    """Of a few lines, or one."""
    assert decoded(text.encode(encoding)) == (text, "")


_CODE = "def total(orders):\n    # {}\n    return sum(each.price for each in orders)\n" + "\n" * 3
_SETTINGS = "# {}\nhost = localhost\nport = 5432\nretries = 3\nlog_path = /var/log/app.log\n"
_NOTES = "# Notes\n\nRun `make build` first. {}\n\nSee https://example.com/docs for more.\n"


@sweep(
    "encoding, said",
    [
        ("shift_jis", "送料を計算し、四捨五入する"),
        ("shift_jis", "ここは後で書き直す"),
        ("euc_jp", "ユーザー名は必須"),
        ("gbk", "计算运费，四舍五入"),
        ("gbk", "用户名不能为空"),
        ("euc_kr", "배송비를 계산하고 반올림한다"),
        ("euc_kr", "사용자 이름은 필수"),
        ("euc_kr", "세금 포함"),
        ("big5", "每隔五分鐘同步一次庫存"),
        ("cp1251", "проверка входных данных"),
        ("koi8_r", "с налогом"),
        ("cp1256", "شامل الضريبة"),
        ("cp1250", "sprawdź poprawność danych wejściowych"),
        ("latin-1", "frais d'expédition arrondis à l'unité"),
        ("cp1254", "kullanıcı adı boş olamaz"),
        ("latin-1", "José Muñoz"),
    ],
)
def test_a_comment_in_code_is_read_as_what_it_is(encoding: str, said: str) -> None:
    """Where nearly all is ASCII, by the other characters alone."""
    for file in (_CODE, _SETTINGS, _NOTES):
        text = file.format(said)
        assert decoded(text.encode(encoding)) == (text, "")


@sweep(
    "content",
    [
        "含税".encode("gbk"),  # may as well be Japanese or Korean
        b"# \xb5\xce\xc4\xbd\nport = 1\n",
        bytes(random.Random(7).choices(range(1, 256), k=3_000)),
    ],
)
def test_what_cannot_be_told_is_left_out(content: bytes) -> None:
    """With its reason, which the report of an index counts."""
    assert decoded(content) == (None, "encoding unknown")


def test_a_file_with_few_odd_bytes_is_read_without_them() -> None:
    """Code with a short comment in an unknown encoding, or text cut within a character."""
    code = "int main() { return 0; }\n" * 40
    text, why_not = decoded(code.encode() + "// 含税\n".encode("gbk"))
    assert text is not None and text.startswith(code) and text[len(code) :].isprintable() is False
    assert set(text[len(code) :]) <= set("/ \n\ufffd") and not why_not
    cut, _ = decoded("中文文本说明，请看这里。".encode()[:-1])
    assert cut == "中文文本说明，请看这里\ufffd"


def test_binary_and_empty_files_have_no_text() -> None:
    """A NUL stands in no text but UTF-16 and UTF-32."""
    assert decoded(b"\x7fELF\0\0") == decoded(b"\xff\xfe\0") == (None, "binary")
    assert decoded(b" \r\n") == (None, "empty")
    assert decoded(b"a\r\nb\rc") == ("a\nb\nc", "")


MADR = "# T\n\n## Context and Problem Statement\n\n## Considered Options\n\n## Decision Outcome\n"


@pytest.mark.parametrize(
    ("path", "text", "expected"),
    [
        ("README.md", "# Hello\n", "markdown"),
        ("docs/adr/0001-x.md", "# Hello\n", "adr"),
        ("docs/decisions/index.md", "# Hello\n", "markdown"),
        ("notes/x.md", MADR, "adr"),
        ("api.yaml", "#" + " long" * 500 + "\nopenapi: 3.1.0\n", "openapi"),
        ("api.yml", "swagger: '2.0'\n", "openapi"),
        ("api.yml", "\ufeffasyncapi: 3.0.0\r\n", "asyncapi"),
        ("values.yaml", "chart:\n  openapi: 3.1.0\n", "yaml"),
        ("api.json", '{"info": {"openapi": 1}, "openapi": "3.0.0"}', "openapi"),
        ("data.json", '{"info": {"openapi": "3.0.0"}}', "json"),
        ("data.json", '{"info": "\\"openapi\\": 3"}', "json"),
        ("a/Dockerfile.dev", "FROM x", "dockerfile"),
        ("GNUmakefile", "", "makefile"),
        ("bin/run", "#!/usr/bin/env bash\n", "shell"),
        ("bin/run", "#!/usr/bin/env python3\n", "python"),
        ("App.TSX", "", "typescript"),
        ("a.plantuml", "", "plantuml"),
        ("LICENSE", "", "text"),
        ("a.unknown", "openapi: 3", "text"),
    ],
)
def test_a_file_is_known_by_its_name_and_content(path: str, text: str, expected: str) -> None:
    """Content decides where the name leaves it open; a nested version key says nothing."""
    assert file_type(path, text) == expected


def test_every_type_has_a_kind_and_a_chunker() -> None:
    """None is named in one table only."""
    assert set(KIND_OF) == set(CHUNKERS)
    assert set(KIND_OF.values()) == {"docs", "api", "code", "config", "diagram"}
