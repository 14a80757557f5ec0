"""Export Snowflake ACCESS_HISTORY to OpenLineage events and a PROV graph, validated before it is published."""

__version__ = "0.1.0"
MODEL = "0.5.0"  # of the graph: ontology/access-history.ttl, owl:versionInfo
VERSIONS = f"{__version__} (model {MODEL})"
