"""How the tests themselves are run."""

from __future__ import annotations

import signal

import pytest

from tests import conftest
from tests.pages import ROOT


@pytest.mark.parametrize("name", [one for one in conftest.LONGEST if one != "spark"])
def test_a_group_that_begins_early_is_there(name: str) -> None:
    """Else a module that was renamed would begin late, and nobody would see why a run takes longer."""
    assert list(ROOT.glob(f"{name}*"))


def test_programs_can_be_interrupted_where_the_tests_run_in_the_background() -> None:
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        conftest.let_programs_be_interrupted()
        assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
    finally:
        signal.signal(signal.SIGINT, before)


def test_a_long_text_has_a_short_name() -> None:
    assert conftest.pytest_make_parametrize_id("short") is None
    names = {conftest.pytest_make_parametrize_id(text) for text in ("x" * 10**6, "x" * (10**6 + 1), b"x" * 10**6)}
    assert len(names) == 3
    assert all(len(name or "") < 2 * conftest.LONG_ID for name in names)


def test_the_tests_of_a_module_stay_in_one_process(request: pytest.FixtureRequest) -> None:
    """So that what a module shares is made once. Where pytest-xdist finds no groups, it says nothing, and only takes
    longer; where it finds one, the name of the test ends with it.
    """
    is_grouped = request.config.getoption("loadgroup", default=False)
    assert not is_grouped or request.node.nodeid.endswith("@tests/test_suite.py")
