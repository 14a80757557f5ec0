"""What answers say of objects that a share opens to other accounts, also through views over them.

Each case is a separate account of one export; query ``qN`` starts at minute N.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import pytest

from tests.ask import stories
from tests.ask.test_names import asked, at, changed, copied, read, thing
from tests.ask.test_revokes import granted, opened, revoked, share, table

if TYPE_CHECKING:
    from pathlib import Path

    from pyoxigraph import Store

Json = dict[str, Any]
A, B, T = (thing(name, number) for number, name in enumerate("ABT", 1))
SV, OVER, AGAIN = (thing(name, number, "View") for name, number in (("SV", 20), ("OVER", 21), ("SV", 22)))
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
REPLACED: Final[dict[str, list[Json]]] = {
    "made-anew": [through(SV, T), GRANT, TO_ACCOUNT, changed(AGAIN, "REPLACE"), through(AGAIN, T), read(B)],
    "not-read-again": [through(SV, T), GRANT, TO_ACCOUNT, changed(AGAIN, "REPLACE"), read(B), read(B)],
    "twice": [
        through(SV, T), GRANT, TO_ACCOUNT, changed(AGAIN, "REPLACE"), changed(thing("SV", 23, "View"), "REPLACE"),
        read(B),
    ],
}  # fmt: skip
"""The view was made anew by q4. No row says whether with COPY GRANTS."""
ENDED: Final[dict[str, list[Json]]] = {
    "granted-again": [*REPLACED["made-anew"][:4], granted(share(), view(22, "D.S.SV")), read(B)],
    "revoked-later": [*REPLACED["made-anew"][:4], revoked(share(), view(22, "D.S.SV")), read(B)],
    "dropped-later": [*REPLACED["made-anew"][:4], changed(AGAIN, "DROP"), read(B)],
    "share-dropped": [*REPLACED["made-anew"][:4], changed(share(), "DROP"), read(B)],
    "revoked-before": [through(SV, T), GRANT, revoked(share(), view(20, "D.S.SV")), changed(AGAIN, "REPLACE"), read(B),
                       read(B)],
}  # fmt: skip
"""Nothing is left of the first grant."""
ROLE: Final[Json] = {"objectDomain": "Database Role", "objectId": 70, "objectName": "D.R"}
HAS_ROLE: Final = granted(share(), {
    "SECURABLE_OBJECT_DOMAIN": "DATABASE_ROLE", "SECURABLE_OBJECT_ID": 70, "SECURABLE_OBJECT_NAME": "D.R",
}, "USAGE")  # fmt: skip
HAS_ROLE_BY_NAME: Final = changed(share(), "GRANT", grant={"value": {"ROLES": ["D.R"]}})
NAMED: Final = {key: value for key, value in SV.items() if key != "objectId"}
NOT_FOLLOWED: Final[dict[str, tuple[list[Json], str]]] = {
    "grant-by-name": ([through(SV, T), granted(share(), view(None, "D.S.SV"))], "SV"),
    "grant-with-id": ([through(NAMED, T), GRANT], "SV"),
    "of-copy": ([copied(T, B), through(SV, B), granted(share(), view(None, "D.S.SV"))], "SV"),
    "table-by-name": ([copied(T, B), granted(share(), table(None, "D.S.B"))], "B"),
    "through-role": ([through(SV, T), granted(ROLE, view(20, "D.S.SV")), HAS_ROLE], "SV"),
    "table-through-role": ([copied(T, B), granted(ROLE, table(2, "D.S.B")), HAS_ROLE], "B"),
    # Such a list has names alone.
    "through-role-by-name": ([through(SV, T), granted(ROLE, view(20, "D.S.SV")), HAS_ROLE_BY_NAME], "SV"),
    "table-through-role-by-name": ([copied(T, B), granted(ROLE, table(2, "D.S.B")), HAS_ROLE_BY_NAME], "B"),
}
"""A share has a view over the table, or its copy, by a grant that is not on the object that the data came to, as rows
say.
"""
ROLE_WITH: Final = granted(ROLE, view(20, "D.S.SV"))
NO_MORE: Final[dict[str, tuple[list[Json], str]]] = {
    "role-revoked": ([through(SV, T), ROLE_WITH, HAS_ROLE, revoked(ROLE, view(20, "D.S.SV")), read(A)], at(4)),
    "role-dropped": ([through(SV, T), ROLE_WITH, HAS_ROLE, changed(ROLE, "DROP"), read(A)], at(4)),
    "share-of-role-dropped": ([through(SV, T), ROLE_WITH, HAS_ROLE, changed(share(), "DROP"), read(A)], at(4)),
    "role-too-late": ([through(SV, T), HAS_ROLE, changed(share(), "DROP"), ROLE_WITH, read(A)], ""),
}
"""A share had a view through a role, and when it had it last; empty if it never did."""
CLONE: Final = changed(
    {"objectDomain": "Schema", "objectId": 60, "objectName": "D.S2"}, "CREATE",
    cloneSourceName={"value": "D.S"}, cloneSourceDomain={"value": "Schema"},
)  # fmt: skip
CLONED: Final[dict[str, list[Json]]] = {
    f"clone{name}": [copied(T, B), CLONE, granted(share(), table(number, "D.S2.B")), TO_ACCOUNT]
    for name, number in (("", 53), ("-by-name", None))
}
"""No row but that of the grant names the table in the clone."""
LATER: Final = thing("T", 4)
RENAMED: Final = [changed(T, "ALTER", objectName={"value": "D.S.OLD"}), changed(LATER, "CREATE")]
TURNS: Final[dict[str, list[Json]]] = {
    "granted-later": [copied(A, T), through(SV, T), *RENAMED, copied(B, LATER), through(SV, LATER), GRANT,
                      TO_ACCOUNT],
    "granted-before": [GRANT, TO_ACCOUNT, copied(A, T), through(SV, T), *RENAMED, copied(B, LATER),
                       through(SV, LATER)],
}  # fmt: skip
"""The view was read over a table, and then over another one that had got its name."""
STORIES: Final[dict[str, list[Json]]] = {
    **TURNS,
    **BEHIND,
    **{name: story for name, (story, _) in (NOT_FOLLOWED | NO_MORE).items()},
    # rows do not say from which column or file the columns of the table came
    "of-stage": [{**read(IN, "ETL"), "objects_modified": [T]}, through(SV, T), GRANT, TO_ACCOUNT],
    **REPLACED,
    **ENDED,
    **CLONED,
    "clone-read": [*CLONED["clone"], read({**thing("B", 53), "objectName": "D.S2.B"})],
    # a query that reads the two together says only that one of them may be over the table
    "perhaps": [through([SV, OVER], T, B), GRANT, TO_ACCOUNT, read(A)],
    # a row gives the table by its name alone, too
    "cloned": [
        through(SV, T),
        GRANT,
        changed(A, "CREATE", cloneSourceName={"value": "D.S.T"}, cloneSourceDomain={"value": "TABLE"}),
    ],
    "of-other": [through(SV, B), GRANT, TO_ACCOUNT, read(T), read(A)],
    "revoked": [through(SV, T), GRANT, TO_ACCOUNT, revoked(share(), view(20, "D.S.SV")), read(A), read(A)],
}


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Store:
    return stories.told(STORIES, tmp_path_factory.mktemp("shares"))


def notes(question: str, story: str, whole: Store, **given: Any) -> str:
    return "\n".join(asked(question, stories.of(story, whole), **given).notes)


# --- views over what is asked for -------------------------------------------------------------------------------------


@pytest.mark.parametrize("since", [4.5, 30])
@pytest.mark.parametrize("story", BEHIND)
def test_a_table_behind_a_shared_view_may_be_in_use(story: str, since: float, whole: Store) -> None:
    """Also after the last row: a grant goes on."""
    answer = asked("unused-objects", stories.of(story, whole), since=at(since))
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


def test_a_view_that_is_certain_in_one_form_is_not_told_as_possible_in_the_other(whole: Store) -> None:
    told = notes("who-accessed", "cloned", whole, object_name="D.S.T")
    assert told.count("D.S.SV, a view over D.S.T, was granted to a share") == 1
    assert "may be a view" not in told


@pytest.mark.parametrize("story", BEHIND)
def test_exposure_tells_of_a_shared_view_over_what_is_asked_for(story: str, whole: Store) -> None:
    told = notes("exposure", story, whole, object_name="D.S.T")
    assert "D.S.SV, a view over D.S.T, was granted to a share: ask exposure for it, too." in told
    assert "over D.S.T" not in notes("exposure", "of-other", whole, object_name="D.S.T")


def test_readers_of_what_the_data_went_to_are_not_all_on_record(whole: Store) -> None:
    told = notes("downstream-users", "view", whole, object_name="D.S.IN")
    assert f"D.S.SV, a view over D.S.T, was granted to a share: {ELSEWHERE}." in told


@pytest.mark.parametrize(("story", "first"), [("granted-later", ("", at(7))), ("granted-before", (at(4), at(8)))])
def test_a_share_has_what_its_view_shows_since_it_was_granted(story: str, first: tuple[str, str], whole: Store) -> None:
    """The table that the view showed before, and no more, is in no share."""
    for source, time, number in zip("AB", first, (3, 4), strict=True):
        answer = asked("end-up", stories.of(story, whole), object_name=f"D.S.{source}")
        assert [row[3] for row in answer.rows if row[1] == "Share"] == ([time] if time else []), source
        told = notes("downstream-users", story, whole, object_name=f"D.S.{source}")
        told += notes("exposure", story, whole, object_id=str(number), domain="Table")
        assert told.count("D.S.SV, a view over") == (2 if time else 0), told


def test_where_data_ended_up_leads_to_the_share(whole: Store) -> None:
    graph = stories.of("of-stage", whole)
    answer, of_table, of_view = (asked("end-up", graph, object_name=f"D.S.{name}") for name in ("IN", "T", "SV"))
    told = "D.S.SV, a view over D.S.T, was granted to a share, and the answer does not follow it there: ask end-up of"
    assert {row[0] for row in answer.rows} == {"D.S.T"}
    assert told in "\n".join(answer.notes)
    assert {row[0] for row in of_table.rows} == {"D.S.SV", "OUT"}
    assert "does not follow it there" not in "\n".join(of_table.notes)
    assert "OUT" in {row[0] for row in of_view.rows}


@pytest.mark.parametrize("column", [{}, {"column_name": "C"}])
@pytest.mark.parametrize("story", NOT_FOLLOWED)
def test_a_share_that_the_answer_does_not_follow_is_told(story: str, column: dict[str, str], whole: Store) -> None:
    """docs/graph.md: what rows give with an id and without are two nodes; grants go through roles to shares."""
    graph, holder = stories.of(story, whole), f"D.S.{NOT_FOLLOWED[story][1]}"
    answer = asked("end-up", graph, object_name="D.S.T", **column)
    assert holder in {row[0] for row in answer.rows}
    assert "OUT" not in {row[0] for row in answer.rows}
    told = "\n".join(answer.notes)
    assert "Granted to shares in ways that the answer does not follow" in told
    assert f": {holder} to OUT. Ask exposure for these, too." in told
    exposed = asked("exposure", graph, object_name=holder)
    is_said = "Rows give D.R with an id and without" in "\n".join(exposed.notes)
    assert is_said if "by-name" in story and "role" in story else "OUT" in {row[3] for row in exposed.rows}
    unused = notes("unused-objects", story, whole, since=at(30))
    assert f"{holder} (granted to a share" in unused
    before = notes("end-up", story, whole, object_name="D.S.T", until=at(1.5), **column)
    assert "Granted to shares" not in before


@pytest.mark.parametrize("story", NO_MORE)
def test_of_a_share_that_has_it_no_more_exposure_is_asked_with_a_time(story: str, whole: Store) -> None:
    graph, until = stories.of(story, whole), NO_MORE[story][1]
    told = notes("end-up", story, whole, object_name="D.S.T")
    assert (f": D.S.SV to OUT (until {until}). Ask exposure for these, too; of what" in told) == bool(until)
    assert ("Granted to shares in ways" in told) == bool(until)
    assert "OUT" not in {row[3] for row in asked("exposure", graph, object_name="D.S.SV").rows}
    before = {row[3] for row in asked("exposure", graph, object_name="D.S.SV", at=at(3.5)).rows}
    assert ("OUT" in before) == bool(until)
    if until:
        told = notes("end-up", story, whole, object_name="D.S.T", until=at(3.5))
        assert ": D.S.SV to OUT. Ask exposure for these, too." in told


def test_a_share_that_the_answer_has_is_not_told_as_not_followed(whole: Store) -> None:
    of_view, with_all = (asked("end-up", stories.of(one, whole), object_name="D.S.T") for one in ("view", "with-all"))
    assert "OUT" in {row[0] for row in of_view.rows}
    assert "Granted to shares" not in "\n".join([*of_view.notes, *with_all.notes])
    assert "Granted on all that was in a schema or database then: SELECT ON ALL VIEW" in "\n".join(with_all.notes)


@pytest.mark.parametrize("name", ["D.S.T", "D.S.B"])
@pytest.mark.parametrize("story", CLONED)
def test_a_shared_table_of_a_clone_is_told(story: str, name: str, whole: Store) -> None:
    """docs/graph.md: its table came from the one of its name in the source, as is inferred."""
    told = (
        "D.S2.B came with a CLONE and was granted to a share, and the answer does not have it: ask end-up of it, too."
    )
    assert told in notes("end-up", story, whole, object_name=name)
    assert {row[0] for row in asked("end-up", stories.of(story, whole), object_name="D.S2.B").rows} == {"OUT"}
    assert told not in notes("end-up", story, whole, object_name=name, until=at(2.5))
    read_later = asked("end-up", stories.of("clone-read", whole), object_name=name)
    assert {"D.S2.B", "OUT"} <= {row[0] for row in read_later.rows}
    assert told not in "\n".join(read_later.notes)


ON_ALL: Final[Json] = {
    "SECURABLE_OBJECT_DOMAIN": "TABLE", "SECURABLE_OBJECT_SCOPE": "D.S2", "SECURABLE_OBJECT_SCOPE_DOMAIN": "SCHEMA",
}  # fmt: skip
AGAIN_CLONED: Final = changed(
    {"objectDomain": "Schema", "objectId": 61, "objectName": "D.S3"}, "CREATE",
    cloneSourceName={"value": "D.S2"}, cloneSourceDomain={"value": "Schema"},
)  # fmt: skip
TABLE_CLONED: Final = changed(
    thing("X", 9), "CREATE", cloneSourceName={"value": "D.S.B"}, cloneSourceDomain={"value": "TABLE"}
)
FROM_B: Final = "{0} was granted to a share ({0} is from D.S.B)"
OF_CLONES: Final[dict[str, tuple[list[Json], str]]] = {
    **{name: (story, FROM_B.format("D.S2.B")) for name, story in CLONED.items()},
    "of-clone-of-clone": (
        [copied(T, B), CLONE, AGAIN_CLONED, granted(share(), table(63, "D.S3.B"))],
        "D.S3.B was granted to a share (D.S3.B is from D.S2.B)",
    ),
    "of-table": ([copied(T, B), TABLE_CLONED, granted(share(), table(9, "D.S.X"))], FROM_B.format("D.S.X")),
    "with-all": (
        [copied(T, B), CLONE, granted(share(), ON_ALL)],
        "SELECT ON ALL TABLE in D.S2 was granted to a share (D.S2.B is from D.S.B)",
    ),
    "with-all-named": (
        [copied(T, B), CLONE, granted(share(), ON_ALL), read({**thing("B", 53), "objectName": "D.S2.B"})],
        FROM_B.format("D.S2.B"),
    ),
    "view-over-it": (
        [
            copied(T, B), CLONE, through(SV, {**thing("B", 53), "objectName": "D.S2.B"}), GRANT,
        ],
        "D.S.SV, a view over D.S2.B, was granted to a share (D.S2.B is from D.S.B)",
    ),
    "with-all-before": ([copied(T, B), granted(share(), ON_ALL), CLONE], ""),
    "of-source": ([copied(T, B), granted(share(), table(2, "D.S.B")), CLONE], ""),
    "of-other": ([copied(T, B), CLONE, granted(share(), table(54, "D.S2.T"))], ""),
}  # fmt: skip


@pytest.mark.parametrize("story", OF_CLONES)
def test_exposure_tells_of_the_shares_of_clones(story: str, tmp_path: Path) -> None:
    """A clone has the data of its source (view, "Write operation notes"), and is granted by rows of its own."""
    rows, said = OF_CLONES[story]
    notes = asked("exposure", stories.told({story: rows}, tmp_path), object_name="D.S.B").notes
    told = next((one for one in notes if one.startswith("Came with a CLONE of what is asked for: ")), "")
    assert said in told
    assert bool(told) == bool(said)


def test_reads_in_accounts_with_rows_are_on_record(whole: Store) -> None:
    """A graph of several accounts has the reads of each of them."""
    for question in ("who-accessed", "unused-objects"):
        about = {"object_name": "D.S.T"} if question == "who-accessed" else {"since": at(4.5)}
        told = "\n".join(asked(question, whole, **about).notes)
        assert "granted to a share: reads in accounts without rows here are in their own ACCESS_HISTORY alone" in told
        assert "reads in other accounts" not in told


# --- views that were made anew ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("given", [{}, {"object_name": "D.S.SV"}, {"object_id": "22", "domain": "View"}])
@pytest.mark.parametrize("story", REPLACED)
def test_a_grant_on_what_was_made_anew_may_hold_still(story: str, given: dict[str, str], whole: Store) -> None:
    """Snowflake, CREATE VIEW: COPY GRANTS retains the access permissions of the original view."""
    answer = asked("exposure", stories.of(story, whole), **given)
    assert "D.S.SV" not in {row[0] for row in answer.rows}
    told = "\n".join(answer.notes)
    assert f"rows do not say whether it was used: SELECT on D.S.SV to OUT from {at(2)} until {at(4)}." in told
    assert "Earlier ones ended" not in told
    before = asked("exposure", stories.of(story, whole), **given, at=at(3.5))
    assert "COPY GRANTS" not in "\n".join(before.notes)


@pytest.mark.parametrize("given", [{}, {"object_name": "D.S.SV"}])
@pytest.mark.parametrize("story", ENDED)
def test_a_grant_that_ended_otherwise_or_holds_again_is_not_kept(
    story: str, given: dict[str, str], whole: Store
) -> None:
    assert "COPY GRANTS" not in notes("exposure", story, whole, **given)
    unused = notes("unused-objects", story, whole, since=at(5.5))
    assert "COPY GRANTS" not in unused
    assert (f"D.S.SV (granted to a share: {ELSEWHERE})" in unused) == (story == "granted-again")


@pytest.mark.parametrize("story", REPLACED)
def test_what_was_made_anew_may_be_in_use_through_a_share(story: str, whole: Store) -> None:
    told = notes("unused-objects", story, whole, since=at(5.5))
    kept = f"granted to a share, if COPY GRANTS kept the grant when it was made anew ({at(4)}): {ELSEWHERE}"
    over = "a view over it" if story == "made-anew" else "which may be a view over it"
    assert f"D.S.SV ({kept})" in told
    assert f"D.S.T (D.S.SV, {over}, is {kept})" in told


@pytest.mark.parametrize("given", [{"object_name": "D.S.SV"}, {"object_id": "22", "domain": "View"}])
def test_readers_of_what_was_made_anew_are_not_all_on_record(given: dict[str, str], whole: Store) -> None:
    assert f"D.S.SV was granted to a share: {ELSEWHERE}." in notes("who-accessed", "made-anew", whole, **given)


@pytest.mark.parametrize("given", [{"object_name": "D.S.T"}, {"object_name": "D.S.SV"}])
def test_where_data_ends_up_tells_of_a_share_that_may_have_what_was_made_anew(
    given: dict[str, str], whole: Store
) -> None:
    told = f"Granted to a share, and then made anew (CREATE OR REPLACE): D.S.SV at {at(4)}."
    assert told in notes("end-up", "made-anew", whole, **given)
    assert told not in notes("end-up", "made-anew", whole, **given, until=at(3.5))
    for story in ("granted-again", "revoked-later", "dropped-later", "view"):
        assert "made anew" not in notes("end-up", story, whole, **given)
