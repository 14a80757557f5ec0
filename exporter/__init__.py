"""Snowflake's ACCESS_HISTORY as OpenLineage events and a knowledge graph, checked by SHACL shapes."""

__version__ = "0.1.0"
