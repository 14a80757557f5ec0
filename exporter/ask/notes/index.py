"""All notes on answers: which one speaks to which questions, and in what order a reader sees them.

They look up a few triples by index. None asks a question again that takes long.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence
from typing import Final, NamedTuple

from exporter.ask.notes import (
    changed_masks,
    changes_without_id,
    clone_shares,
    clones,
    column_changes_without_id,
    column_names,
    columns,
    container_changes,
    empty,
    ended_with_id,
    enforced_alone,
    enforced_masks,
    former_columns,
    grants,
    incomplete,
    left_out,
    lost_protection,
    made_anew,
    masked_copies,
    no_policies,
    object_names,
    older_masks,
    places,
    policies,
    present_names,
    settings_without_id,
    shares,
    two_forms,
    uncounted_reads,
    untold_writes,
    views,
    within_agents,
)
from exporter.ask.notes.asked import CHANGES, MOST, OF_USER, PAGE, SHIPPED, Asked

NOT_ALL: Final = (
    f"Notes look at the first {MOST:,} rows of an answer, and at 10,000 to 100,000 versions, reads and settings behind "
    "it. There are more here, so there may be more to note."
)


class Note(NamedTuple):
    """``texts``: gives the notes, each as a sentence or a few, none where it has nothing to say. ``kinds``: of the
    questions that it speaks to; ``only``: their names, all if there are none; ``is_of_empty``: only to empty answers.
    """

    texts: Callable[[Asked], Iterable[str]]
    kinds: Collection[str] = (SHIPPED,)
    only: Collection[str] = ()
    is_of_empty: bool = False

    def speaks_to(self, asked: Asked) -> bool:
        """Whether it has anything to do with the question and its answer."""
        is_meant = asked.kind in self.kinds and (not self.only or asked.name in self.only)
        return is_meant and not (self.is_of_empty and asked.answer.rows)


_ANY: Final = (SHIPPED, PAGE, OF_USER)
_OURS: Final = (SHIPPED, PAGE)
_NOT_OF_PAGES: Final = (SHIPPED, OF_USER)
_FIRST: Final = (
    Note(object_names.held_by_several),
    Note(object_names.names_in_use, only=("unused-objects",)),
)
"""What is dangerous not to know: in front of what the look-up of names found."""
_NOTES: Final = (
    Note(empty.outside_of_record, _ANY),
    # what an export left out or counted otherwise
    Note(left_out.reads_by_day, _NOT_OF_PAGES),
    Note(changed_masks.reads_around_changes, only=("agent-reads", "unmasked-copies", "unmasked-reads")),
    Note(left_out.queries_of_users, (PAGE,), ("page-users", "page-top-readers")),
    Note(left_out.short_queries, _NOT_OF_PAGES),
    Note(left_out.within_intervals, _ANY),
    # tags, policies and grants
    Note(enforced_alone.enforced_but_not_set, only=("policy-coverage",)),
    Note(enforced_alone.only_enforced, (PAGE,), ("page-enforced",)),
    Note(policies.masked_and_untagged, only=("policy-coverage",)),
    Note(policies.perhaps_replaced, _OURS, policies.OF_MASKS_BY_TAG),
    Note(older_masks.perhaps_forced, _OURS, older_masks.OF_OLDER_MASKS),
    Note(older_masks.perhaps_held_on, only=older_masks.OF_GAPS),
    Note(policies.inherited_tags, only=policies.OF_INHERITED_TAGS),
    Note(policies.dropped_tags, only=("tag-history",)),
    Note(policies.unknown_bodies, only=("enforced-policy",)),
    Note(no_policies.nothing_set, is_of_empty=True),
    Note(enforced_masks.reads_perhaps_masked, only=("agent-reads", "unmasked-reads")),
    Note(masked_copies.copies_perhaps_masked, only=("unmasked-copies",)),
    Note(grants.granted_on_all_objects, only=("end-up", "exposure")),
    Note(shares.views_in_shares, only=("exposure",)),
    Note(shares.granted_to_asked, only=("exposure",)),
    Note(clone_shares.clones_in_shares, only=("exposure",)),
    Note(grants.listings, only=("exposure",)),
    Note(grants.ended_grants, only=("exposure",)),
    Note(grants.replaced_grants, only=("exposure",)),
    Note(grants.grants_of_recreated, only=("exposure",)),
    Note(grants.grants_without_id, only=("exposure",)),
    Note(lost_protection.lost_masks, _OURS, lost_protection.OF_MASKS),
    Note(lost_protection.lost_tags, _OURS, lost_protection.OF_TAGS),
    Note(lost_protection.lost_policies, _OURS, lost_protection.OF_POLICIES),
    Note(made_anew.lost_by_recreation, _OURS, made_anew.OF_SETTINGS),
    # what the names, queries and reads in an answer mean
    Note(object_names.several_accounts),
    Note(incomplete.nested_statements, only=("statements-of-request",)),
    Note(grants.revokes_not_counted, only=("exposure",)),
    Note(uncounted_reads.uses_of_unused, only=("unused-objects",)),
    Note(uncounted_reads.files_of_unused, only=("unused-objects",)),
    Note(object_names.stages_of_tables, _OURS),
    Note(present_names.other_names_now),
    Note(present_names.other_names_of_elements),
    Note(object_names.names_over_drops, _OURS, object_names.OF_NAMES),
    Note(present_names.uses_under_other_names, only=present_names.OF_USES),
    Note(object_names.ids_of_shared_names, only=("unused-objects",)),
    # what rows do not list, or do not say of objects by id
    Note(clones.clones, _OURS),
    Note(changes_without_id.changes_without_id),
    Note(changes_without_id.settings_of_page, (PAGE,), settings_without_id.SET_BY),
    Note(column_changes_without_id.column_changes, _OURS, column_changes_without_id.OF_COLUMNS),
    Note(views.views_and_streams),
    Note(views.read_by_former_names, (PAGE,), (*views.OF_SOURCES_OF_VIEWS, *views.OF_VIEWS_OVER)),
    Note(shares.shares_beyond, only=("end-up",)),
    Note(places.stages_with_names_of_tables, only=places.OF_NAMES),
    Note(places.same_places, _OURS, places.OF_PLACES),
    Note(column_names.renamed_columns, _OURS),
    Note(column_names.dropped_columns, _OURS),
    Note(column_names.shared_names, only=("unmasked-reads",)),
    Note(former_columns.former_columns, _OURS, former_columns.OF_NAMES),
    Note(former_columns.names_taken_over, only=("unmasked-copies",)),
    Note(column_names.spelled_alike),
    Note(column_names.letter_cases, only=(*settings_without_id.SET_BY, "agent-reads")),
    Note(incomplete.agents, only=("agent-reads",)),
    Note(within_agents.within_queries_of_agents, only=("agent-reads",)),
    Note(uncounted_reads.only_as_source, _OURS, uncounted_reads.OF_READS),
    Note(uncounted_reads.without_columns, only=uncounted_reads.OF_READ_COLUMNS),
    Note(columns.without_column_sources, _OURS, columns.OF_COLUMN_LINEAGE),
    Note(columns.into_itself, only=("end-up",)),
    Note(columns.whole_sources, only=("end-up",)),
    Note(untold_writes.writes_without_sources, _OURS, untold_writes.OF_SOURCES),
    Note(columns.through_shared_views, _OURS, columns.OF_COLUMN_LINEAGE),
    Note(two_forms.with_and_without_id, _OURS),
    Note(two_forms.stages_of_tables_as_others, _OURS),
    Note(two_forms.new_readers_by_name, only=(CHANGES,)),
    Note(ended_with_id.ended_with_id, only=ended_with_id.OF_DATA_AT_A_TIME),
    # why an answer is empty
    Note(empty.removed_data, _OURS, views.UPWARD, is_of_empty=True),
    Note(empty.same_by_id, _OURS, is_of_empty=True),
    Note(no_policies.tags_of_former_sources, only=("tag-reach",)),
    Note(no_policies.tags_at_other_times, only=("policy-coverage", "tag-reach"), is_of_empty=True),
    Note(empty.kinds_without_record, _OURS, is_of_empty=True),
    Note(empty.not_as_base_object, _OURS, empty.OF_BASE_OBJECTS, is_of_empty=True),
    # what other accounts did, and what no row of the record says in full
    Note(shares.granted_to_share, _OURS),
    Note(container_changes.container_changes, _OURS),
    Note(incomplete.incomplete_queries, _ANY),
    Note(incomplete.cut_requests, _ANY),
    Note(incomplete.cut_accounts, _ANY),
    Note(incomplete.contradicting_rows, _ANY),
)


def explain(asked: Asked, looked_up: Sequence[str] = ()) -> list[str]:
    """The notes on an answer, each once; none where nothing is known to be missing. ``looked_up``: those of the look-up
    of its names.
    """
    before, after = (
        (text for note in notes if note.speaks_to(asked) for text in note.texts(asked)) for notes in (_FIRST, _NOTES)
    )
    texts = list(dict.fromkeys((*before, *looked_up, *after)))
    return [*texts, NOT_ALL] if asked.graph.has_more else texts
