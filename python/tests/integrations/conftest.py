"""The tests beside these prepare the corpora. Trainers are counted over three epochs of one plan."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from corpusdb._plan import Plan

sys.path.insert(0, str(Path(__file__).parent.parent))


@pytest.fixture(scope="module")
def plan(tmp_path_factory: pytest.TempPathFactory) -> Plan:
    """Conversations in three epochs; files with a plan of their own have a fixture of this name."""
    from counted import CHATS_THRICE
    from epochs import chats, planned

    return planned(chats(tmp_path_factory.mktemp("chats")), CHATS_THRICE)


@pytest.fixture(scope="module")
def wanted(plan: Plan) -> list[list[int]]:
    """The ids of the steps of its epochs."""
    from counted import steps_of_epochs

    return steps_of_epochs(plan, 3)
