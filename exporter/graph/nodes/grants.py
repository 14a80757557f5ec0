"""Nodes of grants: a privilege on an object, a role or a share, to whom it was given, and until when."""

from __future__ import annotations

from typing import TYPE_CHECKING

from exporter.graph.terms import Node
from exporter.graph.vocabulary import GRANT
from exporter.queries.grants import GRANTED, held_as, path_of

if TYPE_CHECKING:
    from exporter.graph.nodes.told import Told
    from exporter.graph.terms import Values
    from exporter.queries.facts import Change, Grant, Thing


def grants(change: Change, change_iri: str, told: Told) -> list[Node]:
    """``CHANGE/granted/PATH``, one entity for each grant that the change makes. A revoke makes no node: it is the end
    of an earlier grant.
    """
    return [
        Node(GRANT, f"{change_iri}/{GRANTED}{path_of(grant)}", GRANT.types, _grant(change, grant, grant.grantee, told))
        for grant in change.grants
        if not grant.is_revoked and grant.grantee is not None
    ]


def _grant(change: Change, grant: Grant, grantee: Thing, told: Told) -> Values:
    values: Values = {
        "prov:wasGeneratedBy": (told.query,),
        "ah:grantedObject": (told.iris.object(grant.thing.key),),
    }
    said = {"ah:objectName": grant.thing.name, "ah:onAll": grant.on_all, "ah:privilege": grant.privilege}
    values.update({term: (value,) for term, value in said.items() if value is not None})
    values["ah:grantee"] = (told.iris.object(grantee.key),)
    if grantee.name is not None:
        values["ah:granteeName"] = (grantee.name,)
    values["ah:grantedTo"] = (grantee.domain or grantee.kind.upper(),)
    values["ah:validFrom"] = (told.start,)
    until = told.answers.settings.get((change.change_key, None, *held_as(grant, change.thing)))
    if until is not None:
        values["ah:validUntil"] = (until,)
    return values
