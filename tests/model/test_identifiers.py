"""Names and ids -> natural keys, compared with a plain reading; two things never share a key."""

from __future__ import annotations

from urllib.parse import unquote

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from exporter.model import identifiers
from tests.facts import plain_reading as plain
from tests.hard_objects import NAME_PARTS

NAMES = st.one_of(
    st.text(),
    st.text(alphabet='."aA_ \n%/', max_size=8),
    st.lists(st.sampled_from((*NAME_PARTS, "a", "A", '"a"', '"A"')), min_size=1, max_size=4).map(".".join),
)
many = settings(max_examples=300)


@given(NAMES)
@example(".")
@example("..")
@example("...")
@example("%2E")
@example("a/b")
@example("a%2Fb")
@example("a b")
@example("a+b")
@example("a%20b")
@example("\u00e9")
@example("e\u0301")
@example("\0")
@example("\u2028")
@example("🦖")
@example("~*-_")
@example("")
@many
def test_a_segment_is_ascii_and_says_which_text_it_was(text: str) -> None:
    segment = identifiers.segment(text)
    assert segment == plain.segment(text)
    assert unquote(segment, errors="strict") == text
    assert segment not in {".", ".."}
    assert segment.isascii()
    assert "/" not in segment


@given(NAMES)
@example('db.s."T"')
@example("DB.S.T")
@example("db.s.t")
@example('"a.b".c')
@example('a."b.c"')
@example('"A"')
@example('""')
@example('"')
@example("a..b")
@example(".a")
@example("a.")
@example('x"y')
@example('"x""y"')
@example("A\n")
@example("ß")
@example("\u0131.\u0149")
@many
def test_canonical_names(name: str) -> None:
    found = identifiers.canonical_name(name)
    assert found == plain.canonical(name)
    assert found == '""' or identifiers.canonical_name(found) == found, "a canonical name is its own"


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
def test_spellings_of_one_identifier(names: tuple[str, ...], canonical: str) -> None:
    assert {identifiers.canonical_name(name) for name in names} == {canonical}


IDS = {
    "66564": "66564", "066": "66", "66564.0": "66564", "32998411400350": "32998411400350", "1": "1",
    "0": None, "00": None, "-1": None, "-5": None, "": None, "JSMITH": None, "1.5": None, "1e3": None, " 7": None,
    "7\n": None, "٣": None, None: None,
}  # fmt: skip


@pytest.mark.parametrize("text", IDS)
def test_only_positive_numbers_are_ids(text: str | None) -> None:
    assert identifiers.usable_id(text) == IDS[text]


@pytest.mark.parametrize(
    ("text", "name"),
    [("JSMITH", "JSMITH"), ("1e3", "1e3"), ("7\n", "7\n"), (" 5", " 5"), ("7", None), ("-1", None), ("1.5", None),
     ("", None), (" ", None), ("TRUNCATED", None), (None, None)],
)  # fmt: skip
def test_an_id_that_is_no_number_is_a_name(text: str | None, name: str | None) -> None:
    """A user stage has the user's name there (view, "objectId")."""
    assert identifiers.id_as_name(text) == name


def test_sentinels_and_blanks_are_no_names() -> None:
    names = ["TRUNCATED", "", " ", "  ", None, "TRUNCATED_AT", "truncated", "T", " T", "T ", "\t", " \t "]
    found = [identifiers.known_name(name) for name in names]
    assert found == [None, None, None, None, None, "TRUNCATED_AT", "truncated", "T", " T", "T ", "\t", " \t "]


KINDS = {
    ("Table", None, None): "table", ("TABLE", None, None): "table", ("External table", None, None): "table",
    ("ICEBERG_TABLE", None, None): "table", ("Dynamic  table", None, None): "table",
    ("hybrid table", None, None): "table",
    ("View", None, None): "view", ("MATERIALIZED_VIEW", None, None): "view", ("Stream", None, None): "stream",
    ("Stage", None, None): "stage", ("STAGE", "Internal Named", None): "stage", ("Stage", "Table", None): "table-stage",
    ("Stage", "User", None): "user-stage", ("MASKING_POLICY", None, None): "masking-policy",
    ("Masking policy", None, None): "masking-policy", ("ROW ACCESS POLICY", None, None): "row-access-policy",
    ("External function", None, None): "function", ("Procedure", None, None): "procedure",
    ("MCP SERVER", None, None): "mcp-server", (None, None, "s3://b/x"): "location", (None, None, None): "object",
    ("TRUNCATED", None, None): "object", ("", None, None): "object", (" _ ", None, None): "object",
    ("a\u00a0b", None, None): "a%c2%a0b", ("\u00a0a", None, None): "%c2%a0a",
}  # fmt: skip


@pytest.mark.parametrize("said", KINDS)
def test_kinds_know_neither_letter_case_nor_spelling(said: tuple[str | None, str | None, str | None]) -> None:
    domain, stage, location = said
    assert identifiers.kind_of(identifiers.normal_domain(domain), stage, location) == KINDS[said]


@pytest.mark.parametrize("domain", ["QUERY", "USER", "AGENT", "LOCATION", "ACCOUNT"])
def test_no_kind_takes_the_place_of_the_graphs_own_nodes(domain: str) -> None:
    """``query/5`` is a query and ``user/JSMITH`` one who ran it, whatever domains Snowflake comes to know."""
    assert identifiers.kind_of(domain) == f"{domain.lower()}-object"


def test_domains_in_other_alphabets_stay_apart() -> None:
    assert identifiers.kind_of("表") != identifiers.kind_of("数")


PIECES = st.tuples(
    st.sampled_from(("table", "view", "function", "procedure", "object", "location")),
    st.one_of(st.none(), st.integers(1, 3).map(str)),
    st.one_of(st.none(), st.sampled_from(("T", "t", '"t"', "1", "name/1", "F(N)", '"F(N)"', "F", "DB.T", '"DB.T"'))),
    st.one_of(st.none(), st.sampled_from(("()", "(N)", "(N)(N)", ""))),
    st.one_of(st.none(), st.sampled_from(("s3://b/a", "s3://b/a%20b", "s3://b/a b"))),
)


@given(st.lists(PIECES, min_size=50, max_size=400))
@settings(max_examples=30)
def test_different_things_have_different_keys(
    pieces: list[tuple[str, str | None, str | None, str | None, str]],
) -> None:
    by_key: dict[str, set[object]] = {}
    for piece in pieces:
        key = identifiers.object_key(*piece)
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


@pytest.mark.parametrize(
    ("name", "matched"),
    [
        ("db.s.t", "DB.S.T"),
        ('DB."S".t', "DB.S.T"),
        ('db.s."t"', 'DB.S."t"'),
        ('"A.B".c', '"A.B".C'),
        ('"A""B"', '"A""B"'),
        ("my table", "MY TABLE"),
        ("größe", "GRÖSSE"),
        ('not"well', 'not"well'),
        ("", ""),
    ],
)
def test_a_name_is_matched_by_letter_case_in_quotes_alone(name: str, matched: str) -> None:
    assert identifiers.match_name(name) == matched


@given(NAMES)
@many
def test_what_is_matched_is_matched_again(name: str) -> None:
    """A query can be given the text of ah:matchName itself."""
    once = identifiers.match_name(name)
    assert identifiers.match_name(once) == once
