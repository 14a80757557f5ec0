"""The version of the program, and that of its model of the graph: below all modules that say it, while the package's
face (``exporter/__init__.py``) leads to everything above.
"""

from __future__ import annotations

__version__ = "0.1.0"
MODEL = "0.7.0"  # of the graph: ontology/access-history.ttl, owl:versionInfo
VERSIONS = f"{__version__} (model {MODEL})"
