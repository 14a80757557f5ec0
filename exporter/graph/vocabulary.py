"""The terms of the graph. The one table where a property is added: its term, its class, and which values it has.

The nodes (:mod:`exporter.graph.nodes`) give values to these terms, and the writers (:mod:`exporter.graph.writers`)
write them. The drift test compares ontology, shapes and JSON-LD context with this table. Some terms are only in a graph
with ``--reads daily``.

``range`` is a datatype (``xsd:…``) for literals, or the class of the node referred to. What may be a location outside
of Snowflake has the range ``ah:SnowflakeObject``. Properties are written in the order of this table.
"""

from __future__ import annotations

from typing import Final

from exporter.graph.terms import NodeClass, many, maybe, one, some

_OF_DAILY_READ: Final = (
    one("prov:startedAtTime", "xsd:dateTime"),
    maybe("ah:lastStartedAtTime", "xsd:dateTime"),
    one("ah:queryCount", "xsd:integer"),
    some("prov:wasAssociatedWith", "prov:Agent"),
    maybe("ah:roleName"),
    maybe("ah:role", "ah:SnowflakeObject"),
    maybe("ah:accessedObject", "ah:SnowflakeObject"),
    many("prov:used", "ah:Version"),
    maybe("ah:accessPattern", "ah:AccessPattern"),
    many("ah:enforced", "ah:PolicyEnforcement"),
    many("dcterms:hasPart", "ah:DailyReadPart"),
)
DAILY_READ: Final = NodeClass("ah:DailyRead", ("prov:Activity",), _OF_DAILY_READ)
DAILY_READ_PART: Final = NodeClass("ah:DailyReadPart", ("prov:Activity",), _OF_DAILY_READ[:-1])
ACCESS_PATTERN: Final = NodeClass(
    "ah:AccessPattern",
    (),
    (
        one("ah:accessedObject", "ah:SnowflakeObject"),
        many("ah:objectName"),
        some("ah:accessType"),
        many("ah:readColumn", "ah:Column"),
    ),
)
DERIVATION_PATTERN: Final = NodeClass(
    "ah:DerivationPattern",
    (),
    (
        some("ah:sourceType"),
        one("ah:sourceObject", "ah:SnowflakeObject"),
        maybe("ah:sourceName"),
        maybe("ah:sourceColumn", "ah:Column"),
        maybe("ah:viaFunction", "ah:SnowflakeObject"),
        one("ah:targetColumn", "ah:Column"),
        maybe("ah:targetName"),
    ),
)


_OF_EXECUTION: Final = (
    many("prov:used", "ah:Version"),
    many("ah:madeVersion", "ah:Version"),
    many("prov:qualifiedUsage", "ah:Access"),
    many("ah:accessPattern", "ah:AccessPattern"),
    many("ah:enforced", "ah:PolicyEnforcement"),
    many("ah:hasJoin", "ah:Join"),
    many("ah:hasChange", "ah:Change"),
    many("ah:incomplete"),
    many("ah:unknownColumns"),
    maybe("ah:eventSource"),
)
"""What a query has, and the calls of a row of AGGREGATE_ACCESS_HISTORY: what the statement did."""
_OF_ACCOUNT: Final = (
    maybe("ah:account", "ah:Account"),
    maybe("ah:organizationName"),
    maybe("ah:accountName"),
    maybe("ah:accountLocator"),
)
QUERY: Final = NodeClass(
    "ah:Query",
    ("prov:Activity",),
    (
        one("ah:queryId"),
        one("prov:startedAtTime", "xsd:dateTime"),
        maybe("prov:endedAtTime", "xsd:dateTime"),
        some("prov:wasAssociatedWith", "prov:Agent"),
        many("prov:qualifiedAssociation", "prov:Association"),
        maybe("dcterms:isPartOf", "ah:Statement"),
        maybe("ah:rootQuery", "ah:Statement"),
        *_OF_EXECUTION,
        maybe("ah:additionalProperties"),
        maybe("ah:invokerIdentity"),
        *_OF_ACCOUNT,
        maybe("ah:queryText"),
        maybe("ah:queryType"),
        maybe("ah:queryTag"),
        maybe("ah:queryParameterizedHash"),
        maybe("ah:sessionId"),
        maybe("ah:roleName"),
        maybe("ah:roleType"),
        maybe("ah:warehouseName"),
        maybe("ah:warehouseSize"),
        maybe("ah:databaseName"),
        maybe("ah:schemaName"),
        maybe("ah:totalElapsedTime", "xsd:integer"),
        maybe("ah:executionStatus"),
        maybe("ah:bytesScanned", "xsd:integer"),
        maybe("ah:rowsProduced", "xsd:integer"),
        maybe("ah:rowsInserted", "xsd:integer"),
        maybe("ah:rowsUpdated", "xsd:integer"),
        maybe("ah:rowsDeleted", "xsd:integer"),
        maybe("ah:role", "ah:SnowflakeObject"),
        maybe("ah:warehouse", "ah:Warehouse"),
    ),
)
AGGREGATED_QUERIES: Final = NodeClass(
    "ah:AggregatedQueries",
    ("prov:Activity",),
    (
        one("ah:queryCount", "xsd:integer"),
        one("prov:startedAtTime", "xsd:dateTime"),
        one("prov:endedAtTime", "xsd:dateTime"),
        some("prov:wasAssociatedWith", "prov:Agent"),
        *_OF_EXECUTION,
        *_OF_ACCOUNT,
        maybe("ah:queryParameterizedHash"),
    ),
)
"""The calls of a row of AGGREGATE_ACCESS_HISTORY: a query without a query id, which stands for several."""
UNRECORDED_QUERY: Final = NodeClass("ah:UnrecordedQuery", ("prov:Activity",), (one("ah:queryId"),))
ACCOUNT: Final = NodeClass(
    "ah:Account",
    (),
    (
        one("rdfs:label"),
        many("ah:accountName"),
        many("ah:accountLocator"),
        many("ah:memberOf", "ah:Organization"),
    ),
)
ORGANIZATION: Final = NodeClass(
    "ah:Organization",
    ("prov:Organization", "prov:Agent"),
    (one("rdfs:label"), one("ah:organizationName")),
)
USER: Final = NodeClass("ah:User", ("prov:Agent",), (one("ah:userName"), maybe("ah:matchName"), one("rdfs:label")))
SOFTWARE_AGENT: Final = NodeClass(
    "ah:SoftwareAgent",
    ("prov:SoftwareAgent", "prov:Agent"),
    (
        maybe("ah:agentType"),
        maybe("ah:agentId"),
        many("ah:agentName"),
    ),
)
AGENT_ASSOCIATION: Final = NodeClass(
    "ah:AgentAssociation",
    ("prov:Association",),
    (
        one("prov:agent", "ah:SoftwareAgent"),
        one("ah:position", "xsd:integer"),
    ),
)
USER_ASSOCIATION: Final = NodeClass("ah:UserAssociation", ("prov:Association",), (one("prov:agent", "ah:User"),))
OBJECT: Final = NodeClass(
    "ah:SnowflakeObject",
    ("prov:Entity",),
    (
        maybe("rdfs:label"),
        one("ah:domain"),
        maybe("ah:objectId"),
        maybe("ah:canonicalName"),
        many("ah:matchName"),
        maybe("ah:isHelper", "xsd:boolean"),
        many("ah:hasName", "ah:ObjectName"),
        maybe("dcterms:isPartOf", "ah:SnowflakeObject"),
        many("ah:sameNameAs", "ah:SnowflakeObject"),
        many("ah:argumentSignature"),
        many("ah:returnType"),
        many("ah:stageKind"),
        many("ah:locationUrl"),
        many("ah:owningAccount"),
        many("ah:account", "ah:Account"),
    ),
    typed=True,
)
OBJECT_NAME: Final = NodeClass(
    "ah:ObjectName",
    (),
    (
        one("ah:nameText"),
        maybe("ah:matchName"),
        one("ah:validFrom", "xsd:dateTime"),
        maybe("ah:validUntil", "xsd:dateTime"),
        one("ah:lastSeen", "xsd:dateTime"),
    ),
)
VIEW_SOURCE: Final = NodeClass(
    "ah:ViewSource",
    (),
    (
        one("ah:view", "ah:SnowflakeObject"),
        maybe("ah:viewColumn", "ah:Column"),
        one("ah:sourceObject", "ah:SnowflakeObject"),
        maybe("ah:sourceName"),
        maybe("ah:sourceColumn", "ah:Column"),
        one("ah:evidence"),
        maybe("ah:evidenceQueryId"),
        one("ah:firstSeen", "xsd:dateTime"),
        one("ah:lastSeen", "xsd:dateTime"),
        maybe("ah:validFrom", "xsd:dateTime"),
        maybe("ah:validUntil", "xsd:dateTime"),
    ),
)
COLUMN: Final = NodeClass(
    "ah:Column",
    ("prov:Entity",),
    (
        one("rdfs:label"),
        one("ah:columnName"),
        maybe("ah:matchName"),
        many("ah:columnId"),
        one("ah:columnOf", "ah:SnowflakeObject"),
        many("ah:renamedFrom", "ah:Column"),
    ),
)
VERSION: Final = NodeClass(
    "ah:Version",
    ("prov:Entity",),
    (
        one("prov:specializationOf", "ah:SnowflakeObject"),
        maybe("prov:wasGeneratedBy", "ah:Execution"),
        maybe("prov:generatedAtTime", "xsd:dateTime"),
        maybe("ah:validUntil", "xsd:dateTime"),
        maybe("ah:priorVersion", "ah:Version"),
        many("prov:wasDerivedFrom", "ah:Version"),
        many("ah:derivedFromBase", "ah:Version"),
        maybe("ah:inferredFrom", "ah:Change"),
        many("prov:qualifiedDerivation", "ah:ColumnDerivation"),
        many("ah:wroteColumn", "ah:Column"),
        many("ah:objectName"),
        maybe("ah:policyBody"),
        maybe("prov:wasInvalidatedBy", "ah:Execution"),
        maybe("prov:invalidatedAtTime", "xsd:dateTime"),
    ),
    typed=True,
)
COLUMN_VERSION: Final = NodeClass(
    "ah:ColumnVersion",
    ("prov:Entity",),
    (
        one("prov:specializationOf", "ah:Column"),
        one("dcterms:isPartOf", "ah:Version"),
        maybe("prov:wasGeneratedBy", "ah:Execution"),
        maybe("ah:priorColumnVersion", "ah:ColumnVersion"),
        many("ah:keepsMask", "ah:SnowflakeObject"),
        many("prov:wasDerivedFrom", "ah:ColumnVersion"),
        many("ah:derivationPattern", "ah:DerivationPattern"),
    ),
    typed=True,
)
ACCESS: Final = NodeClass(
    "ah:Access",
    ("prov:Usage",),
    (
        one("prov:entity", "ah:Version"),
        one("ah:accessType"),
        one("ah:accessedObject", "ah:SnowflakeObject"),
        maybe("ah:objectName"),
        many("ah:readColumn", "ah:Column"),
    ),
)
COLUMN_DERIVATION: Final = NodeClass(
    "ah:ColumnDerivation",
    ("prov:Derivation",),
    (
        one("prov:entity", "ah:Version"),
        one("prov:hadActivity", "ah:Execution"),
        one("ah:sourceType"),
        one("ah:sourceObject", "ah:SnowflakeObject"),
        maybe("ah:sourceName"),
        maybe("ah:sourceColumn", "ah:Column"),
        maybe("ah:sourceColumnVersion", "ah:ColumnVersion"),
        maybe("ah:viaFunction", "ah:SnowflakeObject"),
        one("ah:targetColumn", "ah:Column"),
        one("ah:targetColumnVersion", "ah:ColumnVersion"),
        maybe("ah:targetName"),
    ),
)
POLICY_ENFORCEMENT: Final = NodeClass(
    "ah:PolicyEnforcement",
    (),
    (
        one("ah:policy", "ah:SnowflakeObject"),
        one("ah:policyVersion", "ah:Version"),
        one("ah:policyKind"),
        maybe("ah:policyName"),
        one("ah:protectedObject", "ah:SnowflakeObject"),
        maybe("ah:objectName"),
        maybe("ah:protectedColumn", "ah:Column"),
        one("ah:setByProvider", "xsd:boolean"),
    ),
)
JOIN: Final = NodeClass(
    "ah:Join",
    (),
    (
        one("ah:leftObject", "ah:SnowflakeObject"),
        maybe("ah:leftName"),
        maybe("ah:joinType"),
        one("ah:rightObject", "ah:SnowflakeObject"),
        maybe("ah:rightName"),
    ),
)
CHANGE: Final = NodeClass(
    "ah:Change",
    ("prov:Activity",),
    (
        one("dcterms:isPartOf", "ah:Execution"),
        one("prov:startedAtTime", "xsd:dateTime"),
        one("ah:operation"),
        one("ah:changedObject", "ah:SnowflakeObject"),
        maybe("ah:objectName"),
        maybe("ah:newName"),
        maybe("ah:swappedWith", "ah:SnowflakeObject"),
        maybe("ah:swappedWithName"),
        maybe("ah:madeFrom", "ah:SnowflakeObject"),
        maybe("ah:madeFromName"),
        maybe("ah:policyBody"),
        maybe("ah:comment"),
        maybe("ah:properties"),
        many("ah:hasSetting", "ah:Setting"),
        many("ah:hasGrant", "ah:Grant"),
    ),
)
SETTING: Final = NodeClass(
    "ah:Setting",
    (),
    (
        one("ah:property"),
        one("ah:settingOn", "ah:SnowflakeObject"),
        maybe("ah:onColumn", "ah:Column"),
        maybe("ah:element"),
        maybe("ah:elementObject", "ah:SnowflakeObject"),
        maybe("ah:elementId"),
        maybe("ah:carriedFrom", "ah:Setting"),
        maybe("ah:subOperation"),
        maybe("ah:value"),
        maybe("ah:validFrom", "xsd:dateTime"),
        maybe("ah:validUntil", "xsd:dateTime"),
    ),
    typed=True,
)
GRANT: Final = NodeClass(
    "ah:Grant",
    ("prov:Entity",),
    (
        one("prov:wasGeneratedBy", "ah:Execution"),
        one("ah:grantedObject", "ah:SnowflakeObject"),
        maybe("ah:objectName"),
        maybe("ah:onAll"),
        maybe("ah:privilege"),
        one("ah:grantee", "ah:SnowflakeObject"),
        maybe("ah:granteeName"),
        one("ah:grantedTo"),
        one("ah:validFrom", "xsd:dateTime"),
        maybe("ah:validUntil", "xsd:dateTime"),
    ),
)
EXPORT: Final = NodeClass(
    "ah:Export",
    ("prov:Entity",),
    (
        one("prov:generatedAtTime", "xsd:dateTime"),
        maybe("ah:account", "ah:Account"),
        maybe("ah:firstQueryTime", "xsd:dateTime"),
        maybe("ah:lastQueryTime", "xsd:dateTime"),
        one("ah:exporterVersion"),
        one("ah:modelVersion"),
    ),
)
DECLARATION: Final = NodeClass(
    "ah:Declaration",
    ("prov:Entity",),
    (
        one("rdfs:label"),
        one("ah:format"),
        one("ah:digest"),
        maybe("prov:generatedAtTime", "xsd:dateTime"),
    ),
)
"""What others declare (``exporter reconcile --out``): only in its file, like the three classes below."""
DECLARED_DATASET: Final = NodeClass(
    "ah:DeclaredDataset",
    ("prov:Entity",),
    (
        one("rdfs:label"),
        maybe("ah:namespace"),
        many("prov:alternateOf", "ah:SnowflakeObject"),
        many("prov:wasDerivedFrom", "ah:DeclaredDataset"),
        many("prov:wasAttributedTo", "ah:DeclaredJob"),
        some("prov:hadPrimarySource", "ah:Declaration"),
    ),
)
DECLARED_JOB: Final = NodeClass("ah:DeclaredJob", ("prov:SoftwareAgent", "prov:Agent"), (one("rdfs:label"),))
DECLARED_DERIVATION: Final = NodeClass(
    "ah:DeclaredDerivation",
    ("prov:Derivation",),
    (
        one("prov:entity", "ah:DeclaredDataset"),
        one("ah:targetDataset", "ah:DeclaredDataset"),
        maybe("ah:sourceColumnName"),
        maybe("ah:sourceColumn", "ah:Column"),
        maybe("ah:targetColumnName"),
        maybe("ah:targetColumn", "ah:Column"),
        one("ah:verdict"),
        maybe("ah:verdictReason"),
        maybe("ah:queryCount", "xsd:integer"),
        many("ah:evidenceQueryId"),
        maybe("ah:firstSeen", "xsd:dateTime"),
        maybe("ah:lastSeen", "xsd:dateTime"),
        some("ah:declaredIn", "ah:Declaration"),
    ),
)

NODE_CLASSES: Final = (
    QUERY, AGGREGATED_QUERIES, UNRECORDED_QUERY,
    ACCOUNT, ORGANIZATION, USER, SOFTWARE_AGENT, AGENT_ASSOCIATION, USER_ASSOCIATION, OBJECT,
    OBJECT_NAME, VIEW_SOURCE,
    COLUMN, VERSION, COLUMN_VERSION, ACCESS, COLUMN_DERIVATION, POLICY_ENFORCEMENT, JOIN, CHANGE, SETTING,
    GRANT, EXPORT, DAILY_READ, DAILY_READ_PART, ACCESS_PATTERN, DERIVATION_PATTERN,
    DECLARATION, DECLARED_DATASET, DECLARED_JOB, DECLARED_DERIVATION,
)  # fmt: skip
