"""Names, compared with the client's naming classes, Python's uuid, and cases written by hand."""

from __future__ import annotations

import json
import re
from hashlib import sha1
from typing import Final
from uuid import NAMESPACE_URL, UUID, uuid5

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace
from openlineage.client.naming import dataset as naming

from exporter.model.facts import ObjectReference
from exporter.model.identifiers import canonical_name
from exporter.openlineage.naming import (
    RUN_NAMESPACE,
    Job,
    dataset_name,
    external_dataset,
    job_description,
    job_name,
    job_namespace,
    qualified,
    run_id,
)
from exporter.openlineage.settings import OpenLineageSettings


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
    found = [external_dataset(url, OWN) for url, _ in PLACES]
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
    assert external_dataset(url, OWN) == (namespace, name)


def named(name: str | None, settings: OpenLineageSettings, **thing: str) -> tuple[str, str]:
    one = ObjectReference(**{"kind": "table", "key": "table/1", **thing})
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
        ('"jane.doe@example.com"', {"kind": "user-stage"}, "~jane.doe@example.com"),
        ('"o""neil"', {"kind": "user-stage"}, '~o"neil'),
        ("DB.S.ST", {"kind": "stage", "location": "s3://b/p"}, "DB.S.ST"),
        (None, {"key": "table/66564"}, "table/66564"),
        (None, {"kind": "stage", "key": "stage/5", "location": "s3://b/p"}, "stage/5"),
        (None, {"kind": "location", "key": "location/name/D.S.T", "location": "s3://b/p"}, "location/name/D.S.T"),
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
    assert named("JSMITH", settings, kind="user-stage")[1] == "~JSMITH", "jsmith is another user"
    assert named(None, settings, key="location/s3%3A%2F%2Fb%2FP") == ("s3://b", "P")


@pytest.mark.parametrize(
    ("new", "expected"),
    [("T2", "DB.S.T2"), ("S2.T2", "DB.S2.T2"), ("D2.S2.T2", "D2.S2.T2"), ('"a.b"', 'DB.S."a.b"')],
)
def test_a_new_name_without_database_and_schema_keeps_those_of_the_old(new: str, expected: str) -> None:
    assert qualified(new, "DB.S.T") == expected
    assert qualified("D2.S2.T2", "S.T") == qualified("D2.S2.T2", "T") == "D2.S2.T2"
    assert qualified("T2", '"D.B"."S""1".T') == '"D.B"."S""1".T2'


# --- jobs -------------------------------------------------------------------------------------------------------------


HOME: Final = "snowflake://O-A"
A, B, C = ((HOME, f"D.S.{name}") for name in "ABC")
RAW, STAGED = (HOME, "RAW.SHOP.ORDERS"), (HOME, "D.STAGE.ORDERS")
THERE, FILE, ODD = ("snowflake://O-B", "D.S.A"), ("s3://b", "x:1//y"), (HOME, 'D.S."a:1"')


@pytest.mark.parametrize(
    ("expected", "job"),
    [
        ("write D.S.B from A", Job(inputs=(A,), outputs=(B,))),
        ("write D.S.B from STAGE.ORDERS", Job(inputs=(STAGED,), outputs=(B,))),
        ("write D.S.B from RAW.SHOP.ORDERS", Job(inputs=(RAW,), outputs=(B,))),
        ("write D.S.B from B", Job(inputs=(B,), outputs=(B,))),
        ("write D.S.A", Job(outputs=(A,))),
        ("read D.S.A", Job(inputs=(A,))),
        ("create D.S.B from A", Job(verbs=("create",), inputs=(A,), outputs=(B,))),
        ("rename D.S.B to A", Job(verbs=("rename",), outputs=(A, B), renamed=B)),
        ("swap D.S.A with B", Job(verbs=("swap",), outputs=(A, B))),
        ("call D.S.P(X NUMBER)", Job(subjects=("D.S.P(X NUMBER)",))),
        ("drop masking policy D.S.M", Job(verbs=("drop",), subjects=("masking policy D.S.M",))),
        ("statement", Job()),
    ],
)
def test_a_jobs_name_says_what_it_does(expected: str, job: Job) -> None:
    assert job_name(job, HOME) == expected


@pytest.mark.parametrize(
    ("expected", "job"),
    [
        ("write D.S.C from A + 1", Job(inputs=(A, B), outputs=(C,))),
        ("write D.S.A from B + 2", Job(inputs=(A, B, C), outputs=(A,))),
        ("write D.S.B + 1 from A", Job(inputs=(A,), outputs=(B, C))),
        ("read D.S.A + 1", Job(inputs=(A, B))),
        ("read D.S.A", Job(inputs=(THERE,))),
        ("read D.S.A", Job(inputs=(A,), subjects=("D.S.F(X)",))),
        ("read D.S.A (nightly; a9)", Job(("nightly", "a9"), inputs=(A,))),
        ("alter D.S.A", Job(verbs=("alter", "create"), outputs=(A,))),
        ("swap D.S.A with A", Job(verbs=("swap",), outputs=(A, THERE))),
        ("swap D.S.A + 2", Job(verbs=("swap",), outputs=(A, B, C))),
        ("write D.S.A", Job(verbs=("write",), outputs=(A,))),
        ("drop D.S.A", Job(verbs=("drop",), subjects=("D.S.A",))),
        ("call F + 2", Job(subjects=("F", "G", "H"))),
        ('read D.S."a: 1"', Job(inputs=(ODD,))),
        ("read x: 1//y", Job(inputs=(FILE,))),
        ("statement (a b\x85)", Job(("a\n\r\x1f\x7fb\x85",))),
        (f"read {'x' * 79}… ({'é' * 60})", Job(("é" * 61,), inputs=((HOME, "x" * 81),))),
    ],
)
def test_a_hash_follows_where_the_name_does_not_say_all(expected: str, job: Job) -> None:
    before, _, digits = job_name(job, HOME).rpartition(" [")
    assert before == expected
    assert re.fullmatch(r"[0-9a-f]{10}\]", digits)
    assert job_name(Job(inputs=(A,)), None).startswith("read D.S.A [")


SPACES: Final = st.sampled_from([HOME, "snowflake://O-B", "s3://b"])
NAMES: Final = st.sampled_from(
    ["D.S.A", "D.S.B", "D.R.A", "E.S.A", "A", "S.A", 'D.S."A from B"', "D.S.A + 1", "a" * 90]
)
TEXTS: Final = st.sampled_from(
    ["write", "read", "call", "create", "rename", "swap", "D.S.A", "tag D.S.A", "D.S.A from B", "to"]
)
SETS: Final = st.sets(st.tuples(SPACES, NAMES), max_size=3).map(sorted).map(tuple)


@st.composite
def jobs(draw: st.DrawFn) -> Job:
    told = [tuple(sorted(draw(st.sets(TEXTS, max_size=2)))) for _ in range(3)]
    outputs = draw(SETS)
    renamed = draw(st.sampled_from(outputs)) if len(outputs) == 2 and draw(st.booleans()) else None
    return Job(told[0], ("rename",) if renamed else told[1], draw(SETS), outputs, told[2], renamed)


@settings(max_examples=500)
@given(one=jobs(), other=jobs(), at=st.sampled_from(("suffixes", "verbs", "inputs", "outputs", "subjects")))
def test_two_jobs_have_two_names(one: Job, other: Job, at: str) -> None:
    """Also where they differ in one respect alone."""
    others = [other]
    if one.renamed is other.renamed is None:
        others.append(replace(one, **{at: getattr(other, at)}))
    for each in others:
        names = [job_name(job, HOME) for job in (one, each)]
        assert (names[0] == names[1]) == (one == each)
        assert all(len(name) <= 256 for name in names)


def test_a_description_has_all_names_or_the_first_of_very_many() -> None:
    assert job_description(Job(inputs=(A, RAW), outputs=(B,))) == "write D.S.B from D.S.A, RAW.SHOP.ORDERS"
    assert job_description(Job(inputs=(FILE,), subjects=("D.S.F(X)",))) == "read s3://b/x:1//y, calling D.S.F(X)"
    assert job_description(Job(verbs=("drop",), subjects=("tag T", "tag U"))) == "drop tag T, tag U"
    used = Job(inputs=(A,), subjects=("D.S.F(X)", "tag T"), not_called=("tag T",))
    assert job_description(used) == "read D.S.A, calling D.S.F(X), also tag T"
    assert job_description(Job(inputs=(("s3://b", "/"), ("s3://b", "/k")))) == "read s3://b/, s3://b//k"
    assert job_description(Job(inputs=(("file://host", "/a"), ("file", "/a")))) == "read file://host/a, /a"
    many = tuple((HOME, f"D.S.T{number:02d}") for number in range(25))
    assert job_description(Job(inputs=many)).endswith("D.S.T18, D.S.T19 + 5")


def test_a_helper_is_read_or_written_and_not_called() -> None:
    helper = Job(inputs=(A,), subjects=("helper",), not_called=("helper",))
    called = replace(helper, subjects=("D.S.F(X)", "helper"))
    assert job_description(helper) == "read D.S.A"
    assert job_description(replace(helper, inputs=())) == "read helper"
    assert job_description(replace(helper, fills_helper=True)) == "write helper from D.S.A"
    assert job_description(replace(helper, inputs=(), fills_helper=True)) == "write helper"
    assert job_description(called) == "read D.S.A, calling D.S.F(X)"
    assert job_description(replace(helper, verbs=("create",))) == "create helper from D.S.A"
    assert job_name(replace(helper, inputs=()), HOME) == "use helper"


def test_a_hash_is_of_the_text_that_the_first_version_made() -> None:
    """Its JSON had no spaces, and the digits of escapes in capitals. A job that is hashed anew is another job."""
    job = Job(("a\x0b\x1b\x00\n\\u001b/é😀\x7f",), ("create",), (A,), (B,), ("p",))
    text = (
        r'{"prefixes":["a\u000B\u001B\u0000\n\\u001b/é😀' + '\x7f"],"verbs":["create"],'
        '"inputs":[{"namespace":"snowflake://O-A","name":"D.S.A"}],'
        '"outputs":[{"namespace":"snowflake://O-A","name":"D.S.B"}],"subjects":["p"]}'
    )
    assert job_name(job, HOME).endswith(f" [{sha1(text.encode()).hexdigest()[:10]}]")
    assert json.loads(text)["prefixes"] == list(job.suffixes)


def test_the_namespace_of_jobs_is_the_accounts_or_the_users() -> None:
    assert job_namespace("ORG-ACC", OpenLineageSettings()) == OWN
    assert job_namespace("ORG-ACC", OpenLineageSettings(job_namespace="jobs")) == "jobs"
