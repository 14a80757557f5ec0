"""Where a user's name is found in a text, and which user it is."""

from __future__ import annotations

import re
import time
from string import ascii_letters

import pytest
from hypothesis import given
from hypothesis import strategies as st

from exporter.privacy.filters import Filters
from exporter.privacy.key import Key
from exporter.privacy.pseudonyms import UserNames
from exporter.privacy.screen import Screen

KEY = Key(b"a key of 24 bytes, ASCII")
LISTED = {
    *("JSMITH", "jsmith", "jane.doe@example.com", "Jane Doe", "O'Brien", "PK", "DBT", "ETL_LOADER", "LOADER"),
    *("山田", 'we"ird', "back\\slash", "José", "100%", "_", "12345"),
}
NAMES = UserNames(KEY, frozenset(LISTED))


def shown(text: str, names: UserNames = NAMES) -> str:
    """The text with ``<name>`` in the place of each pseudonym."""
    pseudonyms = {KEY.pseudonym(name): f"<{name}>" for name in LISTED}
    return re.sub(r"USER_[0-9A-F]{22}", lambda found: pseudonyms[found[0]], names.in_text(text))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        # an identifier without quotes is stored in upper case, one in quotes is as it stands
        ("select jsmith, JSmith, JSMITH", "select <JSMITH>, <JSMITH>, <JSMITH>"),
        ('select "jsmith", "JSMITH"', 'select "<jsmith>", "<JSMITH>"'),
        ("jsmith", "<jsmith>"),
        # as a part of a longer word, where it is a word there
        ("DBT_JSMITH.T, USER$JSMITH, jsmith@corp.com", "<DBT>_<JSMITH>.T, USER$<JSMITH>, <JSMITH>@corp.com"),
        ("JSMITHSON xjsmith JSMITH2", "JSMITHSON xjsmith JSMITH2"),
        ("/home/jsmith/a.csv @~/JSMITH", "/home/<JSMITH>/a.csv @~/<JSMITH>"),
        # the longest of several
        ("ETL_LOADER LOADER MY_LOADER", "<ETL_LOADER> <LOADER> MY_<LOADER>"),
        # short names are identifiers and no parts of them
        ("PK, PK_ORDERS, T.PK, pk", "<PK>, PK_ORDERS, T.<PK>, <PK>"),
        # names that need quotes, in all cases and spellings
        ("to JANE.DOE@EXAMPLE.COM", "to <jane.doe@example.com>"),
        ("mailto:jane.doe%40example.com", "mailto:<jane.doe@example.com>"),
        ('"Jane Doe" jane doe Jane+Doe Jane%20Doe', '"<Jane Doe>" <Jane Doe> <Jane Doe> <Jane Doe>'),
        ("'O''Brien' O\\'Brien \"O'Brien\"", "'<O'Brien>' <O'Brien> \"<O'Brien>\""),
        ('"we""ird" we\\"ird', '"<we"ird>" <we"ird>'),
        ("a back\\slash back\\\\slash", "a <back\\slash> <back\\slash>"),
        ("100% of 100%25", "<100%> of <100%>"),
        # other scripts: Japanese has no spaces, and accents are written in two ways
        ("今日は山田さん", "今日は<山田>さん"),
        ("JOSÉ Jose\u0301 jose Jos\\u00e9", "<José> <José> jose <José>"),
        # digits alone
        ("where id = 12345 or 123456", "where id = <12345> or 123456"),
        ("_ __ a_b", "_ __ a_b"),
        ("nobody's", "nobody's"),
        ("", ""),
    ],
)
def test_names_in_a_text(text: str, expected: str) -> None:
    assert shown(text) == expected


@pytest.mark.parametrize(
    "text", [r"c%6Frp\bob", r"?u=corp%5Cbob", r"c%6frp%5cbob", r"corp\bob%20", r"corp\\bob", r"corp\b%6fb"]
)
def test_a_backslash_of_a_name_is_no_escape(text: str) -> None:
    """Also where other characters of the text are escaped."""
    made = UserNames(KEY, frozenset({r"corp\bob"})).in_text(text)
    assert KEY.pseudonym(r"corp\bob") in made
    assert "bob" not in made.replace("%6f", "o")


def test_pseudonyms_in_a_text_stay() -> None:
    one = KEY.pseudonym("JSMITH")
    names = UserNames(KEY, frozenset({"USER", one[5:9]}))
    assert names.in_text(f"select {one}, DBT_{one}") == f"select {one}, DBT_{one}"
    assert names.in_text("select user") != "select user"


@given(
    names=st.sets(st.text(st.sampled_from(f"{ascii_letters[20:30]}_.@ '\"éß山"), min_size=1, max_size=9), min_size=1),
    around=st.lists(st.text(st.sampled_from("ab_.$\" '山\n")), min_size=2, max_size=4),
    data=st.data(),
)
def test_no_name_that_stands_alone_is_left(names: set[str], around: list[str], data: st.DataObject) -> None:
    """However names overlap: between blanks, at either end, next to one another."""
    put = [data.draw(st.sampled_from(sorted(names))) for _ in around]
    replaced = UserNames(KEY, frozenset(names))
    text = " ".join(one for pair in zip(around, put, strict=True) for one in pair)
    left = re.sub(r"USER_[0-9A-F]{22}", " \0 ", replaced.in_text(text))
    for name in names:
        if any(map(str.isalnum, name)) and name.strip() == name:
            assert f" {name} " not in f" {left} ", (text, left)


# --- users of earlier runs --------------------------------------------------------------------------------------------


def kept(names: set[str]) -> frozenset[str]:
    """What an update keeps of names."""
    return frozenset(Screen(Filters(), KEY, names=frozenset(names)).pseudonyms())


EARLIER = UserNames(KEY, frozenset(), kept(LISTED - {"DBT", "LOADER"}))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("jsmith", "<jsmith>"),
        ('select JSmith, "JSMITH" from DBT_JSMITH.T', 'select <JSMITH>, "<JSMITH>" from DBT_<JSMITH>.T'),
        ("to jane.doe@example.com, JANE.DOE@EXAMPLE.COM", "to <jane.doe@example.com>, <jane.doe@example.com>"),
        ("by Jane Doe and O'Brien", "by <Jane Doe> and <O'Brien>"),
        ("ETL_LOADER_X LOADER", "<ETL_LOADER>_X LOADER"),
        ("PK PK_ORDERS", "<PK> PK_ORDERS"),
        ("12345 JSMITHSON", "<12345> JSMITHSON"),
        ("", ""),
    ],
)
def test_names_of_earlier_runs(text: str, expected: str) -> None:
    assert shown(text, EARLIER) == expected


OF_LINES = UserNames(KEY, frozenset(), kept(LISTED))
"""All of them."""


@pytest.mark.parametrize(
    "name", ["JaneDoe", "Jane.Doe@Example.com", "JANE_doe", "Jane Doe", "JOSÉ", "jose\u0301", "Straße"]
)
@pytest.mark.parametrize("is_json", [False, True])
def test_names_of_this_and_of_earlier_runs_in_any_letter_case(name: str, *, is_json: bool) -> None:
    earlier, now, made = (
        UserNames(KEY, frozenset(), kept({name})),
        UserNames(KEY, frozenset({name})),
        KEY.pseudonym(name),
    )
    cases = {name, name.lower(), name.upper(), name.title(), name.swapcase(), name.capitalize()}
    around = ("{}", "by {}.", '"{}"', "x {}/y") if not is_json else ('{{"user": "{}"}}',)
    for text in (form.format(one) for form in around for one in sorted(cases)):
        for names in (earlier, now):
            found = names.in_text(text)
            assert made in found, text
            assert name.casefold() not in found.casefold(), text


@pytest.mark.parametrize(
    ("name", "spellings"),
    [
        # Σ has two small letters, one of them for the end of a word
        *((name, ["ΑΛΈΞΗΣ", "αλέξης", "αλέξησ", "Αλέξης"]) for name in ("ΑΛΈΞΗΣ", "Αλέξης", "αλέξησ")),
        ("ΣΟΦΊΑΣ.ΝΊΚΟΣ", ["ΣΟΦΊΑΣ.ΝΊΚΟΣ", "σοφίας.νίκος", "σοφίασ.νίκοσ"]),
        # letters that are several in another case
        *((name, ["STRAẞE", "STRASSE", "straße", "Strasse"]) for name in ("STRAẞE", "STRASSE", "straße")),
        ("İLKER", ["İLKER", "i\u0307lker", "İlker"]),
        *((name, ["ﬁlip", "FILIP", "Filip"]) for name in ("FILIP", "ﬁlip")),
        *((name, ["ŉako", "\u02bcNAKO"]) for name in ("ŉako", "\u02bcNAKO")),
        ("ΐota", ["ΐota", "Ϊ\u0301OTA", "\u0399\u0308\u0301OTA"]),
        *((name, ["ǅURO", "ǆuro", "ǄURO"]) for name in ("ǅURO", "ǆuro")),
        ("Kelvin", ["\u212aelvin", "KELVIN"]),
    ],
)
def test_letters_whose_other_case_depends_on_what_follows_or_is_several_letters(
    name: str, spellings: list[str]
) -> None:
    earlier, now, made = (
        UserNames(KEY, frozenset(), kept({name})),
        UserNames(KEY, frozenset({name})),
        KEY.pseudonym(name),
    )
    forms = ("{}", "{}'s", "s3://b/{}.csv", "d.{}.t", "a:{}:b", "^{}^a", "x·{}·x", "x_{}_y", "{}\u00adx", "İﬁß {} ßΣ")
    for text in (form.format(one) for form in forms for one in spellings):
        for names in (now,) if "\u0301O" in text else (now, earlier):
            found = names.in_text(text)
            expected = next(text.replace(one, made) for one in spellings if one in text)
            assert found == expected, (text, names is earlier)


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("MAS", "maß"),
        ("SEN", "aßen ßEN"),
        ("LKER", "İLKER"),
        ("NAKO", "ŉako"),
        ("ILKER", "İLKER"),
        ("ILKAY", "\u0131lkay"),
    ],
)
def test_a_part_of_a_letter_is_no_name_and_dots_make_other_letters(name: str, text: str) -> None:
    kept = frozenset(Screen(Filters(), KEY, names=frozenset({name})).pseudonyms())
    for names in (UserNames(KEY, frozenset(), kept), UserNames(KEY, frozenset({name}))):
        assert names.in_text(text) == text


def test_names_of_earlier_runs_that_differ_in_letter_case_are_two_users() -> None:
    assert shown("jsmith", OF_LINES) == "<jsmith>"
    assert shown("select jsmith, JSmith, JSMITH", OF_LINES) == "select <JSMITH>, <JSMITH>, <JSMITH>"
    assert shown("PK_ORDERS pk JSMITHSON", OF_LINES) == "PK_ORDERS <PK> JSMITHSON"


def test_a_long_text_and_many_users_of_one_first_name() -> None:
    """The time depends on the text, nearly not on the number of users. It was more than a minute."""
    names = UserNames(KEY, frozenset(f"Jane {'x' * (number % 60)}{number}" for number in range(5_000)))
    text = "Jane " * 20_000
    started = time.process_time()
    assert names.in_text(text) == text
    assert names.in_text(f"{text}Jane x1") == text + KEY.pseudonym("Jane x1")
    assert time.process_time() - started < 10


def test_a_name_within_another_and_at_the_end_of_a_text() -> None:
    names = UserNames(KEY, frozenset({"JANE", "JANE DOE", "-JANE DOE JR", "A---", "A-BC"}))
    pseudonym = {name: KEY.pseudonym(name) for name in ("JANE", "JANE DOE", "-JANE DOE JR", "A---", "A-BC")}
    for text, name in (("jane", "JANE"), ("Jane doe", "JANE DOE"), ("-JANE DOE JR", "-JANE DOE JR"), ("a-bc", "A-BC")):
        assert names.in_text(text) == pseudonym[name]
        assert names.in_text(f"x {text}, {text}") == f"x {pseudonym[name]}, {pseudonym[name]}"
    assert names.in_text("jane do") == f"{pseudonym['JANE']} do"
    assert names.in_text("x_a---") == "x_a---", "short names are found as whole identifiers only"
    assert names.in_text("x_a-bc") == f"x_{pseudonym['A-BC']}"
