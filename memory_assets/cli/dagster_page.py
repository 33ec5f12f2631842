"""The ASGI application of `memory dev`: Dagster's webserver behind an access check.

Dagster's webserver has no access control, accepts any Host and Origin, and runs GraphQL
mutations sent by GET; no option of it or of dagster.yaml changes that. Its application is
built here from classes that are not public (checked against dagster-webserver 1.13.27) and
wrapped.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import dagster as dg
from dagster._core.workspace.context import WorkspaceProcessContext
from dagster._core.workspace.load_target import GrpcServerTarget
from dagster_webserver.webserver import DagsterWebserver
from starlette.types import ASGIApp

from memory_assets.serving.http_guard import PAGE_HEADERS, Guard, JsonPostOnly

LOCATION = "memory_assets"
"""Name of the code location, as in workspace.yaml."""
_POLL_MILLISECONDS = 2_000
"""How often an open page asks for what is new; `dagster dev` has the same."""


@contextmanager
def dagster_page(
    instance: dg.DagsterInstance,
    code_server: Path,
    *,
    hosts: Iterable[str] = (),
    token: str | None = None,
) -> Iterator[ASGIApp]:
    """Yield the page of an instance whose code server listens on the socket `code_server`.

    Refused are requests under a Host that is neither loopback nor in `hosts`, from pages of
    another origin, without the token (if there is one), and GraphQL operations by anything
    but JSON POST.
    """
    target = GrpcServerTarget(
        host="localhost", port=None, socket=str(code_server), location_name=LOCATION
    )
    with WorkspaceProcessContext(instance, target, version=dg.__version__) as context:
        server: DagsterWebserver[Any, Any] = DagsterWebserver(
            context, live_data_poll_rate=_POLL_MILLISECONDS
        )
        page = server.create_asgi_app()
        yield Guard(
            JsonPostOnly(page),
            hosts=hosts,
            token=token,
            headers=PAGE_HEADERS,
            asks_browsers=True,
        )
