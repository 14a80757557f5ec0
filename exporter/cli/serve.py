"""``exporter serve``: pages for people and a SPARQL endpoint for programs."""

from __future__ import annotations

import sys
from argparse import ArgumentTypeError
from contextlib import contextmanager, suppress
from functools import partial
from typing import TYPE_CHECKING, Any, Final

from exporter.cli.commands import command, here
from exporter.cli.configuration import load_serve
from exporter.errors import UsageError
from exporter.system.terminal import message

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterator

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
    parser.add_argument(
        "--auth", metavar="HOW", help="who may use it: basic:FILE (names and hashes) or header:NAME (sent by a proxy)"
    )
    parser.add_argument("--no-auth", action="store_true", help="no login, also where other machines can reach it")
    parser.add_argument("--config", type=here, metavar="FILE", help="settings in TOML, of the table [serve]")


def _run(arguments: argparse.Namespace) -> int:
    with needed("serve"):
        from exporter.serve.server import Choices, is_loopback, serve
    if arguments.auth is None and not is_loopback(arguments.host):
        reach = f"Other machines can reach {arguments.host}, and read who queried what"
        if not arguments.no_auth:
            raise UsageError(
                f"{reach}: give --auth basic:FILE, --auth header:NAME of a proxy that asks who they are, or --no-auth."
            )
        say(f"warning: {reach}, and SQL text if it was exported. There is no login.")
    if arguments.auth is not None and arguments.no_auth:
        raise UsageError("--auth and --no-auth exclude each other.")
    sensitive = load_serve(arguments.config) if arguments.config else ()
    choices = Choices(arguments.host, arguments.port, arguments.auth, sensitive)
    serve(arguments.dir, choices, partial(print, flush=True), say)
    return _INTERRUPTED


@contextmanager
def needed(command: str) -> Iterator[None]:
    """Imports in its body need the packages of the extra; UsageError says how to install them."""
    try:
        yield
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] not in _PACKAGES:
            raise
        install = "pip install 'access-history-exporter[serve]'"
        raise UsageError(
            f"exporter {command} needs packages that are not installed ({error.name}): {install}"
        ) from error


def say(what: str) -> None:
    """Prints a message on standard error."""
    print(f"exporter: {message(what)}", file=sys.stderr, flush=True)


def _port(text: str) -> int:
    with suppress(ValueError):
        if 0 <= int(text) <= 65535:
            return int(text)
    raise ArgumentTypeError(f"{text} is not a port: a whole number from 0 to 65535")
