"""Derive the facts of a query from its rows, as plain values, and the objects that they mention."""
