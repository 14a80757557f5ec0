"""The picture of lineage: compared with the shipped questions, opened step by step, and limited in size."""

from __future__ import annotations

import csv
import io
import re
from datetime import date
from html import unescape
from html.parser import HTMLParser
from itertools import pairwise
from random import Random
from typing import TYPE_CHECKING, Final, cast
from urllib.parse import quote
from xml.etree import ElementTree as ET

import pytest

from exporter.serve.lineage import address
from exporter.serve.lineage.address import Address, EdgeOfAddress
from exporter.serve.lineage.drawing import WIDTH, Facts, drawing
from exporter.serve.lineage.flows import Flow, Lineage, LineageNode, NodeLabel, read_lineage
from exporter.serve.lineage.layers import lay_out
from exporter.serve.lineage.picture import MOST_OF_GROUP, Group, Opened, picture, unseen
from exporter.serve.server import make
from tests.ask.test_names import copied, read
from tests.serve.conftest import pages_of, sited

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from flask.testing import FlaskClient

    from exporter.serve.lineage.drawing import Drawing
    from exporter.serve.lineage.flows import Direction
    from exporter.serve.site import Site

SVG: Final = {"svg", "title", "style", "defs", "marker", "path", "rect", "g", "text", "circle"}
"""The elements that a picture is made of."""
FLOW = Flow(1, "2026-01-01T00:00:00Z", "2026-01-02T00:00:00Z")


class Given(Lineage):
    """A lineage whose edges are all given, so that no export is read."""

    def load(self, direction: Direction, places: Iterable[LineageNode]) -> None:
        """Read nothing."""


def made(*flows: tuple[str, str], focus: str = "a.b.FOCUS") -> Lineage:
    """A lineage of objects that go by their names; up and down by where the focus is."""
    found = Given(LineageNode(focus), cast("Site", None), None, None)
    for source, target in flows:
        for name in (source, target):
            found.labels[LineageNode(name)] = NodeLabel(name, "Table")
        found.flows["up"][LineageNode(target)][LineageNode(source)] = FLOW
        found.flows["down"][LineageNode(source)][LineageNode(target)] = FLOW
    return found


def layers(found: Lineage, *opened: Opened) -> dict[str, int]:
    spots = picture(found, frozenset(opened)).spots
    return {
        spot.iri.rpartition(".")[2] if isinstance(spot, LineageNode) else spot.schema: one.layer
        for spot, one in spots.items()
    }


def walked(found: Lineage, way: Direction) -> dict[tuple[LineageNode, LineageNode], Flow]:
    """All edges of one way, from the focus on."""
    step, edges = [found.focus], {}
    while step:
        found.load(way, step)
        fresh = {(place, other): flow for place in step for other, flow in found.neighbours(way, place).items()}
        step = list({other for _, other in fresh.keys() - edges.keys()} - {place for place, _ in edges} - set(step))
        edges |= fresh
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


def test_what_has_no_box_is_followed_as_far_as_the_steps_but_not_what_the_user_closed() -> None:
    """41 boxes are too many to open the next step: the tables and the CSV go on all the same."""
    first = [(f"db{number}.s.T", "a.b.FOCUS") for number in range(41)]
    beyond = [("x.s.A", "db7.s.T"), ("x.s.B", "x.s.A"), ("x.s.C", "x.s.B")]
    found = made(*first, *beyond)

    def ends(steps: int, *opened: Opened) -> list[str]:
        state = frozenset(opened)
        return sorted(line.source.iri for line in unseen(found, picture(found, state, steps), state, steps).lines)

    assert [ends(steps) for steps in (1, 2, 3)] == [[], ["x.s.A"], ["x.s.A", "x.s.B"]]
    assert ends(20) == ["x.s.A", "x.s.B", "x.s.C"]
    few = made(*first[:5], ("x.s.A", "db3.s.T"))
    closed = frozenset({Opened("up", LineageNode("db3.s.T"))})
    assert unseen(few, picture(few, closed, 20), closed, 20).lines == []


def test_what_is_not_read_beyond_the_picture_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    many = [(f"db.s.T{number:02}", "a.b.FOCUS") for number in range(30)]
    found = made(*many, *((f"x.s.A{name[-2:]}", name) for name, _ in many))
    whole = unseen(found, picture(found, frozenset(), 2), frozenset(), 2)
    assert (len(whole.lines), whole.beyond, whole.is_whole) == (60, 30, True)
    monkeypatch.setattr("exporter.serve.lineage.picture.MOST_BEYOND", 10)
    some = unseen(found, picture(found, frozenset(), 2), frozenset(), 2)
    assert (len(some.lines), some.beyond, some.is_whole) == (40, 10, False)


def drawn(site: Site, found: Lineage, steps: int = 20) -> Drawing:
    return drawing(site, found, picture(found, frozenset(), steps), Address(), Facts({}, {}), {})


def test_steps_are_open_by_themselves_as_long_as_there_are_few_boxes() -> None:
    def names(steps: int, *opened: Opened) -> set[str]:
        return {spot.iri.rpartition(".")[2] for spot in picture(CHAIN, frozenset(opened), steps).spots}

    assert names(2) == {"X", "Y", "FOCUS", "Z", "END"}
    assert names(2, Opened("up", LineageNode("a.b.Y"))) == {"Y", "FOCUS", "Z", "END"}, "it was closed"
    wide = made(*((f"a.b.S{one}", f"a.b.M{one // 10}") for one in range(100)),
                *((f"a.b.M{one}", "a.b.FOCUS") for one in range(10)),
                *((f"a.b.R{one}", f"a.b.S{one}") for one in range(100)))  # fmt: skip
    assert len(picture(wide, frozenset(), 20).spots) == 11
    assert len(picture(wide, frozenset({Opened("up", LineageNode("a.b.M1"))}), 20).spots) == 21


def boxes_of(heights: list[float], edges: list[tuple[int, int]]) -> dict[int, tuple[int, float, float]]:
    found = lay_out(heights, edges)
    return {one: (found.layer[one], found.top[one], found.top[one] + heights[one]) for one in found.layer}


def test_boxes_do_not_lie_on_each_other_and_no_edge_passes_behind_one() -> None:
    """For drawn graphs, also with circles and parts that are not connected, and boxes of any height."""
    for seed in range(40):
        random = Random(seed)
        number = random.randrange(1, 40)
        heights = [random.choice([46.0, 66.0, 150.0, 400.0]) for _ in range(number)]
        pairs = ((random.randrange(number), random.randrange(number)) for _ in range(random.randrange(80)))
        edges = sorted({pair for pair in pairs if pair[0] != pair[1]})
        found = lay_out(heights, edges)
        assert found.layer.keys() == found.top.keys() == set(range(number))
        spans = sorted((found.layer[one], found.top[one], found.top[one] + heights[one]) for one in range(number))
        for (layer, _, bottom), (other, top, _) in pairwise(spans):
            assert layer != other or bottom <= top + 0.001
        for edge in edges:
            source, target = (found.layer[one] for one in edge)
            assert source != target
            step = 1 if source < target else -1
            bends = found.bends[edge]
            assert [layer for layer, _ in bends] == list(range(source + step, target, step))
            for layer, y in bends:
                assert not [one for one in spans if one[0] == layer and one[1] < y < one[2]]
        assert found.height >= max(bottom for _, _, bottom in spans)


def test_data_goes_from_left_to_right() -> None:
    edges = [(0, 1), (1, 2), (0, 2), (2, 3), (4, 3), (0, 3)]
    layer = lay_out([46.0] * 5, edges).layer
    assert all(layer[source] < layer[target] for source, target in edges)


def test_the_edges_of_a_drawing_begin_and_end_at_its_boxes(month: Site) -> None:
    found = read_lineage(month, month.thing(month.iri("table/2050")), "", None)
    made_of = drawn(month, found)
    boxes = {box.key: box for box in made_of.boxes}
    assert len(made_of.arrows) > 10
    for arrow in made_of.arrows:
        source, target = (boxes[end.rpartition("|")[0]] for end in arrow.ends)
        assert arrow.path.startswith(f"M{source.x + WIDTH:.0f} ")
        assert f" {target.x:.0f} " in f"{arrow.path} ".replace("C", " ")
        assert source.x + WIDTH < target.x
    assert all(box.x + WIDTH <= made_of.width and box.y + box.height <= made_of.height for box in made_of.boxes)


def test_an_address_says_all_that_is_shown(month: Site) -> None:
    place = LineageNode(month.iri('table/name/D.S."a|b&c=d e'), "MY|COL&")
    asked = Address(
        "table/1", "", "C", date(2026, 9, 5), date(2026, 9, 2), 3,
        frozenset({Opened("up", place), Opened("down", place, "a|.b")}), frozenset({place.iri}),
        frozenset({"helpers", "reads"}), place, EdgeOfAddress("up", place, LineageNode(place.iri)),
    )  # fmt: skip
    assert address.read(address.href(asked, month).partition("?")[2], month) == asked
    assert address.read("?day=&since=&steps=&open=&look=&edge=&hide=", month) == Address()
    assert address.read(f"steps={'9' * 5_000}", month).steps == address.MOST_STEPS


@pytest.mark.parametrize(
    "told",
    [
        "day=soon", "day=2026-13-45", "day=2026-09-02T10:00", "since=abc", "steps=x", "steps=-1", "hide=all", "open=up",
        "open=left|a|b|c", "look=|", "edge=up|a|b",
    ],
)  # fmt: skip
def test_what_cannot_be_read_is_refused(told: str, client: FlaskClient) -> None:
    """The picture without it would be another one: of all time in the place of a day."""
    for path in ("", "picture.svg", "lineage.csv"):
        answer = client.get(f"/lineage/{path}?id=table/1029&{told}")
        assert answer.status_code == 400
        assert f"{told} cannot be read in this address" in unescape(answer.text).replace("<wbr>", "")


def test_a_column_is_found_in_any_letter_case(client: FlaskClient) -> None:
    known = client.get("/lineage/?id=table/1029&column=EMAIL").text
    assert client.get("/lineage/?id=table/1029&column=email").text == known
    unknown = client.get("/lineage/?id=table/1029&column=NO_SUCH")
    assert unknown.status_code == 404
    assert "/column?id=table/1029&amp;column=EMAIL" in unknown.text


def test_the_last_day_that_there_is(client: FlaskClient) -> None:
    assert client.get("/lineage/?id=table/1029&day=9999-12-31").status_code == 200


# --- helpers ----------------------------------------------------------------------------------------------------------


def test_a_hidden_helper_is_passed_and_named() -> None:
    found = made(("a.b.RAW", "a.b.TMP"), ("a.b.TMP", "a.b.FOCUS"), ("a.b.OTHER", "a.b.FOCUS"))
    found.labels[LineageNode("a.b.TMP")] = NodeLabel("a.b.TMP", "Table", is_helper=True)
    assert layers(found) == {"FOCUS": 0, "TMP": -1, "OTHER": -1}
    found.hides_helpers = True
    assert layers(found) == {"FOCUS": 0, "RAW": -1, "OTHER": -1}
    flows = found.neighbours("up", found.focus)
    assert flows[LineageNode("a.b.RAW")].through == ("a.b.TMP",)
    assert flows[LineageNode("a.b.OTHER")].through == ()


def test_helpers_that_fill_each_other_end() -> None:
    found = made(("a.b.T1", "a.b.T2"), ("a.b.T2", "a.b.T1"), ("a.b.T2", "a.b.FOCUS"), ("a.b.RAW", "a.b.T1"))
    for name in ("a.b.T1", "a.b.T2"):
        found.labels[LineageNode(name)] = NodeLabel(name, "Table", is_helper=True)
    found.hides_helpers = True
    assert set(found.neighbours("up", found.focus)) == {LineageNode("a.b.RAW")}


# --- the lineage of the example ---------------------------------------------------------------------------------------

DAYS = [date(2026, 9, day) for day in (5, 19)]


@pytest.mark.parametrize("day", DAYS, ids=str)
def test_as_of_a_day_is_what_the_question_answers(month: Site, day: date) -> None:
    """For each table: the same queries brought its data, by the first and last time of each; the question also names
    writes from a table into itself.
    """
    tables = month.rows("page-search", {"text": "."})
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
        found = read_lineage(month, thing, "", day)
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
    thing, _ = month.by_name("SANDBOX.MARIA.CUSTOMER_EMAILS")
    before, after = (read_lineage(month, thing, "", date(2026, 9, day)) for day in (27, 28))
    assert walked(before, "up")
    assert not walked(after, "up")
    assert "dropped" in after.notes[0]
    column = read_lineage(month, thing, "EMAIL", date(2026, 9, 27))
    assert LineageNode(month.iri("table/1029"), "EMAIL") in {source for _, source in walked(column, "up")}
    assert not walked(read_lineage(month, thing, "EMAIL", date(2026, 9, 28)), "up")


def test_a_day_bounds_where_data_had_gone(month: Site) -> None:
    thing = month.thing(month.iri("table/1029"))
    early, late = (walked(read_lineage(month, thing, "EMAIL", day), "down") for day in (date(2026, 9, 1), None))
    assert set(early) < set(late)
    assert all(flow.last < "2026-09-02" for flow in early.values())
    assert all(target.column == "EMAIL" for _, target in late)


# --- the page ---------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def client(month: Site) -> FlaskClient:
    return make(month, "127.0.0.1").test_client()


class Drawn(HTMLParser):
    """The picture in a page or file: what it is made of, and the tables."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: set[str] = set()
        self.attributes: set[str] = set()
        self.links: list[str] = []
        self.titles: list[str] = []
        self.boxes: list[str] = []
        self.columns: list[str] = []
        self.rows: list[list[str]] = []
        self._in: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        told = dict(attrs)
        self.tags.add(tag)
        self.attributes |= told.keys()
        self.links += [told[name] or "" for name in ("href", "src", "action") if name in told]
        classes = (told.get("class") or "").split()
        if tag == "g" and "box" in classes:
            self.boxes.append(told["data-name"] or "")
        if tag == "g" and "column" in classes:
            self.columns.append((told["data-key"] or "").rpartition("|")[2])
        if tag == "title":
            self.titles.append("")
        if tag == "tr":
            self.rows.append([])
        if tag in ("td", "th"):
            self.rows[-1].append("")
        self._in.append(tag)

    def handle_endtag(self, tag: str) -> None:
        while self._in and self._in.pop() != tag:
            pass

    def handle_data(self, data: str) -> None:
        if "title" in self._in[-1:]:
            self.titles[-1] += data
        if {"td", "th"} & set(self._in):
            self.rows[-1][-1] += data


def page(client: FlaskClient, search: str) -> Drawn:
    answer = client.get(f"/lineage/?{search}")
    assert answer.status_code == 200, answer.text
    return Drawn(answer.text)


def test_the_page_has_the_picture_with_its_links(client: FlaskClient) -> None:
    shown = page(client, "id=table/2040")
    assert {"RAW.CRM.CUSTOMERS", "STAGING.DBT.STG_CUSTOMERS", "MART.SALES.FCT_ORDERS"} <= set(shown.boxes)
    assert shown.columns == []
    assert any("RAW.CRM.CUSTOMERS → STAGING.DBT.STG_CUSTOMERS\n22 queries" in title for title in shown.titles)
    unfold = next(link for link in shown.links if "columns=table/2040" in link)
    opened = page(client, unfold.partition("?")[2])
    assert set(opened.columns) == {"CUSTOMER_ID", "EMAIL", "FULL_NAME", "PHONE", "REGION"}
    both = page(client, unfold.partition("?")[2] + "&columns=table/1029")
    titles = [title for title in both.titles if "RAW.CRM.CUSTOMERS.EMAIL → " in title]
    assert [title.partition("\n")[0] for title in titles] == [
        "RAW.CRM.CUSTOMERS.EMAIL → STAGING.DBT.STG_CUSTOMERS.EMAIL"
    ]
    focus = next(link for link in opened.links if "column=EMAIL" in link and link.startswith("/lineage/?"))
    assert page(client, focus.partition("?")[2]).columns[0] == "EMAIL"


def test_an_edge_lists_the_queries_that_it_counts(client: FlaskClient) -> None:
    """Of every edge of the picture, by object and by column: as many as it says, each with a page, by the users that it
    names.
    """
    checked = 0
    for search in ("id=table/2050&steps=3&columns=table/2050&columns=table/2041", "id=table/1029&column=EMAIL&steps=20",
                   "id=table/2050&steps=3&day=2026-09-12", "id=table/2050&steps=3&since=2026-09-20"):  # fmt: skip
        text = client.get(f"/lineage/?{search}").text
        for group in re.findall(r'<g class="edge[^>]*data-from.*?</g>', text, re.DOTALL):
            says = unescape(re.search(r"<title>(.*?)</title>", group, re.DOTALL)[1])
            link = unescape(re.search(r'<a href="(.*?)"', group)[1])
            listed = client.get(link).text.partition('<section id="moves"')[2].partition("</section>")[0]
            queries = re.findall(r'<td><a href="/query\?id=', listed)
            counted = re.search(r"\n([\d,]+) quer", says)
            assert len(queries) == (int(counted[1]) if counted else 0), says
            users = set(re.findall(r'href="/user\?name=([^"]+)"', listed))
            assert users == set(says.partition(", by ")[2].split(", ")) - {""}, says
            checked += 1
    assert checked > 40


def test_only_since_leaves_out_what_no_query_moved_since_then(client: FlaskClient) -> None:
    every, late = (page(client, f"id=table/2050&steps=20{since}") for since in ("", "&since=2026-09-20"))
    assert set(late.boxes) < set(every.boxes)
    assert "MART.MARKETING.CAMPAIGN_AUDIENCE" in set(every.boxes) - set(late.boxes), "written on the 11th"
    lasts = [row[4] for row in late.rows if len(row) == 6 and row[4].startswith("20")]
    assert lasts
    assert min(lasts) >= "2026-09-20"


def test_readers_are_counted_in_boxes_and_can_be_hidden(client: FlaskClient, month: Site) -> None:
    text = client.get("/lineage/?id=table/2050").text
    box = re.search(r'data-key="table/2050".*?</g>', text, re.DOTALL)[0]
    readers = month.rows("page-readers", {"object": month.iri("table/2050")})
    assert f"{len(readers)} readers" in box
    assert " readers" not in client.get("/lineage/?id=table/2050&hide=reads").text


def test_the_lineage_as_csv_has_the_edges_of_the_picture(client: FlaskClient) -> None:
    answer = client.get("/lineage/lineage.csv?id=table/2050&steps=3&columns=table/2050&columns=table/2041")
    assert answer.content_type == "text/csv; charset=utf-8"
    rows = list(csv.DictReader(io.StringIO(answer.text)))
    assert {
        ("STAGING.DBT.STG_ORDERS", "", "MART.SALES.FCT_ORDERS", "", "22"),
        ("STAGING.DBT.STG_ORDERS", "AMOUNT", "MART.SALES.FCT_ORDERS", "REVENUE_EUR", "22"),
        ("MART.SALES.FCT_ORDERS", "", "MART.SALES.V_ORDERS", "", "0"),
    } <= {(row["source_object_name"], row["source_column_name"], row["target_object_name"],
           row["target_column_name"], row["queries"]) for row in rows}  # fmt: skip
    assert next(row["evidence"] for row in rows if row["target_object_name"] == "MART.SALES.V_ORDERS") == "CERTAIN"


@pytest.mark.parametrize(
    ("kinds", "way"), [(("Table", "Table"), "down"), (("Table", "Table"), "up"), (("View", "Table"), "behind")],
    ids=["targets", "sources", "behind a view"],
)  # fmt: skip
@pytest.mark.parametrize("others", [[], ["E.S.ALONE"]], ids=["one group", "and one alone"])
def test_the_tables_and_the_csv_have_what_a_group_stands_for(
    kinds: tuple[str, str], way: str, others: list[str], tmp_path: Path
) -> None:
    """13 neighbours in one schema are one box, and 13 lines of the table and the CSV."""
    hub, *many = (
        {"objectDomain": kinds[number > 0], "objectName": name, "objectId": number + 1}
        for number, name in enumerate(["D.S.HUB", *(f"D.S.T{number:02}" for number in range(13)), *others])
    )
    rows = {
        "down": [copied(hub, one) for one in many],
        "up": [copied(one, hub) for one in many],
        "behind": [{**read(hub), "base_objects_accessed": many}],
    }[way]
    with pages_of(rows, tmp_path) as client:
        kind = kinds[0].lower()
        text = client.get(f"/lineage/?id={kind}/1").text
        lines = re.findall(r"<tr>.*?</tr>", text.partition("How data went</h2>")[2], re.DOTALL)[1:]
        found = list(csv.DictReader(io.StringIO(client.get(f"/lineage/lineage.csv?id={kind}/1").text)))
        link = re.search(r'href="([^"]*edge=[^"]*)"', lines[0])
        moves = client.get(unescape(link[1])).text.partition('id="moves"')[2].partition("</section>")[0]
    place = "target_object_name" if way == "down" else "source_object_name"
    assert sorted(row[place] for row in found) == [one["objectName"] for one in many]
    assert len(lines) == len(many)
    assert "No row" not in text
    assert ("/query?id=q" in moves) == (way != "behind")


@pytest.mark.parametrize("way", ["down", "up"])
def test_nothing_is_lost_behind_a_closed_group(way: str, tmp_path: Path) -> None:
    """One neighbour more closes a group: the lines behind it stay, and a note counts what has no box."""
    hub, far, further, *many = (
        {"objectDomain": "Table", "objectName": f"D.S.{name}", "objectId": number}
        for number, name in enumerate(["HUB", "FAR", "FURTHER", *(f"T{number:02}" for number in range(13))], 1)
    )
    pairs = [*((hub, one) for one in many), (many[3], far), (far, further)]
    rows = [copied(*pair) for pair in pairs] if way == "down" else [copied(*pair[::-1]) for pair in pairs[::-1]]

    def csv_of(client: FlaskClient, address: str) -> tuple[set[tuple[str, str]], str]:
        answer = client.get(f"/lineage/lineage.csv?{address}")
        found = csv.DictReader(io.StringIO(answer.text))
        names = {(row["source_object_name"], row["target_object_name"]) for row in found}
        return names, answer.headers.get("Exporter-Notes", "")

    note = "2 more objects are within these steps, behind groups and boxes that are closed."
    with pages_of(rows, tmp_path) as client:
        shown, notes = csv_of(client, "id=table/1&steps=20")
        text = client.get("/lineage/?id=table/1&steps=20").text
        opened = "id=table/1&steps=20&open=" + f"{way}|table/1||D.S"
        alone, notes_of_opened = csv_of(client, opened)
        near, notes_of_one_step = csv_of(client, "id=table/1")
    named = {(one["objectName"], other["objectName"]) for one, other in pairs}
    assert shown == alone == (named if way == "down" else {pair[::-1] for pair in named})
    assert note in notes
    assert note in text
    assert "Show them" in notes
    assert len(near) == len(many)
    assert "more object" not in notes_of_opened + notes_of_one_step


def test_the_picture_as_svg_is_whole_and_alone(client: FlaskClient) -> None:
    answer = client.get("/lineage/picture.svg?id=table/2050&steps=3&columns=table/2050")
    assert answer.content_type == "image/svg+xml; charset=utf-8"
    assert "script-src" not in answer.headers["Content-Security-Policy"]
    root = ET.fromstring(answer.text)
    assert root.tag == "{http://www.w3.org/2000/svg}svg"
    assert not [one for one in root.iter() if one.tag.endswith(("}a", "}script", "}image", "}foreignObject"))]
    shown = page(client, "id=table/2050&steps=3&columns=table/2050")
    assert [one.get("data-name") for one in root.iter() if "box" in (one.get("class") or "").split()] == shown.boxes
    assert "column with its own tag or policy" in answer.text, "a box has no dot"


def test_a_page_of_nothing_says_so(client: FlaskClient) -> None:
    assert client.get("/lineage/?id=table/0").status_code == 404
    assert client.get("/lineage/?name=NO.SUCH.TABLE").status_code == 404
    assert client.get("/lineage/").status_code == 404
    alone = client.get("/lineage/?name=RAW.CRM.STORE_VISITS_2019&since=2026-09-29").text
    none = "No row from 2026-09-01 to 2026-09-30 shows that data came from elsewhere, or went elsewhere"
    assert f"{none}, only since 2026-09-29. At other times" in alone
    late = client.get("/lineage/?name=RAW.CRM.CUSTOMERS&since=2030-01-01").text
    assert f"{none}, only since 2030-01-01. The record covers 2026-09-01 to 2026-09-30. At other times" in late
    early = client.get("/lineage/?name=RAW.CRM.CUSTOMERS&day=2020-01-01").text
    assert f"{none}, as of the end of 2020-01-01. The record covers 2026-09-01 to 2026-09-30." in early


def test_an_edge_of_an_address_that_the_lineage_does_not_have_is_not_followed(client: FlaskClient) -> None:
    """An address may be of an earlier export."""
    for edge in ("down|table/1029||table/999|", "up|table/999||table/1029|", "down|table/1029|NO|table/2040|EMAIL",
                 "down|table/1029|EMAIL|table/2040|NO"):  # fmt: skip
        answer = client.get(f"/lineage/?id=table/1029&edge={edge}")
        assert answer.status_code == 200
        assert '<td><a href="/query?id=' not in answer.text.partition('id="moves"')[2].partition("</section>")[0]


def test_names_that_are_made_to_break_out_stay_text(hostile_graph: Path) -> None:
    """In the picture, in its attributes, and in the file, which any parser of XML reads."""
    with sited(hostile_graph) as site:
        client = make(site, "127.0.0.1").test_client()
        found = site.sparql.result(
            "PREFIX prov: <http://www.w3.org/ns/prov#> PREFIX ah: <https://w3id.org/access-history#> "
            "SELECT DISTINCT ?object WHERE { ?version prov:specializationOf ?object ; prov:wasGeneratedBy ?query . "
            "?object ah:domain ?kind } ORDER BY ?object",
            "text/csv", None, 10_000_000,
        ).body.decode().splitlines()[1:]  # fmt: skip
        assert len(found) > 20
        names: set[str] = set()
        for iri in found[:: max(1, len(found) // 10)]:
            path = quote(site.path(iri), safe="")
            search = f"id={path}&columns={path}&steps=3"
            shown = page(client, search)
            assert not shown.tags & {"img", "iframe", "object", "embed", "base", "style", "foreignobject", "image"}
            assert not [name for name in shown.attributes if name.startswith("on") or name == "style"]
            assert [one for one in shown.links if not one.startswith(("/", "#")) or one.startswith("//")] == []
            root = ET.fromstring(client.get(f"/lineage/picture.svg?{search}").text)
            assert {one.tag.partition("}")[2] for one in root.iter()} <= SVG
            names |= set(shown.boxes)
        assert any("<" in name for name in names)
