"""The expected event of a query, read from its facts in plain Python.

Written from the mapping's description (docs/openlineage.md), not from the functions that it checks.
"""

from __future__ import annotations

import json
import re
from collections import defaultdict
from dataclasses import dataclass, field
from typing import Any, Final

from tests.facts.plain_reading import canonical, parts

Json = dict[str, Any]
Query = tuple[str, str]
Dataset = tuple[str, str]
ROUTINES: Final = ("function", "procedure")
DATASETS: Final = ("table", "view", "stage", "table-stage", "user-stage", "stream", "location")
OPERATIONS: Final = ("CREATE", "ALTER", "DROP", "REPLACE", "UNDROP", "REFRESH")
STATES: Final = {"CREATE": "CREATE", "ALTER": "ALTER", "DROP": "DROP", "REPLACE": "OVERWRITE"}
Sources = dict[str, dict[tuple[Dataset, str], set[str]]]
Change = tuple[str, str | None, str]
"""Operation, the object's name, properties."""
Setting = tuple[str | None, ...]
SETTING: Final = ("property", "column_name", "element", "element_id", "sub_operation", "value")
TOLD_APART: Final = ("objectName", "policyBody", "comment", "swapTargetDomain", "swapTargetId", "swapTargetName")
SECURABLE: Final = {"DOMAIN": "objectDomain", "ID": "objectId", "NAME": "objectName", "SCOPE": "scope"}


@dataclass
class Told:
    """What is known of one query."""

    inputs: dict[Dataset, set[str]] = field(default_factory=lambda: defaultdict(set))
    read: dict[Dataset, set[str]] = field(default_factory=lambda: defaultdict(set))
    outputs: set[Dataset] = field(default_factory=set)
    written: dict[Dataset, set[str]] = field(default_factory=dict)
    states: dict[Dataset, set[str]] = field(default_factory=lambda: defaultdict(set))
    previous: dict[Dataset, Dataset] = field(default_factory=dict)
    sources: dict[Dataset, Sources] = field(default_factory=dict)
    routines: set[str] = field(default_factory=set)
    column_routines: set[tuple[Dataset, str, str]] = field(default_factory=set)
    tags: set[tuple[Dataset, str, str, str | None]] = field(default_factory=set)
    policies: set[tuple[Dataset, str | None, str | None]] = field(default_factory=set)
    joins: set[tuple[Dataset, str | None, Dataset]] = field(default_factory=set)
    changes: dict[str, Change] = field(default_factory=dict)
    settings: set[tuple[Change, Setting]] = field(default_factory=set)
    grants: list[tuple[Change, Json]] = field(default_factory=list)


def dataset(fact: Json, name: str | None = None, prefix: str = "") -> Dataset:
    """The dataset of a fact's object; ``name``: another name than the one that the fact has."""
    spelled = name if name is not None else fact[f"{prefix}object_name"]
    owner = fact.get("object_account")
    provider = "@provider" if (fact.get("object_key") or "").endswith("@provider") else ""
    account = f"{fact['account'].split('-')[0]}-{owner.upper()}" if owner else f"{fact['account']}{provider}"
    own = f"snowflake://{account}"
    if spelled is not None:
        return own, label(fact["kind"], canonical(spelled))
    return place(fact["location"], own) if fact["location"] else (own, fact["object_key"])


def label(kind: str, name: str) -> str:
    if kind == "user-stage":
        return "~" + (name[1:-1].replace('""', '"') if name.startswith('"') else name)
    if kind != "table-stage":
        return name
    last = spelled_parts(name)[-1]
    return f"{name[: len(name) - len(last)]}%{last}"


def place(url: str, own: str) -> Dataset:
    drive = re.fullmatch(r"file://([A-Za-z]:[\\/].*)", url, re.DOTALL)
    match = re.fullmatch(r"([A-Za-z][A-Za-z0-9+.\-]*)://([^/]*)/?(.*)", url, re.DOTALL)
    if drive:
        return "file", drive.group(1)
    if not match:
        return own, url
    scheme, authority, path = match.group(1).lower(), match.group(2), match.group(3)
    if scheme == "file":
        return (f"file://{authority}" if authority else "file"), f"/{path}".rstrip("/") or "/"
    if scheme == "azure":
        box, _, path = path.partition("/")
        return f"wasbs://{box}@{authority.split('.')[0]}.dfs.core.windows.net", path.rstrip("/") or "/"
    return f"{'gs' if scheme == 'gcs' else scheme}://{authority}", path.rstrip("/") or "/"


def spelled_parts(name: str) -> list[str]:
    """The identifiers of a canonical name, as they are spelled."""
    return re.findall(r'"(?:[^"]|"")+"|[^."]+', name)


def qualified(new: str, old: str) -> str:
    """The new name of a rename with the parts of the old one that it leaves out."""
    spelled = spelled_parts(canonical(old))
    missing = len(spelled) - len(parts(canonical(new)))
    return ".".join([*spelled[: max(missing, 0)], canonical(new)])


def read(facts: dict[str, list[Json]]) -> dict[Query, Told]:
    """Every query of the facts, and what is told of it."""
    queries = {(one["account"], one["query_id"]): Told() for one in facts["queries"]}
    written: Written = defaultdict(set)
    for table, tell in TABLES.items():
        for fact in facts[table]:
            query = (fact["account"], fact["query_id"])
            tell(queries[query], fact, written[query, fact.get("target_key", fact.get("object_key"))])
    return queries


Written = dict[tuple[Query, str], set[Dataset]]
"""The datasets that an object is written as: by query and the object's key."""


def _wrote(told: Told, fact: Json, written: set[Dataset]) -> None:
    named = dataset(fact)
    told.outputs.add(named)
    told.written.setdefault(named, set()).update(one["column_name"] for one in fact["columns"])
    written.add(named)


def _stated(told: Told, fact: Json, written: set[Dataset]) -> None:
    change = told.changes[fact["change_key"]]
    if fact["column_name"] is None and fact["element"] is None:
        if fact["property"] in ("grant", "revoke"):
            told.grants.append((change, grant(fact["property"], json.loads(fact["value"]))))
            return
        if fact["property"] in TOLD_APART:
            return
    told.settings.add((change, tuple(fact[name] for name in SETTING)))
    if fact["property"] == "tags" and fact["element"] is not None and fact["sub_operation"] != "DROP":
        tag = (canonical(fact["element"]), fact["value"] or "", fact["column_name"])
        told.tags |= {(named, *tag) for named in written}


def grant(word: str, said: Json) -> Json:
    """A grant as its facet has it."""
    lists = {name.lower(): said[name] for name in ("PRIVILEGES", "ROLES") if name in said}
    on = {new: str(said[key]) for name, new in SECURABLE.items() if (key := f"SECURABLE_OBJECT_{name}") in said}
    return {"operation": word.upper(), **lists, **on}


def _protected(told: Told, fact: Json, _: set[Dataset]) -> None:
    told.policies.add((dataset(fact), fact["column_name"], fact["policy_name"]))


def _joined(told: Told, fact: Json, _: set[Dataset]) -> None:
    left = {**fact, "object_name": fact["left_name"], "object_key": fact["left_key"]}
    left |= {"kind": fact["left_key"].split("/")[0], "location": fact["left_location"]}
    left["object_account"] = fact["left_account"]
    told.joins.add((dataset(left), fact["join_type"], dataset(fact)))


def _read(told: Told, fact: Json, _: set[Dataset]) -> None:
    if fact["kind"] in ROUTINES:
        told.routines.add(fact["object_name"])
        return
    told.inputs[dataset(fact)].add(fact["access"])
    told.read[dataset(fact)].update(one["column_name"] for one in fact["columns"])


def _changed(told: Told, fact: Json, written: set[Dataset]) -> None:
    told.changes[fact["change_key"]] = (fact["operation"], fact["object_name"], fact["properties"])
    if fact["kind"] not in DATASETS or fact["operation"] not in OPERATIONS:
        return
    old = dataset(fact)
    told.outputs.add(old)
    written.add(old)
    if fact["new_name"] is None:
        other = {dataset(partner(fact))} if fact["swap_key"] is not None else set()
        told.outputs |= other
        if fact["operation"] in STATES:
            for one in (old, *other):
                told.states[one].add(STATES[fact["operation"]])
        return
    new = dataset(fact, qualified(fact["new_name"], fact["object_name"]) if fact["object_name"] else fact["new_name"])
    told.outputs.add(new)
    written.add(new)
    told.states[old].add("DROP")
    told.states[new].add("RENAME")
    told.previous[new] = old


def partner(fact: Json) -> Json:
    """The other object of a SWAP, which its row names too."""
    key = fact["swap_key"]
    named = {"object_key": key, "kind": key.split("/")[0], "object_name": fact["swap_name"]}
    return {**fact, **named, "object_account": None, "location": None}


def _derived(told: Told, fact: Json, targets: set[Dataset]) -> None:
    for target in targets:
        if fact["kind"] in ROUTINES:
            told.column_routines.add((target, fact["target_column"], fact["object_name"]))
        elif fact["source_column"] is not None:
            columns = told.sources.setdefault(target, {}).setdefault(fact["target_column"], {})
            columns.setdefault((dataset(fact), fact["source_column"]), set()).add(fact["source_type"])
    if fact["kind"] not in ROUTINES and fact["source_column"] is not None:
        told.inputs.setdefault(dataset(fact), {"SOURCE"})


TABLES: Final = {
    "accesses": _read,
    "writes": _wrote,
    "ddl_changes": _changed,
    "derivations": _derived,
    "ddl_settings": _stated,
    "policy_references": _protected,
    "joins": _joined,
}
"""Table of facts -> what a row of it tells, in an order in which what is written is known before what it is made of."""
