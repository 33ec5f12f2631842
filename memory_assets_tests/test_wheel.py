"""The built wheel, installed into a fresh environment and used from another directory."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import sysconfig
import venv
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import dagster
import jsonschema
import pytest
import yaml
from check_jsonschema.builtin_schemas import get_builtin_schema

import memory_assets
from memory_assets import __version__
from memory_assets.paths import PLUGIN_DIR
from memory_assets.stores.chroma import server as chroma_server
from memory_assets_tests.conftest import REPOSITORY

PACKAGE = Path(memory_assets.__file__).parent
_NOT_PART = (".venv", ".git", "build", "*.egg-info", "__pycache__", ".*_cache", ".hypothesis")


@dataclass(frozen=True)
class Installed:
    """An installation of the wheel, with a home directory of its own."""

    script: Path
    home: Path

    @property
    def data_dir(self) -> Path:
        """Where the platform keeps a user's data."""
        return self.home / "data" / "memory_assets"

    def run(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        """Run `memory` from a directory that is not the project's."""
        environment = {
            **os.environ,
            "HOME": str(self.home),
            "XDG_DATA_HOME": str(self.home / "data"),
            "XDG_CONFIG_HOME": str(self.home / "config"),
        }
        return subprocess.run(
            [self.script, *arguments],
            env=environment,
            cwd=self.home,
            capture_output=True,
            text=True,
            check=False,
        )


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Installed]:
    """The wheel, built from the sdist as an index gives it, in a fresh environment; what it depends
    on is taken from this one, so that nothing is downloaded."""
    directory = tmp_path_factory.mktemp("wheel")
    source = directory / "source"
    ignored = shutil.ignore_patterns(*_NOT_PART)

    def ignore(folder: str, names: list[str]) -> set[str]:
        memory = {"data"} if Path(folder) == REPOSITORY else set()
        return set(ignored(folder, names)) | (memory & set(names))

    shutil.copytree(REPOSITORY, source, ignore=ignore)
    shutil.copytree(REPOSITORY / "data" / "sample", source / "data" / "sample")
    _build("sdist", source, into=directory)
    shutil.rmtree(source)
    (archive,) = directory.glob("*.tar.gz")
    shutil.unpack_archive(archive, source, filter="data")
    (unpacked,) = source.iterdir()
    _build("wheel", unpacked, into=directory)
    (wheel,) = directory.glob("*.whl")
    shutil.rmtree(source)
    environment = directory / "environment"
    venv.create(environment, with_pip=False)
    python = environment / "bin" / "python"
    packages = sysconfig.get_path("purelib", vars={"base": str(environment)})
    dependencies = Path(dagster.__file__).parent.parent
    (Path(packages) / "dependencies.pth").write_text(f"{dependencies}\n")
    pip = [sys.executable, "-m", "pip", "--quiet", "--disable-pip-version-check"]
    install = [*pip, "--python", str(python), "install", "--no-deps", "--no-index", "--no-compile"]
    subprocess.run([*install, str(wheel)], check=True, capture_output=True)
    home = directory / "home"
    home.mkdir()
    installation = Installed(environment / "bin" / "memory", home)
    yield installation
    chroma_server.stop(installation.data_dir)


def _build(kind: str, source: Path, into: Path) -> None:
    """Build an sdist or a wheel, as any front end has setuptools do it."""
    code = f"from setuptools import build_meta; build_meta.build_{kind}({str(into)!r})"
    subprocess.run([sys.executable, "-c", code], cwd=source, check=True, capture_output=True)


@pytest.mark.skipif(sys.platform == "win32", reason="environments are laid out otherwise")
def test_the_installed_wheel_works_from_any_directory(installed: Installed) -> None:
    """Without settings it takes in the sample that it brings, keeps the memory in the user's
    data directory, answers, and finds itself in order."""
    assert installed.run("--version").stdout.strip() == __version__
    ingest = installed.run("ingest")
    assert ingest.returncode == 0, ingest.stderr
    assert "9 sessions" in ingest.stdout and "sample" in ingest.stdout
    assert f"Try: {installed.script} search " in ingest.stdout
    assert (installed.data_dir / "catalog.db").exists()
    found = installed.run("search", "why is the report wrong after the clocks changed", "--json")
    assert "3d0f6a52" in json.loads(found.stdout)["hits"][0]["id"]
    doctor = installed.run("doctor", "--json")
    assert doctor.returncode == 0, doctor.stdout
    assert "installed" in json.loads(doctor.stdout)["findings"][0]["found"]


@pytest.mark.skipif(sys.platform == "win32", reason="environments are laid out otherwise")
def test_the_wheel_holds_what_ships_and_nothing_that_was_ingested(installed: Installed) -> None:
    """Dagster's configuration, the sample, docs/ and the files of the pages; no tests, and nothing
    of a memory."""
    (package,) = (installed.script.parent.parent / "lib").glob("*/site-packages/memory_assets")
    shipped = {path.relative_to(package).as_posix() for path in (package / "shipped").glob("*")}
    names = ("dagster.yaml", "workspace.yaml", "data", "docs")
    assert shipped == {f"shipped/{name}" for name in names}
    assert [path.name for path in (package / "shipped" / "data").iterdir()] == ["sample"]
    assert not (package.parent / "memory_assets_tests").exists()
    pages = Path("serving") / "pages"
    ours = {path.relative_to(PACKAGE) for path in (PACKAGE / pages).glob("[st]*/*.*")}
    there = {path.relative_to(package) for path in (package / pages).glob("[st]*/*.*")}
    assert len(ours) > 5 and ours <= there
    plugin = Path("serving") / "plugin"
    parts = {path.relative_to(PLUGIN_DIR) for path in PLUGIN_DIR.rglob("*") if path.is_file()}
    brought = [path for path in (package / plugin).rglob("*") if path.is_file()]
    assert len(parts) > 5 and parts == {path.relative_to(package / plugin) for path in brought}


def test_a_tag_is_published_without_a_token() -> None:
    """By the schema of workflows; only the job that publishes has a right beyond reading, and it
    runs nothing of the checkout."""
    text = (REPOSITORY / ".github" / "workflows" / "release.yml").read_text()
    workflow = {str(name): value for name, value in yaml.safe_load(text).items()}
    named = {"on" if name == "True" else name: value for name, value in workflow.items()}
    jsonschema.validate(named, get_builtin_schema("vendor.github-workflows"))
    assert named["permissions"] == {"contents": "read"}
    jobs = named["jobs"]
    assert "permissions" not in jobs["build"]
    assert jobs["publish"]["permissions"] == {"id-token": "write"}
    assert all("run" not in step for step in jobs["publish"]["steps"])
    assert "secrets." not in text
