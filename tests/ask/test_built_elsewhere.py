"""Tables that are built under another name and take theirs by SWAP or RENAME: what answers call them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import pytest

from exporter.ask.questions import ask, find
from tests.ask import stories
from tests.ask.test_names import at, changed, copied, read, renamed, swapped, thing

if TYPE_CHECKING:
    from pyoxigraph import Store

    from exporter.ask.answers import Answer

Json = dict[str, Any]
SOURCE: Final = thing("SOURCE", 4)
SHARE: Final = {"objectDomain": "Share", "objectId": 60, "objectName": "SH"}


def granted(**securable: Any) -> Json:
    told = {"PRIVILEGES": ["SELECT"], "SECURABLE_OBJECT_DOMAIN": "TABLE", **securable}
    return changed(SHARE, grant={"value": told})


STORIES: Final[dict[str, list[Json]]] = {
    # q2 grants DIM, q4 swaps it with DIM_NEW
    "shared": [
        copied(SOURCE, thing("DIM", 1), "CREATE"),
        granted(SECURABLE_OBJECT_ID=1, SECURABLE_OBJECT_NAME="D.S.DIM"),
        copied(SOURCE, thing("DIM_NEW", 2), "CREATE"),
        *swapped(thing("DIM", 1), thing("DIM_NEW", 2)),
        read(thing("DIM", 2)),
    ],
    "shared-by-name": [granted(SECURABLE_OBJECT_NAME="D.S.DIM"), renamed(thing("DIM", 0), "DIM_2")],
}


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Store:
    return stories.told(STORIES, tmp_path_factory.mktemp("built"))


def answered(whole: Store, story: str, question: str, **given: str) -> Answer:
    return ask(stories.of(story, whole), find(question), given)


def shared(answer: Answer) -> set[str | None]:
    return {row["object_name"] for row in answer.dicts() if row["domain"] == "Table"}


def test_exposure_has_the_name_that_the_object_has_at_that_time(whole: Store) -> None:
    """With ids, a grant goes with the table."""
    assert shared(answered(whole, "shared", "exposure")) == {"D.S.DIM_NEW"}
    assert shared(answered(whole, "shared", "exposure", at=at(5))) == {"D.S.DIM_NEW"}
    assert shared(answered(whole, "shared", "exposure", object_name="D.S.DIM_NEW")) == {"D.S.DIM_NEW"}
    assert shared(answered(whole, "shared", "exposure", at=at(3))) == {"D.S.DIM"}
    assert shared(answered(whole, "shared", "exposure", object_name="D.S.DIM")) == set()


def test_exposure_has_the_name_of_the_grant_for_what_has_no_id(whole: Store) -> None:
    assert shared(answered(whole, "shared-by-name", "exposure")) == {"D.S.DIM"}
