"""The facts as OpenLineage events: names, facets, events, and why one must not go out."""
