"""One redactor for all tests of the package: loading proves 350 canaries each time."""

from __future__ import annotations

import random
import re
from collections.abc import Callable, Iterator

import pytest

from memory_assets.redaction import Redactor, load_redactor
from memory_assets.redaction.at_rest import AtRest
from memory_assets.redaction.rules.formats import ALPHABETS
from memory_assets_tests.loaded_engines import loaded_each_time

_RUN = re.compile(r"\{([a-zA-Z]):(\d+)(?:,(\d*))?\}")
_UUID = "{h:8}-{h:4}-{h:4}-{h:4}-{h:12}"

Fake = Callable[..., str]


@pytest.fixture(scope="session")
def redactor() -> Redactor:
    """A redactor with default settings, under a key of its own."""
    return load_redactor(key=bytes(32))


@pytest.fixture(scope="module", autouse=True)
def at_rest() -> Iterator[None]:
    """No text is taken as clean because it was before: what tests redact twice is scanned twice.
    What is loaded twice is."""
    with pytest.MonkeyPatch.context() as patch, loaded_each_time():
        patch.setattr(AtRest, "__contains__", lambda self, text: False)
        yield


@pytest.fixture(scope="session")
def named() -> Callable[[str], str]:
    """Shows tags by their rule alone: `<redacted:github-token>`."""
    return lambda text: re.sub(r"(<redacted:[a-z0-9-]+):[0-9a-f]{12}>", r"\1>", text)


@pytest.fixture(scope="session")
def fake() -> Fake:
    """Makes a random token of a format, drawn otherwise than the package's own samples."""

    def make(template: str, seed: int = 0) -> str:
        source = random.Random(f"{template}{seed}")

        def characters(run: re.Match[str]) -> str:
            inside, least = ALPHABETS[run[1]], int(run[2])
            pool = [chr(c) for c in range(33, 127) if re.match(f"[{inside}]", chr(c))]
            pool = [c for c in pool if c.isalnum()]
            return "".join(source.choice(pool) for _ in range(least))

        return _RUN.sub(characters, template.replace("{uuid}", _UUID))

    return make
