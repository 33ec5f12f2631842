"""The recipes of CONTRIBUTING.md, held to the code."""

from __future__ import annotations

import ast
import re
import shutil
import subprocess
import sys
from pathlib import Path

import memory_assets
from memory_assets.redaction.rules.formats import sample_characters

ROOT = Path(__file__).resolve().parent.parent
PACKAGE = Path(memory_assets.__file__).parent
AN_AGENT = {"pi", "PiReader", "pi_dir", "PI_DIR"}
"""What the code calls one of the agents."""
REDACT = """
import sys
from memory_assets.redaction import RedactionSettings, load_redactor
redactor = load_redactor(RedactionSettings(engine="re"), bytes(32))
sys.stdout.write(redactor.redact(sys.argv[1]).text)
"""


def _recipe(heading: str) -> str:
    text = (ROOT / "CONTRIBUTING.md").read_text()
    return text.split(f"## {heading}\n")[1].split("\n### ")[0]


def _words(module: Path) -> set[str]:
    """The names and the string constants of a module."""
    return {
        str(getattr(node, field))
        for node in ast.walk(ast.parse(module.read_text()))
        for field in ("value", "id", "name", "arg", "attr")
        if isinstance(getattr(node, field, None), str)
    }


def test_the_recipe_for_a_reader_names_every_module_that_knows_the_agents() -> None:
    """Outside of its own folder, an agent is named in the modules that step 4 lists."""
    knowing = {
        module.relative_to(ROOT).as_posix()
        for module in PACKAGE.rglob("*.py")
        if module.parent.name != "pi" and _words(module) & AN_AGENT
    }
    registering = _recipe("Add a reader").split("4. Register it")[1].split("\n5. ")[0]
    assert set(re.findall(r"memory_assets/[\w/]+\.py", registering)) == knowing


def test_the_recipe_for_a_redaction_rule_is_one_row(tmp_path: Path) -> None:
    """The row of the recipe, added to a scratch copy, makes its tokens disappear."""
    shutil.copytree(PACKAGE, tmp_path / "memory_assets")
    (row,) = re.findall(r"`(\(\"acme-token\".*?\))`", _recipe("Add a redaction rule"))
    theme = tmp_path / "memory_assets/redaction/rules/token_formats/payments.py"
    source = theme.read_text()
    first_row = source.index("= (\n") + len("= (\n")
    theme.write_text(f"{source[:first_row]}    {row},\n{source[first_row:]}")
    token = "acme_live_" + sample_characters("A-Za-z0-9", 40)
    text = f"deployed with {token} yesterday"
    redacted = subprocess.run(
        [sys.executable, "-c", REDACT, text],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    assert re.fullmatch(r"deployed with <redacted:acme-token:\w+> yesterday", redacted)
