"""The versions of the program and of the graph model. They are in a module without imports, so that any module can
import them.
"""

from __future__ import annotations

__version__ = "0.1.0"
MODEL = "0.7.0"  # of the graph: ontology/access-history.ttl, owl:versionInfo
VERSIONS = f"{__version__} (model {MODEL})"
