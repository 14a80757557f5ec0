"""``exporter reconcile``: declared lineage against what rows show."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Final

import click

from exporter.cli.commands import FILE, FILES, GRAPH, Argument, Command, as_json, option
from exporter.errors import RefusedError
from exporter.system.terminal import message

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

_FAILING: Final = ("undeclared", "phantom", "unknown")


def _run(  # noqa: PLR0913 - the options of the command
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
    from exporter.system.progress import Progress

    if since is not None and until is not None and since >= until:
        raise click.UsageError("--since has to be before --until", click.get_current_context())
    if out is not None:
        output.check_graph(out, folder)
    declarations = [read(text, server) for text in sources]
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
    failing = [f"{comparison.counts[name]:,} {name}" for name in fail_on or () if comparison.counts[name]]
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


COMMAND = Command(
    "reconcile",
    _run,
    "compare the lineage that dbt, OpenLineage or a data contract declares with what rows show",
    "exporter reconcile lineage target/manifest.json",
)
COMMAND.group(
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
        "a namespace of datasets that is the account of DIR, in another spelling",
        multiple=True,
    ),
    as_json("print the result as JSON"),
)
