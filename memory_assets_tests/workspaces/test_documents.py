"""workspace_documents: what is read, redacted and kept of a workspace's files."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from memory_assets.documents.repository import service_of
from memory_assets.documents.walk import FoundFile
from memory_assets.errors import ConfigurationError
from memory_assets.paths import NO_EMBEDDER
from memory_assets.pipeline.ingest.passes import DOCUMENTS, Task, run_task
from memory_assets.pipeline.plan.plan import plan_workspace
from memory_assets.pipeline.tables.embeddings import embed_project
from memory_assets.pipeline.workspace import documents, files
from memory_assets.pipeline.workspace.documents import read_documents
from memory_assets.pipeline.workspace.files import look_at, one_walk
from memory_assets.recall.memory import Memory
from memory_assets.redaction.known_secrets import value_hash
from memory_assets.stores.catalog.products import Products, Quarantine
from memory_assets.stores.lake.lake import Lake
from memory_assets.stores.lake.schemas import WORKSPACE_CHUNKS, WORKSPACE_EMBEDDINGS
from memory_assets.stores.workspaces import Workspaces
from memory_assets_tests.pipeline.bytes_at_rest import found_words
from memory_assets_tests.sweep import sweep
from memory_assets_tests.workspaces.conftest import PRIVATE_KEY, Indexed, write


def test_documents_say_what_and_where_they_are(wordy: Indexed) -> None:
    """Type, kind, service, bucket and id."""
    wordy.index()
    found = wordy.documents()
    kinds = {path: (row["file_type"], row["kind"]) for path, row in found.items()}
    assert kinds["docs/adr/0001-queue.md"] == ("adr", "docs")
    assert kinds["services/svc-orders/app.py"] == ("python", "code")
    assert found["services/svc-orders/app.py"]["service"] == "svc-orders"
    assert found["docs/adr/0001-queue.md"]["bucket"] == "docs"
    assert found["README.md"]["id"] == "harbor::README.md"
    assert found.keys().isdisjoint({".env", "logo.png", "build/out.txt", "trace.log"})


def test_services_and_domains_follow_the_settings(wordy: Indexed) -> None:
    """MEMORY_WORKSPACE_SERVICES and MEMORY_WORKSPACE_DOMAINS."""
    wordy.given |= {
        "workspace_services": "docs/*=handbook",
        "workspace_domains": "svc-orders=sales,handbook=knowledge",
    }
    wordy.close()
    wordy.__post_init__()
    wordy.index()
    found = wordy.documents()
    assert found["services/svc-orders/app.py"]["domain"] == "sales"
    assert found["docs/adr/0001-queue.md"]["service"] == "handbook"
    assert found["docs/adr/0001-queue.md"]["domain"] == "knowledge"


@pytest.mark.parametrize(
    "metadata",
    [
        {"domains.yaml": "domains:\n  sales:\n    services: [svc-orders, svc-mail]\n"},
        {"meta/services.json": '{"services": [{"name": "svc-orders", "domain": "sales"}]}'},
        {"a/catalog-info.yaml": "metadata: {name: svc-orders}\nspec: {domain: sales}\n"},
        {"domains.yml": "domains:\n- name: sales\n  services:\n  - id: svc-orders\n"},
        {"domains.yaml": "sales:\n  color: red\n  services:\n  - svc-orders\n"},
    ],
)
def test_domains_are_read_from_the_metadata_of_the_workspace(
    wordy: Indexed, metadata: dict[str, str]
) -> None:
    """Also those of documents that did not change since; the setting counts before the file."""
    wordy.index()
    write(wordy.root, metadata)
    wordy.index()
    assert wordy.documents()["services/svc-orders/app.py"]["domain"] == "sales"
    next(iter(wordy.root.glob(next(iter(metadata))))).unlink()
    wordy.index()
    assert wordy.documents()["services/svc-orders/app.py"]["domain"] == ""


def test_metadata_that_cannot_be_read_names_no_domain(wordy: Indexed) -> None:
    """Nor does it keep the workspace from being indexed; what was made says so."""
    write(wordy.root, {"domains.yaml": "domains: [", "services.json": '{"a": ' * 5000})
    details = wordy.index()["workspace_documents"].details
    assert wordy.documents()["services/svc-orders/app.py"]["domain"] == ""
    unread = [name.rpartition(": ")[2] for name in details if "no domains" in name]
    assert sorted(unread) == ["domains.yaml", "services.json"]


@sweep(
    "path, service",
    [
        ("services/svc-orders/src/svc-mail/app.py", "svc-orders"),
        ("api/svc-orders.yaml", "svc-orders"),
        ("docs/guide.md", "handbook"),
        ("docs/svc-orders.md", "svc-orders"),
        ("api/svc-orders.openapi.yaml", "svc-orders"),
        ("diagrams/svc-orders--checkout.v2.puml", "svc-orders"),
        ("README.md", ""),
    ],
)
def test_a_service_is_a_part_of_the_path_or_what_the_settings_say(path: str, service: str) -> None:
    """The first directory, or the file up to its first dot or two dashes, that is called `svc-*`;
    else the first pattern that fits."""
    assert service_of(path, {"docs/*": "handbook"}) == service


def test_lines_keep_their_numbers_where_a_secret_of_many_lines_was(wordy: Indexed) -> None:
    """What is taken out leaves its line feeds."""
    content = f"# Keys\n\n{PRIVATE_KEY}\n\n## After\n\nThe line after the key.\n"
    write(wordy.root, {"keys.md": content})
    wordy.index()
    row = wordy.documents()["keys.md"]
    assert "MIIEowIBAAKCAQEA" not in row["text"] and row["redactions"] == 1
    where = content.splitlines().index("The line after the key.")
    assert row["text"].split("\n")[where] == "The line after the key."
    assert row["git_blob"] == ""


def test_no_byte_of_a_planted_secret_is_stored(wordy: Indexed) -> None:
    """Neither of a redacted value, nor of a file that is never read."""
    token = "ghp_" + "x7Kq2LmP9sVbN4wRtY8uZ1aC3dE5fG6hJ0oI"
    write(wordy.root, {"notes.md": f"# Notes\n\nThe token is {token}.\n"})
    wordy.index()
    stored = [path for path in wordy.data_dir.rglob("*") if path.is_file()]
    assert stored
    for path in stored:
        content = path.read_bytes()
        assert token.encode() not in content and b"never-read-this-value" not in content


def test_git_knows_a_document_by_the_noted_hash(wordy: Indexed) -> None:
    """`printf 'kept by a negation\\n' | git hash-object --stdin`."""
    wordy.index()
    assert wordy.documents()["keep.log"]["git_blob"] == "972d6a407e821b78a25c1e62c8475f34e54ced14"


def test_only_changed_files_are_read(wordy: Indexed, monkeypatch: pytest.MonkeyPatch) -> None:
    """The others cost a stat."""
    wordy.index()
    read: list[str] = []
    real = Path.read_bytes

    def noted(path: Path) -> bytes:
        if path.is_relative_to(wordy.root):
            read.append(path.name)
        return real(path)

    monkeypatch.setattr(Path, "read_bytes", noted)
    assert plan_workspace(wordy.components, wordy.workspace) is None and read == []
    write(wordy.root, {"README.md": "# Harbor\n\n## Run it\n\nNow with `just up`.\n"})
    report = wordy.index()["workspace_documents"]
    assert read == ["README.md"]
    assert (report.changed, report.rows_written) == (1, 1)


def test_a_file_that_was_only_touched_is_not_written_again(wordy: Indexed) -> None:
    """Its content is compared by a keyed hash."""
    wordy.index()
    os.utime(wordy.root / "README.md", ns=(1, 1))
    assert plan_workspace(wordy.components, wordy.workspace) is not None
    assert wordy.index()["workspace_documents"].changed == 0
    assert plan_workspace(wordy.components, wordy.workspace) is None


def test_a_run_that_makes_way_embeds_what_was_cut_last(indexed: Indexed) -> None:
    """What is left has its vectors from the next run."""
    partition, components = indexed.workspace.partition, indexed.components
    list(run_task(components, Task(partition, DOCUMENTS.assets)))
    products = components.catalog.products
    chunked = products.of_project(WORKSPACE_CHUNKS.name, partition)
    products.put(replace(chunked["keep.log"], made_at="2100-01-01T00:00:00+00:00"))
    tables = {"source_table": WORKSPACE_CHUNKS, "table": WORKSPACE_EMBEDDINGS}
    components.enough = lambda made: made >= 1
    first = embed_project(components, partition, **tables)
    embedded = products.of_project(WORKSPACE_EMBEDDINGS.name, partition)
    assert first.unfinished and embedded.keys() == {"keep.log"}
    components.enough = lambda made: False
    assert not embed_project(components, partition, **tables).unfinished
    embedded = products.of_project(WORKSPACE_EMBEDDINGS.name, partition)
    assert embedded.keys() == chunked.keys()


def test_what_is_deleted_or_ignored_now_is_removed(wordy: Indexed) -> None:
    """Its chunks go, too."""
    wordy.index()
    (wordy.root / "README.md").unlink()
    write(wordy.root, {".memoryignore": "docs/\n"})
    report = wordy.index()["workspace_documents"]
    assert report.removed == 2
    assert {row["session_id"] for row in wordy.chunks()}.isdisjoint(
        {"README.md", "docs/adr/0001-queue.md"}
    )


def test_a_failure_under_another_domain_is_not_tried_again(
    wordy: Indexed, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A document that is up to date but for its service's domain, and fails, waits for a change."""
    wordy.index()
    write(wordy.root, {"domains.yaml": "domains:\n  sales:\n    services: [svc-orders]\n"})
    tried = list[str]()

    def fail(reader: object, file: FoundFile, *others: object) -> None:
        tried.append(file.path)
        raise ValueError

    monkeypatch.setattr(documents._DocumentReader, "product_of", fail)
    for _ in range(2):
        read_documents(wordy.components, wordy.workspace.partition)
    assert tried and len(tried) == len(set(tried))


def test_a_workspace_whose_directory_is_gone_keeps_its_documents(wordy: Indexed) -> None:
    """A disk that is not mounted loses nothing."""
    wordy.index()
    moved = wordy.root.rename(wordy.root.with_name("moved"))
    (known,) = Workspaces(wordy.data_dir).all()
    with pytest.raises(ConfigurationError, match="stays"):
        plan_workspace(wordy.components, known)
    moved.rename(wordy.root)
    assert plan_workspace(wordy.components, known) is None


def test_two_directories_of_one_name_are_kept_apart(tmp_path: Path) -> None:
    """The second one's name has a hash of its path."""
    known = Workspaces(tmp_path)
    roots = [tmp_path / "a" / "app", tmp_path / "b" / "app"]
    for root in roots:
        root.mkdir(parents=True)
    first, second = map(known.add, roots)
    assert first.name == "app" and second.name.startswith("app-")
    assert known.add(roots[0]) == first
    assert [each.root for each in known.all()] == roots


@pytest.mark.parametrize("name", ["missing", "file.txt"])
def test_a_root_must_be_a_directory(tmp_path: Path, name: str) -> None:
    """The error says what is there."""
    (tmp_path / "file.txt").write_text("x")
    with pytest.raises(ConfigurationError, match="give the directory of a workspace"):
        Workspaces(tmp_path).add(tmp_path / name)


def test_a_path_that_holds_a_secret_is_only_counted(wordy: Indexed) -> None:
    """Of no kind of file is the name stored, and no byte of it is anywhere."""
    token = "ghp_" + "x7Kq2LmP9sVbN4wRtY8uZ1aC3dE5fG6hJ0oI"
    write(wordy.root, {f"notes-{token}.md": "# Notes\n", f"{token}.bin": b"\0\0", "a.md": "x"})
    report = wordy.index()["workspace_documents"]
    assert report.details["skipped: path that holds a secret"] == 2
    assert "a.md" in wordy.documents() and report.quarantined == 0
    stored = [path for path in wordy.data_dir.rglob("*") if path.is_file()]
    assert not any(token.encode() in path.read_bytes() for path in stored)


def test_a_path_that_holds_a_secret_learned_later_is_left_out(wordy: Indexed) -> None:
    """What is on record of it goes, in every table, and no message names it."""
    word = "Zr8kQ2vLw7" + "Np4xTb6HsY"
    write(wordy.root, {f"notes of {word}, all.md": "# Notes\n"})
    wordy.index()
    assert f"notes of {word}, all.md" in wordy.documents()
    hashed = value_hash(word, wordy.components.install_key)
    assert hashed is not None
    wordy.components.catalog.known_secrets.add("a session", {hashed: "a-rule"})
    report = wordy.index()["workspace_documents"]
    assert report.details["skipped: path that holds a secret"] == 1 and report.changed == 0
    assert all(word not in row["id"] for row in [*wordy.documents().values(), *wordy.chunks()])
    assert wordy.components.catalog.quarantine.entries() == []
    assert found_words(wordy.data_dir, {word}) == {}


REPORTED = "    curl -u " + "bob:{v} https://harbor.example/up"
"""What the independent scanner takes for a password, and the redactor does not."""


def test_a_document_in_which_the_scanner_finds_something_is_held_back(
    wordy: Indexed, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The others are stored; it is named with rule, line and remedy, and tried again when it or the
    code that cuts it changes. Nobody can guess that `{v}` is no password."""
    write(wordy.root, {"deploy.md": f"# Deploy\n\n{REPORTED}\n"})
    wordy.index()
    assert "README.md" in wordy.documents() and "deploy.md" not in wordy.documents()
    assert all(row["session_id"] != "deploy.md" for row in wordy.chunks())
    (held,) = wordy.components.catalog.quarantine.entries(wordy.workspace.partition)
    assert held.session_id == "deploy.md" and "curl-auth-user (line 3)" in held.reason
    assert "bob" not in held.reason and ".memoryignore" in held.remedy
    assert plan_workspace(wordy.components, wordy.workspace) is None
    assert wordy.index()["workspace_documents"].changed == 0
    monkeypatch.setattr(files, "CHUNKER_VERSION", "one that may cut it so that nothing is found")
    assert plan_workspace(wordy.components, wordy.workspace) is not None
    monkeypatch.undo()
    write(wordy.root, {"deploy.md": "# Deploy\n\nBy `make up`.\n"})
    assert wordy.index()["workspace_documents"].quarantined == 0
    assert "deploy.md" in wordy.documents()


def test_a_passage_that_reads_like_a_password_by_itself_is_redacted_alone(wordy: Indexed) -> None:
    """In its document the first line is no header of a table; a passage begins within it."""
    table = "host,user,password\ndb1,app,harborlamp\ndb2,app,Walnut55\n"
    write(wordy.root, {"boats.txt": "wood " * 252 + table})
    assert wordy.index()["workspace_documents"].quarantined == 0
    text = "".join(row["text"] for row in wordy.chunks() if row["session_id"] == "boats.txt")
    assert "db1" in text and "Walnut55" not in text


@pytest.mark.parametrize(
    ("owner", "step"),
    [(Products, "drop_noted"), (Lake, "remove_sessions"), (Quarantine, "hold")],
    ids=lambda each: str(getattr(each, "__name__", each)),
)
@pytest.mark.parametrize("done", [False, True], ids=["before", "after"])
@pytest.mark.parametrize("stays", [False, True], ids=["deleted", "there"])
def test_a_document_is_held_back_though_the_run_was_killed(
    wordy: Indexed, monkeypatch: pytest.MonkeyPatch, owner: type, step: str, done: bool, stays: bool
) -> None:
    """Before or after any step of holding it back; the next run has it in quarantine, if
    its file is there, and in no table."""
    write(wordy.root, {"deploy.md": f"# Deploy\n\n{REPORTED}\n"})
    whole = getattr(owner, step)

    def killed(*given: Any) -> None:
        if done:
            whole(*given)
        raise KeyboardInterrupt

    with monkeypatch.context() as patch, pytest.raises(KeyboardInterrupt):
        patch.setattr(owner, step, killed)
        wordy.index()
    if not stays:
        (wordy.root / "deploy.md").unlink()
    wordy.index()
    assert "deploy.md" not in wordy.documents()
    held = wordy.components.catalog.quarantine.entries(wordy.workspace.partition)
    assert [each.session_id for each in held] == ["deploy.md"] * stays
    assert all("curl-auth-user (line 3)" in each.reason for each in held)
    assert plan_workspace(wordy.components, wordy.workspace) is None


def test_a_document_whose_path_the_scanner_reports_is_held_back_alone(wordy: Indexed) -> None:
    """The workspace goes on, and the document is named, for anybody could guess its path."""
    path = "curl -u " + "bob:{v} https:/x.md"
    write(wordy.root, {path: "# Harmless\n"})
    wordy.index()
    assert "README.md" in wordy.documents() and path not in wordy.documents()
    (held,) = wordy.components.catalog.quarantine.entries(wordy.workspace.partition)
    assert held.session_id == path and "curl-auth-user" in held.reason
    assert plan_workspace(wordy.components, wordy.workspace) is None


def test_a_changed_document_that_is_held_back_is_found_no_more(wordy: Indexed) -> None:
    """Neither what it was nor what it is: chunks and keywords of it go, too."""
    wordy.index()
    write(wordy.root, {"README.md": f"# Harbor\n\n{REPORTED}\n"})
    wordy.index()
    memory = Memory(wordy.components.settings)
    hits = memory.search("lock timeout migration harbor", kinds=("workspace",)).hits
    assert all(hit.metadata["file_path"] != "README.md" for hit in hits)


def test_a_secret_that_becomes_known_is_taken_out_of_the_documents_that_hold_it(
    wordy: Indexed,
) -> None:
    """The others are read and not redacted again; all are current then."""
    word = "Zr8kQ2vLw7" + "Np4xTb6HsY"
    write(wordy.root, {"notes.md": f"# Notes\n\nThe harbour of {word} is full.\n"})
    wordy.index()
    assert word in wordy.documents()["notes.md"]["text"]
    hashed = value_hash(word, wordy.components.install_key)
    assert hashed is not None
    wordy.components.catalog.known_secrets.add("a session", {hashed: "a-rule"})
    assert plan_workspace(wordy.components, wordy.workspace) is not None
    assert wordy.index()["workspace_documents"].changed == 1
    assert word not in wordy.documents()["notes.md"]["text"]
    assert plan_workspace(wordy.components, wordy.workspace) is None


def test_a_memory_in_its_own_workspace_is_not_taken_in(
    tmp_path: Path, engines: dict[str, Any]
) -> None:
    """Else a watcher would follow what its own runs write."""
    write(tmp_path / "harbor", {"README.md": "# Harbor\n", "data/notes.txt": "of the memory\n"})
    made = Indexed(
        tmp_path / "harbor", tmp_path / "harbor" / "data", engines, {"embedder": NO_EMBEDDER}
    )
    made.index()
    assert made.documents().keys() == {"README.md"}
    with one_walk(made.components, made.workspace):
        assert not look_at(made.components, made.workspace, "data/notes.txt")
    made.close()
