"""The picture of lineage: compared with the shipped questions, opened step by step, and limited in size."""

from __future__ import annotations

from datetime import date
from typing import TYPE_CHECKING

import pytest

from exporter.serve.lineage import elements as address
from exporter.serve.lineage.elements import Address, elements
from exporter.serve.lineage.picture import (
    MOST_OF_GROUP,
    Flow,
    Group,
    Lineage,
    LineageNode,
    Named,
    Opened,
    lineage,
    picture,
)

if TYPE_CHECKING:
    from exporter.serve.lineage.picture import Way
    from exporter.serve.site import Site

FLOW = Flow(1, "2026-01-01T00:00:00Z", "2026-01-02T00:00:00Z")


def made(*flows: tuple[str, str], focus: str = "a.b.FOCUS") -> Lineage:
    """A lineage of objects that go by their names; up and down by where the focus is."""
    found = Lineage(LineageNode(focus))
    for source, target in flows:
        for name in (source, target):
            found.named[LineageNode(name)] = Named(name, "Table")
        found.up[LineageNode(target)][LineageNode(source)] = FLOW
        found.down[LineageNode(source)][LineageNode(target)] = FLOW
    return found


def layers(found: Lineage, *opened: Opened) -> dict[str, int]:
    spots = picture(found, frozenset(opened)).spots
    return {
        spot.iri.rpartition(".")[2] if isinstance(spot, LineageNode) else spot.schema: one.layer
        for spot, one in spots.items()
    }


def walked(found: Lineage, way: Way) -> dict[tuple[LineageNode, LineageNode], Flow]:
    """All edges of one way, from the focus on."""
    edges, waiting, seen = {}, [found.focus], {found.focus}
    while waiting:
        place = waiting.pop()
        for other, flow in found.neighbours(way, place).items():
            edges[place, other] = flow
            waiting += [] if other in seen else [other]
            seen.add(other)
    return edges


CHAIN = made(("a.b.X", "a.b.Y"), ("a.b.Y", "a.b.FOCUS"), ("a.b.FOCUS", "a.b.Z"), ("a.b.Z", "a.b.END"))


def test_one_step_each_way_at_first_and_more_when_it_is_opened() -> None:
    assert layers(CHAIN) == {"FOCUS": 0, "Y": -1, "Z": 1}
    assert layers(CHAIN, Opened("up", LineageNode("a.b.Y"))) == {"FOCUS": 0, "Y": -1, "Z": 1, "X": -2}
    hidden = {spot.iri: one.hidden for spot, one in picture(CHAIN, frozenset()).spots.items()}
    assert hidden == {"a.b.FOCUS": 0, "a.b.Y": 1, "a.b.Z": 1}


def test_a_circle_ends() -> None:
    found = made(("a.b.X", "a.b.FOCUS"), ("a.b.FOCUS", "a.b.X"))
    opened = [Opened("up", LineageNode("a.b.X")), Opened("down", LineageNode("a.b.X"))]
    assert layers(found, *opened) == {"FOCUS": 0, "X": -1}
    assert len(picture(found, frozenset(opened)).lines) == 2


def test_hundreds_of_neighbours_are_grouped_by_schema() -> None:
    many = [(f"db.s{number % 3}.T{number:03}", "a.b.FOCUS") for number in range(300)]
    found = made(*many, ("other.s.ALONE", "a.b.FOCUS"))
    assert layers(found) == {"FOCUS": 0, "db.s0": -1, "db.s1": -1, "db.s2": -1, "ALONE": -1}
    drawn = picture(found, frozenset({Opened("up", LineageNode("a.b.FOCUS"), "db.s0")}))
    groups = {(spot.schema, spot.rest): one.size for spot, one in drawn.spots.items() if isinstance(spot, Group)}
    assert groups == {("db.s0", True): 100 - MOST_OF_GROUP, ("db.s1", False): 100, ("db.s2", False): 100}
    assert len(drawn.spots) == 1 + MOST_OF_GROUP + 3 + 1


def test_boxes_of_a_layer_do_not_lie_on_each_other(month: Site) -> None:
    found = made(*((f"a.b.S{number}", "a.b.FOCUS") for number in range(10)))
    boxes = [one for one in elements(month, found, picture(found, frozenset()), None) if "position" in one]
    places = {(one["position"]["x"], one["position"]["y"]) for one in boxes}
    assert len(places) == 11
    assert len({one["data"]["id"] for one in boxes}) == 11


def test_an_address_says_all_that_is_shown(month: Site) -> None:
    place = LineageNode(month.iri('table/name/D.S."a|b&c=d e'), "MY|COL&")
    asked = Address(
        "table/1", "", "C", date(2026, 9, 5), frozenset({Opened("up", place), Opened("down", place, "a|.b")}), place
    )
    assert address.read(address.href(asked, month), month) == asked
    assert address.read("?day=soon&open=up&open=left|a|b|c&look=|", month) == Address()


# --- the lineage of the example ---------------------------------------------------------------------------------------

DAYS = [date(2026, 9, day) for day in (5, 19)]


@pytest.mark.parametrize("day", DAYS, ids=str)
def test_as_of_a_day_is_what_the_question_answers(month: Site, day: date) -> None:
    """For each table: the same queries brought its data, by the first and last time of each; the question also names
    writes from a table into itself.
    """
    tables = month.rows("page-search", {"text": ".", "id": "."})
    compared = 0
    for iri in sorted({row["object_iri"] for row in tables if row["kind"] == "Table" and row["object_iri"]}):
        thing = month.thing(iri)
        names = month.rows("page-names", {"object": iri})
        end = f"{day}T23:59:59.999999Z"
        name = next(
            (one["name"] for one in names if one["valid_from"] <= end < (one["valid_until"] or "9")), None
        )  # fmt: skip
        if name is None or sum(1 for row in month.rows("page-named", {"object_name": name})
                               if row["valid_from"] <= end < (row["valid_until"] or "9")) > 1:  # fmt: skip
            continue
        asked = month.rows("lineage-as-of", {"object_name": name, "at": end})
        found = lineage(month, thing, "", day)
        flows = walked(found, "up")
        times = {time for flow in flows.values() for time in (flow.first, flow.last) if not flow.evidence}
        assert times <= {row["query_start_time"] for row in asked}
        assert bool(times) == bool(asked)
        if asked:
            assert min(times) == min(row["query_start_time"] for row in asked)
            own = {row["query_start_time"] for row in asked if row["source_object_name"] == name}
            assert max(times) == max({row["query_start_time"] for row in asked} - (own - times))
        compared += bool(asked)
    assert compared >= 1


def test_a_dropped_object_has_no_lineage(month: Site) -> None:
    thing, _ = month.named("SANDBOX.MARIA.CUSTOMER_EMAILS")
    before, after = (lineage(month, thing, "", date(2026, 9, day)) for day in (27, 28))
    assert walked(before, "up")
    assert not walked(after, "up")
    assert "dropped" in after.notes[0]
    column = lineage(month, thing, "EMAIL", date(2026, 9, 27))
    assert LineageNode(month.iri("table/1029"), "EMAIL") in {source for _, source in walked(column, "up")}
    assert not walked(lineage(month, thing, "EMAIL", date(2026, 9, 28)), "up")


def test_a_day_bounds_where_data_had_gone(month: Site) -> None:
    thing = month.thing(month.iri("table/1029"))
    early, late = (walked(lineage(month, thing, "EMAIL", day), "down") for day in (date(2026, 9, 1), None))
    assert set(early) < set(late)
    assert all(flow.last < "2026-09-02" for flow in early.values())
    assert all(target.column == "EMAIL" for _, target in late)
