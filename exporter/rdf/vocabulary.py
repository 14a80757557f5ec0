"""The one place where a property is added: which term, on which class, from which column, with what values.

The nodes (:mod:`exporter.rdf.nodes`) have these columns, the writer (:mod:`exporter.rdf.turtle`) writes these terms,
and the drift test holds ontology, shapes and JSON-LD context against this table.

``range`` is a datatype (``xsd:…``) for literals, or the class of the thing referred to. ``many`` columns hold arrays.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Mapping

AH: Final = "https://w3id.org/access-history#"
PREFIXES: Final[Mapping[str, str]] = {
    "ah": AH,
    "dcterms": "http://purl.org/dc/terms/",
    "prov": "http://www.w3.org/ns/prov#",
    "rdf": "http://www.w3.org/1999/02/22-rdf-syntax-ns#",
    "rdfs": "http://www.w3.org/2000/01/rdf-schema#",
    "skos": "http://www.w3.org/2004/02/skos/core#",
    "xsd": "http://www.w3.org/2001/XMLSchema#",
}


@dataclass(frozen=True)
class Property:
    """``term`` with the values of ``column``; ``required``: at least one, ``many``: more than one may stand."""

    term: str
    column: str
    range: str
    required: bool = False
    many: bool = False

    @property
    def is_literal(self) -> bool:
        """Whether the values are literals, and not things."""
        return self.range.startswith("xsd:")


@dataclass(frozen=True)
class NodeClass:
    """A class of nodes. ``also``: the classes of others that every node has as well; ``typed``: the class varies by
    row and is given in the column ``types``.
    """

    name: str
    also: tuple[str, ...]
    properties: tuple[Property, ...]
    typed: bool = False


def _one(term: str, column: str, range_: str = "xsd:string") -> Property:
    return Property(term, column, range_, required=True)


def _maybe(term: str, column: str, range_: str = "xsd:string") -> Property:
    return Property(term, column, range_)


def _many(term: str, column: str, range_: str = "xsd:string") -> Property:
    return Property(term, column, range_, many=True)


QUERY: Final = NodeClass(
    "ah:Query",
    ("prov:Activity",),
    (
        _one("ah:queryId", "query_id"),
        _one("prov:startedAtTime", "query_start_time", "xsd:dateTime"),
        _maybe("prov:endedAtTime", "end_time", "xsd:dateTime"),
        Property("prov:wasAssociatedWith", "agent_refs", "prov:Agent", required=True, many=True),
        _many("prov:qualifiedAssociation", "association_refs", "ah:AgentAssociation"),
        _maybe("dcterms:isPartOf", "parent_ref", "ah:Statement"),
        _maybe("ah:rootQuery", "root_ref", "ah:Statement"),
        _many("prov:used", "used_refs", "ah:Version"),
        _many("prov:qualifiedUsage", "access_refs", "ah:Access"),
        _many("ah:enforced", "enforcement_refs", "ah:PolicyEnforcement"),
        _many("ah:hasJoin", "join_refs", "ah:Join"),
        _many("ah:hasChange", "change_refs", "ah:Change"),
        _many("ah:incomplete", "incomplete"),
        _maybe("ah:eventSource", "event_source"),
        _maybe("ah:additionalProperties", "additional_properties"),
        _maybe("ah:invokerIdentity", "invoker_identity"),
        _maybe("ah:organizationName", "organization_name"),
        _maybe("ah:accountName", "account_name"),
        _maybe("ah:accountLocator", "account_locator"),
        _maybe("ah:queryText", "query_text"),
        _maybe("ah:queryType", "query_type"),
        _maybe("ah:queryTag", "query_tag"),
        _maybe("ah:queryParameterizedHash", "query_parameterized_hash"),
        _maybe("ah:sessionId", "session_id"),
        _maybe("ah:roleName", "role_name"),
        _maybe("ah:roleType", "role_type"),
        _maybe("ah:warehouseName", "warehouse_name"),
        _maybe("ah:warehouseSize", "warehouse_size"),
        _maybe("ah:databaseName", "database_name"),
        _maybe("ah:schemaName", "schema_name"),
        _maybe("ah:totalElapsedTime", "total_elapsed_time", "xsd:integer"),
        _maybe("ah:executionStatus", "execution_status"),
        _maybe("ah:bytesScanned", "bytes_scanned", "xsd:integer"),
        _maybe("ah:rowsProduced", "rows_produced", "xsd:integer"),
        _maybe("ah:rowsInserted", "rows_inserted", "xsd:integer"),
        _maybe("ah:rowsUpdated", "rows_updated", "xsd:integer"),
        _maybe("ah:rowsDeleted", "rows_deleted", "xsd:integer"),
    ),
)
UNRECORDED_QUERY: Final = NodeClass("ah:UnrecordedQuery", ("prov:Activity",), (_one("ah:queryId", "query_id"),))
USER: Final = NodeClass("ah:User", ("prov:Agent",), (_one("ah:userName", "user_name"), _one("rdfs:label", "user_name")))
SOFTWARE_AGENT: Final = NodeClass(
    "ah:SoftwareAgent",
    ("prov:SoftwareAgent", "prov:Agent"),
    (
        _maybe("ah:agentType", "agent_type"),
        _maybe("ah:agentId", "agent_id"),
        _many("ah:agentName", "agent_names"),
    ),
)
AGENT_ASSOCIATION: Final = NodeClass(
    "ah:AgentAssociation",
    ("prov:Association",),
    (
        _one("prov:agent", "agent_ref", "ah:SoftwareAgent"),
        _one("ah:position", "position", "xsd:integer"),
    ),
)
OBJECT: Final = NodeClass(
    "ah:SnowflakeObject",
    ("prov:Entity",),
    (
        _maybe("rdfs:label", "label"),
        _one("ah:domain", "domain_label"),
        _maybe("ah:objectId", "object_id"),
        _maybe("ah:canonicalName", "canonical_name"),
        _many("ah:hasName", "name_refs", "ah:ObjectName"),
        _many("ah:sameNameAs", "same_name_refs", "ah:SnowflakeObject"),
        _many("ah:argumentSignature", "argument_signatures"),
        _many("ah:returnType", "data_types"),
        _many("ah:stageKind", "stage_kinds"),
        _many("ah:locationUrl", "locations"),
        _many("ah:owningAccount", "object_accounts"),
    ),
    typed=True,
)
OBJECT_NAME: Final = NodeClass(
    "ah:ObjectName",
    (),
    (
        _one("ah:nameText", "name"),
        _one("ah:validFrom", "valid_from", "xsd:dateTime"),
        _maybe("ah:validUntil", "valid_until", "xsd:dateTime"),
        _one("ah:lastSeen", "last_seen", "xsd:dateTime"),
    ),
)
COLUMN: Final = NodeClass(
    "ah:Column",
    ("prov:Entity",),
    (
        _one("rdfs:label", "column_name"),
        _one("ah:columnName", "column_name"),
        _many("ah:columnId", "column_ids"),
        _one("ah:columnOf", "object_ref", "ah:SnowflakeObject"),
    ),
)
VERSION: Final = NodeClass(
    "ah:Version",
    ("prov:Entity",),
    (
        _one("prov:specializationOf", "object_ref", "ah:SnowflakeObject"),
        _maybe("prov:wasGeneratedBy", "generated_by_ref", "ah:Query"),
        _maybe("prov:generatedAtTime", "generated_at", "xsd:dateTime"),
        _maybe("ah:priorVersion", "prior_ref", "ah:Version"),
        _many("prov:wasDerivedFrom", "derived_refs", "ah:Version"),
        _many("ah:derivedFromBase", "derived_base_refs", "ah:Version"),
        _many("prov:qualifiedDerivation", "derivation_refs", "ah:ColumnDerivation"),
        _many("ah:wroteColumn", "column_refs", "ah:Column"),
        _many("ah:objectName", "object_names"),
        _maybe("ah:policyBody", "policy_body"),
        _maybe("prov:wasInvalidatedBy", "invalidated_by_ref", "ah:Query"),
        _maybe("prov:invalidatedAtTime", "invalidated_at", "xsd:dateTime"),
    ),
    typed=True,
)
ACCESS: Final = NodeClass(
    "ah:Access",
    ("prov:Usage",),
    (
        _one("prov:entity", "version_ref", "ah:Version"),
        _one("ah:accessType", "access"),
        _one("ah:accessedObject", "object_ref", "ah:SnowflakeObject"),
        _maybe("ah:objectName", "object_name"),
        _many("ah:readColumn", "column_refs", "ah:Column"),
    ),
)
COLUMN_DERIVATION: Final = NodeClass(
    "ah:ColumnDerivation",
    ("prov:Derivation",),
    (
        _one("prov:entity", "version_ref", "ah:Version"),
        _one("prov:hadActivity", "query_ref", "ah:Query"),
        _one("ah:sourceType", "source_type"),
        _one("ah:sourceObject", "object_ref", "ah:SnowflakeObject"),
        _maybe("ah:sourceName", "object_name"),
        _maybe("ah:sourceColumn", "source_column_ref", "ah:Column"),
        _maybe("ah:viaFunction", "function_ref", "ah:SnowflakeObject"),
        _one("ah:targetColumn", "target_column_ref", "ah:Column"),
        _maybe("ah:targetName", "target_name"),
    ),
)
POLICY_ENFORCEMENT: Final = NodeClass(
    "ah:PolicyEnforcement",
    (),
    (
        _one("ah:policy", "policy_ref", "ah:SnowflakeObject"),
        _one("ah:policyVersion", "policy_version_ref", "ah:Version"),
        _one("ah:policyKind", "policy_kind"),
        _maybe("ah:policyName", "policy_name"),
        _one("ah:protectedObject", "object_ref", "ah:SnowflakeObject"),
        _maybe("ah:objectName", "object_name"),
        _maybe("ah:protectedColumn", "column_ref", "ah:Column"),
        _one("ah:setByProvider", "provider", "xsd:boolean"),
    ),
)
JOIN: Final = NodeClass(
    "ah:Join",
    (),
    (
        _one("ah:leftObject", "left_ref", "ah:SnowflakeObject"),
        _maybe("ah:leftName", "left_name"),
        _maybe("ah:joinType", "join_type"),
        _one("ah:rightObject", "right_ref", "ah:SnowflakeObject"),
        _maybe("ah:rightName", "object_name"),
    ),
)
CHANGE: Final = NodeClass(
    "ah:Change",
    ("prov:Activity",),
    (
        _one("dcterms:isPartOf", "query_ref", "ah:Query"),
        _one("prov:startedAtTime", "query_start_time", "xsd:dateTime"),
        _one("ah:operation", "operation"),
        _one("ah:changedObject", "object_ref", "ah:SnowflakeObject"),
        _maybe("ah:objectName", "object_name"),
        _maybe("ah:newName", "new_name"),
        _maybe("ah:swappedWith", "swap_ref", "ah:SnowflakeObject"),
        _maybe("ah:swappedWithName", "swap_name"),
        _maybe("ah:madeFrom", "source_ref", "ah:SnowflakeObject"),
        _maybe("ah:madeFromName", "source_name"),
        _maybe("ah:policyBody", "policy_body"),
        _maybe("ah:comment", "comment"),
        _maybe("ah:properties", "properties"),
        _many("ah:hasSetting", "setting_refs", "ah:Setting"),
    ),
)
SETTING: Final = NodeClass(
    "ah:Setting",
    (),
    (
        _one("ah:property", "property"),
        _one("ah:settingOn", "object_ref", "ah:SnowflakeObject"),
        _maybe("ah:onColumn", "column_ref", "ah:Column"),
        _maybe("ah:element", "element"),
        _maybe("ah:elementObject", "element_ref", "ah:SnowflakeObject"),
        _maybe("ah:elementId", "element_id"),
        _maybe("ah:subOperation", "sub_operation"),
        _maybe("ah:value", "value"),
    ),
    typed=True,
)

NODE_CLASSES: Final = (
    QUERY,
    UNRECORDED_QUERY,
    USER,
    SOFTWARE_AGENT,
    AGENT_ASSOCIATION,
    OBJECT,
    OBJECT_NAME,
    COLUMN,
    VERSION,
    ACCESS,
    COLUMN_DERIVATION,
    POLICY_ENFORCEMENT,
    JOIN,
    CHANGE,
    SETTING,
)

KIND_CLASSES: Final[Mapping[str, tuple[str, ...]]] = {
    "table": ("ah:Table",),
    "view": ("ah:View",),
    "stage": ("ah:Stage",),
    "table-stage": ("ah:TableStage", "ah:Stage"),
    "user-stage": ("ah:UserStage", "ah:Stage"),
    "stream": ("ah:Stream",),
    "function": ("ah:Function",),
    "procedure": ("ah:Procedure",),
    "sequence": ("ah:Sequence",),
    "database": ("ah:Database",),
    "schema": ("ah:Schema",),
    "tag": ("ah:Tag", "skos:ConceptScheme"),
    "masking-policy": ("ah:MaskingPolicy", "ah:Policy"),
    "row-access-policy": ("ah:RowAccessPolicy", "ah:Policy"),
    "share": ("ah:Share",),
    "listing": ("ah:Listing",),
    "role": ("ah:Role",),
    "location": ("ah:Location",),
}
"""The classes of an object by its kind; a kind that is not here (or ends in ``-policy``) is an ah:SnowflakeObject
(ah:Policy)."""

DOMAIN_CLASSES: Final[Mapping[str, str]] = {
    "EXTERNAL TABLE": "ah:ExternalTable",
    "DYNAMIC TABLE": "ah:DynamicTable",
    "ICEBERG TABLE": "ah:IcebergTable",
    "HYBRID TABLE": "ah:HybridTable",
    "EVENT TABLE": "ah:EventTable",
    "MATERIALIZED VIEW": "ah:MaterializedView",
    "EXTERNAL FUNCTION": "ah:ExternalFunction",
}
"""The exact class where the rows show a domain that is a special case of its kind."""

SETTING_CLASSES: Final[Mapping[str, str]] = {
    "tags": "ah:TagSetting",
    "maskingPolicies": "ah:PolicySetting",
    "rowAccessPolicies": "ah:PolicySetting",
    "columns": "ah:ColumnSetting",
    "allowedValues": "ah:AllowedValueSetting",
}
"""The class of a setting by the property that it sets; an atomic property is an ah:PropertySetting, another compound
one an ah:Setting."""

VERSION_CLASSES: Final[Mapping[bool, tuple[str, ...]]] = {
    True: ("ah:Version", "prov:Entity"),
    False: ("ah:UnrecordedVersion", "ah:Version", "prov:Entity"),
}
"""The classes of a version: whether a query on record made it, or it is only known to have been there."""
