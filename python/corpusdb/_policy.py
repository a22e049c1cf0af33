"""Settings of dedup: the keywords of every call that takes some, and what the native module is given."""

from __future__ import annotations

import json
from typing import TypedDict

__all__ = ["Decision", "PolicySettings", "policy_settings"]


class _Profile(TypedDict, total=False):
    #: The settings that it begins with.
    profile: str | None


class Decision(TypedDict, total=False):
    """What may be otherwise in a corpus that has documents; of the normaliser, another version of it."""

    mode: str | None
    threshold: float | None
    bands: int | None
    rows: int | None
    keep: str | None
    scope: str | None
    normaliser: str | None


class PolicySettings(_Profile, Decision, total=False):
    """A whole policy: a profile with overrides."""

    compare: str | None
    shingle: int | None
    hashes: int | None


def policy_settings(given: Decision) -> str:
    """The settings as the native module is given them: a JSON object, without those that are None."""
    return json.dumps({name: value for name, value in given.items() if value is not None})
