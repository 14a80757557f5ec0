"""A small example of each setting of the file, with the expected result. ``tests/cli/test_options.py`` runs them in the
folder of ``tests/cli/tries.py``, and fails for a setting without one: add it here.

Settings that are also options are tried there; for these it is enough that the file, the environment and the command
line mean the same.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Final, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.cli.tries import Tried


class Setting(NamedTuple):
    """``toml``: the value; ``holds``: what is true of an export with it, and with ``options``."""

    toml: str
    holds: Callable[[Tried], bool]
    options: str = ""


OPTIONS: Final[dict[str, tuple[str, Any]]] = {
    "account": ('"acme-x"', "acme-x"),
    "base": ('"https://example.org/"', "https://example.org/"),
    "query_history": ('"history.csv"', ["history.csv"]),
    "aggregate": ('["calls.ndjson"]', ["calls.ndjson"]),
    "outputs": ('["graph"]', "graph"),
    "graph_format": ('["ntriples", "turtle"]', "ntriples,turtle"),
    "reads": ('"daily"', "daily"),
    "compress": ('"gzip"', "gzip"),
    "query_text": ("true", True),
    "strict": ("true", True),
    "replace": ("true", True),
    "update": ("true", True),
    "changes": ("false", False),
    "allow_empty": ("true", True),
    "min_rows": ("7", 7),
    "mode": ('"0750"', "0750"),
    "engine": ('"local"', "local"),
    "shapes": ('"own"', ["own"]),
    "pseudonyms": ('"key"', "key"),
    "since": ("2026-03-02", "2026-03-02"),
    "until": ('"2026-03-02"', "2026-03-02"),
}
"""Setting -> its value in TOML, and as the command line gives it."""


def _names(tried: Tried) -> set[str]:
    """The datasets of all events."""
    return {
        one["name"] for event in tried.events for one in (*event.get("inputs", ()), event.get("dataset", {"name": ""}))
    }


def _jobs(tried: Tried) -> list[tuple[str, str]]:
    return [(event["job"]["namespace"], event["job"]["name"]) for event in tried.events if "job" in event]


TABLES: Final[dict[str, Setting]] = {
    "openlineage.producer": Setting(
        '"https://example.org/us"',
        lambda one: {event["producer"] for event in one.events} == {"https://example.org/us"},
    ),
    "openlineage.sql": Setting(
        "false", lambda one: "SELECT 7" in one.graph and "SELECT 7" not in json.dumps(one.events), "--query-text"
    ),
    "openlineage.base_inputs": Setting("false", lambda one: '"BASE"' not in json.dumps(one.events)),
    "openlineage.start_events": Setting("false", lambda one: '"START"' not in json.dumps(one.events)),
    "openlineage.reads": Setting("false", lambda one: _jobs(one) == []),
    "openlineage.dataset_events": Setting("false", lambda one: all("run" in event for event in one.events)),
    "openlineage.letter_case": Setting('"lower"', lambda one: "d.s.t" in _names(one) and "D.S.T" not in _names(one)),
    "openlineage.namespaces": Setting(
        '{ "snowflake://acme-prod" = "here" }',
        lambda one: '"namespace": "here", "name": "D.S.T"' in json.dumps(one.events),
    ),
    "openlineage.job_namespace": Setting('"there"', lambda one: {space for space, _ in _jobs(one)} == {"there"}),
    "openlineage.job_name_from": Setting(
        '"warehouse_name"', lambda one: any(name.startswith("read D.S.T (WH) [") for _, name in _jobs(one))
    ),
    "openlineage.unknown_type": Setting('"any"', lambda one: '"type": "any"' in json.dumps(one.events)),
    "lineage.helpers": Setting(
        '["S.*", "OTHER"]',
        lambda one: '"helpers": ["S.*", "OTHER"]' in json.dumps(json.loads(one.text("out/manifest.json"))),
    ),
    "filter.allow_users": Setting('"JSMITH"', lambda one: one.report["exported"] == 2),
    "filter.deny_users": Setting('["J*"]', lambda one: one.report["filtered"]["rows"]["users"] == 3),
    "filter.allow_databases": Setting('"OTHER"', lambda one: one.report["exported"] == 0),
    "filter.deny_databases": Setting('"D"', lambda one: "D.S.T" not in _names(one)),
    "filter.allow_schemas": Setting('"D.S"', lambda one: "D.S.T" in _names(one)),
    "filter.deny_schemas": Setting('"S"', lambda one: "D.S.T" not in _names(one)),
    "privacy.users": Setting('"users.txt"', lambda one: "WH" not in json.dumps(one.events), "--pseudonyms key"),
    "privacy.keep": Setting('["JSMITH"]', lambda one: "JSMITH" in one.graph, "--pseudonyms key"),
}
"""Settings that are no options."""

PUSH: Final[dict[str, tuple[str, Any]]] = {
    "runs": ('"latest"', "latest"),
    "profile": ('"marquez"', "marquez"),
    "letter_case": ('"keep"', "keep"),
    "concurrency": ("3", 3),
    "rate": ("1.5", 1.5),
    "patience": ("2.5", 2.5),
}
"""Settings of a push -> their values in TOML, and as the command line gives them."""

SERVE: Final[dict[str, tuple[str, Any]]] = {"sensitive_tags": ('["*PII*", "G.T.OWNER"]', ("*PII*", "G.T.OWNER"))}
"""Settings of the pages -> their values in TOML, and as they are read; tests/serve has what they do."""
