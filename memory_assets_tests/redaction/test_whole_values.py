"""A finding goes with the whole value that it is a part of: nothing stays beside its tag."""

from __future__ import annotations

import re

from memory_assets.redaction import Redactor
from memory_assets_tests.sweep import sweep

DRAWN = "q8Kd93wdlsF93kdLs9fb"


@sweep(
    "text",
    [
        f"export API_KEY=acme_sk_{DRAWN}d93kXl2p/x9Kq2",
        f"export API_KEY=7/982/892:{DRAWN}",
        f"export API_KEY=7/982/892:{DRAWN}!",
        f"export API_KEY=7/982/892:{DRAWN}?",
        f"export API_KEY=7/982/892:{DRAWN}==",
    ],
)
def test_what_is_joined_to_a_secret_goes_with_it(text: str, redactor: Redactor) -> None:
    """Signs at its end, the rest of a drawn value, and numbers before a colon."""
    assert re.fullmatch(r"export API_KEY=<redacted:[^<>]+>", redactor.redact(text).text)


@sweep(
    "text, rest",
    [
        (f"export API_KEY={DRAWN}, and more", ", and more"),
        (f'{{"api_key": "{DRAWN}", "n": 1}}', '", "n": 1}'),
        (f"postgres://bob:{DRAWN}@db.acme.io/shop", "@db.acme.io/shop"),
        ("**the password is Harbor4711**", "**"),
        ("use *password: Harbor4711!*", "*"),
    ],
)
def test_what_only_follows_it_stays(text: str, rest: str, redactor: Redactor) -> None:
    """Punctuation, quotes, the host of an address, the end of Markdown's emphasis."""
    assert redactor.redact(text).text.endswith(f">{rest}")
