"""Notes on views and streams: what is only possibly behind them, and views of which no row says what is behind them.

Questions follow a view to the objects behind it only where that is certain (``ah:evidence``). What is left out is said.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from pyoxigraph import Literal, NamedNode

from exporter.graph.ask.known import Known
from exporter.graph.terms import full

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from pyoxigraph import Store

UPWARD: Final = ("lineage-as-of", "root-cause")
DOWNWARD: Final = ("end-up", "downstream-users")
_SHOWN: Final = 5
_DOMAINS: Final = ("View", "Stream")
_POSSIBLE: Final = Literal("POSSIBLE")


def notes(store: Store, question: str, given: Mapping[str, str | Iterable[str]]) -> list[str]:
    """Notes for a person who asked the shipped question about views, streams, or objects that may be behind some."""
    if question not in {*UPWARD, *DOWNWARD}:
        return []
    things = sorted(_meant(Known(store), given))
    return list(_upward(store, things) if question in UPWARD else _downward(store, things))


def _meant(known: Known, given: Mapping[str, str | Iterable[str]]) -> set[str]:
    """The objects that the parameters may mean, in any period."""
    turns = [turn for name in _values(given, "object_name") for turn in known.turns(name)]
    ids = set(_values(given, "object_id"))
    if not turns and not _values(given, "object_name"):
        turns = [turn for ident in ids for turn in known.of_id(ident)]
    kinds = _values(given, "domain")
    return {
        turn.iri
        for turn in turns
        if (not ids or turn.ident in ids) and (not kinds or any(known.is_of_kind(turn.iri, kind) for kind in kinds))
    }


def _values(given: Mapping[str, str | Iterable[str]], name: str) -> list[str]:
    value = given.get(name, ())
    return [value] if isinstance(value, str) else list(value)


def _upward(store: Store, things: list[str]) -> Iterator[str]:
    for thing in things:
        if _text(store, thing, "ah:domain") not in _DOMAINS:
            continue
        sources = list(_sources(store, "ah:view", thing))
        possible = {source for source, evidence in sources if evidence == _POSSIBLE}
        possible -= {source for source, evidence in sources if evidence != _POSSIBLE}
        name = _name(store, thing)
        if not sources:
            yield f"{name}: no row shows what is behind this {_kind(store, thing)}. Its data may come from anywhere."
        elif possible:
            yield (
                f"Possibly also behind {name}, and not in the answer: {_listed(store, possible)}. "
                "Only queries that read it together with others show this."
            )


def _downward(store: Store, things: list[str]) -> Iterator[str]:
    for thing in things:
        views = list(_sources(store, "ah:sourceObject", thing))
        possible = {view for view, evidence in views if evidence == _POSSIBLE}
        possible -= {view for view, evidence in views if evidence != _POSSIBLE}
        if possible:
            yield (
                f"Possibly over {_name(store, thing)}, and followed only where it is certain: "
                f"{_listed(store, possible)}. Only queries that read these together with others show this."
            )


def _sources(store: Store, term: str, thing: str) -> Iterator[tuple[str, object]]:
    """The other end of each source of a view, with its evidence; ``term``: the end at which the thing is."""
    other = NamedNode(full("ah:sourceObject" if term == "ah:view" else "ah:view"))
    evidence, column = NamedNode(full("ah:evidence")), NamedNode(full("ah:viewColumn"))
    for quad in store.quads_for_pattern(None, NamedNode(full(term)), NamedNode(thing)):
        for said in store.quads_for_pattern(quad.subject, evidence, None):
            if not any(store.quads_for_pattern(quad.subject, column, None)):
                for end in store.quads_for_pattern(quad.subject, other, None):
                    yield str(end.object.value), said.object  # type: ignore[union-attr]


def _text(store: Store, thing: str, term: str) -> str | None:
    found = store.quads_for_pattern(NamedNode(thing), NamedNode(full(term)), None)
    return min((str(quad.object.value) for quad in found), default=None)  # type: ignore[union-attr]


def _name(store: Store, thing: str) -> str:
    return _text(store, thing, "rdfs:label") or thing


def _kind(store: Store, thing: str) -> str:
    return (_text(store, thing, "ah:domain") or "object").lower()


def _listed(store: Store, things: set[str]) -> str:
    names = sorted(_name(store, thing) for thing in things)
    more = f" and {len(names) - _SHOWN} more" if len(names) > _SHOWN else ""
    return f"{', '.join(names[:_SHOWN])}{more}"
