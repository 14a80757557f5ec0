"""The name of a load: the named graph that the quads of one export are in."""

from __future__ import annotations

from hashlib import blake2b


def load_digest(account: str, query_id: str) -> int:
    """What one query adds to the name of its load. The digests of all queries are joined by exclusive or, each once and
    in any order; no query gives 0.
    """
    key = f"{len(account)}:{account}{query_id}"
    return int.from_bytes(blake2b(key.encode(), digest_size=8).digest(), "big")


def load_iri(digest: int, base: str) -> str:
    """The IRI of a load's named graph: ``load/HASH`` of its queries. The same queries give the same graph name,
    whatever files they came in.
    """
    return f"{base}load/{digest:x}"
