"""The name of a load: of the named graph that its quads are in."""

from __future__ import annotations

from hashlib import blake2b


def load_digest(account: str, query_id: str) -> int:
    """What a query adds to the name of its load: digests of the queries, each once, are joined by ``^`` (exclusive or),
    in any order; 0 of none.
    """
    key = f"{len(account)}:{account}{query_id}"
    return int.from_bytes(blake2b(key.encode(), digest_size=8).digest(), "big")


def load_iri(digest: int, base: str) -> str:
    """The name of a load's graph: ``load/HASH`` of its queries, so that the same queries loaded again are the same
    graph, whatever the files that they came in.
    """
    return f"{base}load/{digest:x}"
