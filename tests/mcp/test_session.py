"""``docs/mcp.md`` is true: the session on the page, word for word, and the numbers that it names."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Final

import pytest

from exporter.ask.shipped import questions
from exporter.mcp.graph import LONGEST_CELL, SECONDS
from exporter.mcp.resources import FILES, QUESTION
from exporter.mcp.server import tools
from exporter.mcp.tool import LARGEST, MOST_ROWS, ROWS
from tests.mcp.session import PAGE, Call, calls, shown
from tests.pages import BLOCK

if TYPE_CHECKING:
    from tests.mcp.asked import Asked

TEXT: Final = PAGE.read_text(encoding="utf-8")
SESSION: Final = list(calls(TEXT))


@pytest.mark.parametrize("call", SESSION, ids=lambda call: call.tool)
def test_the_session(call: Call, month: Asked) -> None:
    assert shown(month.answer(call.tool, **call.given)) == call.shown


def test_the_session_has_five_questions() -> None:
    assert len(SESSION) >= 5
    assert TEXT.count("**Right:**") == TEXT.count("**Wrong:**") == 5


def test_the_page_names_the_limits_and_what_there_is() -> None:
    for number in (ROWS, MOST_ROWS, LONGEST_CELL, LARGEST):
        assert f"{number:,}" in TEXT
    assert f"{SECONDS:g} seconds" in TEXT
    assert all(f"`{uri}`" in TEXT for uri in (*FILES, f"{QUESTION}NAME"))
    others = [name for name in tools() if name not in {question.name for question in questions()}]
    assert all(f"`{name}`" in TEXT for name in others)


def test_configurations_are_json() -> None:
    """A client reads them as they are; they start the command of the page."""
    read = [json.loads(body) for kind, body in BLOCK.findall(TEXT) if kind == "json" and not body.startswith("> ")]
    assert read
    assert any("exporter" in json.dumps(one) and '"mcp"' in json.dumps(one) for one in read)
