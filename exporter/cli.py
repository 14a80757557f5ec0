"""Arguments in, exit codes out; no logic. The interface that scripts rely on: see ``docs/interface.md``.

Exit codes: 0 done; 1 the shapes refused the output, or rows were set aside under --strict; 2 usage or settings; 3 the
backend did not take all events; 4 a fault of the program; 130 interrupted.
"""

from __future__ import annotations

import argparse
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from exporter import __version__
from exporter.errors import ExporterError, UsageError

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

_EPILOG: Final = """examples:
  exporter export rows.ndjson.gz --account MYORG-MYACCOUNT --out lineage
  exporter export unload/*.parquet --query-history history.csv --account MYORG-MYACCOUNT --out lineage --replace
  exporter queries
  exporter query who-accessed --graph lineage --param object_id=66564
  exporter validate lineage
  OPENLINEAGE_URL=http://localhost:5000 exporter push lineage

exit codes: 0 done, 1 refused by the shapes (or set aside, with --strict), 2 usage or settings, 3 not all events
delivered, 4 a fault of the program, 130 interrupted"""


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command; returns the exit code and never raises for what a person did."""
    try:
        arguments = _parser().parse_args(argv)
        command: Callable[[argparse.Namespace], int] = arguments.command
        return command(arguments)
    except ExporterError as error:
        print(f"exporter: {error}", file=sys.stderr)
        return error.exit_code
    except KeyboardInterrupt:
        print("exporter: interrupted; nothing was published", file=sys.stderr)
        return 130
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except Exception as error:  # noqa: BLE001 - the last line of defence: a fault is reported in words
        return _fault(error)


def _fault(error: Exception) -> int:
    if os.environ.get("EXPORTER_DEBUG"):
        raise error
    from exporter import terminal

    print(f"exporter: {terminal.fault(error)}", file=sys.stderr)
    return 4


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="exporter",
        description="Snowflake's ACCESS_HISTORY as OpenLineage events and a knowledge graph, checked by shapes.",
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--version", action="version", version=f"exporter {__version__}")
    commands = parser.add_subparsers(title="commands", required=True, metavar="COMMAND")
    _export_parser(commands)
    _validate_parser(commands)
    _push_parser(commands)
    _query_parser(commands)
    _queries_parser(commands)
    return parser


def _command(
    commands: Any, name: str, run: Callable[[argparse.Namespace], int], text: str, example: str
) -> argparse.ArgumentParser:
    parser: argparse.ArgumentParser = commands.add_parser(
        name,
        help=text,
        description=f"{text[0].upper()}{text[1:]}.",
        epilog=f"example:\n  {example}",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.set_defaults(command=run)
    return parser


def _export_parser(commands: Any) -> None:
    parser = _command(
        commands, "export", _export, "turn rows into checked events and a checked graph",
        "exporter export rows.ndjson.gz --account MYORG-MYACCOUNT --out lineage",
    )  # fmt: skip
    parser.add_argument(
        "inputs",
        nargs="+",
        metavar="INPUT",
        help="files, folders and globs of NDJSON, JSON, CSV, Parquet (also .gz), or a Spark table",
    )
    parser.add_argument(
        "--out", required=True, metavar="DIR", help="the folder to write, or its URI; it appears whole or not at all"
    )
    parser.add_argument(
        "--account",
        metavar="ORG-ACCOUNT",
        help="the account the rows are from: names are below snowflake://ORG-ACCOUNT",
    )
    parser.add_argument("--query-history", metavar="PATH", help="rows of QUERY_HISTORY, in the same forms")
    parser.add_argument("--outputs", metavar="LIST", help="events,graph (default), catalog, facts, or some of them")
    parser.add_argument("--graph-format", metavar="LIST", help="turtle (default), ntriples, nquads, jsonld, or several")
    parser.add_argument(
        "--base", metavar="IRI", help="what the graph's IRIs begin with (default snowflake://ORG-ACCOUNT/)"
    )
    parser.add_argument(
        "--query-text", action="store_true", default=None, help="keep SQL text, which can hold personal data"
    )
    parser.add_argument(
        "--engine", choices=("spark", "local"), help="spark (default); local: some MB of files, without Spark and Java"
    )
    parser.add_argument(
        "--shapes", action="append", metavar="DIR", help="your own SHACL shapes beside the shipped ones; several times"
    )
    parser.add_argument("--config", type=Path, metavar="FILE", help="settings in TOML")
    parser.add_argument("--strict", action="store_true", default=None, help="exit 1 where any row was set aside")
    parser.add_argument(
        "--replace", action="store_true", default=None, help="put the new output in place of an older one"
    )
    parser.add_argument("--json", action="store_true", help="print the report as JSON on standard output")
    parser.add_argument("--no-validate", action="store_false", dest="validate", default=None, help=argparse.SUPPRESS)


def _validate_parser(commands: Any) -> None:
    parser = _command(commands, "validate", _validate, "validate Turtle with the shapes", "exporter validate lineage")
    parser.add_argument("path", type=Path, metavar="DIR|FILE", help="what export wrote, or a folder or file of Turtle")
    parser.add_argument(
        "--shapes", action="append", default=[], type=Path, metavar="DIR", help="your own, beside the shipped ones"
    )
    parser.add_argument(
        "--by", choices=("pyshacl", "compiled"), default="pyshacl", help="the reference engine (default), or our own"
    )
    parser.add_argument("--json", action="store_true", help="print conforms and the results as JSON")


def _push_parser(commands: Any) -> None:
    from exporter.openlineage.push.profiles import PROFILES

    parser = _command(
        commands, "push", _push, "send the events of a folder to a backend",
        "OPENLINEAGE_URL=http://localhost:5000 exporter push lineage",
    )  # fmt: skip
    parser.add_argument("folder", type=Path, metavar="DIR", help="what export wrote")
    parser.add_argument("--runs", choices=("all", "latest"), help="every run (default), or the latest of each job")
    parser.add_argument(
        "--profile", choices=tuple(PROFILES), help="keep to what this backend takes (default: as the address tells)"
    )
    parser.add_argument("--concurrency", type=int, metavar="N", help="events at once, at most (default 8)")
    parser.add_argument("--rate", type=float, metavar="N", help="events a second, at most (default: no limit)")
    parser.add_argument("--config", type=Path, metavar="FILE", help="settings in TOML; its table [push] is read")
    parser.add_argument("--json", action="store_true", help="print the counts as JSON on standard output")


def _query_parser(commands: Any) -> None:
    parser = _command(
        commands, "query", _query, "answer a question from the graph",
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


def _queries_parser(commands: Any) -> None:
    parser = _command(commands, "queries", _queries, "list the shipped questions", "exporter queries")
    parser.add_argument("--json", action="store_true", help="print the list as JSON")


# --- commands: each imports what it needs, so that none waits for Spark that does not use it ------------------------


def _export(arguments: argparse.Namespace) -> int:
    from exporter import settings, terminal
    from exporter.pipeline import export
    from exporter.progress import Progress

    given = {
        name: getattr(arguments, name)
        for name in (
            "out",
            "account",
            "query_history",
            "outputs",
            "graph_format",
            "base",
            "query_text",
            "strict",
            "replace",
            "validate",
            "engine",
            "shapes",
        )
    }
    chosen = settings.load({**given, "inputs": tuple(arguments.inputs)}, arguments.config)
    terminal.warn(terminal.advice(chosen))
    report = export(chosen, Progress())
    print(report.json() if arguments.json else terminal.summary(report))
    return 1 if report.violations or (chosen.strict and report.quarantined) else 0


def _validate(arguments: argparse.Namespace) -> int:
    from exporter.graph.validate import validate

    conforms, text = validate(
        arguments.path, by=arguments.by, shapes_dirs=tuple(arguments.shapes), as_json=arguments.json
    )
    print(text)
    return 0 if conforms else 1


def _push(arguments: argparse.Namespace) -> int:
    from exporter import settings
    from exporter.openlineage.push.command import push

    given = {name: getattr(arguments, name) for name in ("runs", "profile", "concurrency", "rate")}
    return push(arguments.folder, settings.load_push(given, arguments.config), as_json=arguments.json)


def _query(arguments: argparse.Namespace) -> int:
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


def _queries(arguments: argparse.Namespace) -> int:
    from exporter.graph.ask.questions import questions
    from exporter.terminal import listed

    print(listed(questions(), as_json=arguments.json))
    return 0
