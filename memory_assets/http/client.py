"""Requests to one HTTP server, over connections that stay open.

By http.client: importing httpx takes .15 s of CPU, and each of its requests four times as much.
"""

from __future__ import annotations

import threading
from base64 import b64encode
from http.client import HTTPConnection, HTTPException, HTTPMessage, HTTPSConnection
from urllib.parse import SplitResult, unquote, urlsplit

_LOOPBACK = ("127.0.0.1", "localhost", "::1")


class NoAnswer(Exception):
    """Nobody answers, or the connection broke; names the kind of error, and quotes nothing.
    `late`: an answer was awaited for as long as it may take."""

    def __init__(self, name: str, *, late: bool = False) -> None:
        super().__init__(name)
        self.late = late


class HttpServer:
    """A server at a base URL, for any number of threads; `token` is sent with each request. The
    proxy of the environment is asked for another machine only."""

    def __init__(self, url: str, token: str | None, timeout: float | None = None) -> None:
        self.url = url
        self._timeout = timeout
        self._headers = {"Content-Type": "application/json"}
        if token:
            self._headers["Authorization"] = f"Bearer {token}"
        self._of_thread = threading.local()

    def send(self, method: str, path: str, content: bytes | None = None) -> tuple[int, bytes]:
        """Return the status and the content of the answer to a request.

        Raises:
            NoAnswer: there is none.
        """
        status, _, answered = self.ask(method, path, content)
        return status, answered

    def ask(
        self, method: str, path: str, content: bytes | None = None
    ) -> tuple[int, HTTPMessage, bytes]:
        """Return the status, the headers and the content of the answer to a request.

        Raises:
            NoAnswer: there is none.
        """
        try:
            connection, prefix = self._connection()
            try:
                connection.request(method, prefix + path, content, self._headers)
                answer = connection.getresponse()
                return answer.status, answer.headers, answer.read()
            except BaseException:
                connection.close()  # the next request opens it again
                raise
        except (OSError, HTTPException) as error:
            raise NoAnswer(type(error).__name__, late=isinstance(error, TimeoutError)) from None

    def _connection(self) -> tuple[HTTPConnection, str]:
        """Return the connection of this thread, and what comes before paths."""
        connected: tuple[HTTPConnection, str] | None = getattr(self._of_thread, "connection", None)
        if connected is None:
            connected = self._of_thread.connection = self._connect(urlsplit(self.url))
        return connected

    def _connect(self, server: SplitResult) -> tuple[HTTPConnection, str]:
        secure = server.scheme == "https"
        kind = HTTPSConnection if secure else HTTPConnection
        host, port = str(server.hostname), server.port or (443 if secure else 80)
        proxy = _proxy(server)
        if proxy is None:
            return kind(host, port, timeout=self._timeout), server.path
        through = kind(str(proxy.hostname), proxy.port or 80, timeout=self._timeout)
        headers = {}
        if proxy.username:
            user = f"{unquote(proxy.username)}:{unquote(proxy.password or '')}"
            headers["Proxy-Authorization"] = f"Basic {b64encode(user.encode()).decode()}"
        if secure:
            through.set_tunnel(host, port, headers)
            return through, server.path
        self._headers |= headers
        return through, self.url


def _proxy(server: SplitResult) -> SplitResult | None:
    """Return the proxy that the environment names for a server, if it does."""
    if server.hostname in _LOOPBACK:
        return None
    from urllib.request import getproxies, proxy_bypass

    proxies = getproxies()
    named = proxies.get(server.scheme) or proxies.get("all")
    return None if not named or proxy_bypass(str(server.hostname)) else urlsplit(named)
