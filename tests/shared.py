"""Files of others that the tests read and the repository does not have: the documents' rows, and the schemas and
vocabularies that OpenLineage, the W3C and the OMG publish.

They are looked for in ``../shared``, or in the folder that the variable ``EXPORTER_SHARED`` names. Where they are not,
the tests that need them are left out, with one reason for all tests of a folder.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Final

import pytest

ROOT: Final = Path(__file__).parents[1]
SHARED: Final = Path(os.environ.get("EXPORTER_SHARED") or ROOT.parent / "shared")
CORPUS: Final = SHARED / "corpus"
OPENLINEAGE: Final = SHARED / "openlineage-spec"
W3C: Final = SHARED / "w3c"
DPROD: Final = SHARED / "dprod"

_CONTENTS: Final = {
    CORPUS: "the documents' rows",
    OPENLINEAGE: "OpenLineage's JSON Schemas",
    W3C: "the W3C's vocabularies",
    DPROD: "the shapes of DPROD (dprod-shapes.ttl of omg.org/spec/DPROD)",
}


def needs(folder: Path) -> pytest.MarkDecorator:
    """The mark of tests that read this folder, which is one of those above."""
    reason = f"{_CONTENTS[folder]} are not in {folder.name} of ../shared (or of EXPORTER_SHARED)"
    return pytest.mark.skipif(not folder.is_dir(), reason=reason)
