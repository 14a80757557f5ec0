"""10,000 rows, of which 5 % are damaged in more than 20 ways: each is exported correctly or quarantined with a
reason, without an effect on others.
"""

from __future__ import annotations

import json
from random import Random
from typing import TYPE_CHECKING, Any, Final

import pytest
from pyoxigraph import RdfFormat, parse

from tests import exports

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

ROWS: Final = 10_000
SHARE: Final = 0.05
NOT_JSON: Final = "not one JSON object"
DAMAGED: Final = "not UTF-8"
Json = dict[str, Any]


def row(number: int) -> Json:
    thing = {"objectDomain": "Table", "objectId": number % 50 + 1, "objectName": f"D.S.T{number % 50}"}
    return {
        "query_id": f"q{number:05}",
        "query_start_time": f"2026-03-01 {number // 3600:02}:{number // 60 % 60:02}:{number % 60:02}.000 +0000",
        "user_name": f"USER {number % 7} é",
        "direct_objects_accessed": [{**thing, "columns": [{"columnId": 1, "columnName": "A"}]}],
        "object_modified_by_ddl": None,
    }


def line(one: Json) -> bytes:
    return json.dumps(one, ensure_ascii=False).encode()


def but(**columns: Any) -> Callable[[Json], bytes]:
    return lambda one: line({**one, **columns})


def without(column: str) -> Callable[[Json], bytes]:
    return lambda one: line({name: value for name, value in one.items() if name != column})


HARMFUL: Final[dict[str, tuple[Callable[[Json], bytes], str]]] = {
    "cut off": (lambda one: line(one)[: 20 + one["direct_objects_accessed"][0]["objectId"]], NOT_JSON),
    "cut within a letter": (lambda one: line(one)[: line(one).index("é".encode()) + 1], NOT_JSON),
    "two on a line": (lambda one: line(one) + line(one), NOT_JSON),
    "rubbish before it": (lambda one: b"\xff\x00PK\x03\x04" + line(one), NOT_JSON),
    "a quote too many": (lambda one: line(one).replace(b'"USER', b'"US"ER'), NOT_JSON),
    "no comma": (lambda one: line(one).replace(b", ", b" ", 1), NOT_JSON),
    "NUL between words": (lambda one: line(one).replace(b": ", b":\0", 1), NOT_JSON),
    "a byte of another encoding": (lambda one: line(one).replace("é".encode(), b"\xe9"), DAMAGED),
    "half of a surrogate pair": (lambda one: line(one).replace("é".encode(), b"\\ud83e"), DAMAGED),
    "a name of another encoding": (lambda one: line({**one, "größe": 1}).replace("ö".encode(), b"\xf6"), DAMAGED),
    "a name with half of a pair": (lambda one: line(one).replace(b"_by_ddl", b"\\udf02"), DAMAGED),
    "a member of another encoding": (lambda one: line(one).replace(b"objectN", b"object\xec"), DAMAGED),
    "no query id": (without("query_id"), "query_id is missing"),
    "a time that is null": (but(query_start_time=None), "query_start_time is missing"),
    "no such day": (but(query_start_time="2026-02-30 08:00:00"), "cannot be read as a time"),
    "a user of blanks": (but(user_name="   "), "user_name is missing"),
    "text for an array": (but(direct_objects_accessed="all of them"), "contains text, but an array is expected"),
    "an object for an array": (but(direct_objects_accessed={"objectId": 1}), "contains an object, but an array"),
    "an array of texts": (but(direct_objects_accessed=["D.S.T"]), "in it is text that is not a JSON object"),
    "nested too deep": (lambda one: line(one)[:-1] + b', "x": ' + b"[" * 2000 + b"]" * 2000 + b"}", "levels deep"),
    "a name without end": (but(user_name="U" * 70_000), "user_name has 70,000 characters"),
}
HARMLESS: Final[dict[str, Callable[[Json], bytes]]] = {
    "a byte-order mark": lambda one: b"\xef\xbb\xbf" + line(one),
    "a comma behind it": lambda one: line(one) + b",",
    "a control character in a text": lambda one: line({**one, "of_next_year": "@"}).replace(b"@", b"\x01"),
    "a key twice": lambda one: b'{"user_name": "NOBODY", ' + line(one)[1:],
    "names in capitals": lambda one: line({name.upper(): value for name, value in one.items()}),
    "arrays in text in text": lambda one: line(
        {**one, "direct_objects_accessed": json.dumps(json.dumps(one["direct_objects_accessed"]))}
    ),
    "undefined": lambda one: line(one).replace(b"null", b"undefined"),
    "nested deep": but(of_next_year=json.loads("[" * 900 + "]" * 900)),
    "bad bytes where nobody looks": lambda one: line({**one, "of_next_year": "@"}).replace(b"@", b"\xff\xfe"),
}


@pytest.fixture(scope="module")
def exported(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, dict[int, tuple[str, bytes]]]:
    """The export, and by line the damage of it and what stands there."""
    rng, damaged = Random(5), dict[int, tuple[str, bytes]]()
    lines = []
    for number in range(ROWS):
        made = line(row(number))
        if rng.random() < SHARE:
            kind = rng.choice((*HARMFUL, *HARMLESS))
            damage = HARMLESS[kind] if kind in HARMLESS else HARMFUL[kind][0]
            made = damage(row(number))
            damaged[number] = kind, made
        lines.append(made)
    folder = tmp_path_factory.mktemp("damage")
    (folder / "rows.ndjson").write_bytes(b"\n".join(lines) + b"\n")
    assert exports.export([folder / "rows.ndjson"], folder / "out") == 0
    return folder / "out", damaged


Exported = tuple["Path", dict[int, tuple[str, bytes]]]


def test_every_kind_of_damage_is_there(exported: Exported) -> None:
    _, damaged = exported
    assert {kind for kind, _ in damaged.values()} == {*HARMFUL, *HARMLESS}
    assert len({*HARMFUL, *HARMLESS}) >= 20


def test_each_harmful_one_is_quarantined_with_its_place_and_reason(exported: Exported) -> None:
    out, damaged = exported
    aside = {one["line"] - 1: one for one in exports.quarantine(out)}
    assert aside.keys() == {number for number, (kind, _) in damaged.items() if kind in HARMFUL}
    for number, one in aside.items():
        kind, made = damaged[number]
        assert HARMFUL[kind][1] in one["reason"], kind
        assert one["as_it_came"] == made.decode("utf-8", "replace")


def test_all_others_are_exported_as_they_were(exported: Exported) -> None:
    out, damaged = exported
    kept = [number for number in range(ROWS) if number not in damaged or damaged[number][0] in HARMLESS]
    report = exports.report(out)
    assert (report["rows_in"], report["exported"], report["duplicates"]) == (ROWS, len(kept), 0)
    quads = parse(path=out / "graph" / "part-00000.ttl", format=RdfFormat.TURTLE)
    users = {
        quad.subject.value: quad.object.value for quad in quads if quad.predicate.value.endswith("wasAssociatedWith")
    }
    base = f"snowflake://{exports.ACCOUNT}"
    assert users == {f"{base}/query/q{n:05}": f"{base}/user/USER%20{n % 7}%20%C3%A9" for n in kept}
