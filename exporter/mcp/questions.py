"""Each shipped question as a tool: its parameters as the schema, its rows with its notes as the answer."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from exporter.ask.shipped import comment_of
from exporter.mcp.answers import COUNTED, OF_ROWS
from exporter.mcp.arguments import of_parameter, paging
from exporter.mcp.tool import Tool

if TYPE_CHECKING:
    from exporter.ask.shipped import Question
    from exporter.mcp.answers import Json
    from exporter.mcp.arguments import Arguments
    from exporter.mcp.graph import OpenGraph

CUT: Final = " --max-rows"
"""Part of the note of :mod:`exporter.ask.questions` on rows that are left out; an answer here says so itself."""
NOT_RECORDED: Final = (
    "Snowflake does not record everything: the resource access-history://not-recorded lists what an answer can lack."
)


def of_question(question: Question) -> Tool:
    """The tool with the name of the question."""
    return Tool(
        question.name,
        question.name.replace("-", " ").capitalize(),
        f"{explained(question.query)} Columns: {', '.join(question.columns)}.",
        properties={**_properties(question), **paging()},
        required=tuple(one.name for one in question.parameters if one.required and not _others(question, one.name)),
        output=OF_ROWS,
        answer=lambda graph, arguments: _answer(graph, question, arguments),
    )


def _properties(question: Question) -> dict[str, Json]:
    return {one.name: of_parameter(one, _others(question, one.name)) for one in question.parameters}


def _others(question: Question, name: str) -> list[str]:
    """The parameters that can replace another one."""
    return [one.name for one in question.parameters if one.instead == name]


def explained(query: str) -> str:
    """What the comment at the top of a question says, without its parameters."""
    return " ".join(filter(None, comment_of(query)))


def _answer(graph: OpenGraph, question: Question, arguments: Arguments) -> Json:
    limit, offset = arguments.paging()
    given = {one.name: values for one in question.parameters if (values := arguments.texts(one.name))}
    most = max(COUNTED, offset + limit)
    found = graph.ask(question.name, given, most)
    notes = [note for note in found.notes if CUT not in note]
    is_all = len(notes) == len(found.notes)
    if not found.rows:
        notes += [] if notes else [graph.no_row()]
    notes += graph.notes()
    if not found.rows:
        notes.append(NOT_RECORDED)
    return graph.table(found, limit, offset, notes, arguments, is_all=is_all)
