"""Escaping of quoted strings, which is the same in Turtle and N-Triples."""

from __future__ import annotations


def escaped(text: str) -> str:
    """A text as it is written between quotes (RDF 1.1 Turtle, section 6.4)."""
    if "\\" in text:
        text = text.replace("\\", "\\\\")
    if '"' in text:
        text = text.replace('"', '\\"')
    if "\n" in text:
        text = text.replace("\n", "\\n")
    if "\r" in text:
        text = text.replace("\r", "\\r")
    return text
