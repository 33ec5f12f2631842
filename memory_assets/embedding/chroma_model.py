"""The packaged model in the form that Chroma's default embedding function loads.

Chroma would download a model of 80 MB from the network. With these files in its place it embeds
offline, and its vectors are those of our own embedder.
"""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from tempfile import mkdtemp
from typing import Final

from memory_assets.embedding.minilm import load_minilm
from memory_assets.embedding.minilm_graph import padded_minilm
from memory_assets.embedding.model_files import load_word_pieces, read_weights
from memory_assets.errors import ConfigurationError

_BELOW_HOME = Path(".cache", "chroma", "onnx_models", "all-MiniLM-L6-v2")
_DIRECTORY = "onnx"
_OWN = "memory_assets"
_PRODUCT: Final = "unsigned"
"""Exact on every processor: the files may be used on another machine than this one."""


def stage_model(home: Path) -> Path:
    """Write the files for who has this home directory, and return their directory. Files of an
    earlier call are replaced, all at once.

    Raises:
        ConfigurationError: another model is there.
        EmbedderUnavailable: the packaged model is not installed.
    """
    embedder_id = load_minilm().embedder_id
    above = home / _BELOW_HOME
    target = above / _DIRECTORY
    if target.exists() and _OWN not in _config(target):
        raise ConfigurationError(
            f"{target} holds another model, with other vectors; move it away, then try again"
        )
    pieces = load_word_pieces()
    files = {
        "config.json": json.dumps({_OWN: embedder_id}).encode(),
        "model.onnx": padded_minilm(read_weights(), pieces.max_tokens, _PRODUCT),
        "special_tokens_map.json": b"{}",
        "tokenizer_config.json": b"{}",
        "tokenizer.json": pieces.tokenizer_json().encode(),
        "vocab.txt": Path(__file__).with_name("vocab.txt").read_bytes(),
    }
    above.mkdir(parents=True, exist_ok=True)
    staging = Path(mkdtemp(prefix=".staging-", dir=above))
    try:
        for name, content in files.items():
            (staging / name).write_bytes(content)
        if target.exists():
            target.rename(staging / "replaced")
        staging.rename(target)
        shutil.rmtree(target / "replaced", ignore_errors=True)
    finally:
        shutil.rmtree(staging, ignore_errors=True)
    return target


def _config(directory: Path) -> str:
    try:
        return (directory / "config.json").read_text("utf-8", "replace")
    except OSError:
        return ""
