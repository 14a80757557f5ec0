"""The commands, one a module: ``add`` declares its arguments, and what it runs gives the exit code.

A command imports what it needs when it runs, so that none waits for Spark that does not use it.
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
    """A command below ``commands`` (what add_subparsers gives); ``text``: what it does, in a few words.

    Its defaults: ``is_watched``, whether a second process tells the death of this one; ``left``, what to say of DIR
    where it is interrupted or breaks.
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
    """The path of an argument that has to be on this machine, which may be given as a URI, as --out is."""
    from exporter.rows.forms import is_remote, local

    if not name:
        raise argparse.ArgumentTypeError("is empty, as where a variable of the shell is not set")
    if is_remote(name):
        raise argparse.ArgumentTypeError(f"{name} is not on this machine: copy it to a folder here, and give that")
    return Path(local(name))
