"""Which sessions a forgetting means."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pyarrow.parquet as pq
import pytest

from memory_assets.errors import ConfigurationError, NotFound
from memory_assets.pipeline.removal.selection import Selection, select
from memory_assets.stores.lake.schemas import REDACTED_RECORDS
from memory_assets_tests.own_files import own_file
from memory_assets_tests.pipeline.conftest import SampleMemory


def _ids(memory: SampleMemory, **selection: Any) -> set[str]:
    return {session.session_id for session in select(memory.components, Selection(**selection))}


def test_a_session_is_selected_by_the_beginning_of_its_id(memory: SampleMemory) -> None:
    """If no other begins the same; else the error lists them."""
    assert _ids(memory, session=memory.flaky[:6]) == {memory.flaky}
    with pytest.raises(ConfigurationError, match="begins 2 sessions"):
        _ids(memory, session="019d")


def test_sessions_are_selected_by_when_they_ended(memory: SampleMemory) -> None:
    """By their last record; conditions add up."""
    all_ends = {
        session.session_id: session.last_at
        for project in memory.projects()
        for session in select(memory.components, Selection(project=project))
    }
    moment = sorted(end for end in all_ends.values() if end)[4]
    wanted = {name for name, end in all_ends.items() if end and end < moment}
    assert _ids(memory, before=moment) == wanted
    assert len(wanted) == 4
    of_harbor = _ids(memory, project=memory.harbor)
    assert _ids(memory, before=moment, project=memory.harbor) == wanted & of_harbor
    with pytest.raises(NotFound):
        _ids(memory, before=datetime(2001, 1, 1, tzinfo=UTC))


def test_sessions_are_selected_by_a_tag_in_any_of_their_tables(memory: SampleMemory) -> None:
    """Whole, or by its digest alone; what is not a tag is refused."""
    path = own_file(memory.components.lake, REDACTED_RECORDS, memory.harbor, memory.fork)
    table = pq.read_table(path, partitioning=None)
    position = table.schema.get_field_index("command")
    tag = "<redacted:github-token:0123456789ab>"
    texts = [f"export T={tag}"] * len(table)
    pq.write_table(table.set_column(position, table.schema.field(position), [texts]), path)
    assert _ids(memory, tag=tag) == {memory.fork}
    assert _ids(memory, tag="0123456789ab") == {memory.fork}
    with pytest.raises(NotFound):
        _ids(memory, tag="<redacted:other:0123456789ab>")
    with pytest.raises(ConfigurationError, match="is not a tag"):
        _ids(memory, tag="<redacted:github-token>")


@pytest.mark.parametrize("stored", ['pw is "Xq7\\Tz-blue"', r'{"a": "pw is \"Xq7\\Tz-blue\""}'])
def test_sessions_are_selected_by_a_text_that_redaction_missed(
    memory: SampleMemory, stored: str
) -> None:
    """Whatever table it is in, plain or in JSON; what is too short to mean anything is refused."""
    path = own_file(memory.components.lake, REDACTED_RECORDS, memory.harbor, memory.fork)
    table = pq.read_table(path, partitioning=None)
    position = table.schema.get_field_index("command")
    texts = [stored] * len(table)
    pq.write_table(table.set_column(position, table.schema.field(position), [texts]), path)
    assert _ids(memory, text='"Xq7\\Tz-blue"') == {memory.fork}
    with pytest.raises(NotFound):
        _ids(memory, text="Xq7-Tz-green")
    with pytest.raises(ConfigurationError, match="fewer than 8 bytes"):
        _ids(memory, text="Xq7")
