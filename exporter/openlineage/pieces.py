"""The facts as one table of pieces, so that a single shuffle brings all that is known of a query together.

A piece is one thing that a query did: a row of facts, under the query, the ``part`` of the event that it belongs to,
and the ``thing`` that it is about. Each part has its own columns; the union fills those of the others with null.

``thing``       the object read, written, changed, protected or joined, or a column's source
``key, field``  what pieces are grouped by within their part: for columns the object and the column written, for
                changes and settings the change
``access``      DIRECT, BASE, PROVIDER_BASE of what is read and of a column's source; WRITE and DDL of what is written;
                LEFT and RIGHT of what is joined
"""

from __future__ import annotations

from functools import reduce
from typing import TYPE_CHECKING, Final

from exporter.facts.common import OBJECT_COLUMNS
from exporter.facts.identifiers import ROUTINE_KINDS, canonical_name
from exporter.openlineage.sql import only_if, struct
from exporter.schemas import QUERIES
from exporter.sql import literals

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pyspark.sql import DataFrame

    from exporter.facts import Facts
    from exporter.openlineage.settings import OpenLineageSettings

INPUT, OUTPUT, COLUMN, ROUTINE = "INPUT", "OUTPUT", "COLUMN", "ROUTINE"
CHANGE, SETTING, POLICY, JOIN, QUERY = "CHANGE", "SETTING", "POLICY", "JOIN", "QUERY"

DATASET_KINDS: Final = ("table", "view", "stage", "table-stage", "user-stage", "stream", "location")
"""What DDL changes of are outputs; other kinds of thing (policies, tags, roles …) are told in the ``ddl`` facet."""

DATASET_OPERATIONS: Final = ("CREATE", "ALTER", "DROP", "REPLACE", "UNDROP", "REFRESH")
"""What changes a dataset; DESCRIBE, SHOW, GRANT and the like do not make it an output."""

LIFECYCLE: Final[Mapping[str, str]] = {"CREATE": "CREATE", "ALTER": "ALTER", "DROP": "DROP", "REPLACE": "OVERWRITE"}
"""The operations that one of the six values of ``lifecycleStateChange`` fits."""

OBJECT: Final = OBJECT_COLUMNS
IS_ROUTINE: Final = f"kind IN ({literals(ROUTINE_KINDS)})"
_LEFT, _RIGHT = "'LEFT'", "'RIGHT'"
_THING: Final = struct({name: name for name in OBJECT})
_QUERY: Final = tuple(name for name in QUERIES if name not in ("account", "query_id"))
_CHANGE: Final[Mapping[str, str]] = {
    "operation": "operation",
    "domain": "objectDomain",
    "object_id": "objectId",
    "object_name": "objectName",
    "argument_signature": "argumentSignature",
    "new_name": "newName",
    "swap_domain": "swapDomain",
    "swap_id": "swapId",
    "swap_name": "swapName",
    "source_domain": "sourceDomain",
    "source_id": "sourceId",
    "source_name": "sourceName",
    "policy_body": "policyBody",
    "comment": "comment",
    "properties": "properties",
}
_SETTING: Final[Mapping[str, str]] = {
    "property": "property",
    "column_name": "field",
    "element": "element",
    "element_id": "objectId",
    "sub_operation": "subOperation",
    "value": "value",
}
_TOLD_APART: Final = (
    *("objectName", "policyBody", "comment"),
    *("swapTargetDomain", "swapTargetId", "swapTargetName"),
)
"""Properties of an object that have fields of their own in a change."""
_IS_GRANT: Final = "property IN ('grant', 'revoke') AND element IS NULL AND column_name IS NULL AND value LIKE '%{%'"
_IS_TOLD_APART: Final = f"""column_name IS NULL AND element IS NULL AND property IN ({literals(_TOLD_APART)})
    OR {_IS_GRANT}"""
_SECURABLE: Final[Mapping[str, str]] = {
    "DOMAIN": "objectDomain",
    "ID": "objectId",
    "NAME": "objectName",
    "SCOPE": "scope",
    "SCOPE_DOMAIN": "scopeDomain",
}
_POLICY: Final[Mapping[str, str]] = {
    "column_name": "field",
    "policy_kind": "policyKind",
    "policy_id": "policyId",
    "policy_name": "policyName",
    "provider": "provider",
}
CHANGE_FIELDS: Final = tuple(_CHANGE.values())
POLICY_FIELDS: Final = tuple(_POLICY.values())


def _texts(json: str) -> str:
    """An array of texts in JSON, or one text, as an array."""
    several = f"startswith({json}, '[') THEN from_json({json}, 'array<string>')"
    return f"CASE WHEN {several} WHEN {json} IS NOT NULL THEN array({json}) END"


_GRANT: Final = struct(
    {
        "operation": "upper(property)",
        "privileges": _texts("g['PRIVILEGES']"),
        "roles": _texts("g['ROLES']"),
        **{new: f"g['SECURABLE_OBJECT_{name}']" for name, new in _SECURABLE.items()},
    }
)
_LISTED: Final = "IF(startswith(value, '['), value, concat('[', value, ']'))"
GRANTS: Final = f"transform(from_json({_LISTED}, 'array<map<string,string>>'), g -> {_GRANT})"


def pieces(facts: Facts, settings: OpenLineageSettings) -> DataFrame:
    """All that the facts say of queries, a piece a row."""
    parts = (
        _inputs(facts, settings),
        _outputs(facts),
        _columns(facts, settings),
        _changes(facts),
        _settings(facts),
        _policies(facts),
        _joins(facts),
        _queries(facts, settings),
    )
    return reduce(lambda union, part: union.unionByName(part, allowMissingColumns=True), parts)


def _piece(rows: DataFrame, part: str, **told: str) -> DataFrame:
    """Rows of facts as pieces of one part, with these columns."""
    columns = {"part": part, "key": "CAST(NULL AS string)", **told}
    return rows.selectExpr("account", "query_id", *(f"{value} AS {name}" for name, value in columns.items()))


def _inputs(facts: Facts, settings: OpenLineageSettings) -> DataFrame:
    """Objects read: datasets are inputs, functions and procedures are told in a facet."""
    shown = facts.accesses if settings.base_inputs else facts.accesses.filter("access = 'DIRECT'")
    part = f"IF({IS_ROUTINE}, '{ROUTINE}', '{INPUT}')"
    return _piece(shown, part, key="object_key", thing=_THING, access="access", columns="columns.column_name")


def _outputs(facts: Facts) -> DataFrame:
    return _piece(facts.writes, f"'{OUTPUT}'", thing=_THING, access="'WRITE'", columns="columns.column_name")


def _columns(facts: Facts, settings: OpenLineageSettings) -> DataFrame:
    """Where the columns written come from; of a routine there is no source column."""
    shown = facts.derivations if settings.base_inputs else facts.derivations.filter("source_type = 'DIRECT'")
    target = {"key": "target_key", "field": "target_column"}
    return _piece(shown, f"'{COLUMN}'", **target, thing=_THING, access="source_type", source_column="source_column")


def _changes(facts: Facts) -> DataFrame:
    """Every DDL change, and beside it the datasets that it changes: a rename makes the new name and ends the old.

    The thing of a change is given only where it is no dataset.
    """
    is_dataset = f"(kind IN ({literals(DATASET_KINDS)}) AND operation IN ({literals(DATASET_OPERATIONS)}))"
    is_rename = f"({is_dataset} AND new_name IS NOT NULL)"
    states = ", ".join(literals(pair) for pair in LIFECYCLE.items())
    outcomes = (
        _outcome(CHANGE, "CAST(NULL AS string)", "object_name"),
        only_if(f"{is_dataset} AND NOT {is_rename}", _outcome(OUTPUT, f"map({states})[operation]", "object_name")),
        only_if(is_rename, _outcome(OUTPUT, "'RENAME'", "new_name")),
        only_if(is_rename, _outcome(OUTPUT, "'DROP'", "object_name")),
    )
    told = facts.ddl_changes.selectExpr("*", f"inline(array_compact(array({', '.join(outcomes)})))")
    is_change = f"part = '{CHANGE}'"
    thing = struct({name: "spelled" if name == "object_name" else name for name in OBJECT})
    return _piece(
        told,
        "part",
        key=only_if(is_change, "change_key"),
        thing=only_if(f"part = '{OUTPUT}' OR NOT {is_dataset}", thing),
        access=only_if(f"part = '{OUTPUT}'", "'DDL'"),
        lifecycle="state",
        description=only_if(f"part = '{OUTPUT}'", "comment"),
        change=only_if(is_change, struct({new: name for name, new in _CHANGE.items()})),
        verb=only_if(is_change, f"IF({is_rename}, 'rename', lower(operation))"),
    )


def _outcome(part: str, state: str, name: str) -> str:
    return struct({"part": f"'{part}'", "state": state, "spelled": name})


def _settings(facts: Facts) -> DataFrame:
    """What a change says in its properties, an entry a piece: what it sets, its grants, and its tags: those that it
    sets on a dataset or its columns are facets of the dataset too.
    """
    is_tag = "property = 'tags' AND element IS NOT NULL AND coalesce(sub_operation, 'ADD') <> 'DROP'"
    tag = struct({"key": canonical_name("element"), "value": "coalesce(value, '')", "field": "column_name"})
    told = {
        "object_key": "object_key",
        "setting": only_if(f"NOT ({_IS_TOLD_APART})", struct({new: name for name, new in _SETTING.items()})),
        "grants": only_if(_IS_GRANT, GRANTS),
        "tag": only_if(is_tag, tag),
    }
    return _piece(facts.ddl_settings, f"'{SETTING}'", key="change_key", setting=struct(told))


def _policies(facts: Facts) -> DataFrame:
    policy = struct({new: name for name, new in _POLICY.items()})
    return _piece(facts.policy_references, f"'{POLICY}'", thing=_THING, policy=policy)


def _joins(facts: Facts) -> DataFrame:
    """Two pieces a join, one for each side, under one key."""
    key = r"concat_ws('\n', left_key, left_name, join_type, object_key, object_name)"
    given = {"object_key": "left_key", "kind": "substring_index(left_key, '/', 1)", "object_name": "left_name"}
    left = struct({name: given.get(name, "CAST(NULL AS string)") for name in OBJECT})
    sides = f"array({struct({'side': _LEFT, 'thing': left})}, {struct({'side': _RIGHT, 'thing': _THING})})"
    both = facts.joins.selectExpr("account", "query_id", "join_type", f"{key} AS join_key", f"inline({sides})")
    return _piece(both, f"'{JOIN}'", key="join_key", thing="thing", access="side", join_type="join_type")


def _queries(facts: Facts, settings: OpenLineageSettings) -> DataFrame:
    hidden = "CAST(NULL AS string)"
    told = {name: hidden if name == "query_text" and not settings.sql else name for name in _QUERY}
    return _piece(facts.queries, f"'{QUERY}'", query=struct(told))
