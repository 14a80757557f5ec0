"""No text that users wrote keeps a user's name, wherever it is and however the name is spelled."""

from __future__ import annotations

import json
from random import Random
from typing import Any, Final

import pytest

from exporter.input.properties import canonical_form, read
from exporter.input.query_history import read_history
from exporter.input.reading import Record
from exporter.input.row import Row, Unreadable
from exporter.privacy.filters import Filters
from exporter.privacy.key import Key
from exporter.privacy.lines import lines_of
from exporter.privacy.screen import Screen
from tests.model import every_field
from tests.model.ddl_forms import FORMS, rows_in
from tests.privacy import drawn

KEY: Final = Key(b"a key of 24 bytes, ASCII")
SCREEN: Final = Screen(Filters(), KEY, query_text=True)
SCREENS: Final = {
    "known": SCREEN.knowing(drawn.USERS),
    "of earlier runs": SCREEN.knowing([], SCREEN.knowing(drawn.USERS).pseudonyms()),
}


@pytest.mark.parametrize(("seed", "name"), list(enumerate(SCREENS)))
def test_no_text_keeps_a_name(seed: int, name: str) -> None:
    said, screen = drawn.Drawn(Random(seed)), SCREENS[name]
    rows = list(drawn.rows(said))
    for row in rows:
        seen = screen.look(Record("/f", 0, "line", json.dumps(row)))
        assert isinstance(seen.row, Row)
        assert drawn.found(seen.text) == []
    for row in drawn.aggregate_rows(said):
        seen = screen.look(Record("/f", 0, "line", json.dumps(row), is_aggregate=True))
        assert isinstance(seen.row, Row)
        assert drawn.found(seen.text) == []
    for line in drawn.history(said, [row["query_id"] for row in rows[:12]]):
        text = json.dumps(line)
        assert drawn.found(str(screen.line(read_history(text).history, text))) == []  # type: ignore[union-attr] # a line
    assert len(said.spelled) == len(drawn.CASES) * len(drawn.QUOTES) * len(drawn.CODES) * len(drawn.AROUND)


def test_the_names_are_in_every_text_and_would_be_found() -> None:
    """Each field of the documents that is not Snowflake's own has names, and each spelling is recognized."""
    said = drawn.Drawn(Random(0))
    rows = list(drawn.rows(said))
    list(drawn.history(said, ["q"]))
    last = {field.rpartition(".")[2].split()[-1] for field in said.words} - every_field._NUMBERS - {"user_name"}
    assert {field.rpartition(".")[2].split()[-1] for field in said.places} >= last - drawn.OF_SNOWFLAKE
    assert [row for row in rows if not drawn.found(json.dumps(row))] == []
    assert [text for _ in range(2000) for text in [said.text("x")] if not drawn.found(text)] == []


# --- users who are called like a documented member, or like a word of Snowflake's -------------------------------------

WORDS: Final = frozenset(
    {
        *("TYPE", "ADD", "VALUE", "value", "COLUMNS", "TAGS", "COMMENT", "START", "TABLE", "ALTER", "GRANT", "SELECT"),
        *("objectName", "SUBOPERATIONTYPE", "TAGVALUE", "NODE", "LOCATION", "66564", "QUERY_ID", "OWNER", "ADMIN"),
    }
)
LINES: Final = lines_of(KEY, WORDS)


def _of_words() -> list[dict[str, Any]]:
    """A change for each word: a column, a tag and a comment of this name, and a property to come."""
    element = {"subOperationType": "ADD", "objectId": {"value": 66564}}
    return [
        every_field._query(
            f"q-{word}",
            object_modified_by_ddl={
                "objectDomain": "Table",
                "objectName": f'D.S."{word}"',
                "operationType": "ALTER",
                "properties": {
                    "columns": {word: {**element, "tags": {f"D.S.{word}": {**element, "tagValue": {"value": word}}}}},
                    "maskingPolicies": {word: element},
                    "propertyOfNextYear": {word: element},
                    "comment": {"value": word},
                    "swapTargetDomain": {"value": "Table"},
                },
            },
        )
        for word in sorted(WORDS)
    ]


@pytest.mark.parametrize("form", FORMS)
def test_a_user_called_like_a_documented_member_is_replaced_in_every_form(form: str) -> None:
    """Alike, so that all forms mean the same; and what is Snowflake's own stays."""
    for first, row in zip(_of_words(), rows_in(form, _of_words()), strict=True):
        made, other = (json.loads(LINES.line(json.dumps(one)))["object_modified_by_ddl"] for one in (row, first))
        properties = read(json.dumps(made["properties"], separators=(",", ":")))
        assert canonical_form(properties.normal) == canonical_form(
            read(json.dumps(other["properties"], separators=(",", ":"))).normal
        )
        assert (made["objectDomain"], made["operationType"]) == ("Table", "ALTER")
        (column,) = properties.compounds["columns"].items()
        word = first["query_id"].removeprefix("q-")
        assert column[0] == KEY.pseudonym(word)
        in_a_name = KEY.pseudonym(word.upper() if word.upper() in WORDS else word)  # no quotes: upper case
        assert (column[1].atom("subOperationType"), column[1].atom("objectId")) == ("ADD", "66564")
        assert properties.atoms["comment"] == column[0]
        assert column[1].inside is not None
        assert list(column[1].inside.compounds["tags"]) == [f"D.S.{in_a_name}"]


def test_a_reason_that_quotes_a_row_has_no_name() -> None:
    row = {"query_start_time": every_field.START, "user_name": "KANARIE", "calls": "by kanarie"}
    seen = SCREENS["known"].look(Record("/f", 0, "line", json.dumps(row), is_aggregate=True))
    assert isinstance(seen.row, Unreadable)
    assert drawn.found("; ".join(seen.row.problems)) == []
    assert any("calls must be a whole number" in one for one in seen.row.problems)


def test_snowflakes_own_words_stay_where_it_wrote_them_and_nowhere_else() -> None:
    own, added = {"objectDomain": "Table", "objectId": "66564"}, {"subOperationType": "ADD"}
    row = {
        **every_field._query("ADD", event_source="SELECT", account_name="ADMIN"),
        "direct_objects_accessed": [{**own, "stageKind": "Table", "joinObjects": [{"type": "JOIN", "node": own}]}],
        "object_modified_by_ddl": {**own, "operationType": "ALTER", "properties": {"tags": {"": added}}},
    }
    assert json.loads(LINES.line(json.dumps(row))) == row
    texts = [f'{{"x": {json.dumps(row)}}}', json.dumps({**every_field._query("q"), "additional_properties": row})]
    for text in (LINES.line(texts[0]), LINES.line(texts[1]), LINES.text(json.dumps(row)), LINES.text(texts[0])):
        inside = json.loads(text)
        inside = inside.get("x") or inside.get("additional_properties") or inside
        assert KEY.pseudonym("ADD") in json.dumps(inside)
        assert not {"ADD", "SELECT", "ADMIN", "Table", "66564"} & set(_strings(inside))


def _strings(value: Any) -> list[str]:
    if isinstance(value, dict):
        return [*value, *_strings(list(value.values()))]
    return [text for one in value for text in _strings(one)] if isinstance(value, list) else [str(value)]


@pytest.mark.parametrize(
    ("path", "words"),
    [
        ("objectDomain", ("Table", "External table", "MASKING_POLICY")),
        ("stageKind", ("User", "Internal Named")),
        ("operationType", ("ALTER", "UNDROP")),
        ("joinObjects.joinType", ("LEFT_OUTER_JOIN", "INNER JOIN", "JOIN")),
        ("policies.policyKind", ("MASKING_POLICY", "ROW_ACCESS_POLICY")),
        ("agentType", ("CORTEX_AGENT", "EXTERNAL_AGENT")),
        ("properties.swapTargetDomain", ("Table", "View")),
        ("properties.swapTargetDomain.value", ("Table",)),
        ("properties.tags.T.subOperationType", ("ADD", "DROP", "ALTER")),
        ("properties.tags.T.subOperationType.value", ("ADD",)),
        ("properties.propertyOfNextYear.X.subOperationType", ("ADD",)),
        ("properties.grant.SECURABLE_OBJECT_DOMAIN", ("TABLE",)),
    ],
)
def test_only_known_words_stay_in_the_places_of_snowflakes_words(path: str, words: tuple[str, ...]) -> None:
    """Whatever users are called. Any other text there is treated as a text of users."""
    column = {"stageKind": "direct", "joinObjects": "direct", "policies": "policies", "agentType": "agents"}
    names = {
        "direct": "direct_objects_accessed",
        "policies": "policies_referenced",
        "agents": "agents_info",
        "": "object_modified_by_ddl",
    }
    place = names[column.get(path.partition(".")[0], "")]

    def said(text: str | int, users: frozenset[str]) -> str:
        value: Any = text
        for member in reversed(path.split(".")):
            value = {member: [value] if member in {"joinObjects", "policies"} else value}
        row = {place: value if place == "object_modified_by_ddl" else [value]}
        return lines_of(KEY, users).line(json.dumps(row))

    for word in words:
        assert f'"{word}"' in said(word, frozenset({word, *word.replace("_", " ").split(), word.upper()}))
    for text in ("JSMITH", "ADD jsmith", "of-JSMITH", "TABLE/JSMITH"):
        assert "jsmith" not in said(text, frozenset({"JSMITH"})).lower(), text
        assert KEY.pseudonym("JSMITH") in said(text, frozenset({"JSMITH"}))
    assert "7799123" not in said(7799123, frozenset({"7799123"}))
