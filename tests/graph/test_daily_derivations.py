"""``--reads daily``: the derivations, accesses and settings of a query that writes follow from what runs share and from
the versions.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from typing import TYPE_CHECKING, Any, Final

import pytest

from exporter.graph.store import load
from exporter.model.accesses import access_groups
from tests import exports
from tests.ask import dense_histories
from tests.graph.test_daily import asked, content, export
from tests.histories import Json, random_history
from tests.input.bad_rows import GOOD

if TYPE_CHECKING:
    from pathlib import Path

    from pyoxigraph import Store

_PREFIXES: Final = """PREFIX ah: <https://w3id.org/access-history#> PREFIX prov: <http://www.w3.org/ns/prov#>
PREFIX dcterms: <http://purl.org/dc/terms/>
"""
_SAID: Final = """
  OPTIONAL { ?told ah:sourceName ?source_name }
  OPTIONAL { ?told ah:targetName ?target_name }
  OPTIONAL { ?told ah:viaFunction ?via }
"""
FULL: Final = f"""{_PREFIXES}SELECT * WHERE {{
  ?made prov:qualifiedDerivation ?told .
  ?told prov:entity ?source_version ; prov:hadActivity ?query ; ah:sourceType ?type ; ah:sourceObject ?source ;
    ah:targetColumn ?column ; ah:targetColumnVersion ?filled .
  OPTIONAL {{ ?told ah:sourceColumn ?source_column }}
  OPTIONAL {{ ?told ah:sourceColumnVersion ?held }}
  {_SAID}
}}"""
DAILY: Final = f"""{_PREFIXES}SELECT * WHERE {{
  ?filled ah:derivationPattern ?told ; dcterms:isPartOf ?made ; prov:wasGeneratedBy ?query .
  ?told ah:sourceType ?type ; ah:sourceObject ?source ; ah:targetColumn ?column .
  ?query prov:used ?source_version .
  ?source_version prov:specializationOf ?source .
  OPTIONAL {{
    ?told ah:sourceColumn ?source_column .
    ?filled prov:wasDerivedFrom ?held .
    ?held prov:specializationOf ?source_column .
  }}
  {_SAID}
}}"""
_NAMES: Final = (
    "made", "column", "filled", "source", "source_version", "source_column", "held", "type", "query", "source_name",
    "target_name", "via",
)  # fmt: skip
_OTHERS: Final = f"""{_PREFIXES}SELECT ?version ?term ?value WHERE {{
  {{ ?version a ah:Version }} UNION {{ ?version a ah:ColumnVersion }}
  ?version ?term ?value FILTER(?term NOT IN (prov:qualifiedDerivation, ah:derivationPattern))
}}"""
_NAMED_AND_COLUMN: Final = """
  OPTIONAL { ?told ah:objectName ?name }
  OPTIONAL { ?told ah:readColumn ?column }
"""
FULL_ACCESSES: Final = f"""{_PREFIXES}SELECT ?query ?version ?type ?object ?name ?column WHERE {{
  ?query prov:qualifiedUsage ?told .
  ?told prov:entity ?version ; ah:accessType ?type ; ah:accessedObject ?object .
  {_NAMED_AND_COLUMN}
}}"""
DAILY_ACCESSES: Final = f"""{_PREFIXES}SELECT ?query ?version ?type ?object ?name ?column WHERE {{
  ?query a ah:Query ; ah:accessPattern ?told ; prov:used ?version .
  ?told ah:accessType ?type ; ah:accessedObject ?object .
  ?version prov:specializationOf ?object .
  {_NAMED_AND_COLUMN}
}}"""
_SETTINGS: Final = (
    f"{_PREFIXES}SELECT ?change ?one ?term ?value WHERE {{ ?change ah:hasSetting ?one . ?one ?term ?value }}"
)
_QUERIES: Final = f"{_PREFIXES}SELECT ?query WHERE {{ ?query a ah:Query }}"
_ACCESSES: Final = f"{_PREFIXES}SELECT ?one WHERE {{ ?one a ah:Access }}"
_DERIVED: Final = f"{_PREFIXES}SELECT ?one WHERE {{ ?one a ah:ColumnDerivation }}"
_PATTERNS: Final = f"{_PREFIXES}SELECT ?one WHERE {{ ?one a ah:DerivationPattern }}"


def said(store: Store, query: str) -> list[tuple[str | None, ...]]:
    """What the derivations say, one row each."""
    found: Any = store.query(query)
    return sorted(
        (tuple(None if row[name] is None else row[name].value for name in _NAMES) for row in found),
        key=str,
    )


def any_form(seed: int) -> list[Json]:
    """Every form of row."""
    return random_history(seed, 60)


def any_order(seed: int) -> list[Json]:
    """Every order of events."""
    return dense_histories.history(seed, 60)[0]


@pytest.fixture(scope="module", params=[(history, seed) for history in (any_form, any_order) for seed in range(6)])
def both(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> tuple[Store, Store]:
    """The graphs of a history, full and daily."""
    history, seed = request.param
    rows, folder = history(seed), tmp_path_factory.mktemp("both")
    full, daily = (load(export(rows, folder, mode)) for mode in ("full", "daily"))
    return full, daily


def test_each_derivation_follows_from_a_pattern_and_a_version(both: tuple[Store, Store]) -> None:
    full, daily = both
    derivations = said(full, FULL)
    assert len(derivations) == len(asked(full, _DERIVED)) > 5
    assert said(daily, DAILY) == derivations
    assert asked(daily, _DERIVED) == []
    assert 0 < len(asked(daily, _PATTERNS)) <= len(derivations)
    assert asked(full, _PATTERNS) == []
    assert sorted(asked(daily, _OTHERS), key=str) == sorted(asked(full, _OTHERS), key=str)


def test_each_access_follows_from_a_pattern_and_a_version(both: tuple[Store, Store]) -> None:
    full, daily = both
    kept = {query for (query,) in asked(daily, _QUERIES)}
    accesses = [one for one in asked(full, FULL_ACCESSES) if one[0] in kept]
    assert len(accesses) > 5
    assert sorted(asked(daily, DAILY_ACCESSES), key=str) == sorted(accesses, key=str)
    assert asked(daily, _ACCESSES) == []


def settings(store: Store) -> Counter[tuple[str | None, frozenset[tuple[str | None, ...]]]]:
    """By change, what each of its settings has."""
    found = defaultdict(set)
    for change, setting, *said in asked(store, _SETTINGS):
        found[change, setting].add(tuple(said))
    return Counter((change, frozenset(said)) for (change, _), said in found.items())


def test_each_change_has_the_same_settings(both: tuple[Store, Store]) -> None:
    full, daily = both
    assert settings(daily) == settings(full)
    assert settings(full)


def test_changes_that_set_the_same_share_a_setting_unless_it_has_a_period(tmp_path: Path) -> None:
    columns = {"columns": {"A": {"objectId": {"value": 7}, "subOperationType": "ADD"}}}
    tags = {"tags": {"D.S.PII": {"value": "yes", "objectId": {"value": 5}, "subOperationType": "ADD"}}}
    change = {"objectDomain": "Table", "objectId": 2, "objectName": "D.S.U", "operationType": "ALTER"}
    change["properties"] = {**columns, **tags}
    row = {**GOOD, "object_modified_by_ddl": change}
    rows = [{**row, "query_id": f"q-{day}", "query_start_time": f"2026-03-0{day}T10:00:00Z"} for day in range(1, 4)]
    store = load(export(rows, tmp_path, "daily"))
    nodes = f"{_PREFIXES}SELECT DISTINCT ?one WHERE {{ ?one a ah:%s }}"
    assert (len(asked(store, nodes % "ColumnSetting")), len(asked(store, nodes % "TagSetting"))) == (1, 3)
    assert len(asked(store, f"{_PREFIXES}SELECT ?c WHERE {{ ?c ah:hasSetting/a ah:ColumnSetting }}")) == 3


def test_accesses_are_merged_only_if_nothing_is_lost() -> None:
    """The ways of an object with the same name and columns."""

    def table(name: str, *columns: str) -> Json:
        named = [{"columnName": one} for one in columns]
        return {"objectDomain": "Table", "objectId": 1, "objectName": name, "columns": named}

    def told(direct: Json, base: Json) -> list[tuple[Any, ...]]:
        row = {**GOOD, "direct_objects_accessed": [direct], "base_objects_accessed": [base]}
        return [(one.names, one.ways, one.columns) for one in access_groups(content(**row))]

    assert told(table("T", "B", "A"), table("T", "A", "B")) == [(("T",), ("BASE", "DIRECT"), ("A", "B"))]
    assert told(table("T", "A"), table("T", "B")) == [(("T",), ("BASE",), ("B",)), (("T",), ("DIRECT",), ("A",))]
    assert told(table("T", "A"), table("U", "A")) == [(("T",), ("DIRECT",), ("A",)), (("U",), ("BASE",), ("A",))]


def copies(times: int, **also: Any) -> list[Json]:
    """A statement that is run so many times, a day apart."""
    source = {"objectDomain": "Table", "objectId": 1, "objectName": "D.S.T", "columnName": "A"}
    column = {"columnName": "B", "directSources": [source], "baseSources": [source]}
    written = {"objectDomain": "Table", "objectId": 2, "objectName": "D.S.U", "columns": [column]}
    row = {**GOOD, "base_objects_accessed": [], "objects_modified": [written], **also}
    return [
        {**row, "query_id": f"q-{number}", "query_start_time": f"2026-03-0{number}T10:00:00Z"}
        for number in range(1, times + 1)
    ]


def test_all_runs_of_a_statement_share_a_pattern(tmp_path: Path) -> None:
    store = load(export(copies(5), tmp_path, "daily"))
    assert len(asked(store, _PATTERNS)) == 1
    assert len(said(store, DAILY)) == 5 * 2
    (tmp_path / "other").mkdir()
    (again,) = asked(load(export(copies(1), tmp_path / "other", "daily")), _PATTERNS)
    assert again == asked(store, _PATTERNS)[0], "it is named by what it says alone"


@pytest.mark.parametrize("mode", ["full", "daily"])
def test_a_shape_of_derivations_holds_back_the_same_queries(mode: str, tmp_path: Path) -> None:
    """Though with ``--reads daily`` no derivation is written."""
    (tmp_path / "own").mkdir()
    (tmp_path / "own" / "none.ttl").write_text(
        """@prefix sh: <http://www.w3.org/ns/shacl#> . @prefix ah: <https://w3id.org/access-history#> .
        @prefix my: <https://example.org/shapes#> .
        my:None a sh:NodeShape ; sh:targetClass ah:ColumnDerivation ; sh:property my:NoneOfT .
        my:NoneOfT a sh:PropertyShape ; sh:path ah:sourceName ; sh:pattern "^D.S.X$" ; sh:message "not of T" .""",
        encoding="utf-8",
    )
    file = exports.ndjson(copies(2), tmp_path / "rows.ndjson")
    given = "--reads", mode, "--shapes", str(tmp_path / "own"), "--allow-empty"
    assert exports.export([file], tmp_path / "out", *given) == 1
    assert exports.report(tmp_path / "out")["quarantined"] == 2
