"""SHACL shapes, compiled to functions: of one node as it is in memory, or of any graph.

- :mod:`~exporter.graph.shapes.source`: the triples of shapes files, and their values.
- :mod:`~exporter.graph.shapes.reading`: Turtle -> shapes; a feature that is not compiled is refused by name.
- :mod:`~exporter.graph.shapes.misspelt`: misspelt namespaces and terms, which are refused.
- :mod:`~exporter.graph.shapes.on_graph`: shapes on any RDF graph.
- :mod:`~exporter.graph.shapes.checks`: shapes on one node of the vocabulary, at the speed of an export.
- :mod:`~exporter.graph.shapes.neighbourhood`: how far a shape looks; shapes on the neighbourhood of one object.

Source: SHACL (https://www.w3.org/TR/shacl/), sections 2 to 4. Where pySHACL, the reference engine, differs from the
recommendation, the compiled shapes do as pySHACL does: docs/shapes.md lists these cases. Only
:mod:`~exporter.graph.shapes.by_pyshacl` imports rdflib or pySHACL.
"""
