"""Questions on the command line: their parameters as options, an example of each, and the list of all."""

from __future__ import annotations

import json
import shlex
from typing import TYPE_CHECKING, Final

import click
from click.shell_completion import CompletionItem

from exporter.ask.parameters import CHOICES
from exporter.ask.shipped import grouped, is_shipped

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from exporter.ask.parameters import Parameter
    from exporter.ask.shipped import Question

_VALUES: Final = {
    "time": ("TIME", "2026-09-01"),
    "thing": ("IRI", "snowflake://MYORG-MYACCOUNT/table/66564"),
    "object": ("NAME", "DB.SCHEMA.NAME"),
    "object id": ("ID", "66564"),
    "domain": ("KIND", "Table"),
    "column": ("COLUMN", "EMAIL"),
    "tag": ("TAG", "DB.SCHEMA.TAG"),
    "user": ("USER", "JSMITH"),
    "agent": ("AGENT", "DB.SCHEMA.AGENT"),
    "query": ("ID", "01bf0911-1400-6e2c-0200-dd20f12a9777"),
    "shown or bridged": ("HOW", "bridged"),
    "masks or aggregates": ("WHAT", "masks"),
    "text": ("TEXT", "text"),
}
"""Kind of a parameter -> how its value is named in a help, and an example of it."""
_HOW: Final = """To ask a question:                  exporter query NAME DIR
To see its options and an example:  exporter query NAME --help"""
_COMPLETED: Final = {
    "domain": ("Table", "View", "Stage", "Stream", "Function", "Procedure", "Share", "Tag"),
    **CHOICES,
}
"""Kind of a parameter -> the values that a shell completes, of one word; others may be given as well."""


def option_of(parameter: Parameter) -> str:
    """``object_name`` -> ``--object-name``."""
    return f"--{parameter.name.replace('_', '-')}"


def options_of(question: Question, taken: Sequence[str]) -> list[click.Option]:
    """An option for each parameter. ``taken``: options of the command, which a parameter cannot have; it is given by
    --param.
    """
    return [
        _option(one, others)
        for alternatives in _alternatives(question)
        for one in alternatives
        if option_of(one) not in taken
        for others in [[option_of(other) for other in alternatives if other is not one]]
    ]


def _alternatives(question: Question) -> list[list[Parameter]]:
    """The parameters, each with those that can replace it: names of objects before their ids."""
    found = [
        sorted(
            [one, *(other for other in question.parameters if other.instead == one.name)],
            key=lambda one: one.kind != "object",
        )
        for one in question.parameters
        if one.instead is None
    ]
    return sorted(found, key=lambda one: not _is_needed(one))  # what is needed first


def _is_needed(alternatives: Sequence[Parameter]) -> bool:
    return any(one.required for one in alternatives)


def _option(parameter: Parameter, others: Sequence[str]) -> click.Option:
    default = f"; {parameter.default} by default" if parameter.default else ""
    need = f"{', or '.join(['required', *others])}: " if parameter.required or others else ""
    values = _COMPLETED.get(parameter.kind, ())

    def completed(_: click.Context, __: click.Parameter, incomplete: str) -> list[CompletionItem]:
        return [CompletionItem(value) for value in values if value.lower().startswith(incomplete.lower())]

    return click.Option(
        [option_of(parameter), _name(parameter)],
        metavar=_VALUES[parameter.kind][0],
        multiple=True,
        help=f"{need}{parameter.text}{default}",
        shell_complete=completed,
    )


def _name(parameter: Parameter) -> str:
    """Different from the names of the command's own values."""
    return f"parameter_{parameter.name}"


def given(question: Question, values: Mapping[str, Sequence[str]]) -> dict[str, list[str]]:
    """Parameter -> the values of its option. ``values``: of all options that :func:`options_of` made."""
    return {one.name: list(values[_name(one)]) for one in question.parameters if values.get(_name(one))}


def example(question: Question) -> str:
    """A command line with what the question needs, and a time if it takes one."""
    needed = [one[0] for one in _alternatives(question) if _is_needed(one)]
    times = [one for one in question.parameters if one.name in ("since", "at") and one not in needed]
    words = [f"{option_of(one)} {_VALUES[one.kind][1]}" for one in [*needed, *times[:1]]]
    name = question.name if is_shipped(question) else shlex.quote(str(question.path))
    return " ".join(["exporter query", name, "lineage", *words])


def listed(questions: Sequence[Question]) -> str:
    """The shipped questions in their groups, with their options and columns."""
    groups = ["\n\n".join([title, *map(_entry, some)]) for title, some in grouped(questions).items()]
    return "\n\n".join([*groups, _HOW])


def _entry(question: Question) -> str:
    options = "  ".join(map(_shown, _alternatives(question)))
    lines = [question.asks, options or "no options", f"-> {', '.join(question.columns)}"]
    return "\n".join([f"  {question.name}", *(f"      {line}" for line in lines)])


def _shown(alternatives: Sequence[Parameter]) -> str:
    """``--object-name NAME or --object-id ID``, ``[--since TIME]``."""
    text = " or ".join(f"{option_of(one)} {_VALUES[one.kind][0]}" for one in alternatives)
    return text if _is_needed(alternatives) else f"[{text}]"


def as_json(questions: Sequence[Question]) -> str:
    """The shipped questions in the order of their names."""
    told = [
        {
            "name": question.name,
            "group": question.group,
            "asks": question.asks,
            "parameters": [str(p) for p in question.parameters],
            "columns": question.columns,
        }
        for question in questions
    ]
    return json.dumps(told, indent=1)
