"""Names, compared with the client's naming classes, Python's uuid, and cases written by hand."""

from __future__ import annotations

import json
from hashlib import sha1
from uuid import NAMESPACE_URL, UUID, uuid5

import pytest
from hypothesis import given
from hypothesis import strategies as st
from openlineage.client.naming import dataset as naming

from exporter.openlineage.naming import (
    RUN_NAMESPACE,
    Job,
    dataset_name,
    job_name,
    job_namespace,
    place,
    qualified,
    run_id,
)
from exporter.openlineage.settings import OpenLineageSettings
from exporter.queries.facts import Thing
from exporter.queries.identifiers import canonical_name


def test_the_namespace_of_run_ids_is_made_as_its_description_says() -> None:
    assert UUID(RUN_NAMESPACE) == uuid5(NAMESPACE_URL, "https://w3id.org/access-history/run")


@given(query_id=st.text(min_size=1, max_size=20))
def test_a_run_id_is_the_uuid_of_account_and_query_id(query_id: str) -> None:
    sound = query_id.encode("utf-8", "replace").decode()
    assert run_id("ORG-ACC", sound) == str(uuid5(UUID(RUN_NAMESPACE), f"ORG-ACC/{sound}"))


# --- datasets ---------------------------------------------------------------------------------------------------------


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
OWN = "snowflake://ORG-ACC"


def test_places_have_the_names_of_the_naming_page() -> None:
    found = [place(url, OWN) for url, _ in PLACES]
    assert found == [(one.get_namespace(), one.get_name()) for _, one in PLACES]


@pytest.mark.parametrize(
    ("url", "namespace", "name"),
    [
        ("s3://bucket", "s3://bucket", "/"),
        ("s3://bucket//a//", "s3://bucket", "/a"),
        ("S3://bucket/a", "s3://bucket", "a"),
        ("s3gov://bucket/a", "s3gov://bucket", "a"),
        ("azure://acc.blob.core.windows.net/box", "wasbs://box@acc.dfs.core.windows.net", "/"),
        ("AZURE://acc/box/p/", "wasbs://box@acc.dfs.core.windows.net", "p"),
        ("file://", "file", "/"),
        ("no url\nat all", OWN, "no url\nat all"),
        ("1s3://bucket/a", OWN, "1s3://bucket/a"),
        ("s3://b/a\nb", "s3://b", "a\nb"),
    ],
)
def test_locations_that_the_naming_page_does_not_describe(url: str, namespace: str, name: str) -> None:
    assert place(url, OWN) == (namespace, name)


def named(name: str | None, settings: OpenLineageSettings, **thing: str) -> tuple[str, str]:
    one = Thing(**{"kind": "table", "key": "table/1", **thing})
    return dataset_name(one, None if name is None else canonical_name(name), "ORG-ACC", settings)


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
        (None, {"key": "table/66564"}, "table/66564"),
    ],
)
def test_a_dataset_is_named_as_snowflake_spells_it(name: str | None, thing: dict[str, str], expected: str) -> None:
    assert named(name, OpenLineageSettings(), **thing) == (OWN, expected)


def test_an_object_of_another_account_is_in_that_accounts_namespace() -> None:
    assert named("DB.S.T", OpenLineageSettings(), account="OTHER") == ("snowflake://ORG-OTHER", "DB.S.T")


def test_letter_case_and_namespaces_can_be_those_of_another_producer() -> None:
    settings = OpenLineageSettings(letter_case="lower", namespaces={OWN: "snowflake://xy1.eu-west-1"})
    assert named('DB.S."Mixed""Case.X"', settings) == ("snowflake://xy1.eu-west-1", 'db.s."Mixed""Case.X"')
    assert named("DB.S.T", settings) == ("snowflake://xy1.eu-west-1", "db.s.t")
    assert named(None, settings, location="s3://b/P") == ("s3://b", "P")


@pytest.mark.parametrize(
    ("new", "expected"),
    [("T2", "DB.S.T2"), ("S2.T2", "DB.S2.T2"), ("D2.S2.T2", "D2.S2.T2"), ('"a.b"', 'DB.S."a.b"')],
)
def test_a_new_name_without_database_and_schema_keeps_those_of_the_old(new: str, expected: str) -> None:
    assert qualified(new, "DB.S.T") == expected
    assert qualified("D2.S2.T2", "S.T") == qualified("D2.S2.T2", "T") == "D2.S2.T2"
    assert qualified("T2", '"D.B"."S""1".T') == '"D.B"."S""1".T2'


# --- jobs -------------------------------------------------------------------------------------------------------------


A, B = ("snowflake://O-A", "D.S.A"), ("snowflake://O-A", "D.S.B")


@pytest.mark.parametrize(
    ("expected", "job"),
    [
        ("write D.S.B from D.S.A", Job(inputs=(A,), outputs=(B,))),
        ("create D.S.B", Job(verbs=("create",), outputs=(B,))),
        ("read D.S.A, D.S.B", Job(inputs=(A, B))),
        ("call D.S.P(X NUMBER)", Job(subjects=("D.S.P(X NUMBER)",))),
        ("drop masking policy D.S.M", Job(verbs=("drop",), subjects=("masking policy D.S.M",))),
        ("nightly: read D.S.A", Job(prefixes=("nightly",), inputs=(A,))),
        ("query 0f1e: a9: read D.S.A", Job(prefixes=("0f1e", "a9"), inputs=(A,))),
        ("query //x: read D.S.A", Job(prefixes=("//x",), inputs=(A,))),
        ("\u0663: statement", Job(prefixes=("\u0663",))),  # a digit, but none that Marquez takes for an address
        ("a b\x85: statement", Job(prefixes=("a\n\r\x1f\x7fb\x85",))),
        (f"{'é' * 60}: read {'x' * 120}", Job(prefixes=("é" * 61,), inputs=(("n", "x" * 121),))),
        ("read n, n, n +2", Job(inputs=(("x", "n"),) * 5)),
        ("statement", Job()),
    ],
)
def test_a_jobs_name_says_what_it_does(expected: str, job: Job) -> None:
    assert job_name(job).rsplit(" [", 1)[0] == expected


def test_jobs_of_different_sets_differ_even_where_their_names_look_alike() -> None:
    one, other = (("s3://a", "x"),), (("s3://b", "x"),)
    jobs = [Job(inputs=one), Job(inputs=other), Job(outputs=one), Job(inputs=one)]
    names = [job_name(job) for job in jobs]
    assert len(set(names)) == 3
    assert names[0] == names[3]


def test_a_hash_is_of_the_text_that_the_first_version_made() -> None:
    """Its JSON had no spaces, and the digits of escapes in capitals. A job that is hashed anew is another job."""
    job = Job(("a\x0b\x1b\x00\n\\u001b/é😀\x7f",), ("create",), (A,), (B,), ("p",))
    text = (
        r'{"prefixes":["a\u000B\u001B\u0000\n\\u001b/é😀' + '\x7f"],"verbs":["create"],'
        '"inputs":[{"namespace":"snowflake://O-A","name":"D.S.A"}],'
        '"outputs":[{"namespace":"snowflake://O-A","name":"D.S.B"}],"subjects":["p"]}'
    )
    assert job_name(job).endswith(f" [{sha1(text.encode()).hexdigest()[:10]}]")
    assert json.loads(text)["prefixes"] == list(job.prefixes)
    empty = '{"prefixes":[],"verbs":[],"inputs":[],"outputs":[],"subjects":[]}'
    assert job_name(Job()) == f"statement [{sha1(empty.encode()).hexdigest()[:10]}]"


def test_the_namespace_of_jobs_is_the_accounts_or_the_users() -> None:
    assert job_namespace("ORG-ACC", OpenLineageSettings()) == OWN
    assert job_namespace("ORG-ACC", OpenLineageSettings(job_namespace="jobs")) == "jobs"
