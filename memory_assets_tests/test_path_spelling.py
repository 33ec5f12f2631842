"""One file of Windows is one, however it is spelled."""

from __future__ import annotations

import pytest

from memory_assets.path_spelling import one_spelling, relative_path
from memory_assets.redacted_text import seal

WINDOWS = r"C:\Users\ada\shop"


@pytest.mark.parametrize(
    ("path", "base"),
    [
        (r"C:\Users\ada\shop\conf\app.json", WINDOWS),
        ("C:/Users/ada/shop/conf/app.json", WINDOWS),
        (r"c:\Users\ada\shop/conf\app.json", WINDOWS),
        (r"conf\app.json", WINDOWS),
        (r"~/shop\conf\app.json", r"~\shop"),
        (r"~\shop\conf\app.json", "~/shop"),
        (r"\\server\share\shop\conf\app.json", "//server/share/shop"),
        ("/home/ada/shop/conf/app.json", "/home/ada/shop/"),
        ("./conf/app.json", "/home/ada/shop"),
    ],
)
def test_a_path_is_told_below_its_project_in_one_spelling(path: str, base: str) -> None:
    """Whichever way the path and the project's root are written."""
    assert relative_path(seal(path), [base]) == "conf/app.json"


@pytest.mark.parametrize(
    ("path", "spelled"),
    [
        (r"c:\Users\ada\a.py", "C:/Users/ada/a.py"),
        (r"~\shop\a.py", "~/shop/a.py"),
        (r"/home/ada/back\slash.py", r"/home/ada/back\slash.py"),
        (r"src/back\slash.py", r"src/back\slash.py"),
        ("~/shop/a.py", "~/shop/a.py"),
    ],
)
def test_only_a_path_of_windows_is_spelled_anew(path: str, spelled: str) -> None:
    """A backslash is a letter elsewhere."""
    assert one_spelling(path) == spelled
    elsewhere = relative_path(seal("/home/ada/app/src/a.py"), ["/home/ada/ap", ""])
    assert elsewhere == "/home/ada/app/src/a.py"
