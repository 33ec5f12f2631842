"""`memory doctor`: check each part of the installation, and print what is missing."""

from __future__ import annotations

import json
import os
import platform
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import asdict, dataclass
from datetime import datetime
from http import HTTPStatus
from importlib.util import find_spec
from pathlib import Path

from memory_assets import __version__
from memory_assets.cli import exit_codes
from memory_assets.cli.printing import rendering
from memory_assets.cli.printing.rendering import layout_of_output
from memory_assets.errors import EmbedderUnavailable, MemoryAssetsError, StoreError
from memory_assets.http.client import HttpServer, NoAnswer
from memory_assets.http.endpoint_use import EndpointUse, is_endpoint
from memory_assets.http.model_endpoint import EndpointFailed, ModelEndpoint, parse_endpoint
from memory_assets.install_key import KEY_FILE, load_install_key
from memory_assets.paths import (
    IS_CHECKOUT,
    SETTINGS_FILE,
    WHERE_ROOTS_ARE_SET,
    home_variables,
    is_sample,
    places_in_words,
    roots_in_words,
    tombstones_copies,
    user_cache_dir,
    user_config_dir,
)
from memory_assets.requests.times import spoken_time
from memory_assets.settings import Settings
from memory_assets.status.words import counted, in_words, shares_of
from memory_assets.stores.catalog.catalog import CATALOG_FILE
from memory_assets.stores.files.shared import is_writable
from memory_assets.stores.vector_store import server_address

_LOW_DISK_BYTES = 1_000_000_000
_GIT_SECONDS = 10
_ANSWER_SECONDS = 5.0
_CHROMA = "/api/v2/tenants/default_tenant/databases/default_database/collections_count"
_SUMMARIZER = "MEMORY_SUMMARIZER"
_TELEMETRY = Path("Microsoft", "DeveloperTools", ".onnxruntime")
"""Where onnxruntime 1.31 keeps unsent telemetry: in the user's cache, on macOS beside the user's
configuration."""
Note = Callable[[EndpointUse], None]
"""Notes a request to an endpoint, for `memory costs`."""


@dataclass(frozen=True)
class Finding:
    """The result of one check: `ok`, the state that was found, and a remedy if it is wrong."""

    ok: bool
    found: str
    remedy: str = ""


def diagnose(settings: Settings) -> Iterator[tuple[str, Finding]]:
    """Yield name and finding of each part of the installation.

    Servers that the settings name are asked, for `_ANSWER_SECONDS` at most. Creates the cache of
    compiled rules and the install key if they are missing, notes its requests to models (`memory
    costs`), and changes nothing else.
    """
    for name, check in _CHECKS.items():
        try:
            yield name, check(settings)
        except MemoryAssetsError as error:
            message, _, remedy = str(error).partition(". ")
            yield name, Finding(False, message, remedy)


def show_diagnosis(settings: Settings, *, as_json: bool) -> int:
    """Print each finding as soon as it is known, and return the exit code: 1 if one is wrong."""
    findings = []
    for name, finding in diagnose(settings):
        findings.append({"name": name, **asdict(finding)})
        if not as_json:
            rendering.print_lines(_lines(name, finding))
    wrong = sum(not finding["ok"] for finding in findings)
    if as_json:
        rendering.print_json({"ok": not wrong, "findings": findings})
    else:
        rendering.print_lines(
            [f"{counted(wrong, 'problem')} found." if wrong else "No problems found."]
        )
    return exit_codes.ERROR if wrong else exit_codes.FINE


def _lines(name: str, finding: Finding) -> Iterator[str]:
    layout = layout_of_output()
    first = "ok    " if finding.ok else "wrong "
    for line in f"{name}: {finding.found}\n{finding.remedy}".splitlines():
        yield from layout.hanging(first, line.strip())
        first = "      "


def _package(settings: Settings) -> Finding:
    kind = "a checkout" if IS_CHECKOUT else "installed"
    python = f"Python {platform.python_version()} on {platform.system()} {platform.machine()}"
    return Finding(True, f"memory_assets {__version__}, {kind}, {python}")


def _settings(settings: Settings) -> Finding:
    variables = sorted(variable for variable in os.environ if variable.startswith("MEMORY_"))
    file = str(SETTINGS_FILE) if SETTINGS_FILE.exists() else f"no {SETTINGS_FILE}"
    return Finding(True, f"{file}; set: {', '.join(variables) or 'no MEMORY_ variable'}")


def _data_directory(settings: Settings) -> Finding:
    existing = settings.data_dir
    if not is_writable(existing):
        remedy = "Set MEMORY_DATA_DIR to a directory that you can write."
        if (existing / CATALOG_FILE).exists():
            remedy = (
                "What is there can be searched as it is. To change it, run `memory` where the "
                "directory can be written, or correct its permissions."
            )
        return Finding(False, f"{existing} cannot be written", remedy)
    while not existing.exists():
        existing = existing.parent
    free = shutil.disk_usage(existing).free
    state = f"{settings.data_dir}, {free / 1e9:.1f} GB free"
    remedy = "Free some room: a memory takes about as much as the transcripts."
    return Finding(free > _LOW_DISK_BYTES, state, remedy if free <= _LOW_DISK_BYTES else "")


def _key(settings: Settings) -> Finding:
    from memory_assets.stores.tombstones import Tombstones

    key = load_install_key()
    path = user_config_dir() / KEY_FILE
    copies = tombstones_copies(settings.data_dir)
    unknown = [str(copy) for copy in copies if not Tombstones(copy, key).is_of_our_key()]
    if not unknown:
        return Finding(True, f"{path}: keep it with your backups")
    remedy = (
        "Texts that were cut out under it, and forks of sessions that were forgotten under it, are "
        f"not known any more: restore {path}, or delete what was written under the other one."
    )
    state = f"{', '.join(unknown)} was written under another install key, or is damaged"
    return Finding(False, state, remedy)


def _transcripts(settings: Settings) -> Finding:
    from memory_assets.status.disk import roots_to_read
    from memory_assets.status.ledger_sources import LedgerSources
    from memory_assets.stores.catalog.catalog import catalog_of
    from memory_assets.transcripts import discover

    with closing(catalog_of(settings.data_dir)) as catalog:
        roots = roots_to_read(settings, catalog)
        on_record = LedgerSources(catalog.sources.rows())  # so that no file on record is opened
    missing = {
        agent: gone
        for agent, paths in roots.items()
        if (gone := tuple(path for path in paths if not path.is_dir()))
    }
    if missing:
        variables = ", ".join(home_variables().values())
        remedy = f"Correct {variables or WHERE_ROOTS_ARE_SET}."
        return Finding(False, f"no directory {roots_in_words(missing)}", remedy)
    if not settings.transcript_roots():
        return Finding(False, "no agent is selected", "Correct MEMORY_AGENTS.")
    if not roots:
        remedy = f"Set {WHERE_ROOTS_ARE_SET} to where they are."
        return Finding(False, "no agent's directory is there", remedy)
    if is_sample(roots):
        remedy = f"Set {WHERE_ROOTS_ARE_SET} if they are elsewhere."
        return Finding(True, "none found; the sample sessions would be used", remedy)
    # Files of one session may be in several projects.
    numbers = {
        agent: len({source.session_id for source in discover({agent: paths}, on_record)})
        for agent, paths in roots.items()
    }
    lines = (
        f"\n      {agent}: {counted(number, 'session')} in {places_in_words(roots[agent])}"
        for agent, number in numbers.items()
    )
    total = counted(sum(numbers.values()), "session")
    return Finding(True, f"{total} of {counted(len(roots), 'agent')}{''.join(lines)}")


def _redaction(settings: Settings) -> Finding:
    from memory_assets.pipeline.stage.engines import redaction_settings
    from memory_assets.redaction import load_redactor

    redactor = load_redactor(redaction_settings(settings), load_install_key(), test=True)
    engine = "hyperscan" if find_spec("hyperscan") else "Python's own engine, which is slower"
    return Finding(True, f"rules {redactor.ruleset_version}, {engine}")


def _second_scanner(settings: Settings) -> Finding:
    if find_spec("kingfisher_sdk"):
        return Finding(True, "Kingfisher")
    return Finding(True, "none: Kingfisher has no wheel for this platform")


def _embedding(settings: Settings) -> Finding:
    from memory_assets.embedding import load_embedder
    from memory_assets.paths import NO_EMBEDDER

    if settings.embedder == NO_EMBEDDER:
        return Finding(True, "none (MEMORY_EMBEDDER=none): searches match words only")
    if not is_endpoint(settings.embedder):
        return Finding(True, load_embedder(settings.embedder).embedder_id)
    from memory_assets.embedding.endpoint import EndpointEmbedder

    def embed(model: str, server: HttpServer, note: Note) -> None:
        EndpointEmbedder(model, [server], patient=False, note=note).embed(["ready"])

    return _model(settings, "MEMORY_EMBEDDER", settings.embedder, settings.embedder_key, embed)


def _summaries(settings: Settings) -> Finding:
    if not is_endpoint(settings.summarizer):
        return Finding(True, settings.summarizer)

    def chat(model: str, server: HttpServer, note: Note) -> None:
        endpoint = ModelEndpoint(_SUMMARIZER, model, [server], patient=False, note=note)
        messages = [{"role": "user", "content": "Say: ready"}]
        endpoint.ask("chat/completions", {"messages": messages, "max_tokens": 1}, bool)

    return _model(settings, _SUMMARIZER, settings.summarizer, settings.summarizer_key, chat)


def _model(
    settings: Settings,
    setting: str,
    value: str,
    key: str | None,
    ask: Callable[[str, HttpServer, Note], None],
) -> Finding:
    """Send one request, which costs a few tokens, to each endpoint of a model."""
    from memory_assets.stores.gateway_usage import FILE_NAME, request_noter

    uses: list[EndpointUse] = []
    store_use = request_noter(settings.data_dir / FILE_NAME, "doctor")

    def note(use: EndpointUse) -> None:
        uses.append(use)
        store_use(use)

    answers: list[str] = []
    wrong = False
    try:
        model, servers = parse_endpoint(setting, value, key, _ANSWER_SECONDS)
    except EndpointFailed as failed:
        return Finding(False, str(failed), f"Correct {setting}.")
    for server in servers:
        try:
            ask(model, server, note)
            answers.append(f"{uses[-1].provider} answers in {uses[-1].latency_ms} ms")
        except (EndpointFailed, EmbedderUnavailable) as failed:
            wrong = True
            answers.append(str(failed))
    fallback = "summaries are extracted" if setting == _SUMMARIZER else "words alone are searched"
    remedy = f"Start it, or correct {setting}; until then, {fallback}."
    return Finding(not wrong, f"{model}: {'; '.join(answers)}", remedy if wrong else "")


def _server(name: str, setting: str, address: str, key: str | None, path: str) -> Finding:
    """Ask a vector server (`Chroma` or `qdrant`) for its collections at `path`."""
    began = time.monotonic()
    try:
        status, body = HttpServer(address, key, _ANSWER_SECONDS).send("GET", path)
    except NoAnswer as error:
        remedy = f"Start it, or correct {setting}."
        late = f" within {_ANSWER_SECONDS:.0f} s" if error.late else ""
        return Finding(False, f"{address} does not answer{late} ({error})", remedy)
    took = f"in {(time.monotonic() - began) * 1000:.0f} ms"
    if status != HTTPStatus.OK:
        key_of = {"Chroma": "MEMORY_CHROMA_TOKEN", "qdrant": "QDRANT_API_KEY"}[name]
        remedy = f"Correct {key_of if status in (401, 403) else setting}."
        return Finding(False, f"{address} answers HTTP {status} {took}", remedy)
    try:
        answer = json.loads(body)
        number = len(answer["result"]["collections"]) if name == "qdrant" else int(answer)
    except (ValueError, TypeError, KeyError):
        return Finding(False, f"{address} is no {name} server", f"Correct {setting}.")
    return Finding(True, f"{address} answers {took}: {counted(number, 'collection')}")


def _qdrant(settings: Settings) -> Finding:
    if settings.vector_backend != "qdrant":
        return Finding(True, "not used")
    from memory_assets.stores.qdrant.collections import PORTS, QdrantStore, is_directory

    url = str(settings.qdrant_url)
    key = settings.qdrant_api_key
    if not is_directory(url):
        address = server_address("QDRANT_URL", url, *PORTS)
        return _server("qdrant", "QDRANT_URL", address, key, "/collections")
    prefix = f"{settings.tenant}." if settings.tenant else ""
    held = QdrantStore(url, key, prefix).names()
    return Finding(True, f"{counted(len(held), 'collection')} of ours in {url}")


def _chroma_mcp(settings: Settings) -> Finding:
    if settings.mcp_endpoint is None:
        return Finding(True, "none (MCP_ENDPOINT is not set): the journal")
    from memory_assets.stores.chroma_mcp.adapter import ChromaMcpVectorStoreAdapter
    from memory_assets.stores.chroma_mcp.session import McpSession

    began = time.monotonic()
    session = McpSession(settings.mcp_endpoint, seconds=_ANSWER_SECONDS)
    prefix = f"{settings.tenant}." if settings.tenant else ""
    store = ChromaMcpVectorStoreAdapter(
        session, settings.data_dir / "chroma.lock", prefix=f"{prefix}{settings.mcp_prefix}"
    )
    try:
        number = len(store.list_collections())
    except StoreError as error:
        return Finding(False, str(error), "Start it, or correct MCP_ENDPOINT.")
    finally:
        store.close()
    took = f"in {(time.monotonic() - began) * 1000:.0f} ms"
    state = f"{settings.mcp_endpoint} answers {took}: {counted(number, 'collection')}"
    return Finding(True, state)


def _chroma(settings: Settings) -> Finding:
    from memory_assets.stores.chroma import client as chroma_client
    from memory_assets.stores.chroma import files as chroma_files
    from memory_assets.stores.chroma import server as chroma_server

    if settings.vector_backend != "chromadb":
        return Finding(True, f"not used (VECTOR_BACKEND={settings.vector_backend})")
    if settings.chroma_url:
        setting = "MEMORY_CHROMA_URL"
        address = server_address(setting, settings.chroma_url, *chroma_client.PORTS)
        return _server("Chroma", setting, address, settings.chroma_token, _CHROMA)
    if chroma_server.is_wedged(settings.data_dir):
        remedy = "Run `memory ingest`: it ends this server, and starts another."
        return Finding(False, "our own server does not answer, or cannot write", remedy)
    if chroma_server.running(settings.data_dir) is not None:
        return Finding(True, "our own server, running")
    wrong = chroma_files.damage(settings.data_dir / "chroma")
    remedy = "Run `memory ingest`: it rebuilds the collections without embedding."
    return Finding(wrong is None, wrong or "our own server, stopped", remedy if wrong else "")


def _shard(settings: Settings) -> Finding:
    if settings.shard is None:
        return Finding(True, "none (MEMORY_SHARD is not set)")
    from memory_assets.cli.shard_commands import own_shard
    from memory_assets.stores.shard.replicas import replicas_of

    own = own_shard(settings)[1]
    head = own.head()
    pulled = len(replicas_of(settings.data_dir))
    state = f"pushed {head.written_at}" if head else "not pushed yet"
    return Finding(True, f"{own.url}, {state}; {counted(pulled, 'other')} pulled")


def _git(settings: Settings) -> Finding:
    remedy = "Install git: without it, sessions are not linked to commits."
    try:
        done = subprocess.run(
            ["git", "--version"], capture_output=True, text=True, timeout=_GIT_SECONDS, check=True
        )
    except (OSError, subprocess.SubprocessError):
        return Finding(False, "not found", remedy)
    return Finding(True, done.stdout.strip())


def _memory(settings: Settings) -> Finding:
    from memory_assets.status.status import status
    from memory_assets.status.words import sample_note
    from memory_assets.stores.catalog.catalog import catalog_of

    if not (settings.data_dir / CATALOG_FILE).exists():
        return Finding(True, "nothing yet", "Run `memory ingest`.")
    current = status(settings)
    behind = [line for well, line in in_words(current["coverage"]) if not well]
    sessions = current["sessions"]
    held = len(current["quarantined"])
    see = ["Run `memory status` for cause and remedy of each."] if held else behind
    with closing(catalog_of(settings.data_dir)) as catalog:
        spoken = catalog.spoken_projects()
    remedy = " ".join([*see, *sample_note(current, spoken)])
    state = ": ".join(filter(None, (counted(sessions["total"], "session"), shares_of(sessions))))
    state += f"; {held} held back" if held else ""
    return Finding(not held and not behind, state, remedy)


def _telemetry(settings: Settings) -> Finding:
    bases = (user_cache_dir().parent, user_config_dir().parent)
    left = next((base / _TELEMETRY for base in bases if (base / _TELEMETRY).exists()), None)
    if left is None:
        return Finding(True, "off")
    remedy = (
        "They are not read or sent by this version. Delete `deviceid` and `onnxruntime.db` there, "
        "unless another program of yours is to go on with them: all that use onnxruntime share "
        "them, and which one wrote them cannot be told."
    )
    return Finding(True, f"off; {left} has a device id and events of before", remedy)


def _agents_memory(settings: Settings) -> Finding:
    from memory_assets.stores.agents.journal import FILE_NAME
    from memory_assets.stores.agents.journal_file import (
        copied_at,
        damage_of,
        is_lost,
        require_journal,
    )

    path = settings.data_dir / FILE_NAME
    copy_time = copied_at(path)
    copied = "no copy yet"
    if copy_time is not None:
        copied = f"copied {spoken_time(datetime.fromtimestamp(copy_time))}"
    if wrong := damage_of(path):
        remedy = f"{path} is set aside for its copy by `memory ingest`; end what writes it first."
        if copy_time is None:
            remedy = f"Put {path} back from a backup: there is no other copy of it."
        return Finding(False, f"damaged ({wrong}), {copied}", remedy)
    if is_lost(path):
        try:
            require_journal(path)
        except StoreError as error:
            return Finding(False, "the journal and its copy are gone", str(error))
        if copy_time is None:
            return Finding(True, "nothing was written")
        return Finding(False, f"the journal is gone, {copied}", "Run `memory ingest`.")
    return Finding(True, f"whole, {copied}")


def _scripts(settings: Settings) -> Finding:
    script = Path(sys.argv[0])
    on_path = shutil.which("memory")
    if on_path and Path(on_path).exists():
        return Finding(True, on_path)
    remedy = f"Run it as {script}, or put {script.parent} on your PATH."
    return Finding(True, "`memory` is not on your PATH", remedy)


_CHECKS: dict[str, Callable[[Settings], Finding]] = {
    "package": _package,
    "command": _scripts,
    "settings": _settings,
    "data directory": _data_directory,
    "installation key": _key,
    "transcripts": _transcripts,
    "redaction": _redaction,
    "second scanner": _second_scanner,
    "embedding model": _embedding,
    "summaries": _summaries,
    "Chroma": _chroma,
    "qdrant": _qdrant,
    "chroma-mcp": _chroma_mcp,
    "shard": _shard,
    "telemetry": _telemetry,
    "git": _git,
    "memory": _memory,
    "agents' memory": _agents_memory,
}
