"""Engines that a test session loads once, for many memories."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from memory_assets import embedding
from memory_assets.embedding import minilm, model_files
from memory_assets.pipeline.stage.components import Components
from memory_assets.redaction import Redactor, redactor, version
from memory_assets.redaction.settings import RedactionSettings
from memory_assets.settings import load_settings


def load_engines(*names: str) -> dict[str, Any]:
    """Return the real engines of these names, and their key, which is always the same."""
    loaded = Components(load_settings(data_dir=Path("nowhere")))
    loaded.opened["install_key"] = bytes(range(32))
    return {name: getattr(loaded, name) for name in ("install_key", *names)}


def give(components: Components, engines: Mapping[str, Any]) -> None:
    """Have a memory use these engines, by the names of its properties, instead of loading some."""
    components.opened.update(engines)
    of_runs = {"embedder", "summarizer"} & engines.keys()
    vars(components).update({name: engines[name] for name in of_runs})


_embed, _build, _version = minilm.MiniLM._embed, redactor.build_redactor, version.version_of
_OF_PROCESSES = (
    (minilm.MiniLM, "_embed", _embed),
    (minilm, "read_weights", model_files.read_weights),
    (minilm, "_start_session", minilm._start_session),
    (minilm, "load_word_pieces", model_files.load_word_pieces),
    (model_files, "load_word_pieces", model_files.load_word_pieces),
    (embedding, "load_word_pieces", model_files.load_word_pieces),
    (redactor, "build_redactor", _build),
    (redactor, "version_of", _version),
    (version, "version_of", _version),
)
"""Pure functions of what is packaged, as each process of ours runs them once."""


@contextmanager
def loaded_once() -> Iterator[None]:
    """Have this process load model and rules once, though each test begins as a process does, and
    embed each text once: most tests take in the same sample, of whose CPU these are two thirds."""
    vectors: dict[str, NDArray[np.float32]] = {}
    loaded: dict[tuple[Any, ...], Redactor] = {}
    versions: dict[tuple[Any, ...], str] = {}

    def embed(model: minilm.MiniLM, texts: Sequence[str]) -> NDArray[np.float32]:
        missing = [text for text in dict.fromkeys(texts) if text not in vectors]
        vectors.update(zip(missing, _embed(model, missing), strict=True) if missing else ())
        known = [vectors[text] for text in texts]
        return np.array(known, dtype=np.float32).reshape(len(texts), model.dimension)

    def build(
        settings: RedactionSettings, rows: Any, anchored: Any, key: bytes, *, shipped: bool = False
    ) -> Redactor:
        if not shipped:
            return _build(settings, rows, anchored, key)
        which = (settings, id(rows), id(anchored))
        if which not in loaded:
            loaded[which] = _build(settings, rows, anchored, key, shipped=True)
        first = loaded[which]
        return Redactor(first._scanner, settings, first.ruleset_version, key)

    def version_of(settings: RedactionSettings, rows: Any, anchored: Any) -> str:
        which = (settings, id(rows), id(anchored))
        if which not in versions:
            versions[which] = _version(settings, rows, anchored)
        return versions[which]

    once = {"_embed": embed, "build_redactor": build, "version_of": version_of}
    pieces = cache(model_files.load_word_pieces)
    with pytest.MonkeyPatch.context() as patch:
        for owner, name, plain in _OF_PROCESSES:
            default = pieces if name == "load_word_pieces" else cache(plain)
            patch.setattr(owner, name, once.get(name, default))
        yield


@contextmanager
def loaded_each_time() -> Iterator[None]:
    """Undo `loaded_once` for tests of the loading itself."""
    with pytest.MonkeyPatch.context() as patch:
        for owner, name, plain in _OF_PROCESSES:
            patch.setattr(owner, name, plain)
        yield
