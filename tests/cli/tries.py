"""A small command line for each option of each command, with the expected result.
``tests/cli/test_options.py`` runs them, and fails for an option without one: add it here.

The command line is run in a folder that has ``rows.ndjson`` (two rows, one of them twice, and one that cannot be
read), ``bad.ndjson`` (one that cannot be read), ``later.ndjson`` (a row of another day), ``history.csv``,
``calls.ndjson`` (120 calls of AGGREGATE_ACCESS_HISTORY), ``made`` (an export of the rows), ``updated`` (the same with
``--update``), ``own/shapes.ttl``, ``own.rq``, ``key``, ``settings.toml``, ``manifest.json`` (of dbt), and an
``openlineage.yml`` that writes events to a file. ``&&`` separates commands that have to run before it.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import click

from exporter.backends.profiles import PROFILES
from exporter.cli import PROGRAM
from exporter.cli.commands import Argument

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path


class Tried(NamedTuple):
    """What came of a try: the exit code, what it printed, and the folder that it ran in."""

    code: int
    out: str
    err: str
    folder: Path

    @property
    def json(self) -> Any:
        return json.loads(self.out)

    @property
    def events(self) -> list[Any]:
        """The events of ``out``."""
        return [json.loads(line) for line in self.text("out/events").splitlines()]

    @property
    def report(self) -> Any:
        return json.loads(self.text("out/report.json"))

    @property
    def graph(self) -> str:
        return self.text("out/graph")

    def text(self, name: str) -> str:
        """What is in a file, or in all files below a folder."""
        path = self.folder / name
        files = sorted(path.rglob("*.*")) if path.is_dir() else [path]
        return "".join(file.read_text(encoding="utf-8") for file in files if file.is_file())

    def has(self, name: str) -> bool:
        """Whether there is a file of this pattern."""
        return bool(list(self.folder.glob(name)))


def visible_params(name: str) -> dict[str, click.Parameter]:
    """The options and arguments of a command that a person is shown, but for the help that each one has."""
    params = PROGRAM.commands[name].params
    arguments = {param.display_name: param for param in params if isinstance(param, Argument)}
    return arguments | {
        param.opts[-1]: param for param in params if isinstance(param, click.Option) and not param.hidden
    }


class Try(NamedTuple):
    """``line``: the commands, without the program's name; ``holds``: what is true afterwards; ``code``: of the exit."""

    line: str
    holds: Callable[[Tried], bool]
    code: int = 0


class Elsewhere(NamedTuple):
    """The option is tried by a test of its own, in this file: it needs more than a folder."""

    file: str


_EXPORT: Final = "export rows.ndjson --engine local --account ACME-PROD --out out"
_AGAIN: Final = f"{_EXPORT} && {_EXPORT}"
_ADDED: Final = "export later.ndjson --engine local --account ACME-PROD --out updated --update"
_FORGET: Final = "export --engine local --account ACME-PROD --out updated --update"
_FETCH: Final = "fetch --out got --since 2026-03-01 --until 2026-03-03 --dry-run"
_QUERY: Final = "query who-accessed --graph made --param object_id=1"


def _delivered(tried: Tried) -> int:
    return len(tried.text("events.ndjson").splitlines())


TRIES: Final[dict[tuple[str, str], Try | Elsewhere]] = {
    ("", "--version"): Try("--version", lambda one: one.out.startswith("exporter 0.")),
    ("", "--help"): Try("--help", lambda one: "Exit codes: 0 done; 1 a check failed" in one.out),
    # --- export
    ("export", "INPUT"): Try(
        _EXPORT, lambda one: [one.report[name] for name in ("rows_in", "exported", "duplicates")] == [4, 2, 1]
    ),
    ("export", "--out"): Try(_EXPORT, lambda one: one.has("out/manifest.json")),
    ("export", "--account"): Try(
        "export rows.ndjson --engine local --account acme-prod --out out",
        lambda one: {event["job"]["namespace"] for event in one.events if "job" in event} == {"snowflake://ACME-PROD"},
    ),
    ("export", "--query-history"): Try(
        f"{_EXPORT} --query-history history.csv", lambda one: '"warehouse": "WH"' in json.dumps(one.events)
    ),
    ("export", "--aggregate"): Try(
        "export --aggregate calls.ndjson --engine local --account ACME-PROD --out out",
        lambda one: one.report["aggregate"]["calls"] == 120 and "ah:queryCount 120" in one.graph,
    ),
    ("export", "--outputs"): Try(
        f"{_EXPORT} --outputs graph,facts,catalog",
        lambda one: one.has("out/facts/*/*.parquet") and one.has("out/catalog.ttl") and not one.has("out/events"),
    ),
    ("export", "--graph-format"): Try(
        f"{_EXPORT} --graph-format ntriples,jsonld",
        lambda one: one.has("out/graph/*.nt") and one.has("out/graph/*.jsonld") and not one.has("out/graph/*.ttl"),
    ),
    ("export", "--base"): Try(
        f"{_EXPORT} --base https://example.org/x/", lambda one: "https://example.org/x/" in one.graph
    ),
    ("export", "--query-text"): Try(
        f"{_EXPORT} --query-history history.csv --query-text",
        lambda one: "SELECT 7" in one.graph and "SELECT 7" in json.dumps(one.events),
    ),
    ("export", "--engine"): Try(f"{_EXPORT} --json", lambda one: one.json["seconds"].keys() == {"export", "total"}),
    ("export", "--shapes"): Try(
        f"{_EXPORT} --shapes own/shapes.ttl",
        lambda one: list(one.report["warnings"]) == ["https://example.org/rules#Own-tag"],
    ),
    ("export", "--since"): Try(
        f"{_EXPORT} --since 2026-03-02", lambda one: one.report["filtered"]["rows"]["since"] == 2
    ),
    ("export", "--until"): Try(
        f"{_EXPORT} --until 2026-03-02", lambda one: one.report["filtered"]["rows"]["until"] == 1
    ),
    ("export", "--pseudonyms"): Try(f"{_EXPORT} --pseudonyms key", lambda one: "JSMITH" not in one.graph),
    ("export", "--config"): Try(
        "export rows.ndjson --config settings.toml --out out", lambda one: one.report["account"] == "OF-SETTINGS"
    ),
    ("export", "--strict"): Try(f"{_EXPORT} --strict", lambda one: one.has("out/quarantine/*"), 1),
    ("export", "--replace"): Try(f"{_AGAIN} --replace", lambda one: one.has("out/manifest.json")),
    ("export", "--update"): Try(f"{_EXPORT} --update", lambda one: one.has("out/state") and one.has("out/log.json")),
    ("export", "--no-changes"): Try(f"{_EXPORT} --update --no-changes", lambda one: not one.has("out/changes")),
    ("export", "--dry-run"): Try(f"{_EXPORT} --dry-run", lambda one: "dry run" in one.out and not one.has("out")),
    ("export", "--allow-empty"): Try(
        "export bad.ndjson --engine local --out out --allow-empty", lambda one: one.report["exported"] == 0
    ),
    ("export", "--min-rows"): Try(
        f"{_EXPORT} --min-rows 3", lambda one: "--min-rows requires 3" in one.err and not one.has("out"), 2
    ),
    ("export", "--force"): Try(f"{_EXPORT} --min-rows 3 --force", lambda one: one.report["exported"] == 2),
    ("export", "--mode"): Try(
        f"{_EXPORT} --mode 0750", lambda one: (one.folder / "out").stat().st_mode & 0o777 == 0o750
    ),
    ("export", "--forget-user"): Try(
        f"{_FORGET} --forget-user JSMITH --allow-empty", lambda one: "JSMITH" not in one.text("updated/graph")
    ),
    ("export", "--forget-before"): Try(
        f"{_ADDED} && {_FORGET} --forget-before 2026-03-05", lambda one: not one.has("updated/graph/day=2026-03-01")
    ),
    ("export", "--compress"): Try(
        f"{_EXPORT} --compress none && {_EXPORT} --compress gzip --replace",
        lambda one: one.has("out/graph/*.ttl.gz") and not one.has("out/graph/*.ttl"),
    ),
    ("export", "--reads"): Try(
        f"{_EXPORT} --reads full && {_EXPORT} --reads daily --replace", lambda one: "a ah:DailyRead " in one.graph
    ),
    ("export", "--json"): Try(f"{_EXPORT} --json", lambda one: one.json == one.report),
    # --- fetch
    ("fetch", "--out"): Elsewhere("tests/fetch/test_command.py"),
    ("fetch", "--connection"): Elsewhere("tests/fetch/test_command.py"),
    ("fetch", "--since"): Try(_FETCH, lambda one: "'2026-03-01" in one.out and "'2026-02-28" not in one.out),
    ("fetch", "--until"): Try(_FETCH, lambda one: "'2026-03-02" in one.out and "'2026-03-05" not in one.out),
    ("fetch", "--view"): Try(
        f"{_FETCH} --view organization", lambda one: "ORGANIZATION_USAGE.ACCESS_HISTORY" in one.out
    ),
    ("fetch", "--overlap"): Elsewhere("tests/fetch/test_command.py"),
    ("fetch", "--keep"): Elsewhere("tests/fetch/test_command.py"),
    ("fetch", "--query-text"): Try(f"{_FETCH} --query-text", lambda one: "query_text" in one.out),
    ("fetch", "--aggregate"): Try(f"{_FETCH} --aggregate", lambda one: ".AGGREGATE_ACCESS_HISTORY where" in one.out),
    ("fetch", "--no-query-history"): Try(f"{_FETCH} --no-query-history", lambda one: "QUERY_HISTORY" not in one.out),
    ("fetch", "--dry-run"): Try(_FETCH, lambda one: "query_text" not in one.out and not one.has("got")),
    ("fetch", "--json"): Elsewhere("tests/fetch/test_command.py"),
    # --- validate
    ("validate", "DIR|FILE"): Try("validate made", lambda one: "Conforms: True" in one.out),
    ("validate", "--shapes"): Try("validate made --shapes own", lambda one: "my own rule" in one.out),
    ("validate", "--by"): Try("validate made --by compiled --json", lambda one: one.json["conforms"]),
    ("validate", "--json"): Try("validate made --json", lambda one: one.json["violations"] == 0),
    # --- push
    ("push", "DIR"): Try("push made", lambda one: _delivered(one) > 0),
    ("push", "--runs"): Try("push made --runs latest", lambda one: "leaves out 1 runs" in one.err),
    ("push", "--profile"): Try("push made --profile openmetadata", lambda one: "START events are not sent" in one.err),
    ("push", "--letter-case"): Try(
        "push made --letter-case lower", lambda one: '"name": "d.s.t"' in one.text("events.ndjson")
    ),
    ("push", "--concurrency"): Try("push made --concurrency 1 --runs all --json", lambda one: one.json["left"] == 0),
    ("push", "--patience"): Try("push made --patience 5 --json", lambda one: one.json["left"] == 0),
    ("push", "--rate"): Try("push made --rate 100000 --json", lambda one: one.json["left"] == 0),
    ("push", "--dry-run"): Try(
        "push made --dry-run", lambda one: "To file events.ndjson" in one.out and not one.has("events.ndjson*")
    ),
    ("push", "--verify"): Try(
        "push made --verify",
        lambda one: (
            "reads back from Marquez, OpenMetadata and DataHub alone" in one.err and not one.has("events.ndjson*")
        ),
        2,
    ),
    ("push", "--sample"): Try("push made --sample all", lambda one: "give --verify too" in one.err, 2),
    ("push", "--config"): Try("push made --config settings.toml", lambda one: "profile openmetadata" in one.err),
    ("push", "--json"): Try(
        "push made --json", lambda one: one.json["delivered"] == one.json["events"] == _delivered(one)
    ),
    # --- query, queries
    ("query", "NAME|FILE.rq"): Try("query own.rq --graph made", lambda one: "JSMITH" in one.out),
    ("query", "--graph"): Try(_QUERY, lambda one: "JSMITH" in one.out),
    ("query", "--param"): Try(_QUERY.replace("=1", "=77 --format json"), lambda one: one.json == []),
    ("query", "DIR"): Try("query who-accessed made --object-id 1", lambda one: "JSMITH" in one.out),
    ("query", "--sql"): Try("query joins made --sql", lambda one: "for tag-reach alone" in one.err, 2),
    ("query", "--json"): Try(
        "query who-accessed made --object-name d.s.t --json", lambda one: one.json == [{"user_name": "JSMITH"}]
    ),
    ("query", "--format"): Try(f"{_QUERY} --format csv", lambda one: one.out.splitlines() == ["user_name", "JSMITH"]),
    ("query", "--timeout"): Try(
        "query own.rq --graph made --timeout 0", lambda one: "not a number of seconds" in one.err, 2
    ),
    ("query", "--max-rows"): Try(
        "query user-history --graph made --max-rows 1 --format json",
        lambda one: len(one.json) == 1 and "--max-rows N gives more" in one.err,
    ),
    ("query", "--fail-on-rows"): Try(
        "query user-history --graph made --fail-on-rows",
        lambda one: "query_start_time" in one.out and "user-history has " in one.err,
        1,
    ),
    ("queries", "--json"): Try("queries --json", lambda one: "who-accessed" in {one["name"] for one in one.json}),
    # --- the life of a folder
    ("quarantine", "DIR"): Try(
        "quarantine made", lambda one: "1 row: " in one.out and "rows.ndjson, line 4" in one.out
    ),
    ("quarantine", "--rows"): Try("quarantine made --rows", lambda one: one.out == '{"query_id": "bad"}\n'),
    ("quarantine", "--json"): Try("quarantine made --json", lambda one: one.json[0]["rows"] == 1),
    ("log", "DIR"): Try(f"{_ADDED} && log updated", lambda one: len(one.out.splitlines()) == 4),
    ("log", "--json"): Try("log updated --json", lambda one: [run["run"] for run in one.json] == [1]),
    # --- serve
    ("serve", "DIR"): Elsewhere("tests/serve/test_command.py"),
    ("serve", "--host"): Elsewhere("tests/serve/test_command.py"),
    ("serve", "--port"): Elsewhere("tests/serve/test_command.py"),
    # --- reconcile
    ("reconcile", "DIR"): Try("reconcile made manifest.json", lambda one: "1   declared and seen" not in one.out),
    ("reconcile", "WITH"): Try("reconcile made manifest.json", lambda one: "dbt manifest" in one.out),
    ("reconcile", "--since"): Try(
        "reconcile made manifest.json --since 2026-03-02 --json",
        lambda one: one.json["period"]["first"] == "2026-03-02T00:00:00Z",
    ),
    ("reconcile", "--until"): Try(
        "reconcile made manifest.json --until 2026-03-02 --json",
        lambda one: one.json["period"]["last"] < "2026-03-02",
    ),
    ("reconcile", "--fail-on"): Try(
        "reconcile made manifest.json --fail-on phantom,unknown",
        lambda one: "--fail-on forbids: 1 unknown" in one.err,
        1,
    ),
    ("reconcile", "--out"): Try(
        "reconcile made manifest.json --out declared.ttl",
        lambda one: "a ah:DeclaredDerivation " in one.text("declared.ttl"),
    ),
    ("reconcile", "--server"): Elsewhere("tests/reconcile/test_contract.py"),
    ("reconcile", "--namespace"): Elsewhere("tests/reconcile/test_classes.py"),
    ("reconcile", "--json"): Try(
        "reconcile made manifest.json --json", lambda one: one.json["edges"][0]["reason"] == "not-filled"
    ),
    # --- mcp
    ("mcp", "DIR"): Elsewhere("tests/mcp/test_server.py"),
    ("mcp", "--http"): Elsewhere("tests/mcp/test_server.py"),
    ("mcp", "--host"): Elsewhere("tests/mcp/test_server.py"),
    ("mcp", "--port"): Elsewhere("tests/mcp/test_server.py"),
    ("serve", "--auth"): Elsewhere("tests/serve/test_command.py"),
    ("serve", "--no-auth"): Elsewhere("tests/serve/test_command.py"),
    ("serve", "--config"): Elsewhere("tests/serve/test_command.py"),
    # --- report
    ("report", "DIR"): Try("report made --out r.html", lambda one: "<h2" in one.text("r.html")),
    ("report", "--out"): Try("report made --out r.html", lambda one: one.out.strip().endswith("r.html")),
    ("report", "--since"): Elsewhere("tests/serve/test_report.py"),
    ("report", "--config"): Elsewhere("tests/serve/test_report.py"),
    # --- help
    ("help", "--json"): Try(
        "help push --json", lambda one: "--runs" in {option["option"] for option in one.json[0]["options"]}
    ),
    ("completion", "SHELL"): Try("completion fish", lambda one: "complete --no-files --command exporter" in one.out),
    ("help", "COMMAND"): Try("help push", lambda one: "Usage: exporter push" in one.out),
}
"""(command, option or name of an argument) -> its try."""

CHOICES: Final = {
    ("export", "--engine", "spark"): Elsewhere("tests/engines/test_engines.py"),
    ("completion", "SHELL", "bash"): Elsewhere("tests/cli/test_completion.py"),
    ("completion", "SHELL", "zsh"): Elsewhere("tests/cli/test_completion.py"),
    ("validate", "--by", "pyshacl"): Elsewhere("tests/graph/test_validate.py"),
    ("push", "--letter-case", "keep"): Elsewhere("tests/backends/test_push_datahub.py"),
    ("query", "--format", "table"): Elsewhere("tests/ask/test_questions.py"),
    **{
        ("push", "--profile", name): Elsewhere("tests/backends/test_push_profiles.py")
        for name in PROFILES
        if name != "openmetadata"
    },
}
"""Choices that no try above makes, most of them what happens without the option, and where each is tried."""
