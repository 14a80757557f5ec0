"""Names of users whom only earlier runs read, by what an update keeps of them: they are found as in one export."""

from __future__ import annotations

import re
from typing import Final

import pytest

from exporter.errors import UsageError
from exporter.privacy.filters import Filters
from exporter.privacy.key import Key
from exporter.privacy.pseudonyms import UserNames
from exporter.privacy.screen import Screen

KEY: Final = Key(b"a key of 24 bytes, ASCII")
SCREEN: Final = Screen(Filters(), KEY)


def known(*names: str) -> UserNames:
    return UserNames(KEY, frozenset(names))


def earlier(*names: str) -> UserNames:
    return UserNames(KEY, frozenset(), SCREEN.knowing([], lines(*names)).earlier)


def lines(*names: str) -> list[str]:
    """The lines of pseudonyms.txt after a run that read these users."""
    return SCREEN.knowing(names).pseudonyms()


@pytest.mark.parametrize(
    "name",
    [
        *("Doe, Jane", "Drqa. Hovqa", "Hovqb (ext)", "Zedqe & Coqe", "Xqj - Yqj", "Aqm: Bqm", "Mqp, Pqp, Jr."),
        *("Tw  Sp", "(Parqg)", "Dotqh.", "Qqu!", "-Qqw", "_svc_x", "JANE_", "#Tag", "Doe  (ext.) / Foo", 'Jo "JD" Doe'),
        *("O'Brien, Pat", "corp\\\\bob, x", "Doe,Jane", "山田, 太郎", "スミス・ジェーン・アン", "김철수", "李A"),
    ],
)
@pytest.mark.parametrize("form", ["{}", "by {} now", "x/{}/y", '"{}"', "({})", "a={};", "{},{}", "\n{}\n"])
def test_signs_between_and_around_words(name: str, form: str) -> None:
    text, expected = form.replace("{}", name), form.replace("{}", KEY.pseudonym(name))
    assert known(name).in_text(text) == expected
    assert earlier(name, "OTHER").in_text(text) == expected
    assert earlier(name).in_text(text.upper()).casefold() == expected.casefold()


def test_signs_that_are_no_part_of_the_name() -> None:
    """A table SALES.ORDERS is not the user SALES_ORDERS, and Qqu is not Qqu!."""
    text = "SALES.ORDERS, SALES, ORDERS, Qqu? x-Qqw JANE_X (Parqg"
    names = "SALES_ORDERS", "Qqu!", "-Qqw", "JANE_", "(Parqg)"
    assert known(*names).in_text(text) == earlier(*names).in_text(text) == text


def test_users_whose_names_differ_in_signs() -> None:
    one, two = map(KEY.pseudonym, ("Qqu", "Qqu!"))
    for names in (known("Qqu", "Qqu!"), earlier("Qqu", "Qqu!")):
        assert names.in_text("Qqu! and Qqu. qqu!qqu") == f"{two} and {one}. {one}!{one}"


def test_names_side_by_side_in_scripts_without_spaces() -> None:
    one, two = map(KEY.pseudonym, ("山田", "山田 太郎"))
    for names in (known("山田", "山田 太郎", "JSMITH"), earlier("山田", "山田 太郎", "JSMITH")):
        assert names.in_text("今日は山田 太郎さん山田山田") == f"今日は{two}さん{one}{one}"
        assert names.in_text("用户JSMITH说") == f"用户{KEY.pseudonym('JSMITH')}说"


@pytest.mark.parametrize("name", ["Doe, Jane", "Jane O'Brien", "Marqua Gelzira", "kim+t@zz.com", "a  b"])
@pytest.mark.parametrize("text", ["https://wiki/x?user={}", "x?a=1&u={}&b=2 and more", "'{}'"])
def test_a_blank_is_a_plus_in_a_url(name: str, text: str) -> None:
    """Whatever else of the name is encoded."""
    made = text.replace("{}", KEY.pseudonym(name))
    plus = name.replace("+", "%2B").replace(" ", "+")
    for spelling in (plus, plus.replace("'", "%27"), plus.replace(",", "%2C"), plus.replace("@", "%40")):
        for names in (known(name), earlier(name)):
            assert names.in_text(text.replace("{}", spelling)) == made
            assert names.in_text(text.replace("{}", spelling.lower())) == made


@pytest.mark.parametrize("text", [r"'\112SMITHX'", r"'\112\123mithx'", r"x \\112smithx y"])
def test_octal_escapes_of_sql(text: str) -> None:
    for names in (known("JSMITHX"), earlier("JSMITHX")):
        made = names.in_text(text)
        assert KEY.pseudonym("JSMITHX") in made
        assert "mithx" not in made.lower()


def test_long_names_and_long_gaps() -> None:
    """As many words as a name of Snowflake's may well have."""
    names = "A b c d e f g h i j k l m n o p q r s t", "Zed -------- Coq", "王" * 30
    for number, name in enumerate(names):
        text = f"by {name}, and {name.lower()} in SQL" if number < 2 else f"{name}的表"
        assert earlier(*names).in_text(text) == known(*names).in_text(text)
        assert KEY.pseudonym(name) in earlier(*names).in_text(text)


def test_what_is_kept_tells_no_name_and_not_which_parts_are_whose() -> None:
    """Two users with one first word and one shape have the same digests of parts, once."""
    first, second = sorted(lines("jane.doe@a.com", "jane.roe@b.com")), sorted(lines("jane.doe@a.com"))
    assert len(first) == len(second) + 1
    assert all(re.fullmatch("USER_[0-9A-F]{22} [0-9A-F]{16} parts|[0-9A-F]{16}", line) for line in first)


def test_a_line_in_another_form_is_refused() -> None:
    """Without the digests of its parts, a name would be found in some texts and not in others."""
    name = "Doe, Jane"
    whole = lines(name)
    [line] = [line for line in whole if line.endswith("parts")]
    assert SCREEN.knowing([], whole).pseudonyms() == whole
    for other in (line.removesuffix(" parts"), KEY.pseudonym(name), f"{line} more"):
        with pytest.raises(UsageError, match="of an earlier build"):
            SCREEN.knowing([], [other])
    for other in ("junk", ""):
        assert SCREEN.knowing([], [other]).pseudonyms() == []


@pytest.mark.parametrize(
    ("name", "text"),
    [
        *(("qz%41bc", "qz%2541bc"), ("qz%41bc", "qz%252541bc"), ("qz%41bc", "QZ%41BC"), ("qz%41", "qz%2541")),
        *(("%20qz", "%2520qz"), ("qz o%20", "qz%20o%2520"), ('qzwe"ird', 'qzwe""ird'), ('qzwe"ird', 'qzwe""""ird')),
    ],
)
def test_names_with_signs_of_escapes(name: str, text: str) -> None:
    """As a URL, as a quoted identifier, and as one in the name of something else that is quoted again."""
    for names in (known(name), earlier(name)):
        assert names.in_text(text) == KEY.pseudonym(name)
        assert names.in_text(f'D."x {text} y"/a') == f'D."x {KEY.pseudonym(name)} y"/a'
