"""The stage of workspace_documents: every text file of a workspace, redacted."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import replace
from datetime import UTC, datetime
from functools import partial
from hashlib import blake2b

from memory_assets.chunking import content_hash
from memory_assets.document_models import WorkspaceDocument
from memory_assets.documents import KIND_OF, file_type
from memory_assets.documents.domains import domains_of
from memory_assets.documents.encodings import decoded
from memory_assets.documents.repository import git_blob, repo_slug, service_of
from memory_assets.documents.walk import FoundFile, Walk
from memory_assets.pipeline.stage.components import Components
from memory_assets.pipeline.stage.due import Status, Work, make_due, note_products, release_vanished
from memory_assets.pipeline.stage.report import StageReport, input_hash, timing
from memory_assets.pipeline.tables.embeddings import keep_vectors
from memory_assets.pipeline.workspace.files import (
    STAGE,
    DueDocuments,
    files_of,
    known_values,
    made_with,
)
from memory_assets.redaction import KnownValues, keep_lines
from memory_assets.stores.catalog.facts import ProductFacts, count
from memory_assets.stores.catalog.schema import Product
from memory_assets.stores.lake.lake import LakeBatch
from memory_assets.stores.lake.rows import arrow_rows
from memory_assets.stores.lake.schemas import WORKSPACE_DOCUMENTS
from memory_assets.stores.workspaces import AGENT, Workspace, Workspaces


def read_documents(components: Components, partition: str) -> StageReport:
    """Bring the documents of a workspace up to date with its files, and return the report.

    A file that cannot be read or redacted is quarantined; its former content stays. Files that are
    no text are noted, so that they are not read again. Newest files are read first; once
    `components.enough` is true, the others are left to the next run.
    """
    report = StageReport(STAGE, partition)
    catalog = components.catalog
    workspace = Workspaces(components.data_dir).of_partition(partition)
    with components.project_lock(partition), timing(report):
        walk = files_of(components, workspace)
        known = catalog.known_secrets.last_number()
        version = made_with(components, known)
        catalog.kept_vectors.expire(partition, version)
        due = DueDocuments(components, partition, version)
        products = due.products
        domains, unread = domains_of(workspace.root, walk.files)
        reader = _DocumentReader(components, workspace, version, known, domains)
        batch = LakeBatch(components.lake, partition, WORKSPACE_DOCUMENTS)

        def status(file: FoundFile) -> Status:
            """Return the state of a document; the domain of its service may be another one now."""
            has_domain = reader.has_present_domain(products.get(file.path), file.path)
            return due.status(file, is_outdated=not has_domain)

        def read(file: FoundFile, expected: str) -> Product | None:
            try:
                return reader.product_of(file, products.get(file.path), batch)
            except FileNotFoundError:  # it vanished since
                del walk.files[file.path]
                return None

        newest = sorted(walk.files.values(), key=lambda file: (-file.mtime_ns, file.path))
        works = [
            Work(file.path, status(file), due.expected(file.mtime_ns), file) for file in newest
        ]
        note = partial(note_products, components, products)
        make_due(components, report, batch, works, read, note, components.enough)
        report.changed, report.rows_written = reader.changed, reader.rows_written
        report.removed = _remove_vanished(components, partition, products, walk, version)
        release_vanished(components, report, walk.files)
        batch.compact()
        report.add_products(list(products.values()))
        report.quarantined = len(catalog.quarantine.inputs(partition, STAGE))
        _add_details(report, products, walk)
        for path in unread:
            report.details[f"names no domains, cannot be parsed: {path}"] = 1
    return report


class _DocumentReader:
    """Reads, redacts and writes documents of one workspace."""

    def __init__(
        self,
        components: Components,
        workspace: Workspace,
        version: str,
        known: int,
        domains: Mapping[str, str],
    ) -> None:
        self._components, self._workspace, self._version = components, workspace, version
        self._last_known = known
        settings = components.settings
        self._services = dict(
            workspace_service.split("=", 1) for workspace_service in settings.workspace_services
        )
        given = (workspace_domain.split("=", 1) for workspace_domain in settings.workspace_domains)
        self._domains = {**domains, **dict(given)}
        redact = components.redactor.redact
        self._root = redact(str(workspace.root)).text
        self._slug = redact(repo_slug(workspace.root)).text
        self._known = known_values(components).hashes
        self._newer: dict[int, KnownValues] = {}
        self.changed = self.rows_written = 0

    def has_present_domain(self, before: Product | None, path: str) -> bool:
        """Return whether a document's domain is the present one of its service."""
        return before is None or before.facts.get("domain", "") == self._domain_hash(path)

    def _domain_hash(self, path: str) -> str:
        domain = self._domain(path).encode()
        key = self._components.install_key
        return blake2b(domain, key=key, digest_size=8).hexdigest() if domain else ""

    def _domain(self, path: str) -> str:
        return self._domains.get(service_of(path, self._services), "")

    def product_of(self, file: FoundFile, before: Product | None, batch: LakeBatch) -> Product:
        """Write a file's document to the batch if its content changed, and return its product."""
        content = (self._workspace.root / file.path).read_bytes()
        key = self._components.install_key
        fingerprint = blake2b(content, key=key, digest_size=16).hexdigest()
        expected = input_hash(fingerprint, self._version)
        facts: ProductFacts = {
            "agent": AGENT,
            "size": file.size,
            "mtime_ns": file.mtime_ns,
            "fingerprint": fingerprint,
            "made_with": self._version,
            "known": self._last_known,
        }
        if domain := self._domain_hash(file.path):
            facts["domain"] = domain
        if before is not None and self._is_unchanged(before, file.path, content, fingerprint):
            if skipped := before.facts.get("skipped"):
                facts["skipped"] = skipped
            return replace(before, input_hash=expected, facts={**before.facts, **facts})
        facts["same_rules"] = before is not None and before.facts.get("made_with") == self._version
        text, reason = decoded(content)
        rows: list[WorkspaceDocument] = []
        if text is None:
            facts["skipped"] = reason
        else:
            document, rules = self._document(file, content, text)
            rows.append(document)
            facts["redactions"], facts["rules"] = document.redactions, rules
        table = arrow_rows(WORKSPACE_DOCUMENTS, rows, footer={"input_hash": expected})
        batch.put(WORKSPACE_DOCUMENTS, file.path, table)
        self.changed += 1
        self.rows_written += len(rows)
        return Product(
            STAGE,
            self._workspace.partition,
            file.path,
            expected,
            table.facts.output_hash,
            len(rows),
            table.nbytes,
            facts,
        )

    def _is_unchanged(self, before: Product, path: str, content: bytes, fingerprint: str) -> bool:
        """Return whether a document need not be made again: its file has the same content, without
        a secret that has become known since."""
        if not self.has_present_domain(before, path):
            return False
        if before.input_hash == input_hash(fingerprint, self._version):
            return True
        known = before.facts.get("known")
        if known is None or before.input_hash != input_hash(
            fingerprint, made_with(self._components, known)
        ):
            return False
        if known not in self._newer:
            self._newer[known] = known_values(self._components, known)
        texts = (path, decoded(content)[0] or "")
        return not any(map(self._newer[known].are_in, texts))

    def _document(
        self, file: FoundFile, content: bytes, text: str
    ) -> tuple[WorkspaceDocument, Mapping[str, int]]:
        """Return the document of a file, and how often each rule found something in it."""
        document_id = f"{self._workspace.name}::{file.path}"
        redactor = self._components.redactor.session(document_id, self._known)
        redaction = redactor.redact(text)
        path = redactor.redact(file.path).text
        kept = keep_lines(text, redaction)
        service = service_of(file.path, self._services)
        kind = file_type(file.path, kept)
        all_findings = (*redaction.findings, *redaction.personal)
        document = WorkspaceDocument(
            id=document_id,
            project=self._workspace.partition,
            project_root=self._root,
            agent=AGENT,
            session_id=file.path,
            file_path=path,
            file_type=kind,
            kind=KIND_OF[kind],
            bucket=path.cut(0, max(path.find("/"), 0)),
            service=redactor.redact(service).text,
            domain=redactor.redact(self._domain(file.path)).text,
            source_repo_slug=self._slug,
            timestamp=datetime.fromtimestamp(file.mtime_ns / 1e9, UTC),
            size=len(content),
            lines=text.count("\n") + (not text.endswith("\n")),
            git_blob="" if all_findings else git_blob(content),
            redactions=len(all_findings),
            text=kept,
            content_hash=content_hash(kept),
            ruleset_version=self._components.ruleset_version,
        )
        return document, Counter(finding.rule for finding in all_findings)


def _remove_vanished(
    components: Components,
    partition: str,
    products: dict[str, Product],
    walk: Walk,
    version: str,
) -> int:
    """Remove the documents whose files are gone or ignored now; return their number. Vectors of
    texts redacted under the present rules are kept for a while."""
    gone = sorted(products.keys() - walk.files.keys())
    for path in gone:
        if products[path].facts.get("made_with") == version:
            keep_vectors(components, partition, path, version)
    if gone:
        components.lake.delete(WORKSPACE_DOCUMENTS, partition, *gone)
    for path in gone:
        components.catalog.products.drop_noted(partition, path, STAGE)
        components.catalog.vectors.remove(partition, path)
        products.pop(path)
    return len(gone)


def _add_details(report: StageReport, products: Mapping[str, Product], walk: Walk) -> None:
    report.details["documents"] = sum(product.rows for product in products.values())
    report.details["redactions"] = sum(
        count(product.facts, "redactions") for product in products.values()
    )
    skipped = walk.skipped.copy()
    skipped.update(filter(None, (product.facts.get("skipped") for product in products.values())))
    for reason, number in sorted(skipped.items()):
        report.details[f"skipped: {reason}"] = number
