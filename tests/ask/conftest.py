"""What all tests of questions share."""

from __future__ import annotations

import pytest


@pytest.fixture(autouse=True)
def in_this_process(request: pytest.FixtureRequest) -> None:
    """These tests are about the answer; tests/cli, tests/hostile and tests/serve are about the process."""
    if "pool" not in vars(request.module):
        request.getfixturevalue("answers_in_this_process")
