"""Names and ids of Snowflake objects -> natural keys.

An object is its id within its kind of thing; where the row gives no usable id, its name is the key, in a space of its
own (view, "objectId": unique within a given account *and domain*). Nothing is ever named after a sentinel.

Identifiers follow Snowflake's rules: unquoted ones are stored in upper case, quoted ones as they are, and a dot inside
quotes does not part a name.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from pyspark.sql import functions as F

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

_PLAIN_NAME = r"^[A-Za-z_][A-Za-z0-9_$]*(\.[A-Za-z_][A-Za-z0-9_$]*)*\z"
_PART = r'("(?:[^"]|"")+"|[^."]+)'
_WELL_FORMED = rf"(?s)^{_PART}(\.{_PART})*\z"
_PLAIN_PART = r"^[A-Za-z_][A-Za-z0-9_$]*\z"
_STORED_PART = r"^[A-Z_][A-Z0-9_$]*\z"
_ID = r"^\x02?0*([1-9][0-9]*)(\.0+)?\z"


def normal_domain(domain: Column) -> Column:
    """The domain in one spelling: upper case, one space between words; None for none and for the sentinel.

    ``MASKING_POLICY`` -> ``MASKING POLICY``, ``External table`` -> ``EXTERNAL TABLE``.
    """
    spelled = F.upper(F.trim(F.regexp_replace(domain, r"[\s_]+", " ")))
    return F.when((spelled != "") & (spelled != TRUNCATED), spelled)


def kind_of(normal: Column, stage_kind: Column, location: Column) -> Column:
    """The kind of thing that ids are unique in, from a domain as :func:`normal_domain` gives it: the first segment of
    an object's key.

    Table stages and user stages have the table's id and the user's name for an id (view, "objectId"), so they are
    kinds of their own. A thing with neither domain nor location is an ``object``.
    """
    owner = F.lower(F.coalesce(stage_kind, F.lit("")))
    stage = F.when(owner == "table", "table-stage").when(owner == "user", "user-stage").otherwise("stage")
    return (
        F.when(normal.isin(*TABLES), "table")
        .when(normal.isin(*VIEWS), "view")
        .when(normal.isin(*FUNCTIONS), "function")
        .when(normal == "STAGE", stage)
        .when(normal.isNotNull(), F.lower(F.regexp_replace(normal, r"[^A-Z0-9]+", "-")))
        .when(location.isNotNull(), LOCATION_KIND)
        .otherwise(UNKNOWN_KIND)
    )


def usable_id(object_id: Column) -> Column:
    """The id where it is a positive number, as digits; None for 0, -1, names and none. ``66564.0`` is 66564."""
    return F.when(object_id.rlike(_ID), F.regexp_extract(object_id, _ID, 1))


def usable_name(name: Column) -> Column:
    """The name, unless it is empty or the sentinel."""
    return F.when((F.trim(name) != "") & (name != TRUNCATED), name)


def canonical_name(name: Column) -> Column:
    """The name in the one spelling that stands for the same identifier: plain parts in upper case, others in quotes.

    ``db.s."T"`` and ``DB.S.T`` -> ``DB.S.T``; ``"a.b".c`` -> ``"a.b".C``. What is no list of identifiers is taken as
    one quoted part.
    """
    parts = F.regexp_extract_all(name, F.lit(_PART), 1)
    spelled = F.array_join(F.transform(parts, _canonical_part), ".")
    return (
        F.when(name.rlike(_PLAIN_NAME), F.upper(name)).when(name.rlike(_WELL_FORMED), spelled).otherwise(_quoted(name))
    )


def name_parts(name: Column) -> Column:
    """The identifiers of a canonical name, without their quotes: ``"a.b".C`` -> ``["a.b", "C"]``."""
    return F.transform(F.regexp_extract_all(name, F.lit(_PART), 1), _unquoted)


def _canonical_part(part: Column) -> Column:
    stored = F.when(part.startswith('"'), _unquoted(part)).when(part.rlike(_PLAIN_PART), F.upper(part)).otherwise(part)
    return F.when(stored.rlike(_STORED_PART), stored).otherwise(_quoted(stored))


def _quoted(part: Column) -> Column:
    return F.concat(F.lit('"'), F.replace(part, F.lit('"'), F.lit('""')), F.lit('"'))


def _unquoted(part: Column) -> Column:
    inner = F.replace(F.substring(part, F.lit(2), F.length(part) - 2), F.lit('""'), F.lit('"'))
    return F.when(part.startswith('"'), inner).otherwise(part)


def segment(text: Column) -> Column:
    """One segment of a path: percent-encoded whole, ASCII only, never ``.`` or ``..``. Different texts stay different.

    Source: RFC 3986, sections 2.1 and 3.3.
    """
    encoded = F.replace(F.url_encode(text), F.lit("+"), F.lit("%20"))
    return F.regexp_replace(F.regexp_replace(encoded, r"^\.\z", "%2E"), r"^\.\.\z", "%2E%2E")


def object_key(kind: Column, by_id: Column, name: Column, signature: Column, location: Column) -> Column:
    """The key of an object: ``kind/ID``, else ``kind/name/NAME`` (functions and procedures with their arguments),
    else ``location/URL``; None where the row names nothing.

    ``by_id``, ``name``, ``location`` as :func:`usable_id` and :func:`usable_name` give them. Give columns of a table
    and not expressions: each stands here several times.
    """
    arguments = F.when(kind.isin(*ROUTINE_KINDS) & signature.isNotNull(), signature).otherwise("")
    by_name = segment(F.concat(canonical_name(name), arguments))
    return (
        F.when(by_id.isNotNull(), F.concat(kind, F.lit("/"), by_id))
        .when(name.isNotNull(), F.concat(kind, F.lit("/name/"), by_name))
        .when(location.isNotNull(), F.concat(F.lit(f"{LOCATION_KIND}/"), segment(location)))
    )
