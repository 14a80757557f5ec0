"""Short stories of whole rows, each with the questions that its rows answer: what ``test_any_cut.py`` cuts.

The rows have the forms of the view's page and the guide's examples; agents, and properties as arrays of names with bare
values, those of behaviour changes 2178, 2179 and 2420.
"""

from __future__ import annotations

from copy import deepcopy
from typing import Any, Final

Json = dict[str, Any]
Asking = tuple[str, Json]
"""A question and its parameters."""
ACCESSED: Final = ("direct_objects_accessed", "base_objects_accessed")
NAMED: Final = ("columns", "tags", "maskingPolicies", "rowAccessPolicies", "allowedValues")
"""The properties whose elements a user named: their names are keys before 2178."""


def row(user: str = "ETL", **told: Any) -> Json:
    return {"user_name": user, **told}


def thing(name: str, number: int, *columns: str, domain: str = "Table") -> Json:
    listed = [{"columnId": 100 * number + at, "columnName": column} for at, column in enumerate(columns)]
    return {"objectDomain": domain, "objectId": number, "objectName": name, "columns": listed}


def alone(of: Json) -> Json:
    return {name: value for name, value in of.items() if name != "columns"}


A, B, C = (thing(f"D.S.{name}", number, "X") for number, name in enumerate("ABC", start=1))
V: Final = thing("D.S.V", 4, "X", domain="View")
TAG: Final = thing("G.T.PII", 50, domain="Tag")
MASK: Final = thing("G.P.MASK", 60, domain="Masking policy")
SHARE: Final = thing("OUT", 80, domain="Share")


def read(direct: Json, base: Json | None = None, user: str = "ANA", **told: Any) -> Json:
    return row(user, direct_objects_accessed=[direct], base_objects_accessed=[base or direct], **told)


def copied(source: Json, target: Json, **told: Any) -> Json:
    """The first column of the source into that of the target."""
    from_it = {**alone(source), "columnName": source["columns"][0]["columnName"]}
    column = {**target["columns"][0], "directSources": [from_it], "baseSources": [from_it]}
    return read(source, user="ETL", objects_modified=[{**target, "columns": [column]}], **told)


def changed(of: Json, operation: str = "ALTER", **properties: Any) -> Json:
    return row("ADM", object_modified_by_ddl={**alone(of), "operationType": operation, "properties": properties})


def value(of: Any) -> Json:
    return {"value": of}


def named(of: Json, name: str) -> Json:
    """The object under another name."""
    return {**of, "objectName": name}


def created(of: Json, operation: str = "CREATE", **properties: Any) -> Json:
    columns = {
        one["columnName"]: {"objectId": value(one["columnId"]), "subOperationType": "ADD"} for one in of["columns"]
    }
    return changed(of, operation, columns=columns, **properties)


def swapped(one: Json, other: Json) -> list[Json]:
    """Two rows of one query (``again``)."""
    sides = [
        changed(
            this,
            swapTargetDomain=value(that["objectDomain"]),
            swapTargetId=value(that["objectId"]),
            swapTargetName=value(that["objectName"]),
        )
        for this, that in ((one, other), (other, one))
    ]
    return [sides[0], {**sides[1], "again": True}]


def held(of: Json, operation: str = "ADD", given: str | None = None) -> Json:
    """A tag or policy that is set or unset, by its name."""
    element = {"objectId": value(of["objectId"]), "subOperationType": operation}
    return {of["objectName"]: element if given is None else {**element, "tagValue": value(given)}}


def on_x(**properties: Json) -> Json:
    return {"X": properties}


def enforced(on: Json, policy: Json, kind: str = "MASKING_POLICY") -> list[Json]:
    """``policies_referenced``: a mask on the first column, another policy on the whole object."""
    shown = {"policyName": policy["objectName"], "policyId": policy["objectId"], "policyKind": kind}
    if kind != "MASKING_POLICY":
        return [{**alone(on), "policies": [shown]}]
    return [{**on, "columns": [{**on["columns"][0], "policies": [shown]}]}]


def granted(operation: str, on: Json) -> Json:
    given = {
        "PRIVILEGES": ["SELECT"],
        "SECURABLE_OBJECT_DOMAIN": on["objectDomain"],
        "SECURABLE_OBJECT_ID": on["objectId"],
        "SECURABLE_OBJECT_NAME": on["objectName"],
    }
    return changed(SHARE, operation, **{operation.lower(): value(given)})


def agent(kind: str, number: int | None, name: str | None) -> Json:
    return {"agentType": kind, "agentId": number, "agentName": name}


RAP: Final = thing("G.P.RAP", 61, domain="Row access policy")
STAGE: Final = {"objectDomain": "Stage", "objectId": 9, "objectName": "D.S.STG", "stageKind": "Internal Named"}
CALLED: Final = {"objectDomain": "Procedure", "objectName": "D.S.P", "argumentSignature": "()", "dataType": "VARCHAR"}
JOINED: Final = {**A, "joinObjects": [{"joinType": "INNER_JOIN", "node": alone(B)}]}
TAGGED: Final = changed(A, columns=on_x(tags=held(TAG, given="a")))
MASKED: Final = changed(A, columns=on_x(maskingPolicies=held(MASK)))
NO_MASK: Final = changed(A, columns=on_x(maskingPolicies=held(MASK, "DROP")))
B2: Final = named(B, "D.S.B2")
NEW_B2: Final = thing("D.S.B2", 7, "X")
CLONED: Final = thing("D.S2.A", 21, "X")
S: Final = thing("D.S", 31, domain="Schema")
S2: Final = thing("D.S2", 30, domain="Schema")
AY: Final = thing("D.S.A", 1, "Y")


def clone_of(source: Json) -> Json:
    return {f"cloneSource{part}": value(source[f"object{part}"]) for part in ("Domain", "Id", "Name")}


STORIES: Final[dict[str, list[Json]]] = {
    "lineage": [
        created(A), copied(A, B), copied(B, C), read(C, user="BEN"), read(thing("D.S.V", 4, "VX", domain="View"), A),
        read(C, user="ETL", objects_modified=[STAGE]), read(B, user="BEN"),
    ],
    "renamed": [
        created(A), copied(A, B), changed(B, objectName=value("D.S.B2")), copied(B2, C), *swapped(A, C),
        read(thing("D.S.A", 3, "X"), user="BEN"), changed(B2, "DROP"), created(NEW_B2), read(NEW_B2, user="CLEO"),
    ],
    "tagged": [
        changed(TAG, "CREATE", allowedValues={"a": {"subOperationType": "ADD"}}), TAGGED, copied(A, B),
        changed(B, columns=on_x(tags=held(TAG, given="a"))), changed(B, columns=on_x(tags=held(TAG, "DROP"))),
        changed(C, tags=held(TAG, given="b")), read(B, user="BEN"),
    ],
    "tag-dropped": [
        TAGGED, copied(A, B), changed(TAG, "DROP"), changed(TAG, "UNDROP"),
        changed(A, columns=on_x(objectName=value("Y"))),
        changed(B, columns=on_x(subOperationType="DROP", objectId=value(200))),
    ],
    "masked": [
        changed(MASK, "CREATE", policyBody=value("'***'")), MASKED, read(A, policies_referenced=enforced(A, MASK)),
        copied(A, B, policies_referenced=enforced(A, MASK)), changed(MASK, policyBody=value("val")),
        read(A, policies_referenced=enforced(A, MASK)), NO_MASK, read(A, user="BEN"), read(B, user="CLEO"),
    ],
    "masked-by-tag": [
        changed(TAG, maskingPolicies=held(MASK)), TAGGED, read(A, policies_referenced=enforced(A, MASK)),
        copied(A, B, policies_referenced=enforced(A, MASK)), changed(TAG, maskingPolicies=held(MASK, "DROP")),
        read(A, user="BEN"), read(B, user="CLEO"),
    ],
    "rows": [
        changed(A, rowAccessPolicies=held(RAP)),
        read(A, policies_referenced=enforced(A, RAP, "ROW_ACCESS_POLICY")),
        changed(A, rowAccessPolicies=held(RAP, "DROP")), changed(A, tags=held(TAG, given="b")),
        changed(A, tags=held(TAG, "DROP")), read(A),
    ],
    "shared": [
        changed(SHARE, "CREATE", secureObjectsOnly=value(True)), granted("GRANT", V),
        changed(SHARE, accountsToAdd=value(["ACC1", "ACC2"])), changed(SHARE, accountsToRemove=value(["ACC1"])),
        changed(SHARE, accountsToSet=value(["ACC3"])), granted("REVOKE", V), read(V, A),
    ],
    "share-dropped": [
        granted("GRANT", V), changed(SHARE, accountsToAdd=value(["ACC1", "ACC2"])), changed(SHARE, "DROP"),
    ],
    "agents": [
        read(V, A), read(A, policies_referenced=enforced(A, MASK), agents_info=[agent("CORTEX_AGENT", 90, "D.S.AG")]),
        read(
            V, A, policies_referenced=enforced(A, MASK),
            agents_info=[agent("CORTEX_AGENT", 90, "D.S.AG"), agent("EXTERNAL_AGENT", None, None)],
        ),
        read(A, agents_info=[agent("CORTEX_LITE_AGENT", 91, "D.S.AL")]),
    ],
    "cloned": [
        created(A), changed(A, columns=on_x(tags=held(TAG, given="a"), maskingPolicies=held(MASK))),
        created(B, **clone_of(A)), read(B, user="BEN"), copied(B, C), read(C, user="CLEO"),
    ],
    "schema-cloned": [
        created(A), read(A), changed(S2, "CREATE", **clone_of(S)), read(CLONED, user="BEN"),
        copied(CLONED, C), read(C, user="CLEO"),
    ],
    "view": [
        created(A), created(V), read(V, A), created(V, "REPLACE"), read(V, B), changed(V, "DROP"),
        changed(V, "UNDROP"), read(V, B, user="BEN"),
    ],
    "dropped": [
        created(A), copied(A, B), changed(A, "DROP"), changed(A, "UNDROP"), copied(A, C), changed(B, "DROP"),
        changed(S, "DROP"),
    ],
    "columns-renamed": [
        created(thing("D.S.A", 1, "X", "Z")), changed(A, columns=on_x(objectName=value("Y"))),
        changed(A, columns={"Y": {"maskingPolicies": held(MASK)}}),
        read(AY, policies_referenced=enforced(AY, MASK)), copied(AY, B), read(B, user="BEN"),
        changed(A, columns={"Z": {"subOperationType": "DROP", "objectId": value(101)}}),
        changed(A, columns={"W": {"subOperationType": "ADD", "objectId": value(103)}}),
    ],
    "called": [
        row("ANA", direct_objects_accessed=[CALLED]), read(A, parent_query_id="q1", root_query_id="q1"),
        copied(A, B, parent_query_id="q2", root_query_id="q1"),
    ],
    "joined": [row("ANA", direct_objects_accessed=[JOINED, B], base_objects_accessed=[A, B])],
}  # fmt: skip
"""Query ``qN`` is of day N of the month. A row with ``again`` is another row of the query before it."""


def told(story: list[Json], account: str) -> list[Json]:
    """The rows of a story as those of an account."""
    rows, number = [], 0
    for one in story:
        number += 0 if one.get("again") else 1
        own = {"query_id": f"q{number}", "query_start_time": f"2026-09-{number:02} 08:00:00.000 +0000"}
        said = {name: told for name, told in one.items() if name != "again"}
        rows.append({**said, **own, "organization_name": "STORY", "account_name": account})
    return rows


def in_new_form(story: list[Json]) -> list[Json]:
    """The same with names in arrays (2178) and bare values (2179). How a renamed column looks then is not documented:
    its new name is in ``newName``, as docs/input.md says that it is read.
    """

    def converted(given: Any, name: str = "") -> Any:
        if not isinstance(given, dict):
            return given
        if given.keys() == {"value"}:
            return given["value"]
        if name in NAMED:
            return [{"objectName": key, **_element(converted(inside))} for key, inside in given.items()]
        return {key: converted(inside, key) for key, inside in given.items()}

    found = deepcopy(story)
    for one in found:
        if "object_modified_by_ddl" in one:
            one["object_modified_by_ddl"] = converted(one["object_modified_by_ddl"])
    return found


def _element(inside: Json) -> Json:
    return {"newName" if name == "objectName" else name: part for name, part in inside.items()}


def _on(name: str, *questions: str, **more: str) -> list[Asking]:
    """Questions about an object; ``more``: other parameters."""
    return [(question, {"object_name": name, **more}) for question in questions]


_ALL: Final = ("who-accessed", "former-names", "writers", "downstream-users")
_CHANGES: Final = ("changes", {"since": "2026-09-01"})
_AT_THE_END: Final = {"at": "2026-09-20"}
_X: Final = {"column_name": "X"}
_COPIES: Final[list[Asking]] = [
    *_on("D.S.A", *_ALL, "end-up", "columns-accessed", "sensitive-data-movement"),
    *_on("D.S.A", "column-copies", "column-readers", **_X),
    *_on("D.S.C", "writers", "who-accessed", "former-names"), *_on("D.S.C", "lineage-as-of", **_AT_THE_END),
    *_on("D.S.C", "root-cause", **_X), ("column-lineage", {}), ("unused-objects", {"since": "2026-09-04"}), _CHANGES,
    ("user-history", {}),
]  # fmt: skip
_TAGS: Final[list[Asking]] = [
    ("tag-reach", {}), ("tag-reach", {"tag_name": "G.T.PII", "at": "2026-09-04T12:00"}), ("policy-coverage", {}),
    ("policy-coverage", {"tag_name": "G.T.PII"}), ("policy-coverage", {"at": "2026-09-04T12:00"}), _CHANGES,
    *_on("D.S.A", "policy-coverage"), *_on("D.S.B", "policy-coverage"), *_on("D.S.C", "policy-coverage"),
    *_on("D.S.A", "tag-history", **_X), *_on("D.S.B", "tag-history", **_X),
]  # fmt: skip
_MASKS: Final[list[Asking]] = [
    ("unmasked-reads", {}), ("unmasked-copies", {}), ("masking-policies", {}), ("policy-access", {}),
    ("policy-coverage", {}), ("policy-coverage", {"at": "2026-09-04T12:00"}), _CHANGES, ("agent-reads", {}),
    *(("enforced-policy", {"query_id": ident}) for ident in ("q3", "q4", "q6")),
    *_on("D.S.A", "unmasked-reads", "policy-coverage"), ("unmasked-reads", {"object_id": "1"}),
    *_on("D.S.A", "unmasked-reads", since="2026-09-08"), *_on("D.S.B", "unmasked-reads"),
]  # fmt: skip
_SHARES: Final[list[Asking]] = [
    ("exposure", {}), *(("exposure", {"at": f"2026-09-{day:02}T12:00"}) for day in (2, 3, 4, 5)),
    *_on("D.S.V", "exposure", at="2026-09-05T12:00"), *_on("D.S.A", "end-up", "exposure"), *_on("D.S.V", "end-up"),
    ("exposure", {"object_id": "4", "domain": "View", "at": "2026-09-05T12:00"}), _CHANGES,
]  # fmt: skip
ASKED: Final[dict[str, list[Asking]]] = {
    "lineage": [*_COPIES, ("column-lineage", {"helpers": "bridged"}), *_on("D.S.V", "lineage-as-of", **_AT_THE_END)],
    "renamed": [*_COPIES, *_on("D.S.B2", *_ALL), *_on("D.S.B2", "lineage-as-of", **_AT_THE_END),
                ("end-up", {"object_id": "1"}), ("who-accessed", {"object_id": "3"})],
    "tagged": _TAGS,
    "tag-dropped": [*_TAGS, *_on("D.S.A", "tag-history", column_name="Y"), *_on("D.S.B", "root-cause", **_X),
                    *_on("D.S.A", "column-copies", **_X)],
    "masked": _MASKS,
    "masked-by-tag": [*_MASKS, ("tag-reach", {})],
    "rows": [("row-access-policies", {}), ("policy-access", {}), ("policy-coverage", {}), _CHANGES,
             ("policy-coverage", {"at": "2026-09-04T12:00"}), ("enforced-policy", {"query_id": "q2"})],
    "shared": _SHARES,
    "share-dropped": _SHARES,
    "agents": [("agent-reads", {}), ("agent-reads", {"agent_name": "D.S.AG"}), ("agent-reads", {"since": "2026-09-04"}),
               *_MASKS],
    "cloned": [*_COPIES, ("tag-reach", {}), ("policy-coverage", {}), ("unmasked-reads", {}), ("unmasked-copies", {}),
               *_on("D.S.B", "lineage-as-of", **_AT_THE_END), *_on("D.S.B", "writers")],
    "schema-cloned": _COPIES,
    "view": [*_COPIES, *_on("D.S.V", *_ALL), *_on("D.S.V", "lineage-as-of", **_AT_THE_END),
             *_on("D.S.V", "root-cause", **_X)],
    "dropped": [*_COPIES, *_on("D.S.B", "former-names"), *_on("D.S.B", "lineage-as-of", **_AT_THE_END),
                *_on("D.S", "former-names")],
    "columns-renamed": [*_MASKS, *_on("D.S.A", "end-up", column_name="X"), *_on("D.S.A", "end-up", column_name="Y"),
                        *_on("D.S.B", "root-cause", **_X), *_on("D.S.A", "column-readers", column_name="Y"),
                        *_on("D.S.A", "columns-accessed", "former-names"), *_on("D.S.A", "column-copies", **_X)],
    "called": [("ancestors", {}), ("statements-of-request", {"query_id": "q1"}), ("user-history", {}), *_COPIES],
    "joined": [("joins", {}), ("user-history", {}), *_on("D.S.A", "who-accessed"), *_on("D.S.B", "who-accessed")],
}  # fmt: skip
