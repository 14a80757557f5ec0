"""Names and ids of Snowflake objects -> natural keys.

An object is its id within its kind of thing; where the row gives no usable id, its name is the key, in a space of its
own (view, "objectId": unique within a given account *and domain*). Nothing is ever named after a sentinel.

Identifiers follow Snowflake's rules: unquoted ones are stored in upper case, quoted ones as they are, and a dot inside
quotes does not part a name.

Functions take and give Spark SQL text, for the keys are the longest expressions of the facts and are built many times.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from pyspark.sql import functions as F

from exporter.sql import literal, literals

if TYPE_CHECKING:
    from pyspark.sql import Column

TRUNCATED: Final = "TRUNCATED"
TABLES: Final = (
    "TABLE",
    "EXTERNAL TABLE",
    "DYNAMIC TABLE",
    "ICEBERG TABLE",
    "HYBRID TABLE",
    "EVENT TABLE",
    "TRANSIENT TABLE",
    "TEMPORARY TABLE",
)
VIEWS: Final = ("VIEW", "MATERIALIZED VIEW", "SECURE VIEW")
FUNCTIONS: Final = ("FUNCTION", "EXTERNAL FUNCTION", "TABLE FUNCTION", "AGGREGATE FUNCTION")
ROUTINE_KINDS: Final = ("function", "procedure")
UNKNOWN_KIND: Final = "object"
LOCATION_KIND: Final = "location"
_TAKEN: Final = ("QUERY", "USER", "AGENT", "LOCATION", "ACCOUNT")
"""Domains whose kind would lead into a part of the graph that is not for objects: ``user/JSMITH`` ran a query."""

_PART: Final = r'("(?:[^"]|"")+"|[^."]+)'
_PLAIN_NAME: Final = literal(r"^[A-Za-z_][A-Za-z0-9_$]*([.][A-Za-z_][A-Za-z0-9_$]*)*\z")
_WELL_FORMED: Final = literal(rf"(?s)^{_PART}([.]{_PART})*\z")
_PLAIN_PART: Final = literal(r"^[A-Za-z_][A-Za-z0-9_$]*\z")
_STORED_PART: Final = literal(r"^[A-Z_][A-Z0-9_$]*\z")
_ID: Final = literal("^\x02?0*([1-9][0-9]*)([.]0+)?\\z")
_ALL_DOTS: Final = literal(r"\G[.](?=[.]?\z)")
"""Each dot of a text that is ``.`` or ``..``, and no other."""
_NO_ID: Final = literal(r"^[-0-9.\x02]*\z")


def normal_domain(domain: str) -> str:
    """The domain in one spelling: upper case, one space between words; null for none and for the sentinel.

    ``MASKING_POLICY`` -> ``MASKING POLICY``, ``External table`` -> ``EXTERNAL TABLE``.
    """
    spelled = f"upper(trim(regexp_replace({domain}, '[\\\\s_]+', ' ')))"
    return f"CASE WHEN {spelled} NOT IN ('', '{TRUNCATED}') THEN {spelled} END"


def kind_of(normal: str, stage_kind: str = "null", location: str = "null") -> str:
    """The kind of thing that ids are unique in, from a domain as :func:`normal_domain` gives it: the first segment of
    an object's key.

    Table stages and user stages have the table's id and the user's name for an id (view, "objectId"), so they are
    kinds of their own. A thing with neither domain nor location is an ``object``.
    """
    owner = f"lower(coalesce({stage_kind}, ''))"
    stage = f"CASE {owner} WHEN 'table' THEN 'table-stage' WHEN 'user' THEN 'user-stage' ELSE 'stage' END"
    return (
        f"CASE WHEN {normal} IN ({literals(TABLES)}) THEN 'table' WHEN {normal} IN ({literals(VIEWS)}) THEN 'view' "
        f"WHEN {normal} IN ({literals(FUNCTIONS)}) THEN 'function' WHEN {normal} = 'STAGE' THEN {stage} "
        f"WHEN {normal} IN ({literals(_TAKEN)}) THEN concat(lower({normal}), '-object') "
        f"WHEN {normal} IS NOT NULL THEN lower(replace({segment(normal)}, '%20', '-')) "
        f"WHEN {location} IS NOT NULL THEN '{LOCATION_KIND}' ELSE '{UNKNOWN_KIND}' END"
    )


def usable_id(object_id: str) -> str:
    """The id where it is a positive number, as digits; null for 0, -1, names and none. ``66564.0`` is 66564."""
    return f"nullif(regexp_extract({object_id}, {_ID}, 1), '')"


def id_as_name(object_id: str) -> str:
    """The id where it is no number: a user stage has the user's name there."""
    return named(f"CASE WHEN {object_id} NOT RLIKE {_NO_ID} THEN {object_id} END")


def named(name: str) -> str:
    """The name, unless it is empty or the sentinel."""
    return f"CASE WHEN trim({name}) <> '' AND {name} <> '{TRUNCATED}' THEN {name} END"


def usable_name(name: Column) -> Column:
    """:func:`named`, of a column."""
    return F.when((F.trim(name) != "") & (name != TRUNCATED), name)


def canonical_name(name: str) -> str:
    """The name in the one spelling that stands for the same identifier: plain parts in upper case, others in quotes.

    ``db.s."T"`` and ``DB.S.T`` -> ``DB.S.T``; ``"a.b".c`` -> ``"a.b".C``. What is no list of identifiers is taken as
    one quoted part.
    """
    parts = f"regexp_extract_all({name}, {literal(_PART)}, 1)"
    stored = (
        f"CASE WHEN startswith(part, '\"') THEN {_unquoted('part')} WHEN part RLIKE {_PLAIN_PART} THEN upper(part) "
        "ELSE part END"
    )
    spelled = f"transform(transform({parts}, part -> {stored}), part -> {_spelled('part')})"
    return (
        f"CASE WHEN {name} RLIKE {_PLAIN_NAME} THEN upper({name}) "
        f"WHEN {name} RLIKE {_WELL_FORMED} THEN array_join({spelled}, '.') ELSE {_quoted(name)} END"
    )


def _spelled(part: str) -> str:
    return f"CASE WHEN {part} RLIKE {_STORED_PART} THEN {part} ELSE {_quoted(part)} END"


def _quoted(part: str) -> str:
    return f"concat('\"', replace({part}, '\"', '\"\"'), '\"')"


def _unquoted(part: str) -> str:
    return f"replace(substring({part}, 2, length({part}) - 2), '\"\"', '\"')"


def segment(text: str) -> str:
    """One segment of a path: percent-encoded whole, ASCII only, never ``.`` or ``..``. Different texts stay different.

    Source: RFC 3986, sections 2.1 and 3.3.
    """
    encoded = f"replace(url_encode({text}), '+', '%20')"
    return f"regexp_replace({encoded}, {_ALL_DOTS}, '%2E')"


def object_key(
    kind: str = "kind",
    by_id: str = "object_id",
    name: str = "_name",
    signature: str = "argument_signature",
    location: str = "location",
) -> str:
    """The key of an object: ``kind/ID``, else ``kind/name/NAME`` (functions and procedures with their arguments),
    else ``location/URL``; null where the row names nothing.

    ``by_id``, ``name``, ``location`` as :func:`usable_id` and :func:`named` give them. Give names of columns and not
    expressions: each stands here several times.
    """
    arguments = f"CASE WHEN {kind} IN ({literals(ROUTINE_KINDS)}) THEN coalesce({signature}, '') ELSE '' END"
    by_name = segment(f"concat({canonical_name(name)}, {arguments})")
    return (
        f"CASE WHEN {by_id} IS NOT NULL THEN concat({kind}, '/', {by_id}) "
        f"WHEN {name} IS NOT NULL THEN concat({kind}, '/name/', {by_name}) "
        f"WHEN {location} IS NOT NULL THEN concat('{LOCATION_KIND}/', {segment(location)}) END"
    )
