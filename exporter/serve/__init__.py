"""An export as pages for people and as a SPARQL endpoint for programs, over HTTP."""
