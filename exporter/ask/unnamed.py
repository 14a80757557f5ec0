"""Which answers a change or a policy without name and id can concern, by the kind that its row gives."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

from exporter.ask.shipped import is_shipped
from exporter.model.identifiers import FUNCTIONS, normal_domain
from exporter.model.incomplete import KNOWN_DOMAINS, OF_ALL_ANSWERS, UNNAMED

if TYPE_CHECKING:
    from exporter.ask.asked import Asked

_MASKS: Final = frozenset({"MASKING POLICY", "POLICY"})
_OF_MASKS: Final = frozenset({"agent-reads", "masking-policies", "unmasked-copies", "unmasked-reads"})
_BY_MASK: Final = _OF_MASKS | {"policy-coverage"}
_OF_OBJECTS: Final = frozenset({"changes", "former-names", "policy-coverage", "tag-history"})
"""Questions about objects of any kind: what was done to them, and which tags they have."""
_BY_TAG: Final = frozenset({"policy-coverage", "tag-history", "tag-reach", "unmasked-copies", "unmasked-reads"})
_BY_GRANT: Final = frozenset({"agent-reads", "end-up", "exposure"})
_GRANTEES: Final = frozenset(
    {"APPLICATION", "APPLICATION ROLE", "DATABASE ROLE", "INSTANCE ROLE", "LISTING", "ROLE", "SHARE", "USER"}
)

_GRANTED: Final = frozenset({*FUNCTIONS, "CORTEX SEARCH SERVICE", "MODEL"})
"""Kinds beside :data:`OF_ALL_ANSWERS` of which objects can be granted to a share."""


def reasons(asked: Asked, place: str) -> Iterator[str]:
    """The reasons of ``ah:incomplete`` at a place of the row that say of something without a name, of which the row
    gives the kind, that the answer can lack what it did: ``UNNAMED TAG`` … Of a page or a user's own question nothing
    is known but its needs.
    """
    concerns = _changed if place == "object_modified_by_ddl" else _enforced
    for kind in sorted(KNOWN_DOMAINS - OF_ALL_ANSWERS):
        if not is_shipped(asked.question) or concerns(asked, kind):
            yield f"{UNNAMED} {kind}"


def _enforced(asked: Asked, kind: str) -> bool:
    """Whether an answer about what was enforced is about policies of this kind."""
    if asked.name == "row-access-policies":
        return kind in {"ROW ACCESS POLICY", "POLICY"}
    return kind.endswith("POLICY") and (asked.name not in _OF_MASKS or kind in _MASKS)


def _changed(asked: Asked, kind: str) -> bool:
    """Whether a change of an object of this kind can make a difference to an answer."""
    if kind.endswith("POLICY"):
        acts_on = _BY_MASK if kind in _MASKS else frozenset({"policy-coverage"})
    elif kind == "TAG":
        acts_on = _BY_TAG
    else:
        acts_on = _BY_GRANT if kind in _GRANTEES else frozenset()
    is_of_objects = asked.name in _OF_OBJECTS or (asked.name == "exposure" and kind in _GRANTED)
    return asked.name in acts_on or (is_of_objects and _is_asked_for(asked, kind))


def _is_asked_for(asked: Asked, kind: str) -> bool:
    """Whether the answer is about objects of this kind, too: about all, or one of the kind."""
    return not asked.things or any(
        normal_domain(asked.graph.text(thing, "ah:domain")) == kind for thing in asked.things
    )
