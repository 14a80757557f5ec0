"""What answers say of objects that a share opens to other accounts, also through views over them.

Each case is a separate account of one export; query ``qN`` starts at minute N.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import pytest

from tests.ask import stories
from tests.ask.test_names import asked, at, copied, read, thing
from tests.ask.test_revokes import granted, opened, revoked, share

if TYPE_CHECKING:
    from pyoxigraph import Store

Json = dict[str, Any]
A, B, T = (thing(name, number) for number, name in enumerate("ABT", 1))
SV, OVER = (thing(name, number, "View") for name, number in (("SV", 20), ("OVER", 21)))
IN: Final = thing("IN", 50, "Stage")
ELSEWHERE: Final = "reads in other accounts are in their own ACCESS_HISTORY alone"
TO_ACCOUNT: Final = opened("accountsToAdd", share(), "CONS")
VIEWS_IN_SCHEMA: Final[Json] = {
    "SECURABLE_OBJECT_DOMAIN": "VIEW", "SECURABLE_OBJECT_SCOPE": "D.S", "SECURABLE_OBJECT_SCOPE_DOMAIN": "SCHEMA",
}  # fmt: skip


def view(number: int | None, name: str) -> Json:
    return {"SECURABLE_OBJECT_DOMAIN": "VIEW", "SECURABLE_OBJECT_ID": number, "SECURABLE_OBJECT_NAME": name}


def through(direct: Json | list[Json], *base: Json, user: str = "QA") -> Json:
    """A read of a view. Rows have what is behind it as base objects."""
    listed = direct if isinstance(direct, list) else [direct]
    return {"user_name": user, "direct_objects_accessed": listed, "base_objects_accessed": list(base)}


GRANT: Final = granted(share(), view(20, "D.S.SV"))
BEHIND: Final[dict[str, list[Json]]] = {
    "view": [copied(IN, T), through(SV, T), GRANT, TO_ACCOUNT, read(B)],
    "by-name": [copied(IN, T), through(SV, T), granted(share(), view(None, "D.S.SV")), TO_ACCOUNT, read(B)],
    "with-all": [copied(IN, T), through(SV, T), granted(share(), VIEWS_IN_SCHEMA), TO_ACCOUNT, read(B)],
}
"""The share has a view over the table."""
STORIES: Final[dict[str, list[Json]]] = {
    **BEHIND,
    # a query that reads the two together says only that one of them may be over the table
    "perhaps": [through([SV, OVER], T, B), GRANT, TO_ACCOUNT, read(A)],
    "of-other": [through(SV, B), GRANT, TO_ACCOUNT, read(T), read(A)],
    "revoked": [through(SV, T), GRANT, TO_ACCOUNT, revoked(share(), view(20, "D.S.SV")), read(A), read(A)],
}


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Store:
    return stories.told(STORIES, tmp_path_factory.mktemp("shares"))


def notes(question: str, story: str, whole: Store, **given: Any) -> str:
    return "\n".join(asked(question, stories.of(story, whole), **given).notes)


# --- views over what is asked for -------------------------------------------------------------------------------------


@pytest.mark.parametrize("story", BEHIND)
def test_a_table_behind_a_shared_view_may_be_in_use(story: str, whole: Store) -> None:
    answer = asked("unused-objects", stories.of(story, whole), since=at(4.5))
    assert {("D.S.T", "Table"), ("D.S.SV", "View")} <= {row[:2] for row in answer.rows}
    told = "\n".join(answer.notes)
    assert f"D.S.T (D.S.SV, a view over it, is granted to a share: {ELSEWHERE})" in told
    assert f"D.S.SV (granted to a share: {ELSEWHERE})" in told


def test_a_table_that_may_be_behind_a_shared_view_may_be_in_use(whole: Store) -> None:
    told = notes("unused-objects", "perhaps", whole, since=at(3.5))
    for name in ("D.S.T", "D.S.B"):
        assert f"{name} (D.S.SV, which may be a view over it, is granted to a share: {ELSEWHERE})" in told


@pytest.mark.parametrize("story", ["of-other", "revoked"])
def test_a_table_behind_no_shared_view_is_not_in_use_by_it(story: str, whole: Store) -> None:
    answer = asked("unused-objects", stories.of(story, whole), since=at(4.5))
    assert "D.S.T" in {row[0] for row in answer.rows}
    assert "D.S.T (D.S.SV" not in "\n".join(answer.notes)


@pytest.mark.parametrize("story", BEHIND)
@pytest.mark.parametrize(
    ("question", "given"),
    [
        ("who-accessed", {}),
        ("when-accessed", {}),
        ("downstream-users", {}),
        ("column-readers", {"column_name": "C"}),
    ],
)
def test_readers_through_a_shared_view_are_not_all_on_record(
    story: str, question: str, given: dict[str, str], whole: Store
) -> None:
    told = notes(question, story, whole, object_name="D.S.T", **given)
    assert f"D.S.SV, a view over D.S.T, was granted to a share: {ELSEWHERE}." in told
    of_view = notes(question, story, whole, object_name="D.S.SV", **given)
    assert f"D.S.SV was granted to a share: {ELSEWHERE}." in of_view
    assert "granted to a share" not in notes(question, "of-other", whole, object_name="D.S.T", **given)


def test_readers_through_what_may_be_a_view_are_told_as_possible(whole: Store) -> None:
    told = notes("who-accessed", "perhaps", whole, object_name="D.S.T")
    assert f"D.S.SV, which may be a view over D.S.T, was granted to a share: {ELSEWHERE}." in told


@pytest.mark.parametrize("story", BEHIND)
def test_exposure_tells_of_a_shared_view_over_what_is_asked_for(story: str, whole: Store) -> None:
    told = notes("exposure", story, whole, object_name="D.S.T")
    assert "D.S.SV, a view over D.S.T, was granted to a share: ask exposure for it, too." in told
    assert "over D.S.T" not in notes("exposure", "of-other", whole, object_name="D.S.T")


def test_readers_of_what_the_data_went_to_are_not_all_on_record(whole: Store) -> None:
    told = notes("downstream-users", "view", whole, object_name="D.S.IN")
    assert f"D.S.SV, a view over D.S.T, was granted to a share: {ELSEWHERE}." in told
