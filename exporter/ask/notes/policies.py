"""Notes on tags and policies: what has a mask and no tag, what objects have from what they are in, and which bodies of
policies rows do not give.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator
from datetime import datetime
from functools import cache
from itertools import product
from typing import Final, NamedTuple

from exporter.ask.answers import first_of
from exporter.ask.container_history import CONTAINERS, periods_inside
from exporter.ask.lookups import Lookups
from exporter.ask.notes.asked import MOST, POLICY_COVERAGE, TAG_REACH, UNMASKED_READS, Asked, record_begin
from exporter.ask.notes.mask_periods import masked_wholes, masked_without_tag, policies_in_force
from exporter.ask.notes.successors import asked_things, names_in_time
from exporter.ask.parameters import as_text
from exporter.ask.triples import LATE, Solution, in_utc, iris, literals
from exporter.model.identifiers import TRUNCATED, match_name
from exporter.model.incomplete import NOT_UNDERSTOOD, UNNAMED, unnamed

_SHOWN_POLICIES: Final = 5
_SHOWN_TAGS: Final = 3
_SHOWN_PLACES: Final = 5


def masked_and_untagged(asked: Asked) -> Iterator[str]:
    """What is masked and has no tag at the time that is asked for: policy-coverage does not list it."""
    if asked.values("tag_name"):
        return
    graph, has_accounts, wholes = asked.graph, asked.has_several_accounts, masked_wholes(asked.graph)
    names = {
        ".".join((holder.name, *(graph.objects(column, "ah:columnName") if column else ())))
        + (graph.of_account(thing) if has_accounts or graph.is_of_other(thing) else "")
        for thing in asked_things(asked)
        for holder, period in names_in_time(asked, thing)
        for column in masked_without_tag(graph, holder, period, wholes)
    }
    if names:
        yield (
            "As far as rows tell, masked and without a tag of its own, and so not in the answer: "
            f"{first_of(sorted(names), _SHOWN_POLICIES)}."
        )


_ON_WHOLE: Final = """\
SELECT DISTINCT ?label WHERE {
  ?enforcement ah:policyKind "MASKING_POLICY" ; ah:protectedObject ?object .
  FILTER NOT EXISTS { ?enforcement ah:protectedColumn ?column }
  ?object rdfs:label ?last .
  OPTIONAL { ?enforcement ah:objectName ?then }
  BIND(COALESCE(?then, ?last) AS ?label)
}
ORDER BY ?label
"""

# --- masks of one tag -------------------------------------------------------------------------------------------------

OF_MASKS_BY_TAG: Final = ("page-settings", "policy-coverage", "unmasked-copies", "unmasked-reads")
FORCED: Final = (
    "A tag has a masking policy for each data type, and SET MASKING POLICY … FORCE replaces the one of its type."
)
"""How the note on them begins."""


def perhaps_replaced(asked: Asked) -> Iterator[str]:
    """A note on masks in the answer that another one on their tag may have replaced: a tag has one for each data type,
    and SET MASKING POLICY … FORCE replaces that of its type, which rows do not tell.
    """
    times = asked.times("at") if asked.name == POLICY_COVERAGE else []
    texts = sorted(
        f"{exchange.former} on {exchange.tag} ({exchange.later} was set {exchange.since})"
        for exchange in _exchanged(asked.graph)
        if asked.name != POLICY_COVERAGE or holds({"since": exchange.since, "until": exchange.until}, times)
        if asked.until is None or in_utc(exchange.since) <= asked.until
        if not asked.things or _is_tag_of(asked, exchange.iri)
    )
    if texts:
        yield (
            f"{FORCED} Rows do not tell types, so these count as set, though another one may have taken their place, "
            f"and no query enforced them by the tag since: {first_of(texts, _SHOWN_TAGS)}."
        )


class _Exchanged(NamedTuple):
    """A mask on a tag that was set when the tag had another one: the names, since when the tag has both, and until when
    the former one counts, empty if it still does. ``iri``: of the tag.
    """

    iri: str
    tag: str
    former: str
    later: str
    since: str
    until: str


def _exchanged(graph: Lookups) -> Iterator[_Exchanged]:
    """The masks that count though another one was set on their tag, and that no query enforced by it since."""
    enforced = _EnforcedByTags(graph)
    on_tags = defaultdict[str, list[tuple[str, str, str]]](list)
    for setting in graph.with_text("ah:property", "maskingPolicies"):
        since, until = (graph.text(setting, term) or "" for term in ("ah:validFrom", "ah:validUntil"))
        for thing in graph.objects(setting, "ah:settingOn") if since else ():
            if graph.text(thing, "ah:domain") == "Tag":
                on_tags[thing] += [(mask, since, until) for mask in graph.objects(setting, "ah:elementObject")]
    for tag, masks in on_tags.items():
        for (former, begin, until), (later, since, _) in product(masks, masks):
            is_set_between = in_utc(begin) < in_utc(since) and (not until or in_utc(since) < in_utc(until))
            if former != later and is_set_between and not enforced.is_after(tag, former, in_utc(since)):
                yield _Exchanged(tag, graph.label(tag), graph.label(former), graph.label(later), since, until)


class _EnforcedByTags:
    """The masks that queries enforced where rows give them by a tag alone. ``_on``: the masks that rows set on an
    object, or on tags that it has, each with its tag.
    """

    def __init__(self, graph: Lookups) -> None:
        wholes = masked_wholes(graph)
        self._graph = graph
        self._on = cache(lambda thing: list(policies_in_force(graph, thing, wholes, only_set=True)))

    def is_after(self, tag: str, mask: str, time: datetime) -> bool:
        """Whether a query enforced a mask by a tag after a time, so that it was still there."""
        graph = self._graph
        for enforcement in graph.subjects("ah:policy", mask):
            starts = {start for query in graph.subjects("ah:enforced", enforcement) for start in graph.starts_of(query)}
            column = graph.text(enforcement, "ah:protectedColumn")
            for thing in graph.objects(enforcement, "ah:protectedObject"):
                if any(start > time and self._is_by(tag, mask, thing, column, start) for start in starts):
                    return True
        return False

    def _is_by(self, tag: str, mask: str, thing: str, column: str | None, time: datetime) -> bool:
        """Whether a column, or an object as a whole, has a mask at a time, and by this tag alone."""
        by = [
            elements
            for place, elements, held in self._on(thing)
            if place in {column, None} and mask in elements and held.since <= time < held.until
        ]
        return bool(by) and all(tag in elements for elements in by)


def _is_tag_of(asked: Asked, tag: str) -> bool:
    """Whether what is asked for has a tag, or is in a schema or database that has it."""
    graph = asked.graph
    marks = (mark for form in (tag, *graph.same_names(tag)) for mark in graph.subjects("ah:elementObject", form))
    tagged = {thing for mark in marks for thing in graph.objects(mark, "ah:settingOn")}
    return not tagged.isdisjoint(asked.things) or not tagged.isdisjoint(row["whole"] for row in tagged_wholes(asked))


def dropped_tags(asked: Asked) -> Iterator[str]:
    """For ``tag-history``, whose rows are what was set and unset: when tags of the answer were dropped, or made anew
    under their own id or name, which ends them on all that has them.
    """
    graph, ends_by_name = asked.graph, dict[str, datetime]()
    accounts = {holder.account for thing in asked.asked_objects for holder in graph.names_of(thing)}
    for row in graph.at_most(asked.answer.dicts(), MOST):
        time, name = in_utc(row["query_start_time"] or ""), row["tag_name"] or ""
        for holder in graph.holders(name) if row["operation"] != "DROP" else ():
            if holder.domain == "Tag" and holder.account in accounts and holder.holds(time):
                by = asked.until or LATE
                dropped = graph.dropped_at(holder.iri, by)
                ends = [*graph.replacements(holder.iri, by), *([] if dropped is None else [dropped])]
                if ends and max(ends) > time:
                    ends_by_name[name] = max(ends)
    if ends_by_name:
        tags = [f"{name} at {as_text(time)}" for name, time in sorted(ends_by_name.items())]
        yield (
            "A tag that is dropped or replaced ends on all that has it, without a row here: "
            f"{first_of(tags, _SHOWN_TAGS)}."
        )


# --- tags that objects and columns have from what they are in ---------------------------------------------------------

_WHOLES: Final = """\
SELECT DISTINCT ?whole ?label ?domain ?account ?tag ?since ?until ?mask WHERE {
  ?mark a ah:TagSetting ; ah:settingOn ?whole ; ah:element ?tag ; ah:elementObject ?tag_object ; ah:validFrom ?since .
  ?whole ah:domain ?domain ; rdfs:label ?label .
  FILTER NOT EXISTS { ?mark ah:onColumn ?column }
  OPTIONAL { ?mark ah:validUntil ?until }
  OPTIONAL {
    ?tag_object (ah:sameNameAs|^ah:sameNameAs)? ?masking .
    ?on_tag ah:settingOn ?masking ; ah:property "maskingPolicies" ; ah:element ?mask ; ah:validFrom ?mask_since .
    OPTIONAL { ?on_tag ah:validUntil ?mask_until }
    FILTER(COALESCE(?mask_since < ?until, true) && COALESCE(?since < ?mask_until, true))
  }
  BIND(REPLACE(STR(?whole), "[^/]+/(name/)?[^/]+$", "") AS ?account)
}
ORDER BY ?label ?tag ?mask
"""
OF_INHERITED_TAGS: Final = ("policy-coverage", "tag-history", "tag-reach", "unmasked-copies", UNMASKED_READS)


def inherited_tags(asked: Asked) -> Iterator[str]:
    """Notes on tags of whole tables, schemas and databases, which their columns and objects have, too; and on masks of
    which rows name the object alone.
    """
    rows = tagged_wholes(asked)
    if asked.name in {"unmasked-reads", "unmasked-copies"}:
        masks = [f"{row['tag']} on {_whole(asked.graph, row)} ({row['domain']})" for row in rows if row["mask"]]
        if masks:
            yield (
                "Masking policies were set on tags of whole objects: "
                f"{first_of(list(dict.fromkeys(masks)), _SHOWN_TAGS)}. They mask the columns of their data type, which "
                "rows do not tell: the answer counts them only on columns on which they were enforced."
            )
        of_objects = [] if asked.things else [row["label"] for row in asked.graph.select(_ON_WHOLE)]
        if of_objects:
            yield (
                f"Rows enforce masking policies without naming a column: on {first_of(of_objects, _SHOWN_PLACES)}. The "
                "answer counts them on none."
            )
    elif asked.things or asked.name == TAG_REACH:
        around = [row for row in rows if row["domain"] in CONTAINERS]
        if asked.name != "tag-history":
            around = [row for row in around if holds(row, asked.times("at"))]
        if asked.name == TAG_REACH:
            yield from _in_tagged(asked, around)
            return
        if asked.name == "tag-history" and asked.values("column_name"):
            around += [row for row in rows if row["domain"] not in CONTAINERS]
        tags = [f"{row['tag']} of {_whole(asked.graph, row)}" for row in around]
        if tags:
            yield (
                "Columns have the tags of their table, and what is in a schema or database has its tags, which are not "
                "in the answer: "
                f"{first_of(list(dict.fromkeys(tags)), _SHOWN_TAGS)}."
            )


def _whole(graph: Lookups, row: Solution) -> str:
    """A tagged object as it was called when the tag was set; a schema or database as it is called now."""
    return row["label"] if row["domain"] in CONTAINERS else graph.name_at(row["whole"], row["since"])


def _in_tagged(asked: Asked, around: Iterable[Solution]) -> Iterator[str]:
    """The copies in the answer whose schema or database has the tag."""
    tagged = [(row["label"], match_name(row["tag"])) for row in around]
    copies = [
        f"{place}.{row['target_column_name']}"
        for row in asked.answer.dicts()
        for place in (row["target_object_name"] or "",)
        if any(place.startswith(f"{label}.") and match_name(row["tag_name"] or "") == tag for label, tag in tagged)
    ]
    if copies:
        yield (
            "In a schema or database that has the tag, from which they have it, too: "
            f"{first_of(sorted(set(copies)), _SHOWN_TAGS)}."
        )


def holds(row: Solution, times: Collection[datetime]) -> bool:
    """Whether a setting holds at any of the times; at the end of the record, if there are none."""
    return _is_at(datetime.fromisoformat(row["since"]), _end(row), times)


def _end(row: Solution) -> datetime | None:
    return datetime.fromisoformat(row["until"]) if row["until"] else None


def _is_at(since: datetime, until: datetime | None, times: Collection[datetime]) -> bool:
    """Whether a period has any of the times; the end of the record, if there are none."""
    return any(since <= time and (not until or time < until) for time in times) if times else not until


def tagged_wholes(asked: Asked) -> list[Solution]:
    """The tags of whole objects that what is asked for is, or is in."""
    rows = asked.graph.select(_WHOLES)
    return [row for row in rows if not asked.things or any(has_tag_of(row, asked, thing) for thing in asked.things)]


def has_tag_of(row: Solution, asked: Asked, thing: str) -> bool:
    """Whether an object is the tagged one, or is in it at a time when it has the tag; at the time that is asked for, if
    the answer is of one time.
    """
    is_elsewhere = asked.graph.is_of_other(thing) or not thing.startswith(row["account"])
    if thing == row["whole"] or row["domain"] not in CONTAINERS or is_elsewhere:
        return thing == row["whole"]
    periods = list(periods_inside(asked.graph, thing, row["whole"]))
    if asked.name == POLICY_COVERAGE:
        return any(_is_at(since, until, asked.times("at")) for since, until in periods)
    begin, end = datetime.fromisoformat(row["since"]), _end(row)
    return any((not end or since < end) and (not until or begin < until) for since, until in periods)


# --- bodies of policies -----------------------------------------------------------------------------------------------

_IN_FORCE: Final = """\
SELECT DISTINCT ?name ?policy ?version ?column ?time WHERE {
  VALUES ?query_id { @ids@ }
  ?query ah:queryId ?query_id ; prov:startedAtTime ?time ; ah:enforced ?enforcement .
  ?enforcement ah:policy ?policy ; ah:policyVersion ?version .
  OPTIONAL { ?enforcement ah:protectedColumn ?column }
  OPTIONAL { ?enforcement ah:policyName ?spelled }
  OPTIONAL { ?policy rdfs:label ?label }
  BIND(COALESCE(?spelled, ?label, STR(?policy)) AS ?name)
}
ORDER BY ?name
"""
"""The policies that were enforced in queries, with the version that was in force; ``?column``: what one masks."""
_BY_NAME: Final = """\
SELECT DISTINCT ?query_id ?time WHERE {
  VALUES ?policy { @policy@ }
  { ?policy ah:sameNameAs|^ah:sameNameAs ?same . ?change ah:changedObject ?same } UNION {
    # The documents also have POLICY for the kind.
    ?same ah:domain "Policy" ; (ah:objectId|rdfs:label) ?of_same . ?policy (ah:objectId|rdfs:label) ?of_same .
    ?change ah:changedObject ?same .
  } UNION {
    ?policy rdfs:label ?name FILTER NOT EXISTS { ?policy ah:objectId ?id }
    ?change ah:newName ?name .
  }
  ?change ah:operation ?operation ; prov:startedAtTime ?time ; dcterms:isPartOf/ah:queryId ?query_id .
  OPTIONAL { ?change ah:policyBody|ah:newName ?given }
  FILTER(BOUND(?given) || ?operation IN ("CREATE", "REPLACE", "DROP", "UNDROP"))
}
"""
"""Statements on what is known by the name of a policy alone, or, if the policy is, that gave it that name."""
_CUT: Final = """\
SELECT DISTINCT ?query_id ?time WHERE {
  VALUES ?lacks { @reasons@ }
  VALUES ?policy { @policy@ }
  ?query ah:incomplete ?lacks ; prov:startedAtTime ?time ; ah:queryId ?query_id .
  OPTIONAL { ?policy ah:objectId ?id }
  OPTIONAL { ?policy rdfs:label ?label }
  # Nothing says what was changed, or it is this, perhaps by its id or its name alone.
  FILTER(NOT EXISTS { ?query ah:hasChange ?any } || EXISTS {
    ?query ah:hasChange/ah:changedObject ?changed .
    OPTIONAL { ?changed ah:objectId ?changed_id }
    OPTIONAL { ?changed rdfs:label ?changed_label }
    FILTER(?changed = ?policy || COALESCE(?changed_id = ?id, false) || COALESCE(?changed_label = ?label, false))
  })
}
"""


def unknown_bodies(asked: Asked) -> Iterator[str]:
    """Notes on enforced policies whose body is not on record, and on those that the answer leaves out."""
    graph = asked.graph
    unknown, left_out = dict[str, None](), dict[str, None]()
    for row in graph.select(_IN_FORCE, ids=literals(asked.values("query_id"))):
        given = _body_given_by(graph, row["version"])
        if not any(graph.objects(given, "ah:policyBody")):
            is_listed = row["column"] or any(graph.objects(given, "prov:wasGeneratedBy"))
            (unknown if is_listed else left_out)[row["name"]] = None
        yield from _not_counted(asked, row, graph.text(given, "prov:generatedAtTime"))
    if unknown:
        names = first_of(list(unknown), _SHOWN_POLICIES)
        yield f"No row since {record_begin(graph)} says which body was in force: {names}."
    if left_out:
        names = first_of(list(left_out), _SHOWN_POLICIES)
        yield (
            f"Enforced, but not in the answer: {names}. A policy on a whole object is in it only if a row shows what "
            "made it or changed its body, and it was not dropped since."
        )


def _not_counted(asked: Asked, row: Solution, since: str | None) -> Iterator[str]:
    """Notes on statements between that which gave the body, if it is on record, and the query."""
    graph = asked.graph
    kinds = (graph.text(row["policy"], "ah:domain"), "POLICY")  # the documents have both
    words = (TRUNCATED, UNNAMED, NOT_UNDERSTOOD, *map(unnamed, kinds))
    reasons = {f"object_modified_by_ddl {word}" for word in words}
    statements_by_reason = {
        "by rows that do not give its id or kind": graph.select(_BY_NAME, policy=iris([row["policy"]])),
        "that Snowflake cut, or that are not understood": graph.select(
            _CUT, reasons=literals(reasons), policy=iris([row["policy"]])
        ),
        "of its schema or database": () if any(graph.objects(row["policy"], "ah:objectId")) else _around(asked, row),
    }
    for reason, statements in statements_by_reason.items():
        times = sorted((datetime.fromisoformat(statement["time"]), statement["query_id"]) for statement in statements)
        begin, end = (datetime.fromisoformat(time) for time in (since or record_begin(graph), row["time"]))
        queries = [f"query {query_id}" for time, query_id in times if begin <= time <= end]
        if queries:
            yield (
                f"Another body of {row['name']} may have been in force: changes {reason} are not counted for it "
                f"({first_of(queries[::-1], _SHOWN_POLICIES)})."
            )


def _around(asked: Asked, row: Solution) -> Iterator[Solution]:
    """What was done to the schema and database of a policy that is known by its name alone."""
    for history in asked.containers.values():
        for statement in history.statements:
            names = tuple(f"{match_name(name)}." for name in statement.names)
            if row["policy"].startswith(statement.account) and match_name(row["name"]).startswith(names):
                yield {"time": statement.at, "query_id": statement.query_id}


def _body_given_by(graph: Lookups, version: str) -> str:
    """The version whose body a version of a policy has: an UNDROP gives none and brings back the one before."""
    while prior := next(graph.objects(version, "ah:priorVersion"), None):
        made_by = graph.objects(version, "prov:wasGeneratedBy")
        changes = (change for query in made_by for change in graph.objects(query, "ah:hasChange"))
        is_restored = any("UNDROP" in graph.objects(change, "ah:operation") for change in changes)
        if not is_restored or any(graph.objects(version, "ah:policyBody")):
            break
        version = prior
    return version
