"""Grants: the privileges, roles and shares that a change grants or revokes.

The view records GRANT and REVOKE of a share in the properties ``grant`` and ``revoke``, as JSON with PRIVILEGES, ROLES
and SECURABLE_OBJECT_…. The accounts of a share are in ``accountsToAdd``, ``accountsToRemove`` and ``accountsToSet``
(view, "GRANT TO SHARE or REVOKE FROM SHARE properties", "CREATE or ALTER SHARE properties").
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator
from typing import Final

import msgspec
from msgspec import Raw

from exporter.input.properties import MEMBERS_OF_GRANT, Properties, as_text, member_of_grant
from exporter.model.facts import Grant, ObjectReference
from exporter.model.identifiers import TRUNCATED, is_qualified, normal_domain, segment, usable_id
from exporter.model.objects import containers, known_text, reference_of

GRANTED: Final = "granted/"
"""Prefix of the property name under which a grant is kept among the settings of an object."""
ANY: Final = "\0"
"""Stands in a path for all privileges, or for all grantees; it cannot occur in a segment."""
_ON_ALL: Final = "/on-all/"
_GRANTEES: Final = frozenset(
    ("share", "role", "database-role", "application", "application-role", "instance-role", "user-object")
)
"""Kinds of grantees. A change of such an object grants something to it; a change of another object grants access to
that object.
"""
_ALL: Final = ("ALL", "ALL PRIVILEGES")
_ACCOUNTS: Final = {"accountsToSet": False, "accountsToAdd": False, "accountsToRemove": True}
"""The properties with the accounts of a share -> whether they revoke."""
_OF_GRANTS: Final = ("grant", "revoke")
"""The properties with privileges and roles."""
_OPERATIONS: Final = ("GRANT", "REVOKE")
_SENTINEL: Final = f'"{TRUNCATED}"'
_SEVERAL: Final = ("PRIVILEGES", "ROLES")
"""The members of a grant that have several values."""
_elements: Final = msgspec.json.Decoder(list[dict[str, Raw] | None] | dict[str, Raw]).decode
_several: Final = msgspec.json.Decoder(list[Raw]).decode
_quoted: Final = re.compile('"[^"]*"')
_parts: Final = re.compile(
    rf"{GRANTED}privilege/(?P<privilege>[^/]+)/(?P<place>on.*)/to/(?P<grantee>.+)", re.DOTALL
).fullmatch


def grants(changed: ObjectReference, properties: Properties) -> tuple[Grant, ...]:
    """What a change of this object grants and revokes, once each, sorted. A grant without an object or grantee is left
    out; its JSON stays in the settings.
    """
    unique = {*_grants(changed, properties), *_to_accounts(changed, properties)}
    return tuple(sorted(unique, key=lambda grant: (not grant.is_revoked, grant_path(grant))))


def setting_of_grant(grant: Grant, changed: ObjectReference) -> tuple[str, str]:
    """A grant as a setting of the changed object: property name, and element (the key of the other object). It holds
    until the same setting occurs again, or until one of the two objects is dropped.
    """
    other = grant.grantee if grant.thing.key == changed.key else grant.thing
    return f"{GRANTED}{grant_path(grant)}", "" if other is None else other.key


def grant_path(grant: Grant) -> str:
    """The key of a grant within its change: ``privilege/SELECT/on/VIEW/to/SHARE``, ``of/ROLE/to/SHARE``, and for all
    objects in a schema ``privilege/SELECT/on-all/TABLE/in/SCHEMA/to/SHARE``.
    """
    place = "/on/" if grant.on_all is None else f"{_ON_ALL}{segment(grant.on_all)}/in/"
    granted = "of/" if grant.privilege is None else f"privilege/{_privilege(grant.privilege)}{place}"
    return f"{granted}{grant.thing.key}/to/{ANY if grant.grantee is None else grant.grantee.key}"


def covering_revokes(grant: Grant) -> tuple[str, ...]:
    """The paths of the REVOKE … ON ALL that also end a grant: for a table ``on-all/TABLE/in/schema/name/D.S`` and
    ``on-all/TABLE/in/database/name/D``. Derived from the name in the grant; empty if the row gives only an id.
    """
    kind, name = grant.on_all or grant.thing.domain, grant.thing.name
    if kind is None or name is None:
        return ()
    return tuple(f"{_ON_ALL[1:]}{segment(kind)}/in/{inside.key}" for inside in containers(grant.thing.kind, name))


def is_of_several(revoked: str) -> bool:
    """Whether a revoke can end several grants, and not only the one with the same path."""
    return ANY in revoked or _ON_ALL in revoked


def ends_grant(revoked: str, granted: str, covered: Iterable[str]) -> bool:
    """Whether a revoke ends a grant (both as property names of :func:`setting_of_grant`). ``covered``: the result of
    :func:`covering_revokes` for the grant. The privilege must be the same or all, the object the same or covered by an
    ON ALL.
    """
    match, other = _parts(revoked), _parts(granted)
    if match is None or other is None:
        return _is_like(revoked, granted)
    is_of = _is_like(match["privilege"], other["privilege"]) and match["grantee"] == other["grantee"]
    return is_of and (match["place"] == other["place"] or match["place"] in covered)


def _is_like(revoked: str, granted: str) -> bool:
    """Whether the texts are equal; :data:`ANY` in ``revoked`` matches any text."""
    begins, is_any, ends = revoked.partition(ANY)
    return granted.startswith(begins) and granted.endswith(ends) if is_any else granted == revoked


def _privilege(privilege: str) -> str:
    return ANY if privilege == ANY else segment(privilege)


def json_grants(text: str) -> list[dict[str, Raw]]:
    """The JSON members of each grant in a property's value by their documented names; empty if the value is not such
    JSON.
    """
    return [_documented(raws) for raws in _grant_documents(text)]


def _grant_documents(text: str) -> list[dict[str, Raw]]:
    try:
        decoded = _elements(text)
    except (msgspec.DecodeError, RecursionError):
        return []
    return [document or {} for document in (decoded if isinstance(decoded, list) else [decoded])]


def _documented(raws: dict[str, Raw]) -> dict[str, Raw]:
    """The members by their documented names, also if they are in another letter case. Of several spellings the
    documented one counts, or none.
    """
    spellings = Counter(map(member_of_grant, raws))
    return {
        member_of_grant(name): raw
        for name, raw in raws.items()
        if name in MEMBERS_OF_GRANT or spellings[member_of_grant(name)] == 1
    }


def are_cut(properties: Properties) -> bool:
    """Whether Snowflake cut something in a grant, a revoke or a list of accounts: a text, or the id of the object,
    which is -1 then. Their JSON can be in a string, where its quotes are escaped.
    """
    texts = [properties.atoms.get(name) or "" for name in (*_OF_GRANTS, *_ACCOUNTS)]
    return any(_SENTINEL in text or any(map(_is_object_cut, json_grants(text))) for text in texts)


def unknown_forms(changed: ObjectReference, operation: str, properties: Properties) -> Iterator[str]:
    """The paths of what is not understood in grants and accounts, and of what a GRANT or REVOKE lacks. What Snowflake
    cut is left out.
    """
    if operation in _OPERATIONS and properties.normal != TRUNCATED and not _says_what(properties):
        yield operation.lower()
    for name in _OF_GRANTS:
        text = known_text(properties.atoms.get(name))
        if text is None or text in {"{}", "[]"}:
            continue
        documents = _grant_documents(text)
        unknown = [f"{name}.{member}" for document in documents for member in _unknown_members(document)]
        is_understood = any(documents) and all(
            _is_understood(changed, document) for document in json_grants(text) if document
        )
        yield from unknown or ([] if is_understood else [name])
    for name in _ACCOUNTS:
        given = properties.atoms.get(name)
        if given is not None and any(
            account_name != TRUNCATED and _account(account_name) is None for account_name in _listed(given)
        ):
            yield name


def _says_what(properties: Properties) -> bool:
    """Whether there is anything that is granted or revoked."""
    return any(properties.atoms.get(name) not in {None, "", "{}", "[]"} for name in (*_OF_GRANTS, *_ACCOUNTS))


def _is_understood(changed: ObjectReference, raws: dict[str, Raw]) -> bool:
    is_cut = _is_object_cut(raws) or any(_SENTINEL in bytes(raw).decode() for raw in raws.values())
    return is_cut or (any(_of_one(changed, raws, is_revoked=False)) and not _lacks_text(raws))


def _lacks_text(raws: dict[str, Raw]) -> bool:
    """Whether an empty text is in the place of the kind or name of an object that the grant gives, or of a privilege or
    role. Where the grant gives none of these, an empty text says no more than a missing one.
    """
    given = {name: bytes(raw) for name, raw in raws.items()}
    blank = {name for name, value in given.items() if _is_blank(value)}
    ident = raws.get("SECURABLE_OBJECT_ID")
    has_id = ident is not None and usable_id(as_text(ident)) is not None
    has_name = "SECURABLE_OBJECT_NAME" in given.keys() - blank
    lacks_kind = "SECURABLE_OBJECT_DOMAIN" in blank and (has_id or has_name)
    lists = (_several(given[name]) for name in _SEVERAL if given.get(name, b"").startswith(b"["))
    lacks_one = any(_is_blank(bytes(element)) for elements in lists for element in elements)
    return lacks_kind or (has_id and "SECURABLE_OBJECT_NAME" in blank) or lacks_one


def _is_blank(value: bytes) -> bool:
    return value.startswith(b'"') and not value.strip(b'" ')


def _unknown_members(raws: dict[str, Raw]) -> Iterator[str]:
    """The members that the documents do not have, or that have a value of another type."""
    for name, raw in raws.items():
        value = bytes(raw)
        is_id = name == "SECURABLE_OBJECT_ID" and value[:1] not in b"{[tf"
        is_known = value.startswith(b'"') or is_id or (name in _SEVERAL and _is_of_names(value))
        if value != b"null" and not (name in MEMBERS_OF_GRANT and is_known):
            yield name


def _is_of_names(value: bytes) -> bool:
    """Whether the value is a JSON array of strings."""
    try:
        return value.startswith(b"[") and all(bytes(raw).startswith(b'"') for raw in _several(value))
    except (msgspec.DecodeError, RecursionError):
        return False


def _names(raw: Raw | None) -> list[str]:
    """The names in a JSON array, or the one name that is given as a string."""
    if raw is None:
        return []
    data = bytes(raw)
    raws = _several(data) if data.startswith(b"[") else [raw]
    names = [known_text(as_text(raw)) for raw in raws if bytes(raw).startswith(b'"')]
    return [name for name in names if name is not None]


# --- privileges and roles ---------------------------------------------------------------------------------------------


def _grants(changed: ObjectReference, properties: Properties) -> Iterator[Grant]:
    for name in _OF_GRANTS:
        for json_grant in json_grants(properties.atoms.get(name) or ""):
            yield from _of_one(changed, json_grant, is_revoked=name == "revoke")


def _of_one(changed: ObjectReference, raws: dict[str, Raw], *, is_revoked: bool) -> Iterator[Grant]:
    thing, on_all = _securable(raws)
    is_cut = thing is None and _is_object_cut(raws)
    roles = [role for role in map(_role, _names(raws.get("ROLES"))) if role is not None]
    spelled = [" ".join(name.split()).upper() for name in _names(raws.get("PRIVILEGES"))]
    # A revoke of ALL revokes every privilege.
    privileges = [ANY if is_revoked and privilege in _ALL else privilege for privilege in spelled if privilege]
    if changed.kind in _GRANTEES:
        yield from (Grant(None, role, None, changed, is_revoked) for role in roles)
        pairs = [] if thing is None else [(thing, changed)]
    else:
        pairs = [] if is_cut else [(thing or changed, role) for role in roles]
    yield from (Grant(privilege, on, on_all, grantee, is_revoked) for on, grantee in pairs for privilege in privileges)


def _securable(raws: dict[str, Raw]) -> tuple[ObjectReference | None, str | None]:
    """The object on which a privilege is granted and None; or a schema or database, and the domain of all objects in it
    on which it is granted.
    """

    def field(name: str) -> str | None:
        raw = raws.get(f"SECURABLE_OBJECT_{name}")
        is_text = raw is not None and (bytes(raw).startswith(b'"') or name == "ID")
        return as_text(raw) if raw is not None and is_text else None

    domain = field("DOMAIN")
    thing = reference_of(domain, field("ID"), field("NAME"))
    if thing is not None:
        return thing, None
    kind = None if _is_object_cut(raws) else normal_domain(domain)
    return (None, None) if kind is None else (reference_of(field("SCOPE_DOMAIN"), None, field("SCOPE")), kind)


def _is_object_cut(raws: dict[str, Raw]) -> bool:
    """Whether Snowflake cut the name or the id of the object: then the grant is not on all objects of a place."""
    given = {name: as_text(raws[name]) for name in ("SECURABLE_OBJECT_ID", "SECURABLE_OBJECT_NAME") if name in raws}
    return given.get("SECURABLE_OBJECT_ID") in {"-1", TRUNCATED} or given.get("SECURABLE_OBJECT_NAME") == TRUNCATED


def _role(name: str) -> ObjectReference | None:
    """A role of the account; a qualified name is a database role."""
    return reference_of("DATABASE ROLE" if is_qualified(name) else "ROLE", None, name)


# --- accounts that a share is open to ---------------------------------------------------------------------------------


def _to_accounts(changed: ObjectReference, properties: Properties) -> Iterator[Grant]:
    """The accounts added to and removed from a share. ``accountsToSet`` first removes all accounts, unless some of its
    accounts are not known: any account can be one of them.
    """
    if changed.kind != "share":
        return
    for name, is_revoked in _ACCOUNTS.items():
        text = properties.atoms.get(name)
        if text is None:
            continue
        accounts = [_account(account_name) for account_name in _listed(text)]
        if name == "accountsToSet" and None not in accounts:
            yield Grant(None, changed, None, None, is_revoked=True)
        yield from (Grant(None, changed, None, account, is_revoked) for account in accounts if account is not None)


def _listed(text: str) -> list[str | None]:
    """The texts in a JSON array, None for its other elements; any other text is the only one, but JSON is none."""
    if not text.startswith(("{", "[")):
        return [text]
    try:
        return [as_text(raw) if bytes(raw).startswith(b'"') else None for raw in _several(text)]
    except (msgspec.DecodeError, RecursionError):
        return [None]


def _account(text: str | None) -> ObjectReference | None:
    """The account that a text names; None if it names none, or several with commas, or Snowflake cut it."""
    are_several = text is not None and "," in _quoted.sub("", text)
    return None if are_several else reference_of("ACCOUNT", None, text)
