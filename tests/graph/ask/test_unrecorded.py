"""A policy that was set before the record begins is reported in a note."""

from __future__ import annotations

from pyoxigraph import RdfFormat, Store

from exporter.graph.ask.unrecorded import QUESTION, notes

PREFIXES = """
@base <snowflake://ACME-PROD/> .
@prefix ah: <https://w3id.org/access-history#> .
@prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .
"""
ENFORCED = """
<q/e> ah:policy <masking-policy/1> ; ah:protectedObject <table/1> ; ah:protectedColumn <table/1/column/A> .
<masking-policy/1> rdfs:label "D.S.MASK" .
<table/1> rdfs:label "D.S.T" .
<table/1/column/A> ah:columnName "A" .
"""
TAGGED = "<q/t> a ah:TagSetting ; ah:settingOn <table/1> ; ah:onColumn <table/1/column/A> ; ah:elementObject <tag/1> ."
SET = """
<q/s> a ah:PolicySetting ; ah:settingOn <table/1> ;
    ah:onColumn <table/1/column/A> ; ah:elementObject <masking-policy/1> .
"""
SET_ON_TAG = "<q/s> a ah:PolicySetting ; ah:settingOn <tag/1> ; ah:elementObject <masking-policy/1> ."


def told(*parts: str, question: str = QUESTION) -> list[str]:
    store = Store()
    store.load("".join((PREFIXES, *parts)).encode(), RdfFormat.TURTLE)
    return notes(store, question, {})


def test_an_enforced_policy_without_a_recorded_setting_is_reported() -> None:
    (note,) = told(ENFORCED, TAGGED)
    assert note.endswith("not among the policies: D.S.MASK on D.S.T.A.")


def test_a_policy_that_a_statement_set_is_not_reported() -> None:
    assert told(ENFORCED, TAGGED, SET) == told(ENFORCED, TAGGED, SET_ON_TAG) == []


def test_what_has_no_tag_is_not_in_the_answer_anyway() -> None:
    assert told(ENFORCED) == []


def test_other_questions_do_not_report_it() -> None:
    assert told(ENFORCED, TAGGED, question="writers") == []


def test_a_tag_on_a_column_is_not_on_its_table() -> None:
    of_table = ENFORCED.replace(" ; ah:protectedColumn <table/1/column/A>", "")
    assert told(of_table, TAGGED) == []
    (note,) = told(of_table, TAGGED.replace(" ; ah:onColumn <table/1/column/A>", ""))
    assert note.endswith(": D.S.MASK on D.S.T.")


def test_a_policy_that_is_set_on_a_column_is_not_set_on_its_table() -> None:
    of_table = ENFORCED.replace(" ; ah:protectedColumn <table/1/column/A>", "")
    tagged = TAGGED.replace(" ; ah:onColumn <table/1/column/A>", "")
    assert len(told(of_table, tagged, SET)) == 1
    assert told(of_table, tagged, SET.replace("ah:onColumn <table/1/column/A> ;", "")) == []
