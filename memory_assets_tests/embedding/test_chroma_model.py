"""The packaged model serves Chroma's own clients, with the same vectors."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from memory_assets.embedding import load_embedder
from memory_assets.embedding.chroma_model import stage_model
from memory_assets.errors import ConfigurationError

TEXTS = [
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
    theirs = np.array(ONNXMiniLM_L6_V2()(TEXTS))
    assert np.abs(theirs - load_embedder().embed(TEXTS)).max() < 1e-6

    (directory / "config.json").write_text("{}")
    with pytest.raises(ConfigurationError, match="another model"):
        stage_model(tmp_path)
