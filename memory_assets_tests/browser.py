"""Headless Chromium, steered over its debugging protocol
(https://chromedevtools.github.io/devtools-protocol/): one process for all that a test asks."""

from __future__ import annotations

import base64
import json
import shutil
import subprocess
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any
from urllib.request import urlopen

import uvicorn
from starlette.types import ASGIApp
from websockets.sync.client import ClientConnection, connect

from memory_assets.serving.http_server import bind, url_of

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")
AXE = Path(__file__).parent.parent / "node_modules" / "axe-core" / "axe.min.js"
"""Where `make test` puts what checks pages for accessibility."""
_RULES = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"]
_PATIENCE = 60.0
"""Seconds after which something that is waited for does not come."""
_QUIET = (
    *("--headless=new", "--no-sandbox", "--no-first-run", "--disable-sync", "--disable-gpu"),
    *("--disable-background-networking", "--disable-component-update", "--hide-scrollbars"),
    "--disable-dev-shm-usage",
)
_KEYS = {
    **{"Enter": ("\r", 13), "Tab": ("\t", 9), "Escape": ("", 27), "ArrowDown": ("", 40)},
    "Home": ("", 36),
}


class BrowserError(Exception):
    """The browser could not do what it was told: most often, because the page changes just now."""


class Browser:
    """One tab. Whatever it loads, says on its console or refuses by its policy is kept."""

    def __init__(self, socket: ClientConnection) -> None:
        self._socket = socket
        self._number = 0
        self.requested: list[str] = []
        self.messages: list[str] = []
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.call(f"{domain}.enable")

    def call(self, method: str, **parameters: Any) -> dict[str, Any]:
        """Return the result of a command of the protocol."""
        self._number += 1
        asked = {"id": self._number, "method": method, "params": parameters}
        self._socket.send(json.dumps(asked))
        while True:
            said = json.loads(self._socket.recv(timeout=_PATIENCE))
            if said.get("id") == self._number:
                if "error" in said:
                    raise BrowserError(said["error"])
                result: dict[str, Any] = said["result"]
                return result
            self._note(said)

    def _note(self, said: dict[str, Any]) -> None:
        about = said.get("params", {})
        match said.get("method"):
            case "Network.requestWillBeSent":
                self.requested.append(about["request"]["url"])
            case "Log.entryAdded":
                self.messages.append(about["entry"]["text"])
            case "Runtime.exceptionThrown":
                self.messages.append(json.dumps(about["exceptionDetails"]))
            case "Page.javascriptDialogOpening":
                self.messages.append(f"dialog: {about['message']}")
                self._socket.send(
                    json.dumps(
                        {
                            "id": 10**9 + self._number,
                            "method": "Page.handleJavaScriptDialog",
                            "params": {"accept": True},
                        }
                    )
                )

    def evaluate(self, expression: str) -> Any:
        """Return the value of an expression in the page; of a promise, what it resolves to."""
        found = self.call(
            "Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True
        )
        if "exceptionDetails" in found:
            raise BrowserError(found["exceptionDetails"])
        return found["result"].get("value")

    def wait_for(self, expression: str) -> Any:
        """Return the value of an expression as soon as it is true; fail after a minute."""
        deadline = time.monotonic() + _PATIENCE
        while time.monotonic() < deadline:
            with suppress(BrowserError):
                value = self.evaluate(f"document.readyState === 'complete' && ({expression})")
                if value:
                    return value
            time.sleep(0.05)
        raise AssertionError(f"in vain: {expression}\n{self.evaluate('document.body.innerText')}")

    def open(self, url: str) -> None:
        """Go to an address, and wait until the page is loaded, also if it was there already: to
        another place of the same page Chromium only scrolls."""
        if "#" in url:
            self.open("about:blank")
        self.evaluate("window.left = true")
        self.call("Page.navigate", url=url)
        self.wait_for("!window.left")

    def forget(self) -> None:
        """Leave the page, and forget what it requested and said."""
        self.open("about:blank")
        self.requested.clear()
        self.messages.clear()

    def size(self, width: int, height: int = 900, *, dark: bool = False) -> None:
        """Set the size of the page, and the colours that the reader prefers."""
        metrics = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": width < 600}
        self.call("Emulation.setDeviceMetricsOverride", **metrics)
        scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        self.call("Emulation.setEmulatedMedia", features=[scheme])

    def press(self, *keys: str) -> None:
        """Press keys, one after the other."""
        for key in keys:
            text, code = _KEYS.get(key, (key, 0))
            shared = {"key": key, "windowsVirtualKeyCode": code}
            down = {"type": "keyDown" if text else "rawKeyDown", "text": text}
            self.call("Input.dispatchKeyEvent", **down, **shared)
            self.call("Input.dispatchKeyEvent", type="keyUp", **shared)

    def violations(self) -> list[str]:
        """Return the rules of accessibility (WCAG 2.2 A and AA, and best practices) that the page
        violates by axe-core, each with an element that does."""
        # What is out of sight gets its place when it comes in sight, while axe measures places.
        self.evaluate(
            "document.querySelectorAll('.turn').forEach((each) => "
            "{ each.style.contentVisibility = 'visible'; })"
        )
        self.evaluate(f"{AXE.read_text(encoding='utf-8')}; true")
        found: list[str] = self.evaluate(
            f"axe.run({{runOnly: {_RULES}}}).then((result) => result.violations.map((each) => "
            "`${each.id} (${each.impact}), ${each.nodes.length}: ${each.nodes[0].html}`))"
        )
        return found

    def picture(self, file: Path, *, whole: bool = False) -> None:
        """Write what is to be seen, or the `whole` page, as PNG."""
        found = self.call("Page.captureScreenshot", format="png", captureBeyondViewport=whole)
        file.write_bytes(base64.b64decode(found["data"]))


@contextmanager
def served(site: ASGIApp) -> Iterator[str]:
    """Serve an application on a free port while the block lasts; yield its address."""
    bound = bind("127.0.0.1", 0)
    server = uvicorn.Server(uvicorn.Config(site, log_level="warning", lifespan="off"))
    thread = threading.Thread(target=server.run, kwargs={"sockets": [bound]})
    thread.start()
    try:
        yield url_of(bound)
    finally:
        server.should_exit = True
        thread.join(_PATIENCE)


@contextmanager
def chromium(directory: Path) -> Iterator[Browser]:
    """Start Chromium with a profile in a directory, and end it."""
    command = [str(CHROMIUM), *_QUIET, "--remote-debugging-port=0", f"--user-data-dir={directory}"]
    with subprocess.Popen(
        [*command, "about:blank"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    ) as process:
        try:
            deadline = time.monotonic() + _PATIENCE
            port_file = directory / "DevToolsActivePort"
            while not (port_file.exists() and port_file.read_text().count("\n")):
                assert process.poll() is None and time.monotonic() < deadline, "no Chromium"
                time.sleep(0.05)
            port = port_file.read_text().split("\n")[0]
            with urlopen(f"http://127.0.0.1:{port}/json/list", timeout=_PATIENCE) as answer:
                (tab,) = [each for each in json.load(answer) if each["type"] == "page"]
            with connect(tab["webSocketDebuggerUrl"], max_size=None) as socket:
                yield Browser(socket)
        finally:
            process.terminate()
            process.wait(_PATIENCE)
