"""Which parts of a row Snowflake wrote itself. Everything else is text of users, in which names are replaced.

A :class:`JsonContainer` is an object or array of a row's JSON. It gives each member of the documented structure, so a
member is known by where it is and not by its name alone: the ``type`` of a join is Snowflake's word, the ``type`` in a
query tag, in ``additional_properties`` or in a comment is a user's.

Sources: view, "Columns", "The fields in the JSON array", "object_modified_by_ddl"; behaviour changes 2178 and 2179 (for
the four forms of properties see :mod:`exporter.input.properties`).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Final, NamedTuple

from exporter.input import aggregates
from exporter.input.documented_form import COLUMNS as DOCUMENTED
from exporter.input.documented_form import Kind
from exporter.input.properties import (
    KNOWN_COMPOUND,
    KNOWN_PROPERTIES,
    KNOWN_SUB_OPERATIONS,
    is_of_source,
    member_of_grant,
    policies_in,
)
from exporter.input.row import JSON_TEXTS
from exporter.input.row import TEXTS as TEXT_COLUMNS
from exporter.model.identifiers import normal_domain
from exporter.model.incomplete import KNOWN_DOMAINS, KNOWN_OPERATIONS

TEXT, WORD, ID, USER = "text", "word", "id", "user"
"""What a string is. TEXT: written by users. WORD: id of a query, time, account, privilege, never replaced. ID: the same
if it is a number. USER: the name of the user who ran the query.
"""
DOMAIN, OPERATION, SUB_OPERATION = "domain", "operation", "sub-operation"
STAGE_KIND, POLICY_KIND, JOIN, AGENT = "stage kind", "policy kind", "join", "agent"
QUERY_TYPE, ROLE_TYPE, SIZE, STATUS = "query type", "role type", "size", "status"
_CHOICES: Final = {
    DOMAIN: KNOWN_DOMAINS,
    OPERATION: KNOWN_OPERATIONS,
    SUB_OPERATION: frozenset({*KNOWN_SUB_OPERATIONS, "UNSET"}),
    STAGE_KIND: frozenset({"TABLE", "USER", "INTERNAL NAMED", "EXTERNAL NAMED"}),
    POLICY_KIND: frozenset(domain for domain in KNOWN_DOMAINS if domain.endswith("POLICY")),
    JOIN: frozenset(
        f"{modifier}{join}".strip()
        for modifier in ("", "INNER ", "LEFT ", "RIGHT ", "FULL ", "CROSS ", "NATURAL ", "ASOF ", "LATERAL ",
                         "LEFT OUTER ", "RIGHT OUTER ", "FULL OUTER ", "SEMI ", "ANTI ", "LEFT SEMI ", "LEFT ANTI ")
        for join in ("JOIN", "")
    ),
    AGENT: frozenset({"CORTEX AGENT", "CORTEX LITE AGENT", "EXTERNAL AGENT"}),
    ROLE_TYPE: frozenset({"APPLICATION"} | {domain for domain in KNOWN_DOMAINS if domain.endswith("ROLE")}),
    SIZE: frozenset({"X-SMALL", "SMALL", "MEDIUM", "LARGE", *(f"{size}X-LARGE" for size in ("", 2, 3, 4, 5, 6))}),
    STATUS: frozenset(
        {"SUCCESS", "FAIL", "INCIDENT", "RUNNING", "QUEUED", "BLOCKED", "ABORTING", "ABORTED", "RESUMING WAREHOUSE",
         "FAILED WITH ERROR", "FAILED WITH INCIDENT"}
    ),
}  # fmt: skip
"""Kinds of strings that are words of Snowflake's, with the words that are known, in upper case with blanks. Other texts
in their place are treated as written by users.
"""


_VERBS: Final = (
    "SELECT INSERT UPDATE DELETE MERGE MULTI CREATE ALTER DROP UNDROP RENAME TRUNCATE REPLACE CLONE RESTORE SWAP "
    "COPY UNLOAD PUT GET LIST REMOVE FILES SHOW DESCRIBE DESC USE SET UNSET GRANT REVOKE CALL EXECUTE IMMEDIATE "
    "EXPLAIN BEGIN COMMIT ROLLBACK TRANSACTION COMMENT ADD MODIFY COLUMN CONSTRAINT DYNAMIC REFRESH RECLUSTER "
    "CLUSTER KEY SUSPEND RESUME ABORT CANCEL START OPTION OPTIONS OBJECT OBJECTS PRIVILEGES OWNERSHIP VARIABLE "
    "VARIABLES PARAMETER PARAMETERS QUERY ASYNC SYSTEM INTERNAL UNKNOWN OTHER ALL AS FOR FROM IN INTO OF ON TO "
    "WITH BY NEW STATEMENT SCRIPTING BLOCK SCAN VALUES BULK CHANGES DATA MULTIPLE MANAGE CONTACT RESET PASSWORD "
    "CLUSTERING AUTO VERSION AT SWITCH FAILOVER RECOVER LOCK CHANGE TRACKING SNOWSERVICES INFER MAINTENANCE API "
    "ANON CALLS JOB JOBS"
)
_OF_QUERY_TYPES: Final = frozenset(_VERBS.split()).union(
    f"{word}{plural}" for domain in KNOWN_DOMAINS for word in domain.split() for plural in ("", "S")
)
"""The words in types of queries, such as ``CREATE_TABLE_AS_SELECT``."""
OF_HISTORY: Final = {
    "query_type": QUERY_TYPE, "role_type": ROLE_TYPE, "warehouse_size": SIZE, "execution_status": STATUS,
    "session_id": ID,
}  # fmt: skip
"""The columns of QUERY_HISTORY with Snowflake's own words, and of which kind these are."""


def is_own_word(kind: str, text: str) -> bool:
    """Whether a string of this kind is one that Snowflake wrote itself."""
    if kind == ID:
        return text.isdecimal()
    if kind == QUERY_TYPE:
        return _OF_QUERY_TYPES.issuperset((normal_domain(text) or "").split())
    return kind == WORD or (kind in _CHOICES and normal_domain(text) in _CHOICES[kind])


class JsonContainer:
    """An object or array. ``find``: the member with a name; its second argument is whether its value is an object.
    ``kind``: what the strings in an array are. ``element``: the place of its elements. ``array``: the place if it is an
    array.
    """

    def __init__(
        self, find: Find, kind: str = TEXT, *, array: JsonContainer | None = None, element: JsonContainer | None = None
    ) -> None:
        self.member: Final = find
        self.kind: Final = kind
        self.array: Final = array or self
        self.element: Final = element or self


class MemberPlace(NamedTuple):
    """``is_own``: whether its name is of the documented structure. ``kind``: what its value is if that is a string.
    ``inside``: the place of an object or array. ``in_string``: the place of JSON in a string.
    """

    is_own: bool
    kind: str
    inside: JsonContainer
    in_string: JsonContainer


Find = Callable[[str, bool], MemberPlace]

# --- the documented structure ----------------------------------------------------------------------------------------


def _any(_name: str, _is_object: bool) -> MemberPlace:  # noqa: FBT001 # as all functions of this type
    return _ANY


TEXTS: Final = JsonContainer(_any)
"""Anything that users wrote."""
_ANY: Final[MemberPlace] = MemberPlace(is_own=False, kind=TEXT, inside=TEXTS, in_string=TEXTS)
_WORDS: Final = JsonContainer(_any, WORD)


def _fixed(members: dict[str, MemberPlace], named: Callable[[str], str] = str) -> JsonContainer:
    """An object with documented members. ``named``: gives the name by which a member is documented."""
    return JsonContainer(lambda name, _: members.get(named(name), _ANY))


def _grouped(members: dict[str, MemberPlace]) -> JsonContainer:
    """The properties of a change, or the members of an element of a compound property."""

    def member(name: str, _: object) -> MemberPlace:
        if name in KNOWN_COMPOUND or policies_in(name):
            return _OF_COMPOUND
        source = is_of_source(name)
        return members.get(name, _UNKNOWN) if source is None else _SOURCES[source[1].lower()]

    return JsonContainer(member)


def _compound(*, is_known: bool) -> JsonContainer:
    """A compound property: users gave the names of its members. ``value`` around an array, as in ``{"value": […]}``, is
    Snowflake's; with an object it is a name, as for :mod:`exporter.input.properties`. ``is_known``: only known ones
    are read also if they are in a string, so JSON in a string of another one is a text of users.
    """

    def member(name: str, is_object: bool) -> MemberPlace:  # noqa: FBT001 # as all functions of this type
        return value_member if name == "value" and not is_object else _NAMED

    container = JsonContainer(member, array=JsonContainer(member, element=_ELEMENT))
    value_member = MemberPlace(is_own=True, kind=TEXT, inside=container, in_string=container if is_known else TEXTS)
    return container


def _own(kind: str = TEXT, inside: JsonContainer = TEXTS) -> MemberPlace:
    return MemberPlace(is_own=True, kind=kind, inside=inside, in_string=inside)


def _atomic(kind: str = TEXT) -> MemberPlace:
    """A property whose value may be in ``{"value": …}``."""
    return _own(kind, _fixed({"value": _own(kind)}))


_DOMAIN, _ID = _atomic(DOMAIN), _atomic(ID)
_SOURCES: Final = {"domain": _DOMAIN, "id": _ID, "name": _atomic()}
_OF_GRANT: Final = {
    **dict.fromkeys(("SECURABLE_OBJECT_DOMAIN", "SECURABLE_OBJECT_SCOPE_DOMAIN"), _own(DOMAIN)),
    **dict.fromkeys(("SECURABLE_OBJECT_NAME", "SECURABLE_OBJECT_SCOPE", "ROLES"), _own()),
    "SECURABLE_OBJECT_ID": _own(ID),
    "PRIVILEGES": _own(WORD, _WORDS),
}
_IN_GRANT: Final = _own(TEXT, _fixed(_OF_GRANT, member_of_grant))
_GRANT: Final = _own(TEXT, _fixed({**_OF_GRANT, "value": _IN_GRANT}, member_of_grant))
_ELEMENT: Final = _grouped(
    {
        **dict.fromkeys(("objectName", "tagValue", "value", "comment"), _atomic()),
        "objectId": _ID,
        "subOperationType": _atomic(SUB_OPERATION),
    }
)
_OF_COMPOUND: Final = _own(TEXT, _compound(is_known=True))
_UNKNOWN: Final = MemberPlace(is_own=False, kind=TEXT, inside=_compound(is_known=False), in_string=TEXTS)
_NAMED: Final = MemberPlace(is_own=False, kind=TEXT, inside=_ELEMENT, in_string=TEXTS)
_PROPERTIES: Final = _grouped(
    {
        **dict.fromkeys(KNOWN_PROPERTIES, _atomic()),
        "swapTargetDomain": _DOMAIN,
        "swapTargetId": _ID,
        "grant": _GRANT,
        "revoke": _GRANT,
    }
)

_KINDS: Final = {
    "objectDomain": DOMAIN,
    "stageKind": STAGE_KIND,
    "policyKind": POLICY_KIND,
    "operationType": OPERATION,
    **dict.fromkeys(("joinType", "type"), JOIN),
    "agentType": AGENT,
    "accountName": WORD,
    **dict.fromkeys(("objectId", "columnId", "policyId", "agentId"), ID),
}
"""Members of the documents that are not texts of users."""


def _of_kind(kind: Kind) -> JsonContainer:
    """The place of a value of a kind of the documents."""
    if isinstance(kind, list):
        return _of_kind(kind[0])
    if not isinstance(kind, dict):
        return TEXTS
    inside = {name: _PROPERTIES if name == "properties" else _of_kind(member) for name, member in kind.items()}
    return _fixed({name: _own(_KINDS.get(name, TEXT), container) for name, container in inside.items()})


_WORD_COLUMNS: Final = frozenset(
    ("parent_query_id", "root_query_id", "event_source", "organization_name", "account_name", "account_locator")
)
"""The columns of text in which Snowflake writes ids and words of its own."""


def _columns() -> Iterator[tuple[str, MemberPlace]]:
    for name in (*TEXT_COLUMNS, *JSON_TEXTS):
        yield name, _own()  # a column that is new counts as text that a user wrote
    for name in ("query_id", "query_start_time", *_WORD_COLUMNS, *aggregates.COLUMNS):
        yield name, _own(WORD)
    yield "user_name", _own(USER)
    for name, kind in DOCUMENTED.items():
        yield name, _own(TEXT, _of_kind(kind))


def _column(name: str) -> str:
    return name.strip(" ").lower()


ROW: Final = _fixed(dict(_columns()), _column)
"""A row of either view; columns are found in any letter case."""
OWN_COLUMNS: Final = frozenset(name for name, member in dict(_columns()).items() if member.kind == WORD)
"""The columns with ids, times and accounts: never replaced in a row."""
_NOT_TEXTS: Final = frozenset(
    {
        *(name.lower() for name in _KINDS),
        *(name for name, member in _columns() if member.kind != TEXT),
        *(name.lower() for name, member in _OF_GRANT.items() if member.kind != TEXT),
        *("value", "swaptargetdomain", "swaptargetid", "suboperationtype"),
    }
)


def may_be_no_text(name: str) -> bool:
    """Whether a member with this name is something else than a text of users in any place."""
    return _column(name) in _NOT_TEXTS or is_of_source(name) is not None


# --- where a string of a line is --------------------------------------------------------------------------------------

LITERAL: Final = r"""(?:"(?:[^"\\]|\\.)*+"|'(?:[^'\\]|\\.)*+')"""
_TOKEN: Final = re.compile(rf"(?:({LITERAL})([ \t\r\n]*+:[ \t\r\n]*+)?|[\[\]{{}},])", re.DOTALL)


class StringPlaces:
    """The places in a JSON text. They are looked up in ascending order, so that the text is read once at most.
    ``root``: the place of the text as a whole. ``string_of``: gives the string of a literal.
    """

    def __init__(self, text: str, root: JsonContainer, string_of: Callable[[str], str]) -> None:
        self._text, self._root, self._string = text, root, string_of
        self._at = 0
        self._open: list[JsonContainer] = []
        self._name: str | None = None
        self._nested: tuple[int, int, int, int] | None = None

    def place(self, position: int) -> JsonContainer | None:
        """The object or array in which the string at this position is; None if it is the whole text."""
        for match in _TOKEN.finditer(self._text, self._at, position):
            self._read(match)
        self._at = position
        return self._open[-1] if self._open else None

    def is_outermost(self, position: int) -> bool:
        """Whether a string is directly in the outermost object, if that is seen without reading the text: nothing is
        opened before it, or nothing but that object is closed after it. Brackets in strings only make it False.
        """
        if self._nested is None:
            text = self._text
            first, last = text.find("{"), text.rfind("}")
            openings = [position for position in (text.find("{", first + 1), text.find("[")) if position >= 0]
            last_closing = max(text.rfind("}", 0, max(last, 0)), text.rfind("]"))
            self._nested = first, min(openings, default=len(text)), last_closing, last
        first, opens, closes, last = self._nested
        return first < position < opens or (first >= 0 and closes < position < last)

    def is_text(self, position: int) -> bool:
        """Whether users wrote the number at this position."""
        place = self.place(position) or self._root
        kind = place.kind if self._name is None else place.member(self._string(self._name), False).kind
        return kind == TEXT or kind in _CHOICES

    def _read(self, match: re.Match[str]) -> None:
        literal, colon = match.groups()
        sign = match[0]
        if literal is not None:
            self._name = literal if colon else None
        elif sign in "{[":
            inside = self._inside(is_object=sign == "{")
            self._open.append(inside if sign == "{" else inside.array)
            self._name = None
        elif sign in "}]":
            del self._open[-1:]
            self._name = None
        else:
            self._name = None

    def _inside(self, *, is_object: bool) -> JsonContainer:
        if not self._open:
            return self._root
        if self._name is None:
            return self._open[-1].element
        return self._open[-1].member(self._string(self._name), is_object).inside
