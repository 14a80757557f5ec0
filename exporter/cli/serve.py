"""``exporter serve``: pages for people and a SPARQL endpoint for programs."""

from __future__ import annotations

import sys
from contextlib import contextmanager, suppress
from functools import partial
from typing import TYPE_CHECKING, Final

import click

from exporter.cli.commands import FILE, LOCAL_FOLDER, Argument, Command, flag, option
from exporter.errors import UsageError
from exporter.system.terminal import message

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

_INTERRUPTED: Final = 130
_PACKAGES: Final = ("flask", "waitress", "fast_sugiyama")
CONFIG: Final = option("--config", "FILE", "settings in TOML, of the table [serve]", **FILE)


def _run(  # noqa: PLR0913 - the options of the command
    folder: Path, *, host: str, port: int, auth: str | None, no_auth: bool | None, config: Path | None
) -> int:
    from exporter.cli.configuration import load_serve

    with require_packages("serve"):
        from exporter.serve.listening import is_loopback
        from exporter.serve.server import Choices, serve
    if auth is None and not is_loopback(host):
        warning = f"Other machines can reach {host}, and read who queried what"
        if not no_auth:
            raise UsageError(
                f"{warning}: give --auth basic:FILE, --auth header:NAME of a proxy that asks who they are, or "
                "--no-auth."
            )
        say(f"warning: {warning}, and SQL text if it was exported. There is no login.")
    if auth is not None and no_auth:
        raise UsageError("--auth and --no-auth exclude each other.")
    choices = Choices(host, port, auth, load_serve(config) if config else ())
    serve(folder, choices, partial(print, flush=True), say)
    return _INTERRUPTED


@contextmanager
def require_packages(command: str) -> Iterator[None]:
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


def say(text: str) -> None:
    """Prints a message on standard error."""
    print(f"exporter: {message(text)}", file=sys.stderr, flush=True)


def port_of(text: str) -> int:
    """The number of a port. Raises click.BadParameter for any other text."""
    with suppress(ValueError):
        if 0 <= int(text) <= 65535:
            return int(text)
    raise click.BadParameter(f"{text} is not a port: a whole number from 0 to 65535")


COMMAND = Command(
    "serve",
    _run,
    "show an export as pages, and answer SPARQL at /sparql",
    "exporter serve lineage",
    {
        "Options": [
            Argument("folder", "DIR", "what export wrote, or a folder or file of Turtle", **LOCAL_FOLDER),
            option("--host", "ADDRESS", "address to listen on (default 127.0.0.1)", default="127.0.0.1"),
            option("--port", "N", "port to listen on (default 7878; 0 for any free one)", type=port_of, default=7878),
            option("--auth", "HOW", "who may use it: basic:FILE (names and hashes) or header:NAME (sent by a proxy)"),
            flag("--no-auth", "no login, also where other machines can reach it"),
            CONFIG,
        ]
    },
)
