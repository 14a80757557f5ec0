"""What pages and the tool ``object`` say of a table that was made anew without the mask, tag or policy of the one that
had its name before.

All is one account of one export; query ``qN`` starts at minute N.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import pytest

from exporter.ask.notes.lost_protection import LOST
from tests.ask.test_names import SET_MASK, changed, read, thing
from tests.mcp.asked import asked
from tests.serve.conftest import pages_of
from tests.serve.test_contradictions import Parts

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from flask.testing import FlaskClient

Json = dict[str, Any]
COLUMNS: Final = ("C", "D")
MASKED, ANEW = thing("A", 1, columns=COLUMNS), thing("A", 2, columns=COLUMNS)
FILTERED, UNFILTERED = thing("F", 3, columns=COLUMNS), thing("F", 4, columns=COLUMNS)
POLICY: Final = {"G.P.EU": {"objectId": {"value": 90}, "subOperationType": "ADD"}}
ROWS: Final[list[Json]] = [
    changed(MASKED, "CREATE"), changed(MASKED, columns=SET_MASK), changed(ANEW, "REPLACE"), read(ANEW),
    changed(FILTERED, "CREATE"), changed(FILTERED, rowAccessPolicies=POLICY), changed(UNFILTERED, "REPLACE"),
    read(UNFILTERED),
]  # fmt: skip
MASK_LOST: Final = "no row shows a masking policy on it: D.S.A.C (object_id=2 since"
POLICY_LOST: Final = "no row shows one on it: D.S.F (object_id=4 since"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder: Path = tmp_path_factory.mktemp("lost")
    return folder


@pytest.fixture(scope="module")
def client(folder: Path) -> Iterator[FlaskClient]:
    with pages_of(ROWS, folder) as client:
        yield client


@pytest.mark.parametrize(
    ("path", "lost"),
    [
        ("/object?name=D.S.A", MASK_LOST),
        ("/object?id=table/2", MASK_LOST),
        ("/object?id=table/1", ""),
        ("/object?name=D.S.F", POLICY_LOST),
        ("/object?id=table/4", POLICY_LOST),
        ("/object?id=table/3", ""),
        ("/column?id=table/2&column=C", MASK_LOST),
        ("/column?id=table/2&column=D", ""),
        ("/column?id=table/4&column=D", POLICY_LOST),
    ],
)
def test_a_page_says_in_its_first_lines_what_was_lost(path: str, lost: str, client: FlaskClient) -> None:
    parts = Parts(client.get(path).text).parts
    first = parts[""].words.partition("What protects it")[2].partition("What cannot be known")[0]
    for words in (first, parts["settings"].words):
        assert (LOST in words) == bool(lost)
        assert lost in words


@pytest.mark.parametrize(("path", "lost"), [("table/2", MASK_LOST), ("table/4", POLICY_LOST), ("table/1", "")])
def test_the_tool_says_what_was_lost(path: str, lost: str, client: FlaskClient, folder: Path) -> None:
    assert client  # has made the export
    with asked(folder / "out") as tools:
        notes = str(tools.result("object", iri=path).structured_content["notes"])
    assert (LOST in notes) == bool(lost)
