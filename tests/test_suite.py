"""How the tests themselves are run."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pytest


def test_the_tests_of_a_module_stay_in_one_process(request: pytest.FixtureRequest) -> None:
    """So that what a module shares is made once. Where pytest-xdist finds no groups, it says nothing, and only takes
    longer; where it finds one, the name of the test ends with it.
    """
    is_grouped = request.config.getoption("loadgroup", default=False)
    assert not is_grouped or request.node.nodeid.endswith("@tests/test_suite.py")
