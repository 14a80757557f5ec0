"""Pages and the picture of lineage go through views and streams, and say what is certain and what is possible."""

from __future__ import annotations

from datetime import date
from typing import TYPE_CHECKING

import pytest

from exporter.serve.lineage.address import Address
from exporter.serve.lineage.drawing import Facts, drawing
from exporter.serve.lineage.flows import NOT_SHOWN, LineageNode, read_lineage
from exporter.serve.lineage.picture import picture
from tests import exports
from tests.ask.test_views import ROWS
from tests.serve.conftest import sited

if TYPE_CHECKING:
    from collections.abc import Iterator

    from exporter.serve.site import Site


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    folder = tmp_path_factory.mktemp("views")
    assert exports.export([exports.ndjson(ROWS, folder / "rows.ndjson")], folder / "out") == 0
    with sited(folder / "out") as made:
        yield made


def found(site: Site, name: str, way: str, column: str = "", day: date | None = None) -> dict[str, str]:
    """The neighbours of an object in the picture, with the evidence."""
    thing, _ = site.by_name(name)
    assert thing is not None
    made = read_lineage(site, thing, column, day)
    flows = made.neighbours("up" if way == "up" else "down", made.focus)
    return {".".join(filter(None, (made.labels[one].name, one.column))): flow.evidence for one, flow in flows.items()}


def test_the_picture_goes_through_views(site: Site) -> None:
    assert found(site, "D.S.V", "up") == {"D.S.T": "CERTAIN"}
    assert found(site, "D.S.V", "up", "VC") == {"D.S.T.C": "CERTAIN"}
    assert found(site, "D.S.ST", "up", "C") == {"D.S.T.C": "CERTAIN"}
    assert found(site, "D.S.W", "up") == {"D.S.T": "POSSIBLE", "D.S.X": "POSSIBLE"}
    assert found(site, "D.S.V", "up", day=date(2026, 3, 6)) == {"D.S.T": "CERTAIN"}
    down = found(site, "D.S.T", "down")
    assert down == {"D.S.V": "CERTAIN", "D.S.ST": "CERTAIN", "D.S.W": "POSSIBLE", "D.S.COPY": ""}
    assert found(site, "D.S.T", "down", day=date(2026, 3, 2)) == {"D.S.V": "CERTAIN"}


def test_the_picture_goes_on_behind_a_view_and_beyond_it(site: Site) -> None:
    thing, _ = site.by_name("D.S.V")
    assert thing is not None
    made = read_lineage(site, thing, "", None)
    (table,) = made.neighbours("up", made.focus)
    assert {made.labels[one].name for one in made.neighbours("up", table)} == {"D.S.RAW"}
    over = read_lineage(site, site.by_name("D.S.RAW")[0] or thing, "", None)
    (table,) = over.neighbours("down", over.focus)
    view = next(one for one in over.neighbours("down", table) if over.labels[one].name == "D.S.V")
    assert {over.labels[one].name for one in over.neighbours("down", view)} == {"D.S.COPY"}


def test_edges_are_drawn_by_their_evidence(site: Site) -> None:
    for name, drawn in (("D.S.V", "shows"), ("D.S.W", "possible"), ("D.S.T", "moved")):
        thing, _ = site.by_name(name)
        assert thing is not None
        made = read_lineage(site, thing, "", None)
        shown = drawing(site, made, picture(made, frozenset()), Address(), Facts({}, {}), {})
        into = {arrow.classes for arrow in shown.arrows if arrow.ends[1] == f"{site.path(thing.iri)}|"}
        assert into == {drawn}


def test_nobody_says_that_the_data_of_a_view_came_from_nowhere(site: Site) -> None:
    thing, _ = site.by_name("D.S.LONE")
    assert thing is not None
    assert read_lineage(site, thing, "", None).notes == [NOT_SHOWN]
    made = read_lineage(site, thing, "", date(2026, 3, 9))
    assert made.notes == [NOT_SHOWN]
    assert made.focus == LineageNode(thing.iri)
