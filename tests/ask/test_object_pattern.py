"""The SPARQL lines that resolve names are the same in every place."""

from __future__ import annotations

import re
from typing import Final

import pytest

from exporter.ask.questions import find, questions
from tests.graph.shape_graphs import ROOT

FILES: Final = {one.name: one.query for one in questions()}
BY_NAME: Final = sorted(
    name for name, query in FILES.items() if re.search(r"^# param (target_)?object_name", query, re.MULTILINE)
)


def without_indent(text: str) -> str:
    return re.sub(r"^ +", "", text, flags=re.MULTILINE)


def lines_of_the_page() -> str:
    """The lines as docs/graph.md has them, for a question without a default kind."""
    page = (ROOT / "docs" / "graph.md").read_text(encoding="utf-8")
    match = re.search(r"^  \{\n    # The objects that are meant.*?^  \}\n", page, re.MULTILINE | re.DOTALL)
    assert match
    return without_indent(match[0])


@pytest.mark.parametrize("name", BY_NAME)
def test_a_question_about_an_object_has_the_lines(name: str) -> None:
    question = FILES[name]
    kind = re.search(r"VALUES \?domain_of_id { (.*?) }", question)
    parameter = "target_object_name" if "# param target_object_name" in question else "object_name"
    assert kind
    lines = lines_of_the_page().replace("?domain_of_id { UNDEF }", f"?domain_of_id {{ {kind[1]} }}")
    lines = lines.replace("# param object_name\n", f"# param {parameter}\n")
    times = question.count("The objects that are meant, each from when until when")
    assert without_indent(question).count(lines) == times >= 1


def test_the_default_kind_is_the_one_that_the_lines_have() -> None:
    for name in BY_NAME:
        asked = find(name)
        default = next((one.default for one in asked.parameters if one.name == "domain"), None)
        kind = f'"{default}"' if default else "UNDEF"
        assert f"VALUES ?domain_of_id {{ {kind} }}" in asked.query


def test_no_question_compares_names_letter_by_letter() -> None:
    """The lines alone take letter case off."""
    for name, query in FILES.items():
        compared = [line for line in query.splitlines() if "UCASE(" in line]
        rule = r"BIND\((COALESCE\()?IF\(CONTAINS\((\?\w+), '\"'\), \2, UCASE\(\2\)\)(, \"\"\))? AS "
        assert all(re.search(rule, one) for one in compared), name
