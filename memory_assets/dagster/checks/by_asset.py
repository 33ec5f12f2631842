"""Every check, by the name of the asset whose step makes it."""

from __future__ import annotations

from collections.abc import Sequence

import dagster as dg

from memory_assets.dagster.checks import completeness, redaction, schemas
from memory_assets.dagster.checks.verdicts import Check

CHECKS: Sequence[Check] = (*redaction.CHECKS, *completeness.CHECKS, *schemas.CHECKS)


def checks_of(asset: str) -> list[Check]:
    """Return the checks of an asset, blocking ones first."""
    return sorted(
        (check for check in CHECKS if check.asset == asset), key=lambda check: not check.blocking
    )


def specs_of(asset: str) -> list[dg.AssetCheckSpec]:
    """Return the same as specs, for the asset's definition."""
    return [check.spec for check in checks_of(asset)]
