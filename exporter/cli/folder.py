"""What is done with a folder that an export wrote: it is shown (``exporter serve``, ``report``, ``mcp``), compared with
declared lineage (``reconcile``), and looked after (``validate``, ``quarantine``, ``log``).
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Final

import click

from exporter.cli.commands import (
    EXPORTED,
    FILE,
    FILES,
    GRAPH,
    LOCAL_FOLDER,
    Argument,
    Command,
    as_json,
    choice,
    flag,
    number,
    option,
)
from exporter.cli.messages import say, warn
from exporter.errors import RefusedError, UsageError
from exporter.system.progress import Progress
from exporter.system.terminal import bare, message, print_result

# --- to show it -------------------------------------------------------------------------------------------------------

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
    choices = ServeOptions(host, port, auth, load_serve(config))
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
    write(folder, out, since, load_serve(config), say)
    print_result(str(out), f"the report was written to {out}")
    return 0


REPORT = Command(
    "report", _report, "write a report for stewards as one file of HTML", "exporter report lineage --out report.html"
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


# --- to compare it with declared lineage ------------------------------------------------------------------------------

_FAILING: Final = ("undeclared", "phantom", "unknown")


def _reconcile(  # noqa: PLR0913 - the options of the command
    folder: Path,
    sources: Sequence[str],
    *,
    out: Path | None,
    since: int | None,
    until: int | None,
    namespace: Sequence[str],
    server: str | None,
    fail_on: tuple[str, ...] | None,
    as_json: bool | None,
) -> int:
    from exporter.ask.questions import Graph
    from exporter.reconcile import filled_contract, output
    from exporter.reconcile.comparison import compare
    from exporter.reconcile.reading import read

    if since is not None and until is not None and since >= until:
        raise click.UsageError("--since has to be before --until", click.get_current_context())
    if out is not None:
        output.check_graph(out, folder)
    declarations = read(sources, server)
    if out is not None and filled_contract.is_contract(out):
        filled_contract.check(declarations, out)
    with Progress().stage("comparing"), Graph(folder) as graph:
        comparison = compare(graph.store, declarations, since, until, namespace)
        if out is not None and filled_contract.is_contract(out):
            comparison.notes.append(filled_contract.write(comparison, out))
        elif out is not None:
            output.write_graph(comparison, graph.store, out)
    for note in comparison.notes:
        print(message(note), file=sys.stderr)
    sys.stdout.write(output.as_json(comparison) if as_json else output.as_text(comparison))
    counts = comparison.counts
    failing = [f"{counts[name]:,} {name}" for name in fail_on or () if counts[name]]
    if failing:
        sys.stdout.flush()
        raise RefusedError(f"there are edges that --fail-on forbids: {', '.join(failing)}")
    return 0


def _time(text: str) -> int:
    from exporter.input.times import parse_time

    micros = parse_time(text)
    if micros is None:
        raise click.BadParameter(f"{text} is not a day or time such as 2026-09-01 or 2026-09-01T08:00:00Z")
    return micros


def _classes(text: str) -> tuple[str, ...]:
    names = tuple(dict.fromkeys(name.strip() for name in text.split(",")))
    wrong = [name for name in names if name not in _FAILING]
    if wrong:
        raise click.BadParameter(f"{', '.join(wrong) or 'nothing'} is not one of {', '.join(_FAILING)}")
    return names


RECONCILE = Command(
    "reconcile",
    _reconcile,
    "compare the lineage that dbt, OpenLineage or a data contract declares with what rows show",
    "exporter reconcile lineage target/manifest.json",
)
RECONCILE.group(
    "Options",
    GRAPH,
    Argument(
        "sources",
        "WITH",
        "dbt's manifest.json, files of OpenLineage events, data contracts (ODCS), or the address of a Marquez",
        nargs=-1,
        required=True,
        **FILES,
    ),
    option("--since", "TIME", "only queries that started at this day or time (UTC) or later", type=_time),
    option("--until", "TIME", "only queries that started before this day or time (UTC)", type=_time),
    option(
        "--fail-on", "LIST", "exit 1 if there are edges of these classes: undeclared, phantom, unknown", type=_classes
    ),
    option(
        "--out",
        "FILE",
        "also write the declared lineage as a graph: FILE.ttl or FILE.nq; or the data contract with what rows show "
        "added: FILE.yaml",
        **FILE,
    ),
    option("--server", "NAME", "of a data contract with several servers of Snowflake, the one that is meant"),
    option(
        "--namespace",
        "NAMESPACE",
        "a namespace of datasets that is the account of DIR, in another spelling; can be repeated",
        multiple=True,
    ),
    as_json("print the result as JSON"),
)


# --- to look after it -------------------------------------------------------------------------------------------------

_NOTHING: Final = '{"conforms": false, "violations": 0, "counted": null, "results": []}'


def _validate(path: Path, *, shapes: Sequence[Path], by: str, as_json: bool | None) -> int:
    from exporter.graph.validate import validate
    from exporter.publish import manifest

    progress = Progress()
    with progress.stage("comparing the files with the manifest"):
        damaged = manifest.problems(path)
    warn(damaged)
    try:
        with progress.stage("validating"):
            is_valid, text = validate(path, by=by, shapes_dirs=tuple(shapes), as_json=bool(as_json))
    except UsageError as error:
        if not damaged:
            raise
        # The files differ from what the export wrote: that is the result, and it explains why the graph cannot be read.
        say(str(error))
        is_valid, text = False, _NOTHING if as_json else "The graph cannot be validated"
    print(text)
    return 0 if is_valid and not damaged else 1


VALIDATE = Command(
    "validate",
    _validate,
    "validate Turtle with the SHACL shapes, and the files of an export with its manifest",
    "exporter validate lineage",
)
VALIDATE.group(
    "Options",
    Argument("path", "DIR|FILE", "what export wrote, or a folder or file of Turtle", **LOCAL_FOLDER),
    option("--shapes", "DIR", "your own shapes in addition to ours; can be repeated", multiple=True, **FILE),
    choice(["--by"], ("pyshacl", "compiled"), "the reference engine (default), or ours", default="pyshacl"),
    as_json("print the results as JSON"),
)


def _quarantine(folder: Path, *, rows: bool | None, as_json: bool | None) -> int:
    from exporter.publish.earlier import left_quarantine, runs
    from exporter.publish.quarantine import reasons, reasons_as_text

    if rows and as_json:
        raise click.UsageError("--rows already writes JSON, one row a line; give --rows or --json")
    if rows:
        _write_rows(folder)
        return 0
    with Progress().stage("reading the quarantined rows"):
        groups = reasons(folder)
        left = left_quarantine(runs(folder))
    print(json.dumps(groups, indent=1) if as_json else reasons_as_text(groups, folder, left))
    return 0


def _write_rows(folder: Path) -> None:
    """Rows are data, in UTF-8 wherever they go; control characters are replaced only where a terminal shows them."""
    from exporter.publish.quarantine import RowsToMend

    rows, is_terminal = RowsToMend(folder), sys.stdout.isatty()
    for line in rows:
        if is_terminal:
            print(line)
        else:
            bare(sys.stdout).buffer.write(f"{line}\n".encode())
    sys.stdout.flush()
    warn(rows.notes())


QUARANTINE = Command(
    "quarantine",
    _quarantine,
    "list the quarantined rows by reason, with an example of each",
    "exporter quarantine lineage",
)
QUARANTINE.group(
    "Options",
    EXPORTED,
    flag("--rows", "print the rows themselves, one a line, to be corrected and exported again"),
    as_json("print the reasons as JSON"),
)


def _log(folder: Path, *, as_json: bool | None) -> int:
    from exporter.publish.earlier import quarantined_rows, runs, runs_as_text

    log = runs(folder)
    print(json.dumps(log, indent=1) if as_json else runs_as_text(log, quarantined_rows(folder)))
    return 0


LOG = Command("log", _log, "show the runs that wrote a folder", "exporter log lineage")
LOG.group("Options", EXPORTED, as_json("print the runs as JSON"))
