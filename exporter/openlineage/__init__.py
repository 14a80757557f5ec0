"""Facts as OpenLineage events: their names and facets, and the checks before they are written."""
