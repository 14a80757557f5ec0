"""What answers say of revokes and drops of shares, where one row gives the id of the object or share and the other does
not.

Each case is a separate account of one export; query ``qN`` starts at minute N.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Final

import pytest

from tests.ask import stories
from tests.ask.test_names import asked, at, changed, thing

if TYPE_CHECKING:
    from pathlib import Path

    from pyoxigraph import Store

Json = dict[str, Any]


def share(number: int | None = 90, name: str | None = "OUT") -> Json:
    return {"objectDomain": "Share", "objectId": number, "objectName": name}


def table(number: int | None = 5, name: str | None = "D.S.T") -> Json:
    return {"SECURABLE_OBJECT_DOMAIN": "TABLE", "SECURABLE_OBJECT_ID": number, "SECURABLE_OBJECT_NAME": name}


ALL: Final[Json] = {
    "SECURABLE_OBJECT_DOMAIN": "TABLE", "SECURABLE_OBJECT_SCOPE": "D.S", "SECURABLE_OBJECT_SCOPE_DOMAIN": "SCHEMA",
}  # fmt: skip


def granted(to: Json, on: Json, privilege: str = "SELECT", done: str = "grant") -> Json:
    value = {"value": json.dumps({"PRIVILEGES": [privilege], **on})}
    return changed(to, done.upper(), **{done: value})


def revoked(to: Json, on: Json, privilege: str = "SELECT") -> Json:
    return granted(to, on, privilege, "revoke")


def opened(name: str, to: Json, *accounts: str) -> Json:
    return changed(to, **{name: {"value": list(accounts)}})


GRANT: Final = granted(share(), table())
BY_NAME: Final = granted(share(None), table(None))
LEFT: Final[dict[str, list[Json]]] = {
    "share": [GRANT, revoked(share(None), table())],
    "object": [GRANT, revoked(share(), table(None))],
    "both": [GRANT, revoked(share(None), table(None))],
    "all-privileges": [GRANT, revoked(share(), table(None), "ALL PRIVILEGES")],
    "granted-by-name": [BY_NAME, revoked(share(), table())],
    "on-all": [GRANT, revoked(share(None), ALL)],
}
"""A grant and a revoke of it, of which one lacks an id."""
ENDED: Final[dict[str, list[Json]]] = {
    "with-ids": [GRANT, revoked(share(), table())],
    "by-names": [BY_NAME, revoked(share(None), table(None))],
    "all-in-schema": [GRANT, revoked(share(), ALL)],
}
OTHER: Final[dict[str, list[Json]]] = {
    "other-share": [GRANT, revoked(share(None, "ELSE"), table())],
    "other-object": [GRANT, revoked(share(), table(None, "D.S.U"))],
    "other-privilege": [GRANT, revoked(share(), table(None), "INSERT")],
    "other-id": [GRANT, revoked(share(), table(6))],
    "other-kind": [GRANT, revoked(share(), {**table(None), "SECURABLE_OBJECT_DOMAIN": "VIEW"})],
    "other-schema": [GRANT, revoked(share(None), {**ALL, "SECURABLE_OBJECT_SCOPE": "D.S2"})],
    "granted-later": [revoked(share(None), table(None)), GRANT],
    "former-name": [
        GRANT, changed(thing("T", 5), objectName={"value": "D.S.NEW"}), revoked(share(), table(None)),
    ],
}  # fmt: skip
PAST: Final[dict[str, tuple[list[Json], str]]] = {
    "revoked": ([GRANT, revoked(share(), table())], "SELECT on D.S.T to OUT"),
    "dropped": ([GRANT, changed(thing("T", 5), "DROP")], "SELECT on D.S.T to OUT"),
    "closed": (
        [opened("accountsToAdd", share(), "ORG.B"), opened("accountsToRemove", share(), "ORG.B"), GRANT],
        "OUT to ORG.B",
    ),
    "granted-again": ([GRANT, revoked(share(), table()), GRANT], ""),
    "granted-anew": ([GRANT, changed(thing("T", 6), "REPLACE"), granted(share(), table(6))], ""),
}
"""What was granted until query q2."""
ACCOUNTS: Final[dict[str, list[Json]]] = {
    "removed": [GRANT, opened("accountsToAdd", share(), "ORG.B"), opened("accountsToRemove", share(None), "ORG.B")],
    "set": [GRANT, opened("accountsToAdd", share(), "ORG.B"), opened("accountsToSet", share(None), "ORG.C")],
}


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Store:
    dropped = {
        "drop": [GRANT, changed(share(None), "DROP")],
        "drop-of-other": [GRANT, changed(share(None, "X"), "DROP")],
    }
    past = {name: rows for name, (rows, _) in PAST.items()}
    return stories.told({**LEFT, **ENDED, **OTHER, **ACCOUNTS, **dropped, **past}, tmp_path_factory.mktemp("revokes"))


def notes(story: str, whole: Store, **given: Any) -> list[str]:
    return [note for note in asked("exposure", stories.of(story, whole), **given).notes if "with its id and" in note]


@pytest.mark.parametrize("given", [{}, {"object_name": "D.S.T"}])
@pytest.mark.parametrize("story", LEFT)
def test_a_revoke_in_the_other_form_is_told(story: str, given: Json, whole: Store) -> None:
    assert len(asked("exposure", stories.of(story, whole), **given).rows) == 1
    told = notes(story, whole, **given)
    assert len(told) == 1
    assert "SELECT on D.S.T was revoked from OUT (query q2, 2026-01-01T00:02:00Z)" in told[0]


def test_a_revoke_after_the_time_that_is_asked_for_is_not_told(whole: Store) -> None:
    assert not notes("share", whole, at=at(1.5))
    assert notes("share", whole, at=at(2.5))


@pytest.mark.parametrize("story", ENDED)
def test_what_a_revoke_ended_is_not_in_the_answer(story: str, whole: Store) -> None:
    assert not asked("exposure", stories.of(story, whole)).rows
    assert not notes(story, whole)


@pytest.mark.parametrize("story", OTHER)
def test_a_revoke_of_something_else_is_not_told(story: str, whole: Store) -> None:
    assert asked("exposure", stories.of(story, whole)).rows
    assert not notes(story, whole)


@pytest.mark.parametrize("given", [{}, {"object_name": "OUT", "domain": "Share"}, {"object_name": "D.S.T"}])
@pytest.mark.parametrize("story", ACCOUNTS)
def test_an_account_that_a_row_without_the_id_of_the_share_removes_is_told(
    story: str, given: Json, whole: Store
) -> None:
    told = "".join(notes(story, whole, **given))
    assert "OUT was revoked from ORG.B (query q3, 2026-01-01T00:03:00Z)" in told


@pytest.mark.parametrize("given", [{}, {"object_name": "D.S.T"}])
def test_a_share_that_is_dropped_without_its_id_is_told(given: Json, whole: Store) -> None:
    """The share is in the answer as the one to whom something was granted."""
    told = "".join(asked("exposure", stories.of("drop", whole), **given).notes)
    assert "OUT was dropped (query q2, 2026-01-01T00:02:00Z)" in told
    assert "was dropped" not in "".join(asked("exposure", stories.of("drop-of-other", whole), **given).notes)


@pytest.mark.parametrize("story", PAST)
def test_grants_that_ended_are_told(story: str, whole: Store) -> None:
    """docs/questions.md: without ``at``, the answer is as of the end of the record."""
    said = PAST[story][1]
    now, then = (
        asked("exposure", stories.of(story, whole), object_name="D.S.T", **at_) for at_ in ({}, {"at": at(1.5)})
    )
    assert [f"{said} from {at(1)} until {at(2)}." in note for note in now.notes if "Earlier ones" in note] == (
        [True] * bool(said)
    )
    assert not any("Earlier ones" in note for note in then.notes)


@pytest.mark.parametrize("given", [{}, {"object_name": "D.S.T"}])
def test_a_grant_on_a_name_that_another_object_got_is_told(given: Json, tmp_path: Path) -> None:
    """With its id, the grant would have ended with the table."""
    table_of_night = [changed(thing("T", number), "REPLACE") for number in (5, 6, 7)]
    graph = stories.told({"anew": [table_of_night[0], granted(share(), table(None)), *table_of_night[1:]]}, tmp_path)
    answer = asked("exposure", graph, **given)
    assert len(answer.rows) == 1
    told = [note for note in answer.notes if "lost it later" in note]
    assert [f"SELECT on D.S.T to OUT from {at(2)} (object_id=5 until {at(3)})." in note for note in told] == [True]
    before = asked("exposure", graph, **given, at=at(2.5))
    assert before.rows
    assert not any("lost it later" in note for note in before.notes)
