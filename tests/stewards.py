"""Rules of data stewards: shapes that look from an object at what several statements set on it; and some that look
further.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from tests.hard_ddl import alter_settings, clone, create, policy, rename, swap, tag
from tests.hard_objects import World
from tests.hard_rows import ACCESS_ROWS

if TYPE_CHECKING:
    from random import Random

    from tests.histories import Json

PREFIXES: Final = """
@prefix ah: <https://w3id.org/access-history#> .
@prefix dcterms: <http://purl.org/dc/terms/> .
@prefix my: <https://example.org/rules#> .
@prefix prov: <http://www.w3.org/ns/prov#> .
@prefix rdf: <http://www.w3.org/1999/02/22-rdf-syntax-ns#> .
@prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .
@prefix sh: <http://www.w3.org/ns/shacl#> .
"""
MY: Final = "https://example.org/rules#"

_ON_THE_SAME: Final = "( ah:settingOn [ sh:inversePath ah:settingOn ] )"
_HOLDS: Final = "[ sh:path ah:validFrom ; sh:minCount 1 ], [ sh:path ah:validUntil ; sh:maxCount 0 ]"
"""Of what is set: it was not unset by the same statement, and not since."""

RULES: Final = {
    "a table tagged sensitive has a policy, whoever set it": f"""
        my:TaggedHasPolicy a sh:NodeShape ; sh:targetClass ah:TagSetting ;
            sh:or (
                [ sh:not [ sh:path ah:value ; sh:hasValue "sensitive" ] ]
                [ sh:path ah:validUntil ; sh:minCount 1 ]
                [ sh:path {_ON_THE_SAME} ; sh:qualifiedMinCount 1 ;
                  sh:qualifiedValueShape [ sh:class ah:PolicySetting ; sh:property {_HOLDS} ] ]
            ) .""",
    "a column that is tagged is masked": """
        my:TaggedColumnIsMasked a sh:PropertyShape ; sh:targetClass ah:TagSetting ;
            sh:path ( ah:onColumn [ sh:inversePath ah:onColumn ] ) ;
            sh:qualifiedValueShape [ sh:path ah:property ; sh:hasValue "maskingPolicies" ] ;
            sh:qualifiedMinCount 1 .""",
    "a table has a tag": """
        my:TableHasTag a sh:PropertyShape ; sh:targetClass ah:Table ; sh:path [ sh:inversePath ah:settingOn ] ;
            sh:qualifiedValueShape [ sh:class ah:TagSetting ] ; sh:qualifiedMinCount 1 .""",
    "a column is written by somebody": """
        my:ColumnIsWritten a sh:PropertyShape ; sh:targetClass ah:Column ;
            sh:path [ sh:inversePath ah:wroteColumn ] ; sh:minCount 1 .""",
    "a policy is set or enforced, and not more than twice": """
        my:PolicyIsUsed a sh:PropertyShape ; sh:targetClass ah:Policy ;
            sh:path [ sh:alternativePath ( [ sh:inversePath ah:elementObject ] [ sh:inversePath ah:policy ] ) ] ;
            sh:minCount 1 ; sh:maxCount 2 .""",
    "a policy that is set has a body on record": """
        my:PolicyHasBody a sh:PropertyShape ; sh:targetClass ah:PolicySetting ;
            sh:path ( ah:elementObject [ sh:inversePath prov:specializationOf ] ah:policyBody ) ; sh:minCount 1 .""",
    "a policy that is enforced is of the database DB": """
        my:PolicyIsOfDB a sh:PropertyShape ; sh:targetClass ah:PolicyEnforcement ;
            sh:path ( ah:policy ah:hasName ah:nameText ) ; sh:pattern "^DB[.]" .""",
    "what was copied from a tagged table is tagged": f"""
        my:CopyIsTagged a sh:NodeShape ; sh:targetClass ah:Change ;
            sh:xone (
                [ sh:not [ sh:path ( ah:madeFrom [ sh:inversePath ah:settingOn ] ) ; sh:minCount 1 ] ]
                [ sh:path ( ah:changedObject [ sh:inversePath ah:settingOn ] ) ;
                  sh:qualifiedMinCount 1 ; sh:qualifiedValueShape [ sh:class ah:TagSetting ; sh:property {_HOLDS} ] ]
            ) .""",
    "an object of the same name is not tagged as well": """
        my:TaggedOnce a sh:PropertyShape ; sh:targetClass ah:TagSetting ;
            sh:path (
                ah:settingOn
                [ sh:alternativePath ( ah:sameNameAs [ sh:inversePath ah:sameNameAs ] ) ]
                [ sh:inversePath ah:settingOn ]
            ) ; sh:maxCount 0 .""",
    "a version comes after the one before it": """
        my:AfterTheOneBefore a sh:PropertyShape ; sh:targetSubjectsOf ah:priorVersion ;
            sh:path [ sh:zeroOrMorePath ah:priorVersion ] ; sh:class ah:Version ; sh:maxCount 2 .""",
    "an object has a class that the ontology puts below Table": """
        my:IsTable a sh:PropertyShape ; sh:targetClass ah:Setting ;
            sh:path ( ah:settingOn rdf:type [ sh:zeroOrMorePath rdfs:subClassOf ] ) ; sh:hasValue ah:Table .""",
}
"""By what they say; each of one shape with a target, and a Violation where it gives no severity."""

FURTHER: Final = {
    "who read a table": (
        """my:Readers a sh:PropertyShape ; sh:targetClass ah:Table ;
            sh:path [ sh:inversePath ah:accessedObject ] ; sh:minCount 1 .""",
        "my:Readers: the path ^<https://w3id.org/access-history#accessedObject> leads to an ah:Access",
    ),
    "the role of who set it": (
        """my:Role a sh:NodeShape ; sh:targetClass ah:Setting ; sh:property my:InRole .
        my:InRole sh:path ( [ sh:inversePath ah:hasSetting ] dcterms:isPartOf ah:roleName ) ; sh:minCount 1 .""",
        (
            "my:Role (my:InRole): the path (^<https://w3id.org/access-history#hasSetting>/"
            "<http://purl.org/dc/terms/isPartOf>/<https://w3id.org/access-history#roleName>) "
            "goes on from an ah:Execution"
        ),
    ),
    "all that have a tag": (
        """my:Alike a sh:PropertyShape ; sh:targetClass ah:TagSetting ;
            sh:path ( ah:elementObject [ sh:inversePath ah:elementObject ] ) ; sh:maxCount 9 .""",
        (
            "my:Alike: the path (<https://w3id.org/access-history#elementObject>/"
            "^<https://w3id.org/access-history#elementObject>) leads to an ah:Setting"
        ),
    ),
    "all that have the same value": (
        """my:Values a sh:PropertyShape ; sh:targetClass ah:TagSetting ;
            sh:path ( ah:value [ sh:inversePath ah:value ] ) ; sh:maxCount 9 .""",
        (
            "my:Values: the path (<https://w3id.org/access-history#value>/^<https://w3id.org/access-history#value>) "
            "leads to all nodes that have the same value"
        ),
    ),
    "a query and what it is part of": (
        """my:Parts a sh:PropertyShape ; sh:targetClass prov:Activity ;
            sh:path ( dcterms:isPartOf dcterms:isPartOf ) ; sh:maxCount 0 .""",
        "my:Parts: sh:targetClass http://www.w3.org/ns/prov#Activity looks for an ah:Query",
    ),
    "everything of a base table": (
        """my:Base a sh:PropertyShape ; sh:targetClass ah:Version ;
            sh:path ah:derivedFromBase ; sh:node [ sh:closed true ] .""",
        "my:Base: sh:closed of an ah:Version",
    ),
    "the exact kind of a third object": (
        """my:Third a sh:PropertyShape ; sh:targetClass ah:Version ;
            sh:path ( prov:wasDerivedFrom prov:specializationOf ) ; sh:class ah:ExternalTable .""",
        (
            "my:Third: the path (<http://www.w3.org/ns/prov#wasDerivedFrom>/"
            "<http://www.w3.org/ns/prov#specializationOf>) goes on from an ah:Version"
        ),
    ),
    "what is alike, by one of its parts": (
        """my:Same a sh:PropertyShape ; sh:targetClass ah:Change ; sh:path dcterms:isPartOf ;
            sh:or ( [ sh:equals ah:rootQuery ] ) .""",
        "my:Same: sh:equals goes on from an ah:Execution",
    ),
    "a table that may be absent": (
        "my:One a sh:PropertyShape ; sh:targetNode <snowflake://A/table/1> ; sh:path ah:hasName ; sh:minCount 1 .",
        "my:One: sh:targetNode, since the node may be absent",
    ),
    "the classes of the ontology": (
        "my:Said a sh:PropertyShape ; sh:targetSubjectsOf rdfs:subClassOf ; sh:path rdfs:comment ; sh:minCount 1 .",
        "my:Said: sh:targetSubjectsOf http://www.w3.org/2000/01/rdf-schema#subClassOf, which only the ontology has",
    ),
    "what a setting is on": (
        "my:On a sh:NodeShape ; sh:targetObjectsOf ah:settingOn ; sh:property [ sh:path rdfs:label ; sh:minCount 1 ] .",
        "my:On: sh:targetObjectsOf",
    ),
}
"""Rules that only the whole graph can answer, and the words that an export refuses them with."""


def turtle(*rules: str, severity: str = "") -> str:
    """The rules as a file; ``severity``: ``Warning``, for those that give none."""
    said = f" ; sh:severity sh:{severity} ." if severity else " ."
    return PREFIXES + "\n".join(rule.rstrip().removesuffix(".").rstrip() + said for rule in rules)


_ROWS: Final = (*[alter_settings] * 6, clone, clone, create, policy, policy, tag, tag, swap, rename)


def history(random: Random, rows: int) -> list[Json]:
    """About so many rows, most of which set tags and policies."""
    world, told = World.build(random), list["Json"]()
    while len(told) < rows:
        told += random.choice(random.choice((_ROWS, _ROWS, ACCESS_ROWS)))(random, world)
    return told
