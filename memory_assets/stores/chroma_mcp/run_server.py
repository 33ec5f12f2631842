"""Runs chroma-mcp so that it ends with whoever started it.

This file is run by the Python of chroma-mcp's own environment, which has nothing of ours. The SDK
1.6.0 there waits for ever when its standard input is closed, so that a client which is killed would
leave a process behind.
"""

from __future__ import annotations

import importlib
import os
import select
import threading

_INPUT = 0


def _end_with_input() -> None:
    """Wait until nobody can write to the standard input any more, and end this process."""
    waiting = select.poll()
    waiting.register(_INPUT, 0)  # of no event but the end, which is always told
    waiting.poll()
    os._exit(0)


if __name__ == "__main__":
    os.environ["ORT_DISABLE_TELEMETRY"] = "1"  # chroma-mcp embeds with onnxruntime
    threading.Thread(target=_end_with_input, daemon=True).start()
    importlib.import_module("chroma_mcp").main()
