"""The one place where a property is added: which term, on which class, from which column, with what values.

The nodes (:mod:`exporter.rdf.nodes`) have these columns, the writer (:mod:`exporter.rdf.turtle`) writes these terms,
and the drift test holds ontology, shapes and JSON-LD context against this table.

``range`` is a datatype (``xsd:…``) for literals, or the class of the thing referred to: what may be a location outside
of Snowflake is an ``ah:SnowflakeObject``, and is written as the IRI that it has. ``many`` columns hold arrays.
"""

from __future__ import annotations

from typing import Final

from exporter.rdf.terms import NodeClass, Property, many, maybe, one

QUERY: Final = NodeClass(
    "ah:Query",
    ("prov:Activity",),
    (
        one("ah:queryId", "query_id"),
        one("prov:startedAtTime", "query_start_time", "xsd:dateTime"),
        maybe("prov:endedAtTime", "end_time", "xsd:dateTime"),
        Property("prov:wasAssociatedWith", "agent_refs", "prov:Agent", required=True, many=True),
        many("prov:qualifiedAssociation", "association_refs", "ah:AgentAssociation"),
        maybe("dcterms:isPartOf", "parent_ref", "ah:Statement"),
        maybe("ah:rootQuery", "root_ref", "ah:Statement"),
        many("prov:used", "used_refs", "ah:Version"),
        many("prov:qualifiedUsage", "access_refs", "ah:Access"),
        many("ah:enforced", "enforcement_refs", "ah:PolicyEnforcement"),
        many("ah:hasJoin", "join_refs", "ah:Join"),
        many("ah:hasChange", "change_refs", "ah:Change"),
        many("ah:incomplete", "incomplete"),
        maybe("ah:eventSource", "event_source"),
        maybe("ah:additionalProperties", "additional_properties"),
        maybe("ah:invokerIdentity", "invoker_identity"),
        maybe("ah:account", "account_ref", "ah:Account"),
        maybe("ah:organizationName", "organization_name"),
        maybe("ah:accountName", "account_name"),
        maybe("ah:accountLocator", "account_locator"),
        maybe("ah:queryText", "query_text"),
        maybe("ah:queryType", "query_type"),
        maybe("ah:queryTag", "query_tag"),
        maybe("ah:queryParameterizedHash", "query_parameterized_hash"),
        maybe("ah:sessionId", "session_id"),
        maybe("ah:roleName", "role_name"),
        maybe("ah:roleType", "role_type"),
        maybe("ah:warehouseName", "warehouse_name"),
        maybe("ah:warehouseSize", "warehouse_size"),
        maybe("ah:databaseName", "database_name"),
        maybe("ah:schemaName", "schema_name"),
        maybe("ah:totalElapsedTime", "total_elapsed_time", "xsd:integer"),
        maybe("ah:executionStatus", "execution_status"),
        maybe("ah:bytesScanned", "bytes_scanned", "xsd:integer"),
        maybe("ah:rowsProduced", "rows_produced", "xsd:integer"),
        maybe("ah:rowsInserted", "rows_inserted", "xsd:integer"),
        maybe("ah:rowsUpdated", "rows_updated", "xsd:integer"),
        maybe("ah:rowsDeleted", "rows_deleted", "xsd:integer"),
    ),
)
UNRECORDED_QUERY: Final = NodeClass("ah:UnrecordedQuery", ("prov:Activity",), (one("ah:queryId", "query_id"),))
ACCOUNT: Final = NodeClass(
    "ah:Account",
    (),
    (
        one("rdfs:label", "account"),
        many("ah:accountName", "account_names"),
        many("ah:accountLocator", "account_locators"),
        many("ah:memberOf", "organization_refs", "ah:Organization"),
    ),
)
ORGANIZATION: Final = NodeClass(
    "ah:Organization",
    ("prov:Organization", "prov:Agent"),
    (one("rdfs:label", "organization_name"), one("ah:organizationName", "organization_name")),
)
USER: Final = NodeClass("ah:User", ("prov:Agent",), (one("ah:userName", "user_name"), one("rdfs:label", "user_name")))
SOFTWARE_AGENT: Final = NodeClass(
    "ah:SoftwareAgent",
    ("prov:SoftwareAgent", "prov:Agent"),
    (
        maybe("ah:agentType", "agent_type"),
        maybe("ah:agentId", "agent_id"),
        many("ah:agentName", "agent_names"),
    ),
)
AGENT_ASSOCIATION: Final = NodeClass(
    "ah:AgentAssociation",
    ("prov:Association",),
    (
        one("prov:agent", "agent_ref", "ah:SoftwareAgent"),
        one("ah:position", "position", "xsd:integer"),
    ),
)
OBJECT: Final = NodeClass(
    "ah:SnowflakeObject",
    ("prov:Entity",),
    (
        maybe("rdfs:label", "label"),
        one("ah:domain", "domain_label"),
        maybe("ah:objectId", "object_id"),
        maybe("ah:canonicalName", "canonical_name"),
        many("ah:hasName", "name_refs", "ah:ObjectName"),
        many("ah:sameNameAs", "same_name_refs", "ah:SnowflakeObject"),
        many("ah:argumentSignature", "argument_signatures"),
        many("ah:returnType", "data_types"),
        many("ah:stageKind", "stage_kinds"),
        many("ah:locationUrl", "locations"),
        many("ah:owningAccount", "object_accounts"),
        many("ah:account", "account_refs", "ah:Account"),
    ),
    typed=True,
)
OBJECT_NAME: Final = NodeClass(
    "ah:ObjectName",
    (),
    (
        one("ah:nameText", "name"),
        one("ah:validFrom", "valid_from", "xsd:dateTime"),
        maybe("ah:validUntil", "valid_until", "xsd:dateTime"),
        one("ah:lastSeen", "last_seen", "xsd:dateTime"),
    ),
)
COLUMN: Final = NodeClass(
    "ah:Column",
    ("prov:Entity",),
    (
        one("rdfs:label", "column_name"),
        one("ah:columnName", "column_name"),
        many("ah:columnId", "column_ids"),
        one("ah:columnOf", "object_ref", "ah:SnowflakeObject"),
        many("ah:renamedFrom", "renamed_from_refs", "ah:Column"),
    ),
)
VERSION: Final = NodeClass(
    "ah:Version",
    ("prov:Entity",),
    (
        one("prov:specializationOf", "object_ref", "ah:SnowflakeObject"),
        maybe("prov:wasGeneratedBy", "generated_by_ref", "ah:Query"),
        maybe("prov:generatedAtTime", "generated_at", "xsd:dateTime"),
        maybe("ah:validUntil", "valid_until", "xsd:dateTime"),
        maybe("ah:priorVersion", "prior_ref", "ah:Version"),
        many("prov:wasDerivedFrom", "derived_refs", "ah:Version"),
        many("ah:derivedFromBase", "derived_base_refs", "ah:Version"),
        many("prov:qualifiedDerivation", "derivation_refs", "ah:ColumnDerivation"),
        many("ah:wroteColumn", "column_refs", "ah:Column"),
        many("ah:objectName", "object_names"),
        maybe("ah:policyBody", "policy_body"),
        maybe("prov:wasInvalidatedBy", "invalidated_by_ref", "ah:Query"),
        maybe("prov:invalidatedAtTime", "invalidated_at", "xsd:dateTime"),
    ),
    typed=True,
)
COLUMN_VERSION: Final = NodeClass(
    "ah:ColumnVersion",
    ("prov:Entity",),
    (
        one("prov:specializationOf", "column_ref", "ah:Column"),
        one("dcterms:isPartOf", "version_ref", "ah:Version"),
        maybe("prov:wasGeneratedBy", "generated_by_ref", "ah:Query"),
        maybe("ah:priorColumnVersion", "prior_ref", "ah:ColumnVersion"),
        many("prov:wasDerivedFrom", "derived_refs", "ah:ColumnVersion"),
    ),
    typed=True,
)
ACCESS: Final = NodeClass(
    "ah:Access",
    ("prov:Usage",),
    (
        one("prov:entity", "version_ref", "ah:Version"),
        one("ah:accessType", "access"),
        one("ah:accessedObject", "object_ref", "ah:SnowflakeObject"),
        maybe("ah:objectName", "object_name"),
        many("ah:readColumn", "column_refs", "ah:Column"),
    ),
)
COLUMN_DERIVATION: Final = NodeClass(
    "ah:ColumnDerivation",
    ("prov:Derivation",),
    (
        one("prov:entity", "version_ref", "ah:Version"),
        one("prov:hadActivity", "query_ref", "ah:Query"),
        one("ah:sourceType", "source_type"),
        one("ah:sourceObject", "object_ref", "ah:SnowflakeObject"),
        maybe("ah:sourceName", "object_name"),
        maybe("ah:sourceColumn", "source_column_ref", "ah:Column"),
        maybe("ah:sourceColumnVersion", "source_column_version_ref", "ah:ColumnVersion"),
        maybe("ah:viaFunction", "function_ref", "ah:SnowflakeObject"),
        one("ah:targetColumn", "target_column_ref", "ah:Column"),
        one("ah:targetColumnVersion", "target_column_version_ref", "ah:ColumnVersion"),
        maybe("ah:targetName", "target_name"),
    ),
)
POLICY_ENFORCEMENT: Final = NodeClass(
    "ah:PolicyEnforcement",
    (),
    (
        one("ah:policy", "policy_ref", "ah:SnowflakeObject"),
        one("ah:policyVersion", "policy_version_ref", "ah:Version"),
        one("ah:policyKind", "policy_kind"),
        maybe("ah:policyName", "policy_name"),
        one("ah:protectedObject", "object_ref", "ah:SnowflakeObject"),
        maybe("ah:objectName", "object_name"),
        maybe("ah:protectedColumn", "column_ref", "ah:Column"),
        one("ah:setByProvider", "provider", "xsd:boolean"),
    ),
)
JOIN: Final = NodeClass(
    "ah:Join",
    (),
    (
        one("ah:leftObject", "left_ref", "ah:SnowflakeObject"),
        maybe("ah:leftName", "left_name"),
        maybe("ah:joinType", "join_type"),
        one("ah:rightObject", "right_ref", "ah:SnowflakeObject"),
        maybe("ah:rightName", "object_name"),
    ),
)
CHANGE: Final = NodeClass(
    "ah:Change",
    ("prov:Activity",),
    (
        one("dcterms:isPartOf", "query_ref", "ah:Query"),
        one("prov:startedAtTime", "query_start_time", "xsd:dateTime"),
        one("ah:operation", "operation"),
        one("ah:changedObject", "object_ref", "ah:SnowflakeObject"),
        maybe("ah:objectName", "object_name"),
        maybe("ah:newName", "new_name"),
        maybe("ah:swappedWith", "swap_ref", "ah:SnowflakeObject"),
        maybe("ah:swappedWithName", "swap_name"),
        maybe("ah:madeFrom", "source_ref", "ah:SnowflakeObject"),
        maybe("ah:madeFromName", "source_name"),
        maybe("ah:policyBody", "policy_body"),
        maybe("ah:comment", "comment"),
        maybe("ah:properties", "properties"),
        many("ah:hasSetting", "setting_refs", "ah:Setting"),
    ),
)
SETTING: Final = NodeClass(
    "ah:Setting",
    (),
    (
        one("ah:property", "property"),
        one("ah:settingOn", "object_ref", "ah:SnowflakeObject"),
        maybe("ah:onColumn", "column_ref", "ah:Column"),
        maybe("ah:element", "element"),
        maybe("ah:elementObject", "element_ref", "ah:SnowflakeObject"),
        maybe("ah:elementId", "element_id"),
        maybe("ah:subOperation", "sub_operation"),
        maybe("ah:value", "value"),
        maybe("ah:validFrom", "valid_from", "xsd:dateTime"),
        maybe("ah:validUntil", "valid_until", "xsd:dateTime"),
    ),
    typed=True,
)

NODE_CLASSES: Final = (
    QUERY, UNRECORDED_QUERY, ACCOUNT, ORGANIZATION, USER, SOFTWARE_AGENT, AGENT_ASSOCIATION, OBJECT, OBJECT_NAME,
    COLUMN, VERSION, COLUMN_VERSION, ACCESS, COLUMN_DERIVATION, POLICY_ENFORCEMENT, JOIN, CHANGE, SETTING,
)  # fmt: skip
