"""``exporter query``: answers a question from the graph."""

from __future__ import annotations

import sys
from argparse import ArgumentTypeError
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Final

from exporter.cli.commands import command, here
from exporter.errors import RefusedError, UsageError
from exporter.system.terminal import bare, message

if TYPE_CHECKING:
    import argparse
    from collections.abc import Sequence

_LONGEST: Final = 7 * 86_400.0
"""Seconds: a week."""
_NOT_RECORDED: Final = "Snowflake does not record everything; docs/not-recorded.md lists what an answer can lack."
"""Shown with an answer without rows, except to a check, whose good answer has none."""


def add(commands: Any) -> None:
    """Declares the command."""
    parser = command(
        commands, "query", _run, "answer a question from the graph",
        "exporter query who-accessed --graph lineage --param object_id=66564",
    )  # fmt: skip
    parser.add_argument(
        "question", metavar="NAME|FILE.rq", help="a shipped question (see exporter queries) or a file of SPARQL"
    )
    parser.add_argument(
        "--graph", required=True, type=here, metavar="DIR", help="what export wrote, or a folder or file of Turtle"
    )
    parser.add_argument(
        "--param",
        action="append",
        default=[],
        metavar="name=value",
        help="a parameter; given several times, it has several values",
    )
    parser.add_argument("--format", choices=("table", "csv", "json"), default="table")
    parser.add_argument(
        "--timeout", type=_seconds, default=60.0, metavar="SECONDS", help="how long the answer may take (default 60)"
    )
    parser.add_argument(
        "--max-rows", type=_rows, default=1_000_000, metavar="N", help="the most rows of the answer (default 1000000)"
    )
    parser.add_argument("--fail-on-rows", action="store_true", help="for checks: exit 1 if the answer has rows")


def _run(arguments: argparse.Namespace) -> int:
    from exporter.ask.answers import render
    from exporter.ask.pool import TooLongError, answer

    parameters = _parameters(arguments.param)
    try:
        found = answer(arguments.question, arguments.graph, parameters, arguments.timeout, arguments.max_rows)
    except TooLongError as error:
        raise UsageError(f"{arguments.question}: {error} --timeout gives it more time.") from None
    for note in found.notes:
        print(message(note), file=sys.stderr)
    if not found.rows and not arguments.fail_on_rows:
        print(_NOT_RECORDED, file=sys.stderr)
    _written(render(found, arguments.format), arguments.format)
    if arguments.fail_on_rows and found.rows:
        sys.stdout.flush()
        raise RefusedError(f"{arguments.question} has {_counted(len(found.rows))}, which --fail-on-rows forbids.")
    return 0


def _written(text: str, fmt: str) -> None:
    """Prints an answer. CSV is data, so control characters are replaced only where a terminal shows it."""
    stream = sys.stdout if fmt != "csv" or sys.stdout.isatty() else bare(sys.stdout)
    stream.write(text)


def _counted(rows: int) -> str:
    return "1 row" if rows == 1 else f"{rows:,} rows"


def _seconds(text: str) -> float:
    with suppress(ValueError):
        if 0 < float(text) <= _LONGEST:
            return float(text)
    raise ArgumentTypeError(f"{text} is not a number of seconds above 0 (and up to a week)")


def _rows(text: str) -> int:
    with suppress(ValueError):
        if int(text) > 0:
            return int(text)
    raise ArgumentTypeError(f"{text} is not a whole number above 0")


def _parameters(pairs: Sequence[str]) -> dict[str, list[str]]:
    """The values of each parameter, in the order in which they were given."""
    parameters: dict[str, list[str]] = {}
    for pair in pairs:
        name, equals, value = pair.partition("=")
        if not equals or not name:
            raise UsageError(f"--param {pair}: write it as name=value")
        parameters.setdefault(name, []).append(value)
    return parameters
