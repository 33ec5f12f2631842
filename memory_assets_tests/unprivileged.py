"""Being somebody whom permissions apply to, also where the tests are run by root."""

from __future__ import annotations

import ctypes
import os
import shutil
import sys
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

_CAPABILITIES = "-dac_override,-dac_read_search"
_MASK = (1 << 1) | (1 << 2)
"""CAP_DAC_OVERRIDE and CAP_DAC_READ_SEARCH, of capabilities(7)."""
_VERSION = 0x20080522


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


@contextmanager
def without_privileges() -> Iterator[None]:
    """Inside, this thread, and those that it starts, may not read what its mode forbids."""
    if os.geteuid() != 0:
        yield
        return
    if sys.platform != "linux":
        pytest.skip("permissions do not apply to root, who can give them up on Linux alone")
    words = (ctypes.c_uint32 * 6)()
    _call("capget", words)
    effective = words[0]
    words[0] = effective & ~_MASK
    _call("capset", words)
    try:
        yield
    finally:
        words[0] = effective
        _call("capset", words)


def _call(name: str, words: ctypes.Array[ctypes.c_uint32]) -> None:
    """Ask for or set the capabilities of this thread, as capset(2) has them."""
    header = (ctypes.c_uint32 * 2)(_VERSION, 0)
    if ctypes.CDLL(None, use_errno=True)[name](header, words) != 0:
        raise OSError(ctypes.get_errno(), name)
