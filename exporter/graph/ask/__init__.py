"""Questions, and their answers from an embedded SPARQL store."""
