"""Terms in shapes that no vocabulary has, though they look like one of its terms: shapes with them test nothing,
or never apply.

A namespace can be misspelt (``https://www.w3.org/ns/shacl#``), or the name of a term (``rdfs:lable``). The names of the
ontology's own terms are looked up in :mod:`exporter.graph.shapes.classes`, those of SHACL when shapes are read. RDF,
RDFS and the datatypes of XML Schema have no other terms than these. Other vocabularies may have terms that are not
known here: a term of PROV is refused only if it is nearly one of PROV-O; of others, only the namespace is looked at.

Sources: RDF 1.1 Schema, section 6; RDF 1.2 Schema; XML Schema 1.1 part 2, section 3; PROV-O, with its appendix B; OWL 2
RDF-Based Semantics, section 3; DCMI Metadata Terms; SKOS Reference, appendix B.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from difflib import SequenceMatcher, get_close_matches
from functools import lru_cache
from typing import TYPE_CHECKING, Final, NamedTuple, cast

from exporter.graph.shapes.classes import TAKES, ontology_terms
from exporter.graph.shapes.components import PARAMETERS
from exporter.graph.shapes.model import RDF, RDFS, SH, TYPE, Literal, MemoryGraph, NamedNode, Term
from exporter.graph.terms import PREFIXES

if TYPE_CHECKING:
    from pyoxigraph import Triple

_OWL: Final = "http://www.w3.org/2002/07/owl#"
_ELEMENTS: Final = "http://purl.org/dc/elements/1.1/"
_NAMESPACES: Final[Mapping[str, str]] = {**PREFIXES, "sh": SH, "owl": _OWL, "dc": _ELEMENTS}
_RDF: Final = """Alt Bag CompoundLiteral HTML JSON List PlainLiteral Property Seq Statement XMLLiteral dirLangString
direction first langString language nil object predicate reifies rest subject type value"""
_RDFS: Final = """Class Container ContainerMembershipProperty Datatype Literal Proposition Resource comment domain
isDefinedBy label member range seeAlso subClassOf subPropertyOf"""
_XSD: Final = """ENTITIES ENTITY ID IDREF IDREFS NCName NMTOKEN NMTOKENS NOTATION Name QName anyAtomicType anySimpleType
anyType anyURI base64Binary boolean byte date dateTime dateTimeStamp dayTimeDuration decimal double duration error float
gDay gMonth gMonthDay gYear gYearMonth hexBinary int integer language long negativeInteger nonNegativeInteger
nonPositiveInteger normalizedString positiveInteger precisionDecimal short string time token unsignedByte unsignedInt
unsignedLong unsignedShort yearMonthDuration"""
_PROV: Final = """Activity ActivityInfluence Agent AgentInfluence Association Attribution Bundle Collection
Communication Delegation Derivation EmptyCollection End Entity EntityInfluence Generation Influence InstantaneousEvent
Invalidation Location Organization Person Plan PrimarySource Quotation Revision Role SoftwareAgent Start Usage
actedOnBehalfOf activity agent alternateOf atLocation atTime endedAtTime entity generated generatedAtTime hadActivity
hadGeneration hadMember hadPlan hadPrimarySource hadRole hadUsage influenced influencer invalidated invalidatedAtTime
qualifiedAssociation qualifiedAttribution qualifiedCommunication qualifiedDelegation qualifiedDerivation qualifiedEnd
qualifiedGeneration qualifiedInfluence qualifiedInvalidation qualifiedPrimarySource qualifiedQuotation qualifiedRevision
qualifiedStart qualifiedUsage specializationOf startedAtTime used value wasAssociatedWith wasAttributedTo wasDerivedFrom
wasEndedBy wasGeneratedBy wasInfluencedBy wasInformedBy wasInvalidatedBy wasQuotedFrom wasRevisionOf wasStartedBy"""
_PROV_BESIDE: Final = """Contribute activityOfInfluence agentOfInfluence contributed ended entityOfInfluence
generalizationOf generatedAsDerivation hadDelegate hadDerivation hadInfluence hadRevision informed locationOf
qualifiedAssociationOf qualifiedAttributionOf qualifiedCommunicationOf qualifiedDelegationOf qualifiedDerivationOf
qualifiedEndOf qualifiedGenerationOf qualifiedInfluenceOf qualifiedInsertion qualifiedInvalidationOf
qualifiedQuotationOf qualifiedSourceOf qualifiedStartOf qualifiedUsingActivity quotedAs revisedEntity started
wasActivityOfInfluence wasAssociateFor wasMemberOf wasPlanOf wasPrimarySourceOf wasRoleIn wasUsedBy wasUsedInDerivation
"""
"""Further terms in the namespace of PROV that are no misspelt ones: its reserved inverses, and others that are near."""
_OWL_TERMS: Final = """AllDifferent AllDisjointClasses AllDisjointProperties AnnotationProperty AsymmetricProperty
Axiom Class DataRange DatatypeProperty DeprecatedClass DeprecatedProperty FunctionalProperty InverseFunctionalProperty
IrreflexiveProperty NamedIndividual NegativePropertyAssertion Nothing ObjectProperty Ontology ReflexiveProperty
Restriction SymmetricProperty Thing TransitiveProperty allValuesFrom backwardCompatibleWith bottomDataProperty
bottomObjectProperty cardinality complementOf deprecated differentFrom disjointUnionOf disjointWith distinctMembers
equivalentClass equivalentProperty hasKey hasSelf hasValue imports incompatibleWith intersectionOf inverseOf
maxCardinality members minCardinality onClass onDataRange onDatatype onProperties onProperty oneOf priorVersion
propertyChainAxiom propertyDisjointWith sameAs someValuesFrom topDataProperty topObjectProperty unionOf versionIRI
versionInfo withRestrictions"""
_DC: Final = """contributor coverage creator date description format identifier language publisher relation rights
source subject title type"""
_DCTERMS: Final = """Agent AgentClass BibliographicResource FileFormat Frequency Jurisdiction LicenseDocument
LinguisticSystem Location LocationPeriodOrJurisdiction MediaType MediaTypeOrExtent MethodOfAccrual MethodOfInstruction
PeriodOfTime PhysicalMedium PhysicalResource Policy ProvenanceStatement RightsStatement SizeOrDuration Standard abstract
accessRights accrualMethod accrualPeriodicity accrualPolicy alternative audience available bibliographicCitation
conformsTo created dateAccepted dateCopyrighted dateSubmitted educationLevel extent hasFormat hasPart hasVersion
instructionalMethod isFormatOf isPartOf isReferencedBy isReplacedBy isRequiredBy isVersionOf issued license mediator
medium modified provenance references replaces requires rightsHolder spatial tableOfContents temporal valid"""
_SKOS: Final = """Collection Concept ConceptScheme OrderedCollection altLabel broadMatch broader broaderTransitive
changeNote closeMatch definition editorialNote exactMatch example hasTopConcept hiddenLabel historyNote inScheme
mappingRelation member memberList narrowMatch narrower narrowerTransitive notation note prefLabel related relatedMatch
scopeNote semanticRelation topConceptOf"""
_SHACL: Final = """NodeShape PropertyShape Shape alternativePath deactivated inversePath message oneOrMorePath path
severity sparql targetClass targetNode targetObjectsOf targetSubjectsOf zeroOrMorePath zeroOrOnePath"""
"""Terms of SHACL by which shapes are known, beside the parameters of constraints."""
_NAMES: Final[Mapping[str, frozenset[str]]] = {
    "rdf": frozenset(_RDF.split()),
    "rdfs": frozenset(_RDFS.split()),
    "xsd": frozenset(_XSD.split()),
    "prov": frozenset(_PROV.split()),
    "owl": frozenset(_OWL_TERMS.split()),
    "dc": frozenset(_DC.split()),
    "dcterms": frozenset(f"{_DC} {_DCTERMS}".split()),
    "skos": frozenset(_SKOS.split()),
    "sh": frozenset({*_SHACL.split(), *PARAMETERS}),
}
_TITLES: Final[Mapping[str, str]] = {"rdf": "RDF", "rdfs": "RDFS", "xsd": "XML Schema", "prov": "PROV-O"}
_READ: Final = {
    f"{prefix}:{name}"
    for prefix, names in (("rdf", "type first rest"), ("rdfs", "subClassOf subPropertyOf"), ("owl", "imports"))
    for name in names.split()
}
"""Properties, beside those of SHACL, that say something about shapes."""
_IMPORT: Final = re.compile("import(s|ed)?", re.IGNORECASE).fullmatch
_member: Final = re.compile("_[1-9][0-9]*").fullmatch
_before_host: Final = re.compile(
    r"(?:file:.*/(?=(?:www\.)?(?:w3|w3id|purl)\.org/)|[a-z][a-z0-9+.-]*:/*)?(?:www\.)?", re.IGNORECASE
).match
"""What is before the host, also where a relative IRI was resolved in the folder of the file."""
_after_namespace: Final = re.compile(r"(?:[#/:]+(?P<name>[^#/:]+)|(?P<joined>\w+))").fullmatch
_NEAR_NAMESPACE: Final = 0.88
"""How alike an unknown namespace is to a known one, so that it is this one misspelt. That of ShEx is at 0.83."""
_NEAR_NAME: Final = 0.85
"""How alike an unknown term of PROV is to one of PROV-O, so that it is this one misspelt."""
_SHAPES: Final = re.compile(r".*[#/:](NodeShape|PropertyShape)").fullmatch


class _Meant(NamedTuple):
    prefix: str
    name: str

    @property
    def iri(self) -> str:
        return f"{_NAMESPACES[self.prefix]}{self.name}"


def fault_of(triple: Triple, shapes: MemoryGraph) -> str | None:
    """What is wrong with the terms of a triple of shapes; None if nothing is."""
    predicate, value = triple.predicate.value, cast("Term", triple.object)
    if fault := _fault_of_predicate(predicate):
        return fault
    is_in_list = predicate in {f"{RDF}first", f"{RDF}rest"}
    if not (predicate.startswith(SH) or predicate in TAKES or is_in_list):
        return None
    if isinstance(value, Literal):
        return _fault(value.datatype.value)
    if not isinstance(value, NamedNode):
        return None
    other = _SHAPES(value.value) if predicate == TYPE.value and value not in shapes.by_subject else None
    if other and not value.value.startswith(SH):
        return f"{value.value} is no class of SHACL. Write {SH}{other[1]}, or @prefix sh: <{SH}>"
    return fault_of_term(value, shapes)


def fault_of_term(term: NamedNode, shapes: MemoryGraph) -> str | None:
    """What is wrong with an IRI that shapes use; None if nothing is, or if the shapes describe a term of their own."""
    meant = _meant(term.value)
    is_own = term in shapes.by_subject and not (meant and meant.name in _names(meant.prefix))
    return None if is_own else _fault(term.value)


def _fault_of_predicate(iri: str) -> str | None:
    """Other RDF may be beside shapes, so only what says something about shapes, or seems to, is looked at."""
    meant = _meant(iri)
    if meant is not None:
        return _fault(iri) if meant.prefix == "sh" or f"{meant.prefix}:{meant.name}" in _READ else None
    if iri.startswith(_OWL) and _IMPORT(name := iri.removeprefix(_OWL)) and name != "imports":
        return f"owl:{name} is no term of OWL. Perhaps owl:imports is meant"
    return _fault(iri) if iri.startswith((RDF, RDFS)) else None


@lru_cache(maxsize=10_000)
def _fault(iri: str) -> str | None:
    if meant := _meant(iri):
        namespace = _NAMESPACES[meant.prefix]
        return f"the namespace of {iri} is misspelt. Write {meant.iri}, or @prefix {meant.prefix}: <{namespace}>"
    for prefix, title in _TITLES.items():
        if iri.startswith(_NAMESPACES[prefix]):
            return _fault_of_name(prefix, title, iri.removeprefix(_NAMESPACES[prefix]))
    return None


def _fault_of_name(prefix: str, title: str, name: str) -> str | None:
    known = _NAMES[prefix]
    if not name or name in known or (prefix == "rdf" and _member(name)):
        return None
    by_case = {other.lower(): other for other in sorted(known)}
    cutoff = _NEAR_NAME if prefix == "prov" else 0.6
    near = by_case.get(name.lower()) or next(iter(get_close_matches(name, sorted(known), n=1, cutoff=cutoff)), None)
    if prefix == "prov" and (near is None or name in _PROV_BESIDE.split()):
        return None
    return f"{prefix}:{name} is no term of {title}" + (f". Perhaps {prefix}:{near} is meant" if near else "")


@lru_cache(maxsize=10_000)
def _meant(iri: str) -> _Meant | None:
    """The term that is meant by one in a misspelt namespace; None for any other."""
    if iri.startswith(tuple(_NAMESPACES.values())):
        return None
    for prefix, namespace in _NAMESPACES.items():
        stem, own = _stem(namespace), _without_host(iri)
        found = _after_namespace(own[len(stem) :]) if own.lower().startswith(stem) else None
        if found:
            return _Meant(prefix, found["name"] or found["joined"])
    cut = max(iri.rfind("#"), iri.rfind("/"))
    space, name = _stem(iri[: cut + 1]), iri[cut + 1 :]
    for prefix, namespace in _NAMESPACES.items():
        if name in _names(prefix) and SequenceMatcher(None, space, _stem(namespace)).ratio() >= _NEAR_NAMESPACE:
            return _Meant(prefix, name)
    return None


def _names(prefix: str) -> Collection[str]:
    """The names of terms that are surely of a vocabulary; none where it is not known here."""
    return ontology_terms() if prefix == "ah" else _NAMES.get(prefix, ())


def _without_host(iri: str) -> str:
    found = _before_host(iri)
    return iri[found.end() :] if found else iri


def _stem(namespace: str) -> str:
    """A namespace in lower case, from its host to what is before ``#`` or ``/``."""
    return _without_host(namespace).lower().rstrip("#/:")
