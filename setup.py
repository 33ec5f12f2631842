"""Puts into a wheel what a checkout has beside the package; all else is in pyproject.toml."""

import shutil
from pathlib import Path

from setuptools import setup
from setuptools.command.build_py import build_py

_SHIPPED = ("dagster.yaml", "workspace.yaml", "data/sample", "docs")
_HERE = Path(__file__).parent


class BuildWithShippedFiles(build_py):
    """Copies the project's files into `memory_assets/shipped` (`memory_assets/paths.py`)."""

    def run(self) -> None:
        """Build the package, then add the files; an editable install reads the checkout's."""
        super().run()
        if self.editable_mode:
            return
        for name in _SHIPPED:
            source = _HERE / name
            target = Path(self.build_lib) / "memory_assets" / "shipped" / name
            target.parent.mkdir(parents=True, exist_ok=True)
            if source.is_dir():
                ignored = shutil.ignore_patterns(
                    "__pycache__", "generator", "generate.py", "pictures"
                )
                shutil.copytree(source, target, ignore=ignored, dirs_exist_ok=True)
            else:
                shutil.copyfile(source, target)


setup(cmdclass={"build_py": BuildWithShippedFiles})
