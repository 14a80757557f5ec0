"""The names of users in the records of this run.

They are collected from all records, from the places where a user's name belongs, before any record is processed: so
they can be replaced wherever they occur.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, Final

from msgspec import json

from exporter.input import documented_form, json_reader
from exporter.input.documented_form import plain_text
from exporter.input.json_reader import Elements, Members, Number
from exporter.input.query_history import COLUMNS
from exporter.input.row import Row, lower_name
from exporter.model.identifiers import is_name_of_user_stage, unquoted

_MAY_TELL: Final = re.compile(r"users?\b|user\$", re.IGNORECASE).search
_may_have_name_as_id: Final = re.compile(r'"objectId":\s*"(?!\d+")|"objectName":\s*"?\d+"?\s*[,}]').search
"""Whether an object has an id that is no number, or a name that is one: the stage of a user has the user's name."""
_PLAIN: Final = r'(?:"(?:[^"]|"")+"|(?![$&@?])(?:(?!\$\$)[^\s".,;:()\[\]{}\'\\/=])+)'
_literal_or_comment: Final = re.compile(
    r"""('(?:[^'\\]|\\.)*+(?:'|\Z)|"[^"]*+(?:"|\Z))|/\*.*?(?:\*/|\Z)|(?:--|(?<!:)//)[^\n]*+""", re.DOTALL
)
_may_have_comment: Final = re.compile(r"/\*|--|//").search
_PART: Final = rf"(?:IDENTIFIER\s*\(\s*'(?:[^']|'')*'\s*\)|(?!IDENTIFIER\s*\(){_PLAIN})"
"""An identifier, also in ``IDENTIFIER('x')``, but not a variable (``IDENTIFIER($x)``, ``:1``)."""
_of_personal_database: Final = re.compile(
    r'(?<![\w$".])(?:"USER\$((?:[^"]|"")+)"|USER\$([A-Z_][\w$]*))(?=\.|\Z)', re.IGNORECASE
)
"""A user's personal database is ``USER$NAME``, the first part of an object's name."""
_of_statement: Final = re.compile(
    r"(?:(?:\A|;|\b(?:BEGIN|THEN|ELSE|DO|LOOP|REPEAT)\b|\bIMMEDIATE\s+'|\$\$)\s*"
    r"(?:CREATE(?:\s+OR\s+REPLACE)?|ALTER|DROP|UNDROP|DESC|DESCRIBE"
    r"|(?:GRANT|REVOKE|SHOW)\b[^;]{1,400}?\b(?:ON|TO|FROM|IN|FOR))"
    rf"|\b(?:GRANT|REVOKE)\s+(?:DATABASE\s+)?ROLE\s+{_PART}(?:\.{_PART})*\s+(?:TO|FROM)|\bEXECUTE\s+AS)"
    rf"\s+USER\s+(?:IF\s+(?:NOT\s+)?EXISTS\s+)?(?!(?:SET|UNSET|IF|RENAME)\b)({_PART})"
    rf"(?:\s+RENAME\s+TO\s+({_PART}))?",
    re.IGNORECASE,
)
"""Places where SQL without comments names a user (``GRANT ROLE R TO USER NAME``), and the new name of one. A statement
is also in a block of Snowflake Scripting, and in the text of EXECUTE IMMEDIATE.
"""
_names_user: Final = re.compile(r"user|login|e-?mail", re.IGNORECASE).search
_is_login: Final = re.compile(r"login_?name|e-?mail", re.IGNORECASE).fullmatch
"""Properties of a user by whose value a person is known as by the name."""
_OF_OTHERS: Final = ("ROLE", "APPLICATION", "SHARE", "SERVICE", "AGENT")


def names_in_row(row: Row) -> Iterator[str]:
    """The user names in a row."""
    yield from _of_user(row.user_name)
    if row.invoker_identity is not None:
        yield from _of_invoker(row.invoker_identity)
    content = row.content.decode("utf-8", "replace")
    if _MAY_TELL(content) or _may_have_name_as_id(content):
        yield from _anywhere(json.decode(row.content))
    for text in (row.additional_properties, row.unknown_columns):
        if text is not None and _MAY_TELL(text):
            yield from _anywhere({"": text})


def names_in_unreadable(text: str) -> Iterator[str]:
    """The user names in a line that is a JSON object but not a valid row."""
    members = documented_form.members_of(text)
    for member in members or ():
        name = lower_name(member.name)
        if name == "user_name":
            yield from _of_user(plain_text(member.value) or "")
        elif name == "invoker_identity":
            yield from _of_invoker(plain_text(member.value) or "")
    yield from _anywhere(members)


def names_in_history(text: str, *, query_text: bool) -> Iterator[str]:
    """The user names in a line of QUERY_HISTORY. ``query_text``: whether SQL text is exported, and so searched."""
    columns = columns_of_history(text)
    yield from _of_user(columns.get("user_name") or "")
    if query_text:
        yield from _of_sql(columns.get("query_text") or "")


def _of_text(text: str) -> Iterator[str]:
    for match in _of_personal_database.finditer(text):
        yield match[1].replace('""', '"') if match[1] else match[2].upper()


def _of_sql(text: str) -> Iterator[str]:
    if not _MAY_TELL(text):
        return
    bare = _literal_or_comment.sub(lambda match: match[1] or " ", text) if _may_have_comment(text) else text
    for match in _of_statement.finditer(bare):
        for name in (_stored(_in_literal(name)) for name in match.groups() if name is not None):
            yield name
            yield name.replace("''", "'")  # in the text of EXECUTE IMMEDIATE
    yield from _of_text(text)


def columns_of_history(line: str) -> dict[str, str | None]:
    """The columns of a line of QUERY_HISTORY, names in lower case; empty where the line has none that can be read."""
    return {name: plain_text(text) for name, text in documented_form.texts_of_line(line, COLUMNS).items()}


def _of_user(text: str) -> Iterator[str]:
    """The names in a user_name: the text as it is. If it is an array or object, also the names in it."""
    yield text
    if text.startswith(("[", "{")):
        yield from _of_invoker(text)


def _of_invoker(text: str) -> Iterator[str]:
    """The names in an invoker_identity: a name, or an object that contains one. The documents do not describe it."""
    value = _opened(text)
    yield from (name for name in (value if isinstance(value, Elements) else [value]) if isinstance(name, str))
    for json_object in _objects(value):
        is_other = any(word in _upper(json_object.get(key)) for key in ("type", "kind") for word in _OF_OTHERS)
        for member, member_value in json_object.items():
            if _names_user(member) or (member.lower() == "name" and not is_other):
                yield from _name(member_value)


def _anywhere(value: Any) -> Iterator[str]:
    """The user names in a JSON value: of user stages, of things with the domain USER, of grants to users, of personal
    databases.
    """
    for json_object in _objects(value):
        if _is_stage_of_user(json_object):
            yield from _name(json_object.get("objectName"))
            yield from _name(json_object.get("objectId"))
        yield from _of_domain(json_object)
        if _upper(json_object.get("objectDomain")) == "USER":
            yield from _of_properties(json_object.get("properties"))
        for text in (*json_object, *json_object.values()):  # in the keys are names of tags, policies and columns
            if isinstance(text, str) and _MAY_TELL(text):
                yield from _of_text(text)


def _is_stage_of_user(json_object: dict[str, Any]) -> bool:
    """Whether it is a user's stage: its kind says so, or, as the source of a column has none, its name and its id."""
    kind, ident, name = (json_object.get(key) for key in ("stageKind", "objectId", "objectName"))
    if kind is not None or _upper(json_object.get("objectDomain")) != "STAGE":
        return _upper(kind) == "USER"
    own, number = (None if value is None else str(value) for value in (name, ident))
    return is_name_of_user_stage(own, number)


def _of_domain(json_object: dict[str, Any]) -> Iterator[str]:
    """The names of the users that an object names beside their domain (``SECURABLE_OBJECT_DOMAIN`` and
    ``SECURABLE_OBJECT_NAME``), or as the grantees of a grant (``USERS``).
    """
    members = {name.replace("_", "").lower(): member for name, member in json_object.items()}
    for name, member in members.items():
        if name.endswith("domain") and _upper(_bare(member)) == "USER":
            thing = name.removesuffix("domain")
            yield from _name(_bare(members.get(f"{thing}name", members.get(thing))))
    if "users" in members and ("privileges" in members or "roles" in members):
        for user in _elements_of(_bare(members["users"])):
            yield from _name(user)


def _of_properties(properties: Any) -> Iterator[str]:
    """The new name of a user, and the names that are properties of one. ``properties``: in any of the forms of
    :mod:`exporter.input.properties`.
    """
    for members in _elements_of(properties):
        for name, member in _members(members).items():
            if name == "objectName" or _is_login(name):
                yield from _name(_bare(member))


def _elements_of(value: Any) -> list[Any]:
    """The elements of an array, also of one in a string; another value alone."""
    given = _opened(value) if isinstance(value, str) else value
    return list(given) if isinstance(given, Elements | list) and not isinstance(given, Members) else [given]


def _bare(value: Any) -> Any:
    """What is in ``{"value": …}``; another value as it is."""
    return _members(value).get("value", value)


def _members(value: Any) -> dict[str, Any]:
    return value.last() if isinstance(value, Members) else value if isinstance(value, dict) else {}


def _upper(value: Any) -> str:
    """A word of Snowflake's in upper case; empty for other values, which may be nested too deep to be a text."""
    return value.strip(" ").upper() if isinstance(value, str) else ""


def _name(value: Any) -> Iterator[str]:
    if isinstance(value, str | int | Number) and not isinstance(value, bool):
        text = value.digits if isinstance(value, Number) else str(value)
        bare = text.removeprefix("@~").strip("/")
        yield _stored(bare) if bare.startswith('"') else bare


def _objects(value: Any) -> Iterator[dict[str, Any]]:
    """Every object in a JSON value, at any depth, also within strings that contain JSON."""
    waiting = [value]
    while waiting:
        item = waiting.pop()
        if isinstance(item, Members):
            waiting += [member.value for member in item]
            yield item.last()
        elif isinstance(item, dict):
            waiting += item.values()
            yield item
        elif isinstance(item, Elements | list):
            waiting += item
        elif isinstance(item, str) and item.lstrip("\ufeff \t\r\n").startswith(("{", "[", '"')):
            parsed = _opened(item)
            waiting += [] if isinstance(parsed, str) else [parsed]


def _opened(text: str) -> Any:
    """The JSON value of a text, without strings around it; the text itself if it is not JSON."""
    value: Any = text
    while isinstance(value, str) and value.lstrip("\ufeff \t\r\n").startswith(("{", "[", '"')):
        try:
            value = json_reader.parse(value.lstrip("\ufeff"))
        except json_reader.NotJsonError:
            return value
    return value


def _in_literal(part: str) -> str:
    """What an identifier is: the text in ``IDENTIFIER('x')``, the identifier itself otherwise."""
    return part[part.index("'") + 1 : part.rindex("'")].replace("''", "'") if part.endswith(")") else part


def _stored(identifier: str) -> str:
    """An identifier of SQL as Snowflake stores it."""
    return unquoted(identifier) if identifier.startswith('"') else identifier.upper()
