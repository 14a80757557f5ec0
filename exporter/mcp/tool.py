"""What a tool is: its description for the assistant, and the function that answers a call."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from exporter.mcp.arguments import Arguments

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from exporter.mcp.answers import Json
    from exporter.mcp.graph import OpenGraph


@dataclass(frozen=True)
class Tool:
    """``description``: text of this program alone, nothing from rows. ``properties``: the schemas of the arguments;
    ``output``: that of the answer; ``answer``: raises ExporterError where there is none.
    """

    name: str
    title: str
    description: str
    properties: Mapping[str, Json]
    required: tuple[str, ...]
    output: Json
    answer: Callable[[OpenGraph, Arguments], Json]

    @property
    def schema(self) -> Json:
        """The schema of all arguments."""
        return {
            "type": "object",
            "properties": dict(self.properties),
            "required": list(self.required),
            "additionalProperties": False,
        }

    def arguments(self, given: Mapping[str, Any]) -> Arguments:
        """The arguments of a call."""
        return Arguments(self.name, given, self.properties)
