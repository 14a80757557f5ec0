"""Names and ids -> natural keys: against a plain reading, and so that two things never share a key."""

from __future__ import annotations

from typing import TYPE_CHECKING
from urllib.parse import unquote

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from exporter.facts import identifiers
from tests.columns import applied
from tests.facts import plain_reading as plain
from tests.hard_objects import NAME_PARTS

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

NAMES = st.one_of(
    st.text(),
    st.text(alphabet='."aA_ \n%/', max_size=8),
    st.lists(st.sampled_from((*NAME_PARTS, "a", "A", '"a"', '"A"')), min_size=1, max_size=4).map(".".join),
)
few = settings(max_examples=8, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])


@given(st.lists(NAMES, min_size=1, max_size=150))
@example(
    [
        ".",
        "..",
        "...",
        "%2E",
        "a/b",
        "a%2Fb",
        "a b",
        "a+b",
        "a%20b",
        "\u00e9",
        "e\u0301",
        "\0",
        "\u2028",
        "🦖",
        "~*-_",
        "",
    ]
)
@few
def test_a_segment_is_ascii_and_says_which_text_it_was(spark: SparkSession, texts: list[str]) -> None:
    segments = applied(spark, identifiers.segment, texts)
    assert segments == [plain.segment(text) for text in texts]
    assert [unquote(one, errors="strict") for one in segments] == texts
    assert not {".", ".."} & set(segments)
    assert all(one.isascii() and "/" not in one for one in segments)


@given(st.lists(NAMES, min_size=1, max_size=150))
@example(['db.s."T"', "DB.S.T", "db.s.t", '"a.b".c', 'a."b.c"', '"A"', '""', '"', "a..b", ".a", "a.", 'x"y', '"x""y"'])
@few
def test_canonical_names(spark: SparkSession, names: list[str]) -> None:
    found = applied(spark, identifiers.canonical_name, names)
    assert found == [plain.canonical(name) for name in names]
    names = [name for name in found if name != '""']
    assert not names or applied(spark, identifiers.canonical_name, names) == names, "a canonical name is its own"


@pytest.mark.parametrize(
    ("names", "canonical"),
    [
        (("db.sch.t", "DB.SCH.T", 'DB."SCH".T', '"DB"."SCH"."T"', "Db.Sch.t"), "DB.SCH.T"),
        (('"a.b".c', '"a.b"."C"'), '"a.b".C'),
        (('a."b.c"', 'A."b.c"'), 'A."b.c"'),
        (('d.s."weird""name"',), 'D.S."weird""name"'),
        (('"My.DB"."My.Schema"."My Table"',), '"My.DB"."My.Schema"."My Table"'),
        (("$SYS_VIEW_1105",), '"$SYS_VIEW_1105"'),
        (('"t"',), '"t"'),
    ],
)
def test_spellings_of_one_identifier(spark: SparkSession, names: tuple[str, ...], canonical: str) -> None:
    assert set(applied(spark, identifiers.canonical_name, names)) == {canonical}


IDS = {
    "66564": "66564", "066": "66", "66564.0": "66564", "32998411400350": "32998411400350", "1": "1",
    "0": None, "00": None, "-1": None, "-5": None, "": None, "JSMITH": None, "1.5": None, "1e3": None, " 7": None,
    "7\n": None, "٣": None,
}  # fmt: skip


def test_only_positive_numbers_are_ids(spark: SparkSession) -> None:
    assert dict(zip(IDS, applied(spark, identifiers.usable_id, list(IDS)), strict=True)) == IDS


def test_sentinels_and_blanks_are_no_names(spark: SparkSession) -> None:
    names = ["TRUNCATED", "", " ", None, "TRUNCATED_AT", "truncated", "T"]
    assert applied(spark, identifiers.named, names) == [None, None, None, None, "TRUNCATED_AT", "truncated", "T"]


KINDS = {
    ("Table", None, None): "table", ("TABLE", None, None): "table", ("External table", None, None): "table",
    ("ICEBERG_TABLE", None, None): "table", ("Dynamic  table", None, None): "table",
    ("hybrid table", None, None): "table",
    ("View", None, None): "view", ("MATERIALIZED_VIEW", None, None): "view", ("Stream", None, None): "stream",
    ("Stage", None, None): "stage", ("STAGE", "Internal Named", None): "stage", ("Stage", "Table", None): "table-stage",
    ("Stage", "User", None): "user-stage", ("MASKING_POLICY", None, None): "masking-policy",
    ("Masking policy", None, None): "masking-policy", ("ROW ACCESS POLICY", None, None): "row-access-policy",
    ("MCP SERVER", None, None): "mcp-server", (None, None, "s3://b/x"): "location", (None, None, None): "object",
    ("TRUNCATED", None, None): "object", ("", None, None): "object",
}  # fmt: skip


def test_kinds_know_neither_letter_case_nor_spelling(spark: SparkSession) -> None:
    def kind(domain: str, stage: str, location: str) -> str:
        return identifiers.kind_of(identifiers.normal_domain(domain), stage, location)

    assert dict(zip(KINDS, applied(spark, kind, list(KINDS)), strict=True)) == KINDS


@pytest.mark.parametrize("domain", ["QUERY", "USER", "AGENT", "LOCATION"])
def test_no_kind_takes_the_place_of_the_graphs_own_nodes(spark: SparkSession, domain: str) -> None:
    """``query/5`` is a query and ``user/JSMITH`` one who ran it, whatever domains Snowflake comes to know."""
    (kind,) = applied(spark, identifiers.kind_of, [domain])
    assert kind == f"{domain.lower()}-object"


def test_domains_in_other_alphabets_stay_apart(spark: SparkSession) -> None:
    first, second = applied(spark, identifiers.kind_of, ["表", "数"])
    assert first != second


PIECES = st.tuples(
    st.sampled_from(("table", "view", "function", "procedure", "object", "location")),
    st.one_of(st.none(), st.integers(1, 3).map(str)),
    st.one_of(st.none(), st.sampled_from(("T", "t", '"t"', "1", "name/1", "F(N)", '"F(N)"', "F", "DB.T", '"DB.T"'))),
    st.one_of(st.none(), st.sampled_from(("()", "(N)", "(N)(N)", ""))),
    st.one_of(st.none(), st.sampled_from(("s3://b/a", "s3://b/a%20b", "s3://b/a b"))),
)


@given(st.lists(PIECES, min_size=50, max_size=400))
@few
def test_different_things_have_different_keys(spark: SparkSession, pieces: list[tuple[str | None, ...]]) -> None:
    found = dict(zip(pieces, applied(spark, identifiers.object_key, pieces), strict=True))
    by_key: dict[str, set[object]] = {}
    for piece, key in found.items():
        if key is not None:
            by_key.setdefault(key, set()).add(_identity(*piece))
        assert (key is None) == (_identity(*piece) is None)
    assert {key: things for key, things in by_key.items() if len(things) > 1} == {}


def _identity(kind: str, by_id: str | None, name: str | None, signature: str | None, location: str | None) -> object:
    """What makes a thing itself, as a value."""
    if by_id:
        return kind, "id", by_id
    if name:
        arguments = signature or "" if kind in ("function", "procedure") else ""
        return kind, "name", plain.canonical(name), arguments
    return ("location", location) if location else None
