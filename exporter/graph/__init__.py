"""The graph: nodes of what queries and things tell, and the syntaxes that they are written in."""
