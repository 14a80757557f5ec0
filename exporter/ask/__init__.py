"""Questions about a graph, and their answers from an embedded SPARQL store."""
