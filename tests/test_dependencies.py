"""The page on dependencies has every pinned package, with who requires it, its versions, and its licence."""

from __future__ import annotations

import re
import tomllib
from importlib.metadata import Distribution, distributions
from typing import Any, Final

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from tests import audit
from tests.pages import sections, spans, table, text

PAGE: Final = sections(text("docs/dependencies.md"))
PROJECT: Final[dict[str, Any]] = tomllib.loads(text("pyproject.toml"))["project"]
ROWS: Final = {spans(cells[0])[0]: cells for cells in table(PAGE["Python packages"]) if spans(cells[0])}
OURS: Final = "access-history-exporter (pyproject.toml)"
INSTALLED: Final[dict[str, Distribution]] = {canonicalize_name(one.metadata["Name"]): one for one in distributions()}


def asked_for_by() -> dict[str, set[str]]:
    """Each pinned package -> those that ask for it, as the annotations of the lock files say."""
    who: dict[str, set[str]] = {}
    for block in re.split(r"\n(?=[a-z])", text("requirements.lock") + text("requirements-build.lock")):
        if "==" in block.partition("\n")[0]:
            told = re.search(r"# via (.*)", block)
            who.setdefault(block.partition("==")[0], set()).update(told[1].split(", ") if told else ["the build"])
    return who


def names(requirements: list[str]) -> dict[str, str]:
    """Each requirement's name -> what follows it, as it is written."""
    return {(name := Requirement(one).name): one.removeprefix(name) for one in requirements}


def test_every_package_is_in_the_table() -> None:
    assert ROWS.keys() == asked_for_by().keys()


def test_every_package_that_a_package_needs_here_is_pinned_for_this_python() -> None:
    """pip refuses a lock that lacks one: a pin that is only for other versions of Python counts as missing."""
    lines = re.findall(r"^\w[^\n\\]*==[^\n\\]*", text("requirements.lock"), re.MULTILINE)
    pins = [one for one in map(Requirement, lines) if one.marker is None or one.marker.evaluate()]
    pinned = {canonicalize_name(one.name) for one in pins} | {"pip", "setuptools"}
    needed = {
        canonicalize_name(other.name): one
        for one in pinned & INSTALLED.keys()
        for other in map(Requirement, INSTALLED[one].requires or [])
        if other.marker is None or other.marker.evaluate({"extra": ""})
    }
    assert len(needed) > 30
    assert {name: one for name, one in needed.items() if name not in pinned} == {}


def test_ranges_and_who_asks() -> None:
    program, extras = names(PROJECT["dependencies"]), PROJECT["optional-dependencies"]
    pages, assistants, sql, tests = (names(extras[name]) for name in ("serve", "mcp", "sql", "test"))
    requesters = (
        *(("the program", program), ("the pages", pages), ("assistants", assistants), ("SQL text", sql)),
        ("the tests", tests),
    )
    for name, who in asked_for_by().items():
        said = {part.strip().strip("`") for part in ROWS[name][2].split(",")}
        expected = who - {OURS} | {word for word, of in requesters if name in of}
        assert (name, said) == (name, expected)
        assert (name, ROWS[name][1].strip("`")) == (name, (program | pages | assistants | sql).get(name, ""))


def test_every_package_says_what_it_is_for() -> None:
    assert [name for name, cells in ROWS.items() if len(cells[3]) < 5] == []


@pytest.mark.parametrize("name", sorted(ROWS.keys() & INSTALLED.keys()))
def test_licences_are_those_in_the_packages(name: str) -> None:
    told = INSTALLED[name].metadata
    expression, older = (next(iter(told.get_all(name) or []), "") for name in ("License-Expression", "License"))
    expression = expression or (older if _is_known(older) else "")
    classifiers = [one for one in told.get_all("Classifier") or [] if one.startswith("License :: ")]
    licences = [{"expression": expression}] if expression else [{"license": {"name": one}} for one in classifiers]
    assert audit.licence({"licenses": licences}) == audit.licence({"licenses": [{"expression": ROWS[name][4]}]})


def _is_known(licence: str) -> bool:
    """Whether the older field holds ids: many have the whole text of their licence there."""
    return bool(licence) and audit.licence({"licenses": [{"expression": licence}]}) <= audit.ALLOWED


@pytest.mark.parametrize("page", ["docs/setup.md", "docs/cluster.md"])
def test_pages_name_the_same_ranges(page: str) -> None:
    """There the packages are named that a platform or a cluster with its own PySpark lacks."""
    named = re.findall(r"'([\w-]+[<>][^' ]*)'", text(page))
    assert named == [one for one in PROJECT["dependencies"] if not one.startswith("pyspark")]
