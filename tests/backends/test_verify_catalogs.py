"""``exporter push --verify`` with fake catalogs: what is taken away from a DataHub or an OpenMetadata after the push is
found and named, and nothing else. What has to be there is from the rows; :mod:`.catalogs` says what the fakes are
written from.
"""

from __future__ import annotations

import json
import pickle
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

import pytest

from exporter.backends import verify, verify_datahub, verify_openmetadata
from exporter.cli import main
from tests import exports, golden
from tests.backends import catalogs, hostile
from tests.backends.hostile import SPACE
from tests.marquez import rows

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

Json = dict[str, Any]
pytestmark = pytest.mark.usefixtures("alone")
TOKEN = "s3cr3t-T0ken"
MONTH = f"snowflake://{exports.ACCOUNT}"
PART = 2
"""One row of so many of the company's month: they have every kind of thing that a catalog can lose."""


class Read(NamedTuple):
    """``verified``: of the one backend, empty where there is none; ``missing``: kind and what; ``said``: all words."""

    code: int
    verified: Json
    missing: set[tuple[str, str]]
    said: str


def read_back(
    folder: Path, catalog: catalogs.Catalog, url: str, capsys: pytest.CaptureFixture[str], *options: str
) -> Read:
    """``exporter push DIR --verify --json``, with a token."""
    capsys.readouterr()
    auth = {"type": "api_key", "apiKey": TOKEN}
    transport = {"type": "http", "url": url, "endpoint": catalog.endpoint, "auth": auth}
    settings = folder.parent / "openlineage.json"
    settings.write_text(json.dumps({"transport": transport}))
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("OPENLINEAGE_CONFIG", str(settings))
        code = main(["push", str(folder), "--verify", "--json", *(options or ("--patience", "0"))])
    printed = capsys.readouterr()
    (verified,) = json.loads(printed.out)["verified"] if printed.out else [{}]
    missing = {(one["kind"], one["what"]) for one in verified.get("listed", [])}
    return Read(code, verified, missing, printed.out + printed.err)


@pytest.fixture(scope="module")
def company(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, rows.Lineage]:
    """The month of the company, as events and as its rows say."""
    where, example = tmp_path_factory.mktemp("company"), golden.EXAMPLES / "company-month"
    told = (example / "access_history.ndjson").read_text("utf-8").splitlines()[::PART]
    given = exports.ndjson(map(json.loads, told), where / "rows.ndjson")
    options = ["--query-history", str(example / "query_history.csv"), "--account", exports.ACCOUNT]
    assert exports.export([str(given)], where / "out", *options, "--outputs", "events") == 0
    lineage = rows.read(map(json.loads, told), exports.ACCOUNT)
    return where / "out", lineage


# --- DataHub ----------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def pushed_hub() -> Iterator[tuple[catalogs.DataHub, str]]:
    """A DataHub that has the month, under names with an instance and in another environment than the default."""
    hub = catalogs.DataHub("acme", "DEV")
    with catalogs.started(hub) as url:
        yield hub, url


@pytest.fixture
def hub(
    company: tuple[Path, rows.Lineage], pushed_hub: tuple[catalogs.DataHub, str], capsys: pytest.CaptureFixture[str]
) -> Iterator[tuple[catalogs.DataHub, str]]:
    """It has everything; what a test takes away is there again for the next one."""
    if not pushed_hub[0].aspects:
        read = read_back(company[0], *pushed_hub, capsys)
        assert (read.code, read.missing) == (0, set())
    whole = pickle.dumps(pushed_hub[0].aspects)
    yield pushed_hub
    pushed_hub[0].aspects = pickle.loads(whole)


def test_a_datahub_that_has_everything(
    company: tuple[Path, rows.Lineage], hub: tuple[catalogs.DataHub, str], capsys: pytest.CaptureFixture[str]
) -> None:
    folder, lineage = company
    read = read_back(folder, *hub, capsys)
    assert (read.code, read.missing) == (0, set())
    found = read.verified["found"]
    assert found == read.verified["looked_at"]
    assert found["runs"] == len(lineage.statements) == read.verified["sent"]["runs"]
    told = {name for one in lineage.statements.values() for name in [*one.inputs, *one.outputs]}
    unchecked = read.verified["not_checked"]
    assert found["datasets"] == len(told) - unchecked.get(verify_datahub.DROPPED, 0)
    columns = {edge for one in lineage.statements.values() for edge in one.columns}
    assert found["column edges"] >= len(columns) > 50
    assert set(hub[0].heard) == {f"Bearer {TOKEN}"}


Taken = tuple[str, str, "Callable[[], Any]"]


def of_datahub(hub: catalogs.DataHub) -> Iterator[Taken]:
    """Everything that can be taken away alone: its kind, how it is named, and how to take it away."""
    for urn, aspects in hub.aspects.items():
        kind = urn.split(":")[2]
        if kind == "dataProcessInstance":
            run = urn.rpartition(":")[2]
            yield "runs", run, partial(aspects.pop, "dataProcessInstanceRunEvent")
        elif kind == "dataset" and "schemaMetadata" in aspects:
            fields = aspects["schemaMetadata"]["fields"]
            for one in fields:
                what = f"{plain(urn)} {one['fieldPath']}"
                yield "columns", what, partial(fields.remove, one)
        elif kind == "dataJob":
            yield from of_data_job(urn, aspects["dataJobInputOutput"])


def of_data_job(urn: str, ends: Json) -> Iterator[Taken]:
    job = f"{MONTH} {urn.partition(MONTH + '),')[2].removesuffix(')')}"
    for side in ("input", "output"):
        edges = ends[f"{side}DatasetEdges"]
        for edge in edges:
            dataset = plain(edge["destinationUrn"])
            what = f"{dataset} -> {job}" if side == "input" else f"{job} -> {dataset}"
            yield "job edges", what, partial(edges.remove, edge)
    for told in ends["fineGrainedLineages"]:
        for source in told["upstreams"]:
            what = " -> ".join(map(plain_column, (source, *told["downstreams"])))
            yield "column edges", what, partial(told["upstreams"].remove, source)


def plain(urn: str) -> str:
    name = urn.split(",")[1].removeprefix("acme.")
    return f"s3://{name.replace('/', ' ', 1)}" if "dataPlatform:s3," in urn else f"{MONTH} {name}"


def plain_column(urn: str) -> str:
    dataset, _, column = urn.removeprefix("urn:li:schemaField:(").removesuffix(")").rpartition(",")
    return f"{plain(dataset)} {column}"


@pytest.mark.parametrize("kind", ["column edges", "columns", "job edges", "runs"])
@pytest.mark.parametrize("part", [0.0, 0.99])
def test_one_thing_that_a_datahub_lost_is_named_alone(
    kind: str,
    part: float,
    company: tuple[Path, rows.Lineage],
    hub: tuple[catalogs.DataHub, str],
    capsys: pytest.CaptureFixture[str],
) -> None:
    every = [one for one in of_datahub(hub[0]) if one[0] == kind]
    _, what, take = every[int(part * len(every))]
    take()
    read = read_back(company[0], *hub, capsys)
    assert (read.code, read.missing) == (1, {(kind, what)})
    assert read.verified["missing"] == {one: int(one == kind) for one in verify.ALL_KINDS}


@pytest.mark.parametrize("entity", ["dataset", "dataJob", "dataProcessInstance"])
def test_an_entity_that_a_datahub_lost_is_named(
    entity: str,
    company: tuple[Path, rows.Lineage],
    hub: tuple[catalogs.DataHub, str],
    capsys: pytest.CaptureFixture[str],
) -> None:
    urn = next(
        one
        for one, has in hub[0].aspects.items()
        if f"li:{entity}:" in one and (entity != "dataset" or has.get("schemaMetadata"))
    )
    gone = hub[0].aspects.pop(urn)
    read = read_back(company[0], *hub, capsys)
    assert read.code == 1
    if entity == "dataset":
        columns = {("columns", f"{plain(urn)} {one['fieldPath']}") for one in gone["schemaMetadata"]["fields"]}
        assert read.missing == {("datasets", plain(urn)), *columns}
    elif entity == "dataJob":
        assert read.missing >= {(kind, what) for kind, what, _ in of_data_job(urn, gone["dataJobInputOutput"])}
        assert ("jobs", f"{MONTH} {urn.partition(MONTH + '),')[2].removesuffix(')')}") in read.missing
    else:
        assert ("runs", urn.rpartition(":")[2]) in read.missing


@pytest.fixture
def few(tmp_path: Path) -> Path:
    told = [*hostile.run("q", 1, reads=["D.S.A"], writes=["D.S.B"]), *hostile.run("r", 2, reads=["D.S.B"], writes=[])]
    return hostile.folder(tmp_path / "out", told)


def test_a_datahub_that_is_still_at_work_is_waited_for(
    few: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(verify, "AGAIN", 0.02)
    hub = catalogs.DataHub(lag=40)
    with catalogs.started(hub) as url:
        read = read_back(few, hub, url, capsys, "--patience", "0")
        assert read.code == 1
        assert read.verified["found"]["runs"] == 0
        read = read_back(few, hub, url, capsys, "--patience", "30")
        assert (read.code, read.missing) == (0, set())
        assert read.verified["found"]["runs"] == 2


def test_a_run_with_another_result_and_a_dataset_that_was_removed(
    few: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    hub = catalogs.DataHub()
    with catalogs.started(hub) as url:
        assert read_back(few, hub, url, capsys).code == 0
        run = hostile.run_id("q")
        hub.aspects[f"urn:li:dataProcessInstance:{run}"]["dataProcessInstanceRunEvent"]["result"]["type"] = "FAILURE"
        hub.aspects[hub.urn({"namespace": SPACE, "name": "d.s.b"})]["status"]["removed"] = True
        read = read_back(few, hub, url, capsys)
    assert (read.code, read.missing) == (1, {("runs", run), ("datasets", f"{SPACE} d.s.b")})
    assert "its state is FAILURE and not SUCCESS" in read.said
    assert "it is shown as removed" in read.said


def test_a_job_that_has_begun_again_has_no_edges_until_it_ends(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    told = hostile.run("q", 1, reads=["D.S.A"], writes=["D.S.B"], job="one")
    told += hostile.run("r", 2, reads=["D.S.A"], writes=["D.S.B"], job="one")[:1]
    hub = catalogs.DataHub()
    with catalogs.started(hub) as url:
        read = read_back(hostile.folder(tmp_path / "out", told), hub, url, capsys)
    assert (read.code, read.missing) == (0, set())
    assert read.verified["known"] == {verify_datahub.OPEN: 1}
    assert read.verified["looked_at"]["job edges"] == 0


def test_a_file_and_a_file_with_a_longer_path_are_not_taken_for_each_other(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    told = hostile.run("q", 1, reads=["t.csv", "x/t.csv"], writes=["D.S.B"])
    text = json.dumps(told)
    for name in ("t.csv", "x/t.csv"):
        text = text.replace(f'"namespace": "{SPACE}", "name": "{name}"', f'"namespace": "s3://b", "name": "{name}"')
    hub = catalogs.DataHub()
    with catalogs.started(hub) as url:
        folder = hostile.folder(tmp_path / "out", json.loads(text))
        assert read_back(folder, hub, url, capsys).code == 0
        (job,) = (one for urn, one in hub.aspects.items() if urn.startswith("urn:li:dataJob:"))
        edges = job["dataJobInputOutput"]["inputDatasetEdges"]
        edges[:] = [edge for edge in edges if "b/x/t.csv" in edge["destinationUrn"]]
        read = read_back(folder, hub, url, capsys)
    assert read.code == 1
    assert [what.partition(" -> ")[0] for _, what in read.missing] == ["s3://b t.csv"]


def test_a_datahub_without_the_api_is_not_said_to_have_lost_anything(
    few: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    hub = catalogs.DataHub()
    answer = hub.answer
    with catalogs.started(hub) as url:
        monkeypatch.setattr(hub, "answer", lambda m, path, a, b: (404, {}) if "v3" in path else answer(m, path, a, b))
        read = read_back(few, hub, url, capsys)
    assert (read.code, read.missing) == (3, set())
    assert "no API /openapi/v3/entity" in read.verified["stopped"]


# --- OpenMetadata -----------------------------------------------------------------------------------------------------


def catalog_of(lineage: rows.Lineage, *services: str, mapping: dict[str, str] | None = None) -> catalogs.OpenMetadata:
    """An OpenMetadata whose connector has read the tables of the month into its first service."""
    catalog = catalogs.OpenMetadata(services, mapping)
    for (space, name), columns in lineage.fields.items():
        if space == MONTH:
            catalog.add_table(f"{services[0]}.{name}", sorted(columns))
    return catalog


@pytest.mark.parametrize("is_admin", [True, False])
def test_an_openmetadata_that_has_everything(
    company: tuple[Path, rows.Lineage], tmp_path: Path, capsys: pytest.CaptureFixture[str], *, is_admin: bool
) -> None:
    lineage = company[1]
    catalog = catalog_of(lineage, "prod", "spare", mapping={MONTH: "prod"} if is_admin else None)
    catalog.is_admin = is_admin
    with catalogs.started(catalog) as url:
        read = read_back(copied(company[0], tmp_path), catalog, url, capsys)
    assert (read.code, read.missing) == (0, set())
    found, both = read.verified["found"], [one for one in lineage.statements.values() if one.inputs and one.outputs]
    assert found == read.verified["looked_at"]
    tables = {(source, target) for one in both for source in one.inputs for target in one.outputs}
    assert found["table edges"] == len({pair for pair in tables if {end[0] for end in pair} == {MONTH}})
    columns = {edge for one in both for edge in one.columns}
    assert found["column edges"] + read.verified["known"].get(verify_openmetadata.LAST, 0) <= len(columns)
    assert found["column edges"] > 50
    unchecked = read.verified["not_checked"]
    assert unchecked[verify_openmetadata.RUNS] == len(both) == read.verified["sent"]["runs"]
    assert unchecked[verify_openmetadata.JOBS] == read.verified["sent"]["jobs"]
    assert set(catalog.heard) == {f"Bearer {TOKEN}"}


def copied(folder: Path, where: Path) -> Path:
    """The export, not pushed yet."""
    (where / "out").mkdir()
    (where / "out" / "events").symlink_to(folder / "events")
    return where / "out"


@pytest.mark.parametrize("part", [0.0, 0.5, 0.99])
def test_one_edge_that_an_openmetadata_lost_is_named(
    part: float, company: tuple[Path, rows.Lineage], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    catalog = catalog_of(company[1], "prod", mapping={MONTH: "prod"})
    with catalogs.started(catalog) as url:
        folder = copied(company[0], tmp_path)
        assert read_back(folder, catalog, url, capsys).code == 0
        told = [(ends, one) for ends, one in catalog.edges.items() if one["columnsLineage"]]
        (source, target), details = told[int(part * len(told))]
        lost = details["columnsLineage"][0]
        start = lost["fromColumns"].pop()
        read = read_back(folder, catalog, url, capsys)
        what = f"{om(source, start)} -> {om(target, lost['toColumn'])}"
        assert (read.code, read.missing) == (1, {("column edges", what)})
        lost["fromColumns"].append(start)
        del catalog.edges[source, target]
        read = read_back(folder, catalog, url, capsys)
    edges = {("table edges", f"{om(source)} -> {om(target)}")}
    edges |= {
        ("column edges", f"{om(source, start)} -> {om(target, one['toColumn'])}")
        for one in details["columnsLineage"]
        for start in one["fromColumns"]
    }
    assert (read.code, read.missing) == (1, edges)
    assert TOKEN not in read.said


def om(table: str, column: str | None = None) -> str:
    name = f"{MONTH} {table.removeprefix('prod.')}"
    return f"{name} {column.rpartition('.')[2]}" if column else name


def test_a_version_that_looks_elsewhere_for_column_lineage_keeps_none_and_each_is_named(
    company: tuple[Path, rows.Lineage], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    catalog = catalog_of(company[1], "prod", mapping={MONTH: "prod"})
    catalog.facets_read = ("outputFacets",)
    with catalogs.started(catalog) as url:
        read = read_back(copied(company[0], tmp_path), catalog, url, capsys)
    assert read.code == 1
    assert read.verified["missing"]["column edges"] == read.verified["looked_at"]["column edges"] > 50
    assert {kind for kind, _ in read.missing} == {"column edges"}


@pytest.fixture
def three(tmp_path: Path) -> Path:
    """Two runs from A to B, of which only the first tells of columns, and one from a file to B."""
    schema = {"schema": {"fields": [{"name": "A", "type": "UNKNOWN"}]}}
    told = hostile.run("q", 1, reads=["D.S.A"], writes=["D.S.B"], job="first")
    told += hostile.run("r", 2, reads=["D.S.A"], writes=["D.S.B"], job="second")
    told += hostile.run("s", 3, reads=["t.csv"], writes=["D.S.B"], job="third")
    told[1]["inputs"][0]["facets"] = told[1]["outputs"][0]["facets"]["schema"] = schema["schema"]
    told[1]["inputs"][0]["facets"] = schema
    told[3]["outputs"][0]["facets"] = schema
    text = json.dumps(told).replace(
        f'"namespace": "{SPACE}", "name": "t.csv"', '"namespace": "s3://b", "name": "t.csv"'
    )
    return hostile.folder(tmp_path / "out", json.loads(text))


def small(*services: str) -> catalogs.OpenMetadata:
    catalog = catalogs.OpenMetadata(services or ("prod",), {SPACE: "prod"})
    for name in ("A", "B"):
        catalog.add_table(f"prod.D.S.{name}", ["A"])
    return catalog


def test_what_an_openmetadata_is_known_not_to_keep_and_cannot_show_is_counted_apart(
    three: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    catalog = small()
    with catalogs.started(catalog) as url:
        read = read_back(three, catalog, url, capsys)
    assert (read.code, read.missing) == (0, set())
    assert read.verified["known"] == {verify_openmetadata.LAST: 1}
    assert read.verified["not_checked"][verify_openmetadata.FILES] == 3
    assert read.verified["found"] == {"datasets": 2, "columns": 2, "column edges": 0, "table edges": 1}


def test_a_table_without_the_column_gets_no_edge_and_both_edges_are_named(
    few: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The server checks the columns of an edge, and takes none of an edge where one is unknown."""
    catalog = small()
    catalog.tables["prod.D.S.B"] = ["Z"]
    with catalogs.started(catalog) as url:
        read = read_back(few, catalog, url, capsys)
    assert read.code == 1
    assert read.missing == {
        ("table edges", f"{SPACE} D.S.A -> {SPACE} D.S.B"),
        ("column edges", f"{SPACE} D.S.A A -> {SPACE} D.S.B A"),
    }


def test_a_table_that_is_in_another_service_than_the_namespace_is_mapped_to(
    few: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    catalog = small("prod", "spare")
    catalog.tables = {name.replace("prod.", "spare."): columns for name, columns in catalog.tables.items()}
    with catalogs.started(catalog) as url:
        read = read_back(few, catalog, url, capsys)
    assert read.code == 1
    assert {("datasets", f"{SPACE} D.S.A"), ("datasets", f"{SPACE} D.S.B")} < read.missing
    assert "prod.D.S.A: it is not there" in read.said


def test_a_person_reads_what_was_not_checked(few: Path, capsys: pytest.CaptureFixture[str]) -> None:
    catalog = small()
    with catalogs.started(catalog) as url:
        assert read_back(few, catalog, url, capsys).code == 0
        with pytest.MonkeyPatch.context() as patch:
            patch.setenv("OPENLINEAGE_CONFIG", str(few.parent / "openlineage.json"))
            assert main(["push", str(few), "--verify"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert f"  1 not checked: {verify_openmetadata.RUNS}" in lines
    assert f"  1 not checked: {verify_openmetadata.JOBS}" in lines


@pytest.mark.parametrize("status", [401, 404])
def test_an_openmetadata_that_cannot_be_read(
    status: int, few: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    catalog = small()
    answer = catalog.answer
    with catalogs.started(catalog) as url:
        monkeypatch.setattr(
            catalog, "answer", lambda m, p, a, b: answer(m, p, a, b) if m == "POST" else (status, {"message": TOKEN})
        )
        read = read_back(few, catalog, url, capsys)
    assert (read.code, read.missing) == (3, set())
    assert read.verified["stopped"]
    assert TOKEN not in read.said
