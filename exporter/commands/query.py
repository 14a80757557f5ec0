"""A question to the graph."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from exporter.commands import command
from exporter.errors import UsageError

if TYPE_CHECKING:
    import argparse
    from collections.abc import Sequence


def add(commands: Any) -> None:
    """Declare it."""
    parser = command(
        commands, "query", _run, "answer a question from the graph",
        "exporter query who-accessed --graph lineage --param object_id=66564",
    )  # fmt: skip
    parser.add_argument(
        "question", metavar="NAME|FILE.rq", help="a shipped question (see exporter queries) or a file of SPARQL"
    )
    parser.add_argument(
        "--graph", required=True, type=Path, metavar="DIR", help="what export wrote, or a folder or file of Turtle"
    )
    parser.add_argument(
        "--param", action="append", default=[], metavar="name=value", help="a parameter; may be given several times"
    )
    parser.add_argument("--format", choices=("table", "csv", "json"), default="table")


def _run(arguments: argparse.Namespace) -> int:
    from exporter.graph.ask.answers import render
    from exporter.graph.ask.questions import answer

    found = answer(arguments.question, arguments.graph, _parameters(arguments.param))
    for note in found.notes:
        print(note, file=sys.stderr)
    sys.stdout.write(render(found, arguments.format))
    return 0


def _parameters(pairs: Sequence[str]) -> dict[str, str]:
    parameters: dict[str, str] = {}
    for pair in pairs:
        name, equals, value = pair.partition("=")
        if not equals or not name:
            raise UsageError(f"--param {pair}: write it as name=value")
        parameters[name] = value
    return parameters
