"""What `memory doctor` finds of one part: it looks at nothing else, which takes a second."""

from __future__ import annotations

import pytest

from memory_assets.cli import doctor_command
from memory_assets.cli.doctor_command import Finding
from memory_assets.settings import Settings


def finding_of(name: str, settings: Settings) -> Finding:
    """The finding of this name."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(doctor_command, "_CHECKS", {name: doctor_command._CHECKS[name]})
        ((_, finding),) = doctor_command.diagnose(settings)
    return finding
