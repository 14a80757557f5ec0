"""SHACL shapes, compiled to functions: of one node as it is in memory, or of any graph.

- :mod:`~exporter.graph.shapes.reading`: Turtle -> shapes; what is not compiled is refused by name.
- :mod:`~exporter.graph.shapes.on_graph`: shapes on any RDF graph.
- :mod:`~exporter.graph.shapes.on_nodes`: shapes on one node of the vocabulary, at the speed of an export.
- :mod:`~exporter.graph.shapes.on_object`: shapes that look beyond a node, on the surroundings of one object, which
  :mod:`~exporter.graph.shapes.surroundings` says; :mod:`~exporter.graph.shapes.reach` tells which shapes stay there.

Source: SHACL (https://www.w3.org/TR/shacl/), sections 2 to 4. Where pySHACL, the reference engine, reads a sentence of
it in its own way, so do the compiled shapes: docs/shapes.md has the list. Nothing but
:mod:`~exporter.graph.shapes.by_pyshacl` imports rdflib or pySHACL.
"""
