"""Settings of dedup as the native module takes them."""

from __future__ import annotations

from typing import Any

__all__ = ["policy_settings"]


def policy_settings(
    *,
    profile: str | None = None,
    mode: str | None = None,
    threshold: float | None = None,
    bands: int | None = None,
    rows: int | None = None,
    keep: str | None = None,
    scope: str | None = None,
    compare: str | None = None,
    normaliser: str | None = None,
    shingle: int | None = None,
    hashes: int | None = None,
) -> dict[str, Any]:
    """The settings that are to be otherwise than in the profile."""
    return dict(locals())
