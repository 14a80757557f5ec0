"""``exporter help export``: the help of a command, for those who do not try --help."""

from __future__ import annotations

import difflib
from functools import partial
from typing import TYPE_CHECKING, Any

from exporter.cli.commands import command
from exporter.errors import UsageError

if TYPE_CHECKING:
    import argparse


def add(commands: Any, program: argparse.ArgumentParser) -> None:
    """Declares the command. ``program``: the parser of the program, which has the list of commands."""
    parser = command(
        commands, "help", partial(_run, commands, program), "show the commands, or what one of them does",
        "exporter help export",
    )  # fmt: skip
    parser.add_argument("name", nargs="?", metavar="COMMAND", help="a command; without it all of them are listed")


def _run(commands: Any, program: argparse.ArgumentParser, arguments: argparse.Namespace) -> int:
    known: dict[str, argparse.ArgumentParser] = commands.choices
    if arguments.name is not None and arguments.name not in known:
        near = difflib.get_close_matches(arguments.name, known, n=1)
        hint = f"did you mean {near[0]}?" if near else f"there are {', '.join(known)}"
        raise UsageError(f"there is no command {arguments.name}; {hint}")
    (known[arguments.name] if arguments.name else program).print_help()
    return 0
