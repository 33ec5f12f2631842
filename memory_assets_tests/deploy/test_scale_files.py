"""The files of a deployment of workers: for Kubernetes, and their image."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
import yaml
from kubernetes.client import ApiClient

from memory_assets_tests.conftest import REPOSITORY

KUBERNETES = REPOSITORY / "deploy" / "kubernetes"
KINDS = {"CronJob": "V1CronJob", "NetworkPolicy": "V1NetworkPolicy"}
VALUES = KUBERNETES / "dagster-values.yaml"


def understood(value: Any, kind: str) -> Any:
    """What is left of a value that is read as a model of Kubernetes' API and written again."""
    client = ApiClient()
    read = client.deserialize(json.dumps(value), kind, "application/json")
    return client.sanitize_for_serialization(read)  # type: ignore[no-untyped-call]


@pytest.mark.parametrize(
    "path", sorted(KUBERNETES.glob("*-*.yaml"), key=str), ids=lambda path: path.name
)
def test_it_is_of_kubernetes_api(path: Path) -> None:
    """Every field is one that the models of its client know, in its place, and none is missing.
    Dagster's chart has a schema of its own, which is in no package: of its values the parts that
    go to Kubernetes as they are have been tried."""
    value = yaml.safe_load(path.read_text())
    if path != VALUES:
        assert understood(value, KINDS[value["kind"]]) == value
        return
    (workers,) = value["dagster-user-deployments"]["deployments"]
    run = value["runLauncher"]["config"]["k8sRunLauncher"]["runK8sConfig"]
    container = {"name": "dagster", **run["containerConfig"], "env": workers["env"]}
    container["envFrom"] = [{"secretRef": each} for each in workers["envSecrets"]]
    pod = {"containers": [container], **run["podSpecConfig"]}
    assert understood(pod, "V1PodSpec") == pod
    mounts = {each["name"] for each in container["volumeMounts"]}
    assert mounts == {each["name"] for each in pod["volumes"]}


def test_secrets_are_named_and_not_written() -> None:
    """In no file is a value of one, nor a password."""
    for path in KUBERNETES.glob("*.yaml"):
        for line in path.read_text().splitlines():
            told = re.search(r"(?i)(password|secret|token|_key)\w*: *(?P<value>\S+)", line)
            named = ("false", "{", "dagster-postgresql-secret")
            assert told is None or told["value"] in named, line


def test_no_worker_may_do_more_than_a_user() -> None:
    """Neither root nor new rights, in the code server, in runs and where shards are pulled."""
    texts = [VALUES.read_text(), (KUBERNETES / "pull-job.yaml").read_text()]
    contexts = [text.count("runAsNonRoot: true") for text in texts]
    assert contexts == [1, 1] and texts[0].count("*harmless") == 1  # once written, used twice


def test_the_image_has_what_is_there_and_no_key() -> None:
    """Files that exist; the extras in the versions of the developers' lock; what is compiled, and
    nothing that a home keeps for itself."""
    text = (REPOSITORY / "deploy/scale/Dockerfile").read_text()
    locked = (REPOSITORY / "requirements-dev.lock").read_text()
    for line in text.splitlines():
        if line.startswith("COPY"):
            assert all((REPOSITORY / name).exists() for name in line.split()[1:-1])
    for name in ("obstore", "dagster-postgres", "sqlalchemy"):
        assert name in text and re.search(rf"^{name}==", locked, re.M)
    assert "-m memory_assets.shards.workers" in text
