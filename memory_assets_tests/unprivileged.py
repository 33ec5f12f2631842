"""Running a command that permissions apply to, also where the tests are run by root."""

from __future__ import annotations

import os
import shutil

import pytest

_CAPABILITIES = "-dac_override,-dac_read_search"


def _prefix() -> list[str]:
    if os.geteuid() != 0:
        return []
    setpriv = shutil.which("setpriv")
    if setpriv is None:
        reason = "permissions do not apply to root, and there is no setpriv"
        pytest.skip(reason, allow_module_level=True)
    return [setpriv, f"--bounding-set={_CAPABILITIES}"]


WITHOUT_PRIVILEGES = _prefix()
"""What to put before a command so that it may not read what its mode forbids."""
