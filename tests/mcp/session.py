"""The session in ``docs/mcp.md``: its calls, and the answers as the page shows them.

``python -m tests.mcp.session`` writes the answers into the page again: read the difference before you commit it.
"""

from __future__ import annotations

import json
import re
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from tests import exports, golden
from tests.mcp.asked import asked
from tests.pages import ROOT

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.mcp.asked import Asked

PAGE: Final = ROOT / "docs" / "mcp.md"
MONTH: Final = golden.EXAMPLES / "company-month"
_BLOCK: Final = re.compile(
    r"^```json\n> (?P<tool>\S+) (?P<given>[^\n]*)\n(?P<shown>.*?)^```$", re.MULTILINE | re.DOTALL
)


class Call(NamedTuple):
    """A call on the page, with the answer that it shows."""

    tool: str
    given: dict[str, Any]
    shown: str


def calls(page: str) -> Iterator[Call]:
    for match in _BLOCK.finditer(page):
        yield Call(match["tool"], json.loads(match["given"]), match["shown"])


def shown(answer: dict[str, Any]) -> str:
    """The structure of an answer, with each row on a line."""
    lines = [f" {json.dumps(key)}: {_value(value)}" for key, value in answer.items()]
    return "{\n" + ",\n".join(lines) + "\n}\n"


def _value(value: Any) -> str:
    if isinstance(value, list) and value and isinstance(value[0], list | dict):
        return "[\n" + ",\n".join(f"  {json.dumps(one, ensure_ascii=False)}" for one in value) + "\n ]"
    return json.dumps(value, ensure_ascii=False)


def export(out: Path) -> None:
    """The graph of the example month, as the README exports it."""
    options = ("--query-history", str(MONTH / "query_history.csv"), "--outputs", "graph", "--account", "ACME-RETAIL")
    assert exports.export([MONTH / "access_history.ndjson"], out, *options) == 0


def _again(server: Asked, match: re.Match[str]) -> str:
    answer = server.answer(match["tool"], **json.loads(match["given"]))
    return f"```json\n> {match['tool']} {match['given']}\n{shown(answer)}```"


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        export(Path(folder, "month"))
        with asked(Path(folder, "month")) as opened:
            text = PAGE.read_text(encoding="utf-8")
            PAGE.write_text(_BLOCK.sub(lambda match: _again(opened, match), text), encoding="utf-8")
    sys.stdout.write(f"{PAGE} has the answers of today.\n")
