"""Stages of users: the id of one is the user's name (view, ``objectId``), which Snowflake stores exactly, so two users
can have names that differ in letter case alone (docs/privacy.md). A question asks for a stage as it asks for its user
(docs/graph.md, "Names in questions").
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import pytest

from exporter.ask.questions import ask, find
from exporter.graph.store import load
from tests import exports
from tests.ask.test_tag_reach import A, row
from tests.serve.conftest import sited

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from exporter.serve.site import Site

Json = dict[str, Any]
USERS: Final = ("jsmith", "JSMITH", "jane.doe@example.com", "JANE.DOE@EXAMPLE.COM", "O'Neil", "EVE")
QUOTED: Final = {user: f'"{user}"' for user in USERS if user not in {"JSMITH", "EVE"}}
HOME: Final = {"location": "file:///home/js/"}


def stage(user: str, *, named: bool = True) -> Json:
    """``named``: whether the row gives the name, too."""
    of_id = {"objectDomain": "Stage", "objectId": user, "stageKind": "User"}
    return {**of_id, "objectName": user} if named else of_id


def rows() -> Iterator[Json]:
    """Each user unloads table A to the own stage; JSMITH alone gets a file of it."""
    for number, user in enumerate(USERS, 1):
        accessed = {"direct_objects_accessed": [A], "base_objects_accessed": [A]}
        yield row(number, user_name=user, objects_modified=[stage(user, named=user != "EVE")], **accessed)
    own = [stage("JSMITH")]
    yield row(9, user_name="JSMITH", direct_objects_accessed=own, base_objects_accessed=own, objects_modified=[HOME])


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    where: Path = tmp_path_factory.mktemp("stages")
    assert exports.export([exports.ndjson(rows(), where / "rows.ndjson")], where / "out", "--outputs", "graph") == 0
    return where / "out"


@pytest.fixture(scope="module")
def site(folder: Path) -> Iterator[Site]:
    with sited(folder) as opened:
        yield opened


def told(folder: Path, question: str, **given: str) -> list[tuple[str | None, ...]]:
    return [tuple(cells) for cells in ask(load(folder), find(question), given).rows]


def test_each_user_has_a_stage(folder: Path) -> None:
    found = {cells[0] for cells in told(folder, "end-up", object_name="D.S.A")}
    assert found == {*(QUOTED.get(user, user) for user in USERS), HOME["location"]}


def test_data_goes_on_from_the_stage_of_the_user_who_took_it(folder: Path) -> None:
    paths = {cells[0] for cells in told(folder, "sensitive-data-movement", object_name="D.S.A")}
    assert {path for path in paths if path.endswith(HOME["location"])} == {"D.S.A-->JSMITH-->file:///home/js/"}


@pytest.mark.parametrize(
    ("name", "users"),
    [
        ("JSMITH", {"jsmith", "JSMITH"}), ("JSmith", {"jsmith", "JSMITH"}),
        ('"jsmith"', {"jsmith"}), ('"JSMITH"', {"JSMITH"}), ('"JSmith"', set()),
        ("jane.doe@example.com", {"jane.doe@example.com", "JANE.DOE@EXAMPLE.COM"}),
        ('"jane.doe@example.com"', {"jane.doe@example.com"}),
        ("o'neil", {"O'Neil"}), ("EVE", {"EVE"}), ("eve", {"EVE"}),
    ],
)  # fmt: skip
def test_a_stage_is_asked_for_as_its_user(name: str, users: set[str], folder: Path) -> None:
    answer = ask(load(folder), find("writers"), {"object_name": name})
    assert {cells[0] for cells in answer.rows} == users
    assert any(note.startswith("There is no object") for note in answer.notes) == (not users)


def test_a_page_is_of_one_user(site: Site) -> None:
    for name, shown in (("JSMITH", "JSMITH"), ('"jsmith"', '"jsmith"'), ("o'neil", '"O\'Neil"')):
        thing, _ = site.by_name(name)
        assert thing is not None
        assert thing.name == shown
        assert site.subject(thing, name).iris == [thing.iri]
        assert site.namesakes(thing).rows == []


def test_both_ends_of_the_other_letter_case_are_the_others(site: Site) -> None:
    thing, others = site.by_name("jane.doe@example.com")
    assert thing is not None
    assert {thing.name, *(cells[6] for cells in others.rows)} == {QUOTED[user] for user in USERS if "@" in user}
