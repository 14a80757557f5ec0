"""What a tool is: its description and schema for the assistant, the arguments of a call, and the function that answers.

A value that an argument cannot have is an error that says what to write.
"""

from __future__ import annotations

from dataclasses import dataclass
from difflib import get_close_matches
from typing import TYPE_CHECKING, Any, Final

from exporter.ask.parameters import CHOICES
from exporter.errors import UsageError
from exporter.mcp.answers import MOST_OFFSET, MOST_ROWS, ROWS

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping

    from exporter.ask.parameters import Parameter
    from exporter.mcp.answers import Json
    from exporter.mcp.graph import OpenGraph

_HINTS: Final[Mapping[str, str]] = {
    "time": "2026-09-30 or 2026-09-30T08:00:00Z.",
    "object": "DB.SCHEMA.TABLE; letter case counts only in double quotes.",
    "domain": "Table, View, Stage …",
    "tag": "DB.SCHEMA.TAG.",
    "agent": "DB.SCHEMA.AGENT.",
}
"""How a value is written, by the kind of its parameter (:data:`exporter.ask.parameters.KINDS`)."""
_SINGLE_VALUED: Final = frozenset({"time", "domain"})
"""Kinds of parameters of which hardly anybody gives several values."""


def text(description: str) -> Json:
    """The schema of a text."""
    return {"type": "string", "description": description}


def paging(rows: int = ROWS) -> dict[str, Json]:
    """The schema of ``limit`` and ``offset``. ``rows``: the limit where none is given."""
    return {
        "limit": {
            "type": "integer",
            "minimum": 1,
            "maximum": MOST_ROWS,
            "default": rows,
        },
        "offset": {
            "type": "integer",
            "minimum": 0,
            "maximum": MOST_OFFSET,
            "default": 0,
        },
    }


def of_parameter(parameter: Parameter, others: Collection[str]) -> Json:
    """The schema of a parameter of a question. ``others``: the parameters that can replace it."""
    sentences = [parameter.text[:1].upper() + parameter.text[1:].rstrip(".") + ".", _HINTS.get(parameter.kind, "")]
    if parameter.instead:
        sentences.append(f"In place of {parameter.instead}, or with it.")
    elif parameter.required and others:
        sentences.append(f"Needed, or {' or '.join(others)} in its place.")
    if parameter.default:
        sentences.append(f"{parameter.default} if not given." if parameter.kind != "domain" else "")
    full_description = " ".join(filter(None, sentences))
    schema: Json = {"type": "string"}
    if parameter.kind in CHOICES:
        schema["enum"] = list(CHOICES[parameter.kind])
        if parameter.default:  # one way or the other
            return {**schema, "description": full_description}
    if parameter.kind in _SINGLE_VALUED:
        return {**schema, "description": full_description}
    return {"anyOf": [schema, {"type": "array", "items": schema}], "description": full_description}


class Arguments:
    """The arguments of one call. Raises UsageError for names that the tool does not have."""

    def __init__(self, tool: str, values: Mapping[str, Any], argument_names: Collection[str]) -> None:
        self._tool = tool
        self._values = {name: value for name, value in values.items() if value is not None}
        for name in self._values:
            if name not in argument_names:
                similar = get_close_matches(name, argument_names, n=1)
                hint = f" Did you mean {similar[0]}?" if similar else ""
                raise UsageError(f"{tool} has no argument {name}.{hint} It has: {', '.join(argument_names)}.")

    def __contains__(self, name: str) -> bool:
        return name in self._values

    def texts(self, name: str) -> list[str]:
        """The values of an argument: a text, a number, or a list of them; none where it is not given."""
        value = self._values.get(name, [])
        items = value if isinstance(value, list) else [value]
        if any(not isinstance(item, str | int | float) or isinstance(item, bool) for item in items):
            raise UsageError(f"{name}: write a text, or a list of texts.")
        return [str(item) for item in items]

    def text(self, name: str) -> str | None:
        """The value of an argument that has one."""
        values = self.texts(name)
        if len(values) > 1:
            raise UsageError(f"{name}: {self._tool} takes one value of it.")
        return values[0] if values and values[0].strip() else None

    def needed(self, name: str) -> str:
        """The value of an argument that has to be given."""
        value = self.text(name)
        if value is None:
            raise UsageError(f"{self._tool} needs the argument {name}.")
        return value

    def number(self, name: str, default: int, least: int, most: int) -> int:
        """A whole number from ``least`` to ``most``."""
        value = self._values.get(name, default)
        number = int(value) if isinstance(value, float) and value.is_integer() else value
        if not isinstance(number, int) or isinstance(number, bool) or not least <= number <= most:
            raise UsageError(f"{name}: write a whole number from {least:,} to {most:,}.")
        return number

    def paging(self, rows: int = ROWS) -> tuple[int, int]:
        """The values of ``limit`` and ``offset``."""
        return self.number("limit", rows, 1, MOST_ROWS), self.number("offset", 0, 0, MOST_OFFSET)

    def all_texts(self) -> set[str]:
        """All values that are texts: they may have come from a row."""
        values = [item for value in self._values.values() for item in (value if isinstance(value, list) else [value])]
        return {text for text in values if isinstance(text, str) and text.strip()}


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

    def arguments(self, values: Mapping[str, Any]) -> Arguments:
        """The arguments of a call."""
        return Arguments(self.name, values, self.properties)
