"""``exporter queries``: the list of shipped questions."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from exporter.cli.commands import command

if TYPE_CHECKING:
    import argparse


def add(commands: Any) -> None:
    """Declares the command."""
    parser = command(commands, "queries", _run, "list the shipped questions", "exporter queries")
    parser.add_argument("--json", action="store_true", help="print the list as JSON")


def _run(arguments: argparse.Namespace) -> int:
    from exporter.ask.questions import questions
    from exporter.cli.messages import listed

    print(listed(questions(), as_json=arguments.json))
    return 0
