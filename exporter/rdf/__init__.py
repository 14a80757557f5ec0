"""The knowledge graph: facts -> nodes -> checked Turtle."""
