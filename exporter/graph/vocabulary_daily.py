"""Terms that only a graph with ``--reads daily`` uses; :mod:`exporter.graph.vocabulary` includes them with all
others.
"""

from __future__ import annotations

from typing import Final

from exporter.graph.terms import NodeClass, Property, many, maybe, one

_PROPERTIES: Final = (
    one("prov:startedAtTime", "xsd:dateTime"),
    maybe("ah:lastStartedAtTime", "xsd:dateTime"),
    one("ah:queryCount", "xsd:integer"),
    Property("prov:wasAssociatedWith", "prov:Agent", required=True, many=True),
    maybe("ah:roleName"),
    maybe("ah:role", "ah:SnowflakeObject"),
    maybe("ah:accessedObject", "ah:SnowflakeObject"),
    many("prov:used", "ah:Version"),
    maybe("ah:accessPattern", "ah:AccessPattern"),
    many("ah:enforced", "ah:PolicyEnforcement"),
    many("dcterms:hasPart", "ah:DailyReadPart"),
)
DAILY_READ: Final = NodeClass("ah:DailyRead", ("prov:Activity",), _PROPERTIES)
DAILY_READ_PART: Final = NodeClass("ah:DailyReadPart", ("prov:Activity",), _PROPERTIES[:-1])
ACCESS_PATTERN: Final = NodeClass(
    "ah:AccessPattern",
    (),
    (
        one("ah:accessedObject", "ah:SnowflakeObject"),
        many("ah:objectName"),
        Property("ah:accessType", "xsd:string", required=True, many=True),
        many("ah:readColumn", "ah:Column"),
    ),
)
DERIVATION_PATTERN: Final = NodeClass(
    "ah:DerivationPattern",
    (),
    (
        Property("ah:sourceType", "xsd:string", required=True, many=True),
        one("ah:sourceObject", "ah:SnowflakeObject"),
        maybe("ah:sourceName"),
        maybe("ah:sourceColumn", "ah:Column"),
        maybe("ah:viaFunction", "ah:SnowflakeObject"),
        one("ah:targetColumn", "ah:Column"),
        maybe("ah:targetName"),
    ),
)
