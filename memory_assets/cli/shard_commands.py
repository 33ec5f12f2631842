"""`memory push`, `memory pull` and `memory sync`: this memory goes to its shard, those of other
machines come here (docs/scale.md)."""

from __future__ import annotations

import platform
import re
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict
from functools import partial
from typing import TYPE_CHECKING, Any

import click

from memory_assets.cli import exit_codes
from memory_assets.cli.commands import JSON, command, flag
from memory_assets.cli.printing import rendering
from memory_assets.cli.run_traces import erase_traces
from memory_assets.errors import ConfigurationError, MemoryAssetsError
from memory_assets.settings import Settings, load_settings
from memory_assets.status.words import counted
from memory_assets.stores.stores import require_memory

if TYPE_CHECKING:
    from memory_assets.shards.pull import PullReport
    from memory_assets.shards.push import PushReport
    from memory_assets.stores.shard.objects import Objects
    from memory_assets.stores.shard.shard import Shard

_UNNAMED = re.compile(r"[^A-Za-z0-9._-]+")


@command()
@flag("--replace", help="Also if another memory wrote the shard: take its place.")
@JSON
def push(replace: bool, json: bool) -> None:
    """Push this memory to its shard.

    Sends what the shard lacks of the redacted tables to MEMORY_SHARD, where other machines can pull
    it. Transcripts and keys stay here.
    """
    pushed = _push(load_settings(), replace_other=replace)
    rendering.print_answer({"pushed": asdict(pushed)}, json, _pushed_lines(pushed))


@command("memory pull s3://company/team")
@click.argument(
    "addresses", nargs=-1, help="`s3://bucket/prefix` or a directory; else MEMORY_SHARD."
)
@JSON
def pull(addresses: Sequence[str], json: bool) -> None:
    """Pull the shards of other memories.

    Brings what changed in all shards below the addresses to this machine, where `memory search
    --over` searches them. Its own shard is left out.
    """
    settings = load_settings()
    where = addresses or [_address(settings)]
    pulled = [
        outcome
        for address in where
        for outcome in _pull(settings, load_settings(shard=address).shard or address)
    ]
    rendering.print_answer({"pulled": [*map(asdict, pulled)]}, json, _pulled_lines(pulled, where))
    _exit(pulled)


@command()
@JSON
def sync(json: bool) -> None:
    """Pull the shards of other machines, then push this one.

    What a second machine of one person does every day; `memory ingest` does it, too, where
    MEMORY_SHARD is set.
    """
    settings = load_settings()
    address = _address(settings)
    pulled = _pull(settings, address)
    pushed = _push(settings)
    answer = {"pulled": [*map(asdict, pulled)], "pushed": asdict(pushed)}
    rendering.print_answer(
        answer, json, [*_pulled_lines(pulled, [address]), *_pushed_lines(pushed)]
    )
    _exit(pulled)


def pull_before(settings: Settings) -> None:
    """Pull before an ingest, where MEMORY_SHARD is set; what fails is said, and stops nothing."""
    _report_sharing(
        settings,
        lambda: _pulled_lines(_pull(settings, _address(settings)), [_address(settings)]),
    )


def push_after(settings: Settings) -> None:
    """Push after an ingest or a forgetting, where MEMORY_SHARD is set; what fails is said."""
    _report_sharing(settings, lambda: _pushed_lines(_push(settings)))


def push_forgotten(settings: Settings) -> None:
    """Let what was forgotten leave the shard and the Delta tables, where there are any."""
    push_after(settings)
    if settings.delta is not None:
        from memory_assets.pipeline.stage.components import components_of
        from memory_assets.shards.delta import publish

        try:
            removed = publish(components_of(settings)).removed
            lines = [
                f"{settings.delta}: {counted(removed, 'session')} removed, summed over tables."
            ]
        except MemoryAssetsError as error:
            lines = [f"warning: {error} What was forgotten is still at MEMORY_DELTA."]
        rendering.print_lines(lines, stderr=True)


def _report_sharing(settings: Settings, share: Callable[[], Iterator[str]]) -> None:
    if settings.shard is None:
        return
    try:
        lines = list(share())
    except MemoryAssetsError as error:
        lines = [f"warning: {error} The next `memory sync` tries again."]
    rendering.print_lines(lines, stderr=True)


def own_shard(settings: Settings) -> tuple[Objects, Shard]:
    """Return where the shards of this memory's owner are, and its own.

    Raises:
        ConfigurationError: MEMORY_SHARD is not set, or cannot be used.
    """
    from memory_assets.stores.shard.objects import open_objects
    from memory_assets.stores.shard.shard import Shard

    objects = open_objects(_address(settings))
    name = settings.shard_name or _UNNAMED.sub("-", platform.node()).strip("-.")
    return objects, Shard(objects, name[:63] or "memory")


def _address(settings: Settings) -> str:
    if settings.shard is None:
        raise ConfigurationError("set MEMORY_SHARD: s3://bucket/prefix, or a directory")
    return settings.shard


def _push(settings: Settings, *, replace_other: bool = False) -> PushReport:
    from memory_assets.pipeline.stage.components import components_of
    from memory_assets.shards.push import push as push_memory
    from memory_assets.stores.shard.replicas import replicas_of

    require_memory(settings.data_dir)
    objects, shard = own_shard(settings)
    others = replicas_of(settings.data_dir, objects.url)
    return push_memory(
        components_of(settings),
        shard,
        erase_traces=partial(erase_traces, settings),
        replace_other=replace_other,
        forgotten=frozenset(name for other in others for name in other.forgotten),
    )


def _pull(settings: Settings, address: str) -> list[PullReport]:
    from memory_assets.shards.pull import pull as pull_shards
    from memory_assets.stores.shard.objects import open_objects

    own = own_shard(settings)[1].url if settings.shard else ""
    return pull_shards(settings, open_objects(address), own_url=own)


def _pushed_lines(pushed: PushReport) -> Iterator[str]:
    if pushed.forgotten:
        sessions = counted(pushed.forgotten, "session")
        yield f"{sessions} forgotten here, too, as on another machine."
    if pushed.withheld:
        sessions = counted(pushed.withheld, "session")
        yield f"{sessions} not sent: held back by a check, or not checked yet (`memory status`)."
    if not pushed.projects and not pushed.swept:
        yield f"{pushed.url}: as it was."
        return
    yield f"{pushed.url}: {_amount(pushed)} sent, {counted(pushed.swept, 'object')} deleted."


def _pulled_lines(pulled: Sequence[PullReport], where: Sequence[str]) -> Iterator[str]:
    if not pulled:
        yield (
            f"No other shards in {', '.join(where)}. A memory's own is left out, and is named "
            "after the machine; "
            "MEMORY_SHARD_NAME tells two of one name apart."
        )
    for shard in pulled:
        if shard.failed:
            yield f"warning: {shard.url} was not pulled: {shard.failed}"
            continue
        change = f"{_amount(shard)} fetched" if shard.projects else "as it was"
        yield f"{shard.url}: {'deleted, here too' if shard.gone else change}."


def _exit(pulled: list[PullReport]) -> None:
    if any(shard.failed for shard in pulled):
        sys.exit(exit_codes.ERROR)


def _amount(done: Any) -> str:
    return f"{counted(done.projects, 'project')}, {done.bytes / 1e6:.2f} MB"
