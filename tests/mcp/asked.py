"""Asks a server as an assistant's client does, by the SDK."""

from __future__ import annotations

import json
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import anyio
from mcp import Client

from exporter.mcp.graph import SECONDS, OpenGraph
from exporter.mcp.server import make

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from mcp.types import CallToolResult

Json = dict[str, Any]
MODES = ("legacy", "auto")
"""The protocol up to 2025-11-25, which begins with a handshake, and that from 2026-07-28 on."""


class Asked:
    """A server in this process."""

    def __init__(self, graph: OpenGraph) -> None:
        self.graph = graph
        self.server = make(graph)

    def result(self, tool: str, **arguments: Any) -> CallToolResult:
        """What a call gives. The client validates it by the schema of the tool."""
        return self.all_results([(tool, arguments)])[0]

    def all_results(self, calls: list[tuple[str, Json]], mode: str = "auto") -> list[CallToolResult]:
        async def ask() -> list[CallToolResult]:
            async with Client(self.server, mode=mode) as client:
                await client.list_tools()
                return [await client.call_tool(tool, arguments) for tool, arguments in calls]

        return anyio.run(ask)

    def answer(self, tool: str, **arguments: Any) -> Json:
        """An answer; it is no error, and its text says the same as its structure."""
        result = self.result(tool, **arguments)
        assert not result.is_error, result.content
        assert [json.loads(one.text) for one in result.content] == [result.structured_content]
        return result.structured_content

    def error(self, tool: str, **arguments: Any) -> str:
        """The text of an error, with the names in their places."""
        result = self.result(tool, **arguments)
        assert result.is_error
        assert [json.loads(one.text) for one in result.content] == [result.structured_content]
        return whole(result.structured_content["error"])

    def rows(self, tool: str, **arguments: Any) -> list[list[str | None]]:
        return self.answer(tool, **arguments)["rows"]

    def notes(self, tool: str, **arguments: Any) -> list[str]:
        return [whole(note) for note in self.answer(tool, **arguments)["notes"]]


def whole(said: Json) -> str:
    """A sentence with the names in their places."""
    text = said["text"]
    for number, name in reversed(list(enumerate(said["names"], 1))):
        text = text.replace(f"[{number}]", name)
    return text


@contextmanager
def asked(graph: Path, seconds: float = SECONDS) -> Iterator[Asked]:
    """``seconds``: the time for each answer."""
    with OpenGraph(graph, lambda _: None, seconds) as opened:
        yield Asked(opened)
