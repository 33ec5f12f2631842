"""A workspace as users and agents meet it: indexed, searched, traced, kept up to date."""

from __future__ import annotations

import json
import random
import re
import string
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from mcp.types import TextContent

from memory_assets.errors import BadArgument, ConfigurationError
from memory_assets.install_key import load_install_key
from memory_assets.pipeline.checks.checks import verify_project
from memory_assets.pipeline.ingest.passes import DOCUMENT_VECTORS, DOCUMENTS, Task, run_task
from memory_assets.pipeline.plan.plan import plan, plan_workspace
from memory_assets.pipeline.removal.forget import forget
from memory_assets.pipeline.removal.selection import Selection, select
from memory_assets.pipeline.stage.components import Components
from memory_assets.recall.audit.audit import audit
from memory_assets.recall.memory import Memory
from memory_assets.recall.show import show
from memory_assets.requests.search import CrossQueryRequest
from memory_assets.serving.mcp_server import call_tool, tool_definitions
from memory_assets.serving.opened import OpenedMemory
from memory_assets.stores.lake.schemas import WORKSPACE_EMBEDDINGS
from memory_assets_tests.command_line import run_here
from memory_assets_tests.workspaces.conftest import FILES, Indexed, write


def _searched(indexed: Indexed, query: str) -> list[str]:
    memory = Memory(indexed.components.settings)
    vars(memory)["embedder"] = indexed.engines["embedder"]
    return [hit.id for hit in memory.search(query, kinds=("workspace",)).hits]


def test_documents_are_found_by_words_and_meaning(indexed: Indexed) -> None:
    """Through the real embedder and Chroma."""
    indexed.index()
    assert _searched(indexed, "how long may a migration wait for a lock")[0] == (
        "harbor::README.md::0"
    )
    assert _searched(indexed, "put something in the queue")[:2]


def test_a_hit_names_its_lines(wordy: Indexed) -> None:
    """The lines of the file are those of the hit."""
    wordy.index()
    memory = Memory(wordy.components.settings)
    (hit,) = memory.search("burst of orders before billing", kinds=("workspace",), n=1).hits
    lines = (wordy.root / hit.metadata["file_path"]).read_text().splitlines()
    start, end = int(hit.metadata["line_start"]), int(hit.metadata["line_end"])
    assert hit.text.splitlines()[0] == lines[start - 1]
    assert hit.text.splitlines()[-1] == lines[end - 1]


def test_headings_and_copies_decide_which_documents_are_hits(wordy: Indexed) -> None:
    """Two sections have the word once; the one whose heading it is stands first, and a copy of it
    is named by it, whatever the mode. `why` says what the heading is worth."""
    about = "What the port charges, by the day and by the ton, and when it is to be paid."
    for name in ("docs/dues.md", "copy/dues.md"):
        write(wordy.root, {name: f"# Dues\n\n## Demurrage\n\n{about}\n"})
    write(wordy.root, {"docs/faq.md": f"# Questions\n\n## Other\n\n{about} Demurrage.\n"})
    wordy.index()
    memory = Memory(wordy.components.settings)
    for mode in ("hybrid", "keyword"):
        hits = memory.search("demurrage", kinds=("workspace",), mode=mode).hits
        assert [hit.metadata["file_path"] for hit in hits] == ["copy/dues.md", "docs/faq.md"]
        assert hits[0].metadata["copies"] == ["harbor::docs/dues.md::0"]
        assert hits[0].why["heading"] == pytest.approx(0.28) and "heading" not in hits[1].why


def test_code_that_is_like_much_other_code_stands_lower(indexed: Indexed) -> None:
    """Unless by meaning or by words alone; `why.hubness` says so. A document is not compared."""
    alike = "def close_gate_{n}(gate):\n    gate.close()\n    return gate\n"
    other = "def ring_bell(bell):\n    return [bell.strike() for hour in range(12)]\n"
    files = {f"gates/gate_{n}.py": alike.format(n=n) for n in range(14)}
    write(indexed.root, {**files, "bells.py": other, "gates/about.md": "# Gates\n\nTo close.\n"})
    indexed.index()
    memory = Memory(indexed.components.settings)
    vars(memory)["embedder"] = indexed.engines["embedder"]
    hits = memory.search("close a gate or ring a bell", kinds=("workspace",), n=40).hits
    hubness = {hit.metadata["file_path"]: float(hit.why.get("hubness", 0)) for hit in hits}
    assert hubness["bells.py"] > 0 > hubness["gates/gate_3.py"]
    assert hubness["gates/about.md"] == 0
    for mode in ("semantic", "keyword"):
        hits = memory.search("ring a bell", kinds=("workspace",), mode=mode).hits
        assert not any("hubness" in hit.why for hit in hits)


def test_an_audit_leads_to_the_file(indexed: Indexed) -> None:
    """From the chunk to the file as it is now."""
    indexed.index()
    found = audit(indexed.components, "harbor::README.md::0", indexed.engines["install_key"])
    assert found.intact and found.kind == "document"
    (source,) = found.sources
    assert (source.path, source.state) == (str(indexed.root / "README.md"), "unchanged")
    write(indexed.root, {"README.md": "# Other\n"})
    again = audit(indexed.components, "harbor::README.md", indexed.engines["install_key"])
    assert again.sources[0].state == "rewritten"


def test_a_document_is_shown_whole_and_in_part(wordy: Indexed) -> None:
    """By its id, and by that of a chunk."""
    wordy.index()
    (whole,) = show(wordy.components, "harbor::README.md")
    assert whole["text"] == (wordy.root / "README.md").read_text()
    (part,) = show(wordy.components, "harbor::README.md::0")
    assert part["text"] in whole["text"]


def test_a_line_at_the_top_embeds_one_chunk(indexed: Indexed) -> None:
    """Of a file of 400 chunks the others keep their texts, so their vectors."""
    schemas = "".join(f"    Part{number}:\n      type: string\n" for number in range(399))
    text = f"openapi: 3.1.0\ninfo:\n  title: Parts\ncomponents:\n  schemas:\n{schemas}"
    write(indexed.root, {"parts.yaml": text})
    first = indexed.index()["workspace_embeddings"]
    chunks = [row for row in indexed.chunks() if row["session_id"] == "parts.yaml"]
    assert len(chunks) == 400 and int(first.details["texts_embedded"]) >= 400
    write(indexed.root, {"parts.yaml": f"# A new line.\n{text}"})
    assert indexed.index()["workspace_embeddings"].details["texts_embedded"] == 1
    moved = [row for row in indexed.chunks() if row["session_id"] == "parts.yaml"]
    assert [row["line_start"] for row in moved][1:] == [row["line_start"] + 1 for row in chunks][1:]


def test_one_text_in_two_documents_is_found_by_their_titles(indexed: Indexed) -> None:
    """Equal sections differ by what they are sections of, so they share no vector; an audit takes
    both for intact."""
    paragraph = "It was compared with what we have, and chosen for its price. " * 3
    section = f"## Options\n\n{paragraph}\n"
    for number, title in enumerate(("Choose a crane", "Choose a lighthouse lamp")):
        write(indexed.root, {f"docs/adr/000{number + 3}-choice.md": f"# {title}\n\n{section}"})
    indexed.index()
    rows = [row for row in indexed.chunks() if row["text"].endswith(section.rstrip())]
    assert {row["context"] for row in rows} == {
        f"Choose a {what}: Options" for what in ("crane", "lighthouse lamp")
    }
    assert len({row["content_hash"] for row in rows}) == 2
    memory = Memory(indexed.components.settings)
    vars(memory)["embedder"] = indexed.engines["embedder"]
    for query, row in zip(("heavy lifting machine", "beacon bulb"), rows, strict=True):
        hits = memory.search(query, kinds=("workspace",), mode="semantic", n=1).hits
        assert hits[0].id == row["id"]
        assert audit(indexed.components, row["id"], indexed.engines["install_key"]).intact


def test_what_follows_the_first_word_pieces_of_code_is_found_by_its_words(indexed: Indexed) -> None:
    """It is in no vector, and the audit takes the row for intact."""
    body = "    lamp = light_at_dusk(lamp, quay)\n" * 16
    write(indexed.root, {"lamps.py": f"def burn(lamp, quay):\n{body}    return zircon(lamp)\n"})
    indexed.index()
    (row,) = (row for row in indexed.chunks() if row["session_id"] == "lamps.py")
    assert 0 < row["embedded"] < row["text"].index("zircon")
    assert _searched(indexed, "zircon")[0] == row["id"]
    assert audit(indexed.components, row["id"], indexed.engines["install_key"]).intact


def test_a_patch_has_the_vector_of_its_name(indexed: Indexed) -> None:
    """Its words are found; the index, status and the server say how many such documents there
    are."""
    patch = "--- a/gate.py\n+++ b/gate.py\n@@ -1 +1 @@\n" + "+turnstile = 1\n" * 200
    write(indexed.root, {"fixes/0001-gate.patch": patch, "Gate.lock": "turnbuckle\n"})
    report = indexed.index()["workspace_embeddings"]
    rows = [row for row in indexed.chunks() if row["session_id"].startswith("fixes/")]
    assert len(rows) > 1 and {(row["embedded"], row["context"]) for row in rows} == {
        (0, "0001-gate.patch")
    }
    lake = indexed.components.lake
    made = lake.read_vectors(
        WORKSPACE_EMBEDDINGS, indexed.workspace.partition, rows[0]["session_id"]
    )
    (named,) = indexed.engines["embedder"].embed(["0001-gate.patch"])
    assert len(made.ids) == len(rows) and np.allclose(made.vectors, named, atol=1e-6)
    assert int(report.details["texts_embedded"]) >= len(rows)
    assert _searched(indexed, "turnstile")[0].startswith("harbor::fixes/0001-gate.patch::")
    shown = run_here({"MEMORY_DATA_DIR": str(indexed.components.data_dir)}, "status").stdout
    assert "2 documents that programs wrote" in shown
    assert all(
        each.verdict.passed
        for each in verify_project(indexed.components, indexed.workspace.partition)
    )


def test_the_base64_of_a_drawing_is_no_secret(wordy: Indexed) -> None:
    """Where a passage begins or ends in the midst of it, what is there can look like a token."""
    dice = random.Random(3)
    letters = string.ascii_letters + string.digits + "-_"
    source = "".join(dice.choices(letters, k=6_000))
    write(wordy.root, {"flow.svg": f"<svg><g>Pay the order</g><?plantuml-src {source}?></svg>\n"})
    wordy.index()  # no check may fail
    passages = [each["text"] for each in wordy.chunks() if each["file_path"] == "flow.svg"]
    assert len(passages) > 1 and any("<redacted:" in text for text in passages)


def test_projects_and_workspaces_do_not_see_each_other(wordy: Indexed) -> None:
    """The plan of the one has no work for the other."""
    wordy.index()
    assert plan(wordy.components, {}) == []
    assert plan_workspace(wordy.components, wordy.workspace) is None


def test_a_lost_lake_table_is_made_again(wordy: Indexed) -> None:
    """Ids are made of paths and order, so they are equal."""
    wordy.index()
    before = wordy.chunks()
    wordy.components.catalog.products.forget_project(wordy.workspace.partition)
    wordy.index()
    assert [row["id"] for row in wordy.chunks()] == [row["id"] for row in before]


def test_a_home_directory_is_not_taken_for_a_workspace(tmp_path: Path) -> None:
    """It asks for --yes."""
    done = run_here({"MEMORY_DATA_DIR": str(tmp_path / "data")}, "index", str(Path.home()))
    assert done.returncode == 2 and "--yes" in done.stderr


def test_the_command_line_indexes_lists_and_searches(wordy: Indexed) -> None:
    """`memory index`, `workspaces`, `search --in workspace`."""
    environment = {"MEMORY_DATA_DIR": str(wordy.data_dir), "MEMORY_EMBEDDER": "none"}
    first = run_here(environment, "index", str(wordy.root))
    assert first.returncode == 0, first.stderr
    assert "harbor: " in first.stdout and "1 binary" in first.stdout
    assert "nothing to do" in run_here(environment, "index").stdout
    assert str(wordy.root) in run_here(environment, "workspaces").stdout
    found = run_here(environment, "search", "--in", "workspace", "lock", "timeout", "-n", "1")
    assert "README.md:" in found.stdout and "harbor::README.md::" in found.stdout


def test_documents_are_filtered_by_type_service_domain_and_file(wordy: Indexed) -> None:
    """An unknown value is refused, with what there is."""
    wordy.index()
    memory = Memory(wordy.components.settings)

    def found(**filters: str) -> set[str]:
        hits = memory.search("orders queue", kinds=("workspace",), **filters).hits
        return {str(hit.metadata["file_path"]) for hit in hits}

    assert found(file_type="ADR") == {"docs/adr/0001-queue.md"}
    assert found(service="svc-orders") == {"services/svc-orders/app.py"}
    assert found(file="services") == {"services/svc-orders/app.py"}
    with pytest.raises(BadArgument, match="there are: adr, markdown, python, text"):
        found(file_type="cobol")
    (hit,) = memory.search("orders", service="svc-orders").hits  # what filters documents means them
    assert hit.metadata["file_path"] == "services/svc-orders/app.py"
    with pytest.raises(ConfigurationError, match="--in workspace"):
        memory.search("orders", kinds=("prompts",), service="svc-orders")


def test_what_states_a_relation_stands_before_what_has_the_name(wordy: Indexed) -> None:
    """And says by how much."""
    page = "# order.placed\n\nThe event order.placed says that an order was placed.\n"
    events = "order.placed:\n  producer: svc-shop\n  consumers:\n  - svc-mail\n"
    adr = "# Queue\n\n## Status\n\nSuperseded by [Streams](0012.md)\n\n## Decision\n\nNone.\n"
    files = {"events/order.placed.md": page, "metadata/events.yaml": events, "adr/0007-q.md": adr}
    write(wordy.root, files)
    wordy.index()
    memory = Memory(wordy.components.settings)
    for query, path in (
        ("who consumes order.placed", "metadata/events.yaml"),
        ("what replaced ADR 7", "adr/0007-q.md"),
    ):
        hit = memory.search(query, kinds=("workspace",)).hits[0]
        assert hit.metadata["file_path"] == path and hit.why["relation"]


def test_of_several_workspaces_the_one_that_is_named_is_asked(
    wordy: Indexed, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By its name or a path in it, on every surface; the tool of agents asks the one that its
    server was started in. Both have a file of the same path."""
    other = Indexed(tmp_path / "pier", wordy.data_dir, wordy.engines, wordy.given)
    write(other.root, {"README.md": "# Pier\n\nThe lock timeout of a migration is a minute.\n"})
    wordy.index()
    other.index()
    memory = Memory(wordy.components.settings)
    for named in ("pier", str(other.root), str(other.root / "README.md")):
        (hit,) = memory.search("lock timeout", workspace=named).hits
        assert hit.id == "pier::README.md::0"
    both = {hit.id.partition("::")[0] for hit in memory.search("timeout", kinds="workspace").hits}
    assert both == {"harbor", "pier"}
    assert memory.search("lock", workspace="pier", mode="exact").hits[0].id.startswith("pier::")
    asked = CrossQueryRequest("lock timeout", workspace="pier")
    assert {each["id"] for each in memory.ask(asked)["documents"]} == {"pier::README.md::0"}
    asked = CrossQueryRequest(document="README.md", workspace="pier")
    assert {each["id"] for each in memory.ask(asked)["documents"]} == {"pier::README.md::0"}
    environment = {"MEMORY_DATA_DIR": str(wordy.data_dir), "MEMORY_EMBEDDER": "none"}
    shown = run_here(environment, "show", "README.md", "--workspace", "pier")
    assert "pier" in shown.stdout and "harbor" not in shown.stdout
    found = run_here(environment, "search", "lock timeout", "--workspace", "quay")
    assert found.returncode == 2 and "there are: harbor, pier" in found.stderr
    monkeypatch.chdir(other.root)
    opened = OpenedMemory(wordy.components.settings)
    told = call_tool(opened, "workspace_search", {"query": "timeout"}).structured_content
    assert told and [hit["id"] for hit in told["hits"]] == ["pier::README.md::0"]
    told = call_tool(opened, "workspace_search", {"query": "timeout", "workspace": "harbor"})
    assert "harbor::README.md" in str(told.structured_content)


def test_forgotten_documents_leave_no_byte_and_stay_out(indexed: Indexed) -> None:
    """Of one file by a pattern, of the workspace whole; only the latter can be indexed again."""
    environment = {"MEMORY_DATA_DIR": str(indexed.data_dir)}
    assert run_here(environment, "index", str(indexed.root)).returncode == 0
    assert run_here(environment, "forget", "--file", "docs/adr/*", "--yes").returncode == 0
    assert _bytes_of(indexed.data_dir, b"queue before billing") == []
    assert "1 forgotten" in run_here(environment, "index").stdout
    assert _bytes_of(indexed.data_dir, b"queue before billing") == []
    done = run_here(environment, "forget", "--workspace", "harbor", "--yes")
    assert done.returncode == 0, done.stderr
    assert _bytes_of(indexed.data_dir, b"timeout of three seconds") == []
    assert _bytes_of(indexed.data_dir, b"workspace:harbor") == []
    assert run_here(environment, "workspaces").returncode == 3
    assert run_here(environment, "index", str(indexed.root)).returncode == 0
    assert _bytes_of(indexed.data_dir, b"timeout of three seconds") != []


def _bytes_of(directory: Path, value: bytes) -> list[str]:
    """The files below a directory that contain a value."""
    files = (path for path in directory.rglob("*") if path.is_file())
    return [path.name for path in files if value in path.read_bytes()]


def test_agents_search_documents_by_either_tool(wordy: Indexed) -> None:
    """`workspace_search` stands for `recall`, whose arguments of documents are taken, too; both
    are listed once a workspace is on record, and `workspace_index_stats` says what is."""
    (recall,) = (each for each in tool_definitions() if each.name == "recall")
    assert "BEFORE reading files" in str(recall.description)
    wordy.index()
    opened = OpenedMemory(wordy.components.settings)

    def called(name: str, **arguments: object) -> tuple[bool, Any]:
        result = call_tool(opened, name, arguments)
        shown = result.content[0]
        assert isinstance(shown, TextContent)
        return bool(result.is_error), result.structured_content or shown.text

    failed, found = called("workspace_search", query="orders in the queue", service="svc-orders")
    (hit,) = found["hits"]
    assert not failed and hit["file_path"] == "services/svc-orders/app.py"
    given = dict(re.findall(r'(collection|document)="(.+?)"', found["next"]))
    assert len(given) == 2 and not called("cross_query", **given)[0]
    assert hit["line_start"] >= 1 and hit["section_heading"] and len(hit["text"]) <= 500
    assert called("recall", query="orders in the queue", kind="workspace")[1]["hits"]
    (stats,) = called("workspace_index_stats")[1]["workspaces"]
    assert (stats["name"], stats["documents"], stats["root"]) == ("harbor", 5, str(wordy.root))
    assert stats["chunks"] >= 5 and stats["changed"]
    own = called("recall", query="orders", kind="workspace", service="svc-orders")[1]["hits"]
    assert [each["file_path"] for each in own] == ["services/svc-orders/app.py"]
    assert opened.has_workspaces() and "workspace_search" not in {
        each.name for each in tool_definitions()
    }
    listed = {each.name for each in tool_definitions(workspaces=True)}
    assert {"workspace_search", "workspace_index_stats"} <= listed
    for wrong in ({"top_k": 0}, {"top_k": 21}, {"top_k": "x"}):
        failed, said = called("workspace_search", query="orders", **wrong)
        assert failed and "top_k" in said
    failed, said = called("workspace_search", query="orders", file_type="cobol")
    assert failed and "adr, markdown, python, text" in said


def test_without_an_index_the_error_names_the_command(wordy: Indexed) -> None:
    """Nothing was indexed yet."""
    result = call_tool(OpenedMemory(wordy.components.settings), "workspace_search", {"query": "x"})
    shown = result.content[0]
    assert result.is_error and isinstance(shown, TextContent)
    assert "`memory index ROOT`" in shown.text


def test_old_chunks_answer_until_the_new_ones_do(wordy: Indexed) -> None:
    """After each step of a run the changed document is found, by what it was or what it is."""
    wordy.index()
    write(wordy.root, {"README.md": "# Harbor\n\n## Run it\n\nStart the harbour with `just up`.\n"})
    partition, memory = wordy.workspace.partition, Memory(wordy.components.settings)
    for part in (DOCUMENTS, DOCUMENT_VECTORS):
        for _ in run_task(wordy.components, Task(partition, part.assets)):
            hits = memory.search("start the harbour", kinds=("workspace",)).hits
            assert hits[0].metadata["file_path"] == "README.md"
    assert "just up" in hits[0].text


def test_what_comes_back_is_not_embedded_again(indexed: Indexed) -> None:
    """A branch is switched to and back: documents change, go and come. Forgetting removes the
    vectors that are kept, too; so does a change of the rules, which may be what took a secret out.
    """
    indexed.index()
    before = {row["id"]: row["content_hash"] for row in indexed.chunks()}
    write(indexed.root, {"README.md": "# Harbor\n\n## Other\n\nAnother branch.\n"})
    adr = indexed.root / "docs/adr/0001-queue.md"
    content = adr.read_bytes()
    adr.unlink()
    assert int(indexed.index()["workspace_embeddings"].details["texts_embedded"]) >= 1
    write(indexed.root, {"README.md": FILES["README.md"], "docs/adr/0001-queue.md": content})
    report = indexed.index()["workspace_embeddings"]
    assert report.details["texts_embedded"] == 0 and report.rows_written
    assert {row["id"]: row["content_hash"] for row in indexed.chunks()} == before
    kept = indexed.components.catalog.kept_vectors
    assert {path for _, path in kept.sessions()} == {"README.md", "docs/adr/0001-queue.md"}
    environment = {"MEMORY_DATA_DIR": str(indexed.data_dir)}
    assert run_here(environment, "forget", "--file", "docs/adr/*", "--yes").returncode == 0
    assert {path for _, path in kept.sessions()} == {"README.md"}
    kept.expire(indexed.workspace.partition, "other rules")
    assert kept.sessions() == set()


def test_the_end_of_a_long_chunk_is_read_and_the_chunk_is_one_hit(indexed: Indexed) -> None:
    """A section of many times what the embedder reads, whose last sentence alone answers."""
    filler = "\n\n".join(
        f"Paragraph {number} lists invoices, ledgers and batches of the quarter, line by line, "
        "with sums and signatures."
        for number in range(24)
    )
    end = (
        "Ships that carry dangerous goods anchor outside the breakwater. A tanker waits there for "
        "its pilot. Explosives are never brought past the lighthouse, and a vessel that leaks "
        "chemicals is towed back to the outer anchorage. The harbour master names the anchorage. "
        "Gas carriers anchor a mile from other ships, with two tugs beside them. "
    ) * 2 + "Ships without such cargo pass."
    long = f"## Everything\n\n{filler}\n\n{end}\n"
    write(indexed.root, {"rules.md": long})
    indexed.index()
    parts = [row for row in indexed.chunks() if row["session_id"] == "rules.md"]
    (chunk_id,) = {row["chunk_id"] for row in parts}
    assert len(parts) > 2 and parts[0]["id"] == chunk_id
    assert [row["id"] for row in parts[1:]] == [
        f"{chunk_id}::part::{part}" for part in range(1, len(parts))
    ]
    tokens = indexed.components.tokens
    assert all(tokens.count_tokens(row["text"]) <= tokens.max_tokens for row in parts)
    memory = Memory(indexed.components.settings)
    vars(memory)["embedder"] = indexed.engines["embedder"]
    query = "where do ships with dangerous goods anchor, outside the breakwater?"
    hits = memory.search(query, kinds=("workspace",), mode="semantic").hits
    assert hits[0].id == chunk_id and end in hits[0].text
    lines = long.splitlines()
    assert lines[int(hits[0].metadata["line_end"]) - 1] == end
    assert [hit.id for hit in hits].count(chunk_id) == 1
    (whole,) = show(indexed.components, f"{chunk_id}::part::1")
    assert whole["text"] == long.rstrip() and whole["line_end"] == len(lines)
    found = audit(indexed.components, chunk_id, indexed.engines["install_key"])
    assert found.intact and len(found.rows) == len(parts)


def test_one_file_is_indexed_without_a_look_at_the_others(wordy: Indexed) -> None:
    """A new one, then a deleted one; another change waits. JSON says what was done."""
    environment = {"MEMORY_DATA_DIR": str(wordy.data_dir), "MEMORY_EMBEDDER": "none"}
    assert run_here(environment, "index", str(wordy.root)).returncode == 0
    write(wordy.root, {"docs/new.md": "# New\n\nA ferry.\n", "keep.log": "changed, not looked at"})
    new = wordy.root / "docs/new.md"
    done = json.loads(run_here(environment, "index", "--file", str(new), "--json").stdout)
    assert done["workspaces"][0]["done"] == {"documents_read": 1, "documents_removed": 0}
    assert "docs/new.md" in wordy.documents()
    assert "changed" not in wordy.documents()["keep.log"]["text"]
    new.unlink()
    done = json.loads(run_here(environment, "index", "--file", str(new), "--json").stdout)
    assert done["workspaces"][0]["done"] == {"documents_read": 0, "documents_removed": 1}
    outside = run_here(environment, "index", "--file", str(wordy.data_dir / "x.md"))
    assert outside.returncode != 0 and "memory index ROOT" in outside.stderr


def test_a_killed_forgetting_of_a_workspace_keeps_no_file_out(wordy: Indexed) -> None:
    """The next command completes it; the directory can be taken in again."""
    environment = {"MEMORY_DATA_DIR": str(wordy.data_dir), "MEMORY_EMBEDDER": "none"}
    assert run_here(environment, "index", str(wordy.root)).returncode == 0
    partition = wordy.workspace.partition

    def killed(_: object) -> int:
        raise KeyboardInterrupt

    components = Components(wordy.components.settings)
    components.opened["install_key"] = load_install_key()
    found = select(components, Selection(project=partition))
    with pytest.raises(KeyboardInterrupt):
        forget(components, found, erase_traces=killed, leaving=True)
    components.catalog.close()
    assert run_here(environment, "workspaces").returncode == 3
    assert _bytes_of(wordy.data_dir, b"timeout of three seconds") == []
    again = run_here(environment, "index", str(wordy.root))
    assert again.returncode == 0 and "forgotten" not in again.stdout
    assert _bytes_of(wordy.data_dir, b"timeout of three seconds") != []
