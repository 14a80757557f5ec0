"""``exporter serve``: pages for people and a SPARQL endpoint for programs."""

from __future__ import annotations

import sys
from argparse import ArgumentTypeError
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING, Any, Final

from exporter.cli.commands import command, here
from exporter.errors import UsageError
from exporter.system.terminal import message

if TYPE_CHECKING:
    import argparse

_INTERRUPTED: Final = 130
_PACKAGES: Final = ("flask", "waitress", "fast_sugiyama")


def add(commands: Any) -> None:
    """Declares the command."""
    parser = command(
        commands, "serve", _run, "show an export as pages, and answer SPARQL at /sparql", "exporter serve lineage"
    )
    parser.add_argument("dir", metavar="DIR", type=here, help="what export wrote, or a folder or file of Turtle")
    parser.add_argument(
        "--host", default="127.0.0.1", metavar="ADDRESS", help="address to listen on (default 127.0.0.1)"
    )
    parser.add_argument(
        "--port", type=_port, default=7878, metavar="N", help="port to listen on (default 7878; 0 for any free one)"
    )


def _run(arguments: argparse.Namespace) -> int:
    try:
        from exporter.serve.server import is_loopback, serve
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] not in _PACKAGES:
            raise
        install = "pip install 'access-history-exporter[serve]'"
        raise UsageError(f"exporter serve needs packages that are not installed ({error.name}): {install}") from error
    if not is_loopback(arguments.host):
        _say(
            f"warning: other machines can reach {arguments.host}. There is no login: everyone who can reach it can "
            "read who queried what, and SQL text if it was exported."
        )
    serve(arguments.dir, arguments.host, arguments.port, partial(print, flush=True), _say)
    return _INTERRUPTED


def _say(what: str) -> None:
    print(f"exporter: {message(what)}", file=sys.stderr, flush=True)


def _port(text: str) -> int:
    with suppress(ValueError):
        if 0 <= int(text) <= 65535:
            return int(text)
    raise ArgumentTypeError(f"{text} is not a port: a whole number from 0 to 65535")
