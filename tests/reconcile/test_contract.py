"""Data contracts: what a property lists is compared with rows, and --out adds what rows show to the text.

The forms are those of the Open Data Contract Standard, whose JSON Schema is read from its Python package.
"""

from __future__ import annotations

import importlib.resources
import json
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import jsonschema
import pytest
import yaml

from exporter.cli import main
from tests.reconcile.small import classes, compared, ddl, filled, made, manifest, model, row, said, thing

if TYPE_CHECKING:
    from collections.abc import Iterator

Capsys = pytest.CaptureFixture[str]
A, B, T, FILTER = thing(10, "A"), thing(11, "B"), thing(13, "T"), thing(14, "F")
VIEW: Final = thing(30, "V", domain="View")
ROWS: Final = [
    filled("q1", 2, T, A, B, FILTER, C=[(A, "C")], D=[(A, "D"), (B, "E")]),
    filled("q2", 3, T, A, C=[(A, "C")]),
]
EXAMPLE: Final = Path(__file__).parents[2] / "examples" / "reconcile" / "orders.odcs.yaml"
HEAD: Final = """apiVersion: v3.1.0
kind: DataContract
id: t
version: 1.0.0
status: active
servers:
- {server: prod, type: snowflake, account: acme-prod, database: D, schema: S}
"""
SCHEMA: Final[Any] = json.loads(
    importlib.resources.files("open_data_contract_standard").joinpath("schema.json").read_text(encoding="utf-8")
)


@pytest.fixture(scope="module")
def graph(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return made(ROWS, tmp_path_factory.mktemp("graph"))


def contract(path: Path, properties: str, head: str = HEAD, name: str = "T") -> Path:
    text = f"{head}schema:\n- name: {name}\n  properties:\n{properties}"
    path.write_bytes(text.encode())
    return path


def conforms(path: Path) -> None:
    jsonschema.Draft201909Validator(SCHEMA).validate(json.loads(json.dumps(yaml.safe_load(path.read_text()))))


def sources(path: Path) -> dict[str, list[str]]:
    """Property -> what it lists."""
    whole = yaml.safe_load(path.read_text())
    return {
        one["name"]: one.get("transformSourceObjects") or [] for each in whole["schema"] for one in each["properties"]
    }


def test_each_source_of_a_property_has_its_class(graph: Path, tmp_path: Path, capsys: Capsys) -> None:
    """A table, or a column of one. F was only read: the property may name it, and is not asked to."""
    given = contract(
        tmp_path / "c.yaml",
        "  - {name: C, logicalType: string, transformSourceObjects: [D.S.A.C, D.S.F, D.S.B.X]}\n"
        "  - {name: D, logicalType: string, transformSourceObjects: [A]}\n"
        "  - {name: NEW, logicalType: string}\n",
    )
    conforms(given)
    found = compared(graph, capsys, given, "--fail-on", "undeclared", code=1)
    assert classes(found) == {
        ("A:C", "T:C"): "verified",
        ("F", "T:C"): "verified",
        ("B:X", "T:C"): "phantom",
        ("A", "T:D"): "verified",
        ("B:E", "T:D"): "undeclared",
    }
    by = {(one["source"]["name"], one["target"]["column"]): (one["by"], one["queries"]) for one in found["edges"]}
    assert by["D.S.A", "C"] == ("columns", 2)
    assert by["D.S.A", "D"] == ("columns", 1)
    assert by["D.S.F", "C"] == ("reads", 1)
    assert found["declarations"][0]["form"] == "ODCS data contract v3.1.0"
    assert "D.S.T: for 1 of 3 properties no row of the period shows a source: NEW." in found["notes"]


def test_a_source_from_which_no_column_comes_is_a_phantom_and_lets_the_real_one_be_missed(
    graph: Path, tmp_path: Path, capsys: Capsys
) -> None:
    given = contract(tmp_path / "c.yaml", "  - {name: D, transformSourceObjects: [D.S.A.OTHER, B.E]}\n")
    assert classes(compared(graph, capsys, given)) == {
        ("A:OTHER", "T:D"): "phantom",
        ("A:D", "T:D"): "undeclared",
        ("B:E", "T:D"): "undeclared",  # B.E is an object E of a schema B
        ("D.B.E", "T:D"): "unknown no-row",
    }


def test_what_the_sources_are_made_from_is_asked_of_no_contract(tmp_path: Path, capsys: Capsys) -> None:
    """A contract has no place for it, so --fail-on could never be satisfied. A project of dbt has one."""
    graph = made([filled("q1", 2, A, B, C=[(B, "C")]), filled("q2", 3, T, A, C=[(A, "C")])], tmp_path)
    given = contract(tmp_path / "c.yaml", "  - {name: C, transformSourceObjects: [D.S.A.C, D.S.B.C]}\n")
    assert classes(compared(graph, capsys, given)) == {("A:C", "T:C"): "verified", ("B:C", "T:C"): "phantom"}
    nodes = {"other": model("other", "source.p.s.A", "source.p.s.B")}
    project = said(manifest(nodes, sources=("A", "B")), tmp_path / "manifest.json")
    found = classes(compared(graph, capsys, given, project))
    assert found["B", "A"] == "undeclared"


def test_a_helper_that_a_contract_describes_is_seen_through(graph: Path, tmp_path: Path, capsys: Capsys) -> None:
    given = tmp_path / "c.yaml"
    given.write_text(
        f"{HEAD}schema:\n"
        "- {name: T__DBT_TMP, properties: [{name: C, transformSourceObjects: [D.S.A.C]}]}\n"
        "- {name: T, properties: [{name: C, transformSourceObjects: [D.S.T__DBT_TMP.C]}]}\n"
    )
    found = compared(graph, capsys, given)
    assert classes(found)["A:C", "T:C"] == "verified"
    assert not any("T__DBT_TMP" in one["source"]["name"] + one["target"]["name"] for one in found["edges"])


def test_a_filled_contract_conforms_and_has_nothing_undeclared(graph: Path, tmp_path: Path, capsys: Capsys) -> None:
    properties = (
        "  - name: C\n    logicalType: string\n"
        "  - name: D\n    logicalType: string\n    transformSourceObjects: [D.S.B.E]\n"
    )
    given = contract(tmp_path / "c.yaml", properties)
    compared(graph, capsys, given, "--out", tmp_path / "new.yaml")
    assert sources(tmp_path / "new.yaml") == {"C": ["D.S.A.C"], "D": ["D.S.B.E", "D.S.A.D"]}
    conforms(tmp_path / "new.yaml")
    found = compared(graph, capsys, tmp_path / "new.yaml", "--fail-on", "undeclared,phantom,unknown")
    assert found["counts"] == {"verified": 3, "undeclared": 0, "phantom": 0, "unknown": 0}
    again = compared(graph, capsys, tmp_path / "new.yaml", "--out", tmp_path / "again.yaml")
    assert (tmp_path / "again.yaml").read_bytes() == (tmp_path / "new.yaml").read_bytes()
    assert any("0 sources added to 0 of 2 properties" in note for note in again["notes"])


FORMS: Final = {
    "no key": "  - name: D # the key\n    x: 1 # more\n",
    "first of all": "  - name: D\n",
    "a block of text behind": "  - name: D\n    description: |\n      first\n\n      - second\n",
    "a list behind": "  - name: D\n    tags:\n    - a\n    # end\n",
    "transformLogic": "  - name: D\n    transformLogic: a + e\n    tags: []\n",
    "in one line": "  - {name: D, tags: [a, b]}\n",
    "in one line, with a comma": "  - {name: D,}\n",
    "in several lines": "  - {name: D,\n     tags: [a] # why\n    }\n",
    "null": "  - name: D\n    transformSourceObjects:\n    tags: []\n",
    "a null in a word": "  - name: D\n    transformSourceObjects: null # none\n",
    "empty": "  - name: D\n    transformSourceObjects: [ ]\n",
    "a block": "  - name: D\n    transformSourceObjects:\n    - D.S.A.D # first\n    # last\n    tags: []\n",
    "quoted": "  - name: 'D'\n    description: \"a: b # c\"\n",
    "a text over lines": "  - name: D\n    description: one\n      two\n      three\n",
    "no value": "  - name: D\n    description:\n",
    "anchors": "  - name: D\n    tags: &t [a]\n    customProperties: []\n  - name: C\n    tags: *t\n",
    "Windows": "  - name: D\r\n    tags: []\r\n",
    "letters": "  - name: D\n    description: Größe 量 🙂\n",
}


@pytest.mark.parametrize("form", FORMS)
def test_all_other_text_stays_as_it_is(form: str, graph: Path, tmp_path: Path, capsys: Capsys) -> None:
    given, new = contract(tmp_path / "c.yaml", FORMS[form]), tmp_path / "new.yaml"
    compared(graph, capsys, given, "--out", new)
    old, text = given.read_bytes().decode(), new.read_bytes().decode()
    assert sources(new)["D"] == ["D.S.A.D", "D.S.B.E"]
    without = yaml.safe_load(text)
    for document in (whole := yaml.safe_load(old)), without:
        for one in document["schema"][0]["properties"]:
            one.pop("transformSourceObjects", None)
    assert without == whole
    rest = iter(text)
    lost = [letter for letter in old.replace("null # none", " # none").replace("[ ]", "[]") if letter not in rest]
    assert lost == [], "what was there is there, in its order"
    assert ("\n" in text.replace("\r\n", "")) == ("\n" in old.replace("\r\n", ""))


@pytest.mark.parametrize("helper", [(), (thing(70, "T__DBT_TMP"),)], ids=["", "through a helper"])
def test_a_view_and_what_is_behind_it(helper: tuple[dict[str, Any], ...], tmp_path: Path, capsys: Capsys) -> None:
    """A table that is filled by way of a view: the contract may name the view, or what is behind it."""
    through = row("q1", 2, [VIEW], [A])
    written_by = helper[0] if helper else {"objectDomain": "Table", "objectId": 13, "objectName": "D.S.T"}
    direct = {"objectDomain": "View", "objectId": 30, "objectName": "D.S.V", "columnName": "VC"}
    base = {"objectDomain": "Table", "objectId": 10, "objectName": "D.S.A", "columnName": "C"}
    through["objects_modified"] = [
        {**written_by, "columns": [{"columnName": "C", "directSources": [direct], "baseSources": [base]}]}
    ]
    graph = made([through, *(filled("q2", 3, T, one, C=[(one, "C")]) for one in helper)], tmp_path)
    for listed, expected in (
        ("[]", {("V:VC", "T:C"): "undeclared"}),
        ("[V]", {("V", "T:C"): "verified"}),
        ("[D.S.A.C]", {("A:C", "T:C"): "verified"}),
    ):
        given = contract(tmp_path / "c.yaml", f"  - {{name: C, transformSourceObjects: {listed}}}\n")
        assert classes(compared(graph, capsys, given)) == expected


def test_a_source_that_has_another_name_now(tmp_path: Path, capsys: Capsys) -> None:
    """The table that was A is A2 now, and a new one is A: the output has the name that the filled contract gets."""
    rows = [
        filled("q1", 2, T, A, C=[(A, "C")]),
        ddl("q2", 3, A, "ALTER", objectName={"value": "D.S.A2"}),
        filled("q3", 4, T, thing(12, "A"), C=[(thing(12, "A"), "C")]),
    ]
    given = contract(tmp_path / "c.yaml", "  - {name: C, transformSourceObjects: [D.S.A.C]}\n")
    out = tmp_path / "filled.yaml"
    assert main(["reconcile", str(made(rows, tmp_path)), str(given), "--out", str(out)]) == 0
    lines = [line.split("  ") for line in capsys.readouterr().out.splitlines()]
    shown = {line[0]: {cell.strip() for cell in line} for line in lines}
    assert "D.S.A.C (now D.S.A2)" in shown["undeclared"]
    assert "D.S.A.C" in shown["verified"]
    assert sources(out) == {"C": ["D.S.A.C", "D.S.A2.C"]}


def test_a_contract_of_a_view(tmp_path: Path, capsys: Capsys) -> None:
    """What is behind its column is known where a query wrote a column from it alone (graph.md, CERTAIN)."""
    through = row("q1", 2, [thing(30, "V", "VC", domain="View")], [thing(10, "A", "C")])
    direct = {"objectDomain": "View", "objectId": 30, "objectName": "D.S.V", "columnName": "VC"}
    base = {"objectDomain": "Table", "objectId": 10, "objectName": "D.S.A", "columnName": "C"}
    columns = [{"columnName": "X", "directSources": [direct], "baseSources": [base]}]
    through["objects_modified"] = [{**T, "columns": columns}]
    again = {**through, "query_id": "q2", "query_start_time": "2026-03-05 08:00:00Z"}
    graph = made([through, again], tmp_path)
    given = contract(tmp_path / "c.yaml", "  - {name: VC}\n  - {name: OTHER}\n", name="V")
    found = compared(graph, capsys, given, "--out", tmp_path / "new.yaml")
    assert classes(found) == {("A:C", "V:VC"): "undeclared"}
    (edge,) = found["edges"]
    assert edge["by"] == "view"
    seen = [edge[name] for name in ("queries", "first", "first_query_id", "last")]
    assert seen == [1, "2026-03-02T08:00:00Z", "q1", "2026-03-05T08:00:00Z"], "docs/reconcile.md: the last one's time"
    assert sources(tmp_path / "new.yaml") == {"VC": ["D.S.A.C"], "OTHER": []}
    assert classes(compared(graph, capsys, tmp_path / "new.yaml")) == {("A:C", "V:VC"): "verified"}


def test_a_contract_beside_a_manifest(graph: Path, tmp_path: Path, capsys: Capsys) -> None:
    """The manifest says which tables fill the table, and the contract which columns fill its columns."""
    given = contract(tmp_path / "c.yaml", "  - name: C\n    transformSourceObjects: [D.S.A.C]\n")
    declared = said(manifest({"t": model("t", "source.p.s.a", "source.p.s.b")}, ("a", "b")), tmp_path / "m.json")
    assert classes(compared(graph, capsys, given, declared)) == {
        ("A:C", "T:C"): "verified",
        ("A", "T"): "verified",
        ("B", "T"): "verified",
        ("F", "T"): "undeclared",
    }


def test_objects_by_their_servers(graph: Path, tmp_path: Path, capsys: Capsys) -> None:
    two = (
        HEAD
        + "- {server: dev, type: snowflake, account: acme-prod, database: DEV, schema: S}\n- {server: k, type: kafka}\n"
    )
    given = contract(tmp_path / "c.yaml", "  - {name: C, transformSourceObjects: [A]}\n", two)
    assert main(["reconcile", str(graph), str(given)]) == 2
    assert "has several servers of Snowflake; give --server NAME: prod, dev" in capsys.readouterr().err
    assert classes(compared(graph, capsys, given, "--server", "prod")) == {("A", "T:C"): "verified"}
    found = compared(graph, capsys, given, "--server", "dev")
    assert classes(found) == {("DEV.S.A", "DEV.S.T:C"): "unknown no-row"}
    assert "DEV.S.T: nothing is known of its properties: DEV.S.T is in no row of the record." in found["notes"]
    for name, words in (("k", "is not of type snowflake"), ("x", "has no server x; it has prod, dev, k")):
        assert main(["reconcile", str(graph), str(given), "--server", name]) == 2
        assert words in capsys.readouterr().err
    whole = contract(tmp_path / "w.yaml", "  - {name: C, transformSourceObjects: [D.S.A]}\n", two, "d.s.t")
    assert classes(compared(graph, capsys, whole, "--server", "dev")) == {("A", "T:C"): "verified"}


def _unusable() -> Iterator[tuple[str, str, str]]:
    one = "schema:\n- name: T\n  properties:\n"
    yield "no YAML", f"{HEAD}a: [\n", "is no YAML"
    yield "a list", "- a\n", "is not a data contract"
    yield "another document", "version: 2\nmodels: []\n", "it has no line kind: DataContract"
    yield "an older specification", "dataContractSpecification: 1.1.0\n", "is of the Data Contract Specification"
    yield "version 2", HEAD.replace("v3.1.0", "v2.2.2"), "apiVersion is v2.2.2"
    yield "no schema", HEAD, "has no schema"
    yield "no name", f"{HEAD}{one}  - description: x\n", "line 11: a property has a name"
    yield "sources in a text", f"{HEAD}{one}  - {{name: C, transformSourceObjects: A}}\n", "is a list"
    yield "sources in mappings", f"{HEAD}{one}  - {{name: C, transformSourceObjects: [a: b]}}\n", "is a list of names"
    yield "merge keys", f"{HEAD}{one}  - <<: {{name: C}}\n", "merge keys (<<) are not read"
    yield "no database", f"{HEAD.replace('D, schema: S', '')}{one}  - name: C\n".replace("database: ", "x: 1"), "has no"
    yield "too deep", HEAD + "a: " + "[" * 20_000, "is nested too deep"
    yield "two documents", f"{HEAD}---\na: 1\n", "is no YAML"
    yield (
        "a character of terminals",
        f"{HEAD}x: \x1b[31m\n",
        f"line {HEAD.count(chr(10)) + 1}: is no YAML: it has the character U+001B",
    )
    yield "no text", "\udcff", "is not UTF-8"
    yield "a tag of Python", f"{HEAD}x: !!python/object/apply:os.system [id]\n", "has no schema"


UNUSABLE: Final = list(_unusable())


@pytest.mark.parametrize(("kind", "text", "words"), UNUSABLE, ids=[one[0] for one in UNUSABLE])
def test_what_cannot_be_used(kind: str, text: str, words: str, graph: Path, tmp_path: Path, capsys: Capsys) -> None:
    assert kind
    file = tmp_path / "c.yaml"
    file.write_bytes(text.encode("utf-8", "surrogateescape"))
    assert main(["reconcile", str(graph), str(file)]) == 2
    shown = capsys.readouterr()
    assert words in shown.err
    assert "c.yaml" in shown.err
    assert (shown.out, "Traceback" in shown.err) == ("", False)


def test_what_cannot_be_filled_is_not_damaged(graph: Path, tmp_path: Path, capsys: Capsys) -> None:
    shared = contract(tmp_path / "s.yaml", "  - &d {name: D}\n  - *d\n")
    declared = said(manifest({"t": model("t", "source.p.s.a")}, ("a",)), tmp_path / "m.json")
    explicit = contract(tmp_path / "e.yaml", "  - ? name\n    : D\n    ? tags\n    : [a]\n    ? x\n    : - 1\n")
    for given, words in (
        ([shared], "the property is an alias"),
        ([declared], "none of those given is one"),
        ([shared, shared], "2 of those given is one"),
        ([explicit], "does not allow to add"),
    ):
        assert main(["reconcile", str(graph), *map(str, given), "--out", str(tmp_path / "new.yaml")]) == 2
        assert words in capsys.readouterr().err
        assert not (tmp_path / "new.yaml").exists()


def test_the_example_conforms() -> None:
    conforms(EXAMPLE)


def test_the_declared_graph_of_a_contract_conforms(graph: Path, tmp_path: Path, capsys: Capsys) -> None:
    given = contract(tmp_path / "c.yaml", "  - {name: D, transformSourceObjects: [D.S.A.D, B]}\n")
    compared(graph, capsys, given, "--out", tmp_path / "d.ttl")
    assert main(["validate", str(tmp_path / "d.ttl")]) == 0
