"""Questions on the command line: their parameters as options, an example of each, and the list of all."""

from __future__ import annotations

import json
import shlex
from collections.abc import Mapping, Sequence
from typing import Final

import click
from click.shell_completion import CompletionItem

from exporter.ask.parameters import CHOICES, Parameter, refuse_empty
from exporter.ask.shipped import Question, grouped, is_shipped

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
_COMPLETED: Final = {"domain": ("Table", "View", "Stage", "Stream", "Function", "Procedure", "Share", "Tag"), **CHOICES}
"""Kind of a parameter -> the values that a shell completes, of one word; others may be given as well."""


def option_of(parameter: Parameter) -> str:
    """``object_name`` -> ``--object-name``."""
    return f"--{parameter.name.replace('_', '-')}"


def options_of(question: Question, used_options: Sequence[str]) -> list[click.Option]:
    """An option for each parameter. ``used_options``: options of the command, which a parameter cannot have; it is
    given by --param.
    """
    return [
        _option(parameter, [option_of(other) for other in alternatives if other is not parameter])
        for alternatives in _alternatives(question)
        for parameter in alternatives
        if option_of(parameter) not in used_options
    ]


def _alternatives(question: Question) -> list[list[Parameter]]:
    """The parameters, each with those that can replace it: names of objects before their ids."""
    alternatives = [
        [parameter, *(other for other in question.parameters if other.instead == parameter.name)]
        for parameter in question.parameters
        if parameter.instead is None
    ]
    for group in alternatives:
        group.sort(key=lambda parameter: parameter.kind != "object")
    return sorted(alternatives, key=lambda group: not _is_needed(group))  # what is needed first


def _is_needed(alternatives: Sequence[Parameter]) -> bool:
    return any(parameter.required for parameter in alternatives)


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


def values_of_options(question: Question, options: Mapping[str, Sequence[str]]) -> dict[str, list[str]]:
    """Parameter -> the values of its option. ``options``: all that :func:`options_of` made. Raises UsageError for an
    empty value.
    """
    values = dict[str, list[str]]()
    for parameter in question.parameters:
        if given := options.get(_name(parameter)):
            refuse_empty(option_of(parameter), given)
            values[parameter.name] = [*given]
    return values


def example(question: Question) -> str:
    """A command line with what the question needs, and a time if it takes one."""
    needed = [alternatives[0] for alternatives in _alternatives(question) if _is_needed(alternatives)]
    times = [
        parameter for parameter in question.parameters if parameter.name in ("since", "at") and parameter not in needed
    ]
    words = [f"{option_of(parameter)} {_VALUES[parameter.kind][1]}" for parameter in [*needed, *times[:1]]]
    name = question.name if is_shipped(question) else shlex.quote(str(question.path))
    return " ".join(["exporter query", name, "lineage", *words])


def questions_as_text(questions: Sequence[Question]) -> str:
    """The shipped questions in their groups, with their options and columns."""
    groups = ["\n\n".join([title, *map(_question_text, group)]) for title, group in grouped(questions).items()]
    return "\n\n".join([*groups, _HOW])


def _question_text(question: Question) -> str:
    options = "  ".join(map(_options_text, _alternatives(question)))
    lines = [question.asks, options or "no options", f"-> {', '.join(question.columns)}"]
    return "\n".join([f"  {question.name}", *(f"      {line}" for line in lines)])


def _options_text(alternatives: Sequence[Parameter]) -> str:
    """``--object-name NAME or --object-id ID``, ``[--since TIME]``."""
    text = " or ".join(f"{option_of(parameter)} {_VALUES[parameter.kind][0]}" for parameter in alternatives)
    return text if _is_needed(alternatives) else f"[{text}]"


def questions_as_json(questions: Sequence[Question]) -> str:
    """The shipped questions in the order of their names."""
    entries = [
        {
            "name": question.name,
            "group": question.group,
            "asks": question.asks,
            "parameters": [str(p) for p in question.parameters],
            "columns": question.columns,
        }
        for question in questions
    ]
    return json.dumps(entries, indent=1)
