"""Snowflake ACCESS_HISTORY as OpenLineage events and a PROV graph, checked before anything is published."""

__version__ = "0.1.0"
MODEL = "0.3.0"  # of the graph: ontology/access-history.ttl, owl:versionInfo
