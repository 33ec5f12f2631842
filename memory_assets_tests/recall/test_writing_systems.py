"""Words are found in every script, however they were typed, and nothing else is taken for a hit."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterator

import pytest

from memory_assets.pipeline.stage.components import Components
from memory_assets.recall import Memory, open_memory
from memory_assets.recall.search.excerpts import excerpt, marked_words
from memory_assets.requests.search import MODES
from memory_assets.stores.chroma import server as chroma_server
from memory_assets_tests.conftest import forget_own_settings, settings_of_copy
from memory_assets_tests.pipeline.conftest import STAGES, run_stages
from memory_assets_tests.transcript_files import claude_line, write_lines

SAID = {
    "chinese": ("修改youer服务端的计划，先看日志", "服务端的计划改好了：youer先轮询再写库。"),
    "japanese": (
        "猫の写真が表示されない",
        "キャッシュの鍵が衝突していたので、猫の写真が消えていた。",
    ),
    "korean": ("학점인정 목록이 비어 있다", "학점인정 쿼리의 조인이 틀려서 책이 비었다."),
    "french": (
        "Le café du marché n'apparaît pas dans la liste",
        "Le café était filtré par la date de marché.",
    ),
    "thai": ("ทำไมรายงานภาษีไม่ออก", "รายงานภาษีไม่ออกเพราะงวดปิดแล้ว"),
    "hindi": ("मेनू में दाल क्यों नहीं दिखती", "दाल की कीमत खाली थी इसलिए नहीं दिखती।"),
    "wide": ("ＡＰＩ の ｷｬｯｼｭ を消す", "全角ＡＰＩのｷｬｯｼｭを消した。"),
    "german": ("The straße table has ﬁle entries twice", "Deduplicated them in straße."),
    "arabic": ("لماذا لا يظهر التقرير المالي", "التقرير المالي لا يظهر لأن الإعدادات مغلقة."),
    "russian": ("Почему отчёт по складу пустой?", "Отчёт пустой: фильтр сравнивал строки."),
    "khmer": ("របាយការណ៍ពន្ធមិនចេញ", "កែហើយ"),
    "emoji": ("Deploy is 🔥🔥 broken since the 🦊 release", "Rolled back the release."),
    "weather": ("何も関係ない話：天気", "晴れです。"),
    "linter": ("Bump the linter to 9", "Bumped."),
    "compounds": (
        "Der Zahlungsdienst antwortet nicht",
        "Ich habe den Zwischenspeicher geleert, weil die Auftragswarteschlange voll war.",
    ),
    "log": ("로그를 지워줘", "지웠다."),
}
"""What a person and an agent said in each session, by the session's name."""
FOUND = [
    ("youer", "chinese"),
    ("计划", "chinese"),
    ("猫", "japanese"),
    ("학점인정", "korean"),
    (unicodedata.normalize("NFD", "학점인정"), "korean"),
    ("책", "korean"),
    ("café marché", "french"),
    (unicodedata.normalize("NFD", "café marché"), "french"),
    ("cafe marche", "french"),
    ("ภาษี", "thai"),
    ("ออก", "thai"),
    ("दाल", "hindi"),
    ("API キャッシュ", "wide"),
    ("ＡＰＩ", "wide"),
    ("ｷｬｯｼｭ ＡＰＩ", "wide"),
    ("file entries straße", "german"),
    ("STRASSE", "german"),
    ("الاعدادات", "arabic"),
    ("отчет склад", "russian"),
    ("ОТЧЁТ", "russian"),
    ("ពន្ធ", "khmer"),
    ("天気", "weather"),
    ("dienst", "compounds"),
    ("Speicher", "compounds"),
    ("warteschlange", "compounds"),
    ("Schlange", "compounds"),
    ("로그", "log"),
]
UNKNOWN = ("🐙", "🚢🚢", "犬", "餃子の作り方", "버그", "цена", "ราคา", "बिल्ली")


@pytest.fixture(scope="module")
def memory(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Memory]:
    """A memory of these sessions, of one turn each."""
    root = tmp_path_factory.mktemp("scripts")
    projects = root / "transcripts" / "claude" / "projects"
    for day, (name, said) in enumerate(SAID.items(), 1):
        when = f"2026-09-{day:02}T10:00:00.000Z"
        lines = [
            claude_line(name, at, text, "/home/mira/menu", when) for at, text in enumerate(said)
        ]
        write_lines(projects / "-home-mira-menu" / f"{name}.jsonl", lines)
    with pytest.MonkeyPatch.context() as patch:
        forget_own_settings(patch, root / "home")
        settings = settings_of_copy(root)
        components = Components(settings)
        components.opened["install_key"] = bytes(range(32))
        run_stages(components, STAGES)
    yield open_memory(settings)
    chroma_server.stop(settings.data_dir)


@pytest.mark.parametrize("mode", ["keyword", "hybrid"])
def test_words_find_their_session(memory: Memory, mode: str) -> None:
    """Composed or decomposed, wide or narrow, with or without accents, a single character of what
    is written without blanks, and the last part of a German compound."""
    for asked, session in FOUND:
        answer = memory.search(asked, mode=mode, n=3)
        assert answer.hits and not answer.weak, asked
        assert answer.hits[0].metadata["session_id"] == session, (asked, answer.hits[0].id)


@pytest.mark.parametrize("mode", MODES[:3])
def test_what_neither_words_nor_the_model_know_has_no_close_hit(memory: Memory, mode: str) -> None:
    """The model knows letters of many scripts, but words of few."""
    for asked in UNKNOWN:
        answer = memory.search(asked, mode=mode, n=3)
        assert all(hit.weak for hit in answer.hits), (asked, answer.hits[0].id)


def test_an_excerpt_shows_the_character_that_was_asked_for(memory: Memory) -> None:
    """As the sentence that has the question's words."""
    hit = memory.search("책", n=1).hits[0]
    assert "책이" in excerpt(hit.text, "책", 200, hit.prompt_length)
    pieces = list(marked_words("빈 책이 있다", "책"))
    assert [piece for piece, asked in pieces if asked] == ["책이"]
    assert "".join(piece for piece, _ in pieces) == "빈 책이 있다"
