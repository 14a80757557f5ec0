"""One row of the view, in whatever JSON it came -> one struct with the columns of :data:`exporter.schemas.ROW`.

A line with lower-case names and native arrays is parsed once. Anything that does not fit there (names in other cases,
arrays as text, a bare ``undefined``, a list cut down to ``"TRUNCATED"``) becomes a map of names and texts, is put
into that form and parsed again; what still does not fit is a bad row, with the reason. Spark alone would turn each of
these into NULL without a word.

The second way works on maps, by lambdas: an expression that names its input twice, nested eight deep and written out
for nine columns, is more than a driver's memory holds.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from pyspark.sql import functions as F

from exporter.facts.identifiers import TRUNCATED
from exporter.schemas import (
    AGENTS_TYPE,
    CORRUPT,
    DDL_TYPE,
    OBJECT_ARRAYS,
    RAW_JSON,
    ROW,
    SCALARS,
    ddl,
)

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pyspark.sql import Column

_OPTIONS: Final = {"mode": "PERMISSIVE", "columnNameOfCorruptRecord": CORRUPT, "allowUnquotedControlChars": "true"}
_STRUCTURED: Final = (*OBJECT_ARRAYS, "object_modified_by_ddl", "agents_info")
_PLAIN: Final = (*SCALARS, *RAW_JSON)
_NOTHING: Final = ("", "\\N", "null", "undefined")
_STRING: Final = r'"(?:[^"\\]|\\.)*+"'
_FRACTION: Final = r"[:,\[]\s*-?[0-9]+(?:\.[0-9]|[eE])"
_NUMBER: Final = r"(-?[0-9]+(?:\.[0-9]+(?:[eE][+-]?[0-9]+)?|[eE][+-]?[0-9]+))"
_CUT_LIST: Final = (
    r'"(columns|directSources|baseSources|directSourceColumns|baseSourceColumns|policies|joinObjects)"'
    rf'\s*:\s*"{TRUNCATED}"'
)
_CUT_ELEMENT: Final = (
    '"columnName":"TRUNCATED","objectName":"TRUNCATED","policyName":"TRUNCATED","joinType":"TRUNCATED"'
)
_SENTINEL: Final = f'[{{"objectDomain":"{TRUNCATED}","objectId":-1,"objectName":"{TRUNCATED}"}}]'


def parse_line(value: Column) -> Column:
    """A line of JSON in the documents' form -> the row; None or ``_corrupt`` where it or a part of it does not fit."""
    is_plain = F.contains(value, F.lit('"query_id"')) & ~holds_several(value)
    return F.when(is_plain, F.from_json(keep_fractions(value), ddl(ROW), _OPTIONS))


def texts(value: Column) -> Column:
    """A line that did not fit -> the text of each column by lower-case name, as a map; None: not one JSON object."""
    top = F.from_json(keep_fractions(no_undefined(value)), "map<string,string>", _OPTIONS)
    is_object = F.ltrim(value).startswith("{") & ~holds_several(value)
    return F.when(is_object, F.transform_keys(top, lambda name, _: F.lower(F.trim(name))))


def opened(columns: Column) -> Column:
    """Texts of columns as they came -> the JSON of the structured ones, unwrapped from strings within strings."""
    known = F.map_filter(columns, lambda name, text: name.isin(*_STRUCTURED) & text.isNotNull())
    bare = F.transform_values(known, lambda _, text: F.trim(F.replace(text, F.lit("\ufeff"), F.lit(""))))
    once = F.transform_values(bare, lambda _, text: _unwrapped(text))
    twice = F.transform_values(once, lambda _, text: _unwrapped(text))
    said = F.map_filter(twice, lambda _, text: ~text.isin(*_NOTHING))
    return F.transform_values(said, lambda _, text: no_undefined(text))


def in_documents_form(structured: Column) -> Column:
    """JSON of the structured columns with lists that Snowflake cut away as one sentinel element, not as text.

    The properties of a DDL change stay as they came: they are kept raw.
    """
    cut = F.transform_values(
        structured,
        lambda name, text: (
            F.when(name == "object_modified_by_ddl", text)
            .when(text == TRUNCATED, F.lit(_SENTINEL))
            .otherwise(F.regexp_replace(text, _CUT_LIST, f'"$1":[{{{_CUT_ELEMENT}}}]'))
        ),
    )
    return F.transform_values(cut, lambda _, text: keep_fractions(text))


def canonical_line(columns: Column, structured: Column) -> Column:
    """The row as one line of JSON in the documents' form."""
    plain_texts = F.map_filter(columns, lambda name, text: name.isin(*_PLAIN) & ~text.isin("\\N", "null"))
    scalars = F.regexp_extract(F.to_json(plain_texts), r"(?s)^\{(.*)\}\z", 1)
    fields = F.transform(F.map_entries(structured), _field)
    return F.concat(F.lit("{"), F.concat_ws(",", F.when(scalars != "", scalars), fields), F.lit("}"))


def _field(entry: Column) -> Column:
    is_json = entry["value"].rlike(r"^[\[{]")
    quoted = F.regexp_extract(F.to_json(F.struct(entry["value"].alias("v"))), r'(?s)^\{"v":(.*)\}\z', 1)
    return F.concat(F.lit('"'), entry["key"], F.lit('":'), F.when(is_json, entry["value"]).otherwise(quoted))


def reparse(line: Column) -> Column:
    """A canonical line -> the row."""
    return F.from_json(line, ddl(ROW), _OPTIONS)


def misfits(structured: Column) -> Column:
    """What does not fit in the structured columns, as an array of sentences that name the column."""
    return F.array_compact(F.transform(F.map_entries(structured), lambda entry: _misfit(entry["key"], entry["value"])))


def _misfit(name: Column, text: Column) -> Column:
    is_object = name == "object_modified_by_ddl"
    wanted = F.when(is_object, "an object").otherwise("an array")
    looks = F.when(text.startswith("{"), "an object").when(text.startswith("["), "an array").otherwise("text")
    fits = F.when(is_object, _fits(text, DDL_TYPE)).when(name == "agents_info", _fits(text, AGENTS_TYPE))
    for array, kind in OBJECT_ARRAYS.items():
        fits = fits.when(name == array, _fits(text, kind))
    return F.when(
        looks != wanted, F.concat(name, F.lit(" holds "), looks, F.lit(", and "), wanted, F.lit(" belongs there"))
    ).when(~fits, F.concat(name, F.lit(" holds "), wanted, F.lit(" that is not as the documents describe it")))


def _fits(text: Column, kind: str) -> Column:
    parsed = F.from_json(F.concat(F.lit('{"c":'), text, F.lit("}")), f"c {kind}, {CORRUPT} string", _OPTIONS)
    return parsed[CORRUPT].isNull()


def row_problems(row: Mapping[str, Column], start: Column) -> Column:
    """What a row lacks that every row has: an id, a readable time, a user; as an array of sentences. ``start``: the
    time as it was read.
    """
    time = row["query_start_time"]
    return F.array_compact(
        F.array(
            F.when(_empty(row["query_id"]), "query_id is missing"),
            F.when(_empty(time), "query_start_time is missing").when(
                start.isNull(),
                F.concat(F.lit("query_start_time cannot be read as a time: "), F.substring(time, 1, 60)),
            ),
            F.when(_empty(row["user_name"]), "user_name is missing"),
        )
    )


def keep_fractions(value: Column) -> Column:
    """Numbers with a fraction or exponent, marked, so that raw JSON keeps their digits (``1.10`` stays ``1.10``).

    Only texts with a DDL change or additional properties hold raw JSON; the others are left as they are.
    """
    holds_raw = F.contains(value, F.lit("operationType")) | F.contains(value, F.lit("irc_event_type"))
    return F.when(holds_raw, _marked(value)).otherwise(value)


def _marked(value: Column) -> Column:
    marked = F.regexp_replace(value, rf"({_STRING})|(?<=[:,\[\s]){_NUMBER}", "$1\x03$2\x03")
    numbers = F.regexp_replace(F.replace(marked, F.lit("\x03\x03"), F.lit("")), "\x03([^\x03]*)\x03", '"\\\\u0002$1"')
    return F.when(value.rlike(_FRACTION), numbers).otherwise(value)


def raw_json(text: Column) -> Column:
    """Raw JSON in one spelling, whatever form it came in: no white space, one way to escape, numbers as they were."""
    compact = F.get_json_object(_marked(text), "$")
    return F.regexp_replace(
        F.when(text.rlike(r"^\s*[\[{]"), F.coalesce(compact, text)).otherwise(text), r'"\\u0002([^"]*)"', "$1"
    )


def _empty(text: Column) -> Column:
    return text.isNull() | (F.trim(text) == "")


def holds_several(value: Column) -> Column:
    """Two objects on a line, or words behind one: Spark would read the first and drop the rest.

    Most lines are cleared by what is cheap to see: no brace opens right after one that closes, and one ends the line.
    """
    bare = F.regexp_replace(value, _STRING, "")
    meets = F.contains(value, F.lit("}{")) | F.contains(value, F.lit("} ")) | F.contains(value, F.lit("}\t"))
    suspicious = meets | ~F.rtrim(value).endswith("}")
    return F.when(suspicious, bare.rlike(r"\}\s*\{|\}\s*[^\s,\]}\[{]+\s*\z")).otherwise(F.lit(False))


def no_undefined(value: Column) -> Column:
    """A bare ``undefined`` (Snowflake's word for a missing element) is null; inside strings it stays."""
    marked = F.regexp_replace(value, rf"({_STRING})|\bundefined\b", "$1\x03")
    as_null = F.replace(F.replace(marked, F.lit('"\x03'), F.lit('"')), F.lit("\x03"), F.lit("null"))
    return F.when(F.contains(value, F.lit("undefined")), as_null).otherwise(value)


def _unwrapped(text: Column) -> Column:
    inner = F.from_json(F.concat(F.lit('{"v":'), text, F.lit("}")), "v string", _OPTIONS)["v"]
    return F.when(text.startswith('"'), F.trim(inner)).otherwise(text)
