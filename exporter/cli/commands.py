"""The commands, one in each module: ``add`` declares its arguments, and the function that it runs returns the exit
code.

A command imports what it needs only when it runs, so that no command waits for Spark without using it.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable


def command(
    commands: Any, name: str, run: Callable[[argparse.Namespace], int], text: str, example: str
) -> argparse.ArgumentParser:
    """Adds a command to ``commands`` (from add_subparsers); ``text``: what it does, in a few words.

    Defaults that it may change: ``is_watched``: whether a second process reports it if this one dies; ``left``: what
    the error message says about DIR where the command is interrupted or fails.
    """
    parser: argparse.ArgumentParser = commands.add_parser(
        name,
        help=text,
        description=f"{text[0].upper()}{text[1:]}.",
        epilog=f"example:\n  {example}",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.set_defaults(command=run, is_watched=False, left="")
    return parser


def here(name: str) -> Path:
    """The path of an argument that has to be on this machine; a ``file:`` URI is allowed, as for --out."""
    from exporter.input.formats import is_remote, local

    if not name:
        raise argparse.ArgumentTypeError("is empty; perhaps a shell variable is not set")
    if is_remote(name):
        raise argparse.ArgumentTypeError(f"{name} is not on this machine: copy it to a folder here and give that")
    return Path(local(name))
