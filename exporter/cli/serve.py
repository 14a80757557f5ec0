"""A graph for people and programs: ``exporter serve``, ``report`` and ``mcp``."""

from __future__ import annotations

from contextlib import contextmanager
from functools import partial
from typing import TYPE_CHECKING, Final

from exporter.cli.commands import FILE, GRAPH, Command, flag, number, option
from exporter.cli.messages import say
from exporter.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

INTERRUPTED: Final = 130
_PACKAGES: Final = {"serve": ("flask", "waitress", "fast_sugiyama"), "mcp": ("mcp", "anyio", "starlette", "uvicorn")}
"""The packages that an extra installs."""
_CONFIG: Final = option("--config", "FILE", "settings in TOML, of the table [serve]", **FILE)
_port: Final = number(int, lambda port: 0 <= port <= 65535, "a port: a whole number from 0 to 65535")


@contextmanager
def _require_packages(command: str, extra: str) -> Iterator[None]:
    """Imports in its body need the packages of the extra; UsageError says how to install them."""
    try:
        yield
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] not in _PACKAGES[extra]:
            raise
        install = f"pip install 'access-history-exporter[{extra}]'"
        raise UsageError(
            f"exporter {command} needs packages that are not installed ({error.name}): {install}"
        ) from error


def _serve(  # noqa: PLR0913 - the options of the command
    folder: Path, *, host: str, port: int, auth: str | None, no_auth: bool | None, config: Path | None
) -> int:
    from exporter.cli.configuration import load_serve

    with _require_packages("serve", "serve"):
        from exporter.serve.listening import is_loopback
        from exporter.serve.server import ServeOptions, serve
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
    choices = ServeOptions(host, port, auth, load_serve(config) if config else ())
    serve(folder, choices, partial(print, flush=True), say)
    return INTERRUPTED


SERVE = Command("serve", _serve, "show an export as pages, and answer SPARQL at /sparql", "exporter serve lineage")
SERVE.group(
    "Options",
    GRAPH,
    option("--host", "ADDRESS", "address to listen on (default 127.0.0.1)", default="127.0.0.1"),
    option("--port", "N", "port to listen on (default 7878; 0 for any free one)", type=_port, default=7878),
    option("--auth", "HOW", "who may use it: basic:FILE (names and hashes) or header:NAME (sent by a proxy)"),
    flag("--no-auth", "no login, also where other machines can reach it"),
    _CONFIG,
)


def _report(folder: Path, *, out: Path, since: str | None, config: Path | None) -> int:
    from exporter.cli.configuration import load_serve

    with _require_packages("report", "serve"):
        from exporter.serve.report import write
    write(folder, out, since, load_serve(config) if config else (), say)
    print(out)
    return 0


REPORT = Command(
    "report",
    _report,
    "write a report for stewards as one file of HTML",
    "exporter report lineage --out report.html",
)
REPORT.group(
    "Options",
    GRAPH,
    option("--out", "FILE", "the file to write", required=True, **FILE),
    option("--since", "TIME", "the first day or time (UTC); by default 30 days before the last"),
    _CONFIG,
)


def _mcp(folder: Path, *, http: bool | None, host: str, port: int) -> int:
    with _require_packages("mcp", "mcp"):
        from exporter.mcp.server import on_http, on_streams
        from exporter.serve.listening import is_loopback
    if not http:
        on_streams(folder, say)
        return 0
    if not is_loopback(host):
        say(
            f"warning: other machines can reach {host}. There is no login: everyone who can reach it can "
            "read who queried what, and SQL text if it was exported."
        )
    on_http(folder, host, port, partial(print, flush=True), say)
    return INTERRUPTED


MCP = Command("mcp", _mcp, "let an assistant ask a graph (MCP)", "exporter mcp lineage")
MCP.group(
    "Options",
    GRAPH,
    flag("--http", "listen for HTTP in place of standard input and output"),
    option("--host", "ADDRESS", "with --http: address to listen on (default 127.0.0.1)", default="127.0.0.1"),
    option("--port", "N", "with --http: port (default 7879; 0 for any free one)", type=_port, default=7879),
)
