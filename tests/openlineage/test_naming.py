"""Names: against the client's own naming classes, Python's uuid, and cases by hand."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any
from uuid import NAMESPACE_URL, UUID, uuid5

import pytest
from hypothesis import given
from hypothesis import strategies as st
from openlineage.client.naming import dataset as naming

from exporter.facts.identifiers import canonical_name
from exporter.openlineage.naming import RUN_NAMESPACE, dataset, job, job_name, location, qualified, run_id
from exporter.openlineage.settings import OpenLineageSettings
from exporter.openlineage.sql import json_text
from exporter.sql import let, literal

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

THING = "kind string, object_key string, object_account string, location string"


def texts(spark: SparkSession, values: list[Any], expression: str, schema: str = "v string") -> list[Any]:
    rows = spark.createDataFrame([(value,) for value in values], schema)
    return [row.answer for row in rows.selectExpr("v", f"{expression} AS answer").collect()]


def test_the_namespace_of_run_ids_is_made_as_its_description_says() -> None:
    assert UUID(RUN_NAMESPACE) == uuid5(NAMESPACE_URL, "https://w3id.org/access-history/run")


@given(query_ids=st.lists(st.text(min_size=1, max_size=20).filter(lambda text: text.isprintable()), min_size=1))
def test_a_run_id_is_the_uuid_of_account_and_query_id(spark: SparkSession, query_ids: list[str]) -> None:
    rows = spark.createDataFrame([("ORG-ACC", one) for one in query_ids], "account string, q string")
    found = [row.id for row in rows.selectExpr(f"{run_id('q')} AS id").collect()]
    assert found == [str(uuid5(UUID(RUN_NAMESPACE), f"ORG-ACC/{one}")) for one in query_ids]


PLACES = [
    ("s3://bucket/a/b.csv", naming.S3("bucket", "a/b.csv")),
    ("s3://bucket/a b/ü%20/", naming.S3("bucket", "a b/ü%20")),
    ("gcs://bucket/a.csv", naming.GCS("bucket", "a.csv")),
    ("gs://bucket/a.csv", naming.GCS("bucket", "a.csv")),
    ("azure://acc.blob.core.windows.net/box/a/b", naming.WASBS("box", "acc", "a/b")),
    ("file:///tmp/data/a.csv", naming.LocalFileSystem("/tmp/data/a.csv")),
    ("file:///tmp/data/", naming.LocalFileSystem("/tmp/data")),
    ("file://host/share/a.csv", naming.RemoteFileSystem("host", "/share/a.csv")),
    (r"file://C:\data\a.csv", naming.LocalFileSystem(r"C:\data\a.csv")),
]


def test_places_have_the_names_of_the_naming_page(spark: SparkSession) -> None:
    found = texts(spark, [url for url, _ in PLACES], location("v", "'snowflake://ORG-ACC'"))
    assert [tuple(one) for one in found] == [(one.get_namespace(), one.get_name()) for _, one in PLACES]


@pytest.mark.parametrize(
    ("url", "namespace", "name"),
    [
        ("s3://bucket", "s3://bucket", "/"),
        ("s3gov://bucket/a", "s3gov://bucket", "a"),
        ("azure://acc.blob.core.windows.net/box", "wasbs://box@acc.dfs.core.windows.net", "/"),
        ("no url\nat all", "snowflake://ORG-ACC", "no url\nat all"),
    ],
)
def test_places_that_the_naming_page_does_not_tell_of(spark: SparkSession, url: str, namespace: str, name: str) -> None:
    assert texts(spark, [url], location("v", "'snowflake://ORG-ACC'")) == [(namespace, name)]


def named(spark: SparkSession, name: str | None, settings: OpenLineageSettings, **thing: str) -> tuple[str, str]:
    values = {"kind": "table", "object_key": "table/1", "object_account": None, "location": None, **thing}
    rows = spark.createDataFrame(
        [("ORG-ACC", name, tuple(values.values()))], f"account string, n string, t struct<{THING}>"
    )
    spelled = rows.selectExpr("*", f"{canonical_name('n')} AS c")
    found = spelled.selectExpr(f"{dataset('t', 't.object_account', 'c', settings)} AS d").first()
    assert found is not None
    return tuple(found.d)


@pytest.mark.parametrize(
    ("name", "thing", "expected"),
    [
        ("db.s.t", {}, "DB.S.T"),
        ('DB.S."my.table"', {}, 'DB.S."my.table"'),
        ('DB.S."T"', {}, "DB.S.T"),
        ("DB.S.T", {"kind": "table-stage"}, "DB.S.%T"),
        ('DB.S."a.b"', {"kind": "table-stage"}, 'DB.S.%"a.b"'),
        ("JSMITH", {"kind": "user-stage"}, "~JSMITH"),
        ("DB.S.ST", {"kind": "stage", "location": "s3://b/p"}, "DB.S.ST"),
        (None, {"object_key": "table/66564"}, "table/66564"),
    ],
)
def test_a_dataset_is_named_as_snowflake_spells_it(
    spark: SparkSession, name: str | None, thing: dict[str, str], expected: str
) -> None:
    assert named(spark, name, OpenLineageSettings(), **thing) == ("snowflake://ORG-ACC", expected)


def test_an_object_of_another_account_is_in_that_accounts_namespace(spark: SparkSession) -> None:
    found = named(spark, "DB.S.T", OpenLineageSettings(), object_account="OTHER")
    assert found == ("snowflake://ORG-OTHER", "DB.S.T")


def test_letter_case_and_namespaces_can_be_those_of_another_producer(spark: SparkSession) -> None:
    settings = OpenLineageSettings(letter_case="lower", namespaces={"snowflake://ORG-ACC": "snowflake://xy1.eu-west-1"})
    assert named(spark, 'DB.S."Mixed""Case.X"', settings) == ("snowflake://xy1.eu-west-1", 'db.s."Mixed""Case.X"')
    assert named(spark, None, settings, location="s3://b/P") == ("s3://b", "P")


def test_a_new_name_without_database_and_schema_keeps_those_of_the_old(spark: SparkSession) -> None:
    new = ["T2", "S2.T2", "D2.S2.T2", '"a.b"']
    expected = ["DB.S.T2", "DB.S2.T2", "D2.S2.T2", 'DB.S."a.b"']
    assert texts(spark, new, qualified("v", "'DB.S.T'")) == expected


@given(names=st.lists(st.text(max_size=15), min_size=1, max_size=20))
def test_a_text_is_the_json_that_json_says(spark: SparkSession, names: list[str]) -> None:
    import json  # noqa: PLC0415 - beside what it is compared with

    told = [name.encode("utf-8", "replace").decode() for name in names]
    found = texts(spark, told, json_text("v"))
    assert [json.loads(one) for one in found] == told


def jobs(spark: SparkSession, **sets: list[Any]) -> str:
    pair = "struct<namespace: string, name: string>"
    kinds = {"prefixes": "string", "verbs": "string", "inputs": pair, "outputs": pair, "subjects": "string"}
    values = tuple(sets.get(name, []) for name in kinds)
    rows = spark.createDataFrame([values], ", ".join(f"{name} array<{kind}>" for name, kind in kinds.items()))
    found = rows.selectExpr(f"{let('job', job(*kinds), job_name('job'))} AS name").first()
    assert found is not None
    return str(found.name)


def test_a_jobs_name_tells_what_it_does(spark: SparkSession) -> None:
    a, b = ("snowflake://O-A", "D.S.A"), ("snowflake://O-A", "D.S.B")
    cases = {
        "write D.S.B from D.S.A": {"inputs": [a], "outputs": [b]},
        "create D.S.B": {"verbs": ["create"], "outputs": [b]},
        "read D.S.A, D.S.B": {"inputs": [a, b]},
        "call D.S.P(X NUMBER)": {"subjects": ["D.S.P(X NUMBER)"]},
        "drop masking policy D.S.M": {"verbs": ["drop"], "subjects": ["masking policy D.S.M"]},
        "nightly: read D.S.A": {"prefixes": ["nightly"], "inputs": [a]},
        "query 0f1e: a9: read D.S.A": {"prefixes": ["0f1e", "a9"], "inputs": [a]},
        "query //x: read D.S.A": {"prefixes": ["//x"], "inputs": [a]},
        "read n, n, n +2": {"inputs": [("x", "n")] * 5},
        "statement": {},
    }
    assert [jobs(spark, **case).rsplit(" [", 1)[0] for case in cases.values()] == list(cases)


def test_jobs_of_different_sets_differ_even_where_their_names_look_alike(spark: SparkSession) -> None:
    one, other = [("s3://a", "x")], [("s3://b", "x")]
    names = [jobs(spark, inputs=one), jobs(spark, inputs=other), jobs(spark, outputs=one), jobs(spark, inputs=one)]
    assert len(set(names)) == 3
    assert names[0] == names[3]


def test_a_literal_is_the_text_itself(spark: SparkSession) -> None:
    hard = 'it\'s \\ "quoted" \n ü %1'
    found = spark.range(1).selectExpr(f"{literal(hard)} AS t").first()
    assert found is not None
    assert found.t == hard
