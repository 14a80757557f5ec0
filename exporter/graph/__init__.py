"""The RDF graph: its nodes, made from facts and answers, and the syntaxes that they are written in."""
